//! The probe's checks against other projects' brokers: Mosquitto must keep every rule, and rumqttd
//! breaks some known ones. A change in either shows here.

use std::collections::BTreeSet;
use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use groupkey_mqtt::probe::{CHECKS, Finding, Target, Verdict, Version, run};

#[test]
#[cfg(target_os = "linux")]
fn mosquitto_keeps_every_rule() {
    let SocketAddr::V4(address) = free_address() else { unreachable!("loopback is IPv4") };
    let _mosquitto = match groupkey_mqtt::impairment::Mosquitto::start(address, address) {
        Ok(mosquitto) => mosquitto,
        Err(error) => {
            let missing = format!("mosquitto_keeps_every_rule is SKIPPED: {error}");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
            eprintln!("{missing}");
            return;
        }
    };
    let findings = run(&target(address.into()), tell).expect("it is a broker");
    assert_eq!(with(&findings, Verdict::Fail), BTreeSet::new());
    assert_eq!(with(&findings, Verdict::Skipped), BTreeSet::new());
    assert_eq!(findings.iter().filter(|f| f.version == Version::V5).count(), CHECKS.len());
    for finding in findings.iter().filter(|finding| finding.check.name == "qos2-forwarded") {
        assert_eq!(finding.seen, "once, at PUBREL");
    }
    let again = run(&target(address.into()), |_| ()).expect("it is a broker");
    assert_eq!(with(&again, Verdict::Fail), BTreeSet::new(), "the first run left something");
}

#[test]
#[cfg(feature = "broker")]
fn rumqttd_breaks_the_rules_that_it_is_known_to_break() {
    for (version, beside) in [(Version::V3, &[][..]), (Version::V5, RUMQTTD_BREAKS_IN_V5)] {
        let address = groupkey_mqtt::broker::start(version).expect("it starts");
        let findings = run(&target(address), tell).expect("it is a broker");
        let broken = RUMQTTD_BREAKS.iter().chain(beside).copied().collect();
        assert_eq!(with(&findings, Verdict::Fail), broken, "{version}");
        let (spoken, other): (Vec<_>, Vec<_>) =
            findings.iter().partition(|finding| finding.version == version);
        assert!(!spoken.is_empty() && !other.is_empty(), "both are told");
        assert!(other.iter().all(|finding| finding.verdict == Verdict::Skipped));
    }
}

/// What rumqttd 0.20.0 does wrong in both versions of MQTT.
const RUMQTTD_BREAKS: &[&str] = &[
    // It delivers at the subscription's QoS, also where the publication's is lower.
    "lower-qos",
    // It repeats messages without DUP.
    "qos1-repeated",
    "qos2-receiver-cut",
    // It closes on a PUBREL for an identifier that it does not know: one it has answered already,
    // or one whose PUBLISH it has forgotten because the connection was cut.
    "qos2-cut-after-pubrec",
    "qos2-cut-before-pubcomp",
    "qos2-pubrel-repeated",
    // It ignores a second CONNECT.
    "second-connect",
];

/// Further rules that it breaks, which are new in MQTT 5.
const RUMQTTD_BREAKS_IN_V5: &[&str] = &["packet-maximum", "receive-maximum", "session-expiry"];

fn with(findings: &[Finding], verdict: Verdict) -> BTreeSet<&'static str> {
    findings.iter().filter(|f| f.verdict == verdict).map(|f| f.check.name).collect()
}

fn tell(finding: &Finding) {
    let Finding { check, version, verdict, seen } = finding;
    println!("{:<24} {version:<6} {verdict:<8} {seen}", check.name);
}

fn target(address: SocketAddr) -> Target {
    Target::at(address, Duration::from_secs(5))
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
    listener.local_addr().expect("it is bound")
}
