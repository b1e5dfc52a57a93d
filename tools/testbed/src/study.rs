//! A study through a real broker: the simulator's groups, with each party on an MQTT connection of
//! its own.
//!
//! [`LiveNetwork`] is a [`Carrier`], like the simulated network. Both use the same parties, keys,
//! topics, pauses for computation and stopwatch, and an operation sends the same messages, byte for
//! byte (`tests/study.rs`). Only the network differs: the kernel's TCP, a broker, and perhaps the
//! [`Emulator`](crate::impairment::Emulator).
//!
//! An operation is over when its messages are acknowledged and have arrived. To make sure, all
//! clients then send PINGREQ twice. Messages that were still on the way arrive before the answers.

mod client;
mod session;

use std::cmp::Reverse;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use groupkey::{PartyId, Recipient};
use groupkey_mqtt::topics::Topics;
use groupkey_sim::group::{Carrier, Station};
use groupkey_sim::{ClientId, HandOver, MessageId, NetworkEvent, Qos, Time, Traffic};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::client::{ClientEvent, ClientRequest};
use self::session::PublishSession;
use crate::impairment::{ImpairedLink, Impairer, Impairment};

/// How a group reaches its broker.
#[derive(Clone, Copy, Debug)]
pub struct StudySettings<'a> {
    /// The address to which clients connect, without TLS.
    pub broker: SocketAddr,
    /// The QoS of publications and subscriptions.
    pub qos: Qos,
    /// The packet at which a subscriber hands over a QoS 2 message.
    pub hand_over: HandOver,
    /// The impairment of all clients' links, if there is one. As in the simulator, connections are
    /// made without loss, and so are the checks whether an operation is over.
    pub impaired: Option<(&'a dyn Impairer, ImpairedLink)>,
}

/// A real network that carries one group's messages, all in one thread.
#[derive(Debug)]
pub struct LiveNetwork<'a> {
    settings: StudySettings<'a>,
    /// The runtime of the clients. Dropping it closes their connections.
    runtime: Runtime,
    begin: Instant,
    name: String,
    topics: Topics,
    clients: Vec<ClientHandle>,
    subscribers: HashMap<Recipient, BTreeSet<ClientId>>,
    news: UnboundedReceiver<(ClientId, ClientEvent)>,
    teller: UnboundedSender<(ClientId, ClientEvent)>,
    /// The messages since the last rest, by topic and payload.
    sent: HashMap<(String, Vec<u8>), (MessageId, ClientId)>,
    /// The messages that clients still have to get.
    awaited: HashMap<(MessageId, ClientId), Recipient>,
    /// The number of publications that are not completely acknowledged.
    unacknowledged: usize,
    /// The number of answers to pings that the broker owes.
    pings: usize,
    wake_ups: BinaryHeap<Reverse<(Time, u64)>>,
    /// Events that are not reported to the group yet.
    ready: VecDeque<NetworkEvent>,
    deliveries: u64,
    traffic: Traffic,
}

#[derive(Debug)]
struct ClientHandle {
    party: PartyId,
    orders: UnboundedSender<ClientRequest>,
}

impl<'a> LiveNetwork<'a> {
    /// Creates a network without parties. Fails if the system has no event queue.
    pub fn new(settings: StudySettings<'a>) -> io::Result<Self> {
        let number = number_of_run();
        // The prefix is as long as in the simulator.
        let prefix = format!("{:03x}", number & 0xfff);
        let (teller, news) = unbounded_channel();
        let network = Self {
            settings,
            runtime: Builder::new_current_thread().enable_all().build()?,
            begin: Instant::now(),
            name: format!("groupkey-{number:016x}"),
            topics: Topics::new(&prefix).expect("three digits are a prefix"),
            clients: Vec::new(),
            subscribers: HashMap::new(),
            news,
            teller,
            sent: HashMap::new(),
            awaited: HashMap::new(),
            unacknowledged: 0,
            pings: 0,
            wake_ups: BinaryHeap::new(),
            ready: VecDeque::new(),
            deliveries: 0,
            traffic: Traffic::default(),
        };
        network.lose_packets(false).map_err(io::Error::other)?;
        Ok(network)
    }

