//! A carrier that delivers in waves: all messages that are under way arrive before any of those
//! that they cause. It counts who sends, receives and computes what, and who waits for whom.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::{PartyId, Recipient};
use groupkey_choose::evidence::{DeviceRole, Load, PrimitiveCount, ProtocolTraffic, Stage, Uses};
use groupkey_sim::group::{Carrier, Station};
use groupkey_sim::{ClientId, MessageId, NetworkEvent, Time};

/// The carrier and what it has counted since [`Waves::forget`].
pub(super) struct Waves {
    parties: Vec<PartyId>,
    hearers: HashMap<Recipient, BTreeSet<u32>>,
    queue: VecDeque<WaveDelivery>,
    /// The wave that causes the present step; commands are wave 0.
    wave: usize,
    shares: Vec<PartyRecord>,
    /// The messages that arrive in the first, second, ... wave.
    stages: Vec<InStage>,
    finish: Option<Finish>,
    largest: usize,
    record: Option<StepRecord>,
    /// Orders parties by how long their primitives take.
    effort: fn(&CountedWork) -> u64,
}

#[derive(Default)]
pub(super) struct StepRecord {
    pub(super) steps: Vec<RecordedStep>,
    pub(super) messages: Vec<RecordedMessage>,
    /// The messages that each party received, in the order of their arrival.
    pub(super) arrivals: Vec<Vec<u32>>,
}

pub(super) struct RecordedStep {
    pub(super) place: u32,
    /// Messages that the party has received when it takes the step.
    pub(super) after: u32,
    pub(super) work: CountedWork,
    /// The messages that leave after it.
    pub(super) messages: std::ops::Range<u32>,
    /// Whether its party is a member that has the new key from here on.
    pub(super) brings_key: bool,
}

pub(super) struct RecordedMessage {
    pub(super) from: u32,
    pub(super) to: Recipient,
    pub(super) hearers: Vec<u32>,
    pub(super) bytes: u32,
}

/// Primitives, and messages whose protection is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CountedWork {
    pub(super) meter: Meter,
    pub(super) sent: MessageBytes,
    pub(super) received: MessageBytes,
}

/// Messages and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MessageBytes {
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

struct WaveDelivery {
    wave: usize,
    from: u32,
    to: u32,
    message: MessageId,
    bytes: usize,
    /// Its place among recorded messages.
    recorded: u32,
}

#[derive(Clone, Default)]
struct PartyRecord {
    all: CountedWork,
    copies: MessageBytes,
    /// What it did since it last sent.
    since: CountedWork,
    /// Deliveries of the present wave on which nothing has depended yet.
    unused: (usize, u64),
    has_key: bool,
}

#[derive(Default)]
struct InStage {
    senders: BTreeMap<u32, CountedWork>,
    deliveries: u64,
    awaited: u64,
    receivers: BTreeSet<usize>,
}

struct Finish {
    wave: usize,
    work: CountedWork,
}

impl Waves {
    pub(super) fn new(effort: fn(&CountedWork) -> u64) -> Self {
        Self {
            parties: Vec::new(),
            hearers: HashMap::new(),
            queue: VecDeque::new(),
            wave: 0,
            shares: Vec::new(),
            stages: Vec::new(),
            finish: None,
            largest: 0,
            record: None,
            effort,
        }
    }

    /// Forgets all counts, before another operation.
    pub(super) fn forget(&mut self) {
        self.shares.iter_mut().for_each(|share| *share = PartyRecord::default());
        self.stages.clear();
        self.finish = None;
        self.largest = 0;
        if self.record.is_some() {
            self.record();
        }
    }

    pub(super) fn record(&mut self) {
        let arrivals = vec![Vec::new(); self.parties.len()];
        self.record = Some(StepRecord { arrivals, ..StepRecord::default() });
    }

    pub(super) fn take_record(&mut self) -> StepRecord {
        self.record.take().unwrap_or_default()
    }

    /// Returns the largest message (bytes).
    pub(super) fn largest(&self) -> u32 {
        self.largest as u32
    }

    /// Returns what a party did. It keeps no keys yet.
    pub(super) fn load(&self, place: usize) -> (Load, u64) {
        let PartyRecord { all, copies, .. } = &self.shares[place];
        let load = Load {
            uses: all.uses(),
            sent: all.sent.into(),
            received: all.received.into(),
            copies: (*copies).into(),
            keys: 0.0,
        };
        (load, (self.effort)(all))
    }

    pub(super) fn parties(&self) -> &[PartyId] {
        &self.parties
    }

    /// Returns the primitives of the slowest member of the last wave that brings the key.
    pub(super) fn finish(&self) -> Uses {
        self.finish.as_ref().map(|finish| finish.work.uses()).unwrap_or_default()
    }

