//! `groupkey demo --operations`: what is sent to a group arrives once.

use serde_json::Value;

use crate::broker::mosquitto;
use crate::finished::groupkey;

#[test]
fn two_hundred_members_get_every_key_once() {
    let Some((port, _broker)) = mosquitto("two_hundred_members") else { return };
    let arguments = "demo --members 200 --operations 10 --qos 2 --json --broker 127.0.0.1";
    let objects = groupkey(&format!("{arguments}:{port}")).objects();
    assert_eq!(objects.len(), 12);
    for (turn, row) in objects[..11].iter().enumerate() {
        let operation = if turn == 0 { "create" } else { ["remove", "add"][turn % 2] };
        assert_eq!(row["operation"], operation, "{row}");
        assert!(turn == 0 || row["epoch"].as_u64() > objects[turn - 1]["epoch"].as_u64(), "{row}");
        assert_eq!(row["members"], 200 + turn % 2, "{row}");
        assert!(row["everywhere_ms"].as_f64() >= row["made_ms"].as_f64(), "{row}");
    }
    assert_nothing_lost(&objects[11]);
    assert_eq!(objects[11]["repeated"], 0, "{}", objects[11]);
}

#[test]
fn a_group_changes_its_scheme_and_misses_nothing() {
    let Some((port, _broker)) = mosquitto("a_group_changes_its_scheme") else { return };
    let arguments = format!("demo --members 40 --change skdc --json --broker 127.0.0.1:{port}");
    assert_nobody_missed(&groupkey(&arguments).objects(), 40);
    let refused = groupkey("demo --change tgdh");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert_eq!(groupkey("demo --change skdc --operations 2").code, 2);
}

fn assert_nobody_missed(objects: &[Value], members: u64) {
    let [change] = objects else { panic!("{objects:?}") };
    assert_eq!((&change["operation"], &change["members"]), (&"change".into(), &members.into()));
    assert!(change["messages"].as_u64() > Some(20), "{change}");
    assert_eq!(change["heard_by_all"], change["messages"], "{change}");
    for nothing in ["lost", "repeated", "left_behind"] {
        assert_eq!(change[nothing], 0, "{change}");
    }
}

#[test]
fn the_embedded_broker_speaks_both_versions() {
    for version in ["3.1.1", "5"] {
        for qos in 0..=2 {
            let arguments = format!("--members 4 --operations 2 --mqtt {version} --qos {qos}");
            let objects = groupkey(&format!("demo {arguments} --json")).objects();
            assert_eq!(objects.len(), 4, "{arguments}");
        }
    }
    let finished = groupkey("demo --mqtt 4");
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("3.1.1, 5"), "{}", finished.stderr);
}

#[test]
fn what_is_no_broker_is_refused() {
    let finished = groupkey("demo --operations 2 --broker localhost");
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("HOST:PORT"), "{}", finished.stderr);
    assert_eq!(groupkey("demo --json").code, 2);
}

fn assert_nothing_lost(summary: &Value) {
    assert_eq!(summary["out_of_order"], 0, "{summary}");
    assert_eq!(summary["skipped"], 0, "{summary}");
}

#[test]
fn only_schemes_with_a_controller_are_offered() {
    let help = groupkey("demo --help").success();
    assert!(help.contains("lkh-group") && !help.contains("gdh2"), "{help}");
    let refused = groupkey("demo --scheme gdh2");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("run groupkey member"), "{}", refused.stderr);
}
