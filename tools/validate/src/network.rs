//! The simulator's groups through a real broker, with each party on an MQTT connection of its own.
//!
//! [`LiveNetwork`] is a [`Carrier`], like the simulated network. Both use the same parties, keys,
//! topics, pauses for computation and stopwatch, and an operation sends the same messages, byte for byte
//! (the test below). Only the network differs: the kernel's TCP, a broker, and what is between.
//!
//! An operation is over when its messages are acknowledged and have arrived. To make sure, all clients
//! then send PINGREQ twice. Messages that were still on the way arrive before the answers.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use groupkey::{PartyId, Recipient};
use groupkey_mqtt::topics::Topics;
use groupkey_sim::group::{Carrier, Station};
use groupkey_sim::{ClientId, MessageId, NetworkEvent, Time, Traffic};
use mqtt_proto::v3::{Packet, Publish, Subscribe, Unsubscribe};
use mqtt_proto::{Pid, QoS, QosPid, TopicFilter, TopicName};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{self, News};
use crate::device::Emulator;
use crate::queue::Impairment;

/// A real network that carries one group's messages, all in one thread.
pub(crate) struct LiveNetwork<'a> {
    broker: SocketAddr,
    qos: QoS,
    device: Option<&'a Emulator>,
    /// As in the simulator, connections are made without loss, and so are the checks whether an
    /// operation is over.
    impairment: Impairment,
    /// The runtime of the clients. Dropping it closes their connections.
    runtime: Runtime,
    begin: Instant,
    name: String,
    topics: Topics,
    clients: Vec<(PartyId, UnboundedSender<Packet>)>,
    /// Identifiers come again after 65,535 packets. No client has as many exchanges at once.
    last_id: Pid,
    subscribers: HashMap<Recipient, BTreeSet<ClientId>>,
    news: UnboundedReceiver<(ClientId, News)>,
    teller: UnboundedSender<(ClientId, News)>,
    /// The messages since the last rest, by topic and payload.
    sent: HashMap<(String, Vec<u8>), (MessageId, ClientId)>,
    awaited: HashMap<(MessageId, ClientId), Recipient>,
    /// The number of publications that are not completely acknowledged.
    unacknowledged: usize,
    /// The number of answers to pings that the broker owes.
    pings: usize,
    wake_ups: BinaryHeap<Reverse<(Time, u64)>>,
    /// Events that are not reported to the group yet.
    ready: VecDeque<NetworkEvent>,
    traffic: Traffic,
}

impl<'a> LiveNetwork<'a> {
    /// Creates a network without parties. The run's number separates its topics from those of others.
    pub(crate) fn new(
        broker: SocketAddr,
        qos: u8,
        device: Option<&'a Emulator>,
        impairment: Impairment,
        run: u32,
    ) -> Result<Self, String> {
        let (teller, news) = unbounded_channel();
        let runtime = Builder::new_current_thread().enable_all().build();
        // The prefix is as long as in the simulator.
        let topics = Topics::new(&format!("{:03x}", run & 0xfff));
        let network = Self {
            broker,
            qos: QoS::from_u8(qos).map_err(|error| error.to_string())?,
            device,
            impairment,
            runtime: runtime.map_err(|error| format!("no event queue: {error}"))?,
            begin: Instant::now(),
            name: format!("groupkey-{run:08x}"),
            topics: topics.map_err(|error| error.to_string())?,
            clients: Vec::new(),
            last_id: Pid::default(),
            subscribers: HashMap::new(),
            news,
            teller,
            sent: HashMap::new(),
            awaited: HashMap::new(),
            unacknowledged: 0,
            pings: 0,
            wake_ups: BinaryHeap::new(),
            ready: VecDeque::new(),
            traffic: Traffic::default(),
        };
        network.lose_packets(false);
        Ok(network)
    }

    /// Lets all clients ping the broker twice. Returns whether no other message arrived. By the first
    /// answer, earlier messages have reached the broker. By the second, they have reached subscribers.
    fn is_quiet(&mut self) -> Result<bool, String> {
        self.lose_packets(false);
        for _ in 0..2 {
            (0..self.clients.len()).for_each(|client| self.send(client, Packet::Pingreq));
            self.pings = self.clients.len();
            while self.pings > 0 {
                let news = self.next_news(Instant::now() + PATIENCE);
                let (client, news) = news.ok_or("the broker does not answer")?;
                self.take(client, news)?;
            }
        }
        let is_quiet = self.ready.is_empty();
        if !is_quiet {
            self.lose_packets(true);
        }
        Ok(is_quiet)
    }

