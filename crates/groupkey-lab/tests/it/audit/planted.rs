//! A scheme written for the audit, outside the catalogue, with faults of the usual kinds on request.
//!
//! Members sit in pairs. Each has an individual key, both of a pair have the pair's key, and all
//! have the group's. At every change the controller sends each member both keys anew, wrapped under
//! its individual key; what a fault does otherwise stands beside it.

use std::collections::BTreeMap;

use groupkey::Input;
use groupkey::catalogue::{Claims, Parameter, Parties, Profile, Provenance, Scheme};
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{
    Command, Context, Epoch, Error, Footprint, Key, MemberId, Operation, Party, Recipient,
};
use groupkey_lab::audit::AuditedScheme;

/// What is wrong with the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// When a member leaves, the next group key is derived from the present one.
    OldKeyReused,
    /// When a member leaves, the new key is wrapped under the old one, which the leaving member
    /// has.
    WrappedUnderKnownKey,
    /// When a member leaves, its pair's key stays, and the new key is wrapped under that.
    SiblingNotRefreshed,
}

pub(crate) const FAULTS: [Fault; 3] =
    [Fault::OldKeyReused, Fault::WrappedUnderKnownKey, Fault::SiblingNotRefreshed];

pub(crate) fn subject(fault: Fault) -> AuditedScheme {
    let mut subject = AuditedScheme::new(&PLANTED, Profile::Sound);
    subject.parameters.push((FAULT.name, fault as u32));
    subject
}

const FAULT: Parameter =
    Parameter { name: "fault", meaning: "what is wrong", sound: 0, published: 0, range: (0, 3) };

pub(crate) static PLANTED: Scheme = Scheme::new(
    "planted",
    "a star of pairs, with a fault",
    Provenance::Specified,
    "this test",
    Parties::Centralized {
        controller: |configuration| {
            let fault = match configuration.value(&FAULT) {
                1 => Fault::OldKeyReused,
                2 => Fault::WrappedUnderKnownKey,
                3 => Fault::SiblingNotRefreshed,
                _ => Fault::None,
            };
            Box::new(Controller { fault, ..Controller::default() })
        },
        member: |_, id| Box::new(Member::new(id)),
    },
)
.with_claims(Claims::ALL)
.with_parameters(&[FAULT])
.with_members((2, 100));

/// Message kinds: an individual key; pair and group key for one; what follows from the present key;
/// a key under the present one; a key under the pair's.
const ENROLMENT: u8 = 0;
const KEYS: u8 = 1;
const NEXT: u8 = 2;
const UNDER_GROUP: u8 = 3;
const UNDER_PAIR: u8 = 4;

struct Controller {
    fault: Fault,
    individual: BTreeMap<MemberId, Key>,
    pairs: BTreeMap<u32, Key>,
    members: Vec<MemberId>,
    epoch: Epoch,
    key: Option<Key>,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            fault: Fault::None,
            individual: BTreeMap::new(),
            pairs: BTreeMap::new(),
            members: Vec::new(),
            epoch: Epoch(0),
            key: None,
        }
    }
}

impl Controller {
    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) {
        for &member in members {
            let key = cx.random_key();
            let to = Recipient::Member(member);
            cx.confidential_draft(to, self.epoch, Operation::Enroll, ENROLMENT).secret(&key).send();
            self.individual.insert(member, key);
        }
    }

    /// New keys for everybody.
    fn renew(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let key = cx.random_key();
        self.pairs.clear();
        for &member in &self.members {
            let pair = self.pairs.entry(member.0 / 2).or_insert_with(|| cx.random_key());
            cx.draft(Recipient::Member(member), self.epoch, operation, KEYS)
                .wrapped(&self.individual[&member], self.epoch, 0, [&*pair, &key])
                .send();
        }
        self.key = Some(key);
    }

    /// New keys after a member left, with the fault.
    fn after_leave(&mut self, cx: &mut Context<'_>) {
        let (epoch, to) = (self.epoch, Recipient::Group);
        let Some(old) = self.key.clone() else { return };
        let key = match self.fault {
            Fault::None => return self.renew(cx, Operation::Remove),
            Fault::OldKeyReused => cx.hash(&old, "planted next"),
            Fault::WrappedUnderKnownKey | Fault::SiblingNotRefreshed => cx.random_key(),
        };
        match self.fault {
            Fault::OldKeyReused => cx.draft(to, epoch, Operation::Remove, NEXT).send(),
            Fault::SiblingNotRefreshed => {
                for &member in &self.members {
                    let pair = member.0 / 2;
                    cx.draft(Recipient::Member(member), epoch, Operation::Remove, UNDER_PAIR)
                        .wrapped(&self.pairs[&pair], epoch, u64::from(pair), [&key])
                        .send();
                }
            }
            _ => cx
                .draft(to, epoch, Operation::Remove, UNDER_GROUP)
                .wrapped(&old, epoch, 0, [&key])
                .send(),
        }
        self.key = Some(key);
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        let Input::Command(command) = input else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        match command {
            Command::Enroll(members) => {
                self.enroll(cx, members);
                return Ok(());
            }
            Command::Create(members) => self.members = members.to_vec(),
            Command::Add(member) => self.members.push(member),
            Command::Remove(member) if self.members.len() > 2 => {
                self.members.retain(|&other| other != member);
                self.epoch = self.epoch.next();
                self.after_leave(cx);
                return Ok(());
            }
            Command::Remove(_) => return Err(Misuse::TooFewMembers.into()),
            _ => return Err(Unsupported::Operation.into()),
        }
        self.epoch = self.epoch.next();
        self.renew(cx, Operation::Add);
        Ok(())
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

struct Member {
    id: MemberId,
    individual: Key,
    pair: Key,
    group: Option<(Epoch, Key)>,
}

impl Member {
    fn new(id: MemberId) -> Self {
        Self { id, individual: Key::default(), pair: Key::default(), group: None }
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        let Input::Message(message) = input else { return Err(Unsupported::Operation.into()) };
        let (kind, epoch) = (message.header().kind, message.header().epoch);
        let mut body = message.body();
        if kind == ENROLMENT {
            let bytes = body.bytes()?.try_into().map_err(|_| Misbehaviour::Malformed)?;
            self.individual = Key::from_bytes(bytes);
            return Ok(());
        }
        if kind == KEYS {
            let mut keys = [Key::default(), Key::default()];
            cx.unwrap_keys(&self.individual, epoch, 0, body.bytes()?, &mut keys)?;
            let [pair, group] = keys;
            self.pair = pair;
            self.group = Some((epoch, group));
            return Ok(());
        }
        let (_, old) = self.group.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let key = match kind {
            NEXT => cx.hash(old, "planted next"),
            UNDER_GROUP => cx.unwrap_key(old, epoch, 0, body.bytes()?)?,
            _ => cx.unwrap_key(&self.pair, epoch, u64::from(self.id.0 / 2), body.bytes()?)?,
        };
        self.group = Some((epoch, key));
        Ok(())
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group.as_ref().map(|(epoch, key)| (*epoch, key))
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}
