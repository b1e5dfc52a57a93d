//! The runs from which the requirements follow.

use std::collections::BTreeMap;

use groupkey::catalogue::{Law, Profile, Scheme};
use groupkey::{Channel, Key, MemberId, Operation, PartyId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, SentMessage, Settings};

use super::asked::{MEMBERS, SchemeRequirements, Use};
use crate::bench::{Phase, Reach, Role};

pub(super) fn requirements(
    scheme: &'static Scheme,
    profile: Profile,
) -> Result<SchemeRequirements, RigError> {
    let mut uses = BTreeMap::new();
    let mut join_changes_key = None;
    let mut leave_changes_key = None;
    for &operation in scheme.operations {
        let mut group = RunningGroup::new(scheme, profile, None);
        let created = group.rig.create(MEMBERS)?;
        if operation == Operation::Create {
            note(&mut uses, operation, &created, &[]);
            continue;
        }
        let before = group.key();
        let (report, joining) = group.run(operation)?;
        note(&mut uses, operation, &report, joining);
        let changed = before.is_some() && group.key() != before;
        match (scheme.law, operation) {
            (Law::OneKey, Operation::Add) => join_changes_key = Some(changed),
            (Law::OneKey, Operation::Remove) => {
                leave_changes_key = Some(changed && !group.rig.outsider_knows_key());
            }
            _ => {}
        }
    }
    Ok(SchemeRequirements {
        scheme: scheme.id,
        profile,
        suite: profile.default_suite(),
        uses: uses
            .into_iter()
            .map(|(way, (messages, longest))| way.used(messages, longest))
            .collect(),
        operations: scheme.operations.to_vec(),
        join_changes_key,
        leave_changes_key,
        member_bytes_per_member: growth(scheme, profile)?,
        members: scheme.members,
    })
}

struct RunningGroup {
    rig: Rig,
}

