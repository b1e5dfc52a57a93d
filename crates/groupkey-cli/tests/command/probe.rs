//! `groupkey net --probe`.

use serde_json::Value;

use crate::finished::groupkey;

#[test]
fn lists_give_the_product() {
    let rows = groupkey("net --probe --loss 0,10 --delay 0,100 --qos 0,1,2 --messages 20 --json");
    let rows = rows.objects();
    assert_eq!(rows.len(), 2 * 2 * 3);
    assert_eq!((&rows[0]["loss_percent"], &rows[0]["qos"]), (&0.0.into(), &0.into()));
    assert_eq!((&rows[11]["loss_percent"], &rows[11]["qos"]), (&10.0.into(), &2.into()));
}

/// Without loss the number of one-way delays until delivery is that of the MQTT exchange.
#[test]
fn quality_of_service_costs_its_hand_shakes() {
    for (arguments, delays) in [
        ("--qos 0", 2.0),
        ("--qos 1", 2.0),
        ("--qos 2 --until publish", 4.0),
        ("--qos 2 --until pubrel", 6.0),
    ] {
        let command = format!("net --probe --delay 100 --messages 50 --json {arguments}");
        let rows = groupkey(&command).objects();
        let mean = rows[0]["mean_ms"].as_f64().expect("a number");
        assert!((mean / 100.0 - delays).abs() < 0.05, "{arguments}: {mean} ms");
        assert_eq!(rows[0]["delivered"], 50);
    }
}

#[test]
fn a_seed_decides_everything() {
    let run = |seed: u32| {
        groupkey(&format!("net --probe --loss 10 --messages 200 --json --seed {seed}")).success()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn the_table_says_what_was_probed() {
    let stdout = groupkey("net --probe --loss 5 --burst 30 --messages 40").success();
    assert!(stdout.contains("40 messages of 100 bytes"), "{stdout}");
    assert!(stdout.contains("delivered at PUBREL; seed 1.\nAll rows: lost in bursts of 30 ms.\n"));
    assert_eq!(stdout.lines().count(), 5, "{stdout}");
    let stdout = groupkey("net --probe --qos 0 --messages 5").success();
    assert!(!stdout.contains("delivered at"), "{stdout}");
    let rows = groupkey("net --probe --qos 1,2 --messages 5 --json").objects();
    assert_eq!((&rows[0]["until"], &rows[1]["until"]), (&Value::Null, &"PUBREL".into()));
}

#[test]
fn a_dead_link_delivers_nothing_and_says_so() {
    let rows = groupkey("net --probe --loss 100 --messages 5 --json").objects();
    assert_eq!(rows[0]["delivered"], 0);
    assert!(rows[0]["mean_ms"].is_null());
}

#[test]
fn payloads_are_a_list() {
    let rows =
        groupkey("net --probe --payload 20,20000 --bandwidth 100 --messages 5 --json").objects();
    let of =
        |field: &str| rows.iter().map(|row| row[field].as_f64().expect(field)).collect::<Vec<_>>();
    assert_eq!(of("payload_bytes"), [20.0, 20_000.0]);
    let times = of("mean_ms");
    assert!(times[1] > 10.0 * times[0], "{times:?}");
    let table = groupkey("net --probe --payload 20,200 --messages 5").success();
    assert!(table.contains("payload B") && table.contains("5 messages, one at a time"), "{table}");
    assert!(groupkey("net --payload 20").stderr.contains("--payload needs --probe"));
}
