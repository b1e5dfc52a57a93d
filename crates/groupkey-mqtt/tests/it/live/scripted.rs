//! A broker whose answers a test scripts, and a runtime that publishes to it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use groupkey_mqtt::driver::{Connection, Quality, Running, run};
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{Input, Output, Runtime, Version};
use rand_chacha::ChaCha20Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The broker's answers. It accepts everything that the test does not change.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) version: Version,
    pub(crate) connect: u8,
    pub(crate) properties: Vec<u8>,
    /// The code of SUBACK.
    pub(crate) subscribe: u8,
    /// The reason of PUBACK and PUBREC; without it, there is no answer.
    pub(crate) publish: Option<u8>,
    /// The reason of a DISCONNECT that follows the first SUBACK.
    pub(crate) disconnect: Option<u8>,
    pub(crate) relies_on_retained_messages: bool,
}

impl Script {
    pub(crate) const fn new(version: Version) -> Self {
        let (connect, subscribe, publish) = (0, 1, Some(0));
        Self {
            version,
            connect,
            properties: Vec::new(),
            subscribe,
            publish,
            disconnect: None,
            relies_on_retained_messages: false,
        }
    }

    /// Runs the broker, and a client at this QoS that subscribes and publishes these payloads.
    pub(crate) async fn meet(self, qos: Quality, payloads: &[&[u8]]) -> Meeting {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let clients = Arc::new(Mutex::new(Vec::new()));
        let (script, log, names) = (self, Arc::clone(&seen), Arc::clone(&clients));
        let relies = script.relies_on_retained_messages;
        let (version, patience) = (script.version, Duration::from_millis(500));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // An error is the connection's end.
                let _ = script.serve(stream, &log, &names).await;
            }
        });
        let connection =
            Connection { version, qos, patience, ..Connection::new("127.0.0.1", port, "speaker") };
        let mut speaker = Speaker::new("a/b", payloads);
        speaker.relies_on_retained_messages = relies;
        Meeting { seen, clients, speaker: run(speaker, connection) }
    }

    async fn serve(
        &self,
        mut stream: TcpStream,
        seen: &Mutex<Vec<u8>>,
        clients: &Mutex<Vec<String>>,
    ) -> std::io::Result<()> {
        loop {
            let first = stream.read_u8().await?;
            let mut length = 0;
            for shift in [0, 7, 14, 21] {
                let byte = stream.read_u8().await?;
                length |= usize::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await?;
            seen.lock().unwrap().push(first >> 4);
            if first >> 4 == CONNECT {
                clients.lock().unwrap().push(self.client(&body));
            }
            stream.write_all(&self.answer(first, &body)).await?;
            if first >> 4 == CONNECT && self.connect != 0 {
                return Ok(());
            }
        }
    }

    /// The client identifier of a CONNECT. Properties before it are shorter than 128 bytes.
    fn client(&self, body: &[u8]) -> String {
        let properties = if self.version == Version::V5 { 1 + usize::from(body[10]) } else { 0 };
        let client = &body[10 + properties..];
        let length = usize::from(u16::from_be_bytes([client[0], client[1]]));
        String::from_utf8(client[2..][..length].to_vec()).unwrap()
    }

    fn answer(&self, first: u8, body: &[u8]) -> Vec<u8> {
        let is_v5 = self.version == Version::V5;
        match first >> 4 {
            CONNECT => {
                let mut answer = vec![0, self.connect];
                if is_v5 {
                    answer.push(self.properties.len() as u8);
                    answer.extend(&self.properties);
                }
                [&[0x20, answer.len() as u8], &answer[..]].concat()
            }
            SUBSCRIBE => {
                let properties: &[u8] = if is_v5 { &[0] } else { &[] };
                let body = [&body[..2], properties, &[self.subscribe]].concat();
                let disconnect =
                    self.disconnect.map(|code| vec![0xe0, 2, code, 0]).unwrap_or_default();
                [&[0x90, body.len() as u8], &body[..], &disconnect].concat()
            }
            PUBLISH => {
                let topic = usize::from(u16::from_be_bytes([body[0], body[1]]));
                let packet = &body[2 + topic..][..2];
                let code = match first >> 1 & 3 {
                    1 => 0x40,
                    2 => 0x50,
                    _ => return Vec::new(),
                };
                match self.publish {
                    Some(0) => vec![code, 2, packet[0], packet[1]],
                    Some(reason) => vec![code, 3, packet[0], packet[1], reason],
                    None => Vec::new(),
                }
            }
            PINGREQ => vec![0xd0, 0],
            _ => Vec::new(),
        }
    }
}

/// A scripted broker and its client.
pub(crate) struct Meeting {
    /// The types of packets that the broker has read.
    seen: Arc<Mutex<Vec<u8>>>,
    clients: Arc<Mutex<Vec<String>>>,
    pub(crate) speaker: Running<Speaker>,
}

impl Meeting {
    pub(crate) fn clients(&self) -> Vec<String> {
        self.clients.lock().unwrap().clone()
    }

    pub(crate) fn seen(&self, packet: u8) -> usize {
        self.seen.lock().unwrap().iter().filter(|&&seen| seen == packet).count()
    }

    pub(crate) async fn acknowledged(&self) -> Vec<u64> {
        self.speaker.handle.call(|speaker, _, _| speaker.acknowledged.clone()).await.unwrap()
    }
}

/// A runtime that subscribes to a topic and publishes there.
pub(crate) struct Speaker {
    outputs: VecDeque<Output<()>>,
    acknowledged: Vec<u64>,
    relies_on_retained_messages: bool,
}

impl Speaker {
    pub(crate) fn new(topic: &str, payloads: &[&[u8]]) -> Self {
        let publish = |(id, payload): (u64, &&[u8])| {
            let (topic, payload) = (topic.to_owned(), payload.to_vec());
            Output::Publish(Publish { id, topic, payload, retain: false, expiry: None })
        };
        let publishes = (0..).zip(payloads).map(publish);
        let subscribe = std::iter::once(Output::Subscribe(topic.to_owned()));
        Self {
            outputs: subscribe.chain(publishes).collect(),
            acknowledged: Vec::new(),
            relies_on_retained_messages: false,
        }
    }
}

#[cfg(feature = "websocket")]
impl Speaker {
    pub(crate) fn acknowledged(&self) -> &[u64] {
        &self.acknowledged
    }
}

impl Runtime for Speaker {
    type Event = ();

    fn relies_on_retained_messages(&self) -> bool {
        self.relies_on_retained_messages
    }

    fn handle(&mut self, input: Input<'_>, _: u64, _: &mut ChaCha20Rng) -> Result<(), Fatal> {
        if let Input::Acknowledged(id) = input {
            self.acknowledged.push(id);
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<()>>, Fatal> {
        Ok(self.outputs.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        None
    }
}

pub(crate) const CONNECT: u8 = 1;
pub(crate) const PUBLISH: u8 = 3;
pub(crate) const SUBSCRIBE: u8 = 8;
pub(crate) const PINGREQ: u8 = 12;
