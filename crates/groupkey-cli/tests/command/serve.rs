//! `groupkey serve`, and what it answers over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::Value;

use crate::finished::{Folder, GROUPKEY, groupkey_in};

#[test]
fn it_serves_and_answers() {
    let folder = Folder::new();
    let printed = groupkey_in(folder.path(), &["serve", "--print-config"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(printed.stdout.contains("\n[http]\nlisten = \"127.0.0.1:8475\"\n"));
    // Any free port; and no broker, whose port is nobody's.
    let file = "store = 'group.redb'\n[broker]\nport = 1\n\
        [http]\nlisten = '127.0.0.1:0'\ntoken_file = 'http.token'\n";
    let mut child = serve(&folder, file);
    // Kept to the end: who prints into a closed pipe ends.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("http://").map(str::to_owned))
        .expect("it says where it listens");
    let token = fs::read_to_string(folder.path().join("http.token")).expect("a token was drawn");
    let ask = |path: &str, header: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let health = ask("/health", "");
    assert!(health.contains(" 503 ") && health.contains("\"disconnected\""), "{health}");
    assert!(ask("/api/v1/groups", "").contains(" 401 "));
    let groups = ask("/api/v1/groups", &format!("Authorization: Bearer {}\r\n", token.trim()));
    assert!(groups.contains(" 200 ") && groups.contains("\"lkh-group\""), "{groups}");
    assert!(ask("/", "").contains("<!doctype html>"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What an operator's terminal sends by mistake does not cut the operator off.
#[test]
fn a_line_that_is_no_text_ends_nothing() {
    let folder = Folder::new();
    let mut child = serve(&folder, NO_BROKER);
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"\xff\n").unwrap();
    input.write_all(&vec![b'x'; 200_000]).unwrap();
    input.write_all(b"\nmembers\n").unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || lines.filter(|line| sender.send(line.clone()).is_ok()).count());
    let answer = || loop {
        let line = answers.recv_timeout(Duration::from_secs(60)).expect("an answer");
        if line.starts_with("not done") || line.starts_with("members") {
            return line;
        }
    };
    assert_eq!(answer(), "not done: the line is not UTF-8");
    assert_eq!(answer(), "not done: the line is longer than 65536 bytes");
    assert!(answer().starts_with("members: ; taken 0"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// `docs/operate.md` shows these lines.
#[test]
fn an_operator_asks_for_members_and_a_change_that_cannot_be_is_refused() {
    let folder = Folder::new();
    let mut child = serve(
        &folder,
        "store = 'group.redb'\n[broker]\nport = 1\n\
         [http]\nlisten = '127.0.0.1:0'\ntoken_file = 'http.token'\n",
    );
    // Kept to the end: who prints into a closed pipe ends.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find(|line| line.starts_with("http://")).expect("it says where it listens");
    let ctl = |line: &str| {
        let arguments: Vec<&str> =
            ["ctl", "--service", &address].into_iter().chain(line.split(' ')).collect();
        groupkey_in(folder.path(), &arguments)
    };
    assert_eq!(
        ctl("scheme").success(),
        "scheme lkh-group degree=4 derived=0 (sound, standard, signature)\n"
    );
    assert!(ctl("status").success().contains("\nepoch:    not founded yet\nmembers:  0; 0 wait\n"));
    assert!(ctl("members").success().ends_with("\n0 members\n"));
    let members: Value = serde_json::from_str(&ctl("members --json").success()).expect("JSON");
    assert_eq!(members, Value::Array(Vec::new()));
    for (line, code, reason) in [
        ("change lkh-group degree=8", 1, "there is no group yet"),
        ("change lkh-group degree=8 suite=constrained", 1, "there is no group yet"),
        ("change none", 1, "no scheme is called none"),
        ("change lkh-group suite=none", 1, "no suite is called none"),
        ("change lkh-group degree", 2, "NAME=VALUE"),
        ("change lkh-group degree=x", 2, "the value is a number"),
        ("change skdc degree=8", 1, "degree"),
        ("change", 2, "<SCHEME>"),
        ("cancel", 1, "no change is under way"),
        ("evict nobody", 1, "nobody"),
        (
            "evict nobody somebody",
            1,
            "not evicted: nobody: no device ever joined as nobody; somebody: ",
        ),
        ("evict", 2, "<NAME>..."),
        ("evict no/body", 2, "a name has 1 to 64"),
    ] {
        let refused = ctl(line);
        assert_eq!(refused.code, code, "{line}: {refused:?}");
        assert!(refused.stderr.contains(reason), "{line}: {refused:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let gone = ctl("status");
    assert_eq!(gone.code, 1);
    assert!(gone.stderr.contains("no service answers"), "{gone:?}");
}

/// A supervisor starts again what has failed.
#[test]
fn it_fails_when_nobody_reads_what_it_says() {
    let folder = Folder::new();
    let mut child = serve(&folder, NO_BROKER);
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("service "), "{first}");
    // It tells that there is no broker.
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("standard output was closed by its reader")
    );
}

#[test]
fn a_damaged_store_is_refused_in_one_line() {
    let folder = Folder::new();
    let begin = || {
        let mut child = serve(&folder, NO_BROKER);
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let _ = child.kill();
        (first, child.wait_with_output().unwrap())
    };
    assert!(begin().0.starts_with("service "));
    let path = folder.path().join("group.redb");
    let whole = fs::read(&path).unwrap();
    // The type of a table's values, with which redb compares its own. redb panicked.
    let mut flipped = whole.clone();
    let place = whole.windows(14).position(|window| window == b"redb::PageList").unwrap();
    flipped[place] ^= 0x80;
    fs::write(&path, &flipped).unwrap();
    let (_, output) = begin();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");

    let damaged: Vec<u8> = whole.iter().map(|byte| byte ^ 0x80).collect();
    let damaged = [&whole[..4_096], &damaged[4_096..]].concat();
    for bytes in [&damaged[..], &whole[..whole.len() / 2]] {
        fs::write(&path, bytes).unwrap();
        let refused = groupkey_in(folder.path(), &["serve", "--config", "serve.toml"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
        let error =
            "error: group.redb: the store failed: the file is damaged: put the last copy back\n";
        assert_eq!(refused.stderr, error);
        assert!(fs::read(&path).unwrap() == bytes, "it was changed");
    }
}

/// The bits of the whole file, sampled with a seed.
#[test]
fn a_flipped_bit_in_the_store_ends_with_1_and_one_sentence_or_does_no_harm() {
    let folder = Folder::new();
    let stopped = run_until_stopped(&folder).expect("it starts");
    assert_eq!(stopped.status.code(), Some(0), "{stopped:?}");
    let path = folder.path().join("group.redb");
    let whole = fs::read(&path).unwrap();
    // Most others are pages that are free, or all zeros.
    let said: Vec<_> = (0..whole.len()).filter(|&at| !matches!(whole[at], 0 | 0xff)).collect();
    let (mut rng, mut refused, mut harmless) = (ChaCha20Rng::seed_from_u64(39), 0, 0);
    for number in 0..60 {
        let place = match number % 4 {
            0 => rng.next_u32() as usize % whole.len(),
            _ => said[rng.next_u32() as usize % said.len()],
        };
        let bit = rng.next_u32() % 8;
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << bit;
        fs::write(&path, &flipped).unwrap();
        match run_until_stopped(&folder) {
            Ok(output) => {
                assert_eq!(output.status.code(), Some(0), "byte {place}, bit {bit}: {output:?}");
                // It has everything, as it said.
                let look = ["check", "--config", "serve.toml", "--offline"];
                let looked = groupkey_in(folder.path(), &look);
                assert_eq!(looked.code, 0, "byte {place}, bit {bit}: {looked:?}");
                harmless += 1;
            }
            Err(output) => {
                assert_eq!(output.status.code(), Some(1), "byte {place}, bit {bit}: {output:?}");
                let error = String::from_utf8(output.stderr).unwrap();
                let is_one_line =
                    error.starts_with("error: group.redb: ") && error.matches('\n').count() == 1;
                assert!(is_one_line, "byte {place}, bit {bit}: {error}");
                let now = fs::read(&path).unwrap();
                assert!(now == flipped, "byte {place}, bit {bit}: it was changed");
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && harmless > 0, "{refused} refused, {harmless} harmless");
}

/// Starts a service without a broker, and interrupts it when it runs. Returns what it did, as an error
/// if it ended by itself.
fn run_until_stopped(folder: &Folder) -> Result<Output, Output> {
    let mut child = serve(folder, NO_BROKER);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    if !lines.any(|line| line.starts_with("not connected")) {
        return Err(child.wait_with_output().unwrap());
    }
    // It looks for an interruption ten times a second. What it says until it ends must be read.
    thread::sleep(Duration::from_millis(250));
    let rest = thread::spawn(move || lines.count());
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().unwrap();
    rest.join().unwrap();
    Ok(output)
}

/// A service without a broker, whose port is nobody's.
const NO_BROKER: &str = "store = 'group.redb'\n[broker]\nport = 1\n";

fn serve(folder: &Folder, file: &str) -> Child {
    folder.file("serve.toml", file);
    Command::new(GROUPKEY)
        .args(["serve", "--config", "serve.toml"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}
