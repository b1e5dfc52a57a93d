//! A scheme of your own, in a crate of its own: everything that it takes to have it measured,
//! simulated and attacked beside the catalogue's.
//!
//! The scheme is `list`: whatever changes, the controller draws a new group key and broadcasts one
//! list that holds it once for every member, wrapped under the member's individual key. It is SKDC
//! with one message in place of n.
//!
//! Class: centralized. Provenance: specified, for it was made up here.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | 1 broadcast of n wrapped keys | n wraps | 1 unwrap |
//! | add, to n members | 1 broadcast of n + 1 wrapped keys | n + 1 wraps | 1 unwrap |
//! | remove, from n members | 1 broadcast of n - 1 wrapped keys | n - 1 wraps | 1 unwrap |
//!
//! Keys held: controller n + 1, member 2. Profiles: `sound` and `published` are the same. A member that
//! missed a change must leave and join again.
//!
//! Body of an enrolment: `individual key` (confidential). Body of a rekey message:
//! `[+ (member, {group key}_individual)]`, in the order of the members' ids.

use std::collections::BTreeMap;

use groupkey::author::{Message, Reader};
use groupkey::catalogue::{Claims, Parties, Provenance, Scheme};
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{
    Command, Context, Epoch, Error, Event, Footprint, Input, Key, MemberId, Operation, Party,
    Recipient,
};

/// What tables, tests and the command know of the scheme.
pub static SCHEME: Scheme = Scheme::new(
    "list",
    "one broadcast list of wrapped keys",
    Provenance::Specified,
    "an example of this project",
    Parties::Centralized {
        controller: |_| Box::new(Controller::default()),
        member: |_, id| Box::new(Member::new(id)),
    },
)
.with_claims(Claims::ALL)
.with_members((2, 65_536));

/// The controller.
#[derive(Debug, Default)]
pub struct Controller {
    enrolled: BTreeMap<MemberId, Key>,
    current: BTreeMap<MemberId, Key>,
    epoch: Epoch,
    group_key: Option<Key>,
}

/// A member.
#[derive(Debug)]
pub struct Member {
    id: MemberId,
    individual_key: Option<Key>,
    epoch: Epoch,
    group_key: Option<Key>,
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Enroll(members)) => self.enroll(cx, members),
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Command(_) => Err(Unsupported::Operation.into()),
            Input::Message(_) => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let keys = self.enrolled.len() + self.current.len() + usize::from(self.group_key.is_some());
        Footprint { permanent: keys * Key::BYTES, temporary: 0 }
    }
}

// Each of these may fail until it changes the first thing, and not after: on an error nothing has
// changed.
impl Controller {
    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        for (index, &member) in members.iter().enumerate() {
            let known = self.enrolled.contains_key(&member) || self.current.contains_key(&member);
            if known || members[..index].contains(&member) {
                return Err(Misuse::AlreadyEnrolled(member).into());
            }
        }
        for &member in members {
            let key = cx.random_key();
            cx.confidential_draft(
                Recipient::Member(member),
                self.epoch,
                Operation::Enroll,
                ENROLMENT,
            )
            .secret(&key)
            .send();
            self.enrolled.insert(member, key);
        }
        Ok(())
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        if self.group_key.is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        if members.len() < 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        let mut current = BTreeMap::new();
        for &member in members {
            let key = self.enrolled.get(&member).ok_or(Misuse::NotEnrolled(member))?;
            if current.insert(member, key.clone()).is_some() {
                return Err(Misuse::AlreadyMember(member).into());
            }
        }
        self.enrolled.retain(|member, _| !current.contains_key(member));
        self.current = current;
        self.rekey(cx, Operation::Create);
        Ok(())
    }

    fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        if self.group_key.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        if self.current.contains_key(&member) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if self.current.len() == SCHEME.members.1 as usize {
            return Err(Unsupported::TooManyMembers { limit: SCHEME.members.1 }.into());
        }
        let key = self.enrolled.remove(&member).ok_or(Misuse::NotEnrolled(member))?;
        self.current.insert(member, key);
        self.rekey(cx, Operation::Add);
        Ok(())
    }

    fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        if self.group_key.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        if !self.current.contains_key(&member) {
            return Err(Misuse::NotMember(member).into());
        }
        if self.current.len() == 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.current.remove(&member);
        self.rekey(cx, Operation::Remove);
        Ok(())
    }

    fn rekey(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let group_key = cx.random_key();
        self.epoch = self.epoch.next();
        let mut draft = cx.draft(Recipient::Group, self.epoch, operation, REKEY);
        draft.array(2 * self.current.len());
        for (member, individual_key) in &self.current {
            draft.number(u64::from(member.0));
            draft.wrapped(individual_key, self.epoch, GROUP_KEY, [&group_key]);
        }
        draft.send();
        self.group_key = Some(group_key);
        cx.event(Event::Rekeyed(self.epoch));
    }
}

impl Member {
    /// A member that waits for its individual key.
    pub fn new(id: MemberId) -> Self {
        Self { id, individual_key: None, epoch: Epoch::default(), group_key: None }
    }

    fn take_individual_key(&mut self, message: &Message<'_>) -> Result<(), Error> {
        if self.individual_key.is_some() || message.header().kind != ENROLMENT {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let key = body.bytes()?.try_into().map_err(|_| Misbehaviour::Malformed)?;
        body.finish()?;
        self.individual_key = Some(Key::from_bytes(key));
        Ok(())
    }

    fn take_group_key(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let known = [Operation::Create, Operation::Add, Operation::Remove];
        if !known.contains(&header.operation) || header.kind != REKEY {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        match self.group_key {
            Some(_) => message.require_next_epoch(self.epoch)?,
            None => message.require_later_epoch(self.epoch)?,
        }
        let individual_key = self.individual_key.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let wrapped = entry(message.body(), self.id)?;
        self.group_key = Some(cx.unwrap_key(individual_key, header.epoch, GROUP_KEY, wrapped)?);
        self.epoch = header.epoch;
        cx.event(Event::Rekeyed(self.epoch));
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::CatchUp) => Err(Unsupported::Operation.into()),
            Input::Command(_) => Err(Misuse::WrongRole.into()),
            Input::Message(message) => {
                message.from_controller()?;
                match message.header().operation {
                    Operation::Enroll => self.take_individual_key(&message),
                    _ => self.take_group_key(cx, &message),
                }
            }
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let keys = [&self.individual_key, &self.group_key].into_iter().flatten().count();
        Footprint { permanent: keys * Key::BYTES, temporary: 0 }
    }
}

/// Finds a member's wrapped key. The list is read to its end, whoever's place is where.
fn entry(mut body: Reader<'_>, member: MemberId) -> Result<&[u8], Error> {
    let items = body.array()?;
    let mut found = None;
    let mut last = None;
    for _ in 0..items / 2 {
        let listed = body.number32()?;
        let wrapped = body.bytes()?;
        if last.is_some_and(|last| last >= listed) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        last = Some(listed);
        if listed == member.0 {
            found = Some(wrapped);
        }
    }
    if items % 2 != 0 {
        return Err(Misbehaviour::Malformed.into());
    }
    body.finish()?;
    found.ok_or_else(|| Misbehaviour::NothingForUs.into())
}

/// The kind of message that brings an individual key.
const ENROLMENT: u8 = 0;
/// The kind of message that brings a group key.
const REKEY: u8 = 0;
/// What is wrapped under an individual key.
const GROUP_KEY: u64 = 0;
