//! What attacks use: a small group in a rig, histories that fit a scheme, and two lives that differ
//! in one member's choices.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use groupkey::author::{Header, Reader};
use groupkey::catalogue::{Class, Configuration, Law, Recovery, Scheme};
use groupkey::{Command, Instance, Key, MemberId, Operation, PartyId, Suite};
use groupkey_testkit::rig::{
    Fate, Forger, Guard, OperationReport, Rig, RigError, Settings, Transit,
};

use super::attack::AttackTarget;

/// An event in the life of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptEvent {
    /// This member joins.
    Add(u32),
    /// The members with numbers below this one make a group.
    Create(u32),
    /// A period ends.
    Rekey,
    /// This member is evicted.
    Remove(u32),
    /// This member begins a message, if messages have keys and the group has none.
    Send(u32),
}

/// A message on its way to one receiver, as an adversary keeps it.
#[derive(Clone, Debug)]
pub(super) struct InterceptedMessage {
    pub(super) header: Header,
    pub(super) to: PartyId,
    pub(super) body: Vec<u8>,
    pub(super) bytes: Vec<u8>,
    pub(super) what: String,
}

/// The messages that an adversary on the wire has kept.
#[derive(Clone, Default)]
pub(super) struct Notebook(Rc<RefCell<Vec<InterceptedMessage>>>);

/// Returns a group to try an attack on. Parameters that only make the group large are small: two
/// subgroups, a capacity of 64, short chains.
pub(super) fn rig(configuration: &AttackTarget<'_>, guard: Guard, suite: Suite, seed: u64) -> Rig {
    const SMALL: [(&str, u32); 4] =
        [("capacity", 64), ("depth", 4), ("sessions", 64), ("subgroups", 2)];
    let mut small = Configuration::clone(configuration);
    for (name, value) in SMALL {
        // Not every scheme has this parameter, or takes a value as small.
        let _ = small.set(name, value);
    }
    let parameters = configuration.scheme().parameters.iter();
    let settings = Settings {
        profile: configuration.profile(),
        parameters: parameters.map(|parameter| (parameter.name, small.value(parameter))).collect(),
        suite,
        protection: configuration.protection(guard),
        instance: Instance::default(),
        seed,
        // The network draws no random values: the same choices make the same run.
        latency: 0,
        hostile: false,
    };
    Rig::new(configuration.scheme(), settings)
}

/// Returns how the scheme's messages are protected by default.
pub(super) fn guard(configuration: &Configuration) -> Guard {
    configuration.scheme().default_protection(configuration.profile())
}

/// Returns a history that fits a scheme. Four members make the group, then members join and leave
/// as far as the scheme has these operations.
pub(super) fn history(scheme: &Scheme) -> Vec<ScriptEvent> {
    let has = |operation| scheme.operations.contains(&operation);
    let mut events = vec![ScriptEvent::Create(4)];
    if has(Operation::Add) && has(Operation::Remove) {
        events.extend([
            ScriptEvent::Add(4),
            ScriptEvent::Remove(1),
            ScriptEvent::Add(5),
            ScriptEvent::Remove(2),
        ]);
    } else if has(Operation::Rekey) {
        events.extend([ScriptEvent::Rekey; 3]);
    }
    if scheme.law == Law::OneMessage {
        events = events.into_iter().flat_map(|event| [event, ScriptEvent::Send(0)]).collect();
    }
    events
}

/// Whether members are added to the scheme's groups and evicted from them.
pub(super) fn is_dynamic(scheme: &Scheme) -> bool {
    [Operation::Add, Operation::Remove].iter().all(|needed| scheme.operations.contains(needed))
}

/// Whether the members make the key among themselves.
pub(super) fn is_distributed(scheme: &Scheme) -> bool {
    scheme.class() == Class::Distributed
}

/// Whether a member asks for messages that it missed.
pub(super) fn answers_requests(scheme: &Scheme) -> bool {
    scheme.recovery != Recovery::Rejoin && scheme.law == Law::OneKey
}

/// Plays an event.
pub(super) fn play(rig: &mut Rig, event: ScriptEvent) -> Result<OperationReport, RigError> {
    match event {
        ScriptEvent::Add(member) => rig.add(member),
        ScriptEvent::Create(count) => rig.create(count),
        ScriptEvent::Rekey => rig.rekey(),
        ScriptEvent::Remove(member) => rig.remove(member),
        ScriptEvent::Send(member) => rig.send(member),
    }
}

pub(super) fn deafen(rig: &mut Rig, victim: PartyId) {
    rig.intercept(move |transit| match transit.to == victim {
        true => Fate::Lost,
        false => Fate::Arrives,
    });
}

/// Returns the key that a party holds, of the group or of the last message, and the number of its
/// epoch.
pub(super) fn held(rig: &Rig, party: PartyId) -> Option<(u64, Key)> {
    rig.key_of(party).map(|(epoch, key)| (epoch.0, key.clone()))
}

/// Returns the ranges of the byte strings in a body.
pub(super) fn byte_strings(body: &[u8]) -> Vec<Range<usize>> {
    let mut reader = Reader::new(body);
    let mut found = Vec::new();
    while reader.clone().finish().is_err() {
        let mut ahead = reader.clone();
        if let Ok(bytes) = ahead.bytes() {
            let start = bytes.as_ptr() as usize - body.as_ptr() as usize;
            found.push(start..start + bytes.len());
        } else {
            ahead = reader.clone();
            if ahead.number().is_err() {
                ahead = reader.clone();
                if ahead.array().is_err() {
                    return found;
                }
            }
        }
        reader = ahead;
    }
    found
}

