//! An evicted member that speaks. It has its long-term key still, and so do the others have its
//! public one.

use groupkey::catalogue::Adversary;
use groupkey::{Command, MemberId, Operation};
use groupkey_testkit::rig::{Fate, Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, ScriptEvent};
use crate::audit::claims::Claim;
use crate::audit::finding::AttackCondition;

/// It answers a member that catches up.
pub(super) const ANSWERS: Attack = Attack {
    id: "evicted-answers",
    name: "An evicted member answers who catches up",
    reference: OWN_ANALYSIS,
    shows: "a member that slept through an eviction takes its key from the evicted one",
    applies_to: |scheme, _| {
        fixture::is_distributed(scheme)
            && fixture::is_dynamic(scheme)
            && fixture::answers_requests(scheme)
            && scheme.operations.contains(&Operation::Partition)
    },
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: Some(AttackCondition::Bare),
    inherent: None,
    run: |configuration, seed| on_any_sleeper(configuration, seed),
};

/// It welcomes a newcomer, by honest code that never heard of its eviction.
pub(super) const WELCOMES: Attack = Attack {
    id: "evicted-welcomes",
    name: "An evicted member welcomes a newcomer",
    shows: "a newcomer shares a key with a member that was evicted before it came",
    applies_to: |scheme, _| fixture::is_distributed(scheme) && fixture::is_dynamic(scheme),
    run: |configuration, seed| welcome(configuration, seed),
    ..ANSWERS
};

fn rig(configuration: &AttackTarget<'_>, seed: u64) -> Rig {
    let suite = configuration.suite();
    fixture::rig(configuration, fixture::guard(configuration), suite, seed)
}

fn on_any_sleeper(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let mut untried = None;
    for sleeper in 0..4 {
        for evicted in (0..4).filter(|&evicted| evicted != sleeper) {
            match answer(configuration, seed, sleeper, evicted) {
                Ok(AttackOutcome::Holds) => untried = Some(Ok(AttackOutcome::Holds)),
                Ok(broken) => return Ok(broken),
                Err(error) => untried = untried.or(Some(Err(error))),
            }
        }
    }
    untried.unwrap_or(Ok(AttackOutcome::Holds))
}

/// The evicted member goes on in a group of its own with the sleeper, by honest code, and answers it.
fn answer(
    configuration: &AttackTarget<'_>,
    seed: u64,
    sleeper: u32,
    evicted: u32,
) -> Result<AttackOutcome, RigError> {
    let mut rig = rig(configuration, seed);
    rig.create(4)?;
    let [victim, adversary] = [sleeper, evicted].map(fixture::party);
    rig.put_to_sleep(victim);
    rig.intercept(move |transit| match [transit.to, transit.header.sender].contains(&adversary) {
        true => Fate::Lost,
        false => Fate::Arrives,
    });
    let rest: Vec<_> = (0..4).filter(|member| ![sleeper, evicted].contains(member)).collect();
    for &member in &rest {
        let remove = Command::Remove(MemberId(evicted));
        rig.command_to(fixture::party(member), remove).map_err(RigError::Command)?;
    }
    rig.settle()?;
    let apart: Vec<_> = rest.iter().copied().map(MemberId).collect();
    rig.command_to(adversary, Command::Partition(&apart)).map_err(RigError::Command)?;
    rig.settle()?;
    rig.intercept(move |transit| {
        let is_answer = transit.to == victim && transit.header.operation == Operation::CatchUp;
        match is_answer && transit.header.sender != adversary {
            true => Fate::Lost,
            false => Fate::Arrives,
        }
    });
    let before = fixture::held(&rig, victim);
    rig.catch_up(sleeper)?;
    let taken = fixture::held(&rig, victim);
    let is_new = taken.is_some() && taken != before;
    if !is_new
        || taken != fixture::held(&rig, adversary)
        || taken == fixture::held(&rig, apart_of(&rest))
    {
        return Ok(AttackOutcome::Holds);
    }
    let history = vec![
        ScriptEvent::Create(4).to_string(),
        format!("member {sleeper} sleeps from now on"),
        ScriptEvent::Remove(evicted).to_string(),
    ];
    let steps = vec![
        format!("member {evicted} goes on by itself with member {sleeper}, who sleeps"),
        format!("member {sleeper} asks, and the answers of the group are held back"),
        format!("member {evicted} answers; the sender of an answer proves its place in the answer"),
        format!("member {sleeper} takes the key of member {evicted} for the group's"),
    ];
    Ok(AttackOutcome::Broken { history, steps })
}

fn apart_of(rest: &[u32]) -> groupkey::PartyId {
    fixture::party(rest[0])
}

fn welcome(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    const NEWCOMER: u32 = 5;
    for evicted in 0..3 {
        let mut rig = rig(configuration, seed);
        rig.create(3)?;
        let [adversary, newcomer] = [evicted, NEWCOMER].map(fixture::party);
        rig.intercept(move |transit| {
            let (from, to) = (transit.header.sender, transit.to);
            let is_cut_off = |a, b| a == adversary && b != newcomer;
            let is_held_back = to == newcomer && from != adversary;
            match is_cut_off(from, to) || is_cut_off(to, from) || is_held_back {
                true => Fate::Lost,
                false => Fate::Arrives,
            }
        });
        let rest: Vec<_> = (0..3).filter(|&member| member != evicted).collect();
        for &member in &rest {
            let remove = Command::Remove(MemberId(evicted));
            rig.command_to(fixture::party(member), remove).map_err(RigError::Command)?;
        }
        rig.settle()?;
        // The newcomer's own step may fail: it takes what comes first.
        let _ = rig.add(NEWCOMER);
        let _ = rig.settle();
        let own = fixture::held(&rig, newcomer);
        if own.is_some() && own == fixture::held(&rig, adversary) {
            let history = vec![
                ScriptEvent::Create(3).to_string(),
                ScriptEvent::Remove(evicted).to_string(),
                ScriptEvent::Add(NEWCOMER).to_string(),
            ];
            let steps = vec![
                format!(
                    "member {evicted} welcomes member {NEWCOMER} as if it had not been evicted"
                ),
                "what the group sends to the newcomer is held back".to_owned(),
                format!("member {NEWCOMER} shares its key with member {evicted} alone"),
            ];
            return Ok(AttackOutcome::Broken { history, steps });
        }
    }
    Ok(AttackOutcome::Holds)
}