    /// Lets all clients ping the broker twice. Returns whether no other message arrived. By the
    /// first answer, earlier messages have reached the broker. By the second answer, they have
    /// reached their subscribers.
    fn settle(&mut self) -> Result<bool, String> {
        self.lose_packets(false)?;
        for _ in 0..2 {
            for client in &self.clients {
                client.order(ClientRequest::Ping);
            }
            self.pings = self.clients.len();
            while self.pings > 0 {
                let news = self.next_news(Instant::now() + PATIENCE);
                let (client, news) = news.ok_or("the broker does not answer")?;
                self.take(client, news)?;
            }
        }
        let is_quiet = self.ready.is_empty();
        if !is_quiet {
            self.lose_packets(true)?;
        }
        Ok(is_quiet)
    }

    fn take(&mut self, client: ClientId, news: ClientEvent) -> Result<(), String> {
        match news {
            ClientEvent::Answered => self.pings = self.pings.saturating_sub(1),
            ClientEvent::Arrived { topic, payload } => {
                // Any other message comes from another user of the topic.
                if let Some(&(message, from)) = self.sent.get(&(topic, payload)) {
                    self.awaited.remove(&(message, client));
                    self.deliveries += 1;
                    self.ready.push_back(NetworkEvent::Delivered { client, from, message });
                }
            }
            ClientEvent::Broken(reason) => {
                return Err(format!("{}: {reason}", self.clients[client.index()].party));
            }
            ClientEvent::Completed => self.unacknowledged = self.unacknowledged.saturating_sub(1),
        }
        Ok(())
    }

