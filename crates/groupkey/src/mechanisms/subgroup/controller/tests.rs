//! What a subgroup controller reports when it missed something. Enrolments go another way than
//! changes and may arrive in another order. An answer that it must hand on may be of an unknown
//! epoch.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::*;
use crate::identity::Epoch;
use crate::mechanisms::subgroup::relay::fixture::{PostedMessage, RelayFixture};
use crate::party::Party;
use crate::scheme::Profile;
use crate::schemes::hybrid::igkmp::{AreaMember, Distributor, SubgroupController};
use crate::schemes::hybrid::{dep, segcom};

type Group = RelayFixture<SubgroupController, AreaMember>;

const MISSED: Error =
    Error::Misbehaved(Misbehaviour::SkippedEpoch { got: Epoch(1), current: Epoch(0) });

fn group() -> Group {
    let subgroup = SubgroupController::new(Profile::Sound, SubgroupId(0));
    let members = (0..3).map(|_| AreaMember::new(Profile::Sound)).collect();
    RelayFixture::of_strangers(Box::new(Distributor::new(1)), subgroup, members)
}

fn hold_back(group: &mut Group, command: Command<'_>) -> Vec<PostedMessage> {
    group.begin(command);
    core::iter::from_fn(|| group.next()).collect()
}

fn catch_up(group: &mut Group) {
    let ask = |cx: &mut Context<'_>, party: &mut dyn Party| cx.command(party, Command::CatchUp);
    group.step(SubgroupId(0).into(), ask).unwrap();
    group.settle();
}

fn who_has_a_key(group: &Group) -> [bool; 3] {
    core::array::from_fn(|member| group.members[member].group_key().is_some())
}

#[test]
fn who_is_enrolled_before_a_late_creation_comes_does_not_join_with_it() {
    let mut group = group();
    group.command(Command::Enroll(&[MemberId(0), MemberId(1)]));
    let created = hold_back(&mut group, Command::Create(&[MemberId(0), MemberId(1)]));
    group.command(Command::Enroll(&[MemberId(2)]));
    let [creation] = &created[..] else { panic!("one message: {created:?}") };
    assert_eq!(group.deliver(creation), Err(MISSED));
    group.settle();
    assert_eq!(who_has_a_key(&group), [false; 3]);
    catch_up(&mut group);
    assert_eq!(who_has_a_key(&group), [true, true, false]);
}

#[test]
fn a_founder_whose_enrolment_comes_late_is_served() {
    let mut group = group();
    group.command(Command::Enroll(&[MemberId(0), MemberId(1)]));
    let enrolled = hold_back(&mut group, Command::Enroll(&[MemberId(2)]));
    let founders = [0, 1, 2].map(MemberId);
    let created = hold_back(&mut group, Command::Create(&founders));
    let ([enrolment], [creation]) = (&enrolled[..], &created[..]) else {
        panic!("one message each: {enrolled:?}, {created:?}")
    };
    assert_eq!(group.deliver(creation), Err(MISSED));
    catch_up(&mut group);
    assert_eq!(who_has_a_key(&group), [true; 3]);
    assert!(group.deliver(enrolment).is_err());
}

#[test]
fn an_enrolment_that_was_lost_is_asked_for_when_its_member_is_named() {
    let mut group = group();
    group.command(Command::Enroll(&[MemberId(0), MemberId(1)]));
    group.command(Command::Create(&[MemberId(0), MemberId(1)]));
    let lost = hold_back(&mut group, Command::Enroll(&[MemberId(2)]));
    assert_eq!(lost.len(), 1);
    let missed = |got| Err(Misbehaviour::SkippedEpoch { got, current: Epoch(1) }.into());
    let added = hold_back(&mut group, Command::Add(MemberId(2)));
    assert_eq!(group.deliver(&added[0]), missed(Epoch(2)));
    group.step(SubgroupId(0).into(), |cx, party| cx.command(party, Command::CatchUp)).unwrap();
    let request = group.next().unwrap();
    group.deliver(&request).unwrap();
    let (enrolled, standing) = (group.next().unwrap(), group.next().unwrap());
    assert_eq!(group.deliver(&standing), missed(Epoch(2)));
    group.deliver(&enrolled).unwrap();
    group.deliver(&standing).unwrap();
    group.settle();
    let key = group.subgroup.group_key().unwrap();
    assert!(group.members.iter().all(|member| member.group_key() == Some(key)));
    assert_eq!(key.0, Epoch(2));
}

#[test]
fn without_a_shared_key_everything_was_missed() {
    let mut group = group();
    let enrolled = hold_back(&mut group, Command::Enroll(&[0, 1, 2].map(MemberId)));
    let created = hold_back(&mut group, Command::Create(&[0, 1, 2].map(MemberId)));
    let missed = |got| Err(Misbehaviour::SkippedEpoch { got, current: Epoch(0) }.into());
    assert_eq!(group.deliver(&enrolled[1]), missed(Epoch(0)));
    assert_eq!(group.deliver(&created[0]), missed(Epoch(1)));
    catch_up(&mut group);
    assert_eq!(who_has_a_key(&group), [true; 3]);
}

/// A member asks. The controller's answer is of an epoch unknown to the subgroup's controller.
fn is_told_of_a_later_epoch<S: Party, M: Party>(mut group: RelayFixture<S, M>) {
    group.begin(Command::Rekey);
    assert!(group.next().is_some() && group.next().is_none(), "it is lost");
    group.step(MemberId(1).into(), |cx, party| cx.command(party, Command::CatchUp)).unwrap();
    for _ in ["up to the subgroup's controller", "on to the controller"] {
        let request = group.next().unwrap();
        group.deliver(&request).unwrap();
    }
    let answer = group.next().unwrap();
    let missed = Misbehaviour::SkippedEpoch { got: Epoch(2), current: Epoch(1) };
    assert_eq!(group.deliver(&answer), Err(missed.into()));
}

#[test]
fn an_answer_that_is_ahead_of_who_hands_it_on_says_that_something_was_missed() {
    let (profile, id) = (Profile::Sound, SubgroupId(0));
    is_told_of_a_later_epoch(RelayFixture::new(
        Box::new(dep::Controller::new(profile, 1)),
        dep::SubgroupController::new(profile, id),
        (0..3).map(|_| dep::Member::new(profile)).collect(),
    ));
    is_told_of_a_later_epoch(RelayFixture::new(
        Box::new(segcom::Controller::new(1)),
        segcom::SubgroupController::new(profile, id),
        (0..3).map(|_| segcom::Member::new(profile)).collect(),
    ));
}
