//! How much flash a member takes of a microcontroller: the table in docs/devices.md, and what a member
//! of a centralized scheme does not link. Only the first row is built, for two targets, unless
//! `GROUPKEY_FLASH=all` asks for all of them. Skipped where a target is not installed, unless `GROUPKEY_REQUIRE_ALL` is set.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use object::read::elf::ElfFile32;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, elf};

/// In the order of the table's columns.
const TARGETS: [&str; 3] =
    ["thumbv7em-none-eabihf", "riscv32imac-unknown-none-elf", "riscv32imc-unknown-none-elf"];

/// What a member of SKDC with the suite `constrained` may take beside an empty program: 24 KiB.
const SMALLEST: u64 = 24 * 1024;

/// Another compiler makes other instructions.
const TOLERANCE: f64 = 0.05;

#[test]
fn a_member_takes_as_much_flash_as_documented() {
    let rows = documented();
    let all = env::var_os("GROUPKEY_FLASH").is_some_and(|asked| asked == "all");
    let mut differences = Vec::new();
    let (rows, targets) = if all { (&rows[..], &TARGETS[..]) } else { (&rows[..1], &TARGETS[..2]) };
    for Row { scheme, features, flash } in rows {
        for (target, documented) in targets.iter().zip(flash) {
            let Some(program) = built(scheme, features, target) else { return };
            let kilobytes = flash_bytes(&program) as f64 / 1000.0;
            eprintln!("{scheme} {features} {target}: {kilobytes:.1}");
            if (kilobytes - documented).abs() > documented * TOLERANCE {
                differences.push(format!("{scheme} {target}: {kilobytes:.1}, not {documented}"));
            }
        }
    }
    assert!(differences.is_empty(), "docs/devices.md is out of date: {differences:#?}");
}

#[test]
fn a_member_of_skdc_fits_in_24_kib() {
    for target in &TARGETS[..2] {
        let Some(member) = built("skdc", "centralized,suite-constrained", target) else { return };
        let empty = program("empty", "skdc", "centralized,suite-constrained", target);
        let more = flash_bytes(&member) - flash_bytes(&empty);
        eprintln!("skdc, constrained, {target}: {more} bytes beside an empty program");
        assert!(more <= SMALLEST, "{target}: {more} bytes beside an empty program");
    }
}

#[test]
fn a_centralized_scheme_links_no_curve_and_no_pairing() {
    let absent = ["curve25519", "ed25519", "bls12_381", "crypto_bigint", "dashu"];
    for target in &TARGETS[..2] {
        let Some(program) = built("skdc", "centralized", target) else { return };
        let names = symbols(&program);
        assert!(names.iter().any(|name| name.contains("skdc")), "the names were stripped");
        for name in names {
            assert!(!absent.iter().any(|library| name.contains(library)), "{target}: {name}");
        }
    }
    let with = built("skdc", "centralized,signatures", TARGETS[0]).expect("it was there above");
    assert!(symbols(&with).iter().any(|name| name.contains("curve25519")), "the check is blind");
}

struct Row {
    scheme: String,
    features: String,
    /// In units of 1000 bytes, for each target.
    flash: [f64; 3],
}

/// The table's rows.
fn documented() -> Vec<Row> {
    let page = fs::read_to_string(repository().join("docs/devices.md")).expect("the page");
    let table = page.split("<!-- flash -->").nth(1).expect("the table is marked");
    let lines = table.lines().skip_while(|line| !line.starts_with("| `"));
    let rows: Vec<Row> = lines
        .take_while(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [scheme, features, flash @ ..] = &cells[..] else { panic!("{line}") };
            let flash: Vec<f64> = flash.iter().map(|kb| kb.parse().expect("a number")).collect();
            Row {
                scheme: scheme.trim_matches('`').to_owned(),
                features: features.replace(['`', ' '], ""),
                flash: flash.try_into().expect("a figure for each target"),
            }
        })
        .collect();
    assert!(!rows.is_empty());
    rows
}

/// The firmware's program `member`; `None` if the target is not installed.
fn built(scheme: &str, features: &str, target: &str) -> Option<Vec<u8>> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .expect("rustc is there");
    if !Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir() {
        let help = format!("rustup target add {target}");
        assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{help}");
        eprintln!("SKIPPED: {help}; nothing was weighed");
        return None;
    }
    Some(program("member", scheme, features, target))
}

fn program(name: &str, scheme: &str, features: &str, target: &str) -> Vec<u8> {
    // A folder for each program, for the tests run at the same time.
    let folder = [name, scheme, features].join("-").replace(',', "-");
    let folder = repository().join("target/firmware/flash").join(folder);
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--config", "small.toml", "--profile", "flash", "--locked"])
        .args(["--bin", name, "--target", target])
        .args(["--no-default-features", "--features", "member", "--features", features])
        .arg("--target-dir")
        .arg(&folder)
        .env("GROUPKEY_SCHEME", scheme)
        .current_dir(repository().join("firmware"))
        .stdin(Stdio::null())
        .status()
        .expect("cargo is there");
    assert!(status.success(), "{scheme} was not built for {target}");
    fs::read(folder.join(target).join("flash").join(name)).expect("it was built")
}

/// What the chip keeps of a program: code, constants, and the first values of variables.
fn flash_bytes(program: &[u8]) -> u64 {
    let file = ElfFile32::<object::Endianness>::parse(program).expect("an ELF file");
    let kept = file.sections().filter(|section| {
        let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
        let has_bytes = section.elf_section_header().sh_type.get(file.endian()) != elf::SHT_NOBITS;
        has_bytes && sh_flags & u64::from(elf::SHF_ALLOC) != 0
    });
    kept.map(|section| section.size()).sum()
}

fn symbols(program: &[u8]) -> Vec<String> {
    let file = ElfFile32::<object::Endianness>::parse(program).expect("an ELF file");
    file.symbols().filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
