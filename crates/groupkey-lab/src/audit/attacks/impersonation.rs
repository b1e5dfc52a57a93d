//! Impersonation: the shared MAC key allows it, signatures do not.

use groupkey::catalogue::{Adversary, Law, Profile, Scheme};
use groupkey::{Command, MemberId, Suite};
use groupkey_testkit::rig::{Guard, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, Notebook, ScriptEvent};
use crate::audit::claims::Claim;
use crate::audit::finding::AttackCondition;

/// An evicted member joins under another's name.
pub(super) const IMPOSTOR_MAC: Attack = Attack {
    id: "impostor-mac",
    name: "An impostor joins, under the shared MAC",
    reference: "S000 section 4 (one MAC key for all); own analysis",
    shows: "an evicted member takes the place of a newcomer, and has the group's key again",
    applies_to: |scheme, _| fixture::is_distributed(scheme),
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: Some(AttackCondition::Mac),
    inherent: None,
    run: |configuration, seed| join_as_another(configuration, seed, Guard::Mac),
};

/// The same attack where messages are signed.
pub(super) const IMPOSTOR_SIGNATURE: Attack = Attack {
    id: "impostor-signature",
    name: "An impostor joins, under signatures",
    run: |configuration, seed| join_as_another(configuration, seed, Guard::Signature),
    condition: None,
    ..IMPOSTOR_MAC
};

/// An evicted member speaks for the controller.
pub(super) const FALSE_EPOCH_MAC: Attack = Attack {
    id: "false-epoch-mac",
    name: "A false epoch in the controller's name, under the shared MAC",
    reference: "S000 section 4 (one MAC key for all); own analysis",
    shows: "an evicted member sends old messages as new ones, and members change their key for it",
    applies_to: has_controller,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: Some(AttackCondition::Mac),
    inherent: None,
    run: |configuration, seed| announce_false_epoch(configuration, seed, Guard::Mac),
};

/// The same attack where messages are signed.
pub(super) const FALSE_EPOCH_SIGNATURE: Attack = Attack {
    id: "false-epoch-signature",
    name: "A false epoch in the controller's name, under signatures",
    run: |configuration, seed| announce_false_epoch(configuration, seed, Guard::Signature),
    condition: None,
    ..FALSE_EPOCH_MAC
};

/// The member that the adversary impersonates.
const NEWCOMER: u32 = 4;

/// The adversary: an evicted member, if members can be evicted.
const ADVERSARY: u32 = 1;

fn has_controller(scheme: &Scheme, _: Profile) -> bool {
    scheme.has_controller() && scheme.law == Law::OneKey
}

fn join_as_another(
    configuration: &AttackTarget<'_>,
    seed: u64,
    guard: Guard,
) -> Result<AttackOutcome, RigError> {
    let mut rig = fixture::rig(configuration, guard, configuration.suite_or(Suite::Standard), seed);
    let mut history = Vec::new();
    let (played, mut members) = match fixture::is_dynamic(configuration.scheme()) {
        true => {
            for event in [ScriptEvent::Create(4), ScriptEvent::Remove(ADVERSARY)] {
                fixture::play(&mut rig, event)?;
                history.push(event.to_string());
            }
            rig.bring(&[NEWCOMER])?;
            (NEWCOMER, vec![0, 2, 3, NEWCOMER])
        }
        // No member ever left: the group is made without the adversary.
        false => {
            rig.bring(&[0, 2, 3])?;
            (2, vec![0, 2, 3])
        }
    };
    rig.let_play(fixture::party(played), fixture::party(ADVERSARY));
    let before = fixture::held(&rig, fixture::party(0));
    let ids: Vec<_> = members.iter().copied().map(MemberId).collect();
    let command = match before {
        Some(_) => Command::Add(MemberId(played)),
        None => Command::Create(&ids),
    };
    // A refusal by an honest member must not fail the run.
    rig.intercept(|_| groupkey_testkit::rig::Fate::Arrives);
    for &id in &ids {
        rig.command_to(id.into(), command).map_err(RigError::Command)?;
    }
    rig.settle()?;
    members.retain(|&member| member != played);
    let own = fixture::held(&rig, fixture::party(played));
    let agreed = members.iter().all(|&member| fixture::held(&rig, fixture::party(member)) == own);
    if own.is_none() || own == before || !agreed {
        return Ok(AttackOutcome::Holds);
    }
    history.push(match before {
        Some(_) => format!("member {ADVERSARY} joins as member {played}"),
        None => format!("members {members:?} and, as member {played}, {ADVERSARY} make a group"),
    });
    let steps = vec![
        format!("the deployment's MAC key is all that member {ADVERSARY} needs to be {played}"),
        format!("the others take what it sends for {played}'s"),
        "it holds the group's key".to_owned(),
    ];
    Ok(AttackOutcome::Broken { history, steps })
}

fn announce_false_epoch(
    configuration: &AttackTarget<'_>,
    seed: u64,
    guard: Guard,
) -> Result<AttackOutcome, RigError> {
    let suite = configuration.suite();
    let mut rig = fixture::rig(configuration, guard, suite, seed);
    let notes = Notebook::default();
    notes.listen(&mut rig);
    let mut history = Vec::new();
    let (adversary, mut known) = (fixture::party(ADVERSARY), Vec::new());
    for event in fixture::history(configuration.scheme()) {
        fixture::play(&mut rig, event)?;
        history.push(event.to_string());
        known.extend(fixture::held(&rig, adversary).map(|(_, key)| key));
    }
    let mut forger = rig.forger();
    let victims: Vec<_> = rig.members().map(fixture::party).collect();
    for mut kept in notes.take() {
        if !victims.contains(&kept.to) {
            continue;
        }
        let Some((epoch, key)) = fixture::held(&rig, kept.to) else { continue };
        kept.header.epoch = groupkey::Epoch(epoch).next();
        let forged = kept.forged(&mut forger, adversary);
        let taken = rig.inject(kept.to, &forged).is_ok();
        let now = fixture::held(&rig, kept.to);
        if taken && now != Some((epoch, key)) {
            let is_known = now.is_some_and(|(_, key)| known.contains(&key));
            let consequence = match is_known {
                true => format!("that is an old key, which member {ADVERSARY} has"),
                false => "no other party has that key".to_owned(),
            };
            let steps = vec![
                format!("member {ADVERSARY} kept: {}", kept.what),
                format!("it gives it the number of the next epoch, {}, and a MAC", epoch + 1),
                format!(
                    "{} takes it for the controller's, and has another key than the rest",
                    kept.to
                ),
                consequence,
            ];
            return Ok(AttackOutcome::Broken { history, steps });
        }
    }
    Ok(AttackOutcome::Holds)
}