impl Notebook {
    /// Records a message.
    pub(super) fn keep(&self, transit: &Transit<'_>) {
        self.0.borrow_mut().push(InterceptedMessage {
            header: transit.header,
            to: transit.to,
            body: transit.body.to_vec(),
            bytes: transit.bytes.to_vec(),
            what: transit.to_string(),
        });
    }

    /// Records every message of a rig, and lets it pass.
    pub(super) fn listen(&self, rig: &mut Rig) {
        let notes = self.clone();
        rig.intercept(move |transit| {
            notes.keep(transit);
            Fate::Arrives
        });
    }

    /// Returns the recorded messages, in order.
    pub(super) fn all(&self) -> Vec<InterceptedMessage> {
        self.0.borrow().clone()
    }

    /// Returns the messages recorded since the last call.
    pub(super) fn take(&self) -> Vec<InterceptedMessage> {
        self.0.take()
    }
}

impl InterceptedMessage {
    pub(super) fn forged(&self, forger: &mut Forger, speaker: PartyId) -> Vec<u8> {
        forger.forge(speaker, &self.header, &self.body)
    }
}

/// An event of a distributed group, in which one member makes its own choices.
///
/// The group is created. The event is then given to all members concerned, one by one, as view
/// synchrony has it. Messages go when [`Rig::settle`] is called.
pub(super) struct ChosenEvent {
    pub(super) rig: Rig,
    pub(super) event: ScriptEvent,
    /// The members after the event.
    pub(super) members: Vec<u32>,
    /// The member that makes its own choices.
    pub(super) chooser: u32,
    /// The epoch that the event leads to.
    pub(super) epoch: u64,
}

impl ChosenEvent {
    /// Returns the events in which a member may choose, with each member that may.
    pub(super) fn all(scheme: &Scheme) -> Vec<(ScriptEvent, u32)> {
        let mut all: Vec<_> = (0..4).map(|chooser| (ScriptEvent::Create(4), chooser)).collect();
        if is_dynamic(scheme) {
            all.extend((0..5).map(|chooser| (ScriptEvent::Add(4), chooser)));
            all.extend([0, 2, 3].map(|chooser| (ScriptEvent::Remove(1), chooser)));
        }
        all
    }

    /// Returns a group before the event. The chooser's choices follow from `choice`, all others
    /// from `seed`.
    pub(super) fn new(
        configuration: &AttackTarget<'_>,
        (event, chooser): (ScriptEvent, u32),
        seed: u64,
        choice: u64,
    ) -> Result<Self, RigError> {
        let mut rig =
            rig(configuration, guard(configuration), configuration.suite_or(Suite::Standard), seed);
        let mut members: Vec<u32> = (0..4).collect();
        let mut epoch = 1;
        match event {
            ScriptEvent::Create(_) => rig.bring(&members)?,
            ScriptEvent::Add(newcomer) => {
                rig.create(4)?;
                rig.bring(&[newcomer])?;
                members.push(newcomer);
                epoch = 2;
            }
            ScriptEvent::Remove(leaver) => {
                rig.create(4)?;
                members.retain(|&member| member != leaver);
                epoch = 2;
            }
            ScriptEvent::Rekey | ScriptEvent::Send(_) => {}
        }
        rig.draw_from(party(chooser), choice);
        Ok(Self { rig, event, members, chooser, epoch })
    }

    /// Gives the event to all members concerned, and settles the rig.
    pub(super) fn run(&mut self) -> Result<OperationReport, RigError> {
        let ids: Vec<_> = self.members.iter().copied().map(MemberId).collect();
        for &member in &ids {
            let command = match self.event {
                ScriptEvent::Add(newcomer) => Command::Add(MemberId(newcomer)),
                ScriptEvent::Remove(leaver) => Command::Remove(MemberId(leaver)),
                _ => Command::Create(&ids),
            };
            self.rig.command_to(member.into(), command).map_err(RigError::Command)?;
        }
        self.rig.settle()
    }

    /// Returns the key to which the event led, if the member has it.
    pub(super) fn key_at(&self, member: u32) -> Option<Key> {
        held(&self.rig, party(member)).filter(|(epoch, _)| *epoch == self.epoch).map(|(_, key)| key)
    }

    /// Returns the members other than the chooser.
    pub(super) fn honest(&self) -> Vec<u32> {
        self.members.iter().copied().filter(|&member| member != self.chooser).collect()
    }

    /// Returns what has happened, for a finding.
    pub(super) fn told(event: ScriptEvent) -> Vec<String> {
        let created = ScriptEvent::Create(4);
        match event {
            ScriptEvent::Create(_) => vec![created.to_string()],
            _ => vec![created.to_string(), event.to_string()],
        }
    }
}

pub(super) fn party(member: u32) -> PartyId {
    MemberId(member).into()
}

impl fmt::Display for ScriptEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(member) => write!(f, "add member {member}"),
            Self::Create(count) => write!(f, "create a group of members 0 to {}", count - 1),
            Self::Rekey => f.write_str("a period ends"),
            Self::Remove(member) => write!(f, "remove member {member}"),
            Self::Send(member) => write!(f, "member {member} sends a message"),
        }
    }
}
