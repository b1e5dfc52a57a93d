//! Attacks that follow a script. No closure over derivations finds them, because they use
//! arithmetic or make honest parties do something.
//!
//! Each [`Attack`] is tried on every scheme to which it can apply, in both profiles, on a small
//! group in a rig ([`run`]). The result is `broken` if the attack succeeds, with the history and
//! the steps. It is `holds` if the attack is refused, is noticed or does not work. The adversary is
//! the one that the attack names: a party on the wire, with an insider where something must be
//! forged. A success breaks the claim that the attack is against. It breaks none where the attack
//! needs a condition that the sound profile does not have, or where no scheme withstands it by
//! itself. `docs/attacks.md` has the list in words.

mod attack;
mod boneh;
mod elements;
mod elk;
mod equivocation;
mod evicted;
mod fame;
mod fixture;
mod former_life;
mod healing;
mod impersonation;
mod key_control;
mod key_share;
mod newcomer;
mod nishat;
mod ordered;
mod replay;
mod restored_store;
mod rollback;
mod sender_keys;
mod tampering;

use groupkey::catalogue::Configuration;

pub use self::attack::Attack;
use super::audited_scheme::AuditedScheme;
use super::finding::Finding;
use super::sweep::Sweep;

/// All attacks, in the order of their ids.
pub static ATTACKS: &[Attack] = &[
    boneh::EAVESDROPPER,
    boneh::NEWCOMER,
    boneh::OUTSIDER,
    tampering::DROPPED,
    elk::EVICTED,
    evicted::ANSWERS,
    ordered::RETURNS,
    ordered::SPEAKS,
    evicted::WELCOMES,
    impersonation::FALSE_EPOCH_MAC,
    impersonation::FALSE_EPOCH_SIGNATURE,
    fame::EVICTED,
    fame::NEWCOMER,
    former_life::ATTACK,
    elements::IDENTITY,
    impersonation::IMPOSTOR_MAC,
    impersonation::IMPOSTOR_SIGNATURE,
    key_control::ATTACK,
    healing::ATTACK,
    newcomer::ATTACK,
    nishat::EVICTED,
    nishat::COMMON_DIVISOR,
    nishat::NEWCOMER,
    replay::SAME_GROUP,
    replay::OLD_GROUP,
    restored_store::ATTACK,
    rollback::ROLLBACK,
    sender_keys::LEAK,
    elements::SMALL_SUBGROUP,
    equivocation::ATTACK,
    rollback::STALE_ANSWER,
    rollback::STALE_ANSWER_MAC,
    tampering::TAMPERED,
    key_share::ATTACK,
    tampering::ELSEWHERE,
];

/// Returns all attacks that apply, in their order, each with the number of its subject.
pub(super) fn applying(subjects: &[AuditedScheme]) -> Vec<(usize, &'static Attack)> {
    let of = |(number, subject): (usize, &AuditedScheme)| {
        let (scheme, profile) = (subject.scheme(), subject.profile);
        let applies = move |attack: &&Attack| (attack.applies_to)(scheme, profile);
        ATTACKS.iter().filter(applies).map(move |attack| (number, attack)).collect::<Vec<_>>()
    };
    subjects.iter().enumerate().flat_map(of).collect()
}

/// Tries these attacks on several threads. The slow ones come first, so that no thread waits for
/// them at the end.
pub(super) fn try_all(
    subjects: &[AuditedScheme],
    attacks: &[(usize, &Attack)],
    sweep: &Sweep<'_>,
) -> Option<Vec<Finding>> {
    let is_quick = |&place: &usize| {
        let (subject, _) = attacks[place];
        !subjects[subject].is_slow()
    };
    let mut order: Vec<usize> = (0..attacks.len()).collect();
    order.sort_by_key(is_quick);
    let tried = sweep.spread(order.len(), |turn| {
        let (subject, attack) = attacks[order[turn]];
        let audited = &subjects[subject];
        let configuration = audited.scheme().configuration(audited.profile);
        let finding = match attack.is_slow(audited) && !sweep.options.depth.slow_attacks {
            true => attack.left_out(audited),
            false => attack.run_in(&configuration, audited.suite, sweep.options.seed),
        };
        sweep.advance(1, subject);
        finding
    })?;
    let mut findings: Vec<_> = order.into_iter().zip(tried).collect();
    findings.sort_by_key(|&(place, _)| place);
    Some(findings.into_iter().map(|(_, finding)| finding).collect())
}

/// Tries every attack that applies on a scheme. The same seed gives the same findings.
pub fn run(configuration: &Configuration, seed: u64) -> Vec<Finding> {
    let (scheme, profile) = (configuration.scheme(), configuration.profile());
    let applying = ATTACKS.iter().filter(|attack| (attack.applies_to)(scheme, profile));
    applying.map(|attack| attack.run(configuration, seed)).collect()
}

#[cfg(test)]
mod tests;