    fn take(&mut self, client: ClientId, news: News) -> Result<(), String> {
        match news {
            News::Answered => self.pings = self.pings.saturating_sub(1),
            News::Arrived(Publish { topic_name, payload, .. }) => {
                // Any other message is of an earlier group.
                if let Some(&(message, from)) =
                    self.sent.get(&(topic_name.to_string(), payload.to_vec()))
                {
                    self.awaited.remove(&(message, client));
                    self.traffic.deliveries += 1;
                    self.ready.push_back(NetworkEvent::Delivered { client, from, message });
                }
            }
            News::Broken(reason) => {
                return Err(format!("{}: {reason}", self.clients[client.index()].0));
            }
            News::Completed => self.unacknowledged = self.unacknowledged.saturating_sub(1),
        }
        Ok(())
    }

    /// Returns the next news before this time, if there are any.
    fn next_news(&mut self, until: Instant) -> Option<(ClientId, News)> {
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

    fn lose_packets(&self, lossy: bool) {
        if let Some(device) = self.device {
            let loss = if lossy { self.impairment.loss } else { 0.0 };
            device.impair(Impairment { loss, ..self.impairment });
        }
    }

    /// Counts the bytes on the wire up to now. Nothing else than the device does.
    fn count(&mut self) {
        self.traffic.wire_bytes = self.device.map_or(0, |device| device.counts().bytes);
    }

    fn filter(&self, to: Recipient) -> TopicFilter {
        TopicFilter::try_from(self.topics.of(to).as_str()).expect("topics of groups are valid")
    }

    fn next_id(&mut self) -> Pid {
        self.last_id += 1;
        self.last_id
    }

    fn send(&self, client: usize, packet: Packet) {
        // If the client's task has ended, it has reported the reason.
        let _ = self.clients[client].1.send(packet);
    }
}

impl Carrier for LiveNetwork<'_> {
    const ALTERS_NOTHING: bool = false;

    /// Connects a client for the party. The station's link and device do not apply to a real network.
    fn seat(&mut self, party: PartyId, _: Station) -> ClientId {
        let number = self.clients.len() as u32;
        let client = ClientId::from_index(number);
        let (orders, incoming) = unbounded_channel();
        let name = format!("{}-{number}", self.name);
        let teller = self.teller.clone();
        // The receiver is gone only if the whole network is gone.
        let tell = move |news| drop(teller.send((client, news)));
        self.runtime.spawn(client::run(self.broker, name, incoming, tell));
        self.clients.push((party, orders));
        self.subscribe(client, party.into());
        client
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        if self.subscribers.entry(to).or_default().insert(client) {
            let topics = vec![(self.filter(to), self.qos)];
            let subscribe = Subscribe::new(self.next_id(), topics);
            self.send(client.index(), subscribe.into());
        }
    }

