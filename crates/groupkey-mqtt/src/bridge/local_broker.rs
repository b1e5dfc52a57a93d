//! The connection to the broker in clear, in MQTT 5.
//!
//! What arrives is acknowledged by hand ([`LocalBroker::acknowledge`]), once the group has it. The session
//! persists: the broker keeps what is not acknowledged, and sends it over the next connection. What is
//! published waits here until the broker acknowledges it. Every reconnection makes a new client, as in
//! [`driver`](crate::driver), for the same reasons.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rumqttc::Outgoing;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Filter, Packet, Publish, PublishProperties, RetainForwardRule};
use rumqttc::v5::{AsyncClient, Event, EventLoop, MqttOptions};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::sending::{Published, Receipt};
use super::topic_filter::TopicFilter;
use crate::driver::link::client::{KEEP_ALIVE, LONGEST_PACKET, PACKETS};
use crate::driver::link::{address, transport, v5};
use crate::driver::{Connection, fresh_rng, pause::pause};

/// The broker of users' programs.
pub(super) struct LocalBroker {
    connection: Connection,
    filters: Vec<Filter>,
    /// The most messages that the broker may send without an acknowledgement.
    window: u16,
    link: Option<LocalLink>,
    /// What the broker does not have yet, by an order of ours.
    waiting: BTreeMap<u64, Waiting>,
    next: u64,
    reconnect_at: Instant,
    connected_at: Option<Instant>,
    failures: u32,
}

struct LocalLink {
    client: AsyncClient,
    events: mpsc::Receiver<Result<Packet, String>>,
    sent: mpsc::UnboundedReceiver<u16>,
    poller: JoinHandle<()>,
    is_ready: bool,
    /// How many publishes may be in flight.
    room: usize,
    /// The order of what the client has taken and not sent yet.
    taken: VecDeque<u64>,
    /// The order of what was sent, by packet identifier.
    in_flight: BTreeMap<u16, u64>,
    /// What is to be acknowledged, as far as the client had no room for it.
    receipts: VecDeque<Receipt>,
}

struct Waiting {
    published: Published,
    ticket: Ticket,
    is_taken: bool,
}

/// What a message that comes in is known by: the member, its stream, and the number in it.
pub(super) type Ticket = (u32, [u8; 8], u64);

/// What happens at the local broker.
#[derive(Debug)]
pub(super) enum LocalEvent {
    /// A program published a message.
    Arrived {
        published: Published,
        receipt: Option<Receipt>,
        /// Whether a bridge published it.
        is_marked: bool,
    },
    /// The broker has accepted the connection and the subscriptions.
    Connected,
    /// The connection broke, or was not made, for this reason.
    Lost(String),
    /// The broker refuses this for good, for this reason.
    Refused(Ticket, &'static str),
    /// The broker has this message.
    Stored(Ticket),
}

impl LocalBroker {
    /// Creates a connection that is made with the first [`Self::next`].
    pub(super) fn new(connection: Connection, filters: &[TopicFilter], window: u16) -> Self {
        let filter = |filter: &TopicFilter| Filter {
            // What we published does not come back; its flag tells what is retained; and what was
            // retained before comes when the subscription is new.
            nolocal: true,
            preserve_retain: true,
            retain_forward_rule: RetainForwardRule::OnNewSubscribe,
            ..Filter::new(filter.as_str(), QoS::AtLeastOnce)
        };
        Self {
            connection,
            filters: filters.iter().map(filter).collect(),
            window,
            link: None,
            waiting: BTreeMap::new(),
            next: 0,
            reconnect_at: Instant::now(),
            connected_at: None,
            failures: 0,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_ready)
    }

    pub(super) fn has_room(&self) -> bool {
        self.is_connected() && self.waiting.len() < usize::from(self.window)
    }

    /// Acknowledges a message to the broker. If the connection has ended, the broker sends the message
    /// again.
    pub(super) fn acknowledge(&mut self, receipt: Receipt) {
        let Some(link) = &mut self.link else { return };
        link.receipts.push_back(receipt);
        link.acknowledge();
    }

    /// Publishes a message, in its order.
    pub(super) fn publish(&mut self, published: Published, ticket: Ticket) {
        self.waiting.insert(self.next, Waiting { published, ticket, is_taken: false });
        self.next += 1;
        self.pump();
    }

    /// Publishes a message at QoS 0. Returns whether it has left.
    pub(super) fn publish_once(&self, published: Published) -> bool {
        let Some(link) = self.link.as_ref().filter(|link| link.is_ready) else { return false };
        let Published { topic, payload, retain, .. } = published;
        let (client, qos) = (&link.client, QoS::AtMostOnce);
        client.try_publish_with_properties(topic, qos, retain, payload, marked()).is_ok()
    }

