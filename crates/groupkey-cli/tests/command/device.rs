//! `groupkey device` and `groupkey trace`, and what schemes ask of the network.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

use crate::finished::{Folder, GROUPKEY, groupkey, groupkey_in, interrupted};

#[test]
fn devices_are_listed_and_shown() {
    let listed: Value =
        serde_json::from_str(&groupkey("device list --json").success()).expect("an array");
    let listed = listed.as_array().expect("an array");
    let table = groupkey("device list").success();
    for device in listed {
        let name = device["name"].as_str().expect("a name");
        assert!(table.contains(name), "{table}");
        let shown = groupkey(&format!("device show {name}")).success();
        assert!(shown.lines().any(|line| line == format!("name = \"{name}\"")), "{shown}");
    }
    for radio in ["802.15.4", "ble", "lorawan", "lte-m", "nb-iot", "wifi"] {
        assert!(table.lines().any(|line| line.starts_with(radio)), "{radio}: {table}");
        let shown = groupkey(&format!("device show {radio}")).success();
        assert!(shown.lines().any(|line| line == format!("name = \"{radio}\"")), "{shown}");
    }
    let esp32 = listed.iter().find(|device| device["name"] == "esp32-pbc").expect("it is listed");
    assert_eq!(esp32["power"]["idle"]["watt"], 0.20504);
    assert!(esp32["sources"]["calibrated"].as_u64().is_some_and(|count| count >= 5), "{esp32}");
    assert!(table.contains("instruction counts"), "{table}");
    let emulated = listed.iter().find(|device| device["name"] == "rv32imac").expect("it is listed");
    assert!(emulated["sources"]["counted"].as_u64().is_some_and(|count| count > 200), "{emulated}");
    assert!(emulated["sources"].get("measured").is_none(), "{emulated}");
}

#[test]
fn what_is_shown_can_be_read_again() {
    let folder = Folder::new();
    let shown = groupkey("device show esp8266").success();
    folder.file("mine.toml", &shown);
    let again = groupkey_in(folder.path(), &["device", "show", "mine.toml"]).success();
    assert_eq!(again, shown);
    // A board keeps its memory.
    let board = groupkey("device show nrf52840").success();
    folder.file("board.toml", &board);
    let again = groupkey_in(folder.path(), &["device", "show", "board.toml"]).success();
    assert_eq!(again, board);

    folder.file("bad.toml", &shown.replacen("per_call_ns", "per_cal_ns", 1));
    let refused = groupkey_in(folder.path(), &["device", "show", "bad.toml"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("bad.toml:") && refused.stderr.contains("per_cal_ns"),
        "{refused:?}"
    );
    let refused = groupkey("device show toaster");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("esp32-pbc"), "{refused:?}");
}

#[test]
fn what_a_board_printed_is_a_profile() {
    let folder = Folder::new();
    let mut printed = "ESP-ROM:esp32c3\ncycles esp32-c3 160000000 rv32imac\n".to_owned();
    let shown = groupkey("device show rv32imac").success();
    let (mut table, mut figures) = (String::new(), 0);
    for line in shown.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut table);
        } else if let Some((name, _)) = line.split_once(" = { per_call_instructions") {
            printed += &format!("{table} {name} 1600.00 16.00\n");
            figures += 1;
        }
    }
    assert!(figures > 200, "{shown}");
    folder.file("board.txt", &(printed.clone() + "end\n"));
    let measure = "device measure --printed board.txt --name mine --out mine.toml";
    groupkey_in(folder.path(), &measure.split(' ').collect::<Vec<_>>()).success();
    let shown = groupkey_in(folder.path(), &["device", "show", "mine.toml"]).success();
    assert!(shown.starts_with("name = \"mine\"\n"), "{shown}");
    assert!(shown.contains("wrap = { per_call_ns = 10000, per_unit_ns = 100,"), "{shown}");
    assert!(shown.contains("measured: 1600 cycles, and 16 a unit, on esp32-c3 at 160 MHz"));

    folder.file("board.txt", &printed);
    let refused = groupkey_in(folder.path(), &["device", "measure", "--printed", "board.txt"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("board.txt: the last line, `end`, is missing"), "{refused:?}");
}

