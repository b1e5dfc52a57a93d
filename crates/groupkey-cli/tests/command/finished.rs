//! Running the command and looking at what it did.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

/// The built command.
pub(crate) const GROUPKEY: &str = env!("CARGO_BIN_EXE_groupkey");

/// What the command did.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn groupkey(arguments: &str) -> Finished {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    groupkey_in(Path::new(env!("CARGO_MANIFEST_DIR")), &arguments)
}

pub(crate) fn groupkey_in(folder: &Path, arguments: &[&str]) -> Finished {
    Command::new(GROUPKEY)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map(Finished::from)
        .expect("the command starts")
}

/// Runs the command in a folder and presses Ctrl-C as soon as it has come so far.
pub(crate) fn interrupted(
    folder: &Path,
    arguments: &[&str],
    has_come_so_far: impl Fn() -> bool,
) -> Finished {
    let child = Command::new(GROUPKEY)
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let started = Instant::now();
    while !has_come_so_far() {
        assert!(started.elapsed() < Duration::from_secs(400), "{arguments:?} gets nowhere");
        sleep(Duration::from_millis(2));
    }
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signalled.is_ok_and(|status| status.success()));
    child.wait_with_output().map(Finished::from).expect("the command ends")
}

impl Finished {
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    pub(crate) fn objects(self) -> Vec<Value> {
        let object = |line| serde_json::from_str(line).expect("each line is a JSON object");
        self.success().lines().map(object).collect()
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// What a test needs that not every machine has. Without it the test is skipped, loudly, unless
/// `GROUPKEY_REQUIRE_ALL` is set.
pub(crate) fn or_skip<T, E: std::fmt::Display>(test: &str, needed: Result<T, E>) -> Option<T> {
    match needed {
        Ok(needed) => Some(needed),
        Err(error) => {
            let missing = format!("{test} is SKIPPED: {error}");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
            eprintln!("{missing}");
            None
        }
    }
}

/// A folder that exists as long as this value.
#[derive(Debug)]
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("the temporary folder is writable"))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into it, which nobody else may read, and returns the file's name.
    pub(crate) fn file<'a>(&self, name: &'a str, content: &str) -> &'a str {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.path().join(name));
        file.and_then(|mut file| file.write_all(content.as_bytes()))
            .expect("the folder is writable");
        name
    }
}
