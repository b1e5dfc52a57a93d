//! Key control: the member that contributes last tries values until it likes the key.

use groupkey::catalogue::{Adversary, Profile};
use groupkey_testkit::rig::{Fate, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, ChosenEvent, ScriptEvent};
use crate::audit::claims::Claim;

/// The last member to contribute chooses bits of the key.
pub(super) const ATTACK: Attack = Attack {
    id: "key-control",
    name: "Key control",
    reference: "Mitchell, Ward and Wilson, Electronics Letters 34(10), 1998",
    shows: "a member chooses bits of the group key, at twice the work for each",
    applies_to: |scheme, _| fixture::is_distributed(scheme),
    breaks: Claim::Contribution,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run,
};

/// Number of choices that are tried. All of them miss the four bits once in 4,000 times.
const TRIES: u64 = 128;

/// The value that the adversary wants for the first four bits of the key.
const WISH: u8 = 0xB;

fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    for (event, chooser) in ChosenEvent::all(configuration.scheme()) {
        // If the event cannot go on without the messages that are held back, holding them back
        // gains nothing.
        let Ok(Some(choice)) = good_choice(configuration, (event, chooser), seed) else {
            continue;
        };
        let mut group = ChosenEvent::new(configuration, (event, chooser), seed, choice)?;
        // The evicted member hears the messages, too, and refuses them.
        group.rig.intercept(|_| Fate::Arrives);
        group.run()?;
        let honest = group.honest();
        if honest.iter().all(|&member| group.key_at(member).is_some_and(|key| is_wish(&key))) {
            let steps = vec![
                format!("member {chooser} has all that the key depends on but its own part"),
                format!("it draws that {} times, until the key begins with {WISH:x}", choice + 1),
                "then it sends it, and all have that key".to_owned(),
            ];
            return Ok(AttackOutcome::Broken { history: ChosenEvent::told(event), steps });
        }
    }
    Ok(AttackOutcome::Holds)
}

/// Finds a choice that gives the key that the chooser wants, before the chooser has sent anything.
fn good_choice(
    configuration: &AttackTarget<'_>,
    (event, chooser): (ScriptEvent, u32),
    seed: u64,
) -> Result<Option<u64>, RigError> {
    let told_late = knows_before_it_is_confirmed(configuration, event, chooser);
    for choice in 0..TRIES {
        let mut group = ChosenEvent::new(configuration, (event, chooser), seed, choice)?;
        if !told_late {
            let me = fixture::party(chooser);
            group.rig.intercept(move |transit| match transit.header.sender == me {
                true => Fate::Lost,
                false => Fate::Arrives,
            });
        }
        group.run()?;
        match group.key_at(chooser) {
            // The chooser lacks the key without the values that others compute from its part.
            None => return Ok(None),
            Some(key) if is_wish(&key) => return Ok(Some(choice)),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// In the sound form of CKA the leader computes the key before it sends anything. It has the nonces
/// and draws a secret. With sender keys any member does, who has the others' and draws its own. The
/// party shows the key only when all members have confirmed it.
fn knows_before_it_is_confirmed(
    configuration: &AttackTarget<'_>,
    event: ScriptEvent,
    member: u32,
) -> bool {
    configuration.profile() == Profile::Sound
        && match configuration.scheme().id {
            "cka" => member == 0 && matches!(event, ScriptEvent::Create(_)),
            "sender-keys" => true,
            _ => false,
        }
}

fn is_wish(key: &groupkey::Key) -> bool {
    key.as_bytes()[0] >> 4 == WISH
}