impl RunningGroup {
    fn new(
        scheme: &'static Scheme,
        profile: Profile,
        parameter: Option<(&'static str, u32)>,
    ) -> Self {
        let suite = profile.default_suite();
        let parameters = parameter.into_iter().collect();
        let settings = Settings { profile, suite, parameters, latency: 0, ..Settings::default() };
        Self { rig: Rig::new(scheme, settings) }
    }

    /// Runs an operation in a group of [`MEMBERS`]. Returns its report and the members that joined
    /// in it.
    fn run(&mut self, operation: Operation) -> Result<(OperationReport, &'static [u32]), RigError> {
        const MIDDLE: u32 = MEMBERS / 2;
        const NEXT: u32 = MEMBERS + 1;
        let rig = &mut self.rig;
        Ok(match operation {
            Operation::Add => (rig.add(MEMBERS)?, &[MEMBERS]),
            Operation::Batch => {
                (rig.batch(&[MEMBERS, NEXT], &[MIDDLE, MIDDLE + 1])?, &[MEMBERS, NEXT])
            }
            Operation::CatchUp => {
                rig.sleep(MIDDLE);
                rig.remove(0)?;
                (rig.catch_up(MIDDLE)?, &[])
            }
            Operation::Grant => (rig.grant(NEXT, 3, 4)?, &[]),
            Operation::Merge => {
                rig.partition(&[MIDDLE, MIDDLE + 1])?;
                (rig.merge()?, &[])
            }
            Operation::Partition => (rig.partition(&[MIDDLE, MIDDLE + 1])?, &[]),
            Operation::Rekey => (rig.rekey()?, &[]),
            Operation::Remove => (rig.remove(MIDDLE)?, &[]),
            Operation::Send => (rig.send(MIDDLE)?, &[]),
            // The creation was run. Enrolment and ordering are parts of other operations.
            Operation::Create | Operation::Enroll | Operation::Order => {
                (OperationReport::default(), &[])
            }
        })
    }

    fn key(&self) -> Option<Key> {
        self.rig.agreed_key().ok().cloned()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MessageRoute {
    operation: Operation,
    phase: Phase,
    from: Role,
    to: Role,
    reach: Reach,
}

impl MessageRoute {
    fn used(self, messages: usize, longest_body_bytes: usize) -> Use {
        let Self { operation, phase, from, to, reach } = self;
        Use { operation, phase, from, to, reach, messages, longest_body_bytes }
    }
}

/// Adds the messages that were sent: their number and the longest body for each way.
fn note(
    uses: &mut BTreeMap<MessageRoute, (usize, usize)>,
    operation: Operation,
    report: &OperationReport,
    joining: &[u32],
) {
    let member = |MemberId(member): MemberId| match joining.contains(&member) {
        true => Role::NewMember,
        false => Role::Member,
    };
    for SentMessage { from, to, channel, body_bytes, .. } in
        report.deployment.iter().chain(&report.messages)
    {
        let way = MessageRoute {
            operation,
            phase: Phase::of_channel(*channel),
            from: match *from {
                PartyId::Member(id) => member(id),
                party => Role::of_party(party),
            },
            to: match *to {
                Recipient::Controller => Role::Controller,
                Recipient::Group | Recipient::Subset(_) => Role::Member,
                Recipient::Member(id) if *channel == Channel::Open => member(id),
                Recipient::Member(_) => Role::Member,
                Recipient::SubgroupController(_) => Role::SubgroupController,
            },
            reach: Reach::of(*to),
        };
        let (messages, longest) = uses.entry(way).or_default();
        *messages += 1;
        *longest = (*longest).max(*body_bytes);
    }
}

/// Returns the additional bytes for each further member, at the member that holds most, if they are
/// in proportion to the group. Otherwise returns them for each further member that room is set
/// aside for.
fn growth(scheme: &'static Scheme, profile: Profile) -> Result<Option<f64>, RigError> {
    let by_members = in_proportion(FEW, |members| most_held(scheme, profile, members, None))?;
    let capacity = scheme.parameters.iter().find(|parameter| parameter.name == CAPACITY);
    match (by_members, capacity) {
        (None, Some(capacity)) => in_proportion(capacity.range.0, |room| {
            most_held(scheme, profile, FEW, Some((CAPACITY, room)))
        }),
        (by_members, _) => Ok(by_members),
    }
}

/// Returns the bytes for each further member if they grow in proportion. They do if the growth from
/// 4 to 16 times `few` is at least three times the growth from `few` to 4 times `few`. In
/// proportion it is four times. If it depends on the height of a tree, of any degree, it is at most
/// twice.
fn in_proportion(
    few: u32,
    held: impl Fn(u32) -> Result<usize, RigError>,
) -> Result<Option<f64>, RigError> {
    let (more, most) = (4 * few, 16 * few);
    let [held_few, held_more, held_most] = [held(few)?, held(more)?, held(most)?];
    let first = held_more.saturating_sub(held_few);
    let then = held_most.saturating_sub(held_more);
    let grows = first > 0 && then >= 3 * first;
    Ok(grows.then(|| then as f64 / f64::from(most - more)))
}

/// Returns the bytes of key material, permanent and temporary, of the member that holds most after
/// the creation.
fn most_held(
    scheme: &'static Scheme,
    profile: Profile,
    members: u32,
    parameter: Option<(&'static str, u32)>,
) -> Result<usize, RigError> {
    let mut group = RunningGroup::new(scheme, profile, parameter);
    group.rig.create(members)?;
    let held = |member| {
        let footprint = group.rig.party(MemberId(member).into()).footprint();
        footprint.permanent + footprint.temporary
    };
    Ok((0..members).map(held).max().unwrap_or(0))
}

/// Members of the smallest group whose members' key material is compared. The largest has 16 times
/// as many.
const FEW: u32 = 4;

/// The parameter that sets room for members aside.
const CAPACITY: &str = "capacity";
