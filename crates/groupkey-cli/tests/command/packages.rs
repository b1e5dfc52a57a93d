//! Packages: what a registry asks of the crates that are published, and what is beside them.

use std::fs;
#[cfg(unix)]
use std::io::{BufRead, BufReader, Write};
#[cfg(unix)]
use std::net::TcpListener;
use std::path::{Component, Path, PathBuf};
#[cfg(unix)]
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::thread;

use toml::{Table, Value};

/// The crates that the command is made of, from those that need no other one of them.
const PUBLISHED: [&str; 11] = [
    "crates/groupkey",
    "tools/testkit",
    "crates/groupkey-sim",
    "crates/groupkey-choose",
    "crates/groupkey-lab",
    "crates/groupkey-mqtt",
    "crates/groupkey-mls",
    "tools/testbed",
    "tools/soak",
    "tools/reproduce",
    "crates/groupkey-cli",
];

#[test]
fn what_is_published_says_what_a_registry_asks() {
    let workspace = manifest("");
    let shared = &workspace["workspace"]["package"];
    for path in PUBLISHED {
        let package = &manifest(path)["package"];
        let said = |key: &str| match package.get(key) {
            Some(value) if value.get("workspace").is_some() => shared.get(key),
            value => value,
        };
        assert!(said("publish").is_none(), "{path} is not published");
        for key in ["version", "edition", "rust-version", "license", "repository", "description"] {
            let text = said(key).and_then(Value::as_str).unwrap_or_default();
            assert!(!text.is_empty(), "{path} has no {key}");
        }
        let readme = said("readme").and_then(Value::as_str).expect("a readme");
        assert!(root().join(path).join(readme).is_file(), "{path}: {readme}");
        let words = |key: &str| said(key).and_then(Value::as_array).expect("a list").clone();
        for key in ["keywords", "categories"] {
            assert!((1..=5).contains(&words(key).len()), "{path}: {key}");
        }
        let is_word = |word: &Value| {
            let word = word.as_str().unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_+".contains(c);
            word.len() <= 20
                && word.starts_with(|c: char| c.is_ascii_alphanumeric())
                && word.chars().all(plain)
        };
        assert!(words("keywords").iter().all(is_word), "{path}: keywords");
        let docs = package.get("metadata").and_then(|metadata| metadata.get("docs"));
        let docs = docs.and_then(|docs| docs.get("rs")).expect("settings for docs.rs");
        assert!(docs.get("all-features").or_else(|| docs.get("features")).is_some(), "{path}");
    }
}

/// Whatever is not published says so: nobody publishes it by accident.
#[test]
fn what_is_not_published_says_so() {
    let workspace = manifest("");
    let paths = ["members", "exclude"].map(|key| workspace["workspace"][key].as_array().cloned());
    let paths = paths.into_iter().flatten().flatten();
    let mut private = 0;
    for path in paths.map(|path| path.as_str().expect("a path").to_owned()) {
        if PUBLISHED.contains(&&*path) {
            continue;
        }
        let manifest = manifest(&path);
        let publish = manifest["package"].get("publish").unwrap_or_else(|| panic!("{path}"));
        let is_shared = publish.get("workspace").is_some();
        let publish =
            if is_shared { &workspace["workspace"]["package"]["publish"] } else { publish };
        assert_eq!(publish, &Value::Boolean(false), "{path}");
        private += 1;
    }
    assert!(private > 5, "{private}");
}

/// A registry knows no paths. A crate comes after all that it needs, so that they can be published in
/// this order; what only its tests need has a path alone, which a package leaves out.
#[test]
fn what_is_published_needs_only_what_is_published_before() {
    let workspace = manifest("");
    let shared = workspace["workspace"]["dependencies"].as_table().expect("a table");
    for (place, path) in PUBLISHED.iter().enumerate() {
        let manifest = manifest(path);
        let mut ours = 0;
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let needed = manifest.get(kind).and_then(Value::as_table).cloned().unwrap_or_default();
            for (name, needed) in needed {
                let (base, needed) = match needed.get("workspace") {
                    Some(_) => (root(), shared[&name].clone()),
                    None => (root().join(path), needed),
                };
                let Some(of_path) = needed.get("path").and_then(Value::as_str) else { continue };
                ours += 1;
                let of_path = plain(&base.join(of_path));
                let before =
                    PUBLISHED[..place].iter().any(|path| plain(&root().join(path)) == of_path);
                match needed.get("version") {
                    Some(version) => {
                        assert!(before, "{path} needs {name} before it");
                        assert_eq!(
                            version, &workspace["workspace"]["package"]["version"],
                            "{name}"
                        );
                    }
                    None => assert_eq!(kind, "dev-dependencies", "{path}: {name} has no version"),
                }
            }
        }
        assert!(ours > 0, "{path}");
    }
}

