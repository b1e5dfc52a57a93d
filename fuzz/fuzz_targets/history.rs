//! Random histories of a group, with tampered and replayed messages at every step, beside a
//! trivially correct model: a set of members. All current members agree, every key is new, and no
//! former member has it.

#![no_main]

use std::collections::{BTreeSet, HashSet};

use arbitrary::Arbitrary;
use groupkey::Operation;
use groupkey::catalogue::{Class, Law, Profile, SCHEMES};
use groupkey::error::{Error, Misuse};
use groupkey_testkit::rig::{Guard, Move, Rig, RigError, SUITES, Settings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| {
    let scheme = &SCHEMES[usize::from(input.scheme) % SCHEMES.len()];
    let served = scheme.class() != Class::Distributed;
    let [profile, protection, suite, degree, size] = input.choices;
    let parameters = scheme.parameters.iter().map(|parameter| {
        let (low, high) = parameter.range;
        (parameter.name, low + u32::from(degree) % (high - low + 1))
    });
    let settings = Settings {
        profile: Profile::ALL[usize::from(profile) % 2],
        parameters: parameters.collect(),
        suite: SUITES[usize::from(suite) % 3],
        protection: [Guard::Mac, Guard::Signature, Guard::Merkle][usize::from(protection) % 3],
        seed: input.seed,
        hostile: true,
        ..Settings::default()
    };
    let can = |operation| scheme.operations.contains(&operation);
    let size = 2 + u32::from(size) % if served { 40 } else { 6 };
    let mut history = History {
        rig: Rig::new(scheme, settings),
        members: (0..size).collect(),
        apart: BTreeSet::new(),
        asleep: BTreeSet::new(),
        next_id: size,
        keys: HashSet::new(),
        law: scheme.law,
    };
    history.rig.create(size).expect("create");
    history.check();
    for step in input.steps.into_iter().take(16) {
        match step.into() {
            Move::Add if can(Operation::Add) => history.add(),
            Move::Batch(joining, leaving, place) if can(Operation::Batch) => {
                history.batch(joining % 4, leaving % 4, place);
            }
            Move::Merge => history.merge(),
            Move::Partition(count, place) if can(Operation::Partition) => {
                history.partition(count, place);
            }
            Move::Rekey if can(Operation::Rekey) => history.rekey(),
            Move::Batch(..) | Move::Partition(..) | Move::Rekey => {}
            Move::Remove(place) if can(Operation::Remove) => history.remove(place),
            Move::Add | Move::Remove(_) => {}
            // Without a controller, a member that is asleep can hold up the group.
            Move::Sleep(place) if served => history.sleep(place),
            Move::Sleep(_) | Move::SleepSubgroup(_) => {}
            Move::Wake => history.wake(),
        }
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    scheme: u8,
    /// Profile, protection, suite, parameters, size.
    choices: [u8; 5],
    seed: u64,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Add,
    Batch(u8, u8, u16),
    Merge,
    Partition(u8, u16),
    Rekey,
    Remove(u16),
    Sleep(u16),
    Wake,
}

impl From<Step> for Move {
    fn from(step: Step) -> Self {
        match step {
            Step::Add => Self::Add,
            Step::Batch(joining, leaving, place) => Self::Batch(joining, leaving, place),
            Step::Merge => Self::Merge,
            Step::Partition(count, place) => Self::Partition(count, place),
            Step::Rekey => Self::Rekey,
            Step::Remove(place) => Self::Remove(place),
            Step::Sleep(place) => Self::Sleep(place),
            Step::Wake => Self::Wake,
        }
    }
}

struct History {
    rig: Rig,
    members: BTreeSet<u32>,
    /// The members that continue by themselves after a partition.
    apart: BTreeSet<u32>,
    asleep: BTreeSet<u32>,
    next_id: u32,
    keys: HashSet<[u8; 16]>,
    law: Law,
}

impl History {
    fn add(&mut self) {
        self.rig.add(self.next_id).expect("add");
        self.members.insert(self.next_id);
        self.next_id += 1;
        self.check();
    }

    fn remove(&mut self, place: u16) {
        if self.members.len() - self.asleep.len() <= 2 {
            return;
        }
        let leaver = self.at(place);
        self.rig.remove(leaver).expect("remove");
        self.members.remove(&leaver);
        self.asleep.remove(&leaver);
        self.check();
    }

    fn batch(&mut self, joining: u8, leaving: u8, place: u16) {
        let awake = self.members.len() - self.asleep.len();
        let leaving = usize::from(leaving).min(awake.saturating_sub(2));
        if usize::from(joining) + leaving == 0 {
            return;
        }
        let joining: Vec<_> = (self.next_id..).take(joining.into()).collect();
        self.next_id += joining.len() as u32;
        let start = usize::from(place) % self.members.len();
        let leaving: Vec<_> =
            self.members.iter().cycle().skip(start).take(leaving).copied().collect();
        self.rig.batch(&joining, &leaving).expect("batch");
        self.members.extend(&joining);
        for leaver in leaving {
            self.members.remove(&leaver);
            self.asleep.remove(&leaver);
        }
        self.check();
    }

    fn partition(&mut self, count: u8, place: u16) {
        let splittable = self.members.len().saturating_sub(3);
        if splittable == 0 || !self.apart.is_empty() {
            return;
        }
        let count = 2 + usize::from(count) % splittable;
        let start = usize::from(place) % self.members.len();
        let apart: Vec<_> = self.members.iter().cycle().skip(start).take(count).copied().collect();
        self.rig.partition(&apart).expect("partition");
        self.apart = apart.into_iter().collect();
        self.members = self.members.difference(&self.apart).copied().collect();
        for _ in 0..2 {
            self.check();
            self.rig.change_sides();
            std::mem::swap(&mut self.members, &mut self.apart);
        }
    }

    fn merge(&mut self) {
        if self.apart.is_empty() {
            return;
        }
        self.rig.merge().expect("merge");
        self.members.append(&mut self.apart);
        self.check();
    }

    fn rekey(&mut self) {
        match self.rig.rekey() {
            Ok(_) => self.check(),
            // The time for which keys were planned is over.
            Err(RigError::Command(Error::Misuse(Misuse::SessionOver))) => {}
            Err(error) => panic!("rekey: {error}"),
        }
    }

    fn sleep(&mut self, place: u16) {
        if self.members.len() - self.asleep.len() > 2 {
            let sleeper = self.at(place);
            self.rig.sleep(sleeper);
            self.asleep.insert(sleeper);
        }
    }

    fn wake(&mut self) {
        for sleeper in std::mem::take(&mut self.asleep) {
            match self.rig.catch_up(sleeper) {
                // Nothing has happened: the answer is as old as the sleeper's state.
                Ok(_) | Err(RigError::Refused(..)) => {}
                Err(error) => panic!("member {sleeper} catches up: {error}"),
            }
        }
        self.send();
        self.rig.agreed_key().expect("agreement after catching up");
    }

    /// Sends a message if there is no group key. The members then agree on the message's key.
    fn send(&mut self) {
        if self.law == Law::OneMessage {
            let sender = self.members.difference(&self.asleep).next().expect("somebody is awake");
            self.rig.send(*sender).expect("a message");
        }
    }

    fn check(&mut self) {
        self.send();
        assert!(self.rig.members().eq(self.members.iter().copied()), "members");
        let key = *self.rig.agreed_key().expect("agreement").as_bytes();
        assert!(self.keys.insert(key), "the group key was used before");
        assert!(!self.rig.outsider_knows_key(), "a former member knows the group key");
    }

    fn at(&self, place: u16) -> u32 {
        let place = usize::from(place) % self.members.len();
        self.members.iter().nth(place).copied().expect("a group has members")
    }
}
