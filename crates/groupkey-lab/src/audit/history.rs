//! The history of a group: a creation and the events after it, and their run.

use std::fmt;

use groupkey::catalogue::{Law, Recovery, Scheme};
use groupkey::{Epoch, MemberId, Operation, PartyId, SubgroupId, Suite};
use groupkey_testkit::rig::{Guard, Rig, Settings, ValueId};

use super::audited_scheme::AuditedScheme;

/// An event in the life of a group after its creation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupEvent {
    /// A member joins.
    Add(u32),
    /// A member is evicted.
    Remove(u32),
    /// Some members join and others leave, in one change.
    Batch(Vec<u32>, Vec<u32>),
    /// A new period begins.
    Rekey,
    /// A new period begins. A member should be out by then, but the scheme is not told.
    Expire(u32),
    /// The parts of the group merge.
    Merge,
    /// These members split off and go on by themselves.
    Partition(Vec<u32>),
    /// A member sleeps through the next event, and catches up after it.
    Sleep(u32),
}

/// A group and its events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct History {
    /// The events, in order.
    pub events: Vec<GroupEvent>,
    /// The members with which the group is created.
    pub members: Vec<u32>,
    /// The promises of periods, if membership is planned: the member, the first and the last
    /// period.
    pub grants: Vec<(u32, u64, u64)>,
    /// Parameters that differ from the subject's.
    pub parameters: Vec<(&'static str, u32)>,
}

/// A history that was run, with everything that can be known of it.
#[derive(Debug)]
pub(super) struct ExecutedHistory {
    pub(super) rig: Rig,
    pub(super) keys: Vec<GroupKey>,
    /// The members' times in the group.
    pub(super) stays: Vec<Stay>,
    /// Subgroup controllers, and whether they had members, event by event.
    pub(super) stations: Vec<AuditedController>,
    /// The number of the event after the last.
    pub(super) end: u32,
}

#[derive(Clone, Debug)]
pub(super) struct GroupKey {
    pub(super) value: ValueId,
    /// The group's own number of the key.
    pub(super) epoch: Epoch,
    /// The event in which the key came into use.
    pub(super) event: u32,
    /// The stays that may have the key, as bits by number.
    pub(super) entitled: u64,
}

/// A member's time in the group, from the event in which it joined to the event in which it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) member: u32,
    pub(super) from: u32,
    pub(super) until: u32,
    /// Whether the stay ended with a new period and without an eviction.
    pub(super) expired: bool,
}

/// A subgroup controller. Bit i of `served` is set if it had members at the end of event i.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditedController {
    pub(super) id: SubgroupId,
    pub(super) served: u64,
}

/// Histories with more members and events than this are refused: sets of stays and events are bits
/// of a word.
const MOST: usize = 60;

impl History {
    /// Returns a history of a group of this many members, without events.
    pub fn of(members: u32) -> Self {
        let members = (0..members).collect();
        Self { events: Vec::new(), members, grants: Vec::new(), parameters: Vec::new() }
    }

    /// Returns the history in words, one event each.
    pub fn described(&self) -> Vec<String> {
        let grants = self.grants.iter().map(|(member, first, last)| {
            format!("member {member} is promised the keys of periods {first} to {last}")
        });
        let with = self.parameters.iter().map(|(name, value)| format!(", with {name} {value}"));
        let with = with.collect::<String>();
        let create = format!("create the group of members {}{with}", list(&self.members));
        let steps = std::iter::once(create)
            .chain(grants)
            .chain(self.events.iter().map(ToString::to_string));
        steps.enumerate().map(|(number, step)| format!("{number}: {step}")).collect()
    }

