//! Each common mistake with certificates is told in one sentence, with the remedy.

use groupkey_mqtt::Version;
use groupkey_mqtt::driver::{Connection, Status, run};
use groupkey_mqtt::tls::Tls;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, date_time_ymd};

use crate::live::authority::Authority;
use crate::live::brokers::{Broker, mosquitto, mosquitto_with_tls};
use crate::live::refusals::when;
use crate::live::scripted::Speaker;

type Change = fn(&mut CertificateParams);

#[tokio::test]
async fn each_mistake_in_the_brokers_certificate_is_told_with_the_remedy() {
    let ours = Authority::new();
    let (stranger, namesake) = (Authority::called("another"), Authority::new());
    let here: &[&str] = &["127.0.0.1"];
    let cases: [(&Authority, &[&str], Change, &str); 9] = [
        (
            &ours,
            here,
            |it| it.not_after = date_time_ymd(2001, 2, 3),
            "expired at 2001-02-03 00:00 UTC",
        ),
        (
            &ours,
            here,
            |it| it.not_before = date_time_ymd(2999, 2, 3),
            "valid from 2999-02-03 00:00 UTC on",
        ),
        (
            &ours,
            &["broker.example"],
            |_| {},
            "is for broker.example, not for 127.0.0.1: set broker.host",
        ),
        (
            &ours,
            &[],
            |_| {},
            "names no host (it has no subjectAltName): sign one with \
                              subjectAltName = IP:127.0.0.1",
        ),
        (&ours, here, |it| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained), "CA:FALSE"),
        (&ours, here, for_clients, "extendedKeyUsage = serverAuth"),
        (&stranger, here, |_| {}, "no authority in tls.ca signed the broker's certificate"),
        (&namesake, here, |_| {}, "signed the broker's certificate"),
        (&ours, here, |_| {}, ""),
    ];
    for (authority, names, change, told) in cases {
        let (chain, key) = authority.issue_with("broker", names, change);
        let Some(broker) = mosquitto_with_tls(&chain, &key, None) else { return };
        let status = meet(&broker, Some(ours.tls(None)), Version::V5).await;
        assert_told(&status, told);
    }
}

#[tokio::test]
async fn an_intermediate_certificate_that_is_missing_is_told_on_both_sides() {
    let ours = Authority::new();
    let below = ours.intermediate("intermediate authority");
    let (broker, broker_key) = below.issue("broker", &["127.0.0.1"]);
    let (client, client_key) = below.issue("truck-7", &[]);
    let with = |own: &str| format!("{own}{}", below.certificate());
    let roots = Some(ours.certificate());
    for (chain, own, told) in [
        (broker.clone(), with(&client), "let the broker send the intermediate certificates"),
        (with(&broker), client.clone(), "the intermediate certificates after our own"),
        (with(&broker), with(&client), ""),
    ] {
        let Some(broker) = mosquitto_with_tls(&chain, &broker_key, roots) else { return };
        let tls = ours.tls(Some((&own, &client_key)));
        assert_told(&meet(&broker, Some(tls), Version::V5).await, told);
    }
}

#[tokio::test]
async fn what_the_broker_does_not_like_about_a_client_is_told_with_the_remedy() {
    let ours = Authority::new();
    let (chain, key) = ours.issue("broker", &["127.0.0.1"]);
    let Some(broker) = mosquitto_with_tls(&chain, &key, Some(ours.certificate())) else { return };
    let stranger = Authority::called("another").issue("truck-7", &[]);
    let expired = ours.issue_with("truck-7", &[], |it| it.not_after = date_time_ymd(2001, 2, 3));
    let for_servers = ours.issue_with("truck-7", &[], |it| {
        it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    for version in Version::ALL {
        for (own, told) in [
            (None, "set tls.certificate and tls.key"),
            (Some(&stranger), "put that authority into its cafile"),
            (Some(&expired), "our certificate has expired"),
            (Some(&for_servers), "clientAuth or no extendedKeyUsage"),
        ] {
            let own = own.map(|(chain, key)| (chain.as_str(), key.as_str()));
            assert_told(&meet(&broker, Some(ours.tls(own)), version).await, told);
        }
    }
}

#[tokio::test]
async fn a_port_for_the_other_transport_is_told() {
    let ours = Authority::new();
    let (chain, key) = ours.issue("broker", &["127.0.0.1"]);
    let Some(guarded) = mosquitto_with_tls(&chain, &key, None) else { return };
    let Some(plain) = mosquitto() else { return };
    for version in Version::ALL {
        assert_told(&meet(&guarded, None, version).await, "it may require TLS");
        let told = meet(&plain, Some(ours.tls(None)), version).await;
        assert_told(&told, "TLS");
    }
}

/// Connects until the broker accepts the client, or something is wrong.
async fn meet(broker: &Broker, tls: Option<Tls>, version: Version) -> Status {
    let connection = Connection::new("127.0.0.1", broker.access().port(), "speaker");
    let speaker = run(Speaker::new("a/b", &[]), Connection { tls, version, ..connection });
    when(&speaker, |status| status.connected || status.problem.is_some()).await
}

/// Asserts that the status tells this, or that nothing is wrong if it is empty.
fn assert_told(status: &Status, told: &str) {
    let problem = status.problem.as_deref().unwrap_or_default();
    assert_eq!(problem.is_empty(), told.is_empty(), "{told:?}: {status:?}");
    assert!(problem.contains(told), "{told:?}: {problem}");
    // The words of libraries help nobody.
    let raw = ["Error", "(OtherError", "Mqtt state", "peer certificate"];
    assert!(!raw.iter().any(|raw| problem.contains(raw)), "{problem}");
}

fn for_clients(params: &mut CertificateParams) {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
}
