//! A group on a network: the parties of a scheme, each behind its own link.
//!
//! The parties are the library's own, with real keys, and their messages are those that would go
//! over the wire. A [`Carrier`] takes the messages to their recipients: the network in virtual
//! time, or a real broker. Both carry the same messages to the same parties. A step is charged as a
//! pause, as in ComBench (S000 section 4). The pause is as long as the step's counted primitive
//! operations take on the party's device. The messages of a step leave when the pause ends, and a
//! party works on one step at a time. In virtual time the step itself takes no time. On a real
//! clock the pause is what remains of the charge.
//!
//! An operation begins when the network is quiet and ends when it is quiet again. Its time runs
//! until the last current member has the new key. That time has two parts: the computation of
//! devices on the way to that key, and transmission, which is the rest.
//!
//! If connections end, an operation goes on until every current member has the new key or cannot
//! know that it lacks it (`catching_up.rs`).

mod carrier;
mod catching_up;
mod direct;
mod operation;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use groupkey::catalogue::{Audience, Configuration, Law};
use groupkey::crypto::meter::Meter;
use groupkey::protection::Guard;
use groupkey::{
    Channel, Command, Context, Epoch, Error, Event as PartyEvent, Footprint, GroupId, Instance,
    MemberId, Outbox, Party, PartyId, Recipient, Setting, SubgroupId, SubsetId, Suite,
};
use groupkey_testkit::credentials::{Credentials, stream};
use operation::{
    MemberRequest, MessageBatch, OperationProgress, QueuedContent, SentRequest, Stored, TagCheck,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::config::{NetworkConfig, Processing};
use crate::link::{LinkProfile, PacketLoad};
use crate::name::{ClientId, MessageId};
use crate::network::NetworkEvent;
use crate::outage::Outages;
use crate::time::{Duration, Time};

pub use carrier::{Carrier, SimulatedNetwork, topic_bytes};
pub use operation::OperationResult;

/// The parts and parameters of a group.
#[derive(Clone, Debug)]
pub struct GroupSettings {
    /// The scheme, its profile and parameters.
    pub configuration: Configuration,
    /// The algorithms.
    pub suite: Suite,
    /// How messages are protected.
    pub protection: Guard,
    /// The seed of all keys and, together with the network's own seed, of all randomness.
    pub seed: u64,
    /// The broker and the rules of the network.
    pub network: NetworkConfig,
    /// The controller's station, if the scheme has a controller.
    pub controller: Station,
    /// The members' station.
    pub member: Station,
    /// The subgroup controllers' station, if the scheme has subgroups.
    pub subgroup_controller: Station,
    /// Other stations of subgroup controllers, by the number of the subgroup. The last
    /// match counts.
    pub subgroup_exceptions: Vec<(Range<u32>, Station)>,
    /// Other stations of members, by the order in which they joined. The last match counts.
    pub exceptions: Vec<(Range<u32>, Station)>,
    /// Bytes of the request with which a member asks the controller to add or remove it. Without it
    /// the controller acts of its own accord. Schemes without a controller have no request.
    pub request_bytes: Option<u32>,
    /// What lies between two operations.
    pub rest: Rest,
}

/// What lies between two operations of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// An idle network for this long. If that is longer than a retransmission timeout, TCP's window
    /// falls back towards the initial one. TCP's estimates stay as the operation before left them.
    Idle(Duration),
    /// Hours in which keep-alives alone go over the network, so that an operation meets a group
    /// that has settled ([`Network::settle`](crate::Network::settle)).
    Settled,
}

/// Returns the seed of the network for an operation of a settled group, from the group's seed. The
/// creation is operation 1.
pub const fn seed_of_operation(seed: u64, operation: u64) -> u64 {
    // SplitMix64.
    let mut mixed = seed.wrapping_add(operation.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// What an operation took of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartyLoad {
    /// The party.
    pub party: PartyId,
    /// Its computation, in ns.
    pub computation_ns: u64,
    /// Packets that it sent, lost or not.
    pub sent: PacketLoad,
    /// Packets that reached it.
    pub received: PacketLoad,
}

/// The reason why a group cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// The network no longer carries messages, for this reason.
    Broken(String),
    /// TCP gave up a party's connection: its link lets nothing through.
    Disconnected(PartyId),
    /// The network became quiet before all members had the key.
    Incomplete {
        /// Number of members that have the key.
        reached: usize,
        /// Number of members that should have the key.
        members: usize,
    },
    /// A party refused a command or a genuine message.
    Refused(PartyId, Error),
    /// More than [`NetworkConfig::max_events`] events passed.
    Unsettled,
}

