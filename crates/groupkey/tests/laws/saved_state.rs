//! A controller that is restored from its saved state continues as if nothing had happened, and
//! bytes that are not the saved state of a controller do no harm. That holds of every scheme that
//! has a controller, and of the controllers of its subgroups.

use std::collections::BTreeSet;

use groupkey::catalogue::{Class, Configuration, Profile, SCHEMES, Scheme, scheme};
use groupkey::error::{Error, Misuse};
use groupkey::{Command, MemberId, Operation, Party, PartyId, SavedState, SubgroupId};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, SentMessage, Settings};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::laws::pace;

/// Sizes at which trees change their shape: two, three, powers, powers plus one.
const SIZES: [u32; 7] = [2, 3, 4, 5, 8, 9, 17];

/// How many operations follow a creation.
const OPERATIONS: u32 = 24;

#[test]
fn restored_controllers_send_what_the_others_would_have_sent() {
    for scheme in with_controller() {
        for profile in Profile::ALL {
            for parameters in parameter_sets(scheme) {
                let usual = parameters == small_parameters(scheme);
                let largest = pace::largest(scheme, 17);
                let sizes = SIZES.iter().filter(|&&size| size <= largest.div_ceil(2));
                let sizes =
                    sizes.chain([&largest]).step_by(if usual && largest > 9 { 1 } else { 3 });
                for (&size, seed) in sizes.zip(1..) {
                    let settings =
                        Settings { profile, parameters: parameters.clone(), seed, ..few(scheme) };
                    let completed = compare(scheme, settings, size);
                    assert!(
                        !usual || completed > pace::share_of(scheme, OPERATIONS) / 3,
                        "{}: {completed}",
                        scheme.id
                    );
                }
            }
        }
    }
}

/// Drives two groups through the same operations; one restores its controllers after every step.
/// Returns how many operations were completed.
fn compare(scheme: &'static Scheme, settings: Settings, size: u32) -> u32 {
    let what = format!("{}, {size} members, {settings:?}", scheme.id);
    let mut schedule = Schedule::new(scheme, size, settings.seed);
    let mut plain = Rig::new(scheme, settings.clone());
    let mut restarting = Rig::new(scheme, settings).restarting();
    let created = plain.create(size);
    assert!(created.is_ok(), "{what}: {created:?}");
    assert_same(&what, &created, &restarting.create(size));
    let mut completed = 0;
    for _ in 0..pace::share_of(scheme, OPERATIONS) {
        let step = schedule.next();
        let expected = step.run(&mut plain);
        assert_same(&format!("{what}, {step:?}"), &expected, &step.run(&mut restarting));
        completed += u32::from(expected.is_ok());
        schedule.note(&step, expected.is_ok());
        assert_eq!(plain.agreed_key().ok(), restarting.agreed_key().ok(), "{what}, {step:?}");
    }
    completed
}

/// In Kronos a subgroup controller's clock may tick before the controller's message comes, or after
/// it. The state says which of the two is still due.
#[test]
fn a_tick_that_is_still_due_stays_due() {
    let kronos = scheme("kronos").unwrap();
    for message_first in [true, false] {
        for reseed in 1..4 {
            let parameters = vec![("subgroups", SUBGROUPS), ("reseed", reseed)];
            let settings = Settings { parameters, ..Settings::default() };
            let mut plain = Rig::new(kronos, settings.clone());
            let mut restarting = Rig::new(kronos, settings).restarting();
            for rig in [&mut plain, &mut restarting] {
                rig.create(5).unwrap();
            }
            for _ in 0..5 {
                let what = format!("message first: {message_first}, reseed {reseed}");
                let [expected, got] =
                    [&mut plain, &mut restarting].map(|rig| tick_apart(rig, message_first));
                assert!(expected.is_ok(), "{what}: {expected:?}");
                assert_same(&what, &expected, &got);
                assert_eq!(plain.agreed_key().unwrap(), restarting.agreed_key().unwrap());
            }
        }
    }
}

/// Begins a period at the controller, and later or earlier at the subgroup controllers.
fn tick_apart(rig: &mut Rig, message_first: bool) -> Result<OperationReport, RigError> {
    let subgroups = (0..SUBGROUPS).map(|id| PartyId::from(SubgroupId(id)));
    let (controller, tick) = ([PartyId::Controller], Command::Rekey);
    let orders = if message_first {
        [controller.to_vec(), subgroups.collect()]
    } else {
        [subgroups.collect(), controller.to_vec()]
    };
    let mut reports = Vec::new();
    for parties in orders {
        for party in parties {
            rig.command_to(party, tick).map_err(RigError::Command)?;
        }
        reports.push(rig.settle()?);
    }
    let messages = reports.into_iter().flat_map(|report| report.messages).collect();
    Ok(OperationReport { messages, ..OperationReport::default() })
}

