//! Checks of QoS 2, which delivers exactly once: the broker as receiver, then as sender.

use crate::packet::{Acknowledgement, Packet, PublishPacket, Qos};
use crate::probe::bench::{Bench, QUIET};
use crate::probe::check::{Stop, require};
use crate::probe::client::ProbeClient;

pub(super) fn forwarded(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut exchange = ExactlyOnceExchange::begin(bench)?;
    let ExactlyOnceExchange { publisher, subscriber, .. } = &mut exchange;
    publisher.await_acknowledgement(Acknowledgement::Pubrec, ID)?;
    let early = subscriber.message_within(QUIET)?;
    let at = if early.is_some() { "PUBLISH" } else { "PUBREL" };
    publisher.release(ID)?;
    let message = match early {
        Some(message) => message,
        None => subscriber.message()?,
    };
    subscriber.acknowledge_whole(&message)?;
    let further = exchange.deliveries()?;
    require(further == 0, || format!("delivered {} times", further + 1))?;
    Ok(format!("once, at {at}"))
}

pub(super) fn cut_before_pubrec(bench: &Bench<'_>) -> Result<String, Stop> {
    let exchange = ExactlyOnceExchange::begin(bench)?;
    let mut exchange = exchange.reconnect()?;
    exchange.repeat_publish()?;
    exchange.publisher.release(ID)?;
    exchange.once()
}

pub(super) fn publish_repeated(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut exchange = ExactlyOnceExchange::begin(bench)?;
    exchange.publisher.await_acknowledgement(Acknowledgement::Pubrec, ID)?;
    let mut exchange = exchange.reconnect()?;
    exchange.repeat_publish()?;
    let mut exchange = exchange.reconnect()?;
    exchange.repeat_publish()?;
    exchange.publisher.release(ID)?;
    exchange.once()
}

pub(super) fn cut_after_pubrec(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut exchange = ExactlyOnceExchange::begin(bench)?;
    exchange.publisher.await_acknowledgement(Acknowledgement::Pubrec, ID)?;
    let mut exchange = exchange.reconnect()?;
    exchange.publisher.release(ID)?;
    exchange.once()
}

pub(super) fn cut_before_pubcomp(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut exchange = ExactlyOnceExchange::begin(bench)?;
    exchange.publisher.await_acknowledgement(Acknowledgement::Pubrec, ID)?;
    exchange.publisher.acknowledge(Acknowledgement::Pubrel, ID)?;
    let mut exchange = exchange.reconnect()?;
    exchange.publisher.release(ID)?;
    exchange.once()
}

pub(super) fn pubrel_repeated(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut exchange = ExactlyOnceExchange::begin(bench)?;
    exchange.publisher.await_acknowledgement(Acknowledgement::Pubrec, ID)?;
    exchange.publisher.release(ID)?;
    exchange.publisher.release(ID)?;
    exchange.publisher.ping()?;
    exchange.once().map(|seen| format!("answered; {seen}"))
}

pub(super) fn identifier_reused(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut exchange = ExactlyOnceExchange::begin(bench)?;
    exchange.publisher.await_acknowledgement(Acknowledgement::Pubrec, ID)?;
    exchange.publisher.release(ID)?;
    let again = exchange.message.clone();
    exchange.publisher.publish_whole(&again)?;
    let deliveries = exchange.deliveries()?;
    require(deliveries == 2, || format!("of two messages {deliveries} came"))?;
    Ok("both messages came".to_owned())
}

pub(super) fn receiver_cut(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("receiver");
    let mut subscriber = bench.begin_session("subscriber")?;
    subscriber.subscribe(&topic, Qos::Level2)?;
    let mut publisher = bench.client("publisher")?;
    publisher.publish(&topic, Qos::Level2, "once")?;
    let first = subscriber.message()?;
    subscriber.cut();

    let mut subscriber = bench.resume_session("subscriber")?;
    let second = subscriber.message()?;
    require(second.payload == first.payload && second.id == first.id, || {
        "another message came instead".to_owned()
    })?;
    require(second.dup, || "PUBLISH was repeated, but not marked so".to_owned())?;
    subscriber.acknowledge(Acknowledgement::Pubrec, second.id)?;
    subscriber.await_acknowledgement(Acknowledgement::Pubrel, second.id)?;
    subscriber.cut();

    // The subscriber knows the identifier, so another PUBLISH would be no second delivery. But the
    // broker has the PUBREC, and must not send another PUBLISH.
    let mut subscriber = bench.resume_session("subscriber")?;
    subscriber.await_acknowledgement(Acknowledgement::Pubrel, second.id)?;
    let repeated = subscriber.message_within(QUIET)?;
    require(repeated.is_none(), || "PUBLISH was repeated after its PUBREC".to_owned())?;
    subscriber.acknowledge(Acknowledgement::Pubcomp, second.id)?;
    subscriber.leave()?;

    let mut subscriber = bench.resume_session("subscriber")?;
    let repeated = subscriber.message_within(QUIET)?;
    require(repeated.is_none(), || "it came even after PUBCOMP".to_owned())?;
    Ok("PUBLISH again with DUP, then PUBREL again, then nothing".to_owned())
}

/// A publisher with a lasting session in the middle of a QoS 2 exchange, and a subscriber.
struct ExactlyOnceExchange<'a> {
    bench: &'a Bench<'a>,
    message: PublishPacket,
    publisher: ProbeClient,
    subscriber: ProbeClient,
}

impl<'a> ExactlyOnceExchange<'a> {
    /// Sends PUBLISH and awaits no answer.
    fn begin(bench: &'a Bench<'a>) -> Result<Self, Stop> {
        let topic = bench.topic("exchange");
        let mut subscriber = bench.client("subscriber")?;
        subscriber.subscribe(&topic, Qos::Level2)?;
        let mut publisher = bench.begin_session("publisher")?;
        let message = PublishPacket::new(&topic, Qos::Level2, ID, "once");
        publisher.send(&Packet::Publish(message.clone()))?;
        Ok(Self { bench, message, publisher, subscriber })
    }

    /// Cuts the publisher's connection, and resumes its session.
    fn reconnect(self) -> Result<Self, Stop> {
        self.publisher.cut();
        Ok(Self { publisher: self.bench.resume_session("publisher")?, ..self })
    }

    fn repeat_publish(&mut self) -> Result<(), Stop> {
        self.publisher
            .send(&Packet::Publish(PublishPacket { dup: true, ..self.message.clone() }))?;
        self.publisher.await_acknowledgement(Acknowledgement::Pubrec, ID)
    }

    fn once(mut self) -> Result<String, Stop> {
        match self.deliveries()? {
            1 => Ok("delivered once".to_owned()),
            0 => Err(Stop::Broken("never delivered".to_owned())),
            times => Err(Stop::Broken(format!("delivered {times} times"))),
        }
    }

    /// Returns how often the message is delivered from now on.
    fn deliveries(&mut self) -> Result<usize, Stop> {
        // This message has the same topic, so it arrives after all copies of the other
        // [MQTT-4.6.0-6].
        let last = PublishPacket::new(&self.message.topic, Qos::Level2, ID + 1, "last");
        self.publisher.publish_whole(&last)?;
        let mut deliveries = self.subscriber.take_until("last")?.len();
        while let Some(message) = self.subscriber.message_within(QUIET)? {
            self.subscriber.acknowledge_whole(&message)?;
            deliveries += 1;
        }
        Ok(deliveries)
    }
}

/// The packet identifier of the observed message.
const ID: u16 = 77;
