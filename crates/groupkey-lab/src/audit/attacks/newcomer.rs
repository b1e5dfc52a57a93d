//! A newcomer with recordings of what was sent before it came.

use groupkey::catalogue::{Adversary, Law};
use groupkey_testkit::rig::RigError;

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, Notebook, ScriptEvent};
use crate::audit::claims::Claim;

/// A newcomer hears everything that was sent before it came.
pub(super) const ATTACK: Attack = Attack {
    id: "newcomer-recordings",
    name: "A newcomer with recordings",
    reference: OWN_ANALYSIS,
    shows: "a newcomer opens what was sent before it came",
    applies_to: |scheme, _| scheme.law == Law::OneKey && fixture::is_dynamic(scheme),
    breaks: Claim::BackwardSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run,
};

fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    const NEWCOMER: u32 = 6;
    let suite = configuration.suite();
    let newcomer = fixture::party(NEWCOMER);
    for comes_first in [true, false] {
        let mut rig = fixture::rig(configuration, fixture::guard(configuration), suite, seed);
        let notes = Notebook::default();
        notes.listen(&mut rig);
        let (mut history, mut keys) = (Vec::new(), Vec::new());
        for event in fixture::history(configuration.scheme()) {
            fixture::play(&mut rig, event)?;
            history.push(event.to_string());
            keys.extend(fixture::held(&rig, fixture::party(0)).map(|(_, key)| key));
        }
        let kept = notes.take();
        match comes_first {
            true => {
                rig.add(NEWCOMER)?;
                history.push(ScriptEvent::Add(NEWCOMER).to_string());
            }
            // It has its individual keys, and waits.
            false => rig.bring(&[NEWCOMER])?,
        }
        for message in kept {
            let taken = rig.inject(newcomer, &message.bytes).is_ok();
            let held = fixture::held(&rig, newcomer);
            if taken && held.is_some_and(|(_, key)| keys.contains(&key)) {
                let steps = vec![
                    format!("member {NEWCOMER} is given a recording: {}", message.what),
                    "it comes to the key that the group had then".to_owned(),
                ];
                return Ok(AttackOutcome::Broken { history, steps });
            }
        }
    }
    Ok(AttackOutcome::Holds)
}
