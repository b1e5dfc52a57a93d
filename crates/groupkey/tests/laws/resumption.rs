//! The controller of a subgroup that missed changes comes back with one request, in every hybrid
//! scheme: even if members joined, left or came back meanwhile, and even if it missed its own
//! enrolment.

use groupkey::catalogue::{Class, Law, Profile, SCHEMES, Scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{Channel, MemberId, Operation, PartyId, Recipient, SubgroupId};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

const AWAY: PartyId = PartyId::SubgroupController(SubgroupId(0));

#[test]
fn one_request_and_one_answer_bring_it_back() {
    for (scheme, profile) in hybrid_schemes() {
        let mut rig = rig(scheme, profile, 2);
        rig.create(6).unwrap();
        rig.put_to_sleep(AWAY);
        change(&mut rig, scheme);
        let missed = rig.wake(AWAY).unwrap();
        let told = |to: Recipient| {
            let open = missed.messages.iter().filter(|message| message.channel == Channel::Open);
            open.filter(|message| message.to == to).count()
        };
        assert_eq!(told(Recipient::Controller), 1, "{}", scheme.id);
        assert_eq!(told(Recipient::SubgroupController(SubgroupId(0))), 1, "{}", scheme.id);
        check(&mut rig, scheme);
        // It follows again.
        change(&mut rig, scheme);
        check(&mut rig, scheme);
    }
}

#[test]
fn it_costs_what_the_headers_say() {
    // Wraps of the controller with m members, wraps of the subgroup's controller and keys in them.
    type Costs = fn(u32) -> [u32; 3];
    let costs: [(&str, Costs); 9] = [
        ("igkmp", |m| [1, m, 2 * m]),
        ("segcom", |m| [1, m, 2 * m]),
        ("tkh", |m| [1, m, 3 * m]),
        ("kronos", |m| [1, m, 2 * m]),
        ("dep", |m| [m + 2, m + 1, m + 2]),
        ("lnt", |m| [1, m, 3 * m - 2]),
        ("riseg", |m| [1, m, 3 * m - 2]),
        ("alohali-r", |m| [1, m, m]),
        ("iolus", |m| [1, m, m]),
    ];
    for (id, costs) in costs {
        let scheme = groupkey::catalogue::scheme(id).unwrap();
        for n in [4, 5, 8, 9, 16, 17, 33] {
            let parameters = vec![("subgroups", 2)];
            let mut rig = Rig::new(scheme, Settings { parameters, ..Settings::default() });
            rig.create(n).unwrap();
            rig.put_to_sleep(AWAY);
            change(&mut rig, scheme);
            let m = rig.members().filter(|member| member % 2 == 0).count() as u32;
            let report = rig.wake(AWAY).unwrap();
            assert_eq!(report.open_messages().count() as u32, 2 + m, "{id}");
            let wraps = |party| report.meter(party).tally(Primitive::Wrap);
            let (controller, subgroup) = (wraps(PartyId::Controller), wraps(AWAY));
            let real = [controller.calls, subgroup.calls, subgroup.amount];
            assert_eq!(real.map(|count| count as u32), costs(m), "{id}, {m} members");
        }
    }
}

#[test]
fn it_learns_who_came_and_went_and_came_back() {
    for (scheme, profile) in hybrid_schemes() {
        if !scheme.operations.contains(&Operation::Remove) {
            continue;
        }
        let mut rig = rig(scheme, profile, 2);
        rig.create(8).unwrap();
        rig.put_to_sleep(AWAY);
        // Of its subgroup: one goes, one goes and comes back as another device, two come.
        rig.remove(2).unwrap();
        rig.remove(4).unwrap();
        rig.add(4).unwrap();
        rig.add(10).unwrap();
        rig.add(11).unwrap();
        assert!(rig.is_cut_off(0) && rig.is_cut_off(4));
        let came_back = rig.wake(AWAY).unwrap();
        let enrolled = enrolled(&came_back);
        assert!(enrolled.contains(&MemberId(4)), "{}: {enrolled:?}", scheme.id);
        assert!(!enrolled.contains(&MemberId(0)), "{}: it has its key", scheme.id);
        check(&mut rig, scheme);
        assert!(!rig.outsider_knows_key(), "{}", scheme.id);
        for member in [4, 0] {
            rig.remove(member).unwrap();
            check(&mut rig, scheme);
            assert!(!rig.outsider_knows_key(), "{}", scheme.id);
        }
    }
}

#[test]
fn it_may_have_missed_its_own_enrolment() {
    for (scheme, profile) in hybrid_schemes() {
        if !scheme.operations.contains(&Operation::Add) {
            continue;
        }
        let mut rig = rig(scheme, profile, 3);
        rig.create(2).unwrap();
        let third = SubgroupId(2).into();
        rig.put_to_sleep(third);
        rig.add(2).unwrap();
        rig.wake(third).unwrap();
        check(&mut rig, scheme);
        rig.add(3).unwrap();
        check(&mut rig, scheme);
    }
}

#[test]
fn without_anything_missed_nothing_changes() {
    for (scheme, profile) in hybrid_schemes() {
        let mut rig = rig(scheme, profile, 2);
        rig.create(6).unwrap();
        let before = rig.key_of(AWAY).map(|(epoch, key)| (epoch, key.clone()));
        rig.wake(AWAY).unwrap_err();
        assert_eq!(rig.key_of(AWAY).map(|(epoch, key)| (epoch, key.clone())), before);
        change(&mut rig, scheme);
        check(&mut rig, scheme);
    }
}

#[test]
fn a_member_that_slept_as_well_comes_back_after_it() {
    for (scheme, profile) in hybrid_schemes() {
        let mut rig = rig(scheme, profile, 2);
        rig.create(6).unwrap();
        rig.put_to_sleep(AWAY);
        rig.sleep(2);
        change(&mut rig, scheme);
        rig.wake(AWAY).unwrap();
        rig.catch_up(2).unwrap();
        check(&mut rig, scheme);
    }
}

#[test]
fn a_promise_that_it_missed_is_kept() {
    for profile in Profile::ALL {
        let marks = groupkey::catalogue::scheme("marks").unwrap();
        let mut rig = rig(marks, profile, 1);
        rig.create(3).unwrap();
        rig.put_to_sleep(AWAY);
        rig.grant(7, 3, 4).unwrap();
        rig.rekey().unwrap();
        assert!(rig.key_of(MemberId(7).into()).is_none());
        rig.wake(AWAY).unwrap();
        rig.rekey().unwrap();
        let agreed = rig.agreed_key().unwrap().clone();
        assert_eq!(rig.key_of(MemberId(7).into()).map(|(_, key)| key), Some(&agreed));
    }
}

fn hybrid_schemes() -> impl Iterator<Item = (&'static Scheme, Profile)> {
    let hybrid = SCHEMES.iter().filter(|scheme| scheme.class() == Class::Hybrid);
    hybrid.flat_map(|scheme| Profile::ALL.map(|profile| (scheme, profile)))
}

fn rig(scheme: &'static Scheme, profile: Profile, subgroups: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups)];
    Rig::new(scheme, Settings { profile, parameters, hostile: true, ..Settings::default() })
}

/// Something that concerns the first subgroup.
fn change(rig: &mut Rig, scheme: &Scheme) {
    if scheme.operations.contains(&Operation::Remove) {
        let leaver = rig.members().filter(|member| member % 2 == 0).last().unwrap();
        rig.remove(leaver).unwrap();
    } else {
        rig.rekey().unwrap();
    }
}

/// All members, those of the first subgroup too, have the key of the group or of a message.
fn check(rig: &mut Rig, scheme: &Scheme) {
    if scheme.law == Law::OneMessage {
        rig.send(1).unwrap();
    }
    assert!(rig.members().all(|member| !rig.is_cut_off(member)));
    rig.agreed_key().unwrap_or_else(|error| panic!("{}: {error}", scheme.id));
}

/// Who was given an individual key.
fn enrolled(report: &OperationReport) -> Vec<MemberId> {
    let from_subgroup = report.messages.iter().filter(|message| message.from == AWAY);
    let confidential = from_subgroup.filter(|message| message.channel == Channel::Confidential);
    confidential
        .filter_map(|message| match message.to {
            Recipient::Member(member) => Some(member),
            _ => None,
        })
        .collect()
}
