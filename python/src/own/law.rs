//! What a scheme must show before it is compared with others: it is held to its law in the rig, as
//! schemes in Rust are.

use groupkey::catalogue::Scheme;
use groupkey::{Key, Operation};
use groupkey_cli::Host;
use groupkey_testkit::rig::{Guard, Rig, RigError, SUITES, Settings, transcript};
use pyo3::prelude::*;

use super::step::watching;
use super::{OwnScheme, scheme_error};
use crate::work::{apart, input_error};

/// Plays histories of a scheme's group among forgers. Returns how many operations passed.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    scheme: PyRef<'_, OwnScheme>,
    members: u32,
    changes: u32,
    seed: u64,
) -> PyResult<u32> {
    let (entry, parts) = (scheme.entry(), scheme.parts());
    let (least, most) = entry.members;
    if members < least || members >= most.min(10_000) {
        let told = format!("members must be from {least} on, and leave room for one that joins");
        return Err(input_error(py, told, None));
    }
    let watch = || parts.raise();
    let play = |host: &Host| watching(|| play_all(host, entry, members, changes, seed));
    let (outcome, _) = apart(py, None, &watch, play)?;
    outcome.map_err(|broken| scheme_error(py, format!("{}: {broken}", entry.id)))
}

fn play_all(
    host: &Host,
    scheme: &'static Scheme,
    members: u32,
    changes: u32,
    seed: u64,
) -> Result<u32, String> {
    let mut passed = 0;
    for suite in SUITES {
        for protection in [Guard::Mac, Guard::Signature] {
            let settings =
                Settings { suite, protection, hostile: true, seed, ..Settings::default() };
            let mut history = History::new(scheme, settings);
            history.play(host, members, changes).map_err(|broken| {
                format!("in suite {}, {protection:?}: {}: {broken}", suite.name(), history.did)
            })?;
            passed += history.passed;
        }
    }
    let twice = [(); 2].map(|()| transcript(scheme, Settings { seed, ..Settings::default() }));
    match twice {
        [Ok(one), Ok(other)] if one == other => Ok(passed),
        [Ok(_), Ok(_)] => Err("the same seed gives other messages: take all randomness from the \
                               context, and let nothing depend on the order of a set"
            .to_owned()),
        [Err(error), _] | [_, Err(error)] => Err(error.to_string()),
    }
}

/// A group, and what happened in it.
struct History {
    scheme: &'static Scheme,
    rig: Rig,
    keys: Vec<Key>,
    /// The last operation, in words.
    did: String,
    passed: u32,
    random: u64,
}

impl History {
    fn new(scheme: &'static Scheme, settings: Settings) -> Self {
        let (random, rig) = (settings.seed, Rig::new(scheme, settings));
        Self { scheme, rig, keys: Vec::new(), did: String::new(), passed: 0, random }
    }

    fn play(&mut self, host: &Host, members: u32, changes: u32) -> Result<(), String> {
        self.did = format!("creating a group of {members}");
        let created = self.rig.create(members);
        self.require_law(created.map(drop))?;
        let (mut newcomer, mut former) = (members, None);
        let (least, most) = (2, self.scheme.members.1 as usize);
        let rekeys = self.scheme.operations.contains(&Operation::Rekey);
        for change in 0..changes {
            if host.is_stopping() {
                break;
            }
            let current: Vec<u32> = self.rig.members().collect();
            let (may_leave, may_join) = (current.len() > least, current.len() < most);
            let outcome = match change % 4 {
                2 if rekeys => {
                    self.did = "changing the key alone".to_owned();
                    self.rig.rekey()
                }
                0 | 2 if may_leave => {
                    let leaves = current[self.draw() as usize % current.len()];
                    former = Some(leaves);
                    self.did = format!("removing member {leaves}");
                    self.rig.remove(leaves)
                }
                _ if may_join => {
                    // Who left comes back; else somebody new comes.
                    let joins =
                        if change % 4 == 3 { former.take() } else { None }.unwrap_or(newcomer);
                    newcomer += u32::from(joins == newcomer);
                    self.did = format!("adding member {joins}");
                    self.rig.add(joins)
                }
                _ => continue,
            };
            self.require_law(outcome.map(drop))?;
        }
        Ok(())
    }

    /// All hold one key, nobody held it before, and nobody holds it who is out.
    fn require_law(&mut self, outcome: Result<(), RigError>) -> Result<(), String> {
        outcome.map_err(|error| error.to_string())?;
        let key = self.rig.agreed_key().map_err(|error| error.to_string())?.clone();
        if self.keys.contains(&key) {
            return Err("the group key is not new".to_owned());
        }
        if self.rig.outsider_knows_key() {
            return Err("an evicted member holds the new group key".to_owned());
        }
        self.keys.push(key);
        self.passed += 1;
        Ok(())
    }

    /// SplitMix64.
    fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    }
}
