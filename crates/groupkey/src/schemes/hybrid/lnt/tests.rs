//! What evicted members get, even if members slept meanwhile, and what a captured member can do.

use alloc::vec;
use alloc::vec::Vec;

use groupkey_testkit::sample;

use super::*;
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::mechanisms::subgroup::relay::TOKEN;
use crate::mechanisms::subgroup::relay::fixture::{PostedMessage, RelayFixture};
use crate::party::{Command, Party};

type Group = RelayFixture<SubgroupController<Tree>, RelayMember<Tree>>;

fn group(size: usize) -> Group {
    let subgroup = SubgroupController::new(Tree(Profile::Sound), SubgroupId(0));
    let members = (0..size).map(|_| RelayMember::new(Tree(Profile::Sound))).collect();
    RelayFixture::new(Box::new(Distributor::new(1)), subgroup, members)
}

/// Returns all keys that a member has, or had when it was evicted.
fn keys_of(member: &RelayMember<Tree>) -> Vec<Key> {
    let mut keys = vec![member.link.membership.enrolment().unwrap().key.clone()];
    keys.extend(member.link.place.neighbours().map(|neighbour| neighbour.key.clone()));
    keys.extend(member.group_key().map(|(_, key)| key.clone()));
    keys
}

fn opens(group: &mut Group, keys: &[Key], message: &PostedMessage) -> bool {
    let mut opened = false;
    let mut epochs = Vec::new();
    epochs.extend(group.subgroup.group_key().map(|(epoch, _)| epoch));
    let body = &message.bytes[message.body..];
    let _ = group.step(PartyId::Controller, |cx, _| {
        for (kek, count) in keys.iter().flat_map(|kek| (1..=4).map(move |count| (kek, count))) {
            for wrapped in body.windows(cx.wrapped_length(count)) {
                let mut keys: Vec<_> = (0..count).map(|_| Key::default()).collect();
                opened |= epochs
                    .iter()
                    .any(|&epoch| cx.unwrap_keys(kek, epoch, 0, wrapped, &mut keys).is_ok());
            }
        }
        Ok(())
    });
    opened
}

#[test]
fn the_search_for_keys_finds_those_of_a_member() {
    let mut group = group(7);
    let keys = keys_of(&group.members[5]);
    group.recorded.clear();
    group.command(Command::Rekey);
    let recorded = core::mem::take(&mut group.recorded);
    assert_eq!(recorded.iter().filter(|message| opens(&mut group, &keys, message)).count(), 1);
}

#[test]
fn evicted_members_get_nothing_together_even_if_sleepers_never_notice_that_they_slept() {
    const SIZE: u32 = 9;
    for first in 0..SIZE {
        for sleepers in sample::one_in(13, 0..1u32 << SIZE) {
            if sleepers >> first & 1 == 1 {
                continue;
            }
            let mut group = group(SIZE as usize);
            group.asleep = (0..SIZE).filter(|member| sleepers >> member & 1 == 1).collect();
            let second = (first + 1 + sleepers % 4) % SIZE;
            let mut keys = keys_of(&group.members[first as usize]);
            group.command(Command::Remove(MemberId(first)));
            keys.extend(keys_of(&group.members[second as usize]));
            group.command(Command::Remove(MemberId(second)));
            // The sleepers wake, and do not ask.
            group.asleep.clear();
            group.recorded.clear();
            group.command(Command::Rekey);
            let recorded = core::mem::take(&mut group.recorded);
            for message in &recorded {
                assert!(!opens(&mut group, &keys, message), "{first}, {second}, {sleepers:b}");
            }
            // Evicted members get no key either. All others get it, because they ask.
            let present = group.subgroup.group_key().map(|(epoch, key)| (epoch, key.clone()));
            for member in 0..SIZE {
                let held = group.members[member as usize].group_key();
                let held = held.map(|(epoch, key)| (epoch, key.clone()));
                assert_eq!(held == present, member != first && member != second);
            }
        }
    }
}

