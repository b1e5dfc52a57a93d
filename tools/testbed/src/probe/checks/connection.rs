//! Checks of how connections begin and end.

use crate::packet::{Connect, Packet, PublishPacket, Qos};
use crate::probe::bench::{Bench, QUIET};
use crate::probe::check::{Stop, require};

pub(super) fn first_packet(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("uninvited");
    let mut listener = bench.client("listener")?;
    listener.subscribe(&topic, Qos::Level0)?;
    let mut stranger = bench.dial()?;
    stranger.send(&Packet::Publish(PublishPacket::new(&topic, Qos::Level0, 0, "uninvited")))?;
    stranger.await_close()?;
    let heard = listener.message_within(QUIET)?;
    require(heard.is_none(), || "its message was delivered all the same".to_owned())?;
    listener.leave()?;
    Ok("cut off, its message not delivered".to_owned())
}

pub(super) fn second_connect(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut client = bench.client("twice")?;
    client.send(&Packet::Connect(Box::new(bench.hello("twice"))))?;
    client.await_close()?;
    Ok("the connection was closed".to_owned())
}

pub(super) fn malformed_length(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut client = bench.client("malformed")?;
    client.send_bytes(&[0x30, 0xff, 0xff, 0xff, 0xff, 0x7f])?;
    client.await_close()?;
    let other = bench.client("other")?;
    other.leave()?;
    Ok("the connection was closed, others are served".to_owned())
}

pub(super) fn announced(bench: &Bench<'_>) -> Result<String, Stop> {
    let abilities = bench.client("client")?.abilities();
    require(abilities.receive_maximum > 0, || "its Receive Maximum is 0".to_owned())?;
    require(abilities.maximum_packet != Some(0), || "its Maximum Packet Size is 0".to_owned())?;
    Ok(abilities.to_string())
}

pub(super) fn takeover(bench: &Bench<'_>) -> Result<String, Stop> {
    let mut first = bench.client("same")?;
    let mut second = bench.client("same")?;
    first.await_close()?;
    second.ping()?;
    second.leave()?;
    Ok("the first connection was closed, the second answers".to_owned())
}

pub(super) fn will(bench: &Bench<'_>) -> Result<String, Stop> {
    let topic = bench.topic("will");
    let mut heir = bench.client("heir")?;
    heir.subscribe(&topic, Qos::Level1)?;
    let hello = |name: &str, text: &str| Connect {
        will: Some((topic.clone(), text.into())),
        ..bench.hello(name)
    };

    let (polite, _) = bench.open(hello("polite", "not to be read"))?;
    polite.leave()?;
    let heard = heir.message_within(QUIET)?;
    require(heard.is_none(), || "published after DISCONNECT".to_owned())?;

    let (broken, _) = bench.open(hello("broken", "to be read"))?;
    broken.cut();
    let message = heir.take()?;
    require(message.payload == b"to be read", || {
        "after a cut something else was published".to_owned()
    })?;
    heir.leave()?;
    Ok("published after a cut, not after DISCONNECT".to_owned())
}
