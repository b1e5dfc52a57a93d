//! Tells the command which commit it is built from: results name it.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    // Who builds without the repository can say which commit it is.
    println!("cargo::rerun-if-env-changed=GROUPKEY_COMMIT");
    let commit =
        env::var("GROUPKEY_COMMIT").ok().filter(|commit| !commit.is_empty()).or_else(of_git);
    let commit = commit.as_deref().map_or("unknown", str::trim);
    println!("cargo::rustc-env=GROUPKEY_COMMIT={commit}");
    println!("cargo::rerun-if-changed=build.rs");
    // Grows with every commit and checkout. Naming a file that is not there would rebuild each time.
    let log = Path::new("../../.git/logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
}

/// Returns the commit of the repository. `None` if there is none, or no git.
fn of_git() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}
