//! Tells the command which commit it is built from: results name it.

use std::path::Path;
use std::process::Command;

fn main() {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = match output {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).ok(),
        // Sources without a repository, or a machine without git.
        _ => None,
    };
    let commit = commit.as_deref().map_or("unknown", str::trim);
    println!("cargo::rustc-env=GROUPKEY_COMMIT={commit}");
    println!("cargo::rerun-if-changed=build.rs");
    // Grows with every commit and checkout. Naming a file that is not there would rebuild each time.
    let log = Path::new("../../.git/logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
}