    /// Returns the stages until nothing waits for messages any more.
    pub(super) fn stages(&self) -> Vec<Stage> {
        let needed = self.stages.iter().rposition(|stage| stage.awaited > 0);
        let mut told: Vec<Stage> = Vec::new();
        for stage in self.stages.iter().take(needed.map_or(0, |last| last + 1)) {
            let stage = self.stage(stage);
            match told.last_mut() {
                Some(before) if is_alike(before, &stage) => average(before, &stage),
                _ => told.push(stage),
            }
        }
        told
    }

    fn stage(&self, stage: &InStage) -> Stage {
        let InStage { senders, deliveries, awaited, receivers } = stage;
        let slowest = senders
            .iter()
            .max_by_key(|(place, work)| ((self.effort)(work), std::cmp::Reverse(**place)));
        let most = senders.values().map(|work| work.sent.messages).max().unwrap_or_default();
        let (messages, bytes) = senders.values().fold((0, 0), |(messages, bytes), work| {
            (messages + work.sent.messages, bytes + work.sent.bytes)
        });
        Stage {
            repeats: 1.0,
            senders: senders.len() as f64,
            messages: most as f64,
            bytes: bytes as f64 / messages.max(1) as f64,
            deliveries: *deliveries as f64,
            awaited: *awaited as f64,
            receivers: receivers.len() as f64,
            uses: slowest.map(|(_, work)| work.uses()).unwrap_or_default(),
            sender: slowest.map_or(DeviceRole::Member, |(place, _)| {
                match self.parties[*place as usize] {
                    PartyId::Controller => DeviceRole::Controller,
                    PartyId::SubgroupController(_) => DeviceRole::Gateway,
                    PartyId::Member(_) => DeviceRole::Member,
                }
            }),
        }
    }

    /// What a party has received of the present wave was needed.
    fn credit(&mut self, place: usize) {
        let (wave, count) = std::mem::take(&mut self.shares[place].unused);
        if count > 0 && wave == self.wave {
            let stage = &mut self.stages[wave - 1];
            stage.awaited += count;
            stage.receivers.insert(place);
        }
    }
}

impl CountedWork {
    pub(super) fn uses(&self) -> Uses {
        let counted = Primitive::ALL.into_iter().filter_map(|primitive| {
            let tally = self.meter.tally(primitive);
            let count = PrimitiveCount { calls: tally.calls as f64, amount: tally.amount as f64 };
            (tally.calls > 0).then(|| (primitive.name().to_owned(), count))
        });
        let open = [(Uses::SEND, self.sent), (Uses::RECEIVE, self.received)];
        let open = open.into_iter().filter(|(_, traffic)| traffic.messages > 0);
        let open = open.map(|(name, MessageBytes { messages, bytes })| {
            (name.to_owned(), PrimitiveCount { calls: messages as f64, amount: bytes as f64 })
        });
        Uses(counted.chain(open).collect())
    }

    fn add(&mut self, other: &Self) {
        self.meter.add(&other.meter);
        self.sent.add(other.sent);
        self.received.add(other.received);
    }
}

impl MessageBytes {
    fn count(&mut self, bytes: usize) {
        self.add(Self { messages: 1, bytes: bytes as u64 });
    }

    fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

impl From<MessageBytes> for ProtocolTraffic {
    fn from(MessageBytes { messages, bytes }: MessageBytes) -> Self {
        Self { messages: messages as f64, bytes: bytes as f64 }
    }
}

impl Carrier for Waves {
    const ALTERS_NOTHING: bool = true;

    fn seat(&mut self, party: PartyId, _: Station) -> ClientId {
        let place = self.parties.len() as u32;
        self.parties.push(party);
        self.shares.push(PartyRecord::default());
        self.hearers.insert(party.into(), [place].into());
        if let Some(record) = &mut self.record {
            record.arrivals.push(Vec::new());
        }
        ClientId::from_index(place)
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        self.hearers.entry(to).or_default().insert(client.index() as u32);
    }

