//! `groupkey validate`: in a network namespace of its own where that can be made.

use std::process::Command;

use crate::finished::{Finished, GROUPKEY, groupkey, or_skip};

#[test]
fn simulated_and_live_stand_side_by_side() {
    let arguments = "--net -- GROUPKEY validate --probe --delay 20 --qos 0,2 --messages 20 --json";
    let Some(finished) = or_skip("simulated_and_live_stand_side_by_side", unshared(arguments))
    else {
        return;
    };
    let rows = finished.objects();
    assert_eq!(rows.len(), 2);
    for (row, delays) in rows.iter().zip([2.0, 6.0]) {
        let mean = |side: &str| row[side]["mean_ms"].as_f64().expect("a number");
        assert!((mean("simulated") / 20.0 - delays).abs() < 0.1, "{row}");
        assert!(mean("live") >= delays * 20.0, "{row}");
        assert_eq!(row["live"]["delivered"], 20);
        assert_eq!((&row["congestion"], &row["overflow"]), (&"cubic".into(), &0.into()));
        assert!(row["packets"].as_u64() > Some(40) && row["lateness_p99_ms"].is_f64(), "{row}");
        let apart = row["difference_percent"].as_f64().expect("a number");
        let expected = (mean("simulated") / mean("live") - 1.0) * 100.0;
        assert!((apart - expected).abs() < 0.01, "{row}");
    }
}

#[test]
fn whole_operations_stand_side_by_side() {
    let arguments = "--net -- GROUPKEY validate --scheme skdc,igkmp,gdh2-relay --members 4 \
                     --operation create,remove --loss 0 --delay 20 --runs 2 --json";
    let Some(finished) = or_skip("whole_operations_stand_side_by_side", unshared(arguments)) else {
        return;
    };
    let rows = finished.objects();
    assert_eq!(rows.len(), 3 * 2);
    for row in &rows {
        let mean = |side: &str| row[side]["mean_ms"].as_f64().expect("a number");
        // A message at QoS 1 takes two one-way delays; here at least one is sent.
        assert!(mean("simulated") >= 40.0 && mean("live") >= 40.0, "{row}");
        assert_eq!((&row["simulated"]["runs"], &row["live"]["runs"]), (&1000.into(), &2.into()));
        let apart = row["difference_percent"].as_f64().expect("a number");
        let expected = (mean("simulated") / mean("live") - 1.0) * 100.0;
        assert!((apart - expected).abs() < 0.01, "{row}");
        assert_eq!((&row["congestion"], &row["overflow"]), (&"cubic".into(), &0.into()));
        assert_eq!(row["same_payload"], true, "{row}");
        assert!(row["lateness_p99_ms"].is_f64() && row["payload_bytes"].is_f64(), "{row}");
        assert!(row["live"]["wire_bytes"].as_f64() > row["payload_bytes"].as_f64(), "{row}");
    }
}

/// Without the right to make a device: what is missing, and what to do.
#[test]
fn without_rights_it_refuses() {
    for arguments in ["validate", "validate --probe", "net --live", "demo --loss 5"] {
        let dropped = format!("--bounding-set=-net_admin -- GROUPKEY {arguments}");
        let dropped = command("setpriv", &dropped);
        let Some(finished) = or_skip("without_rights_it_refuses", dropped) else { return };
        assert_eq!(finished.code, 1, "{}", finished.stderr);
        let told = finished.stderr;
        assert!(told.contains("CAP_NET_ADMIN") || told.contains("/dev/net/tun"), "{told}");
        assert!(told.contains("help: "), "{told}");
    }
}

#[test]
fn bad_input_is_refused() {
    for (arguments, told) in [
        ("validate --probe --scheme skdc", "cannot be used with"),
        ("validate --messages 5", "--probe"),
        ("validate --members 1", "from 2 to 1,000"),
        ("validate --scheme cka --operation rekey", "cka has no operation rekey"),
        ("validate --probe --loss 101", "0 to 100"),
        ("validate --probe --messages 0", "--messages"),
        ("validate --probe --qos 3", "expected 0, 1 or 2"),
        ("validate --probe --within -1", "--within"),
    ] {
        let finished = groupkey(arguments);
        assert_eq!(finished.code, 2, "{arguments}: {}", finished.stderr);
        assert!(finished.stderr.contains(told), "{arguments}: {}", finished.stderr);
    }
}

/// Runs in a network without anything in it.
pub(crate) fn unshared(arguments: &str) -> Result<Finished, String> {
    let finished = command("unshare", arguments)?;
    // What is missing here is not the command's fault.
    let missing = ["unshare failed", "no impaired network", "Operation not permitted"];
    match missing.iter().any(|missing| finished.stderr.contains(missing)) {
        true => Err(finished.stderr),
        false => Ok(finished),
    }
}

fn command(program: &str, arguments: &str) -> Result<Finished, String> {
    let arguments = arguments.split_whitespace();
    let arguments = arguments.map(|word| if word == "GROUPKEY" { GROUPKEY } else { word });
    let output = Command::new(program).args(arguments).output();
    let finished = output.map(Finished::from).map_err(|e| format!("{program}: {e}"))?;
    match finished.stderr.starts_with("setpriv:") {
        true => Err(finished.stderr),
        false => Ok(finished),
    }
}
