//! Periods in which joins and leaves wait, so that they become one change of the key.
//!
//! A service does that (`batch_ms` in its file). A join waits for the period's length, or for the
//! next eviction. An eviction changes the key at once, unless the key has changed less than a
//! period ago: then it waits until that is over, for a second at most. [`ExpectedChanges`] says how
//! many changes that makes in a group whose members come and go independently.

use crate::requirements::Members;

/// The longest that an eviction waits (ms).
const LONGEST_WAIT: f64 = 1_000.0;

/// What to expect of a group whose members come and go independently of each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExpectedChanges {
    /// Changes of the key an hour, those without a join or leave left out.
    pub changes: f64,
    /// Members that join or leave in a change, on average.
    pub members: f64,
    /// How long an eviction waits, on average (ms).
    pub eviction_wait: f64,
    /// How long an eviction waits at most (ms).
    pub longest_eviction_wait: f64,
    /// How long a join waits at most (ms).
    pub longest_join_wait: f64,
}

impl ExpectedChanges {
    /// Returns what to expect of these members; `None` if nothing waits or nobody comes or goes.
    pub(crate) fn of(members: &Members) -> Option<Self> {
        let Members { joins, leaves, burst, batch, .. } = *members;
        if batch <= 0.0 || joins + leaves <= 0.0 {
            return None;
        }
        let hold = batch.min(LONGEST_WAIT);
        // Groups of members that come or go at once, in a millisecond.
        let [joining, leaving] = [joins, leaves].map(|hourly| hourly / burst / HOUR);
        // Nobody waits after a change, so what follows depends on nothing before it. If an eviction
        // comes within the hold, the next change is at its end. Otherwise it is with the next
        // eviction, or a period after the first join, which is never within the hold.
        let none_held = (-leaving * hold).exp();
        let after_hold = match (joining > 0.0, leaving > 0.0) {
            (true, false) => 1.0 / joining + batch - hold,
            (false, _) => 1.0 / leaving,
            (true, true) => {
                let share = joining / (joining + leaving);
                (1.0 - share * (-leaving * (batch - hold)).exp()) / leaving
            }
        };
        let changes = 1.0 / none_held.mul_add(after_hold, hold);
        Some(Self {
            changes: changes * HOUR,
            members: ((joins + leaves) / (changes * HOUR)).max(burst),
            eviction_wait: changes * hold * hold / 2.0,
            longest_eviction_wait: hold,
            longest_join_wait: batch,
        })
    }
}

const HOUR: f64 = 3_600_000.0;

#[cfg(test)]
mod tests {
    use Request::{Join, Leave};

    use super::*;

