//! Two members give a third, between them, a key of their own; what the confirmation shows.

use super::*;
use crate::identity::{MemberId, PartyId, SubgroupId};
use crate::mechanisms::subgroup::relay::TOKEN;
use crate::mechanisms::subgroup::relay::fixture::{PostedMessage, RelayFixture};
use crate::outbox::Recipient;
use crate::party::{Command, Party};

type Group = RelayFixture<SubgroupController<Ring>, RelayMember<Ring>>;

fn group(profile: Profile, size: usize) -> Group {
    let subgroup = SubgroupController::new(Ring::new(profile), SubgroupId(0));
    let members = (0..size).map(|_| RelayMember::new(Ring::new(profile))).collect();
    RelayFixture::new(Box::new(Distributor::new(1)), subgroup, members)
}

/// Delivers messages until one for this member comes, and returns it.
fn until(group: &mut Group, member: u32) -> PostedMessage {
    loop {
        let message = group.next().expect("it comes");
        if message.to == Recipient::Member(MemberId(member)) {
            return message;
        }
        group.deliver(&message).unwrap();
    }
}

/// Returns the sum in a token: its last bytes, because no protection follows it.
fn sum_of(profile: Profile, token: &PostedMessage) -> Option<Key> {
    let sum = *token.bytes.last_chunk().unwrap();
    (profile == Profile::Sound).then(|| Key::from_bytes(sum))
}

/// Sends a token that an attacker makes of what it holds: a key under its edge key, and a sum.
fn send_token(group: &mut Group, from: u32, epoch: Epoch, key: &Key, sum: Option<Key>) {
    let taker = group.members[from as usize].link.place.takers().next().unwrap();
    let (to, edge) = (Recipient::Member(taker.id), taker.key.clone());
    group
        .step(MemberId(from).into(), |cx, _| {
            let mut draft = cx.draft(to, epoch, Operation::Rekey, TOKEN);
            draft.number(1).number(0).array(0).wrapped(&edge, epoch, 0, [key]);
            if let Some(sum) = sum {
                draft.number(0).bytes(sum.as_bytes());
            }
            draft.send();
            Ok(())
        })
        .unwrap();
}

/// Lets members 1 and 3 give member 2 a key of their own. Returns the result of the confirmation at
/// the subgroup's controller.
fn isolate(profile: Profile) -> (Group, Result<(), Error>) {
    let mut group = group(profile, 5);
    let own = Key::from_bytes([7; 16]);
    group.begin(Command::Rekey);

    // Member 1 has the right key, and has added its tag. It gives member 2 another key.
    let token = until(&mut group, 2);
    let (epoch, group_key) = group.members[1].group_key().unwrap();
    let group_key = group_key.clone();
    let before_victim = sum_of(profile, &token);
    send_token(&mut group, 1, epoch, &own, before_victim);

    // The victim takes it and hands it on. Member 3 hands on the right key, which it has from 1.
    let token = until(&mut group, 2);
    group.deliver(&token).unwrap();
    assert_eq!(group.members[2].group_key(), Some((epoch, &own)));
    let token = until(&mut group, 3);
    let mut sum = sum_of(profile, &token);
    if let Some(sum) = &mut sum {
        let individual = group.members[3].link.membership.enrolment().unwrap().key.clone();
        group
            .step(MemberId(3).into(), |cx, _| {
                let seen = seen(cx, epoch, &group_key);
                let tag = tag(cx, &individual, &seen);
                *sum = cx.xor(sum, &tag);
                Ok(())
            })
            .unwrap();
    }
    send_token(&mut group, 3, epoch, &group_key, sum);
    let token = until(&mut group, 4);
    group.deliver(&token).unwrap();
    assert_eq!(group.members[4].group_key(), Some((epoch, &group_key)));
    let confirmation = group.next().unwrap();
    assert_eq!(confirmation.to, Recipient::SubgroupController(SubgroupId(0)));
    let outcome = group.deliver(&confirmation);
    (group, outcome)
}

#[test]
fn two_members_isolate_the_one_between_them_and_only_the_sum_tells() {
    let (group, outcome) = isolate(Profile::Published);
    assert_eq!(outcome, Ok(()));
    assert_eq!(group.subgroup.relay.confirmed, Epoch(2));

    let (group, outcome) = isolate(Profile::Sound);
    assert_eq!(outcome, Err(Misbehaviour::WrongKey.into()));
    assert!(group.subgroup.relay.confirmed < Epoch(2));
}

