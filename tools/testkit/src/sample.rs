//! Which of many cases a run of the tests tries.

use std::env;

/// One case in `each`: with the seeds 0 to `each - 1`, all of them.
pub fn one_in<T>(each: usize, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    cases.into_iter().skip((seed() % each as u64) as usize).step_by(each)
}

/// Returns what the variable `GROUPKEY_SEED` says, or 0: the same cases in each short run. `.ci/full tests` says the
/// day, so that it tries others than the day before.
pub fn seed() -> u64 {
    let seed = env::var("GROUPKEY_SEED");
    seed.map_or(0, |seed| seed.parse().expect("GROUPKEY_SEED is a number"))
}
