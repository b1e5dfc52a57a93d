//! One random history drives every scheme of the catalogue and a trivially correct model, a set of
//! members: all current members agree, every key is new, nobody else has it, and tampered or
//! replayed messages change nothing.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use groupkey::catalogue::{Class, Law, Profile, Recovery, SCHEMES, Scheme};
use groupkey::error::{Error, Misuse, Unsupported};
use groupkey::{Command, MemberId, Operation, PartyId, SubgroupId};
use groupkey_testkit::rig::{Guard, Move, OperationReport, Rig, RigError, SUITES, Settings};
use groupkey_testkit::sample;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::laws::pace;

/// Sizes at which trees change their shape: small, powers, powers plus one.
const SIZES: [u32; 12] = [2, 3, 4, 5, 8, 9, 15, 16, 17, 27, 33, 65];

#[test]
#[ignore = "long: half a minute, random histories of forms for reproductions"]
fn centralized_schemes_follow_the_model_as_published() {
    follow_the_model(Class::Centralized, Profile::Published);
}

#[test]
fn centralized_schemes_follow_the_model_in_the_sound_form() {
    follow_the_model(Class::Centralized, Profile::Sound);
}

#[test]
fn distributed_schemes_follow_the_model() {
    for profile in Profile::ALL {
        follow_the_model(Class::Distributed, profile);
    }
}

#[test]
#[ignore = "long: half a minute, random histories of forms for reproductions"]
fn hybrid_schemes_follow_the_model_as_published() {
    follow_the_model(Class::Hybrid, Profile::Published);
}

#[test]
fn hybrid_schemes_follow_the_model_in_the_sound_form() {
    follow_the_model(Class::Hybrid, Profile::Sound);
}

fn follow_the_model(class: Class, profile: Profile) {
    for scheme in SCHEMES.iter().filter(|scheme| scheme.class() == class) {
        let (usual, others): (Vec<_>, Vec<_>) =
            parameter_sets(scheme).into_iter().partition(Vec::is_empty);
        for parameters in usual.into_iter().chain(sample::one_in(3, others)) {
            let usual = class != Class::Distributed && parameters.is_empty();
            let cases = pace::share_of(scheme, if usual { 6 } else { 3 });
            check(scheme, profile, parameters, cases);
        }
    }
}

/// What the histories above find by chance, at once. The evicted member hears everything.
#[test]
fn an_eviction_brings_a_key_that_the_evicted_member_lacks() {
    let evicts = |scheme: &&Scheme| {
        scheme.law == Law::OneKey && scheme.operations.contains(&Operation::Remove)
    };
    for scheme in SCHEMES.iter().filter(evicts) {
        for profile in Profile::ALL {
            let mut rig = Rig::new(scheme, Settings { profile, ..Settings::default() });
            rig.create(5).unwrap();
            let before = rig.agreed_key().unwrap().clone();
            rig.remove(2).unwrap();
            let after = rig.agreed_key().unwrap();
            assert_ne!(&before, after, "{} {profile:?}", scheme.id);
            assert!(!rig.outsider_knows_key(), "{} {profile:?}", scheme.id);
        }
    }
}

#[test]
fn hundreds_of_operations_at_many_sizes() {
    for scheme in SCHEMES {
        let sizes = if scheme.class() == Class::Distributed { &SIZES[..6] } else { &SIZES[..] };
        let largest = pace::largest(scheme, u32::MAX);
        for &size in sample::one_in(3, sizes).filter(|&&size| size <= largest) {
            let moves: Vec<_> = (0..40u16)
                .map(|i| match (u32::from(i) * 7 + size) % 9 {
                    0 | 3 => Move::Add,
                    7 => Move::Partition(i as u8, i * 5),
                    8 => Move::Merge,
                    1 => Move::Remove(i * 31),
                    2 => Move::Remove(i * 17 + 1),
                    4 => Move::Batch(i as u8 % 4, i as u8 % 3, i * 11),
                    5 => Move::Rekey,
                    _ if i % 3 == 0 => Move::SleepSubgroup(i * 5),
                    _ if i % 2 == 0 => Move::Sleep(i * 13),
                    _ => Move::Wake,
                })
                .collect();
            let settings = Settings { seed: u64::from(size), ..Settings::default() };
            History::play(scheme, settings, size, &moves)
                .unwrap_or_else(|error| panic!("{} with {size} members: {error}", scheme.id));
        }
    }
}

