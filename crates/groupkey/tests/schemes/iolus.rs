//! Iolus costs what the header of its file says, a change touches one subgroup only, and a message
//! reaches every member and nobody else.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::Misbehaviour;
use groupkey::rig::{Report, Rig, Settings};
use groupkey::{MemberId, PartyId, Recipient, SubgroupId};

#[test]
fn operations_cost_what_the_formulas_say() {
    for profile in Profile::ALL {
        for subgroups in [1, 2, 3, 7] {
            for n in [2, 3, 4, 8, 9, 17, 64, 65] {
                check(profile, subgroups, n);
            }
        }
    }
}

fn check(profile: Profile, subgroups: u32, n: u32) {
    let active = subgroups.min(n);
    let mut rig = rig(profile, subgroups);
    let created = rig.create(n).unwrap();
    assert_eq!(sent(&created), (active + n, 0));
    assert_eq!(tally(&created, Controller, Primitive::Wrap), active);
    assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
    for subgroup in 0..active {
        let members = members_of(subgroup, subgroups, n);
        let id = SubgroupId(subgroup).into();
        assert_eq!(tally(&created, id, Primitive::Wrap), members);
        assert_eq!(tally(&created, id, Primitive::Unwrap), 1);
        assert_eq!(permanent(&rig, id), 16 * (members + 3));
    }
    assert!((0..n).all(|member| unwraps(&created, member) == 1));

    let message = rig.send(n - 1).unwrap();
    assert_eq!(sent(&message), (0, active + 1));
    for member in 0..n {
        let sender = member == n - 1;
        assert_eq!(unwraps(&message, member), u32::from(!sender));
        assert_eq!(tally(&message, MemberId(member).into(), Primitive::Wrap), u32::from(sender));
        assert_eq!(permanent(&rig, MemberId(member).into()), 48);
    }
    for subgroup in 0..active {
        let id = SubgroupId(subgroup).into();
        assert_eq!(tally(&message, id, Primitive::Wrap), 1);
        assert_eq!(tally(&message, id, Primitive::Unwrap), 1);
    }

    // The newcomer goes to the subgroup with the fewest.
    let here = n % subgroups;
    let first_there = n < subgroups;
    let added = rig.add(n).unwrap();
    assert_eq!(sent(&added), if first_there { (2, 0) } else { (2, 1) });
    assert_eq!(tally(&added, Controller, Primitive::Wrap), 1);
    let wraps = if first_there { 1 } else { 2 };
    assert_eq!(tally(&added, SubgroupId(here).into(), Primitive::Wrap), wraps);
    assert_untouched_elsewhere(&added, here, subgroups, n + 1);

    let members = members_of(here, subgroups, n + 1);
    rig.sleep(here);
    let removed = rig.remove(n).unwrap();
    assert_eq!(sent(&removed), (1, 1));
    assert_eq!(tally(&removed, SubgroupId(here).into(), Primitive::Wrap), members - 1);
    assert_untouched_elsewhere(&removed, here, subgroups, n);

    if here < n {
        let caught_up = rig.catch_up(here).unwrap();
        assert_eq!(sent(&caught_up), (2, 0));
        assert_eq!(tally(&caught_up, SubgroupId(here).into(), Primitive::Wrap), 1);
        assert_eq!(unwraps(&caught_up, here), 1);
    }
    rig.send(n - 1).unwrap();
    rig.agreed_key().unwrap();
    assert!(!rig.outsider_knows_key());
}

#[test]
fn a_message_that_comes_again_is_refused() {
    let mut rig = rig(Profile::Sound, 2);
    rig.create(6).unwrap();
    let first = rig.send(0).unwrap();
    rig.send(2).unwrap();
    let second = rig.send(0).unwrap();
    let key = rig.agreed_key().unwrap().clone();
    for message in first.messages.iter().chain(&second.messages) {
        for member in 0..6 {
            let refused = rig.inject(MemberId(member).into(), &message.bytes).unwrap_err();
            assert!(
                refused == Misbehaviour::Replayed.into()
                    || refused == Misbehaviour::NotForUs.into()
                    || refused == Misbehaviour::UnexpectedSender.into()
                    || refused == Misbehaviour::WrongKey.into(),
                "{refused}"
            );
        }
    }
    assert_eq!(&key, rig.agreed_key().unwrap());
    // An earlier key of its subgroup does not open what is sent under the next.
    rig.add(6).unwrap();
    rig.remove(4).unwrap();
    rig.send(1).unwrap();
    assert!(!rig.outsider_knows_key());
}

#[test]
fn former_members_do_not_get_messages_even_if_they_meet() {
    let mut rig = rig(Profile::Sound, 3);
    rig.create(12).unwrap();
    for leaver in [0, 1, 2, 6, 7] {
        rig.remove(leaver).unwrap();
        rig.send(5).unwrap();
        assert!(!rig.outsider_knows_key());
    }
}

fn assert_untouched_elsewhere(report: &Report, here: u32, subgroups: u32, n: u32) {
    for subgroup in (0..subgroups).filter(|&subgroup| subgroup != here) {
        assert!(!report.meters.contains_key(&SubgroupId(subgroup).into()));
    }
    for member in (0..n).filter(|member| member % subgroups != here) {
        assert!(!report.meters.contains_key(&MemberId(member).into()));
    }
}

fn rig(profile: Profile, subgroups: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups)];
    Rig::new(scheme("iolus").unwrap(), Settings { profile, parameters, ..Settings::default() })
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

fn tally(report: &Report, party: PartyId, primitive: Primitive) -> u32 {
    report.meter(party).tally(primitive).amount as u32
}

fn unwraps(report: &Report, member: u32) -> u32 {
    tally(report, MemberId(member).into(), Primitive::Unwrap)
}

fn permanent(rig: &Rig, party: PartyId) -> u32 {
    rig.party(party).footprint().permanent as u32
}
