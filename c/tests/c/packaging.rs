//! The component for ESP-IDF and the module for Zephyr. Neither system is here: `tests/packaging` has
//! stubs of the functions and headers that are used, links the examples as the systems would, and runs
//! them. So layout, options and linking are tested, and the systems' own builds are not.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use saphyr::{LoadableYamlNode, Yaml};

use crate::tools::{
    Board, CORTEX_M4, RV32IMAC, emulated, folder, has_target, installed, succeeded,
};

#[test]
fn the_component_of_esp_idf_links_and_runs() {
    links_and_runs("esp-idf", &RV32IMAC);
}

#[test]
fn the_module_of_zephyr_links_and_runs() {
    let Some(program) = links_and_runs("zephyr", &CORTEX_M4) else { return };
    let Some(mut size) = installed("arm-none-eabi-size", CORTEX_M4.packages()) else { return };
    let listed = succeeded("size", size.arg(program).output().expect("it starts"));
    let line = listed.lines().nth(1).expect("a line of figures");
    let text: f64 =
        line.split_whitespace().next().and_then(|figure| figure.parse().ok()).expect("a size");
    let page = fs::read_to_string(folder().join("../docs/c.md")).expect("the page");
    let documented = page.split("<!-- flash -->").nth(1).expect("it is marked");
    let documented = documented.split_whitespace().next().and_then(|figure| figure.parse().ok());
    let documented: f64 = documented.expect("a number");
    let now = text / 1000.0;
    assert!((now - documented).abs() < documented * 0.05, "docs/c.md: {now:.1}, not {documented}");
}

#[test]
fn manifests_have_the_documented_fields_only() {
    let fields = [
        "version",
        "maintainers",
        "description",
        "license",
        "tags",
        "targets",
        "dependencies",
        "files",
        "url",
        "repository",
        "repository_info",
        "documentation",
        "issues",
        "discussion",
        "examples",
    ];
    has_only("esp-idf/groupkey/idf_component.yml", &[], &fields);
    let fields = [
        "name",
        "build",
        "boards",
        "tests",
        "samples",
        "package-managers",
        "security",
        "blobs",
        "runners",
    ];
    has_only("zephyr/module.yml", &[], &fields);
    let fields = ["cmake", "kconfig", "cmake-ext", "kconfig-ext", "depends", "settings"];
    has_only("zephyr/module.yml", &["build"], &fields);
    has_only("zephyr/samples/group/sample.yaml", &[], &["sample", "common", "tests"]);
    let fields = ["tags", "harness", "harness_config"];
    has_only("zephyr/samples/group/sample.yaml", &["tests", "sample.groupkey.group"], &fields);
}

#[test]
fn paths_of_manifests_exist() {
    let module = manifest("zephyr/module.yml");
    let build = &module["build"];
    let cmake = build["cmake"].as_str().expect("a folder");
    assert!(folder().join(cmake).join("CMakeLists.txt").is_file());
    assert!(folder().join(build["kconfig"].as_str().expect("a file")).is_file());
    let samples = module["samples"][0].as_str().expect("a folder");
    assert!(folder().join(samples).join("group/sample.yaml").is_file());
    let component = manifest("esp-idf/groupkey/idf_component.yml");
    assert_eq!(component["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(component["license"].as_str(), Some(env!("CARGO_PKG_LICENSE")));
    let rules =
        fs::read_to_string(folder().join("esp-idf/groupkey/CMakeLists.txt")).expect("it is there");
    for target in component["targets"].as_sequence().expect("a list") {
        let target = target.as_str().expect("a name");
        assert!(rules.contains(&format!("\"{target}\"")), "no Rust target for {target}");
    }
}

/// Builds an example on the stub of a system, and runs it. Returns the program.
fn links_and_runs(system: &str, board: &Board) -> Option<PathBuf> {
    let mut configure = installed("cmake", "cmake")?;
    installed(board.compiler, board.packages())?;
    has_target(board)?;
    let builds = folder().join("../target/c").canonicalize().expect("cargo has made it");
    let build = builds.join("packaging").join(system);
    let options = board.options().join(" ");
    let outcome = configure
        .arg("-S")
        .arg(folder().join("tests/packaging").join(system))
        .arg("-B")
        .arg(&build)
        .args(["-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"])
        .arg(format!("-DCMAKE_C_COMPILER={}", board.compiler))
        .arg(format!("-DCMAKE_C_FLAGS=-Os -Wall -Wextra -Werror {options}"))
        .arg(format!("-DGROUPKEY_TARGET_DIR={}", builds.display()))
        .output();
    succeeded("cmake", outcome.expect("it starts"));
    let outcome = installed("cmake", "cmake")?.arg("--build").arg(&build).output();
    succeeded("the build", outcome.expect("it starts"));
    let program = build.join("program");
    let said = emulated(board, &program)?;
    let bytes = said.strip_prefix("a member takes ").and_then(|rest| rest.strip_suffix(" bytes\n"));
    let bytes: usize =
        bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("{said}"));
    assert!((500..2_000).contains(&bytes), "{said}");
    Some(program)
}

fn has_only(file: &str, path: &[&str], fields: &[&str]) {
    let whole = manifest(file);
    let part = path.iter().fold(&whole, |part, key| &part[*key]);
    let keys: BTreeSet<_> = part
        .as_mapping()
        .expect("a table")
        .keys()
        .map(|key| key.as_str().expect("a name"))
        .collect();
    assert!(!keys.is_empty());
    for key in keys {
        assert!(fields.contains(&key), "{file} {path:?}: {key} is not a documented field");
    }
}

fn manifest(file: &str) -> Yaml<'static> {
    let text = fs::read_to_string(folder().join(file)).expect("it is there");
    // It lives as long as the test.
    let text: &'static str = text.leak();
    let mut documents = Yaml::load_from_str(text).expect("YAML");
    assert_eq!(documents.len(), 1, "{file}");
    documents.remove(0)
}