#[test]
fn it_is_the_epoch_of_the_last_change_that_stops_who_slept_from_handing_on() {
    let mut group = group(7);
    let evicted = 6;
    let keys = keys_of(&group.members[evicted as usize]);
    // The giver of the last member, and the giver's own giver, do not hear of the eviction.
    group.asleep = [0, 2].into();
    group.command(Command::Remove(MemberId(evicted)));
    group.asleep = [0].into();
    group.recorded.clear();
    group.begin(Command::Rekey);
    while let Some(message) = group.next() {
        group.deliver(&message).unwrap();
    }
    // A token as the root sends it, but with epoch 0 in place of the epoch of the eviction.
    group.asleep.clear();
    let letter = group.recorded.iter().find(|message| message.to == member(0)).unwrap().clone();
    group.deliver(&letter).unwrap();
    let mut token = group.next().unwrap();
    while token.to != member(2) {
        token = group.next().unwrap();
    }
    assert_eq!(token.bytes[token.body], 2);
    group.recorded.clear();
    group.deliver(&token).unwrap();
    let [request] = &core::mem::take(&mut group.recorded)[..] else { panic!("it asks") };
    assert_eq!(request.to, Recipient::SubgroupController(SubgroupId(0)));

    token.bytes[token.body] = 0;
    group.deliver(&token).unwrap();
    let handed_on = core::mem::take(&mut group.recorded);
    assert!(handed_on.iter().any(|message| opens(&mut group, &keys, message)));
}

