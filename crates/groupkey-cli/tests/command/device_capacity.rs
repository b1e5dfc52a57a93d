//! `groupkey device energy`, `battery`, `fit` and `published`.

use groupkey::catalogue::SCHEMES;
use serde_json::Value;

use crate::finished::{Folder, groupkey, groupkey_in};

fn json(arguments: &str) -> Value {
    serde_json::from_str(&groupkey(arguments).success()).expect("JSON")
}

const POWER: &str = "../../examples/power";

#[test]
fn a_log_of_a_meter_gives_joules_of_its_marks() {
    let read = json(&format!("device energy --log {POWER}/ppk2.csv --volts 3.0 --json"));
    assert_eq!((&read["method"], &read["format"]), (&Value::from("meter"), &Value::from("ppk2")));
    let operation = &read["operations"][0];
    assert_eq!((&operation["operation"], &operation["measured"]), (&"D0".into(), &3.into()));
    let gross = operation["gross_joule"]["value"].as_f64().expect("a number");
    assert!((gross - 0.72e-3).abs() < 0.02e-3, "{operation}");

    let marked = format!("--markers {POWER}/wt310-markers.csv");
    let printed = groupkey(&format!("device energy --log {POWER}/wt310.csv {marked}")).success();
    assert!(printed.contains("update") && printed.contains("net J"), "{printed}");
    // Markers that are an hour late mark nothing that the log has.
    let late = groupkey(&format!("device energy --log {POWER}/wt310.csv {marked} --offset 3600"));
    assert!(late.success().contains("the log does not reach its ends"));
    let other = json(&format!(
        "device energy --log {POWER}/ina219.csv --idle 0.05 --error-percent 1 --error-watt 0 --json"
    ));
    assert_eq!(other["idle_watt"]["value"], 0.05);
    assert_eq!(other["reading_error"]["of_reading"], 0.01);
}

#[test]
fn a_wrong_log_is_refused_with_its_place_and_what_to_do() {
    let folder = Folder::new();
    folder.file("log.csv", "Timestamp(ms),Current(uA)\n0,10\n1,x\n");
    let refused = |arguments: &[&str]| {
        let finished = groupkey_in(folder.path(), arguments);
        assert_eq!(finished.code, 2, "{finished:?}");
        finished.stderr
    };
    let told = refused(&["device", "energy", "--log", "log.csv"]);
    assert!(told.contains("log.csv:1:1:") && told.contains("--volts"), "{told}");
    let told = refused(&["device", "energy", "--log", "log.csv", "--volts", "3"]);
    assert!(told.contains("log.csv:3:3:") && told.contains("docs/energy.md"), "{told}");
    let told = refused(&["device", "energy", "--log", "none.csv"]);
    assert!(told.contains("none.csv"), "{told}");
    refused(&["device", "energy", "--log", "log.csv", "--volts", "-3"]);
    refused(&["device", "energy", "--log", "log.csv", "--offset", "1"]);
}

#[test]
fn a_battery_lasts_for_changes_of_every_scheme() {
    let found = json("device battery --device esp32 --members 50 --protection mac --json");
    assert_eq!((&found["method"], &found["battery"]["joule"]), (&"model".into(), &4650.0.into()));
    assert_eq!(found["counts"]["bearing"], "stand-in");
    let schemes = found["schemes"].as_array().expect("an array");
    assert_eq!(schemes.len(), SCHEMES.len());
    for scheme in schemes {
        assert!(scheme["changes"]["value"].is_f64() != scheme["reason"].is_string(), "{scheme}");
    }
    let printed = groupkey("device battery --members 3000 --battery 100 --idle").success();
    assert!(printed.contains("100 J") && printed.contains("and idling"), "{printed}");
    let refused = groupkey("device battery --battery potato");
    assert!(refused.code == 2 && refused.stderr.contains("cr123a"), "{refused:?}");
}

#[test]
fn what_fits_on_boards_is_told_of_every_scheme() {
    let found = json("device fit --members 10,1000 --json");
    let found = found.as_array().expect("an array");
    assert_eq!(found.len(), 6 * 2 * SCHEMES.len());
    let is_short = |row: &&Value| row["verdict"] == "does-not-fit";
    let short: Vec<&Value> = found.iter().filter(is_short).collect();
    assert!(!short.is_empty() && short.len() < found.len());
    for row in short {
        let first = &row["short"][0];
        let number = |key: &str| first[key].as_f64().expect("a number");
        let by = number("needed") - number("available");
        assert!(by > 0.0 && (number("short_by") - by).abs() < 1e-6, "{row}");
    }
    let all = groupkey("device fit").success();
    assert!(all.contains("esp32-c3") && all.contains("What is short:"), "{all}");
    let one = groupkey("device fit --device esp8266 --members 1000").success();
    assert!(one.contains("str ") && one.contains("no: ram"), "{one}");
}

#[test]
fn a_board_of_ones_own_is_a_file() {
    let folder = Folder::new();
    let text = groupkey("device fit --show rp2040").success();
    folder.file("mine.toml", &text.replace("taken_bytes = 65_536", "taken_bytes = 270_000"));
    let run = |arguments: &[&str]| groupkey_in(folder.path(), arguments);
    let found = run(&["device", "fit", "--device", "mine.toml", "--members", "100"]).success();
    assert!(found.contains("336 B = 270336 - 270000") && found.contains("no: ram"), "{found}");
    folder.file("bad.toml", &text.replace("[flash]", "[flush]"));
    let refused = run(&["device", "fit", "--device", "bad.toml"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("bad.toml:") && refused.stderr.contains("flush"),
        "{refused:?}"
    );
    let refused = groupkey("device fit --device breadboard");
    assert!(refused.code == 2 && refused.stderr.contains("esp32-c3"), "{refused:?}");
}

#[test]
fn studies_stand_beside_ours() {
    let rows = json("device published --json");
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
