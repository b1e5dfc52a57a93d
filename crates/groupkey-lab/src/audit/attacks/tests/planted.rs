//! A scheme with a parameter that says whether members check the nonce of an answer. Without the
//! check, an attack on members that catch up must break it, as long as the attack works.
//!
//! Each member has an individual key. At every change, and on request, it gets the group key under
//! its individual key.

use std::collections::BTreeMap;

use groupkey::Input;
use groupkey::author::CatchUpRequest;
use groupkey::catalogue::{Claims, Parameter, Parties, Provenance, Recovery, Scheme};
use groupkey::error::{Misbehaviour, Unsupported};
use groupkey::{
    Command, Context, Epoch, Error, Footprint, Key, MemberId, Operation, Party, Recipient,
};

/// The parameter that says whether members check the nonce.
pub(super) const LOOKS: Parameter = Parameter {
    name: "looks",
    meaning: "whether members look at the nonce of an answer",
    sound: 0,
    published: 0,
    range: (0, 1),
};

pub(super) static PLANTED: Scheme = Scheme::new(
    "planted",
    "a star whose members may take any answer",
    Provenance::Specified,
    "this test",
    Parties::Centralized {
        controller: |_| Box::new(Controller::default()),
        member: |configuration, _| {
            Box::new(Member { looks: configuration.value(&LOOKS) == 1, ..Member::default() })
        },
    },
)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_parameters(&[LOOKS])
.with_members((2, 100));

const INDIVIDUAL_KEY: u8 = 0;
const GROUP_KEY: u8 = 1;
const REQUEST: u8 = 2;

#[derive(Default)]
struct Controller {
    individual: BTreeMap<MemberId, Key>,
    members: Vec<MemberId>,
    epoch: Epoch,
    key: Key,
}

impl Controller {
    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) {
        for &member in members {
            let (to, key) = (Recipient::Member(member), cx.random_key());
            let mut draft =
                cx.confidential_draft(to, self.epoch, Operation::Enroll, INDIVIDUAL_KEY);
            draft.secret(&key).send();
            self.individual.insert(member, key);
        }
    }

    fn renew(&mut self, cx: &mut Context<'_>, operation: Operation) {
        self.epoch = self.epoch.next();
        self.key = cx.random_key();
        self.members.iter().for_each(|&member| self.send(cx, member, operation));
    }

    fn send(&self, cx: &mut Context<'_>, member: MemberId, operation: Operation) {
        cx.draft(Recipient::Member(member), self.epoch, operation, GROUP_KEY)
            .wrapped(&self.individual[&member], self.epoch, 0, [&self.key])
            .send();
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Enroll(members)) => self.enroll(cx, members),
            Input::Command(Command::Create(members)) => {
                self.members = members.to_vec();
                self.renew(cx, Operation::Create);
            }
            Input::Command(Command::Add(member)) => {
                self.members.push(member);
                self.renew(cx, Operation::Add);
            }
            Input::Command(Command::Remove(member)) => {
                self.members.retain(|&other| other != member);
                self.renew(cx, Operation::Remove);
            }
            Input::Command(_) => return Err(Unsupported::Operation.into()),
            Input::Message(message) => self.send(cx, message.from_member()?, Operation::CatchUp),
        }
        Ok(())
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        (self.epoch > Epoch(0)).then_some((self.epoch, &self.key))
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[derive(Default)]
struct Member {
    looks: bool,
    individual: Key,
    epoch: Epoch,
    key: Key,
    asked: CatchUpRequest,
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        let message = match input {
            Input::Command(Command::CatchUp) => {
                self.asked.request(cx, Recipient::Controller, self.epoch, REQUEST).send();
                return Ok(());
            }
            Input::Command(_) => return Err(Unsupported::Operation.into()),
            Input::Message(message) => message,
        };
        let (epoch, mut body) = (message.header().epoch, message.body());
        let bytes = body.bytes()?;
        if message.header().kind == INDIVIDUAL_KEY {
            let key = bytes.try_into().map_err(|_| Misbehaviour::Malformed)?;
            self.individual = Key::from_bytes(key);
            return Ok(());
        }
        message.require_later_epoch(self.epoch)?;
        if self.looks {
            self.asked.require_fresh(&message)?;
        }
        self.key = cx.unwrap_key(&self.individual, epoch, 0, bytes)?;
        self.epoch = epoch;
        self.asked.settle(cx);
        Ok(())
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        (self.epoch > Epoch(0)).then_some((self.epoch, &self.key))
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}
