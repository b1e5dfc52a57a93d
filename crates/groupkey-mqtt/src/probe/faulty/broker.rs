//! The broker itself: exact topics only, everything in memory, a thread for each connection.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::probe::packet::{Acknowledgement, Connack, Connect, Packet, Publish, Qos};
use crate::version::Version;

/// The rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    AnyFirstPacket,
    AnyLength,
    BothConnectionsKept,
    ClosesOnUnknownPubrel,
    DeliversTwice,
    DropsQueued,
    EmptyRetained,
    ForgetsReceived,
    ForgetsSessions,
    ForwardsRepeats,
    IdentifierKept,
    LargeCutShort,
    MessagesNeverExpire,
    OldSessionKept,
    PacketMaximumIgnored,
    PublishAfterPubrec,
    ReceiveMaximumIgnored,
    Reorders,
    RepeatsUnmarked,
    SecondConnect,
    SessionsNeverExpire,
    SubscriptionsQos,
    WillAfterDisconnect,
    WillNever,
}

/// A running broker on a port of loopback.
pub(super) struct Broker {
    pub(super) address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl Broker {
    pub(super) fn start(fault: Option<Fault>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        let stopped = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(State { fault, ..State::default() }));
        let broker = Self { address, stopped: Arc::clone(&stopped) };
        thread::spawn(move || {
            static NUMBER: AtomicU64 = AtomicU64::new(0);
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), state) = (stream, Arc::clone(&state)) else { return };
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || serve(stream, number, &state));
            }
        });
        broker
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    sessions: HashMap<String, Session>,
    retained: BTreeMap<String, Publish>,
    held_back: Option<Publish>,
}

#[derive(Default)]
struct Session {
    line: Option<Line>,
    hello: Connect,
    left: Option<Instant>,
    subscriptions: BTreeMap<String, Qos>,
    /// QoS 2 messages without PUBREL.
    received: HashMap<u16, Option<Publish>>,
    queue: VecDeque<(Publish, Instant)>,
    /// Messages without PUBACK or PUBCOMP; whether PUBREC has come.
    under_way: Vec<(Publish, bool)>,
    last_id: u16,
}

struct Line {
    stream: TcpStream,
    number: u64,
    version: Version,
}

/// How a connection ended.
#[derive(PartialEq, Eq)]
enum End {
    Cut,
    Disconnect,
}

