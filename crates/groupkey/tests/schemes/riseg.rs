//! RiSeG costs what the header of its file says, and whoever sleeps holds up those behind it and
//! nobody else, whatever happens meanwhile.

use std::collections::BTreeSet;

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::rig::{Report, Rig, RigError, Settings};
use groupkey::{MemberId, PartyId, Recipient, SubgroupId};

#[test]
fn operations_cost_what_the_formulas_say() {
    for profile in Profile::ALL {
        let sound = profile == Profile::Sound;
        // What a ring of r members costs its controller at the end of a change.
        let checks = |r| if sound { (0, r + 1) } else { (1, 0) };
        for subgroups in [1, 2, 3, 7] {
            for n in [2, 3, 4, 5, 8, 9, 16, 17, 64, 65] {
                let active = subgroups.min(n);
                let mut rig = rig(profile, subgroups);
                let created = rig.create(n).unwrap();
                assert_eq!(unicasts(&created), active + n);
                assert_eq!(tally(&created, Controller, Primitive::Wrap), (active, active));
                for subgroup in 0..active {
                    let m = members_of(subgroup, subgroups, n);
                    let id = SubgroupId(subgroup).into();
                    assert_eq!(tally(&created, id, Primitive::Wrap), (m, 3 * m - 2));
                    assert_eq!(calls(&created, id, Primitive::Hash), 2 * (m - 1));
                    assert_eq!(permanent(&rig, id), 16 * (m + 2));
                }
                for member in 0..n {
                    let m = members_of(member % subgroups, subgroups, n);
                    let place = member / subgroups;
                    let edges = u32::from(place > 0) + u32::from(place + 1 < m);
                    assert_eq!(permanent(&rig, MemberId(member).into()), 16 * (2 + edges));
                    assert_eq!(calls(&created, MemberId(member).into(), Primitive::Wrap), 0);
                }
                every_member_unwraps_once(&created, 0..n);
                assert_eq!(permanent(&rig, Controller), 16 * (active + 1));

                // The newcomer goes to the subgroup with the fewest, and stands first.
                let here = n % subgroups;
                let active = subgroups.min(n + 1);
                let m = members_of(here, subgroups, n + 1);
                let added = rig.add(n).unwrap();
                assert_eq!(unicasts(&added), 2 * active + n + 1);
                assert_eq!(tally(&added, Controller, Primitive::Wrap), (active, active));
                let own = match m {
                    1 => (1, 1),
                    2 => (2, 4),
                    _ => (2, 5),
                };
                assert_eq!(tally(&added, SubgroupId(here).into(), Primitive::Wrap), own);
                every_member_unwraps_once(&added, 0..=n);

                let rekeyed = rig.rekey().unwrap();
                assert_eq!(unicasts(&rekeyed), 2 * active + n + 1);
                every_member_unwraps_once(&rekeyed, 0..=n);
                for subgroup in 0..active {
                    let r = members_of(subgroup, subgroups, n + 1);
                    let id = SubgroupId(subgroup).into();
                    let keys = if r == 1 { 1 } else { 2 };
                    assert_eq!(tally(&rekeyed, id, Primitive::Wrap), (1, keys));
                    for report in [&added, &rekeyed] {
                        // One more unwrap: of what the controller sends.
                        let (unwraps, derivations) = checks(r);
                        assert_eq!(calls(report, id, Primitive::Unwrap), 1 + unwraps);
                        assert_eq!(calls(report, id, Primitive::Derive), derivations);
                        let (wraps, keys) = tally(report, id, Primitive::Wrap);
                        assert_eq!(calls(report, id, Primitive::Hash), keys - wraps);
                    }
                }
                let lasts = (0..=n).filter(|&member| {
                    let id = MemberId(member).into();
                    let derivations = if sound { 2 } else { 0 };
                    assert_eq!(calls(&rekeyed, id, Primitive::Derive), derivations);
                    calls(&rekeyed, id, Primitive::Wrap) == 0
                });
                assert_eq!(lasts.count() as u32, if sound { active } else { 0 });
                rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn a_removal_has_envelopes_for_those_beside_the_hole() {
    for profile in Profile::ALL {
        for m in [3, 4, 5, 8, 9, 33] {
            for hole in 0..m {
                let mut rig = rig(profile, 1);
                rig.create(m).unwrap();
                let removed = rig.remove(hole).unwrap();
                assert_eq!(unicasts(&removed), 2 + m - 1);
                let mut places = BTreeSet::from([0]);
                places.extend(hole.checked_sub(1));
                places.extend((hole < m - 1).then_some(hole));
                let edges = |place| u32::from(place > 0) + u32::from(place < m - 2);
                let wraps = tally(&removed, SubgroupId(0).into(), Primitive::Wrap);
                let keys = places.iter().map(|&place| 1 + edges(place)).sum();
                assert_eq!(wraps, (places.len() as u32, keys));
                assert!(wraps.0 <= 3 && wraps.1 <= 8);
                let derivations = if profile == Profile::Sound { m } else { 0 };
                assert_eq!(calls(&removed, SubgroupId(0).into(), Primitive::Derive), derivations);
                every_member_unwraps_once(&removed, (0..m).filter(|&member| member != hole));
                rig.agreed_key().unwrap();
                assert!(!rig.outsider_knows_key());
            }
        }
    }
}

#[test]
fn who_wakes_hands_on_to_those_it_held_up() {
    for profile in Profile::ALL {
        for m in [3, 8, 20] {
            for sleeper in 0..m {
                let mut rig = rig(profile, 1);
                rig.create(m).unwrap();
                rig.sleep(sleeper);
                for _ in 0..3 {
                    rig.rekey().unwrap();
                }
                let (latest, _) = rig.key_of(Controller).unwrap();
                for member in (0..m).filter(|&member| member != sleeper) {
                    let (epoch, _) = rig.key_of(MemberId(member).into()).unwrap();
                    assert_eq!(epoch < latest, member > sleeper, "{member} behind {sleeper}");
                }
                // The last one confirms.
                let behind = m - 1 - sleeper;
                let caught_up = rig.catch_up(sleeper).unwrap();
                assert_eq!(unicasts(&caught_up), 2 + behind + 1);
                rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn who_missed_that_somebody_left_asks_for_itself() {
    for m in [4, 8, 20] {
        for sleeper in 1..m {
            let mut rig = rig(Profile::Sound, 1);
            rig.create(m).unwrap();
            rig.sleep(sleeper);
            rig.remove(0).unwrap();
            let behind = m - 1 - sleeper;
            let caught_up = rig.catch_up(sleeper).unwrap();
            assert_eq!(unicasts(&caught_up), 2 + 3 * behind + 1);
            rig.agreed_key().unwrap();
            assert!(!rig.outsider_knows_key());
        }
    }
}

#[test]
fn a_newcomer_is_in_at_once_whoever_sleeps() {
    let mut rig = rig(Profile::Sound, 1);
    rig.create(5).unwrap();
    (0..5).for_each(|sleeper| rig.sleep(sleeper));
    for newcomer in 10..30 {
        rig.add(newcomer).unwrap();
        let group_key = rig.key_of(Controller);
        assert!(group_key.is_some());
        assert_eq!(rig.key_of(MemberId(newcomer).into()), group_key);
    }
    (0..5).for_each(|sleeper| drop(rig.catch_up(sleeper).unwrap()));
    rig.agreed_key().unwrap();
}

#[test]
fn many_may_sleep_whatever_happens() {
    for (profile, subgroups) in Profile::ALL.into_iter().flat_map(|p| [(p, 1), (p, 2), (p, 3)]) {
        for seed in 0..40 {
            let parameters = vec![("subgroups", subgroups)];
            let settings = Settings { profile, parameters, seed, ..Settings::default() };
            let mut rig = Rig::new(scheme("riseg").unwrap(), settings);
            rig.create(3 + seed as u32 % 20).unwrap();
            let mut asleep = BTreeSet::new();
            for step in 0..60 {
                let chance =
                    (seed as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(step * 40_503);
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
    }
}

fn rig(profile: Profile, subgroups: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups)];
    Rig::new(scheme("riseg").unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// How many of n members are in a subgroup, when they went round.
fn members_of(subgroup: u32, subgroups: u32, n: u32) -> u32 {
    (n + subgroups - 1 - subgroup) / subgroups
}

fn unicasts(report: &Report) -> u32 {
    let unicast = |to| !matches!(to, Recipient::Group | Recipient::Subset(_));
    assert!(report.open_messages().all(|message| unicast(message.to)));
    report.open_messages().count() as u32
}

fn every_member_unwraps_once(report: &Report, members: impl Iterator<Item = u32>) {
    for member in members {
        assert_eq!(calls(report, MemberId(member).into(), Primitive::Unwrap), 1);
    }
}

/// Calls, and what they were of.
fn tally(report: &Report, party: PartyId, primitive: Primitive) -> (u32, u32) {
    let tally = report.meter(party).tally(primitive);
    (tally.calls as u32, tally.amount as u32)
}

fn calls(report: &Report, party: PartyId, primitive: Primitive) -> u32 {
    tally(report, party, primitive).0
}

fn permanent(rig: &Rig, party: PartyId) -> u32 {
    rig.party(party).footprint().permanent as u32
}
