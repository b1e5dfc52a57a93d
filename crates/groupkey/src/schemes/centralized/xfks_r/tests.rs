//! Tests what a copied key gives, what a member can do to another, and which parties can make a
//! notice of a join.

use alloc::vec::Vec;

use super::*;
use crate::context::Context;
use crate::identity::MemberId;
use crate::mechanisms::masking::fixture::{MaskingFixture, alter, authenticated, message_to};
use crate::party::Command;

const STEPS: u32 = 3;

/// Members 0 to 3; 4 to 7 can join.
fn stage(profile: Profile) -> MaskingFixture<Controller, Member> {
    let members = (0..8).map(|_| Member::new(profile, STEPS)).collect();
    MaskingFixture::new(Controller::new(profile, STEPS), members, 4)
}

#[test]
fn a_group_key_gives_those_of_later_joins_only_as_published() {
    for profile in Profile::ALL {
        let mut stage = stage(profile);
        let (mut epoch, group_key) = key_of(&stage.members[0]);
        let mut copied = [group_key, stage.members[0].traffic_key.clone()];
        for newcomer in 4..8 {
            let messages = stage.command(Command::Add(MemberId(newcomer)));
            stage.deliver_all(&messages);
            epoch = epoch.next();
            let known = stage.compute(|cx| {
                copied = copied.each_ref().map(|key| follow(cx, profile, epoch, key));
                copied.each_ref().map(|key| group_key_of(cx, profile, epoch, key))
            });
            let (_, current) = key_of(&stage.members[1]);
            assert_eq!(known[0] == current, profile == Profile::Published);
            assert_eq!(known[1], current, "a traffic key gives the next one in both");
        }
        let messages = stage.command(Command::Remove(MemberId(7)));
        stage.deliver_all(&messages);
        epoch = epoch.next();
        let (_, current) = key_of(&stage.members[1]);
        let known = stage.compute(|cx| {
            copied.each_ref().map(|key| {
                let next = follow(cx, profile, epoch, key);
                group_key_of(cx, profile, epoch, &next)
            })
        });
        assert!(!known.contains(&current), "a removal ends it");
    }
}

#[test]
fn a_member_can_give_another_a_key_of_its_own_only_as_published() {
    for profile in Profile::ALL {
        let mut stage = stage(profile);
        let messages = stage.command(Command::Remove(MemberId(3)));
        stage.deliver(0, &message_to(0, &messages)).unwrap();
        let sent = stage.members[0].traffic_key.clone();
        let own = stage.members[0].membership.enrolment().unwrap().key.clone();
        let entry = message_to(1, &messages);
        let taken = alter(&mut stage, 1, &entry, &sent, |cx, epoch, wanted| {
            authenticated(cx, &[&own, &sent], epoch, wanted)
        });
        assert_eq!(taken, profile == Profile::Published);
        let misled = stage.members[1].traffic_key == Key::from_bytes([0x42; 16]);
        assert_eq!(misled, taken);
    }
}

#[test]
fn members_can_make_a_notice_of_a_join_and_strangers_cannot() {
    for profile in Profile::ALL {
        let mut stage = stage(profile);
        let messages = stage.command(Command::Add(MemberId(4)));
        stage.deliver_all(&messages);
        let (_, notice) = messages.last().unwrap();
        let evicted = stage.members[3].traffic_key.clone();
        let messages = stage.command(Command::Remove(MemberId(3)));
        stage.deliver_all(&messages);
        let member = stage.members[0].traffic_key.clone();
        let (current, _) = key_of(&stage.members[1]);
        let epoch = current.next();
        for (traffic_key, works) in [(Key::default(), false), (evicted, false), (member, true)] {
            let commitment = stage.compute(|cx| {
                let next = follow(cx, profile, epoch, &traffic_key);
                commitment(cx, epoch, &next)
            });
            let forged = forged_notice(notice, epoch, &commitment);
            assert_eq!(stage.deliver(1, &forged).is_ok(), works);
        }
        // A member that accepted the forged notice refuses the eviction of the member that made it.
        let messages = stage.command(Command::Remove(MemberId(0)));
        stage.deliver(1, &message_to(1, &messages)).unwrap_err();
        let misled = stage.members[1].traffic_key.clone();
        let made = stage.members[0].traffic_key.clone();
        assert_eq!(misled, stage.compute(|cx| follow(cx, profile, epoch, &made)));
    }
}

fn key_of(party: &dyn Party) -> (Epoch, Key) {
    let (epoch, key) = party.group_key().unwrap();
    (epoch, key.clone())
}

fn follow(cx: &mut Context<'_>, profile: Profile, epoch: Epoch, key: &Key) -> Key {
    after_join(cx, Masking::new(profile, STEPS), epoch, key)
}

fn group_key_of(cx: &mut Context<'_>, profile: Profile, epoch: Epoch, key: &Key) -> Key {
    group_key(cx, profile, epoch, key)
}

fn forged_notice(notice: &[u8], epoch: Epoch, commitment: &Key) -> Vec<u8> {
    let (mut header, body) = crate::wire::parse_header(notice).unwrap();
    header.epoch = epoch;
    let mut forged = Vec::new();
    crate::wire::Writer::new(&mut forged).header(&header);
    forged.extend_from_slice(&body[..body.len() - Key::BYTES]);
    forged.extend_from_slice(commitment.as_bytes());
    forged
}
