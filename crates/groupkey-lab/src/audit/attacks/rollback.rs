//! Rollback: a member that catches up gets an old answer.

use std::cell::RefCell;
use std::rc::Rc;

use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::{Operation, PartyId};
use groupkey_testkit::rig::{Fate, Forger, Guard, Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, InterceptedMessage, Notebook, ScriptEvent};
use crate::audit::claims::Claim;
use crate::audit::finding::AttackCondition;

/// Rollback into an epoch that the member has left.
pub(super) const ROLLBACK: Attack = Attack {
    id: "rollback",
    name: "Rollback to an epoch that is over",
    reference: OWN_ANALYSIS,
    shows: "old rekey messages or old answers take a member back to a key that it had left",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: |configuration, seed| roll_back(configuration, seed, OldAnswer::AfterTheRightOne),
};

/// Rollback into an epoch that is new to the member and over for the group. It succeeded against
/// all but one of the schemes that answer requests, until requests had a nonce.
pub(super) const STALE_ANSWER: Attack = Attack {
    id: "stale-answer",
    name: "Stale answer to who catches up",
    reference: OWN_ANALYSIS,
    shows: "an answer from before an eviction brings a member to a key that the evicted one has",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: |configuration, seed| roll_back(configuration, seed, OldAnswer::Kept),
};

/// The same with the nonce of the new request, which the evicted member puts in.
pub(super) const STALE_ANSWER_MAC: Attack = Attack {
    id: "stale-answer-mac",
    name: "Stale answer to who catches up, under the shared MAC",
    reference: "S000 section 4 (one MAC key for all); own analysis",
    condition: Some(AttackCondition::Mac),
    run: |configuration, seed| roll_back(configuration, seed, OldAnswer::Renewed),
    ..STALE_ANSWER
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum OldAnswer {
    AfterTheRightOne,
    /// In place of the right answer, as it was.
    Kept,
    /// In place of the right answer, with the nonce of that one and a new MAC.
    Renewed,
}

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    fixture::is_dynamic(scheme) && fixture::answers_requests(scheme)
}

/// Tries it with each member that can sleep through the events. Where members make the key, some of
/// them have to act.
fn roll_back(
    configuration: &AttackTarget<'_>,
    seed: u64,
    answer: OldAnswer,
) -> Result<AttackOutcome, RigError> {
    let mut outcome = roll_back_one(configuration, seed, answer, 0);
    for sleeper in [2, 3] {
        outcome = outcome.or_else(|_| roll_back_one(configuration, seed, answer, sleeper));
    }
    outcome
}

fn roll_back_one(
    configuration: &AttackTarget<'_>,
    seed: u64,
    answer: OldAnswer,
    who: u32,
) -> Result<AttackOutcome, RigError> {
    let suite = configuration.suite();
    let guard = if answer == OldAnswer::Renewed { Guard::Mac } else { Guard::Signature };
    let mut rig = fixture::rig(configuration, guard, suite, seed);
    let sleeper = fixture::party(who);
    let mut history = Vec::new();
    let mut play = |rig: &mut Rig, event: ScriptEvent| {
        history.push(event.to_string());
        fixture::play(rig, event)
    };
    play(&mut rig, ScriptEvent::Create(4))?;
    rig.sleep(who);
    play(&mut rig, ScriptEvent::Add(4))?;
    let old = fixture::held(&rig, fixture::party(4));
    let answers = ask_in_vain(&mut rig, sleeper)?;
    play(&mut rig, ScriptEvent::Remove(EVICTED))?;
    if answer == OldAnswer::AfterTheRightOne {
        // The sleeper gets the right answer first, so it has left the epoch of the old answer.
        rig.catch_up(who)?;
        rig.sleep(who);
        play(&mut rig, ScriptEvent::Add(5))?;
    }
    let before = fixture::held(&rig, sleeper);
    let forger = (answer == OldAnswer::Renewed).then(|| rig.forger());
    answer_with(&mut rig, sleeper, &answers, forger);
    rig.catch_up(who)?;
    let after = fixture::held(&rig, sleeper);
    history.insert(1, format!("{sleeper} sleeps from now on"));
    if after == before || after != old || old.is_none() {
        return Ok(AttackOutcome::Holds);
    }
    let steps = vec![
        format!("{sleeper} asks after member 4 has joined; the answer is kept and never arrives"),
        format!("member {EVICTED} is evicted; it knows the key that the answer carries"),
        match answer {
            OldAnswer::Renewed => format!(
                "{sleeper} asks again; member {EVICTED} gives the kept answer the new nonce and a MAC"
            ),
            _ => format!("{sleeper} asks again and gets the kept answer, signature and all"),
        },
        format!("{sleeper} takes that key for the present one, until it hears of a later epoch"),
    ];
    Ok(AttackOutcome::Broken { history, steps })
}

/// Lets a member send a request, keeps the answers to it, and lets the member sleep on.
fn ask_in_vain(rig: &mut Rig, sleeper: PartyId) -> Result<Vec<InterceptedMessage>, RigError> {
    let notes = Notebook::default();
    let kept = notes.clone();
    rig.intercept(move |transit| {
        if transit.to != sleeper {
            return Fate::Arrives;
        }
        kept.keep(transit);
        Fate::Lost
    });
    rig.wake(sleeper)?;
    rig.let_pass();
    rig.put_to_sleep(sleeper);
    Ok(notes.take())
}

/// Replaces every message to a member from now on by one of these messages, in their order. A forger
/// gives them the nonce of the message that they replace.
fn answer_with(
    rig: &mut Rig,
    sleeper: PartyId,
    answers: &[InterceptedMessage],
    mut forger: Option<Forger>,
) {
    let first_last = answers.iter().rev().filter(|kept| kept.header.operation != Operation::Enroll);
    let answers = Rc::new(RefCell::new(first_last.cloned().collect::<Vec<_>>()));
    rig.intercept(move |transit| {
        if transit.to != sleeper {
            return Fate::Arrives;
        }
        let Some(mut kept) = answers.borrow_mut().pop() else { return Fate::Lost };
        Fate::Becomes(match &mut forger {
            Some(forger) => {
                kept.header.nonce = transit.header.nonce;
                kept.forged(forger, fixture::party(EVICTED))
            }
            None => kept.bytes,
        })
    });
}

const EVICTED: u32 = 1;