/// A group in virtual time.
pub type GroupSimulation = SimulatedGroup<SimulatedNetwork>;

/// A group whose messages `C` carries.
pub struct SimulatedGroup<C> {
    settings: GroupSettings,
    /// What all parties have in common.
    setting: Setting,
    carrier: C,
    credentials: Credentials,
    rng: ChaCha20Rng,
    /// The controller's seat comes first, if there is one; then those of subgroup controllers.
    seats: Vec<SimulatedParty>,
    seat_of: HashMap<PartyId, usize>,
    next_member: u32,
    /// How often parties have asked for what they missed, by seat, while they wait for it.
    asking: BTreeMap<usize, u32>,
    epoch: Epoch,
    outbox: Outbox,
    operation: OperationProgress,
}

impl GroupSettings {
    /// Returns a party's station. The last exception that names the party counts.
    pub fn station(&self, party: PartyId) -> &Station {
        let (number, exceptions, usual) = match party {
            PartyId::Controller => return &self.controller,
            PartyId::SubgroupController(SubgroupId(number)) => {
                (number, &self.subgroup_exceptions, &self.subgroup_controller)
            }
            PartyId::Member(MemberId(number)) => (number, &self.exceptions, &self.member),
        };
        let exception = exceptions.iter().rev().find(|(numbers, _)| numbers.contains(&number));
        exception.map_or(usual, |(_, station)| station)
    }
}

impl GroupSimulation {
    /// Makes a group without members on a simulated network at rest.
    pub fn new(settings: GroupSettings) -> Self {
        let network = SimulatedNetwork::new(settings.network.clone());
        Self::on(network, settings)
    }
}

impl<C: Carrier> SimulatedGroup<C> {
    /// Makes a group without members on a network at rest.
    pub fn on(carrier: C, settings: GroupSettings) -> Self {
        let GroupSettings { configuration, suite, protection, .. } = &settings;
        let (group, instance) = (GroupId(1), Instance::default());
        let setting = configuration.setting(group, *suite, *protection, "", instance);
        let mut group = Self {
            setting,
            credentials: Credentials::for_suite(settings.suite, settings.protection, settings.seed),
            rng: ChaCha20Rng::seed_from_u64(settings.seed),
            carrier,
            seats: Vec::new(),
            seat_of: HashMap::new(),
            next_member: 0,
            asking: BTreeMap::new(),
            epoch: Epoch(0),
            outbox: Outbox::new(),
            operation: OperationProgress::default(),
            settings,
        };
        if let Some(party) = group.settings.configuration.controller() {
            group.seat(PartyId::Controller, party);
        }
        for (subgroup, party) in group.settings.configuration.subgroup_controllers() {
            group.seat(subgroup.into(), party);
        }
        group
    }

    /// Makes the group the one of this setting. Before it is created; to compare with a group that
    /// runs elsewhere.
    #[must_use]
    pub const fn in_setting(mut self, setting: Setting) -> Self {
        self.setting = setting;
        self
    }

    /// Sets whether what follows happens without the network, for what leads up to an operation. It
    /// does so only where nobody can tell: the group settles before each operation, and connections
    /// do not end. Links must not change with time. Times and bytes of what happens so mean nothing.
    pub fn skip_network(&mut self, skip: bool) {
        let is_felt = self.settings.rest != Rest::Settled || self.connections_end();
        self.carrier.carry_directly(skip && !is_felt);
    }

    /// Creates the group with this many members.
    pub fn create(&mut self, members: u32) -> Result<OperationResult, GroupError> {
        let ids: Vec<_> = (0..members).map(|_| self.take_seat()).collect();
        self.enroll(&ids)?;
        self.begin()?;
        self.command_all(Command::Create(&ids))?;
        self.finish()
    }

    /// Adds a new member.
    pub fn add(&mut self) -> Result<OperationResult, GroupError> {
        let newcomer = self.take_seat();
        self.enroll(&[newcomer])?;
        self.begin()?;
        self.request_or_command(MemberRequest::Add(newcomer), newcomer)?;
        self.finish()
    }

    /// Removes `member`, or by default the member in the middle of those that joined.
    pub fn remove(&mut self, member: Option<u32>) -> Result<OperationResult, GroupError> {
        let leaver = match member {
            Some(member) => MemberId(member),
            None => self.member_in_the_middle(),
        };
        self.begin()?;
        self.request_or_command(MemberRequest::Remove(leaver), leaver)?;
        self.finish()
    }

