//! Replays: an old message is sent again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use groupkey::PartyId;
use groupkey::catalogue::{Adversary, Law};
use groupkey_testkit::rig::{Fate, Guard, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, Notebook};
use crate::audit::claims::Claim;

/// Replay within the life of a group: right after the message, and epochs later.
pub(super) const SAME_GROUP: Attack = Attack {
    id: "replay",
    name: "Replay within a group",
    reference: "Syverson, A taxonomy of replay attacks, CSFW 1994",
    shows: "a message that was sent before changes a key when it is sent again",
    applies_to: |scheme, _| scheme.law != Law::OneMessage,
    breaks: Claim::Agreement,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: replay,
};

/// Replay into a group that is made again under the old name, with the old credentials.
pub(super) const OLD_GROUP: Attack = Attack {
    id: "replay-old-group",
    name: "Replay into a new group of the same name",
    reference: "Katz and Yung, CRYPTO 2003; own analysis for the rest",
    shows: "messages of a group that is over bring its key back into one of the same name",
    applies_to: |scheme, _| scheme.law == Law::OneKey,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: replay_into_new_group,
};

fn replay(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let suite = configuration.suite();
    let mut rig = fixture::rig(configuration, fixture::guard(configuration), suite, seed);
    let notes = Notebook::default();
    notes.listen(&mut rig);
    let mut history = Vec::new();
    for event in fixture::history(configuration.scheme()) {
        fixture::play(&mut rig, event)?;
        history.push(event.to_string());
        for kept in notes.all() {
            let before = fixture::held(&rig, kept.to);
            let taken = rig.inject(kept.to, &kept.bytes);
            if taken.is_ok() && before.is_some() && fixture::held(&rig, kept.to) != before {
                let steps = vec![
                    format!("the adversary kept {}", kept.what),
                    format!("it sends that again, and {} changes its key", kept.to),
                ];
                return Ok(AttackOutcome::Broken { history, steps });
            }
        }
    }
    Ok(AttackOutcome::Holds)
}

fn replay_into_new_group(
    configuration: &AttackTarget<'_>,
    seed: u64,
) -> Result<AttackOutcome, RigError> {
    let suite = configuration.suite();
    let events = fixture::history(configuration.scheme());
    let events = &events[..events.len().min(2)];
    let mut old = fixture::rig(configuration, Guard::Signature, suite, seed);
    let notes = Notebook::default();
    notes.listen(&mut old);
    let mut old_keys = Vec::new();
    for &event in events {
        fixture::play(&mut old, event)?;
        old_keys.extend(fixture::held(&old, fixture::party(0)));
    }
    for victim in (0..4).map(fixture::party) {
        let mut new = fixture::rig(configuration, Guard::Signature, suite, seed);
        new.begin_another_life(seed ^ 0xA11F);
        // Messages to the victim are replaced by those that it got in the old group, in the same
        // order.
        let mut kept: BTreeMap<PartyId, Vec<Vec<u8>>> = BTreeMap::new();
        for message in notes.all().into_iter().rev().filter(|message| message.to == victim) {
            kept.entry(message.header.sender).or_default().push(message.bytes);
        }
        let kept = Rc::new(RefCell::new(kept));
        new.intercept(move |transit| {
            if transit.to != victim {
                return Fate::Arrives;
            }
            let mut kept = kept.borrow_mut();
            let next = kept.get_mut(&transit.header.sender).and_then(Vec::pop);
            next.map_or(Fate::Arrives, Fate::Becomes)
        });
        let mut history = vec!["the same in the old group, whose messages are kept".to_owned()];
        for &event in events {
            // The event may fail, because the others cannot deal with the victim.
            let played = fixture::play(&mut new, event);
            history.push(event.to_string());
            if fixture::held(&new, victim).is_some_and(|held| old_keys.contains(&held)) {
                let steps = vec![
                    "the group was made anew, its members keep their long-term keys".to_owned(),
                    format!("{victim} gets the old group's messages, signatures and all"),
                    format!("{victim} takes the old group's key, which all old members know"),
                ];
                return Ok(AttackOutcome::Broken { history, steps });
            }
            if played.is_err() {
                break;
            }
        }
    }
    Ok(AttackOutcome::Holds)
}
