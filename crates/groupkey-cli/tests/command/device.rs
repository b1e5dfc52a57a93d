//! `groupkey device` and `groupkey trace`, and what schemes ask of the network.

use serde_json::Value;

use crate::finished::{Folder, groupkey, groupkey_in};

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
        assert!(shown.starts_with(&format!("name = \"{name}\"\n")), "{shown}");
    }
    let esp32 = listed.iter().find(|device| device["name"] == "esp32-pbc").expect("it is listed");
    assert_eq!(esp32["power"]["idle"]["watt"], 0.20504);
    assert!(esp32["sources"]["calibrated"].as_u64().is_some_and(|count| count >= 5), "{esp32}");
}

#[test]
fn what_is_shown_can_be_read_again() {
    let folder = Folder::new();
    let shown = groupkey("device show esp8266").success();
    folder.file("mine.toml", &shown);
    let again = groupkey_in(folder.path(), &["device", "show", "mine.toml"]).success();
    assert_eq!(again, shown);

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
fn a_profile_is_not_written_over_another_file() {
    let folder = Folder::new();
    folder.file("mine.toml", "precious");
    let refused =
        groupkey_in(folder.path(), &["device", "measure", "--quick", "--out", "mine.toml"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("does not exist yet"), "{refused:?}");
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
        ("trace --duration -1", "--duration"),
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
