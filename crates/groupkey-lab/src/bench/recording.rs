//! Recordings of members: everything that a member was given in a group, for a device that runs the
//! member alone ([`groupkey_testkit::replay`]).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use groupkey::author::PeerKeys;
use groupkey::catalogue::growth::Role;
use groupkey::crypto::group::{Element, Exponent};
use groupkey::protection::Guard;
use groupkey::{Error, MemberId, Operation, PartyId};
use groupkey_testkit::credentials::Acquaintances;
use groupkey_testkit::replay::{ReplayInput, ReplayedMember, Transcript, randomness};
use rand_chacha::ChaCha20Rng;

use super::group::MeasuredGroup;
use super::role_party::parts;
use super::samples::effort;
use super::state::{BenchState, PhaseRecord};
use super::{Activity, BenchError, BenchPlan, Phase};

/// The inputs of one member in one group, and which of them are the work of a role.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) subject: ReplayedMember,
    /// The inputs. [`ReplayInput::End`] ends each part.
    pub(crate) acts: Vec<ReplayInput<Rc<[u8]>>>,
    pub(crate) works: Vec<RoleWork>,
    /// The hash of the member's messages and group keys.
    pub(crate) hash: [u8; 32],
}

/// A part of a recording that is a role's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoleWork {
    /// The number of parts before it.
    pub(crate) part: usize,
    /// The operation, such as `add`, or `encrypt` or `decrypt`.
    pub(crate) operation: &'static str,
    pub(crate) role: Role,
    pub(crate) phase: Phase,
}

/// What is recorded of a plan at one size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) recordings: Vec<Recording>,
    /// The operations that the scheme refuses at this size, with its errors.
    pub(crate) refused: Vec<(&'static str, Error)>,
}

/// Records the observed members of a plan's groups of this many members, each activity in a group of
/// its own. Afterwards a member of another group misses a change and catches up, if the scheme has
/// that.
pub(crate) fn record(plan: &BenchPlan, members: u32) -> Result<Recorded, BenchError> {
    let mut recorded = Recorded::default();
    let mut state = BenchState::new(plan, members)?;
    for activity in plan.activities() {
        state.recorder = Some(Recorder::new(plan.seed));
        state.rewind();
        let mut group = MeasuredGroup::new(&mut state);
        let episodes = match activity.operation() {
            Some(_) => group.perform(activity),
            // With the first message, sender and receiver make keys that they keep.
            None => group.converse(2, plan.message_bytes, plan.nonces).map(|told| {
                let last = told.into_iter().next_back();
                let of_activity = |episode: &PhaseRecord| episode.activity == activity;
                last.into_iter().flatten().filter(of_activity).collect()
            }),
        };
        match episodes {
            Err(BenchError::Refused(error)) => recorded.refused.push((activity.name(), error)),
            episodes => recorded.take(plan, members, &mut state, activity, &episodes?)?,
        }
    }
    state.recorder = Some(Recorder::new(plan.seed));
    state.rewind();
    match MeasuredGroup::new(&mut state).catch_up() {
        Err(BenchError::Refused(error)) => {
            recorded.refused.push((Operation::CatchUp.name(), error));
        }
        caught_up => {
            if let Some(member) = caught_up? {
                let (operation, phase) = (Operation::CatchUp.name(), Phase::Operational);
                recorded.push(plan, &mut state, member, |part, label| {
                    let is_it = label == Some((None, phase));
                    is_it.then_some(RoleWork { part, operation, role: Role::Member, phase })
                })?;
            }
        }
    }
    Ok(recorded)
}