    fn unsubscribe(&mut self, client: ClientId, to: Recipient) {
        if self.subscribers.get_mut(&to).is_some_and(|clients| clients.remove(&client)) {
            let unsubscribe = Unsubscribe::new(self.next_id(), vec![self.filter(to)]);
            self.send(client.index(), unsubscribe.into());
            self.awaited.retain(|&(_, awaiting), sent_to| (awaiting, *sent_to) != (client, to));
        }
    }

    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]) {
        // As in the simulator, messages to topics without a subscriber are not sent.
        let Some(subscribers) = self.subscribers.get(&to) else { return };
        self.awaited.extend(subscribers.iter().map(|&subscriber| ((message, subscriber), to)));
        self.unacknowledged += usize::from(self.qos != QoS::Level0);
        let qos = match self.qos {
            QoS::Level0 => QosPid::Level0,
            QoS::Level1 => QosPid::Level1(self.next_id()),
            QoS::Level2 => QosPid::Level2(self.next_id()),
        };
        let topic = self.topics.of(to);
        let name = TopicName::try_from(topic.as_str()).expect("topics of groups are valid");
        self.sent.insert((topic, bytes.to_vec()), (message, from));
        self.send(from.index(), Publish::new(qos, name, bytes.to_vec().into()).into());
    }

    fn wake_at(&mut self, time: Time, token: u64) {
        self.wake_ups.push(Reverse((time, token)));
    }

    fn poll(&mut self) -> Result<Option<NetworkEvent>, String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let next = self.wake_ups.peek().map(|&Reverse(next)| next);
            if let Some((due, token)) = next
                && due <= self.now()
            {
                self.wake_ups.pop();
                return Ok(Some(NetworkEvent::Wake { token }));
            }
            if next.is_none() && self.awaited.is_empty() && self.unacknowledged == 0 {
                self.count();
                if self.is_quiet()? {
                    return Ok(None);
                }
                continue;
            }
            let until = match next {
                Some((due, _)) => self.begin + Duration::from_nanos(due.as_nanos()),
                None => Instant::now() + PATIENCE,
            };
            match self.next_news(until) {
                Some((client, news)) => self.take(client, news)?,
                None if next.is_some() => {}
                None if self.unacknowledged > 0 => {
                    return Err("the broker does not acknowledge any more".to_owned());
                }
                // The awaited messages will not arrive: their recipients had not subscribed in time.
                None => self.awaited.clear(),
            }
        }
    }

    /// Waits until TCP has nothing more to acknowledge. A wait longer than a retransmission timeout makes
    /// no difference.
    fn rest(&mut self, done: Time, time: groupkey_sim::Duration) -> Result<(), String> {
        while !self.is_quiet()? {
            self.ready.clear();
        }
        let rest = Duration::from_nanos(time.as_nanos()).clamp(SHORTEST_REST, LONGEST_REST);
        let rest = Duration::from_nanos(done.since(self.now()).as_nanos())
            + rest
            + self.impairment.delay * 4;
        self.runtime.block_on(async { tokio::time::sleep(rest).await });
        self.sent.clear();
        self.awaited.clear();
        self.lose_packets(true);
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

/// How long to wait for a message or an answer: several of TCP's retransmissions.
const PATIENCE: Duration = Duration::from_secs(60);

/// The shortest rest. TCP delays an acknowledgement by 40 ms, which is less. Unacknowledged data would
/// make TCP retransmit later data sooner (`docs/network.md`).
const SHORTEST_REST: Duration = Duration::from_millis(100);

/// The longest rest. A retransmission timeout without delay is 0.2 s, which is less.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// How late a timer may be.
const TIMER_STEP: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use std::thread;

    use groupkey::Operation;
    use groupkey::catalogue::{SCHEMES, Scheme};
    use groupkey_lab::plan::Plan;
    use groupkey_sim::group::{GroupSimulation, Rest, SimulatedGroup};
    use groupkey_testbed::broker;

    use super::*;

    #[test]
    fn simulated_and_live_groups_send_the_same_bytes() {
        let broker = broker::start().expect("the embedded broker starts");
        // Groups wait most of the time until TCP is at rest.
        thread::scope(|scope| {
            for (number, scheme) in (0..).zip(SCHEMES) {
                scope.spawn(move || assert_same_bytes(scheme, broker, number));
            }
        });
    }

    fn assert_same_bytes(scheme: &'static Scheme, broker: SocketAddr, number: u32) {
        let mut plan = Plan::new(scheme, 6);
        plan.rest = Rest::Idle(groupkey_sim::Duration::from_millis(1));
        if scheme.parameters.iter().any(|parameter| parameter.name == "subgroups") {
            plan.parameters.push(("subgroups".to_owned(), 3));
        }
        let settings = plan.group_settings(0).expect("the plan is valid");
        let (qos, impairment) = ((number % 3) as u8, Impairment::default());
        let network = LiveNetwork::new(broker, qos, None, impairment, number);
        let network = network.expect("the system has an event queue");
        let simulated = messages(scheme, GroupSimulation::new(settings.clone()));
        let live = messages(scheme, SimulatedGroup::on(network, settings));
        assert_eq!(simulated, live, "{} at QoS {qos}", scheme.id);
    }

    fn messages<C: Carrier>(
        scheme: &Scheme,
        mut group: SimulatedGroup<C>,
    ) -> Vec<(Operation, Vec<String>)> {
        let mut sent = Vec::new();
        let changes = Operation::CHANGES.into_iter().chain([Operation::Send]);
        for operation in changes.filter(|it| scheme.operations.contains(it)) {
            let done = match operation {
                Operation::Create => group.create(6),
                Operation::Add => group.add(),
                Operation::Remove => group.remove(Some(2)),
                Operation::Rekey => group.rekey(),
                _ => group.send_message(),
            };
            done.unwrap_or_else(|error| panic!("{}: {error}", scheme.id));
            // Who hears a key late there tells two levels of the tree in one message.
            if (scheme.id, operation) == ("dh-lkh", Operation::Create) {
                continue;
            }
            let mut messages: Vec<_> =
                group.sent().map(|(to, bytes)| format!("{to:?}: {bytes:02x?}")).collect();
            // Live, parties that do not wait for each other send in any order.
            messages.sort();
            sent.push((operation, messages));
        }
        sent
    }
}
