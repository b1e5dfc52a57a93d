//! `groupkey device energy`, boards as devices, and `reproduce boards`.

use serde_json::Value;

use crate::finished::{Folder, groupkey, groupkey_in};

fn json(arguments: &str) -> Value {
    serde_json::from_str(&groupkey(arguments).success()).expect("JSON")
}

const POWER: &str = "../../examples/power";

#[test]
fn a_log_of_a_meter_gives_joules_of_its_marks() {
    let read = json(&format!("device energy --log {POWER}/rekey.csv --json"));
    assert_eq!(read["method"], Value::from("meter"));
    let operation = &read["operations"][0];
    assert_eq!((&operation["operation"], &operation["measured"]), (&"rekey".into(), &2.into()));
    let gross = operation["gross_joule"]["value"].as_f64().expect("a number");
    assert!((gross - 0.4 * 0.150).abs() < 0.006, "{operation}");

    let printed = groupkey(&format!("device energy --log {POWER}/s004.csv")).success();
    assert!(printed.contains("update") && printed.contains("net J"), "{printed}");
    let other = json(&format!(
        "device energy --log {POWER}/rekey.csv --idle 0.05 --error-percent 1 --error-watt 0 --json"
    ));
    assert_eq!(other["idle_watt"]["value"], 0.05);
    assert_eq!(other["reading_error"]["of_reading"], 0.01);
}

#[test]
fn a_wrong_log_is_refused_with_its_place_and_what_to_do() {
    let folder = Folder::new();
    folder.file("log.csv", "seconds,watts,marker\n0,10,\n1,x,\n");
    let refused = |arguments: &[&str]| {
        let finished = groupkey_in(folder.path(), arguments);
        assert_eq!(finished.code, 2, "{finished:?}");
        finished.stderr
    };
    let told = refused(&["device", "energy", "--log", "log.csv"]);
    assert!(told.contains("log.csv:3:1:") && told.contains("docs/devices.md"), "{told}");
    let told = refused(&["device", "energy", "--log", "none.csv"]);
    assert!(told.contains("none.csv"), "{told}");
    refused(&["device", "energy", "--log", "log.csv", "--idle", "-3"]);
}

#[test]
fn a_board_of_ones_own_is_a_file() {
    let folder = Folder::new();
    let text = groupkey("device show rp2040").success();
    assert!(text.contains("taken_source"), "a board is shown with its own sources: {text}");
    folder.file("mine.toml", &text.replace("name = \"rp2040\"", "name = \"mine\""));
    let bench = ["bench", "--scheme", "skdc", "--members", "4", "--operation", "remove", "--json"];
    let run = |file| groupkey_in(folder.path(), &[&bench[..], &["--device", file]].concat());
    let found = run("./mine.toml").success();
    assert!(found.contains("\"mine\""), "{found}");
    folder.file("bad.toml", &text.replace("[flash]", "[flush]"));
    let refused = run("./bad.toml");
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("bad.toml:") && refused.stderr.contains("flush"),
        "{refused:?}"
    );
    let refused = groupkey("device show breadboard");
    assert!(refused.code == 2 && refused.stderr.contains("esp32-c3"), "{refused:?}");
}

#[test]
fn studies_stand_beside_ours() {
    let rows = json("reproduce boards --json");
    let rows = rows.as_array().expect("an array");
    assert_eq!(rows.len(), 7);
    for row in rows {
        assert!(row["same"]["instructions"].as_f64().is_some_and(|count| count > 1e6), "{row}");
        assert!(row["by_implementation"].as_f64().is_some_and(f64::is_finite), "{row}");
    }
}

/// A board is a device for the other commands, too.
#[test]
fn a_board_prices_a_benchmark() {
    let arguments = "bench --scheme skdc --members 4 --operation remove --repetitions 2 --json";
    let finished = groupkey(&format!("{arguments} --device esp32-c3")).success();
    assert!(finished.contains("esp32-c3"), "{finished}");
}