    /// Runs the history. Returns `None` if the scheme refuses a step, or if the history makes no
    /// sense.
    pub(super) fn run(&self, subject: &AuditedScheme, seed: u64) -> Option<ExecutedHistory> {
        if self.members.len() + self.events.len() > MOST {
            return None;
        }
        let settings = Settings {
            profile: subject.profile,
            parameters: subject.parameters.iter().chain(&self.parameters).copied().collect(),
            suite: subject.suite.unwrap_or(Suite::Standard),
            protection: Guard::None,
            seed,
            latency: 0,
            ..Settings::default()
        };
        let mut run = ExecutedHistory {
            rig: subject.rig(settings).traced(),
            keys: Vec::new(),
            stays: Vec::new(),
            stations: Vec::new(),
            end: 0,
        };
        let subgroups = subject.subgroups();
        let station = |id| AuditedController { id: SubgroupId(id), served: 0 };
        run.stations = (0..subgroups).map(station).collect();
        run.play(subject, self)?;
        Some(run)
    }
}

impl ExecutedHistory {
    fn play(&mut self, subject: &AuditedScheme, history: &History) -> Option<()> {
        let scheme = subject.scheme();
        let mut asleep = None;
        self.rig.create_of(&history.members).ok()?;
        for &member in &history.members {
            self.arrive(member);
        }
        if scheme.law == Law::PlannedPeriods {
            let promised = subject.parameter("planned").filter(|&periods| periods > 0);
            self.stays.iter_mut().for_each(|stay| stay.until = promised.unwrap_or(u32::MAX));
        }
        for &(member, first, last) in &history.grants {
            // Epoch 1 is period 0.
            self.rig.grant(member, first + 1, last + 1).ok()?;
            self.stays.push(Stay {
                member,
                from: first as u32,
                until: last as u32 + 1,
                expired: false,
            });
        }
        self.note_key(scheme)?;
        for event in &history.events {
            self.end += 1;
            let number = self.end;
            self.rig.trace()?.set_event(number);
            match event {
                GroupEvent::Sleep(member) => {
                    if scheme.recovery == Recovery::Rejoin
                        || asleep.is_some()
                        || !self.is_member(*member)
                    {
                        return None;
                    }
                    self.rig.sleep(*member);
                    asleep = Some(*member);
                    continue;
                }
                event => self.act(scheme, event)?,
            }
            self.note_key(scheme)?;
            if let Some(sleeper) = asleep.take()
                && self.is_member(sleeper)
            {
                // It may fail: perhaps nothing happened that the member could catch up with.
                let _ = self.rig.catch_up(sleeper);
            }
        }
        self.end += 1;
        Some(())
    }

    fn act(&mut self, scheme: &Scheme, event: &GroupEvent) -> Option<()> {
        let may = |operation| scheme.operations.contains(&operation).then_some(());
        match event {
            GroupEvent::Add(member) => {
                may(Operation::Add)?;
                (!self.is_member(*member)).then_some(())?;
                self.rig.add(*member).ok()?;
                self.arrive(*member);
            }
            GroupEvent::Remove(member) => {
                may(Operation::Remove)?;
                self.is_member(*member).then_some(())?;
                self.rig.remove(*member).ok()?;
                self.depart(*member);
            }
            GroupEvent::Batch(joining, leaving) => {
                may(Operation::Batch)?;
                let fits = leaving.iter().all(|&member| self.is_member(member))
                    && !joining.iter().any(|&member| self.is_member(member));
                fits.then_some(())?;
                self.rig.batch(joining, leaving).ok()?;
                leaving.iter().for_each(|&member| self.depart(member));
                joining.iter().for_each(|&member| self.arrive(member));
            }
            GroupEvent::Rekey => {
                may(Operation::Rekey)?;
                self.rig.rekey().ok()?;
            }
            GroupEvent::Expire(member) => {
                may(Operation::Rekey)?;
                self.is_member(*member).then_some(())?;
                self.rig.rekey().ok()?;
                let end = self.end;
                let stays = self.stays.iter_mut();
                stays.filter(|s| s.member == *member && s.until == u32::MAX).for_each(|stay| {
                    (stay.until, stay.expired) = (end, true);
                });
            }
            GroupEvent::Merge => {
                may(Operation::Merge)?;
                self.rig.merge().ok()?;
            }
            GroupEvent::Partition(apart) => {
                may(Operation::Partition)?;
                apart.iter().all(|&member| self.is_member(member)).then_some(())?;
                self.rig.partition(apart).ok()?;
                self.rig.change_sides();
                self.note_key(scheme)?;
                self.rig.change_sides();
            }
            GroupEvent::Sleep(_) => {}
        }
        Some(())
    }