    /// Adds this many new members and removes others, in one change.
    pub fn batch(
        &mut self,
        joining: u32,
        leaving: &[MemberId],
    ) -> Result<OperationResult, GroupError> {
        let joining: Vec<_> = (0..joining).map(|_| self.take_seat()).collect();
        self.enroll(&joining)?;
        self.begin()?;
        leaving.iter().for_each(|&member| self.unseat(member));
        self.command_all(Command::Batch { joining: &joining, leaving })?;
        self.finish()
    }

    /// Begins a new period with the same members.
    pub fn rekey(&mut self) -> Result<OperationResult, GroupError> {
        self.begin()?;
        self.command_all(Command::Rekey)?;
        self.finish()
    }

    /// Lets the member in the middle begin a message, in schemes that have keys for messages.
    pub fn send_message(&mut self) -> Result<OperationResult, GroupError> {
        let sender = self.seat_of[&self.member_in_the_middle().into()];
        self.begin()?;
        self.work(sender, StepInput::Command(Command::Send), self.carrier.now(), 0)?;
        self.finish()
    }

    /// Returns the current members, in the order in which they joined.
    pub fn current_members(&self) -> Vec<MemberId> {
        let current = self.seats.iter().filter(|seat| seat.is_current_member());
        current
            .filter_map(|seat| match seat.id {
                PartyId::Member(member) => Some(member),
                PartyId::Controller | PartyId::SubgroupController(_) => None,
            })
            .collect()
    }

    /// Returns this many of the current members, from the one in the middle on.
    pub fn members_in_the_middle(&self, count: usize) -> Vec<MemberId> {
        let members = self.current_members();
        members.iter().skip(members.len() / 2).take(count).copied().collect()
    }

    /// Returns the number of current members.
    pub fn members(&self) -> usize {
        self.seats.iter().filter(|seat| seat.is_current_member()).count()
    }

    /// Returns the key material of each party that takes part.
    pub fn footprints(&self) -> impl Iterator<Item = (PartyId, Footprint)> {
        let taking_part = self.seats.iter().filter(|seat| seat.current);
        taking_part.map(|seat| (seat.id, seat.party.footprint()))
    }

    /// Returns what the last operation took of each party that takes part, if the carrier counts
    /// packets by clients.
    pub fn loads(&self) -> impl Iterator<Item = PartyLoad> {
        let taking_part = self.seats.iter().filter(|seat| seat.current);
        taking_part.filter_map(|seat| {
            let [sent, received] = self.carrier.packets(seat.client)?;
            let [sent_before, received_before] = seat.packets_before;
            Some(PartyLoad {
                party: seat.id,
                computation_ns: seat.computation_ns,
                sent: sent - sent_before,
                received: received - received_before,
            })
        })
    }

    /// Returns the carrier.
    pub const fn carrier(&self) -> &C {
        &self.carrier
    }

    /// Returns the carrier, to be changed between operations.
    pub const fn carrier_mut(&mut self) -> &mut C {
        &mut self.carrier
    }

    /// Returns the messages that the parties sent in the last operation, in the order in which
    /// their steps ended. They can be compared with the messages over a real broker.
    pub fn sent(&self) -> impl Iterator<Item = (Recipient, &[u8])> {
        self.operation.sent()
    }

    fn seat(&mut self, id: PartyId, party: Box<dyn Party>) {
        let station = self.settings.station(id).clone();
        let computation = Arc::clone(&station.computation);
        let client = self.carrier.seat(id, station);
        self.seat_of.insert(id, self.seats.len());
        self.credentials.issue(id);
        self.seats.push(SimulatedParty {
            id,
            party,
            client,
            computation,
            current: true,
            subsets: Vec::new(),
            drawn: 0,
            busy_until: Time::ZERO,
            computed: 0,
            computation_ns: 0,
            packets_before: [PacketLoad::default(); 2],
        });
    }

    fn take_seat(&mut self) -> MemberId {
        let member = MemberId(self.next_member);
        self.next_member += 1;
        let party = self.settings.configuration.member(member);
        self.seat(member.into(), party);
        let client = self.seats[self.seats.len() - 1].client;
        self.carrier.subscribe(client, Recipient::Group);
        member
    }

    /// Runs the deployment phase. It takes no time: it happens once, over a channel of its own.
    fn enroll(&mut self, members: &[MemberId]) -> Result<(), GroupError> {
        if !self.settings.configuration.scheme().has_controller() {
            return Ok(());
        }
        self.step(0, StepInput::Command(Command::Enroll(members)))?;
        self.hand_over_confidentially()
    }

