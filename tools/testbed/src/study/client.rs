//! One party's connection to the broker: a task that carries out orders and reports what arrives.

use std::net::SocketAddr;

use groupkey_mqtt::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;

use super::session::{PacketEffects, PublishSession};
use crate::packet::{Connack, Connect, Packet};

/// An order to a client.
#[derive(Debug)]
pub(super) enum ClientRequest {
    /// Ping the broker, which answers after all earlier messages.
    Ping,
    Publish {
        topic: String,
        payload: Vec<u8>,
    },
    Subscribe(String),
    Unsubscribe(String),
}

/// A report of a client.
#[derive(Debug)]
pub(super) enum ClientEvent {
    /// The broker has answered a ping.
    Answered,
    Arrived {
        topic: String,
        payload: Vec<u8>,
    },
    /// The connection cannot be made, or has ended, for this reason.
    Broken(String),
    /// The broker has completed the acknowledgement of a publication.
    Completed,
}

/// Connects with a client identifier, and follows orders until their sender is dropped.
pub(super) async fn run(
    broker: SocketAddr,
    name: String,
    session: PublishSession,
    mut orders: UnboundedReceiver<ClientRequest>,
    tell: impl Fn(ClientEvent),
) {
    let ended = match StudyClient::connect(broker, name, session).await {
        Ok(mut client) => client.follow(&mut orders, &tell).await,
        Err(reason) => Err(reason),
    };
    if let Err(reason) = ended {
        tell(ClientEvent::Broken(reason));
    }
}

struct StudyClient {
    stream: TcpStream,
    session: PublishSession,
    unread: Vec<u8>,
}

impl StudyClient {
    async fn connect(
        broker: SocketAddr,
        name: String,
        session: PublishSession,
    ) -> Result<Self, String> {
        let stream = TcpStream::connect(broker)
            .await
            .map_err(|error| format!("no connection to the broker: {error}"))?;
        stream.set_nodelay(true).map_err(broke)?;
        let mut client = Self { stream, session, unread: Vec::new() };
        let connect = Connect { client: name, clean: true, ..Connect::default() };
        client.write(&Packet::Connect(Box::new(connect))).await?;
        loop {
            match client.read()? {
                Some(Packet::Connack(Connack { code: 0, .. })) => return Ok(client),
                Some(Packet::Connack(Connack { code, .. })) => {
                    return Err(format!("the broker refuses the connection with code {code}"));
                }
                Some(_) => return Err("the broker does not answer CONNECT with CONNACK".to_owned()),
                None => client.receive().await?,
            }
        }
    }

    async fn follow(
        &mut self,
        orders: &mut UnboundedReceiver<ClientRequest>,
        tell: &impl Fn(ClientEvent),
    ) -> Result<(), String> {
        loop {
            while let Some(packet) = self.read()? {
                self.react(packet, tell).await?;
            }
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.obey(order).await?,
                    // The sender of the orders is gone, and so is the receiver of reports.
                    None => return self.write(&Packet::Disconnect).await,
                },
                received = receive(&mut self.stream, &mut self.unread) => received?,
            }
        }
    }

    async fn obey(&mut self, order: ClientRequest) -> Result<(), String> {
        let packet = match order {
            ClientRequest::Ping => Packet::Pingreq,
            ClientRequest::Publish { topic, payload } => self.session.publish(&topic, payload)?,
            ClientRequest::Subscribe(topic) => self.session.subscribe(topic)?,
            ClientRequest::Unsubscribe(topic) => self.session.unsubscribe(topic)?,
        };
        self.write(&packet).await
    }

    async fn react(&mut self, packet: Packet, tell: &impl Fn(ClientEvent)) -> Result<(), String> {
        if packet == Packet::Pingresp {
            tell(ClientEvent::Answered);
            return Ok(());
        }
        let PacketEffects { answer, message, completed } = self.session.receive(packet)?;
        if let Some(answer) = answer {
            self.write(&answer).await?;
        }
        if let Some(message) = message {
            tell(ClientEvent::Arrived { topic: message.topic, payload: message.payload });
        }
        if completed {
            tell(ClientEvent::Completed);
        }
        Ok(())
    }

    /// Returns the next packet, if all of it has arrived.
    fn read(&mut self) -> Result<Option<Packet>, String> {
        let decoded = Packet::decode(Version::V3, &self.unread)
            .map_err(|error| format!("the broker sent {error}"))?;
        Ok(decoded.map(|(packet, length)| {
            self.unread.drain(..length);
            packet
        }))
    }

    async fn receive(&mut self) -> Result<(), String> {
        receive(&mut self.stream, &mut self.unread).await
    }

    /// Writes a packet. Each packet leaves by itself, as in the simulator.
    async fn write(&mut self, packet: &Packet) -> Result<(), String> {
        let bytes = packet.encode(Version::V3).map_err(|error| error.to_string())?;
        self.stream.write_all(&bytes).await.map_err(broke)
    }
}

async fn receive(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Result<(), String> {
    match stream.read_buf(unread).await.map_err(broke)? {
        0 => Err("the broker closed the connection".to_owned()),
        _ => Ok(()),
    }
}

fn broke(error: std::io::Error) -> String {
    format!("the connection to the broker broke: {error}")
}