fn serve(mut stream: TcpStream, number: u64, state: &Mutex<State>) {
    let fault = state.lock().expect("nobody panics").fault;
    let mut unread = Vec::new();
    let mut version = None;
    let mut client = None;
    let mut end = End::Cut;
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket has timeouts");
    let mut chunk = [0; 64 << 10];
    'connection: loop {
        loop {
            let decoded = match version {
                Some(version) => Packet::decode(version, &unread).map(|p| p.map(|p| (p, version))),
                None => first(&unread),
            };
            let ((packet, length), spoken) = match decoded {
                Ok(Some(decoded)) => decoded,
                Ok(None) => break,
                Err(_) if fault == Some(Fault::AnyLength) => {
                    unread.clear();
                    break;
                }
                Err(_) => break 'connection,
            };
            unread.drain(..length);
            let mut state = state.lock().expect("nobody panics");
            match (packet, &client) {
                (Packet::Connect(hello), None) => {
                    version = Some(spoken);
                    client = Some(hello.client.clone());
                    let stream = stream.try_clone().expect("a socket can be cloned");
                    state.connect(*hello, Line { stream, number, version: spoken });
                }
                (Packet::Connect(_), Some(_)) if fault != Some(Fault::SecondConnect) => {
                    break 'connection;
                }
                (Packet::Disconnect, Some(_)) => {
                    end = End::Disconnect;
                    break 'connection;
                }
                (packet, Some(client)) => {
                    if !state.handle(client, number, packet) {
                        break 'connection;
                    }
                }
                (_, None) if fault == Some(Fault::AnyFirstPacket) => {}
                (_, None) => break 'connection,
            }
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(length) => unread.extend_from_slice(&chunk[..length]),
        }
    }
    let mut state = state.lock().expect("nobody panics");
    if let Some(client) = client {
        state.disconnect(&client, number, &end);
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// The first packet tells the version.
#[expect(clippy::type_complexity)]
fn first(bytes: &[u8]) -> Result<Option<((Packet, usize), Version)>, String> {
    Packet::decode(Version::V3, bytes)
        .map(|packet| packet.map(|packet| (packet, Version::V3)))
        .or_else(|_| {
            Packet::decode(Version::V5, bytes).map(|p| p.map(|packet| (packet, Version::V5)))
        })
}

impl State {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn connect(&mut self, hello: Connect, line: Line) {
        let client = hello.client.clone();
        let expired = self.sessions.get(&client).is_some_and(|session| {
            let lasts = Duration::from_secs(session.hello.session_expiry.into());
            session.left.is_some_and(|left| left.elapsed() > lasts)
        });
        if expired && !self.is(Fault::SessionsNeverExpire) {
            self.sessions.remove(&client);
        }
        if let Some(old) = self.sessions.get_mut(&client).and_then(|session| session.line.take())
            && self.fault != Some(Fault::BothConnectionsKept)
        {
            let _ = old.stream.shutdown(Shutdown::Both);
        }
        let discard = hello.clean && !self.is(Fault::OldSessionKept);
        if discard || (hello.clean && !self.sessions.contains_key(&client)) {
            self.sessions.remove(&client);
        }
        let present = self.sessions.contains_key(&client) && !self.is(Fault::ForgetsSessions);
        let fault = self.fault;
        let session = self.sessions.entry(client).or_default();
        session.hello = hello;
        session.left = None;
        if fault == Some(Fault::ForgetsReceived) {
            session.received.clear();
        }
        session.line = Some(line);
        session.write(&Packet::Connack(Connack { code: 0, session_present: present }));
        session.repeat(fault);
        session.pump(fault);
    }

    fn disconnect(&mut self, client: &str, number: u64, end: &End) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        if session.line.as_ref().is_none_or(|line| line.number != number) {
            return;
        }
        session.line = None;
        session.left = Some(Instant::now());
        let will = session.hello.will.take();
        if session.hello.session_expiry == 0 {
            self.sessions.remove(client);
        }
        let due = match end {
            End::Cut => !self.is(Fault::WillNever),
            End::Disconnect => self.is(Fault::WillAfterDisconnect),
        };
        if let (Some((topic, text)), true) = (will, due) {
            self.forward(Publish::new(&topic, Qos::Level1, 1, text));
        }
    }

    /// Whether the connection may go on.
    fn handle(&mut self, client: &str, number: u64, packet: Packet) -> bool {
        let fault = self.fault;
        let Some(session) = self.sessions.get_mut(client) else { return false };
        if session.line.as_ref().is_none_or(|line| line.number != number) {
            return fault == Some(Fault::BothConnectionsKept);
        }
        match packet {
            Packet::Pingreq => session.write(&Packet::Pingresp),
            Packet::Subscribe(id, filter, qos) => {
                session.subscriptions.insert(filter.clone(), qos);
                session.write(&Packet::Suback(id, Some(qos)));
                if let Some(retained) = self.retained.get(&filter) {
                    let qos = retained.qos.min(qos);
                    session.queue.push_back((Publish { qos, ..retained.clone() }, Instant::now()));
                    session.pump(fault);
                }
            }
            Packet::Publish(message) => self.receive(client, message),
            Packet::Acknowledge(Acknowledgement::Pubrel, id) => {
                let held = session.received.remove(&id);
                if held.is_none() && fault == Some(Fault::ClosesOnUnknownPubrel) {
                    return false;
                }
                session.write(&Packet::Acknowledge(Acknowledgement::Pubcomp, id));
                if fault == Some(Fault::IdentifierKept) {
                    session.received.insert(id, None);
                }
                if let Some(Some(message)) = held {
                    self.forward(message.clone());
                    if fault == Some(Fault::DeliversTwice) {
                        self.forward(message);
                    }
                }
            }
            Packet::Acknowledge(Acknowledgement::Pubrec, id) => {
                for (message, released) in &mut session.under_way {
                    *released |= message.id == id;
                }
                session.write(&Packet::Acknowledge(Acknowledgement::Pubrel, id));
            }
            Packet::Acknowledge(Acknowledgement::Puback | Acknowledgement::Pubcomp, id) => {
                session.under_way.retain(|(message, _)| message.id != id);
                session.pump(fault);
            }
            _ => {}
        }
        true
    }

    fn receive(&mut self, client: &str, message: Publish) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        let id = message.id;
        match message.qos {
            Qos::Level0 => self.forward(message),
            Qos::Level1 => {
                session.write(&Packet::Acknowledge(Acknowledgement::Puback, id));
                self.forward(message);
            }
            Qos::Level2 => {
                session.write(&Packet::Acknowledge(Acknowledgement::Pubrec, id));
                let known = session.received.contains_key(&id);
                if !known {
                    session.received.insert(id, Some(message));
                } else if message.dup && self.is(Fault::ForwardsRepeats) {
                    self.forward(message);
                }
            }
        }
    }

    fn forward(&mut self, mut message: Publish) {
        if self.is(Fault::LargeCutShort) {
            message.payload.truncate(100_000);
        }
        if message.retain {
            let empty = message.payload.is_empty() && !self.is(Fault::EmptyRetained);
            if empty {
                self.retained.remove(&message.topic);
            } else {
                self.retained.insert(message.topic.clone(), message.clone());
            }
        }
        if self.is(Fault::Reorders) && message.payload == b"7" && self.held_back.is_none() {
            self.held_back = Some(message);
            return;
        }
        let held_back = self.held_back.take();
        for message in [Some(message), held_back].into_iter().flatten() {
            for session in self.sessions.values_mut() {
                let Some(&granted) = session.subscriptions.get(&message.topic) else { continue };
                let qos = match self.fault {
                    Some(Fault::SubscriptionsQos) => granted,
                    _ => message.qos.min(granted),
                };
                if session.line.is_none()
                    && (qos == Qos::Level0 || self.fault == Some(Fault::DropsQueued))
                {
                    continue;
                }
                let copy = Publish { qos, dup: false, retain: false, ..message.clone() };
                session.queue.push_back((copy, Instant::now()));
                session.pump(self.fault);
            }
        }
    }
}

