//! Checks of the delivery of messages to connected subscribers.

use crate::packet::{Acknowledgement, Packet, PublishPacket, Qos};
use crate::probe::bench::{Bench, QUIET};
use crate::probe::check::{Stop, require};

pub(super) fn lower_qos(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut wrong = Vec::new();
    let levels = bench.levels();
    for &subscribed in levels {
        let topic = bench.topic(&format!("subscribed-{}", subscribed as u8));
        let mut subscriber = bench.client("subscriber")?;
        subscriber.subscribe(&topic, subscribed)?;
        for &published in levels {
            let mut publisher = bench.client("publisher")?;
            publisher.publish(&topic, published, "at which level")?;
            let got = subscriber.take()?.qos;
            if got != published.min(subscribed) {
                let [published, subscribed, got] = [published, subscribed, got].map(|q| q as u8);
                wrong.push(format!("{published} to {subscribed} came at {got}"));
            }
            publisher.leave()?;
        }
        subscriber.leave()?;
    }
    require(wrong.is_empty(), || format!("published at, subscribed at: {}", wrong.join("; ")))?;
    Ok(format!("all {} right", levels.len().pow(2)))
}

pub(super) fn order(bench: &Bench<'_>) -> Result<String, Stop> {
    let levels = bench.levels();
    for &qos in levels {
        let topic = bench.topic(&format!("order-{}", qos as u8));
        let mut subscriber = bench.client("subscriber")?;
        subscriber.subscribe(&topic, qos)?;
        let mut publisher = bench.client("publisher")?;
        for id in 1..=UNDER_WAY {
            let message = PublishPacket::new(&topic, qos, id, id.to_string());
            publisher.send(&Packet::Publish(message))?;
        }
        // Acknowledgements must arrive in order, too. Any other acknowledgement is unexpected.
        for id in 1..=UNDER_WAY {
            match qos {
                Qos::Level0 => {}
                Qos::Level1 => publisher.await_acknowledgement(Acknowledgement::Puback, id)?,
                Qos::Level2 => publisher.await_acknowledgement(Acknowledgement::Pubrec, id)?,
            }
        }
        if qos == Qos::Level2 {
            for id in 1..=UNDER_WAY {
                publisher.acknowledge(Acknowledgement::Pubrel, id)?;
            }
            for id in 1..=UNDER_WAY {
                publisher.await_acknowledgement(Acknowledgement::Pubcomp, id)?;
            }
        }
        for id in 1..=UNDER_WAY {
            let message = subscriber.take()?;
            require(message.payload == id.to_string().as_bytes(), || {
                let came = String::from_utf8_lossy(&message.payload).into_owned();
                format!("at QoS {}, message {came} came in the place of {id}", qos as u8)
            })?;
        }
        let more = subscriber.message_within(QUIET)?;
        require(more.is_none(), || format!("one more came at QoS {}", qos as u8))?;
        publisher.leave()?;
        subscriber.leave()?;
    }
    let sent = levels.len() * usize::from(UNDER_WAY);
    Ok(format!("{sent} of {sent}, once, in order"))
}

pub(super) fn retained(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("retained");
    let mut publisher = bench.client("publisher")?;
    bench.retain(&mut publisher, &topic, "first")?;

    let mut early = bench.client("early")?;
    early.subscribe(&topic, Qos::Level1)?;
    let message = early.take()?;
    require(message.payload == b"first", || "not the retained message came".to_owned())?;
    require(message.retain, || "it came to a newcomer without RETAIN".to_owned())?;

    bench.retain(&mut publisher, &topic, "second")?;
    let message = early.take()?;
    require(message.payload == b"second", || "a replacement was not passed on".to_owned())?;
    require(!message.retain, || "it came to an old subscriber with RETAIN".to_owned())?;
    early.leave()?;

    let mut late = bench.client("late")?;
    late.subscribe(&topic, Qos::Level1)?;
    let message = late.take()?;
    require(message.payload == b"second", || "it was not replaced".to_owned())?;
    let more = late.message_within(QUIET)?;
    require(more.is_none(), || "two messages are retained".to_owned())?;
    late.leave()?;

    bench.retain(&mut publisher, &topic, "")?;
    let mut last = bench.client("last")?;
    last.subscribe(&topic, Qos::Level1)?;
    let heard = last.message_within(QUIET)?;
    require(heard.is_none(), || "an empty message did not remove it".to_owned())?;
    last.leave()?;
    Ok("kept, replaced, removed".to_owned())
}

/// Returns the payloads of the messages as text.
pub(super) fn texts(messages: &[PublishPacket]) -> Vec<String> {
    messages.iter().map(|m| String::from_utf8_lossy(&m.payload).into_owned()).collect()
}

/// The number of messages that are sent without waiting. Every broker known to us allows this many.
const UNDER_WAY: u16 = 20;