/// An operation of both groups.
#[derive(Debug)]
enum Step {
    Add(u32),
    Batch(Vec<u32>, Vec<u32>),
    Grant(u32, u64),
    Rekey,
    Remove(u32),
    Send(u32),
    /// A party misses a change, and asks for it.
    Miss(PartyId),
}

/// Draws operations that the scheme has.
struct Schedule {
    scheme: &'static Scheme,
    rng: ChaCha20Rng,
    members: BTreeSet<u32>,
    next_id: u32,
    periods: u64,
}

impl Schedule {
    fn new(scheme: &'static Scheme, size: u32, seed: u64) -> Self {
        let rng = ChaCha20Rng::seed_from_u64(seed);
        Self { scheme, rng, members: (0..size).collect(), next_id: size, periods: 1 }
    }

    fn next(&mut self) -> Step {
        let has = |operation| self.scheme.operations.contains(&operation);
        let (can_change, can_batch) = (has(Operation::Add), has(Operation::Batch));
        let (can_rekey, can_send) = (has(Operation::Rekey), has(Operation::Send));
        let chosen = self.rng.next_u32() % 10;
        let somebody = self.somebody();
        match chosen {
            0..3 if can_change => Step::Add(self.newcomer()),
            3..5 if can_change && self.members.len() > 2 => Step::Remove(somebody),
            5 if can_batch && self.members.len() > 3 => {
                Step::Batch(vec![self.newcomer(), self.newcomer()], vec![somebody])
            }
            6 if can_rekey => Step::Rekey,
            7 if can_send => Step::Send(somebody),
            7 if self.scheme.id == "marks" => Step::Grant(self.newcomer(), self.periods + 1),
            8 if self.scheme.class() == Class::Hybrid => {
                Step::Miss(SubgroupId(self.rng.next_u32() % SUBGROUPS).into())
            }
            _ if can_change || can_rekey => Step::Miss(MemberId(somebody).into()),
            _ => unreachable!("every scheme can add members or begin a period"),
        }
    }

    fn note(&mut self, step: &Step, happened: bool) {
        match step {
            _ if !happened => {}
            Step::Add(member) => drop(self.members.insert(*member)),
            Step::Batch(joining, leaving) => {
                self.members.extend(joining);
                self.members.retain(|member| !leaving.contains(member));
            }
            Step::Remove(member) => drop(self.members.remove(member)),
            Step::Rekey | Step::Miss(_) => self.periods += 1,
            Step::Grant(..) | Step::Send(_) => {}
        }
    }