    /// Delivers the messages of the last step, and all messages that follow from them.
    fn hand_over_confidentially(&mut self) -> Result<(), GroupError> {
        let outbox = std::mem::take(&mut self.outbox);
        let mut check = TagCheck::InFull;
        for message in outbox.messages() {
            let Some(to) = message.to.party().filter(|to| *to != PartyId::Controller) else {
                continue;
            };
            let given = StepInput::Bytes(Channel::Confidential, message.bytes, check);
            self.step(self.seat_of[&to], given)?;
            self.hand_over_confidentially()?;
            check = TagCheck::Counted;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), GroupError> {
        let is_first = self.epoch == Epoch(0);
        // The network may be quiet for long while a party still computes.
        let current = self.seats.iter().filter(|seat| seat.current);
        let done = current.map(|seat| seat.busy_until).max().unwrap_or(Time::ZERO);
        self.epoch = self.epoch.next();
        self.asking.clear();
        let Self { carrier, settings, epoch, .. } = self;
        let rested = match settings.rest {
            _ if is_first => carrier.rest(done, Duration::ZERO),
            Rest::Idle(time) => carrier.rest(done, time),
            Rest::Settled => carrier.settle(done, seed_of_operation(settings.seed, epoch.0)),
        };
        rested.map_err(GroupError::Broken)?;
        for seat in &mut self.seats {
            seat.computation_ns = 0;
            seat.packets_before = self.carrier.packets(seat.client).unwrap_or_default();
        }
        self.operation = OperationProgress::begin(self.carrier.now(), self.carrier.traffic());
        Ok(())
    }

    fn request_or_command(
        &mut self,
        request: MemberRequest,
        from: MemberId,
    ) -> Result<(), GroupError> {
        let has_controller = self.settings.configuration.scheme().has_controller();
        match self.settings.request_bytes {
            Some(bytes) if has_controller => {
                let message = self.operation.ask(request);
                let seat = self.seat_of[&from.into()];
                let sent = SentRequest { message, seat, bytes };
                self.operation.request = Some(sent);
                self.send_request(sent);
                Ok(())
            }
            _ => self.carry_out(request),
        }
    }

    fn send_request(&mut self, SentRequest { message, seat, bytes }: SentRequest) {
        self.publish(seat, message, Recipient::Controller, &vec![0; bytes as usize]);
    }

    fn carry_out(&mut self, request: MemberRequest) -> Result<(), GroupError> {
        match request {
            MemberRequest::Add(member) => self.command_all(Command::Add(member)),
            MemberRequest::Remove(member) => {
                self.unseat(member);
                self.command_all(Command::Remove(member))
            }
        }
    }

    fn unseat(&mut self, member: MemberId) {
        let Some(&number) = self.seat_of.get(&member.into()) else { return };
        let seat = &mut self.seats[number];
        seat.current = false;
        let client = seat.client;
        let subsets = std::mem::take(&mut seat.subsets);
        self.carrier.unsubscribe(client, Recipient::Group);
        for subset in subsets {
            self.carrier.unsubscribe(client, Recipient::Subset(subset));
        }
    }

    /// Gives a command to the controller or, without a controller, to all current members. A new
    /// period of a hybrid scheme begins for all parties.
    fn command_all(&mut self, command: Command<'_>) -> Result<(), GroupError> {
        self.operation.has_begun = true;
        let to = match self.settings.configuration.scheme().audience(&command) {
            Audience::Controller => 0..1,
            Audience::Everybody | Audience::Members => 0..self.seats.len(),
        };
        for number in to {
            if self.seats[number].current {
                let result = self.work(number, StepInput::Command(command), self.carrier.now(), 0);
                self.forgive(number, result)?;
            }
        }
        Ok(())
    }

    /// Runs the network until it is quiet, and no member can get the key any more.
    fn finish(&mut self) -> Result<OperationResult, GroupError> {
        loop {
            while let Some(event) = self.carrier.poll().map_err(GroupError::Broken)? {
                self.take(event)?;
            }
            if self.repeat_request() {
                continue;
            }
            if !self.awaits_connections() {
                break;
            }
            match self.carrier.wait().map_err(GroupError::Broken)? {
                Some(event) => self.take(event)?,
                None => break,
            }
        }
        let members = self.members();
        // Without a group key, a change concerns one subgroup alone, which may be empty.
        let behind = match self.settings.configuration.scheme().law {
            Law::OneKey | Law::PlannedPeriods => members - self.operation.reached,
            Law::OneMessage => 0,
        };
        if behind > 0 && !self.connections_end() {
            return Err(GroupError::Incomplete { reached: self.operation.reached, members });
        }
        Ok(self.operation.result(self.carrier.traffic(), behind))
    }

    fn take(&mut self, event: NetworkEvent) -> Result<(), GroupError> {
        match event {
            NetworkEvent::Connected { client, session_present } => {
                if !session_present {
                    self.suspect(client.index());
                }
                Ok(())
            }
            NetworkEvent::Delivered { client, from, message } => {
                self.receive(client, from, message)
            }
            NetworkEvent::Disconnected { .. } if self.connections_end() => Ok(()),
            NetworkEvent::Disconnected { client } => {
                Err(GroupError::Disconnected(self.seats[client.index()].id))
            }
            NetworkEvent::Unsettled => Err(GroupError::Unsettled),
            NetworkEvent::Wake { token } => match catching_up::seat_of(token) {
                Some(seat) => self.ask(seat),
                None => {
                    self.release(token as usize);
                    Ok(())
                }
            },
        }
    }

    fn receive(
        &mut self,
        client: ClientId,
        from: ClientId,
        message: MessageId,
    ) -> Result<(), GroupError> {
        // The broker also sends a message to its publisher, if the publisher subscribes
        // to the topic.
        if client == from || !self.seats[client.index()].current {
            return Ok(());
        }
        let now = self.carrier.now();
        let Stored { content, computed } = self.operation.message(message);
        match content {
            // A request may come twice.
            QueuedContent::Request(_) if self.operation.has_begun => Ok(()),
            QueuedContent::Request(request) => self.carry_out(request),
            QueuedContent::Bytes { batch, buffer, range, .. } => {
                let check = match C::ALTERS_NOTHING {
                    true => self.operation.next_check(batch),
                    false => TagCheck::InFull,
                };
                let given = StepInput::Bytes(Channel::Open, &buffer[range], check);
                let result = self.work(client.index(), given, now, computed);
                self.forgive(client.index(), result)
            }
        }
    }

    /// Runs a party's step, whose cause arrived at `arrival` after `computed` ns of computation.
    fn work(
        &mut self,
        number: usize,
        given: StepInput<'_>,
        arrival: Time,
        computed: u64,
    ) -> Result<(), GroupError> {
        let meter = self.step(number, given)?;
        let seat = &mut self.seats[number];
        let cost = (seat.computation)(&meter);
        seat.computation_ns += cost;
        // A step starts at the arrival of its cause, or at the end of the step before it.
        let (start, computed) = if seat.busy_until > arrival {
            (seat.busy_until, seat.computed)
        } else {
            (arrival, computed)
        };
        // On a real clock the step may have taken longer than the device would.
        let end = (start + Duration::from_nanos(cost)).max(self.carrier.now());
        seat.busy_until = end;
        seat.computed = computed + cost;
        let computed = seat.computed;
        let has_key = match self.settings.configuration.scheme().law {
            Law::OneKey | Law::PlannedPeriods => {
                seat.party.group_key().is_some_and(|(epoch, _)| epoch == self.epoch)
            }
            Law::OneMessage => self
                .outbox
                .events()
                .iter()
                .any(|event| matches!(event, PartyEvent::MessageKey | PartyEvent::Rekeyed(_))),
        };
        if has_key && matches!(seat.id, PartyId::Member(_)) {
            self.operation.reach(number, end, computed);
        }
        self.carrier.note(self.seats[number].client, &meter, has_key);
        self.send(number, end, computed);
        Ok(())
    }

    fn step(&mut self, number: usize, given: StepInput<'_>) -> Result<Meter, GroupError> {
        let seat = &mut self.seats[number];
        let mut meter = Meter::new();
        self.outbox.clear();
        let peer_keys = self.credentials.peer_keys(seat.id, self.settings.suite);
        // A stream per party: what a party draws does not depend on which message arrives first.
        self.rng.set_stream(stream(seat.id));
        self.rng.set_word_pos(seat.drawn);
        let mut cx = Context::new(
            self.setting,
            seat.id,
            self.credentials.protection(seat.id),
            &mut self.rng,
            self.carrier.now().as_nanos(),
            &mut self.outbox,
            &mut meter,
        )
        .with_peer_keys(&peer_keys);
        let result = match given {
            StepInput::Bytes(channel, bytes, TagCheck::Counted) => {
                cx.deliver_unchanged(&mut *seat.party, channel, bytes)
            }
            StepInput::Bytes(channel, bytes, TagCheck::InFull) => {
                cx.deliver(&mut *seat.party, channel, bytes)
            }
            StepInput::Command(command) => cx.command(&mut *seat.party, command),
        };
        result.map_err(|error| GroupError::Refused(seat.id, error))?;
        seat.drawn = self.rng.get_word_pos();
        for event in self.outbox.events() {
            match *event {
                PartyEvent::Subscribed(subset) => {
                    self.carrier.subscribe(seat.client, Recipient::Subset(subset));
                    seat.subsets.push(subset);
                }
                PartyEvent::Unsubscribed(subset) => {
                    self.carrier.unsubscribe(seat.client, Recipient::Subset(subset));
                }
                _ => {}
            }
        }
        Ok(meter)
    }

    /// Sends the messages of the last step when its computation has ended.
    fn send(&mut self, number: usize, at: Time, computed: u64) {
        if self.outbox.messages().len() == 0 {
            return;
        }
        let batch = self.operation.keep(number, &self.outbox, computed);
        if at > self.carrier.now() {
            self.carrier.wake_at(at, batch as u64);
        } else {
            self.release(batch);
        }
    }

    fn release(&mut self, batch: usize) {
        let MessageBatch { seat, messages, .. } = self.operation.batch(batch);
        for message in messages.map(|number| MessageId(number as u32)) {
            if let QueuedContent::Bytes { to, buffer, range, .. } =
                self.operation.message(message).content
            {
                self.publish(seat, message, to, &buffer[range]);
            }
        }
    }

    fn publish(&mut self, seat: usize, message: MessageId, to: Recipient, bytes: &[u8]) {
        self.operation.count_published(bytes.len());
        self.carrier.publish(self.seats[seat].client, to, message, bytes);
    }

    fn member_in_the_middle(&self) -> MemberId {
        self.members_in_the_middle(1).first().copied().unwrap_or(MemberId(0))
    }
}

impl<C> fmt::Debug for SimulatedGroup<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedGroup")
            .field("settings", &self.settings)
            .field("seats", &self.seats.len())
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(reason) => f.write_str(reason),
            Self::Disconnected(party) => {
                write!(f, "the connection of {party} broke: TCP gave up sending again")
            }
            Self::Incomplete { reached, members } => {
                write!(f, "only {reached} of {members} members got the new key")
            }
            Self::Refused(party, error) => write!(f, "{party}: {error}"),
            Self::Unsettled => {
                write!(f, "the simulation did not settle within its limit of events")
            }
        }
    }
}

