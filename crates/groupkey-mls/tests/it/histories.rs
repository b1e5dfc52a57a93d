//! Random histories of groups of both libraries, held against the set of members: current members agree,
//! every key is new, nobody else has it, and tampered and replayed messages change nothing.

use std::collections::{BTreeSet, HashSet};

use groupkey::catalogue::{Configuration, Parties, Provenance, Recovery, Scheme};
use groupkey::error::{Error, Misuse};
use groupkey::{Command, MemberId, Operation, Party, PartyId};
use groupkey_mls::{MLS_RS, OPENMLS, SCHEMES, mls_rs_member, openmls_member};
use groupkey_testkit::rig::{Guard, Rig, RigError, SUITES, Settings};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// A group whose members compute by one library and by the other in turn.
static BOTH: Scheme = Scheme::new(
    "mls-of-both",
    "MLS by two libraries",
    Provenance::Foreign,
    "RFC 9420",
    Parties::Distributed { member: either },
)
.with_recovery(Recovery::Request);

fn either(configuration: &Configuration, me: MemberId) -> Box<dyn Party> {
    match me.0 % 2 {
        0 => mls_rs_member(configuration, me),
        _ => openmls_member(configuration, me),
    }
}

#[test]
fn mls_rs_follows_the_model() {
    (0..8).for_each(|seed| play(&MLS_RS, seed, 40));
}

#[test]
fn openmls_follows_the_model() {
    (0..8).for_each(|seed| play(&OPENMLS, seed, 40));
}

/// Both encode RFC 9420, so they are in one group: whoever sponsors, the others follow.
#[test]
fn members_of_both_libraries_are_in_one_group() {
    (0..8).for_each(|seed| play(&BOTH, seed, 40));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for scheme in SCHEMES {
        let sent = |seed| {
            let mut rig = Rig::new(scheme, Settings { seed, ..Settings::default() });
            let mut reports = vec![rig.create(9).unwrap(), rig.rekey().unwrap()];
            reports.push(rig.batch(&[20, 21], &[4]).unwrap());
            reports.push(rig.catch_up(3).unwrap());
            reports.push(rig.remove(2).unwrap());
            let messages = reports.iter().flat_map(|report| &report.messages);
            messages.flat_map(|message| message.bytes.to_vec()).collect::<Vec<_>>()
        };
        assert!(sent(5) == sent(5), "{}", scheme.id);
        assert!(sent(5) != sent(6), "{}", scheme.id);
    }
}

#[test]
fn bad_commands_change_nothing() {
    for scheme in SCHEMES {
        let mut rig = Rig::new(scheme, Settings::default());
        assert!(matches!(
            rig.create(1),
            Err(RigError::Command(Error::Misuse(Misuse::TooFewMembers)))
        ));
        let mut rig = Rig::new(scheme, Settings::default());
        rig.create(5).unwrap();
        let before = rig.agreed_key().unwrap().clone();
        let member = |id: u32| MemberId(id);
        let (present, absent, actor) = (member(3), member(77), PartyId::Member(member(4)));
        for (command, misuse) in [
            (Command::Add(present), Misuse::AlreadyMember(present)),
            (Command::Create(&[present, absent]), Misuse::AlreadyCreated),
            (Command::Remove(absent), Misuse::NotMember(absent)),
            (Command::Remove(member(4)), Misuse::WrongRole),
            (Command::Batch { joining: &[], leaving: &[] }, Misuse::EmptyBatch),
            (
                Command::Batch { joining: &[], leaving: &[member(1), member(1)] },
                Misuse::NamedTwice(member(1)),
            ),
            (Command::Partition(&[0, 1, 2, 3].map(MemberId)), Misuse::TooFewMembers),
        ] {
            let result = rig.command_to(actor, command);
            assert_eq!(result, Err(misuse.into()), "{}: {command:?}", scheme.id);
        }
        assert_eq!(&before, rig.agreed_key().unwrap(), "{}", scheme.id);
        rig.rekey().unwrap();
        assert_ne!(&before, rig.agreed_key().unwrap(), "{}", scheme.id);
    }
}

