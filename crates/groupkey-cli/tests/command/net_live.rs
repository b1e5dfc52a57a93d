//! `groupkey net --live`: the simulator's groups through a real broker.

use serde_json::Value;

use crate::broker::mosquitto;
use crate::finished::{groupkey, or_skip};
use crate::validate::unshared;

#[test]
fn live_rows_have_the_simulators_fields_and_bytes() {
    let Some((port, _broker)) = mosquitto("live_rows_have_the_simulators_fields") else { return };
    let arguments = "net --scheme lkh-group,igkmp,gdh2-relay --members 5 \
                     --operation create,add,remove --qos 1 --runs 2 --json --samples";
    let live = groupkey(&format!("{arguments} --live --broker 127.0.0.1:{port}")).objects();
    let simulated = groupkey(arguments).objects();
    assert_eq!((live.len(), simulated.len()), (9, 9));
    for (live, simulated) in live.iter().zip(&simulated) {
        assert_eq!(live["live"], true);
        for (field, value) in simulated.as_object().expect("a row has fields") {
            let is_set = ["burst_ms", "delay_ms", "jitter_ms", "rest_ms"].contains(&&**field);
            let is_measured = field.ends_with("_ms") && !is_set;
            match field.as_str() {
                // Without the emulator nobody counts packets.
                "wire_bytes" | "retransmissions" | "member_joule" => {
                    assert_eq!(live[field], Value::Null);
                }
                "samples" => {}
                "computation_ms" => assert!(live[field].is_f64(), "{live}"),
                _ if is_measured => assert!(live[field].as_f64() >= Some(0.0), "{field}: {live}"),
                _ => assert_eq!(&live[field], value, "{field}"),
            }
        }
        let samples = |row: &Value, field: &str| -> Vec<Value> {
            let samples = row["samples"].as_array().expect("they were asked for");
            samples.iter().map(|sample| sample[field].clone()).collect()
        };
        for field in ["messages", "payload_bytes"] {
            assert_eq!(samples(live, field), samples(simulated, field), "{field}");
        }
        assert_eq!(samples(live, "wire_bytes"), [Value::Null, Value::Null]);
        assert!(live.get("lateness_mean_ms").is_none(), "{live}");
    }
}

#[test]
fn a_table_says_that_it_was_measured() {
    let Some((port, _broker)) = mosquitto("a_table_says_that_it_was_measured") else { return };
    let broker = format!("127.0.0.1:{port}");
    let table = groupkey(&format!("net --live --broker {broker} --members 3 --runs 1")).success();
    let (circumstances, table) = table.split_once("\n\n").expect("a blank line between");
    let circumstances = circumstances.replace('\n', " ");
    assert!(circumstances.starts_with(&format!("Live: {broker}, with nothing in between. Runs")));
    assert_eq!(table.lines().count(), 2, "{table}");
}

/// With delay and loss, in a network namespace of its own: the emulator's part is told.
#[test]
fn through_the_emulator_packets_are_counted() {
    let settings = "--scheme skdc --members 3 --delay 20 --qos 1 --runs 2 --json";
    let arguments = format!("--net -- GROUPKEY net --live {settings}");
    let finished = or_skip("through_the_emulator_packets_are_counted", unshared(&arguments));
    let Some(finished) = finished else { return };
    let rows = finished.objects();
    let row = &rows[0];
    let number = |row: &Value, field: &str| row[field].as_f64().expect("a number");
    assert!(number(row, "mean_ms") >= 40.0, "{row}");
    assert_eq!((&row["broker"], &row["congestion"]), (&"Mosquitto".into(), &"cubic".into()));
    assert_eq!((&row["dropped"], &row["overflow"]), (&0.into(), &0.into()));
    assert!(row["packets"].as_u64() > Some(20) && row["lateness_p99_ms"].is_f64(), "{row}");
    // How many packets a busy machine makes of the same bytes is its own affair.
    let simulated = groupkey(&format!("net {settings}")).objects();
    assert_eq!(row["payload_bytes"], simulated[0]["payload_bytes"]);
    let (carried, on_the_wire) = (number(row, "payload_bytes"), number(row, "wire_bytes"));
    assert!(on_the_wire > carried && on_the_wire < 2.0 * number(&simulated[0], "wire_bytes"));
}

#[test]
fn what_cannot_be_is_refused() {
    for (arguments, told) in [
        ("net --broker localhost:1883", "--live"),
        ("net --broker localhost:1883 --jitter 1", "--broker needs --live"),
        ("net --probe --broker localhost:1883", "--broker needs --live"),
        ("net --scenario a.toml --congestion reno", "--congestion needs --live"),
        ("net --live --broker localhost", "expected HOST:PORT"),
        ("net --live --probe", "cannot be used with"),
        ("net --live --jitter 5", "cannot be used with"),
        ("net --live --bandwidth 64", "cannot be used with"),
        ("net --live --burst 20 --loss 5", "cannot be used with"),
        ("net --live --max-in-flight 20", "cannot be used with"),
        ("net --live --threads 2", "cannot be used with"),
        ("net --live --scenario platoon.toml", "cannot be used with"),
        ("net --live --members 1001", "1001 live members are too many"),
    ] {
        let finished = groupkey(arguments);
        assert_eq!(finished.code, 2, "{arguments}: {}", finished.stderr);
        assert!(finished.stderr.contains(told), "{arguments}: {}", finished.stderr);
    }
    let unreachable = groupkey("net --live --broker 127.0.0.1:1");
    assert_eq!(unreachable.code, 1, "{}", unreachable.stderr);
    assert!(unreachable.stderr.contains("help: is the broker running"), "{}", unreachable.stderr);
}
