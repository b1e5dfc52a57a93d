//! Tests of the checks with the embedded broker, which keeps every rule except the one that it is
//! told to break. Each check must pass with the broker without fault, and fail with some fault.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::{CHECKS, CheckResult, ProbeTarget, Version, run};
use crate::broker::{Broker, Fault};
use crate::packet::{Abilities, Qos};

#[test]
fn a_broker_without_fault_passes_everything() {
    assert_eq!(failures(None), BTreeSet::new());
}

#[test]
fn every_fault_fails_its_checks_and_no_others() {
    // Most of the time is spent waiting, so all runs take place at the same time.
    let start = |&(fault, must, may): &(Fault, &'static [&str], &'static [&str])| {
        (fault, must, may, thread::spawn(move || failures(Some(fault))))
    };
    let running: Vec<_> = FAULTS.iter().map(start).collect();
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    let mut wrong = Vec::new();
    for (fault, must, may, running) in running {
        let failed = running.join().expect("a run of the checks does not panic");
        shown.extend(must);
        let known = |name: &&str| must.contains(name) || may.contains(name);
        if !must.iter().all(|name| failed.contains(name)) || !failed.iter().all(known) {
            wrong.push(format!("{fault:?}: {failed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let all: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(shown, all, "each check can fail");
}

#[test]
fn a_server_that_is_no_broker_is_told_apart() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    let web_server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the probe comes");
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .expect("it listens");
    });
    let target = target(address);
    let error = run(&target, |_| ()).expect_err("this is no broker");
    assert!(error.to_string().contains("no MQTT broker"), "{error}");
    web_server.join().expect("it had nothing else to do");

    let error = run(&target, |_| ()).expect_err("now nothing listens");
    assert!(error.to_string().contains("no connection"), "{error}");
}

/// A broker may be able to do less than the standard has, if it says so.
#[test]
fn what_a_broker_cannot_do_is_no_fault() {
    let announced = |abilities| {
        let broker = Broker::with_abilities(abilities).expect("it starts");
        let findings = run(&target(broker.address()), |_| ()).expect("it is a broker");
        let failed = findings.iter().find(|finding| finding.verdict == CheckResult::Fail);
        assert!(failed.is_none(), "{failed:?}");
        let skipped = findings.iter().filter(|finding| finding.verdict == CheckResult::Skipped);
        let skipped = skipped.map(|finding| (finding.check.name, finding.seen.clone()));
        let announced = findings.iter().find(|finding| finding.check.name == "announced");
        (announced.expect("it is checked").seen.clone(), skipped.collect::<BTreeSet<_>>())
    };
    let usual = Abilities::default();
    let (said, skipped) = announced(Abilities { maximum_qos: Qos::Level1, ..usual });
    assert!(said.contains("QoS 1 at most, retained messages"), "{said}");
    assert!(skipped.iter().any(|(check, _)| check.starts_with("qos2-")), "{skipped:?}");
    assert!(skipped.iter().all(|(_, why)| why.contains("QoS 1 at most")), "{skipped:?}");
    assert!(skipped.iter().all(|(check, _)| !["lower-qos", "order"].contains(check)));

    let (said, skipped) = announced(Abilities { retains: false, ..usual });
    assert!(said.contains("no retained messages"), "{said}");
    let why = "the broker announces that it retains no messages".to_owned();
    assert_eq!(skipped, BTreeSet::from([("retained", why)]));
}

/// Returns the checks that fail with a broker that has this fault.
fn failures(fault: Option<Fault>) -> BTreeSet<&'static str> {
    let broker = Broker::with_fault(fault).expect("it starts");
    let findings = run(&target(broker.address()), |_| ()).expect("it is a broker");
    assert!(findings.iter().all(|finding| finding.verdict != CheckResult::Skipped));
    assert_eq!(findings.iter().filter(|f| f.version == Version::V5).count(), CHECKS.len());
    if fault.is_none() {
        let broken = |f: &&super::ProbeFinding| f.verdict == CheckResult::Fail;
        for finding in findings.iter().filter(broken) {
            println!("{} in {}: {}", finding.check.name, finding.version, finding.seen);
        }
    }
    let failed = findings.iter().filter(|finding| finding.verdict == CheckResult::Fail);
    failed.map(|finding| finding.check.name).collect()
}

fn target(address: std::net::SocketAddr) -> ProbeTarget {
    ProbeTarget::at(address, Duration::from_secs(2))
}

/// Each fault, the checks that must fail, and the checks that may fail. The latter fail only if the
/// broker handles the last packets before a cut earlier than the next connection.
const FAULTS: &[(Fault, &[&str], &[&str])] = &[
    (Fault::AnnouncesNothingUnderWay, &["announced"], &[]),
    (Fault::AnyFirstPacket, &["first-packet"], &[]),
    (Fault::AnyLength, &["malformed-length"], &[]),
    (Fault::BothConnectionsKept, &["takeover"], &[]),
    (Fault::ClosesOnUnknownPubrel, &["qos2-pubrel-repeated"], &["qos2-cut-before-pubcomp"]),
    (
        Fault::DeliversTwice,
        &[
            "order",
            "qos2-cut-after-pubrec",
            "qos2-cut-before-pubcomp",
            "qos2-cut-before-pubrec",
            "qos2-forwarded",
            "qos2-identifier-reused",
            "qos2-publish-repeated",
            "qos2-pubrel-repeated",
            "qos2-receiver-cut",
            "queued",
            "receive-maximum",
        ],
        &[],
    ),
    (Fault::DropsQueued, &["message-expiry", "queued"], &[]),
    (Fault::EmptyRetained, &["retained"], &[]),
    (Fault::ForgetsReceived, &["qos2-cut-after-pubrec"], &["qos2-cut-before-pubcomp"]),
    (
        Fault::ForgetsSessions,
        &[
            "message-expiry",
            "qos1-repeated",
            "qos2-cut-after-pubrec",
            "qos2-cut-before-pubcomp",
            "qos2-cut-before-pubrec",
            "qos2-publish-repeated",
            "qos2-receiver-cut",
            "queued",
            "session-expiry",
            "session-kept",
        ],
        &[],
    ),
    (Fault::ForwardsRepeats, &["qos2-publish-repeated"], &["qos2-cut-before-pubrec"]),
    (Fault::IdentifierKept, &["qos2-identifier-reused"], &[]),
    (Fault::LargeCutShort, &["large-message"], &[]),
    (Fault::MessagesNeverExpire, &["message-expiry"], &[]),
    (Fault::OldSessionKept, &["session-discarded"], &[]),
    (Fault::PacketMaximumIgnored, &["packet-maximum"], &[]),
    (Fault::PublishAfterPubrec, &["qos2-receiver-cut"], &[]),
    (Fault::ReceiveMaximumIgnored, &["receive-maximum"], &[]),
    (Fault::Reorders, &["order", "queued"], &[]),
    (Fault::RepeatsUnmarked, &["qos1-repeated", "qos2-receiver-cut"], &[]),
    (Fault::SecondConnect, &["second-connect"], &[]),
    (Fault::SessionsNeverExpire, &["session-expiry"], &[]),
    (Fault::SubscriptionsQos, &["lower-qos"], &[]),
    (Fault::WillAfterDisconnect, &["will"], &[]),
    (Fault::WillNever, &["will"], &[]),
];