    pub(super) async fn next(&mut self) -> LocalEvent {
        loop {
            let Some(link) = &mut self.link else {
                tokio::time::sleep_until(self.reconnect_at).await;
                self.link = Some(LocalLink::open(&self.connection, self.window));
                continue;
            };
            link.acknowledge();
            let packet = tokio::select! {
                biased;
                Some(packet) = link.sent.recv() => {
                    link.sent_one(packet);
                    continue;
                }
                packet = link.events.recv() => packet,
            };
            // It may have been sent and answered since the look at what was sent.
            while let Ok(packet) = link.sent.try_recv() {
                link.sent_one(packet);
            }
            let happened = match packet {
                Some(Ok(packet)) => self.understand(packet),
                Some(Err(why)) => Some(self.lost(why)),
                None => Some(self.lost("the client has ended".to_owned())),
            };
            self.pump();
            if let Some(event) = happened {
                return event;
            }
        }
    }

    fn understand(&mut self, packet: Packet) -> Option<LocalEvent> {
        let link = self.link.as_mut()?;
        match packet {
            Packet::ConnAck(answer) => {
                let properties = v5::properties(&answer);
                if properties.maximum_qos.level() < 1 {
                    let why = "the local broker has QoS 0 alone, which loses messages".to_owned();
                    return Some(self.lost(why));
                }
                link.room = usize::from(properties.receive_maximum / 2).clamp(1, IN_FLIGHT);
                match self.filters.is_empty() {
                    true => return Some(self.connected()),
                    false => drop(link.client.try_subscribe_many(self.filters.clone())),
                }
                None
            }
            Packet::SubAck(answer) => {
                match answer.return_codes.into_iter().find_map(v5::not_subscribed) {
                    Some(why) => {
                        Some(self.lost(format!("the broker refused a subscription: {why}")))
                    }
                    None => Some(self.connected()),
                }
            }
            Packet::Publish(publish) => {
                let receipt = (publish.qos != QoS::AtMostOnce).then_some(publish.pkid);
                let is_marked = publish.properties.as_ref().is_some_and(|properties| {
                    properties.user_properties.iter().any(|(name, _)| name == MARK)
                });
                let published = Published {
                    // A topic that is no text is no topic: no rule names it.
                    topic: String::from_utf8(publish.topic.into()).unwrap_or_default(),
                    payload: publish.payload.into(),
                    qos: u8::from(receipt.is_some()),
                    retain: publish.retain,
                };
                Some(LocalEvent::Arrived { published, receipt, is_marked })
            }
            Packet::PubAck(answer) => {
                let order = link.in_flight.remove(&answer.pkid)?;
                match v5::not_taken(answer.reason) {
                    Some(refusal) if !refusal.is_final => {
                        Some(self.lost(format!("the broker refused a message: {}", refusal.why)))
                    }
                    Some(refusal) => {
                        let Waiting { ticket, .. } = self.waiting.remove(&order)?;
                        Some(LocalEvent::Refused(ticket, refusal.why))
                    }
                    None => {
                        let Waiting { ticket, .. } = self.waiting.remove(&order)?;
                        Some(LocalEvent::Stored(ticket))
                    }
                }
            }
            _ => None,
        }
    }

    fn connected(&mut self) -> LocalEvent {
        self.connected_at = Some(Instant::now());
        self.link.iter_mut().for_each(|link| link.is_ready = true);
        LocalEvent::Connected
    }

    /// Ends the connection. The next one begins after a pause, and publishes again what waits.
    fn lost(&mut self, why: String) -> LocalEvent {
        self.link = None;
        self.waiting.values_mut().for_each(|waiting| waiting.is_taken = false);
        if self.connected_at.take().is_some_and(|at| at.elapsed() >= LASTING) {
            self.failures = 0;
        }
        let pause = fresh_rng().map(|mut rng| pause(self.failures, &mut *rng));
        self.reconnect_at = Instant::now() + pause.unwrap_or(LASTING);
        self.failures = self.failures.saturating_add(1);
        LocalEvent::Lost(why)
    }

    /// Hands what waits to the client, as far as there is room.
    fn pump(&mut self) {
        let Some(link) = self.link.as_mut().filter(|link| link.is_ready) else { return };
        for (order, waiting) in &mut self.waiting {
            if link.taken.len() + link.in_flight.len() >= link.room {
                return;
            }
            if waiting.is_taken {
                continue;
            }
            let Published { topic, payload, retain, .. } = &waiting.published;
            let (qos, payload) = (QoS::AtLeastOnce, payload.clone());
            let client = &link.client;
            if client.try_publish_with_properties(topic, qos, *retain, payload, marked()).is_err() {
                return;
            }
            waiting.is_taken = true;
            link.taken.push_back(*order);
        }
    }
}

impl LocalLink {
    /// Notes that the client has sent the next publish, with this packet identifier.
    fn sent_one(&mut self, packet: u16) {
        // At QoS 0 there is none.
        if packet != 0
            && let Some(order) = self.taken.pop_front()
        {
            self.in_flight.insert(packet, order);
        }
    }

