//! A headless Chromium with one page, controlled by the DevTools protocol over two pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Browser {
    process: Child,
    _folder: TempDir,
    commands: File,
    answers: BufReader<File>,
    number: u64,
    session: Option<String>,
    complaints: Vec<String>,
}

impl Browser {
    /// Opens the page at an address. `None` if there is no Chromium and it may be missing.
    pub(crate) fn open(address: &str) -> Option<Self> {
        let Some(program) = program() else {
            let missing = "there is no chromium: apt-get install chromium, or set CHROMIUM";
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
            eprintln!("SKIPPED, not tested: {missing}");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let pipes = ["commands", "answers"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        // Chromium reads commands from descriptor 3 and answers on 4; a shell can open those.
        let process = Command::new("sh")
            .args([
                "-c",
                "commands=$1 answers=$2; shift 2; exec \"$@\" 3<\"$commands\" 4>\"$answers\"",
            ])
            .arg("sh")
            .args(&pipes)
            .arg(program)
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--hide-scrollbars", "--no-proxy-server"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let commands = File::options().write(true).open(&pipes[0]).unwrap();
        let answers = BufReader::new(File::open(&pipes[1]).unwrap());
        let mut browser = Self {
            process,
            _folder: folder,
            commands,
            answers,
            number: 0,
            session: None,
            complaints: Vec::new(),
        };
        let target = browser.tell("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.tell("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.tell("Runtime.enable", json!({}));
        browser.tell("Log.enable", json!({}));
        browser.tell("Page.enable", json!({}));
        browser.tell("Page.navigate", json!({ "url": address }));
        browser.wait("document.readyState === 'complete' && typeof at === 'function'");
        Some(browser)
    }

    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.tell("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true. An error counts as false.
    pub(crate) fn wait(&mut self, expression: &str) {
        let begin = Instant::now();
        let parameters = json!({ "expression": expression, "returnByValue": true });
        while self.tell("Runtime.evaluate", parameters.clone())["result"]["value"] != true {
            if begin.elapsed() > PATIENCE {
                let text = self.ask("document.body.innerText");
                panic!("{expression} does not become true: {text}\n{:?}", self.complaints);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Shows the page in a light or dark scheme on a screen of this width.
    pub(crate) fn see(&mut self, scheme: &str, width: u32) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.tell("Emulation.setEmulatedMedia", json!({ "features": feature }));
        let screen =
            json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.tell("Emulation.setDeviceMetricsOverride", screen);
    }

    pub(crate) fn reload(&mut self) {
        // The old page must not be mistaken for the new one.
        self.ask("document.title = 'old'; 0");
        self.tell("Page.reload", json!({}));
        self.wait("document.title !== 'old' && document.readyState === 'complete'");
    }

    /// Violations of the page's policy, and uncaught exceptions.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.clone()
    }

    fn tell(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut command = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.clone().into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser takes commands");
        loop {
            let mut bytes = Vec::new();
            self.answers.read_until(0, &mut bytes).expect("the browser answers");
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let answer: Value = serde_json::from_slice(&bytes).expect("answers are JSON");
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            let entry = &answer["params"]["entry"];
            let is_exception = answer["method"] == "Runtime.exceptionThrown";
            if is_exception || matches!(entry["source"].as_str(), Some("security" | "javascript")) {
                self.complaints.push(answer["params"].to_string());
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // On this request it ends together with its helper processes, which would write to the
        // folder otherwise.
        let close = json!({ "id": 0, "method": "Browser.close" }).to_string() + "\0";
        let _ = self.commands.write_all(close.as_bytes());
        let begin = Instant::now();
        while self.process.try_wait().is_ok_and(|end| end.is_none()) {
            if begin.elapsed() > Duration::from_secs(10) {
                let _ = self.process.kill();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// `$CHROMIUM`, or the first Chromium on the path.
fn program() -> Option<PathBuf> {
    if let Some(program) = env::var_os("CHROMIUM").filter(|name| !name.is_empty()) {
        return Some(program.into());
    }
    let names = ["chromium", "chromium-browser", "google-chrome"];
    env::split_paths(&env::var_os("PATH")?)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

const PATIENCE: Duration = Duration::from_secs(60);
