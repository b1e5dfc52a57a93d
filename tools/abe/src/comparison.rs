//! What is held beside each other: operations and times.

use std::fmt;

use rustix::time::{ClockId, clock_gettime};

/// Costly operations of a key, a ciphertext or a decryption.
#[derive(Clone, Copy, Debug, Default)]
pub struct FameOperations {
    /// Hashes to G1.
    pub hashes: u64,
    /// Powers in G1.
    pub first: u64,
    /// Powers in G2.
    pub second: u64,
    /// Powers in GT.
    pub target: u64,
    /// Pairings without what follows.
    pub pairings: u64,
    /// Final exponentiations.
    pub finals: u64,
    /// Checks of received elements.
    pub checks: u64,
}

/// Mean milliseconds of a call.
pub fn mean(runs: u32, mut call: impl FnMut()) -> f64 {
    let start = milliseconds();
    (0..runs).for_each(|_| call());
    (milliseconds() - start) / f64::from(runs)
}

/// Milliseconds that this process has computed: what others do on the machine does not count.
pub fn milliseconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

impl fmt::Display for FameOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hashes, first, second, target, pairings, finals, checks } = self;
        let counts = [
            (hashes, "H"),
            (first, "E1"),
            (second, "E2"),
            (target, "ET"),
            (pairings, "P"),
            (finals, "F"),
            (checks, "V"),
        ];
        let told = counts.into_iter().filter(|(count, _)| **count > 0);
        let told: Vec<_> = told.map(|(count, what)| format!("{count} {what}")).collect();
        f.pad(&told.join(", "))
    }
}