    /// Returns the next news before this time, if there are any.
    fn next_news(&mut self, until: Instant) -> Option<(ClientId, ClientEvent)> {
        let Self { runtime, news, .. } = self;
        runtime.block_on(async {
            // The timer counts in milliseconds. The remaining time is spent polling.
            if let Some(early) = until.checked_sub(TIMER_STEP).filter(|it| *it > Instant::now())
                && let Ok(news) = tokio::time::timeout_at(early.into(), news.recv()).await
            {
                return news;
            }
            loop {
                match news.try_recv() {
                    Ok(news) => return Some(news),
                    Err(_) if Instant::now() >= until => return None,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        })
    }

    fn instant(&self, time: Time) -> Instant {
        self.begin + Duration::from_nanos(time.as_nanos())
    }

    /// Switches loss on or off. The delay stays.
    fn lose_packets(&self, lossy: bool) -> Result<(), String> {
        let Some((impairer, link)) = self.settings.impaired else { return Ok(()) };
        let lossless = |direction| Impairment { loss: 0.0, ..direction };
        let without_loss = ImpairedLink { up: lossless(link.up), down: lossless(link.down) };
        impairer.impair(if lossy { link } else { without_loss }).map_err(|error| error.to_string())
    }

    /// Brings the counters up to date.
    fn count(&mut self) {
        self.traffic.deliveries = self.deliveries;
        if let Some(counts) = self.settings.impaired.and_then(|(impairer, _)| impairer.counts()) {
            self.traffic.wire_bytes = counts.bytes;
            self.traffic.segments = counts.held + counts.dropped;
            self.traffic.retransmissions = counts.resent;
            self.traffic.lost = counts.dropped;
        }
    }
}

impl Carrier for LiveNetwork<'_> {
    const ALTERS_NOTHING: bool = false;

    /// Connects a client for the party. The station's link and device do not apply to a real
    /// network.
    fn seat(&mut self, party: PartyId, _: Station) -> ClientId {
        let number = self.clients.len() as u32;
        let client = ClientId::from_index(number);
        let (orders, incoming) = unbounded_channel();
        let StudySettings { broker, qos, hand_over, .. } = self.settings;
        let name = format!("{}-{number}", self.name);
        let teller = self.teller.clone();
        // The receiver is gone only if the whole network is gone.
        let tell = move |news| drop(teller.send((client, news)));
        let session = PublishSession::new(qos, hand_over);
        self.runtime.spawn(client::run(broker, name, session, incoming, tell));
        self.clients.push(ClientHandle { party, orders });
        self.subscribe(client, party.into());
        client
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        if self.subscribers.entry(to).or_default().insert(client) {
            self.clients[client.index()].order(ClientRequest::Subscribe(self.topics.of(to)));
        }
    }

    fn unsubscribe(&mut self, client: ClientId, to: Recipient) {
        if self.subscribers.get_mut(&to).is_some_and(|clients| clients.remove(&client)) {
            self.clients[client.index()].order(ClientRequest::Unsubscribe(self.topics.of(to)));
            self.awaited.retain(|&(_, awaiting), sent_to| (awaiting, *sent_to) != (client, to));
        }
    }

    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]) {
        // As in the simulator, messages to topics without a subscriber are not sent.
        let Some(subscribers) = self.subscribers.get(&to) else { return };
        let awaiting = subscribers.iter().map(|&subscriber| ((message, subscriber), to));
        self.awaited.extend(awaiting);
        self.unacknowledged += usize::from(self.settings.qos != Qos::AtMostOnce);
        let (topic, payload) = (self.topics.of(to), bytes.to_vec());
        self.sent.insert((topic.clone(), payload.clone()), (message, from));
        self.clients[from.index()].order(ClientRequest::Publish { topic, payload });
    }

    fn wake_at(&mut self, time: Time, token: u64) {
        self.wake_ups.push(Reverse((time, token)));
    }

    fn poll(&mut self) -> Result<Option<NetworkEvent>, String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let next = self.wake_ups.peek().map(|&Reverse((due, token))| (due, token));
            if let Some((due, token)) = next
                && due <= self.now()
            {
                self.wake_ups.pop();
                return Ok(Some(NetworkEvent::Wake { token }));
            }
            let is_done = self.awaited.is_empty() && self.unacknowledged == 0;
            if next.is_none() && is_done {
                self.count();
                if self.settle()? {
                    return Ok(None);
                }
                continue;
            }
            let until =
                next.map_or_else(|| Instant::now() + PATIENCE, |(due, _)| self.instant(due));
            match self.next_news(until) {
                Some((client, news)) => self.take(client, news)?,
                None if next.is_some() => {}
                None if self.unacknowledged > 0 => {
                    return Err("the broker does not acknowledge any more".to_owned());
                }
                // The awaited messages will not arrive: their recipients had not subscribed in
                // time.
                None => self.awaited.clear(),
            }
        }
    }

    /// Waits until TCP has nothing more to acknowledge. A wait longer than a retransmission timeout
    /// makes no difference.
    fn rest(&mut self, done: Time, time: groupkey_sim::Duration) -> Result<(), String> {
        while !self.settle()? {
            self.ready.clear();
        }
        let link = self.settings.impaired.map(|(_, link)| link).unwrap_or_default();
        let there_and_back = link.up.delay + link.down.delay;
        let rest = Duration::from_nanos(time.as_nanos()).clamp(SHORTEST_REST, LONGEST_REST);
        let rest =
            Duration::from_nanos(done.since(self.now()).as_nanos()) + rest + there_and_back * 2;
        self.runtime.block_on(async { tokio::time::sleep(rest).await });
        self.sent.clear();
        self.awaited.clear();
        self.lose_packets(true)?;
        self.count();
        Ok(())
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }
}

impl ClientHandle {
    fn order(&self, order: ClientRequest) {
        // If the client's task has ended, it has reported the reason.
        let _ = self.orders.send(order);
    }
}

/// Returns a number for a run. Processes begin at random; runs of one process count from there, so
/// that no two that run at the same time share a prefix. Some schemes' messages do not name the
/// scheme, and would count for both.
fn number_of_run() -> u64 {
    static NEXT: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().build_hasher().finish()));
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// How long to wait for a message or an answer: several of TCP's retransmissions.
const PATIENCE: Duration = Duration::from_secs(60);

/// The shortest rest. TCP delays an acknowledgement by 40 ms, which is less. Unacknowledged data
/// would make TCP retransmit later data sooner (`docs/network.md`).
const SHORTEST_REST: Duration = Duration::from_millis(100);

/// The longest rest. A retransmission timeout without delay is 0.2 s, which is less.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// How late a timer may be.
const TIMER_STEP: Duration = Duration::from_millis(2);
