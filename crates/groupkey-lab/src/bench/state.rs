//! Where the parties of a measured group work. The clock runs around [`Context::command`] and
//! [`Context::deliver`] alone. The inputs of a step are ready before it. Its outputs are examined
//! after it.

use std::collections::BTreeMap;
use std::hint::black_box;

use groupkey::author::PeerKeys;
use groupkey::catalogue::{Class, Configuration};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::{
    Command, Context, Footprint, GroupId, Instance, MemberId, Outbox, PartyId, Recipient, Setting,
    Suite,
};
use groupkey_testkit::credentials::Credentials;
use rand_core::CryptoRng;

use super::parties::{BenchParties, Division};
use super::recording::Recorder;
use super::{
    Activity, BenchError, BenchPlan, ClockProperties, MessageTraffic, Phase, StaticVariables,
};
use crate::clock::Clock;
use crate::device::HandledMessages;

/// Everything that stays from one repetition to the next.
pub(crate) struct BenchState {
    pub(super) configuration: Configuration,
    pub(super) parties: BenchParties,
    /// The output of the last step. Its memory stays, as a server's does.
    pub(super) outbox: Outbox,
    setting: Setting,
    credentials: Credentials,
    variables: StaticVariables,
    /// Present if the inputs of the members are recorded.
    pub(super) recorder: Option<Recorder>,
    clock: ClockProperties,
    counted: Meter,
}

/// What rows tell about the conditions of their measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    pub(crate) clock: ClockProperties,
    /// Strength of the primitives in use (bits): the suite's own for its group or its pairing.
    /// Everything else has 128 bits. BLS12-381 counts as 128 too; it has about 126.
    pub(crate) security_bits: u32,
    /// Number of subgroups that members are divided into; 0 if there are none.
    pub(crate) subgroups: u32,
}

/// What each party did in one phase of one activity.
#[derive(Clone, Debug)]
pub(crate) struct PhaseRecord {
    pub(crate) activity: Activity,
    pub(crate) phase: Phase,
    pub(crate) shares: Shares,
}

pub(crate) type Shares = BTreeMap<PartyId, PartyShare>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartyShare {
    /// The work, which is the same in every repetition.
    pub(crate) work: Work,
    /// Time of its steps together (ns).
    pub(crate) nanoseconds: u64,
}

/// The part of a share that does not depend on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Work {
    pub(crate) meter: Meter,
    pub(crate) handled: HandledMessages,
    pub(crate) unicast: MessageTraffic,
    pub(crate) multicast: MessageTraffic,
    pub(crate) broadcast: MessageTraffic,
    /// Key material at the end (bytes).
    pub(crate) permanent: u64,
    pub(crate) temporary: u64,
}

impl BenchState {
    /// Returns the state for a plan's groups of this many members. In a hybrid scheme, it first
    /// finds the subgroup of each member.
    pub(crate) fn new(plan: &BenchPlan, members: u32) -> Result<Self, BenchError> {
        let scheme = plan.scheme;
        let configuration =
            plan.configuration().map_err(|error| BenchError::Plan { scheme: scheme.id, error })?;
        let (group, instance) = (GroupId(1), Instance::default());
        let setting = configuration.setting(group, plan.suite, plan.protection, "", instance);
        let mut state = Self {
            configuration,
            setting,
            parties: BenchParties::default(),
            credentials: Credentials::for_suite(plan.suite, plan.protection, plan.seed),
            variables: StaticVariables::new(plan.seed),
            recorder: None,
            clock: ClockProperties::measure(Clock::of_thread()),
            outbox: Outbox::new(),
            counted: Meter::new(),
        };
        let division = match scheme.class() {
            Class::Hybrid => state.divide(members)?,
            Class::Centralized | Class::Distributed => Division::new(),
        };
        state.parties = BenchParties::new(scheme, members, &division);
        Ok(state)
    }

    /// Gives a party an identity, if signatures are used and it has none.
    pub(super) fn issue(&mut self, party: PartyId) {
        self.credentials.issue(party);
    }

    /// Returns how many bytes of static variables were drawn.
    pub(super) const fn drawn(&self) -> usize {
        self.variables.drawn()
    }

    /// Goes on with the static variables that come after this many bytes.
    pub(super) const fn draw_from(&mut self, drawn: usize) {
        self.variables.draw_from(drawn);
    }

