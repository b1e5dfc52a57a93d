//! The status names a broker's refusals, and the driver keeps the broker's limits.

use std::time::Duration;

use groupkey_mqtt::Version;
use groupkey_mqtt::driver::{BrokerProperties, Quality, Running, Status, run};
use groupkey_mqtt::runtime::Fatal;

use crate::live::brokers::{Rights, guarded_mosquitto};
use crate::live::scripted::{CONNECT, PINGREQ, PUBLISH, Script, Speaker};
use crate::live::{PATIENCE, name};

const AT_LEAST_ONCE: Quality = Quality::AtLeastOnce;

#[tokio::test]
async fn refused_connections_and_subscriptions_say_why() {
    let script = Script::new;
    for (script, expected) in [
        (Script { connect: 1, ..script(Version::V3) }, "set mqtt to 5"),
        (Script { connect: 4, ..script(Version::V3) }, "password"),
        (Script { connect: 5, ..script(Version::V3) }, "user and password"),
        (Script { subscribe: 0x80, ..script(Version::V3) }, "refused a subscription"),
        (Script { connect: 0x84, ..script(Version::V5) }, "set mqtt to 3.1.1"),
        (Script { connect: 0x85, ..script(Version::V5) }, "client identifier"),
        (Script { connect: 0x86, ..script(Version::V5) }, "password"),
        (Script { connect: 0x87, ..script(Version::V5) }, "user and password"),
        (Script { connect: 0x97, ..script(Version::V5) }, "a limit"),
        (
            Script { subscribe: 0x87, ..script(Version::V5) },
            "subscription: this client is not authorised",
        ),
        (Script { subscribe: 0x97, ..script(Version::V5) }, "subscription: a limit"),
        (Script { disconnect: Some(0x8e), ..script(Version::V5) }, "another client"),
        (Script { properties: vec![0x21, 0, 0], ..script(Version::V5) }, "Receive Maximum is 0"),
    ] {
        let meeting = script.meet(AT_LEAST_ONCE, &[]).await;
        let status = when(&meeting.speaker, |status| status.problem.is_some()).await;
        let problem = status.problem.unwrap();
        assert!(problem.contains(expected), "{problem} is not {expected}");
    }
}

#[tokio::test]
async fn a_refused_message_is_told_and_not_repeated() {
    for (qos, reason, expected) in [
        (
            Quality::AtLeastOnce,
            0x87,
            "this client is not authorised; check the broker's access list",
        ),
        (
            Quality::ExactlyOnce,
            0x87,
            "this client is not authorised; check the broker's access list",
        ),
        (Quality::AtLeastOnce, 0x83, "it gives no reason; check its access list and its log"),
    ] {
        let script = Script { publish: Some(reason), ..Script::new(Version::V5) };
        let meeting = script.meet(qos, &[b"one"]).await;
        let status = when(&meeting.speaker, |status| status.refusal.is_some()).await;
        let refusal = status.refusal.unwrap();
        assert_eq!(refusal, format!("the broker refused a message to a/b: {expected}"));
        when(&meeting.speaker, |status| status.connected).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!((meeting.acknowledged().await, meeting.seen(PUBLISH)), (vec![0], 1));
    }
}

#[tokio::test]
async fn what_a_limit_forbids_is_tried_again() {
    let script = Script { publish: Some(0x97), ..Script::new(Version::V5) };
    let meeting = script.meet(AT_LEAST_ONCE, &[b"one"]).await;
    let status = when(&meeting.speaker, |status| status.connections > 2).await;
    assert!(status.problem.unwrap().contains("a message to a/b: a limit"));
    assert!(meeting.seen(PUBLISH) >= 2);
    assert_eq!(meeting.acknowledged().await, [0; 0]);
}

