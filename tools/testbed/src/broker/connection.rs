//! One connection of a client: packets in, packets out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use groupkey_mqtt::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::broker::sessions::{SessionEnd, Sessions};
use crate::packet::Packet;

/// Serves a connection until one of the two sides ends it.
pub(super) async fn serve(stream: TcpStream, number: u64, sessions: Rc<RefCell<Sessions>>) {
    // Packets are small, and a client often waits for an answer before it sends the next one.
    let _ = stream.set_nodelay(true);
    let (mut incoming, writer) = stream.into_split();
    let (outgoing, queue) = mpsc::unbounded_channel();
    let (unsent, closed) = (Rc::new(Cell::new(0)), Rc::new(Notify::new()));
    let writing = tokio::task::spawn_local(write(writer, queue, Rc::clone(&unsent)));
    let line = move |version| ClientSender {
        number,
        version,
        outgoing: outgoing.clone(),
        unsent: Rc::clone(&unsent),
        closed: Rc::clone(&closed),
    };
    let mut talk = ClientConversation { sessions, number, client: None };
    let mut unread = Vec::new();
    let end = loop {
        match talk.take(&mut unread, &line) {
            Ok(()) => {}
            Err(end) => break end,
        }
        let patience = talk.patience();
        let closed = line(Version::V3).closed;
        tokio::select! {
            read = timeout(patience, incoming.read_buf(&mut unread)) => match read {
                Ok(Ok(length)) if length > 0 => {}
                _ => break SessionEnd::Cut,
            },
            () = closed.notified() => break SessionEnd::Cut,
        }
    };
    if let Some(client) = &talk.client {
        talk.sessions.borrow_mut().disconnect(&client.name, number, &end);
    }
    // Queued packets still go out. The writer then ends, because its last sender was dropped.
    drop(line);
    let _ = timeout(LINGER, writing).await;
}

/// A connection and, after its CONNECT, its client.
struct ClientConversation {
    sessions: Rc<RefCell<Sessions>>,
    number: u64,
    client: Option<ClientIdentity>,
}

struct ClientIdentity {
    name: String,
    version: Version,
    keep_alive: u16,
}

impl ClientConversation {
    /// Handles all complete packets in `unread`.
    fn take(
        &mut self,
        unread: &mut Vec<u8>,
        line: &impl Fn(Version) -> ClientSender,
    ) -> Result<(), SessionEnd> {
        loop {
            let decoded = match &self.client {
                Some(client) => Packet::decode(client.version, unread)
                    .map(|packet| packet.map(|packet| (packet, client.version))),
                None => first(unread),
            };
            let ((packet, length), version) = match decoded {
                Ok(Some(decoded)) => decoded,
                Ok(None) => return Ok(()),
                Err(_) => return Err(SessionEnd::Cut),
            };
            unread.drain(..length);
            let mut sessions = self.sessions.borrow_mut();
            match (packet, &self.client) {
                (Packet::Connect(hello), None) => {
                    let (name, keep_alive) = (hello.client.clone(), hello.keep_alive);
                    if !sessions.connect(*hello, line(version)) {
                        return Err(SessionEnd::Cut);
                    }
                    self.client = Some(ClientIdentity { name, version, keep_alive });
                }
                (Packet::Connect(_), Some(_)) | (_, None) => return Err(SessionEnd::Cut),
                (Packet::Disconnect, Some(_)) => return Err(SessionEnd::Disconnect),
                (packet, Some(client)) => {
                    if !sessions.handle(&client.name, self.number, packet) {
                        return Err(SessionEnd::Cut);
                    }
                }
            }
        }
    }

    /// Returns how long the client may be silent: one and a half times its keep-alive (section
    /// 3.1.2.10).
    fn patience(&self) -> Duration {
        match &self.client {
            None => GREETING,
            Some(ClientIdentity { keep_alive: 0, .. }) => Duration::MAX,
            Some(client) => Duration::from_secs(client.keep_alive.into()) * 3 / 2,
        }
    }
}

async fn write(
    mut writer: OwnedWriteHalf,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    unsent: Rc<Cell<usize>>,
) {
    let mut batch = Vec::new();
    while let Some(bytes) = queue.recv().await {
        batch.extend_from_slice(&bytes);
        while batch.len() < BATCH
            && let Ok(bytes) = queue.try_recv()
        {
            batch.extend_from_slice(&bytes);
        }
        // The reading task notices that the client is gone.
        if writer.write_all(&batch).await.is_err() {
            return;
        }
        unsent.set(unsent.get().saturating_sub(batch.len()));
        batch.clear();
    }
}

/// Decodes the first packet, which tells the version of MQTT.
#[expect(clippy::type_complexity)]
fn first(bytes: &[u8]) -> Result<Option<((Packet, usize), Version)>, String> {
    let as_version = |version| {
        let packet = Packet::decode(version, bytes);
        packet.map(|packet| packet.map(|packet| (packet, version)))
    };
    as_version(Version::V3).or_else(|_| as_version(Version::V5))
}

/// The size at which a batch of queued packets is written, in bytes.
const BATCH: usize = 64 << 10;
/// How long a new connection may be silent.
const GREETING: Duration = Duration::from_secs(60);
/// How long a connection that has ended may take to send the remaining packets.
const LINGER: Duration = Duration::from_secs(2);

/// The outgoing side of a client's connection.
#[derive(Clone, Debug)]
pub(super) struct ClientSender {
    /// Distinguishes a client's connections from each other.
    pub(super) number: u64,
    pub(super) version: Version,
    pub(super) outgoing: mpsc::UnboundedSender<Vec<u8>>,
    pub(super) unsent: Rc<Cell<usize>>,
    pub(super) closed: Rc<Notify>,
}

impl ClientSender {
    /// Sends a packet. Ends the connection if too many bytes wait for the client, so that they do
    /// not fill the memory.
    pub(super) fn write(&self, packet: &Packet) {
        let Ok(bytes) = packet.encode(self.version) else { return };
        self.unsent.set(self.unsent.get() + bytes.len());
        if self.unsent.get() > MOST_UNSENT || self.outgoing.send(bytes).is_err() {
            self.close();
        }
    }

    /// Ends the connection.
    pub(super) fn close(&self) {
        self.closed.notify_one();
    }
}

/// The maximum number of bytes that wait for one client.
const MOST_UNSENT: usize = 256 << 20;
