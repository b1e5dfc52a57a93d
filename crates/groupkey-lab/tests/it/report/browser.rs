//! A headless Chromium: what the page becomes when it runs, and pictures of it.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A browser that was found on this machine.
#[derive(Debug)]
pub(crate) struct Browser {
    program: PathBuf,
}

impl Browser {
    /// `$CHROMIUM`, or the first Chromium on the path.
    pub(crate) fn find() -> Option<Self> {
        if let Some(program) = env::var_os("CHROMIUM").filter(|name| !name.is_empty()) {
            return Some(Self { program: program.into() });
        }
        let path = env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome"];
        env::split_paths(&path)
            .flat_map(|folder| names.map(|name| folder.join(name)))
            .find(|program| program.is_file())
            .map(|program| Self { program })
    }

    /// The document as it stands after its script ran.
    pub(crate) fn dom(&self, page: &Path, fragment: &str, size: (u32, u32)) -> String {
        self.run(page, fragment, size, "--dump-dom")
    }

    pub(crate) fn screenshot(&self, page: &Path, fragment: &str, size: (u32, u32), picture: &Path) {
        let _ = fs::remove_file(picture);
        self.run(page, fragment, size, &format!("--screenshot={}", picture.display()));
    }

    fn run(&self, page: &Path, fragment: &str, (width, height): (u32, u32), task: &str) -> String {
        let profile = tempfile::tempdir().expect("the temporary directory is writable");
        let output = profile.path().join("stdout");
        let mut child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync", "--hide-scrollbars"])
            .args(["--virtual-time-budget=4000", "--force-device-scale-factor=1"])
            .arg(format!("--user-data-dir={}", profile.path().join("data").display()))
            // A window may not be as narrow as a phone; a screen may.
            .arg(format!("--screen-info={{{width}x{height}}}"))
            .arg(format!("--window-size={width},{height}"))
            .arg("--start-fullscreen")
            .arg(task)
            .arg(format!("file://{}{fragment}", page.display()))
            .stdin(Stdio::null())
            .stdout(File::create(&output).expect("a new file in a new directory"))
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");

        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().expect("our own child") {
                break status;
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the browser took longer than {PATIENCE:?}");
            }
            thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "the browser failed: {status}");
        fs::read_to_string(&output).expect("a page is UTF-8")
    }
}

const PATIENCE: Duration = Duration::from_secs(120);
