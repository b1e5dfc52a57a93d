//! One party's MQTT 3.1.1 connection to the broker: a task that sends packets and reports what arrives.
//! Each packet leaves by itself, as in the simulator.

use std::collections::HashMap;
use std::net::SocketAddr;

use mqtt_proto::v3::{Connect, ConnectReturnCode, Packet, Publish, SubscribeReturnCode};
use mqtt_proto::{Pid, QosPid};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;

/// A report of a client.
pub(crate) enum News {
    /// The broker has answered a ping.
    Answered,
    /// A message. One of QoS 2 arrives on PUBREL.
    Arrived(Publish),
    /// The connection cannot be made, or has ended, for this reason.
    Broken(String),
    /// The broker has completed the acknowledgement of a publication.
    Completed,
}

/// Connects with a client identifier, and sends packets until their sender is dropped.
pub(crate) async fn run(
    broker: SocketAddr,
    name: String,
    packets: UnboundedReceiver<Packet>,
    tell: impl Fn(News),
) {
    if let Err(reason) = talk(broker, name, packets, &tell).await {
        tell(News::Broken(reason));
    }
}

async fn talk(
    broker: SocketAddr,
    name: String,
    mut packets: UnboundedReceiver<Packet>,
    tell: &impl Fn(News),
) -> Result<(), String> {
    let stream = TcpStream::connect(broker).await;
    let stream = stream.map_err(|error| format!("no connection to the broker: {error}"))?;
    stream.set_nodelay(true).map_err(broke)?;
    let mut client = Client { stream, unread: Vec::new(), held: HashMap::new() };
    client.write(Connect::new(name.into(), 0).into()).await?;
    let mut connected = false;
    loop {
        while let Some(packet) = client.read().await? {
            match packet {
                Packet::Connack(answer) if answer.code == ConnectReturnCode::Accepted => {
                    connected = true;
                }
                packet => client.react(packet, tell).await?,
            }
        }
        tokio::select! {
            packet = packets.recv(), if connected => match packet {
                Some(packet) => client.write(packet).await?,
                None => return client.write(Packet::Disconnect).await,
            },
            received = client.stream.read_buf(&mut client.unread) => if received.map_err(broke)? == 0 {
                return Err("the broker closed the connection".to_owned());
            },
        }
    }
}

struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
    /// QoS 2 messages that the broker has not released yet.
    held: HashMap<Pid, Publish>,
}

impl Client {
    async fn react(&mut self, packet: Packet, tell: &impl Fn(News)) -> Result<(), String> {
        match packet {
            Packet::Pingresp => tell(News::Answered),
            Packet::Puback(_) | Packet::Pubcomp(_) => tell(News::Completed),
            Packet::Pubrec(id) => self.write(Packet::Pubrel(id)).await?,
            Packet::Pubrel(id) => {
                self.write(Packet::Pubcomp(id)).await?;
                self.held.remove(&id).into_iter().for_each(|message| tell(News::Arrived(message)));
            }
            Packet::Publish(message) => match message.qos_pid {
                QosPid::Level0 => tell(News::Arrived(message)),
                QosPid::Level1(id) => {
                    self.write(Packet::Puback(id)).await?;
                    tell(News::Arrived(message));
                }
                QosPid::Level2(id) => {
                    self.write(Packet::Pubrec(id)).await?;
                    self.held.insert(id, message);
                }
            },
            Packet::Unsuback(_) => {}
            Packet::Suback(answer) if answer.topics != [SubscribeReturnCode::Failure] => {}
            other => return Err(format!("the broker sent {other:?}")),
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<Option<Packet>, String> {
        let mut rest = &self.unread[..];
        match Packet::decode_async(&mut rest).await {
            Ok(packet) => {
                self.unread.drain(..self.unread.len() - rest.len());
                Ok(Some(packet))
            }
            Err(error) if error.is_eof() => Ok(None),
            Err(error) => Err(format!("the broker sends no MQTT: {error}")),
        }
    }

    async fn write(&mut self, packet: Packet) -> Result<(), String> {
        let bytes = packet.encode().map_err(|error| error.to_string())?;
        self.stream.write_all(bytes.as_ref()).await.map_err(broke)
    }
}

fn broke(error: std::io::Error) -> String {
    format!("the connection to the broker broke: {error}")
}