/// A member that slept through changes enters again by an external commit, whoever answers it.
#[test]
fn who_missed_changes_enters_again() {
    for scheme in [&MLS_RS, &OPENMLS, &BOTH] {
        for sleeper in 0..5 {
            let mut rig = Rig::new(scheme, Settings { hostile: true, ..Settings::default() });
            rig.create(5).unwrap();
            // The sponsor of epoch 2 is the third member.
            if sleeper == 2 {
                continue;
            }
            rig.sleep(sleeper);
            rig.add(9).unwrap();
            let missed = rig.agreed_key().unwrap().clone();
            assert_ne!(rig.key_of(MemberId(sleeper).into()).unwrap().1, &missed);
            rig.catch_up(sleeper)
                .unwrap_or_else(|error| panic!("{} {sleeper}: {error}", scheme.id));
            let after = rig.agreed_key().unwrap().clone();
            assert_ne!(missed, after, "{}", scheme.id);
            rig.remove(9).unwrap();
            assert_ne!(&after, rig.agreed_key().unwrap());
            assert!(!rig.outsider_knows_key());
        }
    }
}

/// Plays this many random operations on a group of up to 17 members, among forgers.
fn play(scheme: &'static Scheme, seed: u64, operations: u32) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let suite = SUITES[seed as usize % SUITES.len()];
    let protection = [Guard::Mac, Guard::Signature, Guard::None][seed as usize % 3];
    // Without protection a forger speaks for everybody.
    let hostile = protection != Guard::None;
    let settings = Settings { suite, protection, hostile, seed, ..Settings::default() };
    let mut rig = Rig::new(scheme, settings);
    let size = 2 + rng.next_u32() % 16;
    let mut members: BTreeSet<u32> = (0..size).collect();
    rig.create(size).unwrap_or_else(|error| panic!("{} seed {seed}: {error}", scheme.id));
    let mut keys = HashSet::from([*rig.agreed_key().unwrap().as_bytes()]);
    let mut next = size;
    for step in 0..operations {
        let any = |rng: &mut ChaCha20Rng, members: &BTreeSet<u32>| {
            *members.iter().nth(rng.next_u32() as usize % members.len()).unwrap()
        };
        let what = match rng.next_u32() % 6 {
            0 | 1 if members.len() < 17 => {
                members.insert(next);
                next += 1;
                (Operation::Add, rig.add(next - 1))
            }
            2 if members.len() > 2 => {
                let leaver = any(&mut rng, &members);
                members.remove(&leaver);
                (Operation::Remove, rig.remove(leaver))
            }
            3 if members.len() > 3 && members.len() < 15 => {
                let joining: Vec<_> = (next..next + rng.next_u32() % 3).collect();
                let leaver = any(&mut rng, &members);
                members.remove(&leaver);
                members.extend(&joining);
                next += 3;
                (Operation::Batch, rig.batch(&joining, &[leaver]))
            }
            4 if members.len() > 3 => {
                let apart: BTreeSet<_> = members.iter().copied().take(2).collect();
                rig.partition(&apart.iter().copied().collect::<Vec<_>>()).unwrap();
                assert!(keys.insert(*rig.agreed_key().unwrap().as_bytes()));
                rig.change_sides();
                assert!(keys.insert(*rig.agreed_key().unwrap().as_bytes()));
                rig.change_sides();
                (Operation::Merge, rig.merge())
            }
            _ => (Operation::Rekey, rig.rekey()),
        };
        let at = format!("{} seed {seed} step {step} {:?}", scheme.id, what.0);
        what.1.unwrap_or_else(|error| panic!("{at}: {error}"));
        let key = rig.agreed_key().unwrap_or_else(|error| panic!("{at}: {error}"));
        assert!(keys.insert(*key.as_bytes()), "{at}: the key was used before");
        assert!(!rig.outsider_knows_key(), "{at}: a former member has the key");
        assert!(rig.members().eq(members.iter().copied()), "{at}");
    }
}
