//! What a scheme must show before it is compared with others: it is held to its law.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use groupkey::catalogue::Scheme;
use groupkey::protection::Guard;
use groupkey::{Key, Operation};

use crate::rig::{Rig, SUITES, Settings, transcript};

/// Plays histories of a scheme's group among forgers, in three suites, with MACs and with signatures, until
/// `is_stopping`. Returns how many operations passed, or what broke the law.
///
/// After each operation all members hold one key, nobody held it before, and nobody holds it who is out. The same seed
/// gives the same messages.
pub fn check(
    scheme: &'static Scheme,
    counts: [u32; 2],
    seed: u64,
    is_stopping: &dyn Fn() -> bool,
) -> Result<u32, String> {
    let mut passed = 0;
    for suite in SUITES {
        for protection in [Guard::Mac, Guard::Signature] {
            let settings =
                Settings { suite, protection, hostile: true, seed, ..Settings::default() };
            passed += play(scheme, settings, counts, is_stopping)
                .map_err(|broken| format!("in suite {}, {protection:?}: {broken}", suite.name()))?;
        }
    }
    let short = || transcript(scheme, Settings { seed, ..Settings::default() });
    match (short(), short()) {
        (Ok(one), Ok(other)) if one == other => Ok(passed),
        (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        _ => Err("the same seed gives other messages: take all randomness from the context, and \
                  let nothing depend on the order of a set"
            .to_owned()),
    }
}

fn play(
    scheme: &'static Scheme,
    settings: Settings,
    [members, changes]: [u32; 2],
    is_stopping: &dyn Fn() -> bool,
) -> Result<u32, String> {
    let (seed, mut rig, mut keys) = (settings.seed, Rig::new(scheme, settings), Vec::<Key>::new());
    let rekeys = scheme.operations.contains(&Operation::Rekey);
    for change in (0..=changes).take_while(|_| !is_stopping()) {
        // Each in its turn leaves, or joins, again if it left; two of them are newcomers.
        let who = (seed.wrapping_add(change.into()) % u64::from(members + 2)) as u32;
        let (current, is_member) = (rig.members().len(), rig.members().any(|one| one == who));
        let (did, outcome) = match is_member {
            _ if change == 0 => (format!("creating a group of {members}"), rig.create(members)),
            _ if change % 4 == 3 && rekeys => ("changing the key alone".to_owned(), rig.rekey()),
            true if current > 2 => (format!("removing member {who}"), rig.remove(who)),
            false if current < scheme.members.1 as usize => {
                (format!("adding member {who}"), rig.add(who))
            }
            _ => continue,
        };
        let broken = |problem: &dyn Display| format!("{did}: {problem}");
        outcome.map_err(|error| broken(&error))?;
        let key = rig.agreed_key().map_err(|error| broken(&error))?.clone();
        if keys.contains(&key) {
            return Err(broken(&"the group key is not new"));
        }
        if rig.outsider_knows_key() {
            return Err(broken(&"an evicted member holds the new group key"));
        }
        keys.push(key);
    }
    Ok(keys.len() as u32)
}
