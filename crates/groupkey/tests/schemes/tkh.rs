//! TKH costs what the header of its file says, with full and with ragged sibling sets.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::rig::{Report, Rig, Settings};
use groupkey::{MemberId, PartyId, Recipient, SubgroupId};

#[test]
fn operations_cost_what_the_formulas_say() {
    for (subgroups, siblings) in [(1, 2), (1, 8), (2, 4), (3, 8), (7, 3)] {
        for n in [2, 3, 4, 8, 9, 16, 17, 64, 65] {
            check(subgroups, siblings, n);
        }
    }
}

fn check(subgroups: u32, siblings: u32, n: u32) {
    let active = subgroups.min(n);
    let parameters = vec![("subgroups", subgroups), ("siblings", siblings)];
    let mut rig = Rig::new(scheme("tkh").unwrap(), Settings { parameters, ..Settings::default() });
    let created = rig.create(n).unwrap();
    assert_eq!(sent(&created), (active + n, 0));
    assert_eq!(wraps(&created, Controller), (active, active));
    assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
    assert_eq!(permanent(&rig, MemberId(n - 1).into()), 16 * 4);
    for subgroup in 0..active {
        let members = members_of(subgroup, subgroups, n);
        let id = SubgroupId(subgroup).into();
        assert_eq!(wraps(&created, id), (members, 3 * members));
        assert_eq!(unwraps(&created, id), 1);
        assert_eq!(permanent(&rig, id), 16 * (members + 3 + members.div_ceil(siblings)));
    }
    assert!((0..n).all(|member| unwraps(&created, MemberId(member).into()) == 1));

    // The newcomer's subgroup, and its slot there.
    let (here, slot) = (n % subgroups, n / subgroups);
    let active = subgroups.min(n + 1);
    let in_set = slot % siblings;
    let added = rig.add(n).unwrap();
    assert_eq!(sent(&added), (active + 1, if slot == 0 { active - 1 } else { active }));
    assert_eq!(wraps(&added, Controller), (active, active));
    let expected = match (slot, in_set) {
        (0, _) => (1, 3),
        (_, 0) => (2, 3 + 2),
        _ => (3, 3 + 2 + 1),
    };
    assert_eq!(wraps(&added, SubgroupId(here).into()), expected);
    for other in (0..active).filter(|&other| other != here) {
        assert_eq!(wraps(&added, SubgroupId(other).into()), (1, 1));
    }
    for member in 0..n {
        let sibling =
            member % subgroups == here && member / subgroups / siblings == slot / siblings;
        assert_eq!(unwraps(&added, MemberId(member).into()), 1 + u32::from(sibling));
    }

    let rekeyed = rig.rekey().unwrap();
    assert_eq!(sent(&rekeyed), (active, active));

    // Slots before the newcomer's are full: whole sets without it, and its own.
    let other_sets = slot / siblings;
    let removed = rig.remove(n).unwrap();
    assert_eq!(sent(&removed), (active + in_set, active - 1 + other_sets));
    let here = SubgroupId(here).into();
    assert_eq!(wraps(&removed, here), (in_set + other_sets, 3 * in_set + 2 * other_sets));
    assert!((0..n).all(|member| unwraps(&removed, MemberId(member).into()) == 1));

    rig.sleep(0);
    rig.add(n + 1).unwrap();
    rig.rekey().unwrap();
    let caught_up = rig.catch_up(0).unwrap();
    assert_eq!(sent(&caught_up), (2, 0));
    assert_eq!(wraps(&caught_up, SubgroupId(0).into()), (1, 3));
    assert_eq!(unwraps(&caught_up, MemberId(0).into()), 1);
    rig.agreed_key().unwrap();
}

#[test]
fn both_profiles_are_the_same() {
    let bytes = |profile| {
        let parameters = vec![("subgroups", 2)];
        let settings = Settings { parameters, profile, ..Settings::default() };
        let mut rig = Rig::new(scheme("tkh").unwrap(), settings);
        let reports = [rig.create(20), rig.remove(3), rig.add(20)];
        let messages = reports.into_iter().flat_map(|report| report.unwrap().messages);
        messages.map(|message| message.bytes.to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(bytes(Profile::Sound), bytes(Profile::Published));
}

/// How many of n members are in a subgroup, when they went round.
fn members_of(subgroup: u32, subgroups: u32, n: u32) -> u32 {
    (n + subgroups - 1 - subgroup) / subgroups
}

/// Unicasts, and multicasts.
fn sent(report: &Report) -> (u32, u32) {
    let multicast = |to| matches!(to, Recipient::Subset(_));
    let multicasts = report.open_messages().filter(|message| multicast(message.to)).count() as u32;
    (report.open_messages().count() as u32 - multicasts, multicasts)
}

/// Calls, and wrapped keys.
fn wraps(report: &Report, party: PartyId) -> (u32, u32) {
    let tally = report.meter(party).tally(Primitive::Wrap);
    (tally.calls as u32, tally.amount as u32)
}

/// Calls.
fn unwraps(report: &Report, party: PartyId) -> u32 {
    report.meter(party).tally(Primitive::Unwrap).calls as u32
}

fn permanent(rig: &Rig, party: PartyId) -> u32 {
    rig.party(party).footprint().permanent as u32
}
