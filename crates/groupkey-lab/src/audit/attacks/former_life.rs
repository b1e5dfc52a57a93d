//! A former life: an earlier group of the same name and the same members, whose messages were kept.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use groupkey::catalogue::{Adversary, Law};
use groupkey::{Operation, PartyId};
use groupkey_testkit::rig::{Fate, Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, InterceptedMessage, Notebook, ScriptEvent};
use crate::audit::claims::Claim;

/// Messages of an earlier group leave a member of a new one alone, or cut it off.
pub(super) const ATTACK: Attack = Attack {
    id: "former-life",
    name: "A former life",
    reference: OWN_ANALYSIS,
    shows: "messages of a group that is over leave a member of the new one alone, or cut it off",
    applies_to: |scheme, _| scheme.law == Law::OneKey,
    breaks: Claim::Agreement,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run,
};

/// The earlier group lives through all events: its epochs go further than those of the new group.
fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let events = fixture::history(configuration.scheme());
    let mut former = rig(configuration, seed);
    let notes = Notebook::default();
    notes.listen(&mut former);
    for &event in &events {
        fixture::play(&mut former, event)?;
    }
    let kept = notes.take();
    let few = &events[..events.len().min(2)];
    for victim in (0..5).map(fixture::party) {
        for instead in [false, true] {
            let mut group = rig(configuration, seed);
            group.begin_another_life(seed ^ 0x2C1F);
            let play = if instead { replaced } else { beside };
            if let Some((history, consequence)) = play(&mut group, few, victim, &kept) {
                let how = match instead {
                    true => "gets these in place of the new group's, sender by sender",
                    false => "gets all of these after an event",
                };
                let steps = vec![
                    "the members had a group of this name before; what was sent in it was kept"
                        .to_owned(),
                    format!("{victim} {how}, protection and all"),
                    consequence.to_owned(),
                ];
                return Ok(AttackOutcome::Broken { history, steps });
            }
        }
    }
    Ok(AttackOutcome::Holds)
}

fn rig(configuration: &AttackTarget<'_>, seed: u64) -> Rig {
    let suite = configuration.suite();
    fixture::rig(configuration, fixture::guard(configuration), suite, seed)
}

/// Plays the events. After each one, the victim gets all that was kept. It must keep its key, and
/// come through the next event, if need be by one request.
fn beside(
    group: &mut Rig,
    events: &[ScriptEvent],
    victim: PartyId,
    kept: &[InterceptedMessage],
) -> Option<(Vec<String>, &'static str)> {
    let mut history = Vec::new();
    // A victim that was led astray may refuse what follows.
    group.intercept(|_| Fate::Arrives);
    for &event in events {
        history.push(event.to_string());
        fixture::play(group, event).ok()?;
        let before = fixture::held(group, victim)?;
        if !is_with_the_others(group, victim) {
            return None;
        }
        for message in kept.iter().filter(|message| message.to == victim) {
            // What it sends in return is part of it.
            let _ = group.hand(victim, &message.bytes);
        }
        let _ = group.settle();
        if fixture::held(group, victim).is_some_and(|now| now != before)
            && !is_with_the_others(group, victim)
        {
            return Some((history, "it takes one of them, and no other member has its key"));
        }
    }
    let next = last_event(events)?;
    history.push(next.to_string());
    let played = fixture::play(group, next);
    if !is_with_the_others(group, victim) {
        let PartyId::Member(member) = victim else { return None };
        let _ = group.catch_up(member.0);
    }
    let is_lost = played.is_ok() && !is_with_the_others(group, victim);
    is_lost.then_some((history, "it refuses what the new group sends, and an answer, from then on"))
}

/// Returns an event that can follow these.
fn last_event(events: &[ScriptEvent]) -> Option<ScriptEvent> {
    match events.last()? {
        ScriptEvent::Add(_) => Some(ScriptEvent::Remove(1)),
        ScriptEvent::Rekey => Some(ScriptEvent::Rekey),
        _ => None,
    }
}

/// Plays the events while the victim gets the former group's messages, in their order, in place of
/// the new group's.
fn replaced(
    group: &mut Rig,
    events: &[ScriptEvent],
    victim: PartyId,
    kept: &[InterceptedMessage],
) -> Option<(Vec<String>, &'static str)> {
    let mut history = Vec::new();
    // A newcomer hears the new group's own messages until it comes.
    for &event in events {
        history.push(event.to_string());
        let before = fixture::held(group, victim);
        let mut by_sender: BTreeMap<PartyId, Vec<Vec<u8>>> = BTreeMap::new();
        let of_event =
            |message: &&InterceptedMessage| message.to == victim && is_of(message, event);
        for message in kept.iter().rev().filter(of_event) {
            by_sender.entry(message.header.sender).or_default().push(message.bytes.clone());
        }
        let by_sender = Rc::new(RefCell::new(by_sender));
        group.intercept(move |transit| {
            if transit.to != victim {
                return Fate::Arrives;
            }
            let mut by_sender = by_sender.borrow_mut();
            let next = by_sender.get_mut(&transit.header.sender).and_then(Vec::pop);
            next.map_or(Fate::Arrives, Fate::Becomes)
        });
        // The others may not be able to deal with the victim.
        let played = fixture::play(group, event);
        let now = fixture::held(group, victim);
        if now.is_some() && now != before && !is_with_the_others(group, victim) {
            return Some((history, "it takes them, and no other member has its key"));
        }
        if played.is_err() || !is_with_the_others(group, victim) {
            return None;
        }
    }
    None
}

/// Whether a message was sent in such an event.
fn is_of(message: &InterceptedMessage, event: ScriptEvent) -> bool {
    let operation = message.header.operation;
    match event {
        ScriptEvent::Add(_) => operation == Operation::Add,
        ScriptEvent::Create(_) => operation == Operation::Create,
        ScriptEvent::Rekey => operation == Operation::Rekey,
        ScriptEvent::Remove(_) => operation == Operation::Remove,
        ScriptEvent::Send(_) => false,
    }
}

/// Whether another member has the victim's key, in the same epoch. A victim that has not come yet
/// has none.
fn is_with_the_others(group: &Rig, victim: PartyId) -> bool {
    let own = fixture::held(group, victim);
    let mut others = group.members().map(fixture::party).filter(|&member| member != victim);
    others.any(|member| fixture::held(group, member) == own)
        || !group.members().any(|member| fixture::party(member) == victim)
}