    /// What a device or an operator asks for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Request {
        Join,
        /// A member leaves or is evicted.
        Leave,
    }

    /// One change of the key for all that have waited.
    #[derive(Clone, Debug, PartialEq)]
    struct Change {
        /// When it begins (ms).
        at: f64,
        /// The places of its requests among all, in their order.
        requests: Vec<usize>,
    }

    /// Returns the changes that requests become with periods of this length (ms). Requests have their
    /// times (ms), in ascending order. The key has changed at `changed` before (ms).
    fn changes(requests: &[(f64, Request)], period: f64, changed: f64) -> Vec<Change> {
        let hold = period.min(LONGEST_WAIT);
        let mut waiting = Waiting { changes: Vec::new(), changed, ..Waiting::default() };
        for (place, &(time, request)) in requests.iter().enumerate() {
            waiting.carry_out_before(time);
            match request {
                Join => waiting.joins.add(place, time + period),
                Leave => waiting.leaves.add(place, time.max(waiting.changed + hold)),
            }
        }
        waiting.carry_out_before(f64::INFINITY);
        waiting.changes
    }

    /// Requests that wait, and what has become of others.
    #[derive(Default)]
    struct Waiting {
        joins: Queue,
        leaves: Queue,
        changed: f64,
        changes: Vec<Change>,
    }

    /// Requests of one kind, and when they are carried out.
    #[derive(Default)]
    struct Queue {
        requests: Vec<usize>,
        due: f64,
    }

    impl Waiting {
        /// Carries out what is due before this time.
        fn carry_out_before(&mut self, time: f64) {
            while let Some(at) = self.due().filter(|&at| at < time) {
                let mut requests = std::mem::take(&mut self.joins.requests);
                // Joins alone do not hurry evictions.
                if self.leaves.is_due(at) {
                    requests.append(&mut self.leaves.requests);
                }
                requests.sort_unstable();
                self.changes.push(Change { at, requests });
                self.changed = at;
            }
        }

        fn due(&self) -> Option<f64> {
            let waiting = [&self.joins, &self.leaves].into_iter();
            let due = waiting.filter(|queue| !queue.requests.is_empty()).map(|queue| queue.due);
            due.min_by(f64::total_cmp)
        }
    }

    impl Queue {
        fn add(&mut self, place: usize, due: f64) {
            if self.requests.is_empty() {
                self.due = due;
            }
            self.requests.push(place);
        }

        fn is_due(&self, at: f64) -> bool {
            !self.requests.is_empty() && self.due <= at
        }
    }

    fn told(requests: &[(f64, Request)], period: f64) -> Vec<(f64, Vec<usize>)> {
        let changes = changes(requests, period, f64::NEG_INFINITY);
        changes.into_iter().map(|change| (change.at, change.requests)).collect()
    }

    #[test]
    fn joins_wait_and_an_eviction_does_not_unless_the_key_is_new() {
        let joins = [(0.0, Join), (100.0, Join), (300.0, Join)];
        assert_eq!(told(&joins, 200.0), [(200.0, vec![0, 1]), (500.0, vec![2])]);
        let leaves = [(0.0, Leave), (50.0, Leave), (100.0, Leave), (900.0, Leave)];
        assert_eq!(told(&leaves, 200.0), [(0.0, vec![0]), (200.0, vec![1, 2]), (900.0, vec![3])]);
        // An eviction takes along the joins that wait. Joins alone do not hurry one that waits.
        let both = [(0.0, Join), (50.0, Leave), (60.0, Leave), (70.0, Join)];
        assert_eq!(told(&both, 200.0), [(50.0, vec![0, 1]), (250.0, vec![2, 3])]);
        let both = [(0.0, Join), (190.0, Leave), (200.0, Join), (230.0, Leave)];
        let expected = [(190.0, vec![0, 1]), (390.0, vec![2, 3])];
        assert_eq!(told(&both, 200.0), expected);
        // Two at the same moment are together.
        assert_eq!(told(&[(0.0, Leave), (0.0, Leave)], 200.0), [(0.0, vec![0, 1])]);
        // However long joins wait, an eviction waits for a second at most.
        let long = [(0.0, Leave), (1.0, Leave), (2.0, Join)];
        assert_eq!(told(&long, 60_000.0), [(0.0, vec![0]), (1_000.0, vec![1, 2])]);
    }

    /// Of ten thousand requests at random times, the formula's figures are those of the policy.
    #[test]
    fn what_is_expected_is_what_happens() {
        for (joins, leaves) in
            [(3_600.0, 0.0), (0.0, 3_600.0), (3_600.0, 3_600.0), (360.0, 36_000.0)]
        {
            for batch in [10.0, 100.0, 500.0, 1_000.0, 5_000.0] {
                let members = Members { joins, leaves, batch, ..Members::default() };
                let expected = ExpectedChanges::of(&members).expect("something waits");
                let requests = drawn(joins, leaves, 20_000);
                let hours = requests.last().map_or(0.0, |(time, _)| time / HOUR);
                let happened = changes(&requests, batch, f64::NEG_INFINITY);
                let near = |found: f64, told: f64, within: f64| {
                    let off = (found - told).abs();
                    assert!(off <= within * found.max(told) + 1.0, "{members:?}: {found}, {told}");
                };
                near(happened.len() as f64 / hours, expected.changes, 0.03);
                let waits: Vec<f64> = (happened.iter())
                    .flat_map(|change| change.requests.iter().map(|&place| (change.at, place)))
                    .filter(|&(_, place)| requests[place].1 == Leave)
                    .map(|(at, place)| at - requests[place].0)
                    .collect();
                let longest = waits.iter().copied().fold(0.0, f64::max);
                assert!(longest <= expected.longest_eviction_wait, "{longest}");
                let mean = waits.iter().sum::<f64>() / waits.len().max(1) as f64;
                if leaves > 0.0 {
                    near(mean, expected.eviction_wait, 0.05);
                }
            }
        }
        let nothing = Members { joins: 0.0, leaves: 0.0, batch: 9.0, ..Members::default() };
        assert_eq!(ExpectedChanges::of(&nothing), None);
        assert_eq!(ExpectedChanges::of(&Members::default()), None);
    }

    fn drawn(joins: f64, leaves: f64, count: usize) -> Vec<(f64, Request)> {
        let (mut state, mut time) = (1_u64, 0.0);
        let mut uniform = || {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let all = joins + leaves;
        (0..count)
            .map(|_| {
                time -= (1.0 - uniform()).ln() * HOUR / all;
                (time, if uniform() * all < joins { Join } else { Leave })
            })
            .collect()
    }
}
