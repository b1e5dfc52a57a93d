//! Checks of what a broker keeps for a client that is offline.

use std::thread;
use std::time::Duration;

use super::delivery::texts;
use crate::packet::{Acknowledgement, Connect, PublishPacket, Qos};
use crate::probe::bench::{Bench, QUIET};
use crate::probe::check::{Stop, require};

pub(super) fn kept(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("kept");
    let mut subscriber = bench.begin_session("subscriber")?;
    subscriber.subscribe(&topic, Qos::Level1)?;
    subscriber.leave()?;

    let mut subscriber = bench.resume_session("subscriber")?;
    let mut publisher = bench.client("publisher")?;
    publisher.publish(&topic, Qos::Level1, "still subscribed")?;
    let message = subscriber.take()?;
    require(message.payload == b"still subscribed", || "another message came".to_owned())?;
    Ok("the session and its subscription were kept".to_owned())
}

pub(super) fn discarded(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("discarded");
    let mut subscriber = bench.begin_session("subscriber")?;
    subscriber.subscribe(&topic, Qos::Level1)?;
    subscriber.leave()?;
    let mut publisher = bench.client("publisher")?;
    publisher.publish(&topic, Qos::Level1, "for the old session")?;

    let (mut subscriber, present) = bench.open(bench.hello("subscriber"))?;
    require(!present, || "CONNACK says that a session is present".to_owned())?;
    publisher.publish(&topic, Qos::Level1, "for nobody")?;
    let heard = subscriber.message_within(QUIET)?;
    require(heard.is_none(), || "a message for the old session came".to_owned())?;
    subscriber.leave()?;

    let (_, present) = bench.open(bench.lasting_hello("subscriber"))?;
    require(!present, || "the session that began clean outlived its connection".to_owned())?;
    Ok("the old session was discarded, the clean one ended with its connection".to_owned())
}

pub(super) fn expired(bench: &Bench<'_>) -> Result<String, Stop> {
    let hello = Connect { session_expiry: 1, ..bench.lasting_hello("brief") };
    let (client, _) = bench.open(hello.clone())?;
    client.leave()?;
    let (client, present) = bench.open(hello.clone())?;
    require(present, || "gone before its time".to_owned())?;
    client.leave()?;
    thread::sleep(LONGER_THAN_ONE_SECOND);
    let (_, present) = bench.open(hello)?;
    require(!present, || "still there after 3 s".to_owned())?;
    Ok("there at once, gone after 3 s".to_owned())
}

pub(super) fn queued(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("queued");
    let mut subscriber = bench.begin_session("subscriber")?;
    subscriber.subscribe(&topic, Qos::Level2)?;
    subscriber.leave()?;

    let mut publisher = bench.client("publisher")?;
    let mut sent = Vec::new();
    for number in 0..20 {
        let qos = if number % 2 == 0 { Qos::Level1 } else { Qos::Level2 };
        publisher.publish(&topic, qos, &number.to_string())?;
        sent.push(number.to_string());
    }
    let mut subscriber = bench.resume_session("subscriber")?;
    publisher.publish(&topic, Qos::Level2, "last")?;
    let got = texts(&subscriber.take_until("last")?);
    require(got == sent, || format!("of 0 to 19 came {}", got.join(" ")))?;
    Ok("20 of 20, once, in order".to_owned())
}

pub(super) fn message_expiry(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("expiry");
    let mut subscriber = bench.begin_session("subscriber")?;
    subscriber.subscribe(&topic, Qos::Level1)?;
    subscriber.leave()?;

    let mut publisher = bench.client("publisher")?;
    let stale = PublishPacket::new(&topic, Qos::Level1, publisher.next_id(), "stale");
    publisher.publish_whole(&PublishPacket { expiry: Some(1), ..stale })?;
    publisher.publish(&topic, Qos::Level1, "fresh")?;
    thread::sleep(LONGER_THAN_ONE_SECOND);
    let mut subscriber = bench.resume_session("subscriber")?;
    let early = texts(&subscriber.take_until("fresh")?);
    require(early.is_empty(), || "the stale message was delivered".to_owned())?;
    Ok("the stale message was dropped, the other came".to_owned())
}

pub(super) fn unacknowledged(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("unacknowledged");
    let mut subscriber = bench.begin_session("subscriber")?;
    subscriber.subscribe(&topic, Qos::Level1)?;
    let mut publisher = bench.client("publisher")?;
    publisher.publish(&topic, Qos::Level1, "once or twice")?;
    let first = subscriber.message()?;
    subscriber.cut();

    let mut subscriber = bench.resume_session("subscriber")?;
    let second = subscriber.message()?;
    require(second.payload == first.payload, || "another message came instead".to_owned())?;
    require(second.id == first.id, || {
        format!("repeated as {}, having been {}", second.id, first.id)
    })?;
    require(second.dup, || "repeated, but not marked so".to_owned())?;
    subscriber.acknowledge(Acknowledgement::Puback, second.id)?;
    subscriber.leave()?;

    let mut subscriber = bench.resume_session("subscriber")?;
    let third = subscriber.message_within(QUIET)?;
    require(third.is_none(), || "it came even after its PUBACK".to_owned())?;
    Ok("repeated with its identifier and DUP, and not after PUBACK".to_owned())
}

/// The wait for an expiry of 1 s. Expiry counts in whole seconds, and brokers check it about once a
/// second.
const LONGER_THAN_ONE_SECOND: Duration = Duration::from_secs(3);