#[test]
fn bad_commands_change_nothing() {
    for scheme in SCHEMES {
        let mut rig = Rig::new(scheme, Settings::default());
        rig.create(5).unwrap();
        if scheme.law == Law::OneMessage {
            rig.send(0).unwrap();
        }
        let before = rig.agreed_key().unwrap().clone();
        let present = MemberId(3);
        let absent = MemberId(77);
        let actor = if scheme.has_controller() { PartyId::Controller } else { MemberId(4).into() };
        for (command, operation, error) in [
            (Command::Add(present), Operation::Add, Misuse::AlreadyMember(present)),
            (Command::Create(&[present, absent]), Operation::Create, Misuse::AlreadyCreated),
            (Command::Remove(absent), Operation::Remove, Misuse::NotMember(absent)),
        ] {
            let error = if scheme.operations.contains(&operation) {
                Error::Misuse(error)
            } else {
                Error::Unsupported(Unsupported::Operation)
            };
            assert_eq!(rig.command_to(actor, command), Err(error), "{}: {command:?}", scheme.id);
        }
        assert_eq!(&before, rig.agreed_key().unwrap(), "{}", scheme.id);
        if scheme.operations != [Operation::Create] {
            change_somehow(&mut rig, scheme);
            assert_ne!(&before, rig.agreed_key().unwrap(), "{}", scheme.id);
        }
    }
}

#[test]
fn bad_batches_change_nothing() {
    for scheme in SCHEMES {
        let mut rig = Rig::new(scheme, Settings::default());
        rig.create(5).unwrap();
        if scheme.law == Law::OneMessage {
            rig.send(0).unwrap();
        }
        let before = rig.agreed_key().unwrap().clone();
        let member = |ids: &[u32]| ids.iter().copied().map(MemberId).collect::<Vec<_>>();
        let unsupported = Error::Unsupported(Unsupported::Operation);
        for (joining, leaving, misuse) in [
            (&[][..], &[][..], Misuse::EmptyBatch),
            (&[3], &[], Misuse::AlreadyMember(MemberId(3))),
            (&[3], &[3], Misuse::AlreadyMember(MemberId(3))),
            (&[77], &[], Misuse::NotEnrolled(MemberId(77))),
            (&[], &[77], Misuse::NotMember(MemberId(77))),
            (&[], &[1, 2, 1], Misuse::NamedTwice(MemberId(1))),
            (&[], &[0, 1, 2, 3], Misuse::TooFewMembers),
        ] {
            let (joining, leaving) = (&member(joining)[..], &member(leaving)[..]);
            let actor =
                if scheme.has_controller() { PartyId::Controller } else { MemberId(4).into() };
            let can = scheme.operations.contains(&Operation::Batch);
            let error = if can { Error::Misuse(misuse) } else { unsupported };
            if can && !scheme.has_controller() && misuse == Misuse::NotEnrolled(MemberId(77)) {
                // Nobody enrols its members.
                continue;
            }
            let refused = rig.command_to(actor, Command::Batch { joining, leaving });
            assert_eq!(refused, Err(error), "{}: {joining:?}, {leaving:?}", scheme.id);
        }
        assert_eq!(&before, rig.agreed_key().unwrap(), "{}", scheme.id);
        if scheme.operations != [Operation::Create] {
            change_somehow(&mut rig, scheme);
            assert_ne!(&before, rig.agreed_key().unwrap(), "{}", scheme.id);
        }
    }
}

