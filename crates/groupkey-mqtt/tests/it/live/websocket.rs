//! MQTT over WebSockets, with TLS and without.

use groupkey_mqtt::Version;
use groupkey_mqtt::driver::{Connection, Quality, Running, run};
use groupkey_mqtt::tls::Tls;

use crate::live::PATIENCE;
use crate::live::authority::Authority;
use crate::live::brokers::mosquitto_with_websocket;
use crate::live::refusals::when;
use crate::live::scripted::Speaker;

#[tokio::test]
async fn messages_pass_over_websockets_with_tls_and_without() {
    let ours = Authority::new();
    let (chain, key) = ours.issue("broker", &["127.0.0.1"]);
    for has_tls in [false, true] {
        let tls = has_tls.then_some((chain.as_str(), key.as_str()));
        let Some((_broker, port)) = mosquitto_with_websocket(tls) else { return };
        for version in Version::ALL {
            for qos in [Quality::AtLeastOnce, Quality::ExactlyOnce] {
                let tls = has_tls.then(|| ours.tls(None));
                let speaker = speak(port, version, qos, tls, "/mqtt");
                let begin = std::time::Instant::now();
                loop {
                    let done = speaker.handle.call(|it, _, _| it.acknowledged().to_vec()).await;
                    if done.unwrap() == [0, 1] {
                        break;
                    }
                    let status = speaker.handle.status().borrow().clone();
                    assert!(begin.elapsed() < PATIENCE, "{has_tls}, {version}: {status:?}");
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_websocket_is_told() {
    let (ours, other) = (Authority::new(), Authority::called("another"));
    let (chain, key) = ours.issue("broker", &["127.0.0.1"]);
    let Some((broker, port)) = mosquitto_with_websocket(Some((&chain, &key))) else { return };
    let plain = broker.access().port();
    for version in Version::ALL {
        for (port, tls, told) in [
            (port, Some(other.tls(None)), "no authority in tls.ca signed"),
            (plain, None, "broker.websocket"),
        ] {
            let speaker = speak(port, version, Quality::AtLeastOnce, tls, "/mqtt");
            let status = when(&speaker, |status| status.problem.is_some()).await;
            assert!(status.problem.as_ref().unwrap().contains(told), "{told}: {status:?}");
        }
    }
}

fn speak(
    port: u16,
    version: Version,
    qos: Quality,
    tls: Option<Tls>,
    path: &str,
) -> Running<Speaker> {
    let client = format!("speaker-{version}-{}", qos.level());
    let websocket = Some(path.to_owned());
    let connection = Connection::new("127.0.0.1", port, client);
    let connection = Connection { tls, version, qos, websocket, ..connection };
    run(Speaker::new("a/b", &[&[7; 100_000], b"short"]), connection)
}