/// What the sources of a crate include is in its package: below its folder, and not left out there.
#[test]
fn packages_have_what_their_sources_include() {
    for path in PUBLISHED {
        let folder = plain(&root().join(path));
        let manifest = manifest(path);
        let packed = manifest["package"]["include"].as_array().expect("a list").clone();
        let packed: Vec<_> =
            packed.iter().map(|path| folder.join(path.as_str().expect("a path"))).collect();
        let mut sources = Vec::new();
        sources_below(&folder.join("src"), &mut sources);
        for source in sources {
            let text = fs::read_to_string(&source).expect("readable");
            let (code, _) = text.split_once("#[cfg(test)]\nmod ").unwrap_or((&text, ""));
            for (at, _) in code.match_indices("include_") {
                let line = code[at..].lines().next().unwrap_or_default();
                let Some((_, rest)) = line.split_once("!(\"") else { continue };
                let name = rest.split('"').next().expect("a text");
                // Pages of the book are for doctests, which a package does not run; tests read some, too.
                if name.ends_with(".md") {
                    continue;
                }
                let file = plain(&source.parent().expect("a folder").join(name));
                assert!(file.is_file(), "{}", file.display());
                let is_packed = packed.iter().any(|packed| file.starts_with(packed));
                assert!(is_packed, "{} is not in the package of {path}", file.display());
            }
        }
    }
}

/// Nothing here runs containers. What the file copies is there, and what it builds is what CI builds on a
/// system with Rust and a C compiler alone.
#[test]
fn the_container_file_names_what_there_is() {
    let text = containerfile();
    let ignored = fs::read_to_string(root().join(".dockerignore")).expect("it is there");
    let mut copied = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        let words: Vec<_> = line.split_whitespace().collect();
        let (_, sources) = words.split_last().expect("where to");
        match sources {
            ["--from=build", built] => assert_eq!(*built, "/groupkey/target/release/groupkey"),
            sources => {
                for source in sources {
                    assert!(root().join(source).exists(), "{source}");
                    assert!(ignored.lines().all(|line| line != *source), "{source} is left out");
                    copied += 1;
                }
            }
        }
    }
    assert_eq!(copied, 3);
    let ci = fs::read_to_string(root().join(".ci/full")).expect("it is there");
    let build = text.lines().find_map(|line| line.strip_prefix("RUN GROUPKEY_COMMIT=$COMMIT "));
    let build = build.expect("it builds");
    assert!(ci.contains(&format!(".ci/bare {build}\n")), "CI does not run: {build}");
    for line in ["WORKDIR /groupkey", "USER 10001:10001", "ENTRYPOINT [\"groupkey\"]"] {
        assert!(text.lines().any(|other| other == line), "{line}");
    }
}

/// The health check of the container is run as it stands there, against answers like the service's.
#[cfg(unix)]
#[test]
fn the_containers_health_is_the_services() {
    let text = containerfile();
    let (_, check) = text.split_once("\n    CMD exec bash -c ").expect("a health check");
    let check = format!("exec bash -c {}", check.lines().next().expect("a command"));
    let is_well = |port: u16| {
        let port = ("GROUPKEY_HTTP_PORT", port.to_string());
        let mut command = Command::new("sh");
        let ended = command.args(["-c", &check]).envs([port]).stderr(Stdio::null()).status();
        ended.expect("there is a shell").success()
    };
    let answer_once = |status: &'static str| {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("it listens").port();
        let answering = thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("the check connects");
            // Bash sends each line by itself.
            let lines = BufReader::new(&client).lines().map(|line| line.expect("it asks"));
            let asked: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
            write!(client, "HTTP/1.0 {status}\r\n\r\n").expect("it listens");
            asked
        });
        (is_well(port), answering.join().expect("it answers"), port)
    };
    let (well, asked, port) = answer_once("200 OK");
    assert!(well, "{asked:?}");
    assert_eq!(asked, ["GET /health HTTP/1.0", "Host: localhost"]);
    assert!(!is_well(port), "nobody listens");
    assert!(!answer_once("503 Service Unavailable").0);
}

fn containerfile() -> String {
    fs::read_to_string(root().join("tools/container/Containerfile")).expect("it is there")
}

fn manifest(path: &str) -> Table {
    let path = root().join(path).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
    text.parse().expect("a manifest")
}

fn root() -> PathBuf {
    plain(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// Resolves `..` by name: a link to data stays where it is.
fn plain(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

fn sources_below(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources_below(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}
