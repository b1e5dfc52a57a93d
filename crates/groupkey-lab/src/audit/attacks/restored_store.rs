//! A restored store: the controller goes on from an earlier state.

use groupkey::PartyId;
use groupkey::catalogue::{Adversary, Law};
use groupkey_testkit::rig::RigError;

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, InterceptedMessage, Notebook, ScriptEvent};
use crate::audit::claims::Claim;

/// The controller's state of before an eviction is put back.
pub(super) const ATTACK: Attack = Attack {
    id: "restored-store",
    name: "A restored store",
    reference: OWN_ANALYSIS,
    shows: "a controller that was put back undoes an eviction, or uses an epoch twice, unnoticed",
    applies_to: |scheme, _| {
        scheme.law == Law::OneKey && scheme.has_controller() && fixture::is_dynamic(scheme)
    },
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: Some("who has a state of the controller is the controller: its store must notice"),
    run,
};

/// The member that is evicted, and then a member again.
const EVICTED: u32 = 1;

/// The member that missed the eviction.
const SLEEPER: u32 = 3;

/// Runs the true life of the group, and the one of the restored controller. Both have the same
/// beginning. Members of the true one get what the restored controller sends.
fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let suite = configuration.suite();
    let rig = || fixture::rig(configuration, fixture::guard(configuration), suite, seed);
    let mut restored = rig();
    let notes = Notebook::default();
    fixture::play(&mut restored, ScriptEvent::Create(4))?;
    // The instance of the group is in the state.
    restored.draw_from(PartyId::Controller, seed ^ 0x57A7E);
    notes.listen(&mut restored);
    let mut known = Vec::new();
    for event in [ScriptEvent::Add(4), ScriptEvent::Add(5)] {
        fixture::play(&mut restored, event)?;
        known.extend(fixture::held(&restored, fixture::party(EVICTED)));
    }
    let kept = notes.take();

    let mut group = rig();
    fixture::play(&mut group, ScriptEvent::Create(4))?;
    group.sleep(SLEEPER);
    fixture::play(&mut group, ScriptEvent::Remove(EVICTED))?;
    let history = vec![
        ScriptEvent::Create(4).to_string(),
        format!("member {SLEEPER} sleeps"),
        ScriptEvent::Remove(EVICTED).to_string(),
        "the controller's state of before the eviction is put back".to_owned(),
        ScriptEvent::Add(4).to_string(),
        ScriptEvent::Add(5).to_string(),
    ];
    let present = fixture::held(&group, fixture::party(0));
    for member in [0, 2, SLEEPER] {
        let party = fixture::party(member);
        for InterceptedMessage { bytes, what, .. } in kept.iter().filter(|kept| kept.to == party) {
            let taken = group.inject(party, bytes).is_ok();
            let held = fixture::held(&group, party);
            if !taken || held.is_none() || !held.iter().all(|held| known.contains(held)) {
                continue;
            }
            let same_epoch = held.map(|(epoch, _)| epoch) == present.as_ref().map(|&(e, _)| e);
            let consequence = match same_epoch {
                true => "that epoch has two keys, and nobody notices",
                false => "the evicted member has that key",
            };
            let steps = vec![
                format!("the restored controller sends {what}"),
                format!("{party} takes it"),
                consequence.to_owned(),
            ];
            return Ok(AttackOutcome::Broken { history, steps });
        }
    }
    Ok(AttackOutcome::Holds)
}