#[tokio::test]
async fn a_broker_gets_no_more_at_once_than_it_takes() {
    let properties = vec![0x21, 0, 6];
    let script = Script { properties, publish: None, ..Script::new(Version::V5) };
    let meeting = script.meet(AT_LEAST_ONCE, &[b"again".as_slice(); 20]).await;
    when(&meeting.speaker, |status| status.connected).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(meeting.seen(PUBLISH), 3, "half of its Receive Maximum");

    let script = Script { properties: vec![0x21, 0, 6], ..Script::new(Version::V5) };
    let meeting = script.meet(AT_LEAST_ONCE, &[b"again".as_slice(); 20]).await;
    let begin = std::time::Instant::now();
    while meeting.acknowledged().await.len() < 20 {
        assert!(begin.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(meeting.seen(PUBLISH), 20);
}

#[tokio::test]
async fn a_broker_that_acknowledges_nothing_gets_less_over_another_connection() {
    let script = Script { publish: None, ..Script::new(Version::V3) };
    let meeting = script.meet(AT_LEAST_ONCE, &[b"again".as_slice(); 8]).await;
    let status = when(&meeting.speaker, |status| status.connections == 2).await;
    assert_eq!(status.problem.unwrap(), "the broker acknowledges nothing");
    when(&meeting.speaker, |status| status.connections == 4).await;
    // All eight, a quarter of them, one; perhaps one more by now.
    assert!((11..=12).contains(&meeting.seen(PUBLISH)), "{}", meeting.seen(PUBLISH));
    assert_eq!(meeting.acknowledged().await, [0; 0]);
}

#[tokio::test]
async fn what_is_too_long_for_a_broker_does_not_hold_up_the_rest() {
    let properties = vec![0x27, 0, 0, 0, 100];
    let script = Script { properties, ..Script::new(Version::V5) };
    let meeting = script.meet(AT_LEAST_ONCE, &[&[7; 101], b"short"]).await;
    let status = when(&meeting.speaker, |status| status.refusal.is_some()).await;
    assert!(status.refusal.unwrap().contains("more than 100 bytes"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((meeting.acknowledged().await, meeting.seen(PUBLISH)), (vec![0, 1], 1));
}

#[tokio::test]
async fn a_broker_gets_pings_as_often_as_it_wants() {
    // 0 means no pings. One second is shorter than our own interval.
    for (seconds, pings) in [(0, 0..=1), (1, 1..=2)] {
        let script = Script { properties: vec![0x13, 0, seconds], ..Script::new(Version::V5) };
        let meeting = script.meet(AT_LEAST_ONCE, &[]).await;
        when(&meeting.speaker, |status| status.connected).await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let status = meeting.speaker.handle.status().borrow().clone();
        assert_eq!((status.connected, status.connections), (true, 1), "{status:?}");
        assert!(pings.contains(&meeting.seen(PINGREQ)), "{seconds}");
    }
}

#[tokio::test]
async fn a_broker_that_allows_less_gets_less() {
    // Maximum QoS, which CONNACK announces.
    for (asked, most) in
        [(Quality::ExactlyOnce, 1), (Quality::ExactlyOnce, 0), (Quality::AtLeastOnce, 0)]
    {
        let script = Script { properties: vec![0x24, most], ..Script::new(Version::V5) };
        let meeting = script.meet(asked, &[b"one", b"two"]).await;
        let status = when(&meeting.speaker, |status| status.connected).await;
        let allowed = Quality::from_level(most).unwrap();
        assert_eq!((status.qos, status.is_lowered, status.problem), (allowed, true, None));
        let begin = std::time::Instant::now();
        while meeting.acknowledged().await != [0, 1] {
            assert!(begin.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((meeting.seen(CONNECT), meeting.seen(PUBLISH)), (2, 2));
    }
    // The same as asked for is nothing to tell.
    let script = Script { properties: vec![0x24, 1], ..Script::new(Version::V5) };
    let meeting = script.meet(AT_LEAST_ONCE, &[]).await;
    let status = when(&meeting.speaker, |status| status.connected).await;
    assert_eq!((status.qos, status.is_lowered), (AT_LEAST_ONCE, false));
    // Some brokers do not announce it, and end the connection instead.
    let script = Script { disconnect: Some(0x9b), ..Script::new(Version::V5) };
    let meeting = script.meet(Quality::ExactlyOnce, &[]).await;
    when(&meeting.speaker, |status| status.qos == Quality::AtMostOnce).await;
}

#[tokio::test]
async fn what_a_broker_announces_is_in_the_status_and_its_client_identifier_is_used() {
    let text = b"assigned";
    let properties = [
        &[0x11, 0, 0, 0, 30, 0x13, 0, 9, 0x21, 0, 7, 0x27, 0, 1, 0, 0, 0x28, 0, 0x2a, 0][..],
        &[0x12, 0, text.len() as u8][..],
        text,
    ]
    .concat();
    let script = Script { properties, disconnect: Some(0x8b), ..Script::new(Version::V5) };
    let meeting = script.meet(AT_LEAST_ONCE, &[]).await;
    let status = when(&meeting.speaker, |status| status.problem.is_some()).await;
    let begin = std::time::Instant::now();
    while meeting.clients().len() < 2 {
        assert!(begin.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let expected = BrokerProperties {
        wildcards: false,
        shared_subscriptions: false,
        receive_maximum: 7,
        maximum_packet: Some(65_536),
        keep_alive: Some(9),
        session_expiry: Some(30),
        assigned_client: Some("assigned".to_owned()),
        ..BrokerProperties::default()
    };
    assert_eq!(status.announced, Some(expected));
    assert_eq!(meeting.clients()[..2], ["speaker", "assigned"]);

    let meeting = Script::new(Version::V3).meet(AT_LEAST_ONCE, &[]).await;
    let status = when(&meeting.speaker, |status| status.connected).await;
    assert_eq!(status.announced, None);
    let meeting = Script::new(Version::V5).meet(AT_LEAST_ONCE, &[]).await;
    let status = when(&meeting.speaker, |status| status.connected).await;
    assert_eq!(status.announced, Some(BrokerProperties::default()));
}

#[tokio::test]
async fn a_broker_that_retains_nothing_is_enough_for_runtimes_that_do_not_need_it() {
    let properties = vec![0x25, 0];
    let script = Script { properties: properties.clone(), ..Script::new(Version::V5) };
    let meeting = script.meet(AT_LEAST_ONCE, &[b"one"]).await;
    when(&meeting.speaker, |status| status.connected).await;

    let announces = Script { properties, ..Script::new(Version::V5) };
    let disconnects = Script { disconnect: Some(0x9a), ..Script::new(Version::V5) };
    for script in [announces, disconnects] {
        let meeting = Script { relies_on_retained_messages: true, ..script };
        let mut meeting = meeting.meet(AT_LEAST_ONCE, &[b"one"]).await;
        let end = tokio::time::timeout(PATIENCE, &mut meeting.speaker.end).await;
        assert!(matches!(end, Ok(Ok(Err(Fatal::NothingRetained)))), "{end:?}");
        assert_eq!(meeting.seen(CONNECT), 1);
    }
}

#[tokio::test]
async fn mosquitto_says_what_its_access_list_forbids_in_mqtt_5_only() {
    let Some(broker) = guarded_mosquitto(Rights::OfDevices) else { return };
    for version in Version::ALL {
        let access = broker.access().in_version(version);
        let connection = access.connection("groupkey/1", &name(0), AT_LEAST_ONCE);
        let speaker = run(Speaker::new("groupkey/1/all", &[b"forbidden"]), connection);
        let status = match version {
            Version::V5 => when(&speaker, |status| status.refusal.is_some()).await,
            Version::V3 => {
                let status = when(&speaker, |status| status.connected).await;
                tokio::time::sleep(Duration::from_millis(200)).await;
                status
            }
        };
        assert!(status.connected);
        let expected =
            "the broker refused a message to groupkey/1/all: this client is not authorised";
        let is_told = status.refusal.is_some_and(|refusal| refusal.starts_with(expected));
        assert_eq!(is_told, version == Version::V5);
    }
}

/// The first status that meets the condition.
pub(crate) async fn when(speaker: &Running<Speaker>, is_so: impl FnMut(&Status) -> bool) -> Status {
    let mut status = speaker.handle.status();
    let status = tokio::time::timeout(PATIENCE, status.wait_for(is_so)).await;
    status.expect("it becomes so").unwrap().clone()
}