#[test]
fn the_whole_ring_confirms_every_change_that_goes_round() {
    for profile in Profile::ALL {
        let mut group = group(profile, 6);
        assert_eq!(group.subgroup.relay.confirmed, Epoch(0));
        for (epoch, command) in [
            (2, Command::Rekey),
            (3, Command::Remove(MemberId(3))),
            (4, Command::Remove(MemberId(0))),
            (5, Command::Remove(MemberId(5))),
            (6, Command::Rekey),
        ] {
            group.command(command);
            assert_eq!(group.subgroup.relay.confirmed, Epoch(epoch));
        }
    }
}

#[test]
fn a_silent_member_leaves_the_ring_unconfirmed() {
    for profile in Profile::ALL {
        let mut group = group(profile, 6);
        group.asleep = [3].into();
        group.command(Command::Rekey);
        assert_eq!(group.subgroup.relay.confirmed, Epoch(0));
        group.asleep.clear();
        group.command(Command::Rekey);
        assert_eq!(group.subgroup.relay.confirmed, Epoch(3));
    }
}

#[test]
fn evicted_neighbours_are_not_handed_to_even_if_sleepers_never_notice_that_they_slept() {
    for sleepers in 0..1u32 << 6 {
        let mut group = group(Profile::Sound, 6);
        group.asleep = (0..6).filter(|member| sleepers >> member & 1 == 1).collect();
        group.command(Command::Remove(MemberId(3)));
        group.command(Command::Remove(MemberId(4)));
        group.asleep.clear();
        group.recorded.clear();
        group.command(Command::Rekey);
        let evicted = [MemberId(3), MemberId(4)].map(Recipient::Member);
        assert!(group.recorded.iter().all(|message| !evicted.contains(&message.to)));
        let present = group.subgroup.group_key().map(|(epoch, key)| (epoch, key.clone()));
        for id in [0, 1, 2, 5] {
            let held = group.members[id].group_key().map(|(epoch, key)| (epoch, key.clone()));
            assert!(held == present, "{id}, {sleepers:b}");
        }
    }
}

#[test]
fn an_envelope_from_before_an_eviction_is_good_for_no_later_epoch() {
    for profile in Profile::ALL {
        let mut group = group(profile, 4);
        let to = Recipient::Member(MemberId(3));
        let kept = group.recorded.iter().find(|letter| letter.to == to).unwrap().clone();
        group.command(Command::Remove(MemberId(1)));
        let held = group.subgroup.group_key().map(|(epoch, key)| (epoch, key.clone()));
        // The slot of the member that began with the tags, and their sum.
        let sum = [0, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let rest = if profile == Profile::Sound { &sum[..] } else { &[] };
        for epoch in [Epoch(3), Epoch(u64::MAX)] {
            // Member 2 gives keys to member 3.
            for (from, refused) in
                [(1, Misbehaviour::UnexpectedSender), (2, Misbehaviour::WrongKey)]
            {
                assert_eq!(group.hand_on_again(from, &kept, epoch, rest), Err(refused.into()));
                let now = group.members[3].group_key().map(|(epoch, key)| (epoch, key.clone()));
                assert!(now == held);
            }
        }
    }
}

#[test]
fn only_the_last_member_confirms_and_only_the_present_key() {
    let mut group = group(Profile::Published, 4);
    let epoch = group.subgroup.group_key().unwrap().0;
    for (from, epoch, refused) in [
        (2, epoch, Misbehaviour::UnexpectedSender),
        (3, Epoch(0), Misbehaviour::StaleEpoch { got: Epoch(0), current: epoch }),
        (3, epoch, Misbehaviour::WrongKey),
    ] {
        let individual =
            group.members[from as usize].link.membership.enrolment().unwrap().key.clone();
        group
            .step(PartyId::Member(MemberId(from)), |cx, _| {
                let to = Recipient::SubgroupController(SubgroupId(0));
                cx.draft(to, epoch, Operation::Rekey, CONFIRMATION)
                    .wrapped(&individual, epoch, 1, [&Key::from_bytes([7; 16])])
                    .send();
                Ok(())
            })
            .unwrap();
        let message = group.next().unwrap();
        assert_eq!(group.deliver(&message), Err(refused.into()));
        assert_eq!(group.subgroup.relay.confirmed, Epoch(0));
    }
}
