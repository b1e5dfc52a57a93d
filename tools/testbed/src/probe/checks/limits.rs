//! Checks of the limits on sizes and on messages in flight.

use super::delivery::texts;
use crate::packet::{Acknowledgement, Connect, Packet, PublishPacket, Qos};
use crate::probe::bench::{Bench, QUIET};
use crate::probe::check::{Stop, require};

pub(super) fn large_message(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("large");
    let mut subscriber = bench.client("subscriber")?;
    subscriber.subscribe(&topic, Qos::Level1)?;
    let mut publisher = bench.client("publisher")?;
    let payload: Vec<u8> = (0..LARGE_BYTES).map(|place| (place % 251) as u8).collect();
    let message = PublishPacket::new(&topic, Qos::Level1, 1, payload.clone());
    let taken = publisher.publish_whole(&message);

    if taken.is_ok() {
        let got = subscriber.take()?;
        require(got.payload == payload, || "it was accepted, but came changed".to_owned())?;
        return Ok("256 KiB came whole".to_owned());
    }
    require(publisher.await_close().is_ok(), || {
        "neither taken nor refused by closing the connection".to_owned()
    })?;
    subscriber.ping()?;
    Ok("refused by closing the connection; others are served".to_owned())
}

pub(super) fn receive_maximum(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("maximum");
    let hello = Connect { receive_maximum: Some(2), ..bench.hello("subscriber") };
    let (mut subscriber, _) = bench.open(hello)?;
    subscriber.subscribe(&topic, Qos::Level2)?;
    let mut publisher = bench.client("publisher")?;
    for number in 1..=6 {
        publisher.publish(&topic, Qos::Level2, &number.to_string())?;
    }
    let first = [subscriber.message()?, subscriber.message()?];
    let third = subscriber.message_within(QUIET)?;
    require(third.is_none(), || "a third message came before the first was done".to_owned())?;

    for message in &first {
        subscriber.acknowledge(Acknowledgement::Pubrec, message.id)?;
        subscriber.await_acknowledgement(Acknowledgement::Pubrel, message.id)?;
    }
    let third = subscriber.message_within(QUIET)?;
    require(third.is_none(), || "a third message came before PUBCOMP".to_owned())?;
    for message in &first {
        subscriber.acknowledge(Acknowledgement::Pubcomp, message.id)?;
    }
    publisher.publish(&topic, Qos::Level2, "last")?;
    let rest = texts(&subscriber.take_until("last")?);
    require(rest == ["3", "4", "5", "6"], || format!("of 3 to 6 came {}", rest.join(" ")))?;
    Ok("2 of 6 under way at once, then the rest".to_owned())
}

pub(super) fn packet_maximum(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("maximum");
    let hello = Connect { maximum_packet: Some(200), ..bench.hello("subscriber") };
    let (mut subscriber, _) = bench.open(hello)?;
    subscriber.subscribe(&topic, Qos::Level1)?;
    let mut publisher = bench.client("publisher")?;
    let large = PublishPacket::new(&topic, Qos::Level1, publisher.next_id(), vec![b'x'; 300]);
    publisher.send(&Packet::Publish(large.clone()))?;
    publisher.await_acknowledgement(Acknowledgement::Puback, large.id)?;
    publisher.publish(&topic, Qos::Level1, "small")?;
    let before = subscriber.take_until("small")?;
    require(before.is_empty(), || "a packet of over 300 bytes came".to_owned())?;
    Ok("the large packet was dropped, the next one came".to_owned())
}

const LARGE_BYTES: usize = 256 << 10;
