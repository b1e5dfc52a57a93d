//! What a member can do to another member, which is sent the same key under another mask.

use alloc::vec::Vec;

use super::*;
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::masking::fixture::{MaskingFixture, alter, authenticated, message_to};
use crate::party::{Command, Party};

type Group = MaskingFixture<StarController<Masking>, StarMember<Masking>>;

fn stage(profile: Profile) -> Group {
    let members = (0..5).map(|_| StarMember::new(masking(profile))).collect();
    MaskingFixture::new(controller(profile), members, 4)
}

/// Makes member 0 take its entry of a removal. Returns the entry of member 1, and the key sent.
fn overhear(stage: &mut Group) -> (Vec<u8>, Key) {
    let messages = stage.command(Command::Remove(MemberId(3)));
    stage.deliver(0, &message_to(0, &messages)).unwrap();
    let (_, sent) = stage.members[0].group_key().unwrap();
    (message_to(1, &messages), sent.clone())
}

#[test]
fn a_member_can_give_another_a_key_of_its_own_only_as_published() {
    for profile in Profile::ALL {
        let mut stage = stage(profile);
        let (entry, sent) = overhear(&mut stage);
        let own = stage.members[0].membership.enrolment().unwrap().key.clone();
        let taken = alter(&mut stage, 1, &entry, &sent, |cx, epoch, wanted| {
            authenticated(cx, &[&own, &sent], epoch, wanted)
        });
        assert_eq!(taken, profile == Profile::Published);
        let misled = stage.members[1].group_key() == Some((Epoch(2), &Key::from_bytes([0x42; 16])));
        assert_eq!(misled, taken);
        // A misled member refuses the genuine entry, until the next change.
        assert_eq!(stage.deliver(1, &entry).is_ok(), !taken);
        assert_eq!(stage.members[1].group_key() == stage.controller.group_key(), !taken);
        let messages = stage.command(Command::Add(MemberId(4)));
        stage.deliver_all(&messages);
        assert_eq!(stage.members[1].group_key(), stage.controller.group_key());
    }
}

#[test]
fn without_the_key_nobody_alters_an_entry() {
    for profile in Profile::ALL {
        let mut stage = stage(profile);
        let (entry, _) = overhear(&mut stage);
        // Member 3 was evicted: it has the key of the previous epoch.
        let (_, old) = stage.members[3].group_key().unwrap();
        let old = old.clone();
        let own = stage.members[3].membership.enrolment().unwrap().key.clone();
        let taken = alter(&mut stage, 1, &entry, &old, |cx, epoch, wanted| {
            authenticated(cx, &[&own, &old], epoch, wanted)
        });
        assert!(!taken);
        stage.deliver(1, &entry).unwrap();
        assert_eq!(stage.members[1].group_key(), stage.controller.group_key());
    }
}
