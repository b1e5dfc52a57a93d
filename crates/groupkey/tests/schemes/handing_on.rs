//! Schemes whose members hand the group's key on to each other, along trees (LNT) or rings (RiSeG):
//! a member that sleeps holds up those behind it.

use std::collections::BTreeSet;

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::{MemberId, PartyId, SubgroupId};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};

use crate::schemes::counts::{hashes, wraps};
use crate::schemes::subgroups::rig;

/// All keys that a subgroup's controller wraps, except the group's, are edges; and each envelope,
/// of which there is one for each group key, is under a key of its own.
#[track_caller]
pub(crate) fn assert_hashes_go_with_keys(report: &OperationReport, subgroups: u32) {
    for subgroup in (0..subgroups).map(SubgroupId) {
        let (_, keys) = wraps(report, subgroup);
        assert_eq!(hashes(report, subgroup), keys);
    }
}

/// Lets a member sleep through three changes; returns whom it held up.
pub(crate) fn held_up_by(rig: &mut Rig, sleeper: u32) -> BTreeSet<u32> {
    rig.sleep(sleeper);
    for _ in 0..3 {
        rig.rekey().unwrap();
    }
    let epoch = |party: PartyId| rig.key_of(party).unwrap().0;
    let is_behind = |&member: &u32| epoch(MemberId(member).into()) < epoch(Controller);
    rig.members().filter(|&member| member != sleeper).filter(is_behind).collect()
}

/// Joining members have the key at once, though others sleep.
pub(crate) fn newcomers_are_in_at_once(id: &str, sleepers: impl Iterator<Item = u32> + Clone) {
    let mut rig = rig(id, Profile::Sound, 1);
    rig.create(5).unwrap();
    sleepers.clone().for_each(|sleeper| rig.sleep(sleeper));
    for newcomer in 10..30 {
        rig.add(newcomer).unwrap();
        let group_key = rig.key_of(Controller);
        assert!(group_key.is_some());
        assert_eq!(rig.key_of(MemberId(newcomer).into()), group_key);
    }
    sleepers.for_each(|sleeper| drop(rig.catch_up(sleeper).unwrap()));
    rig.agreed_key().unwrap();
}

/// A history by chance, in which every now and then somebody sleeps, and from time to time all wake up.
pub(crate) fn many_may_sleep(id: &str, profile: Profile, subgroups: u32, seed: u64) {
    let parameters = vec![("subgroups", subgroups)];
    let settings = Settings { profile, parameters, seed, ..Settings::default() };
    let mut rig = Rig::new(scheme(id).unwrap(), settings);
    rig.create(3 + seed as u32 % 20).unwrap();
    let mut asleep = BTreeSet::new();
    for step in 0..60 {
        let chance = (seed as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(step * 40_503);
        let members: Vec<_> = rig.members().collect();
        let someone = members[(chance >> 8) as usize % members.len()];
        match chance % 5 {
            0 => drop(rig.add(1000 + step).unwrap()),
            1 if members.len() > 2 => {
                rig.remove(someone).unwrap();
                asleep.remove(&someone);
            }
            2 | 3 => {
                rig.sleep(someone);
                asleep.insert(someone);
            }
            _ => drop(rig.rekey().unwrap()),
        }
        rig.agreed_key().unwrap();
        assert!(!rig.outsider_knows_key());
        if step % 12 == 11 {
            for sleeper in std::mem::take(&mut asleep) {
                match rig.catch_up(sleeper) {
                    // It had missed nothing.
                    Ok(_) | Err(RigError::Refused(..)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            rig.agreed_key().unwrap();
        }
    }
}
