//! IGKMP costs what the header of its file says, with full and with ragged subgroups.

use aes_kw::KwAes128;
use aes_kw::cipher::KeyInit;
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
            let mut rig = rig(Profile::Sound, subgroups);
            let created = rig.create(n).unwrap();
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(wraps(&created, Controller), (active, active));
            for subgroup in 0..active {
                let members = members_of(subgroup, subgroups, n);
                let id = SubgroupId(subgroup).into();
                assert_eq!(wraps(&created, id), (members, 2 * members));
                assert_eq!(created.meter(id).tally(Primitive::Unwrap).calls, 1);
                assert_eq!(permanent(&rig, id), 16 * (members + 3));
            }
            assert_eq!(unwraps(&created, n - 1), 1);
            assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
            assert_eq!(permanent(&rig, MemberId(0).into()), 48);

            // The newcomer goes to the subgroup with the fewest.
            let here = n % subgroups;
            let active = subgroups.min(n + 1);
            let added = rig.add(n).unwrap();
            let first_there = n < subgroups;
            assert_eq!(sent(&added), (active + 1, active - u32::from(first_there)));
            assert_eq!(wraps(&added, Controller), (active, active));
            let wraps_here = if first_there { (1, 2) } else { (2, 4) };
            assert_eq!(wraps(&added, SubgroupId(here).into()), wraps_here);
            for other in (0..active).filter(|&other| other != here) {
                assert_eq!(wraps(&added, SubgroupId(other).into()), (1, 1));
            }
            assert!((0..=n).all(|member| unwraps(&added, member) == 1));

            let rekeyed = rig.rekey().unwrap();
            assert_eq!(sent(&rekeyed), (active, active));
            assert!((0..=n).all(|member| unwraps(&rekeyed, member) == 1));

            let members = members_of(here, subgroups, n + 1);
            let removed = rig.remove(n).unwrap();
            assert_eq!(sent(&removed), (active + members - 1, active - 1));
            let here = SubgroupId(here).into();
            assert_eq!(wraps(&removed, here), (members - 1, 2 * (members - 1)));
            assert!((0..n).all(|member| unwraps(&removed, member) == 1));

            rig.sleep(0);
            rig.add(n + 1).unwrap();
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
fn the_published_form_sends_to_everybody_singly() {
    for subgroups in [1, 2, 3, 7] {
        for n in [3, 4, 8, 9, 17, 64] {
            let mut rig = rig(Profile::Published, subgroups);
            let created = rig.create(n).unwrap();
            assert_eq!(sent(&created), (subgroups.min(n) + n, 0));
            assert_eq!(permanent(&rig, MemberId(0).into()), 32);
            for (report, members) in [(rig.add(n), n + 1), (rig.rekey(), n + 1), (rig.remove(1), n)]
            {
                let report = report.unwrap();
                assert_eq!(sent(&report), (subgroups.min(n + 1) + members, 0));
                assert_eq!(unwraps(&report, 0), 1);
            }
        }
    }
}

#[test]
fn nothing_is_ever_wrapped_under_no_key() {
    for id in ["igkmp", "segcom", "tkh", "iolus", "dep"] {
        for profile in Profile::ALL {
            let parameters = vec![("subgroups", 5)];
            let settings = Settings { parameters, profile, ..Settings::default() };
            let mut rig = Rig::new(scheme(id).unwrap(), settings);
            let reports = [rig.create(3), rig.add(3), rig.add(4), rig.remove(1), rig.add(5)];
            let none = KwAes128::new(&[0; 16].into());
            for message in reports.iter().flat_map(|report| &report.as_ref().unwrap().messages) {
                for keys in 1..=3 {
                    for wrapped in message.bytes.windows(16 * keys + 8) {
                        let mut opened = vec![0; 16 * keys];
                        assert!(
                            none.unwrap_key(wrapped, &mut opened).is_err(),
                            "{id}: {message:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_subgroup_may_become_empty_and_fill_again() {
    let mut rig = rig(Profile::Sound, 3);
    rig.create(3).unwrap();
    rig.remove(1).unwrap();
    rig.agreed_key().unwrap();
    rig.rekey().unwrap();
    for newcomer in 10..16 {
        rig.add(newcomer).unwrap();
        rig.agreed_key().unwrap();
    }
    assert!(!rig.outsider_knows_key());
}

fn rig(profile: Profile, subgroups: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups)];
    Rig::new(scheme("igkmp").unwrap(), Settings { profile, parameters, ..Settings::default() })
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

fn permanent(rig: &Rig, party: PartyId) -> u32 {
    rig.party(party).footprint().permanent as u32
}
