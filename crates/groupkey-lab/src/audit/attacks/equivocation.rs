//! Splitting a group: a dishonest member sends one thing to some members and another to the rest.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use groupkey::PartyId;
use groupkey::catalogue::Adversary;
use groupkey_testkit::rig::{Fate, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, ChosenEvent, Notebook, ScriptEvent};
use crate::audit::claims::Claim;

/// A dishonest sponsor splits the group.
pub(super) const ATTACK: Attack = Attack {
    id: "split-group",
    name: "Splitting a group",
    reference: "Katz and Shin, CCS 2005 (insider attacks on agreement); own analysis",
    shows: "one member leaves honest ones with different keys of one epoch, and none of them notices",
    applies_to: |scheme, _| fixture::is_distributed(scheme),
    breaks: Claim::Agreement,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run,
};

/// Runs two lives of a group in which the dishonest member draws different values. Some of the other
/// members see one of the two lives, the rest the other one.
fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    for (event, liar) in ChosenEvent::all(configuration.scheme()) {
        let honest = ChosenEvent::new(configuration, (event, liar), seed, 1)?.honest();
        // If the event cannot go on, all members notice.
        let splits = |deceived: &Vec<u32>| {
            is_split(configuration, (event, liar), deceived, seed).unwrap_or(false)
        };
        if parts(&honest).iter().any(splits) {
            let steps = vec![
                format!("member {liar} draws its part twice"),
                "it sends some members what follows from the one, the rest what follows from the \
                 other"
                    .to_owned(),
                "all take it; they are in the same epoch, with different keys".to_owned(),
            ];
            return Ok(AttackOutcome::Broken { history: ChosenEvent::told(event), steps });
        }
    }
    Ok(AttackOutcome::Holds)
}

/// Which honest members see another life than the rest: every other one, the first half, which may be
/// half of a tree, or a single one.
fn parts(honest: &[u32]) -> Vec<Vec<u32>> {
    let alternating = honest.iter().step_by(2).copied().collect();
    let first = honest[..honest.len().div_ceil(2)].to_vec();
    let single = honest.iter().map(|&member| vec![member]);
    [alternating, first].into_iter().chain(single).collect()
}

fn is_split(
    configuration: &AttackTarget<'_>,
    choice: (ScriptEvent, u32),
    deceived: &[u32],
    seed: u64,
) -> Result<bool, RigError> {
    let liar = fixture::party(choice.1);
    let mut other = ChosenEvent::new(configuration, choice, seed, 2)?;
    let notes = Notebook::default();
    notes.listen(&mut other.rig);
    other.run()?;
    let mut lies: BTreeMap<PartyId, Vec<Vec<u8>>> = BTreeMap::new();
    for kept in notes.take().into_iter().rev().filter(|kept| kept.header.sender == liar) {
        lies.entry(kept.to).or_default().push(kept.bytes);
    }

    let mut group = ChosenEvent::new(configuration, choice, seed, 1)?;
    let honest = group.honest();
    let deceived: Vec<_> = deceived.iter().copied().map(fixture::party).collect();
    let lies = Rc::new(RefCell::new(lies));
    group.rig.intercept(move |transit| {
        if transit.header.sender != liar || !deceived.contains(&transit.to) {
            return Fate::Arrives;
        }
        let mut lies = lies.borrow_mut();
        let next = lies.get_mut(&transit.to).and_then(Vec::pop);
        next.map_or(Fate::Arrives, Fate::Becomes)
    });
    let report = group.run()?;
    let noticed = report.refusals.iter().any(|&(party, _)| party != liar);
    let keys: Option<Vec<_>> = honest.iter().map(|&member| group.key_at(member)).collect();
    let differ = keys.is_some_and(|keys| keys.iter().any(|key| *key != keys[0]));
    Ok(differ && !noticed)
}
