//! The probe over TLS.

use std::time::Duration;

use groupkey_testbed::probe::{CheckResult, Error, ProbeTarget, run};

use crate::authority::Authority;
use crate::brokers::{Rights, guarded_mosquitto};

#[test]
fn mosquitto_keeps_every_rule_over_tls_too() {
    let Some(broker) = guarded_mosquitto(Rights::All) else { return };
    let access = broker.access();
    let authority = access.authority.clone().unwrap();
    let target = |host: &str| {
        let target =
            ProbeTarget::resolve(&format!("127.0.0.1:{}", access.port()), PATIENCE).unwrap();
        ProbeTarget { host: host.to_owned(), tls: Some(authority.client("probe")), ..target }
    };
    let findings = run(&target("127.0.0.1"), |_| ()).expect("it is a broker");
    let wrong: Vec<_> =
        findings.iter().filter(|finding| finding.verdict != CheckResult::Pass).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");

    let refused = |target: &ProbeTarget| run(target, |_| ()).unwrap_err();
    let other_host = refused(&target("broker.example"));
    assert!(
        matches!(&other_host, Error::NoTls(why) if why.contains("not for broker.example")),
        "{other_host}"
    );
    let stranger =
        ProbeTarget { tls: Some(Authority::new().client("probe")), ..target("127.0.0.1") };
    let unknown = refused(&stranger);
    assert!(
        matches!(&unknown, Error::NoTls(why) if why.contains("another key signed")),
        "{unknown}"
    );
    let anonymous = ProbeTarget { tls: Some(authority.tls(None)), ..target("127.0.0.1") };
    let unproven = refused(&anonymous);
    assert!(
        matches!(&unproven, Error::NoBroker(why) if why.contains("requires a certificate")),
        "{unproven}"
    );
    let plain = ProbeTarget { tls: None, ..target("127.0.0.1") };
    assert!(matches!(refused(&plain), Error::NoBroker(_)));
}

/// Longer than any check waits with a broker that answers.
const PATIENCE: Duration = Duration::from_secs(5);
