//! The checks against whole brokers: Mosquitto, where it is installed, and the embedded one.

use std::collections::BTreeSet;
use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use groupkey_mqtt::Version;
use groupkey_testbed::probe::{CHECKS, CheckResult, ProbeFinding, ProbeTarget, run};

#[test]
#[cfg(target_os = "linux")]
fn mosquitto_keeps_every_rule() {
    let SocketAddr::V4(address) = free_address() else { unreachable!("loopback is IPv4") };
    let _mosquitto = match groupkey_testbed::impairment::Mosquitto::start(address, address) {
        Ok(mosquitto) => mosquitto,
        Err(error) => {
            let missing = format!("mosquitto_keeps_every_rule is SKIPPED: {error}");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
            eprintln!("{missing}");
            return;
        }
    };
    keeps_every_rule(address.into());
}

#[test]
fn the_embedded_broker_keeps_every_rule() {
    let broker = groupkey_testbed::broker::Broker::start().expect("it starts");
    keeps_every_rule(broker.address());
}

/// All checks pass in both versions, and a second run finds nothing that the first one left.
fn keeps_every_rule(address: SocketAddr) {
    for _ in 0..2 {
        let findings = run(&target(address), tell).expect("it is a broker");
        assert_eq!(with(&findings, CheckResult::Fail), BTreeSet::new());
        assert_eq!(with(&findings, CheckResult::Skipped), BTreeSet::new());
        assert_eq!(findings.iter().filter(|f| f.version == Version::V5).count(), CHECKS.len());
        for finding in findings.iter().filter(|finding| finding.check.name == "qos2-forwarded") {
            assert_eq!(finding.seen, "once, at PUBREL");
        }
    }
}

fn with(findings: &[ProbeFinding], verdict: CheckResult) -> BTreeSet<&'static str> {
    findings.iter().filter(|f| f.verdict == verdict).map(|f| f.check.name).collect()
}

fn tell(finding: &ProbeFinding) {
    let ProbeFinding { check, version, verdict, seen } = finding;
    println!("{:<24} {version:<6} {verdict:<8} {seen}", check.name);
}

fn target(address: SocketAddr) -> ProbeTarget {
    ProbeTarget::at(address, Duration::from_secs(5))
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
    listener.local_addr().expect("it is bound")
}