    /// Draws the same static variables again.
    pub(super) fn rewind(&mut self) {
        self.variables.rewind();
        self.recorder.iter_mut().for_each(Recorder::rewind);
    }

    /// Returns the circumstances after all work that was done here.
    pub(crate) fn circumstances(&self) -> Circumstances {
        let used = |is_one: fn(Primitive) -> bool| {
            Primitive::ALL.into_iter().any(|p| is_one(p) && self.counted.tally(p).calls > 0)
        };
        let suite = self.setting.suite;
        // Of the pairings only Type A is of another level, and only one suite has it.
        let weak_pairing = suite == Suite::Published && used(Primitive::is_of_pairing);
        let is_weak = weak_pairing || used(Primitive::is_of_group);
        let security_bits = if is_weak { suite.security_bits() } else { 128 };
        Circumstances {
            clock: self.clock,
            security_bits,
            subgroups: self.configuration.subgroups(),
        }
    }

    /// Does work in a party's context and measures it. Returns the result, the time that it took
    /// (ns), and what it counted. Its output is in the outbox.
    pub(super) fn measure<T>(
        &mut self,
        id: PartyId,
        work: impl FnOnce(&mut Context<'_>) -> T,
    ) -> (T, u64, Meter) {
        self.credentials.issue(id);
        self.outbox.clear();
        let Self { setting, credentials, variables, recorder, outbox, .. } = self;
        let peer_keys = credentials.peer_keys(id, setting.suite);
        let mut meter = Meter::new();
        let protection = credentials.protection(id);
        let noted;
        let (rng, peer_keys): (&mut dyn CryptoRng, &dyn PeerKeys) = match recorder {
            None => (variables, &peer_keys),
            Some(recorder) => {
                let (stream, keys) = recorder.resources(id, peer_keys);
                noted = keys;
                (stream, &noted)
            }
        };
        let mut cx = Context::new(*setting, id, protection, rng, 0, outbox, &mut meter)
            .with_peer_keys(peer_keys);
        let clock = self.clock.clock;
        let started = clock.now();
        let result = black_box(work(&mut cx));
        let elapsed = clock.now() - started;
        black_box(&self.outbox);
        self.counted.add(&meter);
        (result, self.clock.without_reading(elapsed), meter)
    }

    /// Returns the subgroup that each member and the next joining member is put into.
    fn divide(&mut self, members: u32) -> Result<Division, BenchError> {
        let mut division = Division::new();
        let mut controllers: BTreeMap<_, _> =
            self.configuration.subgroup_controllers().into_iter().collect();
        let mut controller = self.configuration.party(PartyId::Controller);
        let everybody: Vec<_> = (0..=members).map(MemberId).collect();
        self.measure(PartyId::Controller, |cx| {
            cx.command(&mut *controller, Command::Enroll(&everybody))
        })
        .0
        .map_err(BenchError::Refused)?;
        let news = std::mem::take(&mut self.outbox);
        for message in news.messages() {
            let Recipient::SubgroupController(id) = message.to else { continue };
            let Some(party) = controllers.get_mut(&id) else { continue };
            self.measure(id.into(), |cx| cx.deliver(&mut **party, message.channel, message.bytes))
                .0
                .map_err(|error| BenchError::Step { party: id.into(), error })?;
            for enrolled in self.outbox.messages() {
                if let Recipient::Member(member) = enrolled.to {
                    division.insert(member, id);
                }
            }
        }
        Ok(division)
    }
}

impl Work {
    /// Records the key material that a party holds now.
    pub(super) fn keep(&mut self, footprint: Footprint) {
        self.permanent = footprint.permanent as u64;
        self.temporary = footprint.temporary as u64;
    }

    pub(crate) fn traffic(&self) -> MessageTraffic {
        let mut all = self.unicast;
        for kind in [self.multicast, self.broadcast] {
            all.messages += kind.messages;
            all.payload_bytes += kind.payload_bytes;
            all.wire_bytes += kind.wire_bytes;
        }
        all
    }
}

impl MessageTraffic {
    pub(super) fn count(&mut self, payload_bytes: usize, wire_bytes: usize) {
        self.messages += 1;
        self.payload_bytes += payload_bytes as u64;
        self.wire_bytes += wire_bytes as u64;
    }
}