#[test]
fn a_captured_inner_member_gives_those_below_it_a_key_of_its_own() {
    let mut group = group(7);
    let captured = group.members[1].link.place.takers().next().unwrap();
    let (victim, edge, own) = (captured.id, captured.key.clone(), Key::from_bytes([7; 16]));
    let forged = group.subgroup.group_key().unwrap().0.next();
    let outcome = group.step(MemberId(1).into(), |cx, _| {
        let mut draft = cx.draft(Recipient::Member(victim), forged, Operation::Rekey, TOKEN);
        draft.number(1).number(0).array(0).wrapped(&edge, forged, 0, [&own]).send();
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
    let message = group.next().unwrap();
    group.deliver(&message).unwrap();
    assert_eq!(group.members[victim.0 as usize].group_key(), Some((forged, &own)));
}

#[test]
fn an_envelope_from_before_an_eviction_is_good_for_no_later_epoch() {
    let mut group = group(4);
    let kept = group.recorded.iter().find(|letter| letter.to == member(3)).unwrap().clone();
    group.command(Command::Remove(MemberId(1)));
    let held = group.subgroup.group_key().map(|(epoch, key)| (epoch, key.clone()));
    for epoch in [Epoch(3), Epoch(u64::MAX)] {
        // Member 1 gave keys to member 3. Now member 0 does.
        for (from, refused) in [(1, Misbehaviour::WrongKey), (0, Misbehaviour::UnexpectedSender)] {
            assert_eq!(group.hand_on_again(from, &kept, epoch, &[]), Err(refused.into()));
            let now = group.members[3].group_key().map(|(epoch, key)| (epoch, key.clone()));
            assert!(now == held);
        }
    }
}

#[test]
fn a_place_in_an_envelope_is_as_the_controller_wrote_it() {
    let mut group = group(4);
    group.begin(Command::Rekey);
    let mut letter = group.next().unwrap();
    while letter.to != member(0) {
        group.deliver(&letter).unwrap();
        letter = group.next().unwrap();
    }
    // Since when; no joining member; one envelope: member, position, no giver, two takers.
    let body = letter.body;
    assert_eq!(letter.bytes[body..body + 10], [1, 0, 0x81, 0x85, 0, 0, 0, 0x82, 1, 2]);
    for (place, other) in [(0, 0), (5, 1), (8, 3), (9, 3)] {
        let mut changed = letter.clone();
        changed.bytes[body + place] = other;
        assert_eq!(group.deliver(&changed), Err(Misbehaviour::WrongKey.into()), "{place}");
    }
    assert_eq!(group.deliver(&letter), Ok(()));
}

fn member(id: u32) -> Recipient {
    Recipient::Member(MemberId(id))
}

/// Sends a token under an edge key that a member had, with a key of its own. Returns this key.
fn forge(group: &mut Group, from: u32, (victim, edge): (u32, &Key), epoch: Epoch) -> Key {
    let own = Key::from_bytes([7; 16]);
    let outcome = group.step(MemberId(from).into(), |cx, _| {
        let mut draft = cx.draft(member(victim), epoch, Operation::Rekey, TOKEN);
        draft.number(0).number(0).array(0).wrapped(edge, epoch, 0, [&own]).send();
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
    let token = group.next().unwrap();
    group.deliver(&token).unwrap();
    own
}

#[test]
fn who_slept_through_an_eviction_asks_its_way_out_of_a_forged_epoch() {
    let far = Epoch(1 << 60);
    for rekeys in 0..2 {
        let mut group = group(7);
        // Member 1 gives keys to member 3, which sleeps while member 1 is evicted.
        let taker = group.members[1].link.place.takers().next().unwrap();
        let (victim, edge) = (taker.id.0, taker.key.clone());
        group.asleep = [victim].into();
        group.command(Command::Remove(MemberId(1)));
        group.asleep.clear();
        let own = forge(&mut group, 1, (victim, &edge), far);
        assert_eq!(group.members[victim as usize].group_key(), Some((far, &own)));
        group.settle();
        (0..rekeys).for_each(|_| group.command(Command::Rekey));
        group
            .step(MemberId(victim).into(), |cx, party| cx.command(party, Command::CatchUp))
            .unwrap();
        group.settle();
        assert!(group.members[victim as usize].group_key() == group.subgroup.group_key());
        group.command(Command::Rekey);
        assert!(group.members[victim as usize].group_key() == group.subgroup.group_key());
    }
}

#[test]
fn a_forged_epoch_is_left_for_the_epoch_before_it() {
    let mut group = group(7);
    let taker = group.members[1].link.place.takers().next().unwrap();
    let (victim, edge) = (taker.id.0, taker.key.clone());
    forge(&mut group, 1, (victim, &edge), Epoch(9));
    group.settle();
    group.step(MemberId(victim).into(), |cx, party| cx.command(party, Command::CatchUp)).unwrap();
    group.settle();
    assert!(group.members[victim as usize].group_key() == group.subgroup.group_key());
    // A second answer brings nothing new.
    group.step(MemberId(victim).into(), |cx, party| cx.command(party, Command::CatchUp)).unwrap();
    let request = group.next().unwrap();
    group.deliver(&request).unwrap();
    let answer = group.next().unwrap();
    let current = Epoch(1);
    let stale = Misbehaviour::StaleEpoch { got: current, current };
    assert_eq!(group.deliver(&answer), Err(stale.into()));
}

/// A message that no party can open makes a member ask. It must not make an answer stale.
#[test]
fn junk_leaves_the_answer_under_way_as_good_as_it_was() {
    let mut group = group(7);
    let sleeper = 3;
    group.asleep = [sleeper].into();
    group.command(Command::Remove(MemberId(6)));
    group.asleep.clear();
    group.step(MemberId(sleeper).into(), |cx, party| cx.command(party, Command::CatchUp)).unwrap();
    let request = group.next().unwrap();
    group.deliver(&request).unwrap();
    let answer = group.next().unwrap();
    let send_junk = |group: &mut Group, epoch| {
        let outcome = group.step(MemberId(6).into(), |cx, _| {
            let mut draft = cx.draft(member(sleeper), epoch, Operation::Rekey, TOKEN);
            draft.number(epoch.0 - 1).number(0).array(0).bytes(&[0; 24]).send();
            Ok(())
        });
        assert_eq!(outcome, Ok(()));
        let junk = group.next().unwrap();
        group.deliver(&junk).unwrap();
        group.next().unwrap()
    };
    let repeated = send_junk(&mut group, Epoch(99));
    assert_eq!(group.deliver(&answer), Ok(()));
    assert!(group.members[sleeper as usize].group_key() == group.subgroup.group_key());
    while group.next().is_some() {}

    // The answer to the repeated request is of a later epoch, and the member takes it as well.
    group.asleep = [sleeper].into();
    group.command(Command::Rekey);
    group.asleep.clear();
    group.deliver(&repeated).unwrap();
    let second = group.next().unwrap();
    assert_eq!(group.deliver(&second), Ok(()));
    assert!(group.members[sleeper as usize].group_key() == group.subgroup.group_key());
}
