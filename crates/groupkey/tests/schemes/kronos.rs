//! Kronos costs what the header of its file says, with full, ragged and empty subgroups, and whether
//! the master key stays or is replaced.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::rig::{Report, Rig, Settings};
use groupkey::{MemberId, PartyId, Recipient, SubgroupId};

#[test]
fn operations_cost_what_the_formulas_say() {
    for subgroups in [1, 2, 3, 7] {
        for n in [2, 3, 4, 8, 9, 17, 64, 65] {
            let active = subgroups.min(n);
            let mut rig = rig(Profile::Sound, subgroups, 0);
            let created = rig.create(n).unwrap();
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(wraps(&created, Controller), (active, 2 * active));
            assert_eq!(derivations(&created, Controller), 2);
            for subgroup in 0..active {
                let members = members_of(subgroup, subgroups, n);
                let id = SubgroupId(subgroup).into();
                assert_eq!(wraps(&created, id), (members, 2 * members));
                assert_eq!(derivations(&created, id), 2);
                assert_eq!(created.meter(id).tally(Primitive::Unwrap).calls, 1);
                assert_eq!(permanent(&rig, id), 16 * (members + 5));
            }
            assert_eq!(unwraps(&created, n - 1), 1);
            assert_eq!(permanent(&rig, Controller), 16 * (active + 3));
            assert_eq!(permanent(&rig, MemberId(0).into()), 48);

            let rekeyed = rig.rekey().unwrap();
            assert_eq!(sent(&rekeyed), (0, active));
            assert_eq!(wraps(&rekeyed, Controller), (0, 0));
            assert_eq!(derivations(&rekeyed, Controller), 2);
            for subgroup in 0..active {
                let id = SubgroupId(subgroup).into();
                assert_eq!(wraps(&rekeyed, id), (1, 1));
                assert_eq!(derivations(&rekeyed, id), 2);
            }
            assert!((0..n).all(|member| unwraps(&rekeyed, member) == 1));

            // The newcomer goes to the subgroup with the fewest, of which it may be the first.
            let here = n % subgroups;
            let opens = u32::from(n < subgroups);
            let active = subgroups.min(n + 1);
            let added = rig.add(n).unwrap();
            assert_eq!(sent(&added), (active + 1, active - opens));
            assert_eq!(wraps(&added, Controller), (opens, 2 * opens));
            let calls = 2 - opens;
            assert_eq!(wraps(&added, SubgroupId(here).into()), (calls, 2 * calls));
            for other in (0..active).filter(|&other| other != here) {
                assert_eq!(wraps(&added, SubgroupId(other).into()), (1, 1));
            }
            assert!((0..=n).all(|member| unwraps(&added, member) == 1));

            let members = members_of(here, subgroups, n + 1);
            let removed = rig.remove(n).unwrap();
            assert_eq!(sent(&removed), (active + members - 1, active - 1));
            assert_eq!(wraps(&removed, Controller), (active, 2 * active));
            let here = SubgroupId(here).into();
            assert_eq!(wraps(&removed, here), (members - 1, 2 * (members - 1)));
            assert_eq!(removed.meter(here).tally(Primitive::Unwrap).calls, 1);
            assert!((0..n).all(|member| unwraps(&removed, member) == 1));

            rig.sleep(0);
            rig.add(n + 1).unwrap();
            rig.rekey().unwrap();
            rig.rekey().unwrap();
            let caught_up = rig.catch_up(0).unwrap();
            assert_eq!(sent(&caught_up), (2, 0));
            assert_eq!(wraps(&caught_up, SubgroupId(0).into()), (1, 2));
            assert_eq!(unwraps(&caught_up, 0), 1);
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn a_new_master_key_costs_a_message_for_each_subgroup() {
    for subgroups in [1, 2, 7] {
        for reseed in [1, 2, 3, 24] {
            let mut rig = rig(Profile::Sound, subgroups, reseed);
            rig.create(17).unwrap();
            let mut served = 1;
            for _ in 0..60 {
                let rekeyed = rig.rekey().unwrap();
                let seeds = if served == reseed { subgroups } else { 0 };
                served = if served == reseed { 1 } else { served + 1 };
                assert_eq!(sent(&rekeyed), (seeds, subgroups));
                assert_eq!(wraps(&rekeyed, Controller), (seeds, 2 * seeds));
                assert_eq!(derivations(&rekeyed, Controller), 2);
                rig.agreed_key().unwrap();
            }
            // A removal brings a new one, which serves its time from then on.
            rig.remove(3).unwrap();
            for served in 1..=reseed {
                let seeds = if served == reseed { subgroups } else { 0 };
                assert_eq!(sent(&rig.rekey().unwrap()), (seeds, subgroups));
            }
        }
    }
}

#[test]
fn the_published_form_sends_to_everybody_singly() {
    for subgroups in [1, 2, 3, 7] {
        for n in [3, 4, 8, 9, 17, 64] {
            let mut rig = rig(Profile::Published, subgroups, 0);
            let created = rig.create(n).unwrap();
            let active = subgroups.min(n);
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(derivations(&created, Controller), 1);
            assert_eq!(permanent(&rig, Controller), 16 * (active + 2));
            let first = SubgroupId(0).into();
            assert_eq!(permanent(&rig, first), 16 * (members_of(0, subgroups, n) + 3));
            assert_eq!(permanent(&rig, MemberId(0).into()), 32);

            let opens = u32::from(n < subgroups);
            let added = rig.add(n).unwrap();
            let active = subgroups.min(n + 1);
            assert_eq!(sent(&added), (active + n + 1, 0));
            assert_eq!(wraps(&added, Controller), (opens, 2 * opens));
            assert_eq!(derivations(&added, first), 1);
            let rekeyed = rig.rekey().unwrap();
            assert_eq!(sent(&rekeyed), (n + 1, 0));
            let removed = rig.remove(1).unwrap();
            assert_eq!(sent(&removed), (active + n, 0));
            for report in [&added, &rekeyed, &removed] {
                assert_eq!(unwraps(report, 0), 1);
            }
            assert_eq!(wraps(&rekeyed, Controller), (0, 0));
            assert_eq!(wraps(&removed, Controller), (0, 0));
        }
    }
}

#[test]
fn a_subgroup_may_become_empty_and_fill_again() {
    for profile in Profile::ALL {
        let mut rig = rig(profile, 3, 4);
        rig.create(3).unwrap();
        rig.remove(1).unwrap();
        for newcomer in 10..16 {
            rig.agreed_key().unwrap();
            rig.rekey().unwrap();
            let report = rig.add(newcomer).unwrap();
            let first = newcomer == 10 && profile == Profile::Sound;
            assert_eq!(sent(&report).1, if first { 2 } else { 3 * sound(profile) });
            rig.agreed_key().unwrap();
        }
        assert!(!rig.outsider_knows_key());
    }
}

fn sound(profile: Profile) -> u32 {
    u32::from(profile == Profile::Sound)
}

fn rig(profile: Profile, subgroups: u32, reseed: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups), ("reseed", reseed)];
    Rig::new(scheme("kronos").unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// How many of n members are in a subgroup, when they went round.
fn members_of(subgroup: u32, subgroups: u32, n: u32) -> u32 {
    (n + subgroups - 1 - subgroup) / subgroups
}

/// Unicasts, and multicasts.
fn sent(report: &Report) -> (u32, u32) {
    let multicast = |to| matches!(to, Recipient::Subset(_));
    let multicasts = report.open_messages().filter(|message| multicast(message.to)).count() as u32;
    assert!(report.open_messages().all(|message| message.to != Recipient::Group));
    (report.open_messages().count() as u32 - multicasts, multicasts)
}

/// Calls, and wrapped keys.
fn wraps(report: &Report, party: PartyId) -> (u32, u32) {
    let tally = report.meter(party).tally(Primitive::Wrap);
    (tally.calls as u32, tally.amount as u32)
}

/// Calls.
fn unwraps(report: &Report, member: u32) -> u32 {
    report.meter(MemberId(member).into()).tally(Primitive::Unwrap).calls as u32
}

fn derivations(report: &Report, party: PartyId) -> u32 {
    report.meter(party).tally(Primitive::Derive).calls as u32
}

fn permanent(rig: &Rig, party: PartyId) -> u32 {
    rig.party(party).footprint().permanent as u32
}