#[test]
fn a_profile_is_not_written_over_another_file() {
    let folder = Folder::new();
    folder.file("mine.toml", "precious");
    let refused =
        groupkey_in(folder.path(), &["device", "measure", "--quick", "--out", "mine.toml"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("does not exist yet"), "{refused:?}");
}

/// What was killed leaves no empty file that the next run would have to refuse.
#[test]
fn a_measurement_that_is_killed_leaves_nothing() {
    let folder = Folder::new();
    let mut child = Command::new(GROUPKEY)
        .args(["device", "measure", "--out", "mine.toml"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().expect("it is ours").is_none(), "it takes minutes");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let left = fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(left, 0);
}

#[test]
fn a_target_is_emulated_with_the_firmware_or_not_at_all() {
    let folder = Folder::new();
    let refused = groupkey_in(
        folder.path(),
        &["device", "measure", "--target", "cortex-m4", "--out", "mine.toml"],
    );
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("a clone of the repository"), "{refused:?}");
    assert!(!folder.path().join("mine.toml").exists(), "an empty profile was left");
    for arguments in ["--target z80", "--target rv32imac --quick", "--firmware firmware"] {
        let refused = groupkey(&format!("device measure {arguments}"));
        assert_eq!(refused.code, 2, "{arguments}: {refused:?}");
    }
}

#[test]
fn a_trace_follows_from_its_seed() {
    let arguments = "trace --kind flash-crowd --members 5 --stay 30 --duration 60";
    let first = groupkey(&format!("{arguments} --seed 3")).success();
    assert_eq!(first, groupkey(&format!("{arguments} --seed 3")).success());
    assert_ne!(first, groupkey(&format!("{arguments} --seed 4")).success());
    assert!(first.contains("time_ms,event,member\n0,create,0-4\n"), "{first}");

    for (arguments, told) in [
        ("trace --members 1", "2 to 100000 members"),
        ("trace --stay 0", "stay"),
        ("trace --stay NaN", "stay"),
        ("trace --duration=-1", "a year"),
        ("trace --duration inf", "a year"),
        ("trace --members 100000 --stay 0.001", "fewer members"),
        ("trace --kind rush", "flash-crowd"),
    ] {
        let refused = groupkey(arguments);
        assert_eq!(refused.code, 2, "{arguments}: {refused:?}");
        assert!(refused.stderr.contains(told), "{arguments}: {}", refused.stderr);
    }
}

#[test]
fn a_trace_is_replayed_through_schemes() {
    let shift = "../../examples/traces/shift.csv";
    let rows = groupkey(&format!(
        "trace --replay {shift} --scheme skdc,tgdh --suite published --device esp32-pbc --json"
    ));
    let rows = rows.objects();
    let of = |scheme: &str, role: &str| {
        let row = rows.iter().find(|row| row["scheme"] == scheme && row["role"] == role);
        row.unwrap_or_else(|| panic!("{scheme}, {role} is missing")).clone()
    };
    // 10, then after each of 13 events so many members as are left, a unicast each.
    let sizes = [10, 9, 10, 9, 10, 9, 10, 9, 10, 9, 10, 11, 10, 11];
    assert_eq!(of("skdc", "controller")["unicast"]["messages"], sizes.iter().sum::<u64>());
    assert_eq!(of("skdc", "member")["messages"], 0);
    let member = of("tgdh", "member");
    assert!(member["busiest_joule"]["value"].as_f64().is_some_and(|joule| joule > 0.0), "{member}");
    let table = groupkey(&format!("trace --replay {shift} --scheme lkh-group")).success();
    assert!(table.contains("joins: 7, leaves: 6"), "{table}");
    assert!(table.starts_with("sound profile, standard suite, protection mac, seed 1.\n"));
    let table = format!("trace --replay {shift} --scheme skdc --profile published");
    assert!(groupkey(&table).success().starts_with("published profile, published suite"));

    let folder = Folder::new();
    folder.file("bad.csv", "time_ms,event,member\n0,create,0-3\n5,leave,9\n");
    let refused = groupkey_in(folder.path(), &["trace", "--replay", "bad.csv"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("bad.csv:3:1: member 9 is not in the group"), "{refused:?}");
    for (arguments, told) in [
        (format!("trace --replay {shift} --scheme marks"), "marks has no add"),
        (format!("trace --replay {shift} --device esp32-pbc"), "--suite published"),
        (format!("trace --replay {shift} --kind day"), "cannot be used with"),
        ("trace --scheme skdc".to_owned(), "--replay"),
        ("trace --replay no-such.csv".to_owned(), "no-such.csv"),
    ] {
        let refused = groupkey(&arguments);
        assert_eq!(refused.code, 2, "{arguments}: {refused:?}");
        assert!(refused.stderr.contains(told), "{arguments}: {}", refused.stderr);
    }
}

#[test]
fn requirements_stand_beside_the_published_tables() {
    let told: Value = serde_json::from_str(
        &groupkey("schemes skdc tgdh --requirements --profile published --json").success(),
    )
    .expect("an array");
    let beside = told[0]["beside_s003"].as_array().expect("skdc is in the tables");
    assert_eq!(beside.len(), 5);
    assert!(beside.iter().all(|entry| entry["agrees"] == true), "{beside:?}");
    assert_eq!(told[1]["beside_s003"], Value::Array(Vec::new()));
    assert!(told[1]["uses"].as_array().is_some_and(|uses| !uses.is_empty()));
    let refused = groupkey("schemes skdc --profile published");
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn an_interrupted_replay_prints_the_schemes_that_are_done() {
    let folder = Folder::new();
    let trace = groupkey("trace --kind day --members 400 --duration 1440 --seed 2").success();
    folder.file("day.csv", &trace);
    let replay =
        "trace --replay day.csv --scheme skdc,lkh-user,lkh-key,lkh-group --protection none --json";
    let words: Vec<&str> = replay.split_whitespace().collect();
    let started = Instant::now();
    let told = interrupted(folder.path(), &words, || started.elapsed() > Duration::from_secs(1));
    assert_eq!(told.code, 130, "{}", told.stderr);
    let schemes = BTreeSet::from_iter(told.stdout.lines().map(|row| {
        let row: Value = serde_json::from_str(row).expect("whole rows");
        row["scheme"].as_str().expect("a name").to_owned()
    }));
    let expected = format!("interrupted: {} of 4 schemes are done and printed", schemes.len());
    assert!(told.stderr.contains(&expected), "{}", told.stderr);
}

/// What the first scheme computed would be lost with the second's refusal: boneh-fat has no room for so
/// many, but shows that only as it runs.
#[test]
fn all_schemes_are_checked_before_the_first_is_run() {
    let folder = Folder::new();
    let trace = groupkey("trace --kind day --members 200 --duration 20 --seed 2").success();
    folder.file("day.csv", &trace);
    let run = |schemes: &str| {
        groupkey_in(folder.path(), &["trace", "--replay", "day.csv", "--scheme", schemes])
    };
    assert_eq!(run("boneh-fat").code, 1);
    let told = run("boneh-fat,marks");
    assert_eq!(told.code, 2, "{}", told.stderr);
    assert!(told.stderr.contains("marks"), "{}", told.stderr);
}