impl Recorded {
    fn take(
        &mut self,
        plan: &BenchPlan,
        members: u32,
        state: &mut BenchState,
        activity: Activity,
        episodes: &[PhaseRecord],
    ) -> Result<(), BenchError> {
        let effort = effort(plan.suite);
        let mut works: BTreeMap<MemberId, Vec<(Phase, Role)>> = BTreeMap::new();
        for episode in episodes.iter().filter(|episode| episode.activity == activity) {
            for part in parts(plan.scheme.class(), members, episode, &effort) {
                if let PartyId::Member(member) = part.party {
                    works.entry(member).or_default().push((episode.phase, part.role));
                }
            }
        }
        for (member, roles) in works {
            self.push(plan, state, member, |part, label| {
                let (of, phase) = label?;
                let (_, role) = roles.iter().find(|(of_role, _)| *of_role == phase)?;
                let operation = activity.name();
                (of == Some(activity)).then_some(RoleWork { part, operation, role: *role, phase })
            })?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        plan: &BenchPlan,
        state: &mut BenchState,
        member: MemberId,
        work: impl Fn(usize, Option<ActLabel>) -> Option<RoleWork>,
    ) -> Result<(), BenchError> {
        let Some(recorder) = &mut state.recorder else { return Ok(()) };
        let MemberRecord { acts, labels, senders, transcript } =
            recorder.parts.remove(&member).unwrap_or_default();
        let contacts = recorder.contacts.0.borrow();
        let known = contacts.get(&member.into()).into_iter().flatten().copied();
        let configuration = plan
            .configuration()
            .map_err(|error| BenchError::Plan { scheme: plan.scheme.id, error })?;
        let parameters = plan.scheme.parameters.iter();
        let subject = ReplayedMember {
            scheme: plan.scheme.id,
            profile: plan.profile,
            parameters: parameters.map(|parameter| configuration.value(parameter)).collect(),
            suite: plan.suite,
            guard: plan.protection,
            seed: plan.seed,
            member,
            peers: match plan.protection {
                Guard::Merkle | Guard::Signature => senders.into_iter().collect(),
                Guard::Mac | Guard::None => Vec::new(),
            },
            acquaintances: known.collect(),
        };
        let labels = labels.into_iter().enumerate();
        let mut works: Vec<RoleWork> =
            labels.filter_map(|(part, label)| work(part, label)).collect();
        // Of several messages the last counts.
        works.dedup_by(|next, last| {
            let again = next.operation == last.operation && next.phase == last.phase;
            last.part = if again { next.part } else { last.part };
            again
        });
        self.recordings.push(Recording { subject, acts, works, hash: transcript.hash() });
        Ok(())
    }
}

/// What a part was: an activity, or catching up, in a phase. None if it prepared another part.
type ActLabel = (Option<Activity>, Phase);

/// Writes down what members are given. Each party draws from a stream of its own.
#[derive(Debug)]
pub(super) struct Recorder {
    seed: u64,
    streams: BTreeMap<PartyId, ChaCha20Rng>,
    contacts: Contacts,
    parts: BTreeMap<MemberId, MemberRecord>,
}

#[derive(Debug, Default)]
struct MemberRecord {
    acts: Vec<ReplayInput<Rc<[u8]>>>,
    labels: Vec<Option<ActLabel>>,
    senders: BTreeSet<PartyId>,
    transcript: Transcript,
}

/// The parties whose long-term keys each party has looked up.
#[derive(Debug, Default)]
pub(super) struct Contacts(RefCell<BTreeMap<PartyId, BTreeSet<PartyId>>>);

/// The long-term keys as one party knows them. Each look-up is noted.
#[derive(Debug)]
pub(super) struct Noted<'c> {
    keys: Acquaintances<'c>,
    party: PartyId,
    contacts: &'c Contacts,
}

impl Recorder {
    fn new(seed: u64) -> Self {
        let (streams, parts) = (BTreeMap::new(), BTreeMap::new());
        Self { seed, streams, contacts: Contacts::default(), parts }
    }

    pub(super) fn rewind(&mut self) {
        *self = Self::new(self.seed);
    }

    /// Returns what a party draws from, and the keys that it knows.
    pub(super) fn resources<'c>(
        &'c mut self,
        party: PartyId,
        keys: Acquaintances<'c>,
    ) -> (&'c mut ChaCha20Rng, Noted<'c>) {
        let Self { seed, streams, contacts, .. } = self;
        let stream = streams.entry(party).or_insert_with(|| randomness(*seed, party));
        (stream, Noted { keys, party, contacts })
    }

    /// Writes down an input of a member. `sender` is the sender of a message.
    pub(super) fn act(
        &mut self,
        party: PartyId,
        act: impl FnOnce() -> ReplayInput<Rc<[u8]>>,
        sender: Option<PartyId>,
    ) {
        if let PartyId::Member(member) = party {
            let part = self.parts.entry(member).or_default();
            part.acts.push(act());
            part.senders.extend(sender);
        }
    }

    pub(super) fn transcript(&mut self, party: PartyId) -> Option<&mut Transcript> {
        let PartyId::Member(member) = party else { return None };
        Some(&mut self.parts.entry(member).or_default().transcript)
    }

    pub(super) fn end(&mut self, label: Option<ActLabel>) {
        for part in self.parts.values_mut() {
            part.acts.push(ReplayInput::End);
            part.labels.push(label);
        }
    }
}

impl PeerKeys for Noted<'_> {
    fn secret(&self) -> Exponent {
        self.keys.secret()
    }

    fn public(&self, party: PartyId) -> Option<Element> {
        self.contacts.0.borrow_mut().entry(self.party).or_default().insert(party);
        self.keys.public(party)
    }
}