    fn newcomer(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn somebody(&mut self) -> u32 {
        let place = self.rng.next_u32() as usize % self.members.len();
        *self.members.iter().nth(place).unwrap()
    }
}

impl Step {
    fn run(&self, rig: &mut Rig) -> Result<OperationReport, RigError> {
        match self {
            Self::Add(member) => rig.add(*member),
            Self::Batch(joining, leaving) => rig.batch(joining, leaving),
            Self::Grant(member, first) => rig.grant(*member, *first, first + 3),
            Self::Rekey => rig.rekey(),
            Self::Remove(member) => rig.remove(*member),
            Self::Send(member) => rig.send(*member),
            Self::Miss(party) => {
                rig.put_to_sleep(*party);
                // In schemes without periods the change is a member that comes.
                let missed = match rig.rekey() {
                    Err(RigError::Command(Error::Unsupported(_))) => rig.add(1_000_000),
                    missed => missed,
                };
                let woken = rig.wake(*party);
                if rig.remove(1_000_000).is_err() {
                    rig.forget_former();
                }
                missed.and(woken)
            }
        }
    }
}

fn assert_same(
    what: &str,
    expected: &Result<OperationReport, RigError>,
    got: &Result<OperationReport, RigError>,
) {
    let sent = |messages: &[SentMessage]| -> Vec<_> {
        messages
            .iter()
            .map(|sent| (sent.from, sent.to, sent.channel, sent.bytes.to_vec()))
            .collect()
    };
    match (expected, got) {
        (Ok(expected), Ok(got)) => {
            assert_eq!(sent(&expected.deployment), sent(&got.deployment), "{what}");
            assert_eq!(sent(&expected.messages), sent(&got.messages), "{what}");
            assert_eq!(expected.meters, got.meters, "{what}");
        }
        (Err(expected), Err(got)) => assert_eq!(expected, got, "{what}"),
        _ => panic!("{what}: {:?}, but restored {:?}", expected.as_ref().err(), got.as_ref().err()),
    }
}

/// Altered bytes are refused, or are the state of a controller: then they are the one form of that
/// state. In no case does anything panic.
#[test]
#[ignore = "long: half a minute, states with random bits flipped"]
fn altered_states_do_no_harm() {
    let mut accepted = 0;
    for scheme in with_controller() {
        for profile in Profile::ALL {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let settings = Settings { profile, ..few(scheme) };
            let configuration = configuration(scheme, &settings);
            let mut rig = Rig::new(scheme, settings);
            rig.create(pace::largest(scheme, 12)).unwrap();
            if scheme.operations.contains(&Operation::Remove) {
                rig.remove(3).unwrap();
            }
            for (id, state) in rig.saved_states().unwrap() {
                assert!(restore(&configuration, id, state.as_bytes()).is_ok());
                for _ in 0..pace::share_of(scheme, 300) {
                    let altered = altered(&mut rng, state.as_bytes());
                    if altered == state.as_bytes() {
                        continue;
                    }
                    let what = || format!("{}, {id}, {altered:02x?}", scheme.id);
                    match restore(&configuration, id, &altered) {
                        Ok(party) => {
                            let again = SavedState::of(&configuration, id, &*party).unwrap();
                            assert_eq!(again.as_bytes(), altered, "{}", what());
                            party.footprint();
                            accepted += 1;
                        }
                        Err(error) => assert!(
                            matches!(
                                error,
                                Error::Misuse(Misuse::ForeignState | Misuse::MalformedState)
                            ),
                            "{error}: {}",
                            what()
                        ),
                    }
                }
                for length in 0..state.as_bytes().len() {
                    let cut = restore(&configuration, id, &state.as_bytes()[..length]);
                    assert!(cut.is_err(), "{}, {id}: {length} bytes", scheme.id);
                }
            }
        }
    }
    // A key has many values.
    assert!(accepted > 1_000, "{accepted}");
}

fn restore(
    configuration: &Configuration,
    id: PartyId,
    state: &[u8],
) -> Result<Box<dyn Party>, Error> {
    match id {
        PartyId::SubgroupController(subgroup) => {
            configuration.restore_subgroup_controller(subgroup, state)
        }
        _ => configuration.restore_controller(state),
    }
}

/// Changes, inserts, removes or repeats some bytes, mostly one.
fn altered(rng: &mut ChaCha20Rng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=rng.next_u32() % 16 / 14 {
        let place = rng.next_u32() as usize % bytes.len();
        let value = rng.next_u32() as u8;
        match rng.next_u32() % 6 {
            0 => bytes[place] = value,
            1 => bytes[place] = bytes[place].wrapping_add(1),
            2 => bytes[place] = 0xff,
            3 => bytes.insert(place, value),
            4 => drop(bytes.remove(place)),
            _ => {
                let end = (place + 1 + usize::from(value) % 20).min(bytes.len());
                let repeated = bytes[place..end].to_vec();
                bytes.splice(place..place, repeated);
            }
        }
    }
    bytes
}

/// What a member takes: its key, its slot, and its share of the tree's keys.
#[test]
fn states_are_compact() {
    for (id, bytes) in [("skdc", 20), ("lkh-group", 26), ("oft", 55)] {
        let scheme = scheme(id).unwrap();
        let mut rig = Rig::new(scheme, Settings::default());
        rig.create(1_000).unwrap();
        let state = &rig.saved_states().unwrap()[0].1;
        assert!(state.as_bytes().len() < 1_000 * bytes, "{id}: {}", state.as_bytes().len());
    }
}

/// A few subgroups, so that each has members, and a small capacity where that takes time.
const SUBGROUPS: u32 = 3;

fn few(scheme: &Scheme) -> Settings {
    Settings { parameters: small_parameters(scheme), ..Settings::default() }
}

fn small_parameters(scheme: &Scheme) -> Vec<(&'static str, u32)> {
    let small = scheme.parameters.iter().filter_map(|parameter| match parameter.name {
        "subgroups" => Some(("subgroups", SUBGROUPS)),
        "capacity" => Some(("capacity", parameter.range.0)),
        _ => None,
    });
    small.collect()
}

/// The small parameters alone, and with each other parameter at the ends of its range.
fn parameter_sets(scheme: &Scheme) -> Vec<Vec<(&'static str, u32)>> {
    let usual = small_parameters(scheme);
    let mut sets = vec![usual.clone()];
    let others = scheme
        .parameters
        .iter()
        .filter(|parameter| usual.iter().all(|&(name, _)| name != parameter.name));
    for parameter in others {
        let (low, high) = parameter.range;
        for value in BTreeSet::from([low, low + 1, (low + 2).min(high)]) {
            sets.push([&usual[..], &[(parameter.name, value)]].concat());
        }
    }
    sets
}

fn configuration(scheme: &'static Scheme, settings: &Settings) -> Configuration {
    let mut configuration = scheme.configuration(settings.profile);
    for &(name, value) in &settings.parameters {
        configuration.set(name, value).unwrap();
    }
    configuration
}

fn with_controller() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().filter(|scheme| scheme.has_controller())
}
