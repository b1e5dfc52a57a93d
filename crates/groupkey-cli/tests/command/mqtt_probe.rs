//! `groupkey mqtt-probe`.

use std::net::TcpListener;

use crate::finished::{Folder, groupkey};

#[test]
fn the_checks_are_told_without_a_broker() {
    let list = groupkey("mqtt-probe --list").success();
    assert!(list.contains("qos2-cut-before-pubrec\n  cut right after PUBLISH"), "{list}");
    assert!(list.contains("MQTT 3.1.1: [MQTT-3.8.4-6]"), "{list}");
    let checks = groupkey("mqtt-probe --list --json").objects();
    assert!(checks.len() >= 20);
    assert!(checks.iter().any(|check| check["clauses_3_1_1"].is_null()));
}

#[test]
fn where_no_broker_is_that_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    let finished = groupkey(&format!("mqtt-probe --broker {address} --timeout 0.2"));
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(
        finished.stderr.contains("no MQTT broker: no CONNACK within 0.2 s"),
        "{}",
        finished.stderr
    );

    drop(listener);
    let finished = groupkey(&format!("mqtt-probe --broker {address} --timeout 0.2"));
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("no connection"), "{}", finished.stderr);
    assert!(finished.stderr.contains("help: is the broker running"), "{}", finished.stderr);
}

#[test]
fn where_no_tls_is_that_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    let authority = rcgen::generate_simple_self_signed(["broker".to_owned()]).expect("it is made");
    let folder = Folder::new();
    let ca = folder.path().join(folder.file("ca.pem", &authority.cert.pem()));
    let finished =
        groupkey(&format!("mqtt-probe --broker {address} --timeout 0.2 --ca {}", ca.display()));
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("no TLS: no handshake within 0.2 s"), "{}", finished.stderr);
    assert!(finished.stderr.contains("help: is this the port with TLS"), "{}", finished.stderr);
}

#[test]
fn bad_input_is_refused() {
    for (arguments, told) in [
        ("mqtt-probe", "HOST:PORT"),
        ("mqtt-probe --broker localhost", "expected HOST:PORT"),
        ("mqtt-probe --broker localhost:99999", "expected HOST:PORT"),
        ("mqtt-probe --broker localhost:1883 --timeout 0", "0.1 to 300"),
        ("mqtt-probe --broker localhost:1883 --password-file a", "--user"),
        (
            "mqtt-probe --broker localhost:1883 --user a --password-file missing",
            "cannot read missing",
        ),
        ("mqtt-probe --broker localhost:8883 --ca missing.pem", "cannot read missing.pem"),
        ("mqtt-probe --broker localhost:8883 --ca Cargo.toml", "tls.ca: a PEM file"),
        ("mqtt-probe --broker localhost:8883 --ca a --certificate b", "--key"),
        ("mqtt-probe --broker localhost:8883 --certificate a --key b", "--ca"),
        ("mqtt-probe --broker localhost:1883 --list", "cannot be used with"),
    ] {
        let finished = groupkey(arguments);
        assert_eq!(finished.code, 2, "{arguments}: {}", finished.stderr);
        assert!(finished.stderr.contains(told), "{arguments}: {}", finished.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_tells_every_check_and_whether_all_passed() {
    use groupkey_testbed::impairment::Mosquitto;
    use std::net::SocketAddr;

    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let Ok(SocketAddr::V4(address)) = listener.local_addr() else { unreachable!("it is IPv4") };
    drop(listener);
    let mosquitto = Mosquitto::start(address, address);
    let Some(_mosquitto) = crate::finished::or_skip("a_run_tells_every_check", mosquitto) else {
        return;
    };
    let findings = groupkey(&format!("mqtt-probe --broker {address} --json")).objects();
    assert!(findings.len() >= 40);
    assert!(findings.iter().all(|finding| finding["verdict"] == "pass"), "{findings:?}");
    let clauses =
        |finding: &&serde_json::Value| finding["clauses"].as_str().is_some_and(|c| !c.is_empty());
    assert_eq!(findings.iter().filter(clauses).count(), findings.len());
}