impl std::error::Error for GroupError {}

struct SimulatedParty {
    id: PartyId,
    party: Box<dyn Party>,
    client: ClientId,
    computation: Arc<dyn Fn(&Meter) -> u64 + Send + Sync>,
    /// Whether the party takes part: controllers always do.
    current: bool,
    subsets: Vec<SubsetId>,
    /// How many words the party has drawn from its stream.
    drawn: u128,
    busy_until: Time,
    /// Computation on the way to the end of the last step, in ns.
    computed: u64,
    /// Computation in the operation, in ns.
    computation_ns: u64,
    /// Packets that it had sent, and that had reached it, when the operation began.
    packets_before: [PacketLoad; 2],
}

impl SimulatedParty {
    fn is_current_member(&self) -> bool {
        self.current && matches!(self.id, PartyId::Member(_))
    }
}

#[derive(Clone, Copy)]
enum StepInput<'a> {
    Bytes(Channel, &'a [u8], TagCheck),
    Command(Command<'a>),
}

/// A device and its link to the broker.
#[derive(Clone)]
pub struct Station {
    /// The link towards the broker.
    pub up: LinkProfile,
    /// The link from the broker.
    pub down: LinkProfile,
    /// How often both fail, in a network with [`NetworkConfig::reconnection`].
    pub outages: Option<Outages>,
    /// What MQTT packets cost the device.
    pub processing: Processing,
    /// How long a step with these primitive operations takes, in ns.
    pub computation: Arc<dyn Fn(&Meter) -> u64 + Send + Sync>,
}

impl fmt::Debug for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Station")
            .field("up", &self.up)
            .field("down", &self.down)
            .field("outages", &self.outages)
            .field("processing", &self.processing)
            .finish_non_exhaustive()
    }
}