    fn is_member(&self, member: u32) -> bool {
        self.rig.members().any(|present| present == member)
    }

    fn arrive(&mut self, member: u32) {
        self.stays.push(Stay { member, from: self.end, until: u32::MAX, expired: false });
    }

    fn depart(&mut self, member: u32) {
        let end = self.end;
        let stay = self.stays.iter_mut().find(|s| s.member == member && s.until == u32::MAX);
        stay.into_iter().for_each(|stay| stay.until = end);
    }

    /// Notes the present key of the current part of the group, and the stays that may have it.
    fn note_key(&mut self, scheme: &Scheme) -> Option<()> {
        if scheme.law == Law::OneMessage {
            let sender = self.rig.members().next()?;
            self.rig.send(sender).ok()?;
        }
        let key = *self.rig.agreed_key().ok()?.as_bytes();
        let epoch = self.epoch();
        let members: Vec<u32> = self.rig.members().collect();
        let may_have = |stay: &Stay| match scheme.law {
            Law::PlannedPeriods => (stay.from..stay.until).contains(&self.end),
            _ => stay.until == u32::MAX && members.contains(&stay.member),
        };
        let entitled = bits(self.stays.iter().map(may_have));
        let event = self.end;
        let value = self.rig.trace()?.value(&key)?;
        match self.keys.iter_mut().find(|key| key.value == value) {
            Some(key) => key.entitled |= entitled,
            None => self.keys.push(GroupKey { value, epoch, event, entitled }),
        }
        let trace = self.rig.trace()?;
        for station in &mut self.stations {
            let serves = members.iter().any(|&member| {
                let to = Some(PartyId::from(MemberId(member)));
                let enrolments = trace.messages().iter().rev().filter(|message| message.to == to);
                let from = enrolments.map(|message| message.from);
                let mut stations = from.filter(|from| *from != PartyId::Controller);
                stations.next() == Some(station.id.into())
            });
            station.served |= u64::from(serves) << event;
        }
        Some(())
    }

    fn epoch(&self) -> Epoch {
        let member = self.rig.members().find_map(|member| self.rig.key_of(MemberId(member).into()));
        member.map_or_else(|| Epoch(u64::from(self.end) + 1), |(epoch, _)| epoch)
    }
}

impl fmt::Display for GroupEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(member) => write!(f, "add member {member}"),
            Self::Remove(member) => write!(f, "evict member {member}"),
            Self::Batch(joining, leaving) => match (&joining[..], &leaving[..]) {
                (joining, []) => write!(f, "add members {} at once", list(joining)),
                ([], leaving) => write!(f, "evict members {} at once", list(leaving)),
                (joining, leaving) => {
                    write!(f, "add members {} and evict {} at once", list(joining), list(leaving))
                }
            },
            Self::Rekey => write!(f, "begin a new period"),
            Self::Expire(member) => {
                write!(f, "begin a new period, by which member {member} should be out")
            }
            Self::Merge => write!(f, "bring the parts together"),
            Self::Partition(apart) => write!(f, "members {} go on by themselves", list(apart)),
            Self::Sleep(member) => {
                write!(f, "member {member} sleeps through the next event and catches up")
            }
        }
    }
}

fn list(members: &[u32]) -> String {
    let words: Vec<_> = members.iter().map(u32::to_string).collect();
    words.join(", ")
}

/// Returns the flags as bits of a word, the first flag lowest.
fn bits(flags: impl Iterator<Item = bool>) -> u64 {
    flags.enumerate().fold(0, |bits, (place, flag)| bits | u64::from(flag) << place)
}
