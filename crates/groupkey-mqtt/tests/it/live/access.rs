//! Which clients the broker of `docs/mosquitto` accepts, and what its access list permits.

use groupkey_mqtt::driver::{Connection, Quality, run};
use groupkey_mqtt::{Member, Version, member};
use rumqttc::{AsyncClient, Event, Incoming, MqttOptions, QoS, TlsConfiguration, Transport};
use tokio::sync::mpsc;

use crate::live::authority::Authority;
use crate::live::brokers::{Access, Rights, guarded_mosquitto};
use crate::live::{PATIENCE, key, name};

#[tokio::test]
async fn without_a_certificate_of_the_authority_nobody_gets_in() {
    let Some(broker) = guarded_mosquitto(Rights::OfDevices) else { return };
    let authority = broker.access().authority.unwrap();
    let stranger = Authority::new();
    let (certificate, private) = stranger.issue("device-0", &[]);
    for (tls, expected) in [
        (Some(authority.client("device-0")), None),
        (Some(authority.tls(None)), Some("requires a certificate of its clients")),
        (Some(authority.tls(Some((&certificate, &private)))), Some("the broker ")),
        (Some(stranger.client("device-0")), Some("another key signed the broker's certificate")),
        (None, Some("")),
    ] {
        for version in Version::ALL {
            let access = broker.access().in_version(version);
            let connection =
                Connection { tls: tls.clone(), ..access.connection(PREFIX, "device-0", QOS) };
            let settings = member::MemberSettings {
                prefix: PREFIX.to_owned(),
                name: name(0),
                identity: key(100),
                shared: Some(key(0)),
                service: None,
                allowed: Default::default(),
                messages: Default::default(),
                freshness: Default::default(),
            };
            let running = run(Member::new(settings).unwrap(), connection);
            let mut status = running.handle.status();
            let decided = status.wait_for(|status| status.connected || status.problem.is_some());
            let decided = tokio::time::timeout(PATIENCE, decided).await.unwrap().unwrap().clone();
            assert_eq!(decided.connected, expected.is_none(), "{decided:?}");
            let said = decided.problem.unwrap_or_default();
            assert!(said.contains(expected.unwrap_or_default()), "{said} is not {expected:?}");
        }
    }
}

#[tokio::test]
async fn a_device_gets_no_further_than_its_own_topics() {
    let Some(broker) = guarded_mosquitto(Rights::OfDevices) else { return };
    let access = broker.access();
    let mut service = Client::connect(&access, "groupkey-service").await;
    let mut first = Client::connect(&access, "device-1").await;
    let mut second = Client::connect(&access, "device-2").await;

    first.publishes_everywhere().await;
    assert_eq!(service.hears().await, ["join", "requests", "to/s000000"]);
    assert_eq!(first.hears().await, ["to/s000000"]);
    assert_eq!(second.hears().await, ["to/s000000"]);

    service.publishes_everywhere().await;
    let to_all = ["all", "epoch", "set/0000000001", "to/m000001", "to/s000000"];
    assert_eq!(first.hears().await, [&to_all[..], &["welcome/device-1"]].concat());
    assert_eq!(second.hears().await, [&to_all[..], &["welcome/device-2"]].concat());
}

/// A client that subscribes to everything.
struct Client {
    client: AsyncClient,
    heard: mpsc::Receiver<String>,
}

impl Client {
    async fn connect(access: &Access, name: &str) -> Self {
        let Connection { host, port, client, tls, .. } = access.connection(PREFIX, name, QOS);
        let mut options = MqttOptions::new(client, host, port);
        let tls = TlsConfiguration::Rustls(tls.unwrap().configuration());
        options.set_transport(Transport::tls_with_config(tls));
        let (client, mut events) = AsyncClient::new(options, 64);
        client.subscribe(format!("{PREFIX}/#"), QoS::AtLeastOnce).await.unwrap();
        while !matches!(events.poll().await.unwrap(), Event::Incoming(Incoming::SubAck(_))) {}
        let (sender, heard) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok(event) = events.poll().await {
                if let Event::Incoming(Incoming::Publish(publish)) = event
                    && sender.send(publish.topic).await.is_err()
                {
                    return;
                }
            }
        });
        Self { client, heard }
    }

    async fn publishes_everywhere(&self) {
        for topic in EVERYWHERE {
            let topic = format!("{PREFIX}/{topic}");
            self.client.publish(topic, QoS::AtLeastOnce, false, "anything").await.unwrap();
        }
    }

    /// The messages before one on the last topic, which all may publish and receive.
    async fn hears(&mut self) -> Vec<String> {
        let mut topics = Vec::new();
        loop {
            let topic = tokio::time::timeout(PATIENCE, self.heard.recv()).await.unwrap().unwrap();
            match topic.strip_prefix("groupkey/1/").unwrap() {
                "talk" => return topics,
                other => topics.push(other.to_owned()),
            }
        }
    }
}

const EVERYWHERE: [&str; 10] = [
    "all",
    "epoch",
    "join",
    "requests",
    "set/0000000001",
    "to/m000001",
    "to/s000000",
    "welcome/device-1",
    "welcome/device-2",
    "talk",
];

const PREFIX: &str = "groupkey/1";
const QOS: Quality = Quality::AtLeastOnce;