impl Session {
    fn write(&mut self, packet: &Packet) {
        if let Some(line) = &mut self.line {
            let bytes = packet.encode(line.version).expect("our packets are well-formed");
            // A peer that went is found out by the thread that reads.
            let _ = line.stream.write_all(&bytes);
        }
    }

    /// After a reconnection: what was not acknowledged, again.
    fn repeat(&mut self, fault: Option<Fault>) {
        for (message, released) in self.under_way.clone() {
            if released && fault != Some(Fault::PublishAfterPubrec) {
                self.write(&Packet::Acknowledge(Acknowledgement::Pubrel, message.id));
            } else {
                let dup = fault != Some(Fault::RepeatsUnmarked);
                self.write(&Packet::Publish(Publish { dup, ..message }));
            }
        }
    }

    /// Sends what may be sent.
    fn pump(&mut self, fault: Option<Fault>) {
        let most = self.hello.receive_maximum.unwrap_or(u16::MAX);
        let ignored = fault == Some(Fault::ReceiveMaximumIgnored);
        while let Some(version) = self.line.as_ref().map(|line| line.version)
            && (ignored || self.under_way.len() < usize::from(most))
            && let Some((mut message, since)) = self.queue.pop_front()
        {
            let stale = message.expiry.is_some_and(|s| since.elapsed().as_secs() >= s.into());
            if stale && fault != Some(Fault::MessagesNeverExpire) {
                continue;
            }
            if message.qos != Qos::Level0 {
                self.last_id = self.last_id % u16::MAX + 1;
                message.id = self.last_id;
            }
            let packet = Packet::Publish(message.clone());
            let length = packet.encode(version).expect("our packets are well-formed").len();
            let too_large = self.hello.maximum_packet.is_some_and(|most| length > most as usize);
            if too_large && fault != Some(Fault::PacketMaximumIgnored) {
                continue;
            }
            if message.qos != Qos::Level0 {
                self.under_way.push((message, false));
            }
            self.write(&packet);
        }
    }
}