    /// Hands acknowledgements to the client, in their order and as far as it has room.
    fn acknowledge(&mut self) {
        while let Some(receipt) = self.receipts.front() {
            let mut publish = Publish::new("", QoS::AtLeastOnce, Vec::new(), None);
            publish.pkid = *receipt;
            if self.client.try_ack(&publish).is_err() {
                return;
            }
            self.receipts.pop_front();
        }
    }

    fn open(connection: &Connection, window: u16) -> Self {
        let mut options =
            MqttOptions::new(&connection.client, address(connection), connection.port);
        options
            .set_keep_alive(LOCAL_KEEP_ALIVE)
            .set_clean_start(false)
            .set_session_expiry_interval(Some(v5::SESSION_EXPIRY_S))
            .set_receive_maximum(Some(window))
            .set_outgoing_inflight_upper_limit(PACKETS)
            .set_max_packet_size(Some(LONGEST_PACKET as u32))
            .set_manual_acks(true);
        if let Some((user, password)) = &connection.login {
            options.set_credentials(user, password.as_str());
        }
        options.set_transport(transport(connection));
        let mut network = options.network_options();
        network.set_tcp_nodelay(true);
        options.set_network_options(network);
        // Acknowledgements of a whole window may wait at once.
        let (client, event_loop) = AsyncClient::new(options, 2 * usize::from(window) + 1_024);
        let (packets, events) = mpsc::channel(ARRIVALS);
        let (sent_out, sent) = mpsc::unbounded_channel();
        let poller = tokio::spawn(poll(event_loop, connection.tls.is_some(), packets, sent_out));
        Self {
            client,
            events,
            sent,
            poller,
            is_ready: false,
            room: IN_FLIGHT,
            taken: VecDeque::new(),
            in_flight: BTreeMap::new(),
            receipts: VecDeque::new(),
        }
    }
}

impl Drop for LocalLink {
    fn drop(&mut self) {
        self.poller.abort();
    }
}

async fn poll(
    mut event_loop: EventLoop,
    has_tls: bool,
    packets: mpsc::Sender<Result<Packet, String>>,
    sent: mpsc::UnboundedSender<u16>,
) {
    let mut is_accepted = false;
    loop {
        let packet = match timeout(2 * LOCAL_KEEP_ALIVE, event_loop.poll()).await {
            Ok(Ok(Event::Outgoing(Outgoing::Publish(packet)))) => {
                // It is told apart from what arrives, so that it is known before the answer.
                let _ = sent.send(packet);
                continue;
            }
            Ok(Ok(Event::Incoming(packet))) => {
                if matches!(packet, Packet::ConnAck(_)) {
                    is_accepted = true;
                    let seconds = event_loop.options.keep_alive().as_secs();
                    if !(1..=LOCAL_KEEP_ALIVE.as_secs()).contains(&seconds) {
                        event_loop.options.set_keep_alive(LOCAL_KEEP_ALIVE);
                    }
                }
                Ok(packet)
            }
            Ok(Ok(Event::Outgoing(_))) => continue,
            Ok(Err(error)) => Err(v5::problem(&error, has_tls, is_accepted)),
            Err(_) => Err("the broker neither accepts nor sends data any more".to_owned()),
        };
        let is_end = packet.is_err();
        if packets.send(packet).await.is_err() || is_end {
            return;
        }
    }
}

fn marked() -> PublishProperties {
    let user_properties = vec![(MARK.to_owned(), "1".to_owned())];
    PublishProperties { user_properties, ..PublishProperties::default() }
}

/// The user property of what a bridge published. No bridge takes it out of a local broker.
const MARK: &str = "groupkey-bridge";

/// The most publishes in flight to the local broker. rumqttc has twice as many identifiers.
const IN_FLIGHT: usize = PACKETS as usize / 2;

/// The most packets that wait to be looked at, and that are looked at in one turn. The answer to a ping
/// comes after all that the broker has sent before it, which may be thousands of messages ([`Sending`]).
///
/// [`Sending`]: super::sending::Sending
pub(super) const ARRIVALS: usize = 4_096;

/// The time between pings, which is the time for that answer. A broker that dies closes the connection.
const LOCAL_KEEP_ALIVE: Duration = KEEP_ALIVE.saturating_mul(2);

/// A connection that lasts at least this long was successful.
const LASTING: Duration = Duration::from_secs(5);
