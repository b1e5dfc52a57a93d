//! Programs in Python, which are not ours, beside our own code.

use std::io::Write;
use std::process::{Command, Stdio};
use std::{env, fmt::Write as _};

use serde_json::Value;

/// A Python that has this module: `GROUPKEY_PYTHON`, or `python3`.
pub(crate) fn python(module: &str) -> Option<String> {
    let python = env::var("GROUPKEY_PYTHON").unwrap_or_else(|_| "python3".into());
    let import = format!("import {module}");
    let has = Command::new(&python).args(["-c", &import]).stderr(Stdio::null()).status();
    if has.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let package = module.split('.').next().unwrap_or(module);
    let missing =
        format!("{python} has no {module}: pip install {package}, or set GROUPKEY_PYTHON");
    assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
    eprintln!("SKIPPED, not tested: {missing}");
    None
}

/// Hands cases as JSON to a script beside this file, and returns what it answers to them.
pub(crate) fn ask(python: &str, script: &str, cases: &[Value]) -> Vec<Value> {
    let mut child = Command::new(python)
        .arg(format!("{}/tests/laws/{script}", env!("CARGO_MANIFEST_DIR")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let input = serde_json::to_vec(cases).expect("the cases are JSON");
    child.stdin.take().expect("it is piped").write_all(&input).expect("the script reads");
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success(), "the script failed");
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a string takes everything");
        digits
    })
}
