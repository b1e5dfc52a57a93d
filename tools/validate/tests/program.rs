//! The program in a network namespace of its own. The tests are skipped with a message where rights, the
//! device or Mosquitto are missing, unless `GROUPKEY_REQUIRE_ALL` is set.
#![cfg(target_os = "linux")]

use std::env;
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn simulated_and_live_rows_stand_side_by_side() {
    let arguments =
        "--scheme skdc,igkmp --members 4 --operation create,remove --loss 0 --delay 20 --runs 2";
    let Some(rows) = rows(arguments) else { return };
    assert_eq!(rows.len(), 2 * 2 * 2);
    for pair in rows.chunks(2) {
        let [simulated, live] = pair else { panic!("{pair:?}") };
        let number = |row: &Value, field: &str| row[field].as_f64().expect("a number");
        // A message at QoS 1 takes two one-way delays, and at least one is sent.
        assert!(number(simulated, "mean_ms") >= 40.0 && number(live, "mean_ms") >= 40.0, "{live}");
        assert!(number(live, "mean_ms") < 2.0 * number(simulated, "mean_ms") + 50.0, "{live}");
        assert_eq!((&simulated["live"], &live["live"]), (&Value::Null, &true.into()));
        assert_eq!((&simulated["runs"], &live["runs"]), (&1_000.into(), &2.into()));
        for same in ["scheme", "operation", "history", "messages", "payload_bytes", "seed"] {
            assert_eq!(simulated[same], live[same], "{same}");
        }
        assert_eq!(live["dropped"], 0, "{live}");
        assert!(number(live, "wire_bytes") > number(live, "payload_bytes"), "{live}");
        assert!(live["packets"].as_u64() > Some(20) && live["lateness_p99_ms"].is_f64(), "{live}");
    }
}

#[test]
fn lost_packets_are_sent_again() {
    let Some(rows) = rows("--scheme skdc --loss 20 --delay 5 --runs 5") else { return };
    let live = &rows[1];
    assert!(live["dropped"].as_u64() > Some(0), "{live}");
    assert!(live["mean_ms"].as_f64() > Some(100.0), "{live}");
}

#[test]
fn what_is_missing_or_wrong_is_told() {
    let set = Command::new("setpriv").args(["--bounding-set=-net_admin", "--", PROGRAM]).output();
    if let Some(output) = set.ok().filter(|it| !it.stderr.starts_with(b"setpriv")) {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("CAP_NET_ADMIN") || told.contains("/dev/net/tun"), "{told}");
        assert!(!output.status.success());
    }
    for (arguments, expected) in [
        ("--scheme nothing", "groupkey schemes"),
        ("--members 1", "1 is not in 2..=1000"),
        ("--scheme cka --operation rekey", "cka"),
        ("--loss 101", "loss"),
    ] {
        let output = Command::new(PROGRAM).args(arguments.split(' ')).output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(expected), "{arguments}: {told}");
    }
}

fn rows(arguments: &str) -> Option<Vec<Value>> {
    let unshared = ["--net", "--", PROGRAM];
    let output = Command::new("unshare").args(unshared).args(arguments.split(' ')).output();
    let Output { status, stdout, stderr } = output.expect("unshare is part of every Linux");
    let told = String::from_utf8_lossy(&stderr);
    let missing =
        ["Operation not permitted", "CAP_NET_ADMIN", "/dev/net/tun", "does not start", "fails: "];
    if missing.iter().any(|missing| told.contains(missing)) {
        assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{told}");
        eprintln!("SKIPPED: {told}");
        return None;
    }
    assert!(status.success(), "{told}");
    let stdout = String::from_utf8(stdout).expect("rows are UTF-8");
    Some(stdout.lines().map(|row| serde_json::from_str(row).expect("a row is JSON")).collect())
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_groupkey-validate");