#[test]
fn groups_below_two_members_are_refused() {
    for scheme in SCHEMES {
        let mut rig = Rig::new(scheme, Settings::default());
        let refused = Err(RigError::Command(Misuse::TooFewMembers.into()));
        assert_eq!(rig.create(1).map(drop), refused, "{}", scheme.id);
        if scheme.operations.contains(&Operation::Remove) {
            let mut rig = Rig::new(scheme, Settings::default());
            rig.create(2).unwrap();
            assert_eq!(rig.remove(1).map(drop), refused, "{}", scheme.id);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for scheme in SCHEMES {
        let transcript = |seed| {
            let mut rig = Rig::new(scheme, Settings { seed, ..Settings::default() });
            let mut bytes = Vec::new();
            let created = rig.create(9).unwrap();
            let changed = change_somehow(&mut rig, scheme);
            for message in created.messages.iter().chain(&changed.messages) {
                bytes.extend_from_slice(&message.bytes);
            }
            bytes
        };
        assert_eq!(transcript(5), transcript(5), "{}", scheme.id);
        assert_ne!(transcript(5), transcript(6), "{}", scheme.id);
    }
}

fn change_somehow(rig: &mut Rig, scheme: &Scheme) -> OperationReport {
    let mut report = OperationReport::default();
    let mut take = |more: Result<OperationReport, RigError>| {
        report.messages.extend(more.expect("the scheme has this operation").messages);
    };
    if scheme.operations.contains(&Operation::Rekey) {
        take(rig.rekey());
    }
    if scheme.operations.contains(&Operation::Add) {
        take(rig.add(20));
    }
    if scheme.operations.contains(&Operation::Remove) {
        take(rig.remove(4));
    }
    if scheme.operations.contains(&Operation::Send) {
        take(rig.send(1));
    }
    report
}

fn check(
    scheme: &'static Scheme,
    profile: Profile,
    parameters: Vec<(&'static str, u32)>,
    cases: u32,
) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let largest: u32 = if scheme.class() == Class::Distributed { 9 } else { 40 };
    let largest = pace::largest(scheme, largest);
    let history = (
        2u32..largest,
        proptest::collection::vec(any_move(), 1..24),
        any::<u64>(),
        prop::sample::select(&SUITES[..]),
        prop::sample::select(&[Guard::Mac, Guard::Signature, Guard::Merkle][..]),
    );
    TestRunner::new(config)
        .run(&history, |(size, moves, seed, suite, protection)| {
            let settings = Settings {
                profile,
                parameters: parameters.clone(),
                suite,
                protection,
                seed,
                hostile: true,
                ..Settings::default()
            };
            History::play(scheme, settings, size, &moves)
                .map_err(|error| TestCaseError::fail(error.to_string()))
        })
        .unwrap_or_else(|error| {
            panic!("{} ({}, {parameters:?}): {error}", scheme.id, profile.name())
        });
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => Just(Move::Add),
        4 => any::<u16>().prop_map(Move::Remove),
        2 => (0u8..4, 0u8..4, any::<u16>()).prop_map(|(join, leave, at)| Move::Batch(join, leave, at)),
        1 => Just(Move::Merge),
        1 => (any::<u8>(), any::<u16>()).prop_map(|(count, at)| Move::Partition(count, at)),
        1 => Just(Move::Rekey),
        1 => any::<u16>().prop_map(Move::Sleep),
        1 => any::<u16>().prop_map(Move::SleepSubgroup),
        1 => Just(Move::Wake),
    ]
}

/// The profile's own parameters, and both ends and some middle of each range.
fn parameter_sets(scheme: &Scheme) -> Vec<Vec<(&'static str, u32)>> {
    let mut sets = vec![vec![]];
    for parameter in scheme.parameters {
        let (low, high) = pace::range(scheme, parameter.range);
        for value in BTreeSet::from([low, low + 1, parameter.sound, high]) {
            sets.push(vec![(parameter.name, value)]);
        }
    }
    sets
}

fn subgroups(scheme: &'static Scheme, settings: &Settings) -> u32 {
    let mut configuration = scheme.configuration(settings.profile);
    for &(name, value) in &settings.parameters {
        configuration.set(name, value).expect("the scheme has this parameter");
    }
    configuration.subgroup_controllers().len() as u32
}

/// A scheme and the model side by side.
struct History {
    rig: Rig,
    scheme: &'static Scheme,
    members: BTreeSet<u32>,
    /// Those who go on by themselves.
    apart: BTreeSet<u32>,
    /// Whether two parts came together again.
    was_merged: bool,
    asleep: BTreeSet<u32>,
    subgroups: u32,
    subgroups_asleep: BTreeSet<u32>,
    next_id: u32,
    keys: HashSet<[u8; 16]>,
    heard: Vec<Rc<[u8]>>,
}

impl History {
    fn play(
        scheme: &'static Scheme,
        settings: Settings,
        size: u32,
        moves: &[Move],
    ) -> Result<(), String> {
        let mut history = Self {
            subgroups: subgroups(scheme, &settings),
            subgroups_asleep: BTreeSet::new(),
            rig: Rig::new(scheme, settings),
            scheme,
            members: (0..size).collect(),
            apart: BTreeSet::new(),
            was_merged: false,
            asleep: BTreeSet::new(),
            next_id: size,
            keys: HashSet::new(),
            heard: Vec::new(),
        };
        let report = history.rig.create(size).map_err(|error| format!("create: {error}"))?;
        history.listen(&report);
        history.check_new_key().map_err(|error| format!("create: {error}"))?;
        for (step, &action) in moves.iter().enumerate() {
            history.act(action).map_err(|error| format!("move {step}, {action:?}: {error}"))?;
        }
        history.merge().map_err(|error| format!("merge at the end: {error}"))
    }

    fn act(&mut self, action: Move) -> Result<(), String> {
        match action {
            Move::Add => self.add(),
            Move::Batch(joining, leaving, place) => self.batch(joining, leaving, place),
            Move::Merge => self.merge(),
            Move::Partition(count, place) => self.partition(count, place),
            Move::Rekey => self.rekey(),
            Move::Remove(place) => self.remove(place),
            Move::Sleep(place) => self.sleep(place),
            Move::SleepSubgroup(place) => self.sleep_subgroup(place),
            Move::Wake => self.wake(),
        }
    }

    fn add(&mut self) -> Result<(), String> {
        if !self.can(Operation::Add) {
            return Ok(());
        }
        let newcomer = self.next_id;
        self.next_id += 1;
        let report = self.rig.add(newcomer).map_err(|error| error.to_string())?;
        self.members.insert(newcomer);
        self.check_new_key()?;
        self.replay_to(newcomer)?;
        self.listen(&report);
        Ok(())
    }

    /// A joining member that recorded everything before it came gets nothing out of it.
    fn replay_to(&mut self, newcomer: u32) -> Result<(), String> {
        for message in self.heard.iter().rev().take(40) {
            let _ = self.rig.inject(MemberId(newcomer).into(), message);
        }
        self.rig.agreed_key().map(drop).map_err(|error| format!("old messages: {error}"))
    }

    fn batch(&mut self, joining: u8, leaving: u8, place: u16) -> Result<(), String> {
        let awake = self.members.len() - self.asleep.len();
        let leaving = usize::from(leaving).min(awake.saturating_sub(2));
        if !self.can(Operation::Batch) || usize::from(joining) + leaving == 0 {
            return Ok(());
        }
        let joining: Vec<_> = (self.next_id..).take(joining.into()).collect();
        self.next_id += joining.len() as u32;
        let start = usize::from(place) % self.members.len();
        let leaving: Vec<_> =
            self.members.iter().cycle().skip(start).take(leaving).copied().collect();
        let report = self.rig.batch(&joining, &leaving).map_err(|error| error.to_string())?;
        self.members.extend(&joining);
        for leaver in leaving {
            self.members.remove(&leaver);
            self.asleep.remove(&leaver);
        }
        self.check_new_key()?;
        for newcomer in joining {
            self.replay_to(newcomer)?;
        }
        self.listen(&report);
        Ok(())
    }

    /// Both parts go on with keys of their own, and none of their members has the other's.
    fn partition(&mut self, count: u8, place: u16) -> Result<(), String> {
        let splittable = self.members.len().saturating_sub(3);
        if !self.can(Operation::Partition) || splittable == 0 || !self.apart.is_empty() {
            return Ok(());
        }
        let count = 2 + usize::from(count) % splittable;
        let start = usize::from(place) % self.members.len();
        let apart: Vec<_> = self.members.iter().cycle().skip(start).take(count).copied().collect();
        let report = self.rig.partition(&apart).map_err(|error| error.to_string())?;
        self.listen(&report);
        self.apart = apart.into_iter().collect();
        self.members = self.members.difference(&self.apart).copied().collect();
        for _ in 0..2 {
            self.check_new_key()?;
            let key = self.rig.agreed_key().map_err(|error| error.to_string())?;
            let knows = |&member: &u32| {
                self.rig.key_of(MemberId(member).into()).is_some_and(|(_, own)| own == key)
            };
            if self.apart.iter().any(knows) {
                return Err("one part knows the key of the other".into());
            }
            self.rig.change_sides();
            std::mem::swap(&mut self.members, &mut self.apart);
        }
        Ok(())
    }

    fn merge(&mut self) -> Result<(), String> {
        if self.apart.is_empty() {
            return Ok(());
        }
        let report = self.rig.merge().map_err(|error| error.to_string())?;
        self.members.append(&mut self.apart);
        self.was_merged = true;
        self.listen(&report);
        self.check_new_key()
    }

    fn rekey(&mut self) -> Result<(), String> {
        if !self.can(Operation::Rekey) {
            return Ok(());
        }
        match self.rig.rekey() {
            Ok(report) => self.listen(&report),
            // A session that was planned is over when it is over.
            Err(RigError::Command(Error::Misuse(Misuse::SessionOver))) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
        self.check_new_key()
    }

    /// Without a group key, what all agree on is the key of a message.
    fn send(&mut self) -> Result<(), String> {
        if self.scheme.law != Law::OneMessage {
            return Ok(());
        }
        let mut awake = self.members.difference(&self.asleep);
        let sender = awake.find(|&&member| !self.rig.is_cut_off(member));
        let report = self
            .rig
            .send(*sender.expect("somebody is awake"))
            .map_err(|error| format!("message: {error}"))?;
        self.listen(&report);
        Ok(())
    }

    fn can(&self, operation: Operation) -> bool {
        self.scheme.operations.contains(&operation)
    }

    fn remove(&mut self, place: u16) -> Result<(), String> {
        let awake = self.members.len() - self.asleep.len();
        if !self.can(Operation::Remove) || self.members.len() == 2 || awake <= 2 {
            return Ok(());
        }
        let leaver = *self.members.iter().nth(usize::from(place) % self.members.len()).unwrap();
        self.leave_somebody_served(leaver)?;
        let report = self.rig.remove(leaver).map_err(|error| error.to_string())?;
        self.members.remove(&leaver);
        self.asleep.remove(&leaver);
        self.listen(&report);
        self.check_new_key()
    }

    /// Without a controller, a member sleeps through one operation only: who is asleep when it is
    /// its turn to act would hold up the group, which is another test's matter. A join of GDH.3
    /// needs every member, one of a tree may need any, and any change may once groups came together.
    fn sleep(&mut self, place: u16) -> Result<(), String> {
        if self.scheme.recovery == Recovery::Rejoin {
            return Ok(());
        }
        if self.scheme.class() == Class::Distributed {
            let any_may_act = match self.scheme.id {
                "d-lkh" | "d-oft" | "dh-lkh" | "gdh3" | "tgdh" | "treekem" => true,
                // Then members stand no longer in the order of their ids.
                _ => self.was_merged,
            };
            if any_may_act || self.members.len() < 3 {
                return Ok(());
            }
            // The one who acts is the oldest member or the newest.
            let between = self.members.len() - 2;
            let sleeper = *self.members.iter().nth(1 + usize::from(place) % between).unwrap();
            self.rig.sleep(sleeper);
            self.asleep.insert(sleeper);
            self.add()?;
            return self.wake();
        }
        let eligible = self.members.len() - 1;
        let sleeper = *self.members.iter().nth(usize::from(place) % eligible).unwrap();
        // Who waits for a subgroup's controller to enrol it cannot sleep through that: it comes once.
        let enrolled = self.rig.key_of(MemberId(sleeper).into()).is_some();
        if enrolled && self.members.len() - self.asleep.len() > 2 {
            self.leave_somebody_served(sleeper)?;
            self.rig.sleep(sleeper);
            self.asleep.insert(sleeper);
        }
        Ok(())
    }

    /// A subgroup's controller sleeps, unless nobody would be left whom any serves.
    fn sleep_subgroup(&mut self, place: u16) -> Result<(), String> {
        let Some(subgroup) = u32::from(place).checked_rem(self.subgroups) else { return Ok(()) };
        let party = SubgroupId(subgroup).into();
        self.rig.put_to_sleep(party);
        self.subgroups_asleep.insert(subgroup);
        self.leave_somebody_served(u32::MAX)
    }

    /// Wakes all subgroups if otherwise nobody but this member would be served.
    fn leave_somebody_served(&mut self, but: u32) -> Result<(), String> {
        let mut awake = self.members.difference(&self.asleep).filter(|&&member| member != but);
        if awake.all(|&member| self.rig.is_cut_off(member)) {
            for subgroup in self.subgroups_asleep.clone() {
                self.wake_subgroup(subgroup)?;
            }
        }
        Ok(())
    }

    fn wake_subgroup(&mut self, subgroup: u32) -> Result<(), String> {
        self.subgroups_asleep.remove(&subgroup);
        match self.rig.wake(SubgroupId(subgroup).into()) {
            Ok(_) | Err(RigError::Refused(..)) => Ok(()),
            Err(error) => Err(format!("subgroup {subgroup} catches up: {error}")),
        }
    }

    fn wake(&mut self) -> Result<(), String> {
        for subgroup in self.subgroups_asleep.clone() {
            self.wake_subgroup(subgroup)?;
        }
        for sleeper in std::mem::take(&mut self.asleep) {
            match self.rig.catch_up(sleeper) {
                // Nothing had happened: the answer is as old as what the sleeper has.
                Ok(_) | Err(RigError::Refused(..)) => {}
                Err(error) => return Err(format!("member {sleeper} catches up: {error}")),
            }
        }
        self.send()?;
        self.rig.agreed_key().map(drop).map_err(|error| format!("after catching up: {error}"))
    }

    fn listen(&mut self, report: &OperationReport) {
        self.heard.extend(report.open_messages().map(|message| Rc::clone(&message.bytes)));
    }

    fn check_new_key(&mut self) -> Result<(), String> {
        self.send()?;
        if !self.rig.members().eq(self.members.iter().copied()) {
            return Err("the rig's members are not the model's".into());
        }
        let key = self.rig.agreed_key().map_err(|error| error.to_string())?;
        if !self.keys.insert(*key.as_bytes()) {
            return Err("the group key was used before".into());
        }
        if self.rig.outsider_knows_key() {
            return Err("a former member knows the group key".into());
        }
        let stale = self.asleep.iter().any(|&member| {
            self.rig.key_of(MemberId(member).into()).map(|(_, own)| own) == Some(key)
        });
        if stale { Err("a sleeping member knows the group key".into()) } else { Ok(()) }
    }
}
