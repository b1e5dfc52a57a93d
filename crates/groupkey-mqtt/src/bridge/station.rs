//! One group of a bridge: a member at the group's broker, and a client at the local one.

use std::collections::BTreeSet;
use std::time::Duration;

use getrandom::fill;
use groupkey::messages::Received;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::bridge_message::{BridgeMessage, Carried, DeliveryConfirmation};
use super::counters::BridgeCounters;
use super::introductions::{Introductions, introduce};
use super::local_broker::{ARRIVALS, LocalBroker, LocalEvent};
use super::party::{GroupParty, Told, Tracked};
use super::reading::{SideReading, StationQuestions, StationReading};
use super::receiving::{PlaceInStream, Receiving};
use super::rules::{InwardRuling, TopicRules};
use super::sending::{Published, Sending};
use crate::driver::{Connection, Running, Status, run};
use crate::event::MemberEvent;
use crate::keyring::Secret;
use crate::runtime::Fatal;

/// How a bridge serves one group.
#[derive(Clone, Debug)]
pub struct StationSettings {
    /// How to reach the broker of users' programs. The client identifier names the session there.
    pub local: Connection,
    /// What may pass.
    pub rules: TopicRules,
    /// Which bridges confirm what leaves. Without any, the group's broker does.
    pub listeners: BTreeSet<[u8; 32]>,
    /// The identity of the bridge's member.
    pub identity: Secret,
    /// The most messages that wait for a confirmation: 1 to 10,000.
    pub window: u16,
}

/// What a station tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StationEvent {
    /// What it has counted, and how many messages wait for a confirmation.
    Counted(BridgeCounters, usize),
    /// The connection to the group's broker has changed, in words.
    Group(String),
    /// The connection to the local broker has changed, in words.
    Local(String),
    /// Something happened at the member. Messages are not told.
    Member(MemberEvent),
    /// Something was lost or waits, and what can be done.
    Trouble(String),
}

/// Why a station has ended.
#[derive(Debug)]
pub enum StationEnd {
    /// The member was evicted.
    Evicted,
    /// The member cannot go on.
    Failed(Fatal),
    /// Nobody takes what the station tells any more.
    Unheard,
}

/// Serves one group until its member ends, or nobody takes what it tells. Answers the questions of
/// its probes meanwhile. Runs in a tokio runtime.
pub async fn serve<P: GroupParty>(
    party: P,
    connection: Connection,
    settings: StationSettings,
    events: mpsc::Sender<StationEvent>,
    questions: StationQuestions,
) -> StationEnd {
    let outer = run(Tracked::new(party), connection);
    let StationSettings { local, rules, listeners, identity, window } = settings;
    let Ok(stream) = drawn() else { return StationEnd::Failed(Fatal::NoRandomness) };
    let station = Station {
        status: outer.handle.status(),
        known: Status::default(),
        outer,
        local: LocalBroker::new(local, &rules.outward, window),
        sending: Sending::new(&listeners, window.into(), stream),
        receiving: Receiving::default(),
        introductions: Introductions::default(),
        rules,
        listeners,
        identity,
        has_key: false,
        place: None,
        unaccepted: 0,
        hello: Hello::default(),
        waits_since: None,
        counters: BridgeCounters::default(),
        counted_at: Instant::now(),
        started: Instant::now(),
        local_connections: 0,
        events,
    };
    match station.run(questions).await {
        Err(end) => end,
        Ok(never) => match never {},
    }
}

struct Station<P: GroupParty> {
    outer: Running<Tracked<P>>,
    status: watch::Receiver<Status>,
    known: Status,
    local: LocalBroker,
    sending: Sending,
    receiving: Receiving,
    introductions: Introductions,
    rules: TopicRules,
    listeners: BTreeSet<[u8; 32]>,
    identity: Secret,
    /// Whether the member may say something.
    has_key: bool,
    /// The member's number, and the founding in which it has it.
    place: Option<(u32, [u8; 32])>,
    /// How many messages the group's broker has not acknowledged.
    unaccepted: usize,
    hello: Hello,
    /// The first number that waits, since when, and whether that was told.
    waits_since: Option<(u64, Instant, bool)>,
    counters: BridgeCounters,
    counted_at: Instant,
    started: Instant,
    /// How often the connection to the local broker was made.
    local_connections: u64,
    events: mpsc::Sender<StationEvent>,
}

/// When the bridge introduces itself.
#[derive(Clone, Copy, Debug, Default)]
struct Hello {
    is_due: bool,
    asks: bool,
    said_at: Option<u64>,
}

/// Nothing: a station only ends with a reason.
enum Never {}

