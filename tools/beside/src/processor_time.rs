//! Processor time, which other programs on the machine do not lengthen.

#[allow(dead_code, reason = "the benchmark uses the rest")]
#[path = "../../../crates/groupkey-lab/src/clock.rs"]
mod clock;

use self::clock::Clock;

/// Returns what the work returns, and the processor time of the whole process that it took, in µs.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let clock = Clock::of_process();
    let before = clock.now();
    let result = work();
    (result, (clock.now() - before).as_secs_f64() * 1e6)
}