    fn unsubscribe(&mut self, client: ClientId, to: Recipient) {
        if let Some(hearers) = self.hearers.get_mut(&to) {
            hearers.remove(&(client.index() as u32));
        }
    }

    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]) {
        let (place, wave) = (from.index(), self.wave + 1);
        if self.stages.len() < wave {
            self.stages.resize_with(wave, InStage::default);
        }
        self.largest = self.largest.max(bytes.len());
        self.credit(place);
        let share = &mut self.shares[place];
        share.all.sent.count(bytes.len());
        let mut work = std::mem::take(&mut share.since);
        work.sent.count(bytes.len());
        let stage = &mut self.stages[wave - 1];
        stage.senders.entry(place as u32).or_default().add(&work);
        let mut recorded = 0;
        if let Some(record) = &mut self.record {
            recorded = record.messages.len() as u32;
            record.messages.push(RecordedMessage {
                from: place as u32,
                to,
                hearers: self.hearers.get(&to).into_iter().flatten().copied().collect(),
                bytes: bytes.len() as u32,
            });
            if let Some(step) = record.steps.last_mut() {
                // No step takes time, so its messages follow it at once.
                step.messages.end = recorded + 1;
                step.work.sent.count(bytes.len());
            }
        }
        for &hearer in self.hearers.get(&to).into_iter().flatten() {
            if hearer as usize == place {
                continue;
            }
            share.copies.count(bytes.len());
            stage.deliveries += 1;
            let from = place as u32;
            let bytes = bytes.len();
            self.queue.push_back(WaveDelivery { wave, from, to: hearer, message, bytes, recorded });
        }
    }

    fn wake_at(&mut self, _: Time, _: u64) {
        unreachable!("no step takes time");
    }

    fn poll(&mut self) -> Result<Option<NetworkEvent>, String> {
        let Some(WaveDelivery { wave, from, to, message, bytes, recorded }) =
            self.queue.pop_front()
        else {
            self.wave = 0;
            return Ok(None);
        };
        self.wave = wave;
        if let Some(record) = &mut self.record {
            record.arrivals[to as usize].push(recorded);
        }
        let share = &mut self.shares[to as usize];
        share.all.received.count(bytes);
        share.since.received.count(bytes);
        if share.unused.0 != wave {
            share.unused = (wave, 0);
        }
        if !share.has_key {
            share.unused.1 += 1;
        }
        let [client, from] = [to, from].map(ClientId::from_index);
        Ok(Some(NetworkEvent::Delivered { client, from, message }))
    }

    fn rest(&mut self, _: Time, _: groupkey_sim::Duration) -> Result<(), String> {
        Ok(())
    }

    fn note(&mut self, client: ClientId, meter: &Meter, has_key: bool) {
        let place = client.index();
        let is_member = matches!(self.parties[place], PartyId::Member(_));
        if let Some(record) = &mut self.record {
            let first = record.messages.len() as u32;
            let after = record.arrivals[place].len() as u32;
            let arrived = record.arrivals[place].last().map(|message| *message as usize);
            let mut work = CountedWork { meter: *meter, ..CountedWork::default() };
            // A command comes from nowhere.
            if let Some(message) = arrived.filter(|_| self.wave > 0) {
                work.received.count(record.messages[message].bytes as usize);
            }
            record.steps.push(RecordedStep {
                place: place as u32,
                after,
                work,
                messages: first..first,
                brings_key: is_member && has_key && !self.shares[place].has_key,
            });
        }
        let share = &mut self.shares[place];
        share.all.meter.add(meter);
        share.since.meter.add(meter);
        if has_key && !std::mem::replace(&mut share.has_key, true) {
            if is_member {
                let work = share.since;
                let (wave, effort) = (self.wave, self.effort);
                let is_later = self.finish.as_ref().is_none_or(|finish| {
                    (wave, effort(&work)) > (finish.wave, effort(&finish.work))
                });
                if is_later {
                    self.finish = Some(Finish { wave, work });
                }
            }
            self.credit(place);
        }
    }

    fn now(&self) -> Time {
        Time::ZERO
    }

    fn traffic(&self) -> groupkey_sim::Traffic {
        groupkey_sim::Traffic::default()
    }
}

fn is_alike(before: &Stage, stage: &Stage) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 0.25 * a.max(b);
    before.sender == stage.sender
        && before.senders == stage.senders
        && before.messages == stage.messages
        && near(before.awaited, stage.awaited)
        && stage.awaited > 0.0
}

/// Counts another stage into the average of those before.
fn average(before: &mut Stage, stage: &Stage) {
    let weight = before.repeats;
    let mean = |a: &mut f64, b: f64| *a = (*a * weight + b) / (weight + 1.0);
    mean(&mut before.bytes, stage.bytes);
    mean(&mut before.deliveries, stage.deliveries);
    mean(&mut before.awaited, stage.awaited);
    mean(&mut before.receivers, stage.receivers);
    let names: BTreeSet<&String> = before.uses.0.keys().chain(stage.uses.0.keys()).collect();
    let of = |uses: &Uses, name: &String| uses.0.get(name).copied().unwrap_or_default();
    let merged = names.into_iter().map(|name| {
        let mut count = of(&before.uses, name);
        let other = of(&stage.uses, name);
        mean(&mut count.calls, other.calls);
        mean(&mut count.amount, other.amount);
        (name.clone(), count)
    });
    before.uses = Uses(merged.collect());
    before.repeats += 1.0;
}