impl<P: GroupParty> Station<P> {
    async fn run(mut self, mut questions: StationQuestions) -> Result<Never, StationEnd> {
        loop {
            self.settle().await?;
            let wake = self.wake();
            tokio::select! {
                told = self.outer.events.recv() => match told {
                    Some(told) => {
                        self.told(told).await?;
                        for _ in 0..BATCH {
                            let Ok(told) = self.outer.events.try_recv() else { break };
                            self.told(told).await?;
                        }
                    }
                    None => return Err(self.ended().await),
                },
                event = self.local.next() => {
                    self.at_local(event).await?;
                    for _ in 0..ARRIVALS {
                        let event = tokio::select! {
                            biased;
                            event = self.local.next() => event,
                            () = std::future::ready(()) => break,
                        };
                        self.at_local(event).await?;
                    }
                }
                Ok(()) = self.status.changed() => self.at_status().await?,
                question = questions.next() => {
                    let reading = self.reading().await?;
                    // Who asked may have gone.
                    let _ = question.send(reading);
                }
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Does what is due: says what waits, acknowledges what the group has, and counts.
    async fn settle(&mut self) -> Result<(), StationEnd> {
        let now = self.now();
        if self.sending.tick(now) && self.lacks_listener() {
            self.ask_who();
        }
        let receipts = self.sending.released();
        self.counters.confirmed += receipts.len() as u64;
        for receipt in receipts {
            self.local.acknowledge(receipt);
        }
        if self.may_speak() {
            self.speak(now).await?;
        }
        self.watch_waiting().await?;
        if self.counted_at.elapsed() >= COUNT_EVERY {
            self.counted_at = Instant::now();
            self.counters.repeated = self.sending.repeated();
            self.tell(StationEvent::Counted(self.counters, self.sending.waiting())).await?;
        }
        Ok(())
    }

    async fn reading(&mut self) -> Result<StationReading, StationEnd> {
        let asked = self.outer.handle.call(|party, _, _| (party.epoch(), party.counters())).await;
        let Some((epoch, messages)) = asked else { return Err(self.ended().await) };
        let Status { connected: is_connected, connections, .. } = *self.status.borrow();
        Ok(StationReading {
            counters: BridgeCounters { repeated: self.sending.repeated(), ..self.counters },
            waiting: self.sending.waiting(),
            epoch,
            may_speak: self.has_key && self.place.is_some(),
            messages,
            group: SideReading { is_connected, connections },
            local: SideReading {
                is_connected: self.local.is_connected(),
                connections: self.local_connections,
            },
        })
    }

    async fn speak(&mut self, now: u64) -> Result<(), StationEnd> {
        let Some((member, context)) = self.place else { return Ok(()) };
        let mut contents: Vec<(Option<u64>, Vec<u8>)> = Vec::new();
        if self.hello.is_due && self.hello.said_at.is_none_or(|at| now >= at + HELLO_EVERY) {
            let asks = self.hello.asks;
            let introduction = introduce(&self.identity, &context, member, asks);
            contents.push((None, BridgeMessage::Introduced(introduction).encode()));
            self.hello = Hello { is_due: false, asks: false, said_at: Some(now) };
        }
        let has_room = self.local.has_room();
        for said in self.receiving.confirmations(now, has_room) {
            contents.push((None, BridgeMessage::Confirmed(said).encode()));
        }
        let room = UNACCEPTED.saturating_sub(self.unaccepted).min(BATCH);
        let repeated = self.sending.repeated();
        let taken = self.sending.take(room, now);
        let first = taken.first().map(|carried| carried.number);
        let again = self.sending.repeated() - repeated;
        self.counters.sent += (taken.len() as u64).saturating_sub(again);
        for carried in taken {
            contents.push((Some(carried.number), BridgeMessage::Carried(carried).encode()));
        }
        if contents.is_empty() {
            return Ok(());
        }
        let said = self.outer.handle.call(move |party, now, rng| {
            let mut said = 0;
            for (number, content) in contents {
                match party.say(&content, number, now, rng) {
                    Ok(()) => said += usize::from(number.is_some()),
                    Err(_) => return (said, number.or(first)),
                }
            }
            (said, None)
        });
        let Some((said, unsaid)) = said.await else { return Err(self.ended().await) };
        self.unaccepted += said;
        if let Some(number) = unsaid {
            // The member has no key at the moment, or the group has gone on. It tells when it has one.
            self.has_key = false;
            self.sending.put_back(number);
            self.ask_who();
        }
        Ok(())
    }

    async fn told(&mut self, told: Told) -> Result<(), StationEnd> {
        let event = match told {
            Told::Accepted(number) => {
                self.unaccepted = self.unaccepted.saturating_sub(1);
                self.sending.accepted(number);
                return Ok(());
            }
            Told::Event(MemberEvent::Heard(received)) => {
                self.heard(received);
                return Ok(());
            }
            Told::Event(event) => event,
        };
        match &event {
            MemberEvent::Behind(_) | MemberEvent::JoinsAgain | MemberEvent::Unproven => {
                self.has_key = false;
            }
            MemberEvent::Rekeyed(_) | MemberEvent::Proven => {
                self.has_key = true;
                self.find_place().await?;
            }
            MemberEvent::Evicted => {
                self.tell(StationEvent::Member(event)).await?;
                return Err(StationEnd::Evicted);
            }
            _ => {}
        }
        self.tell(StationEvent::Member(event)).await
    }

    /// Learns our number, and introduces us in a founding that is new to us.
    async fn find_place(&mut self) -> Result<(), StationEnd> {
        let Some(place) = self.outer.handle.call(|party, _, _| party.place()).await else {
            return Err(self.ended().await);
        };
        if place != self.place {
            self.place = place;
            if let Some((_, context)) = place {
                self.introductions.begin(context);
                self.receiving.forget();
                self.ask_who();
            }
        }
        Ok(())
    }

    fn heard(&mut self, received: Received) {
        let (member, now) = (received.sender.0, self.now());
        match BridgeMessage::decode(&received.content) {
            None => self.counters.foreign += 1,
            Some(BridgeMessage::Introduced(said)) => {
                if self.introductions.learn(member, &said) && said.asks {
                    self.hello.is_due = true;
                    self.sending.listener_began(&said.identity, now);
                }
            }
            Some(BridgeMessage::Confirmed(said)) => self.confirmed(member, &said, now),
            Some(BridgeMessage::Carried(carried)) => self.carried(member, carried),
        }
    }

    fn confirmed(&mut self, member: u32, said: &DeliveryConfirmation, now: u64) {
        if self.place.is_none_or(|(own, _)| own != said.member) {
            return;
        }
        match self.introductions.of(member) {
            Some(listener) => self.sending.confirmed(listener, said, now),
            None => self.ask_who(),
        }
    }

    fn carried(&mut self, member: u32, carried: Carried) {
        let identity = self.introductions.of(member);
        let rule = match self.rules.admit(&carried.topic, identity) {
            InwardRuling::By(rule) => Some((rule.qos, rule.retain)),
            InwardRuling::Denied => None,
            InwardRuling::Unknown => {
                // It is sent again, and by then its sender has introduced itself.
                self.counters.unknown += 1;
                self.ask_who();
                return;
            }
        };
        match self.receiving.judge(member, &carried, self.local.has_room()) {
            PlaceInStream::Next => {}
            PlaceInStream::Repeated => {
                self.counters.duplicates += 1;
                return;
            }
            PlaceInStream::Missing => {
                self.counters.out_of_order += 1;
                return;
            }
        }
        let Carried { stream, number, qos, retain, topic, payload, .. } = carried;
        let ticket = (member, *stream, number);
        let Some((most, may_retain)) = rule else {
            self.counters.denied += 1;
            self.receiving.done(member, &stream, number);
            return;
        };
        let (qos, retain) = (qos.min(most), retain && may_retain);
        let published = Published { topic, payload: payload.into(), qos, retain };
        self.counters.received += 1;
        if qos == 0 {
            self.counters.delivered += u64::from(self.local.publish_once(published));
            self.receiving.done(member, &stream, number);
        } else {
            self.local.publish(published, ticket);
        }
    }

    async fn at_local(&mut self, event: LocalEvent) -> Result<(), StationEnd> {
        match event {
            LocalEvent::Arrived { published, receipt, is_marked } => {
                self.arrived(published, receipt, is_marked).await
            }
            LocalEvent::Connected => {
                self.local_connections += 1;
                self.tell(StationEvent::Local("connected".to_owned())).await
            }
            LocalEvent::Lost(why) => {
                // The broker sends again what it has no acknowledgement for.
                let stream = drawn().map_err(StationEnd::Failed)?;
                self.sending.begin_again(stream);
                self.tell(StationEvent::Local(format!("not connected: {why}"))).await
            }
            LocalEvent::Refused((member, stream, number), why) => {
                self.counters.refused += 1;
                self.receiving.done(member, &stream, number);
                let trouble = format!("the local broker refused a message, which is lost: {why}");
                self.tell(StationEvent::Trouble(trouble)).await
            }
            LocalEvent::Stored((member, stream, number)) => {
                self.counters.delivered += 1;
                self.receiving.done(member, &stream, number);
                Ok(())
            }
        }
    }

    /// Takes a message of the local broker.
    async fn arrived(
        &mut self,
        published: Published,
        receipt: Option<u16>,
        is_marked: bool,
    ) -> Result<(), StationEnd> {
        let length = published.topic.len() + published.payload.len() + AROUND;
        let reason = if is_marked {
            &mut self.counters.looped
        } else if !self.rules.leaves(&published.topic) {
            &mut self.counters.not_leaving
        } else if length > BridgeMessage::LONGEST {
            &mut self.counters.too_long
        } else {
            if !self.sending.push(published, receipt) {
                self.counters.dropped += 1;
            }
            return Ok(());
        };
        *reason += 1;
        receipt.into_iter().for_each(|receipt| self.sending.skip(receipt));
        if length > BridgeMessage::LONGEST {
            let most = BridgeMessage::LONGEST - AROUND;
            let trouble = format!(
                "a message is lost: topic and payload have {} bytes, and {most} fit into a group message",
                length - AROUND
            );
            return self.tell(StationEvent::Trouble(trouble)).await;
        }
        Ok(())
    }

    async fn at_status(&mut self) -> Result<(), StationEnd> {
        let status = self.status.borrow_and_update().clone();
        let changes = status.changes_since(&self.known);
        if status.lost_events > self.known.lost_events {
            // Among them may be that the broker has something.
            let pending = self.outer.handle.call(|party, _, _| party.pending()).await;
            let Some((count, oldest)) = pending else { return Err(self.ended().await) };
            self.unaccepted = count;
            self.sending.accepted_before(oldest);
        }
        self.known = status;
        for change in changes {
            self.tell(StationEvent::Group(change)).await?;
        }
        Ok(())
    }

    /// Tells once if messages wait for a confirmation for long.
    async fn watch_waiting(&mut self) -> Result<(), StationEnd> {
        let first = self.sending.base();
        match self.waits_since {
            _ if self.sending.waiting() == 0 => self.waits_since = None,
            Some((number, since, false)) if number == first => {
                let missing = self.sending.missing().len();
                if missing > 0 && since.elapsed() >= LONG_WAIT {
                    self.waits_since = Some((number, since, true));
                    let trouble = format!(
                        "{} messages wait: {missing} of the bridges in `to` do not confirm them. Do they \
                         run, and are they members? Who is gone for good must leave `to`",
                        self.sending.waiting()
                    );
                    return self.tell(StationEvent::Trouble(trouble)).await;
                }
            }
            Some((number, _, true)) if number == first => {}
            _ => self.waits_since = Some((first, Instant::now(), false)),
        }
        Ok(())
    }

    fn wake(&self) -> Instant {
        let now = self.now();
        let mut due = vec![now + 1_000];
        due.extend(self.sending.deadline());
        if self.may_speak() {
            due.extend(self.receiving.deadline(self.local.has_room()));
            let hello =
                self.hello.is_due.then(|| self.hello.said_at.map_or(0, |at| at + HELLO_EVERY));
            due.extend(hello);
            if self.sending.has_unsent() && self.unaccepted < UNACCEPTED {
                due.push(now);
            }
        }
        let earliest = due.into_iter().min().unwrap_or(now);
        self.started + Duration::from_millis(earliest.max(now))
    }

    fn may_speak(&self) -> bool {
        self.has_key && self.known.connected && self.place.is_some()
    }

    fn lacks_listener(&self) -> bool {
        self.listeners.iter().any(|listener| !self.introductions.has(listener))
    }

    fn ask_who(&mut self) {
        (self.hello.is_due, self.hello.asks) = (true, true);
    }

    async fn tell(&self, event: StationEvent) -> Result<(), StationEnd> {
        self.events.send(event).await.map_err(|_| StationEnd::Unheard)
    }

    async fn ended(&mut self) -> StationEnd {
        match (&mut self.outer.end).await {
            Ok(Err(fatal)) => StationEnd::Failed(fatal),
            _ => StationEnd::Failed(Fatal::Crashed),
        }
    }

    /// Returns the time since the start, ms.
    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

fn drawn() -> Result<[u8; 8], Fatal> {
    let mut stream = [0; 8];
    fill(&mut stream).map_err(|_| Fatal::NoRandomness)?;
    Ok(stream)
}

/// The most messages in one turn.
const BATCH: usize = 64;

/// The most messages that the group's broker has not acknowledged.
const UNACCEPTED: usize = 256;

/// The least time between two introductions, ms.
const HELLO_EVERY: u64 = 1_000;

/// The most bytes of a bridge message around topic and payload.
const AROUND: usize = 48;

const COUNT_EVERY: Duration = Duration::from_secs(10);

/// After how long it is told that messages wait.
const LONG_WAIT: Duration = Duration::from_secs(30);
