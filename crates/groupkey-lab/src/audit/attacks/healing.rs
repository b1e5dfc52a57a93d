//! Periods that a member misses: does the next message give it their keys, as promised?

use groupkey::catalogue::{Adversary, Recovery};
use groupkey::{Epoch, PartyId};
use groupkey_testkit::rig::{Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, ScriptEvent};
use crate::audit::claims::Claim;

/// Periods that the network loses, one after the other.
pub(super) const ATTACK: Attack = Attack {
    id: "lost-periods",
    name: "Periods that are lost",
    reference: OWN_ANALYSIS,
    shows: "a member lacks keys of periods that it missed, after the message that should heal it",
    applies_to: |scheme, _| scheme.recovery == Recovery::SelfHealing,
    breaks: Claim::SelfHealing,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: |configuration, seed| lose(configuration, seed, HEALED),
};

/// The member that hears nothing for a while.
const VICTIM: u32 = 2;

/// One message heals this many changes in a row, if no member was evicted in them.
const HEALED: u32 = 8;

fn lose(configuration: &AttackTarget<'_>, seed: u64, most: u32) -> Result<AttackOutcome, RigError> {
    let joins = (10..10 + most).map(ScriptEvent::Add).collect::<Vec<_>>();
    let periods = vec![ScriptEvent::Rekey; most as usize];
    for missed in 1..=most as usize {
        for lost in [&joins[..missed], &periods[..missed]] {
            let mut group = HealedGroup::that_lost(configuration, seed, lost)?;
            group.play(ScriptEvent::Rekey)?;
            if !group.is_healed() {
                return Ok(group.broken("the next message"));
            }
        }
    }
    // Beyond that bound, a request must heal the member.
    let evictions =
        [ScriptEvent::Rekey, ScriptEvent::Remove(1), ScriptEvent::Add(10), ScriptEvent::Remove(3)];
    let mut group = HealedGroup::that_lost(configuration, seed, &evictions)?;
    group.rig.sleep(VICTIM);
    group.rig.catch_up(VICTIM)?;
    Ok(if group.is_healed() {
        AttackOutcome::Holds
    } else {
        group.broken("the answer to one request")
    })
}

/// A group, its history and its last epoch.
struct HealedGroup {
    rig: Rig,
    history: Vec<String>,
    epoch: u64,
}

impl HealedGroup {
    /// Returns a group in which the victim missed these events.
    fn that_lost(
        configuration: &AttackTarget<'_>,
        seed: u64,
        lost: &[ScriptEvent],
    ) -> Result<Self, RigError> {
        let suite = configuration.suite();
        let rig = fixture::rig(configuration, fixture::guard(configuration), suite, seed);
        let mut group = Self { rig, history: Vec::new(), epoch: 0 };
        group.play(ScriptEvent::Create(5))?;
        let victim = fixture::party(VICTIM);
        fixture::deafen(&mut group.rig, victim);
        group.history.push(format!("{victim} hears nothing from now on"));
        for &event in lost {
            group.play(event)?;
        }
        group.rig.let_pass();
        group.history.push(format!("{victim} hears again"));
        Ok(group)
    }

    /// Plays an event. The victim need not follow the group.
    fn play(&mut self, event: ScriptEvent) -> Result<(), RigError> {
        let played = fixture::play(&mut self.rig, event);
        self.epoch += 1;
        self.history.push(event.to_string());
        match fixture::held(&self.rig, PartyId::Controller) {
            Some((epoch, _)) if epoch == self.epoch => Ok(()),
            _ => played.map(drop),
        }
    }

    /// Whether the victim has the keys of all epochs.
    fn is_healed(&mut self) -> bool {
        let rig = &mut self.rig;
        (1..=self.epoch).all(|epoch| {
            let mut key_at = |party| rig.past_key_of(party, Epoch(epoch));
            let wanted = key_at(PartyId::Controller);
            wanted.is_some() && key_at(fixture::party(VICTIM)) == wanted
        })
    }

    fn broken(self, healer: &str) -> AttackOutcome {
        let victim = fixture::party(VICTIM);
        let steps = vec![
            format!("{victim} takes {healer}"),
            "it lacks the key of a period that it missed, or the present one".to_owned(),
        ];
        AttackOutcome::Broken { history: self.history, steps }
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::{Profile, scheme};

    use super::*;

    /// The attack detects a member that is not healed.
    #[test]
    fn one_join_more_than_the_bound_is_not_healed() {
        let sgcsh = scheme("sgcsh").expect("it is in the catalogue");
        for profile in Profile::ALL {
            let configuration = sgcsh.configuration(profile);
            let outcome = lose(&AttackTarget::of(&configuration), 1, HEALED + 1);
            assert!(matches!(outcome, Ok(AttackOutcome::Broken { .. })), "{outcome:?}");
        }
    }
}
