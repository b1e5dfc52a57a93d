//! Joins and leaves of a scenario that wait, so that they become one change.

use std::fmt;

use groupkey_choose::number;
use groupkey_choose::periods::{self, Request};

use crate::plan::{PlanAction, PlanStep};

/// How the joins and leaves of a scenario wait. Displays as a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// The length of a period (ms).
    pub batch_ms: u32,
    /// Joins and leaves.
    pub requests: usize,
    /// The changes that they become.
    pub changes: usize,
    /// How long a leave waits for its change to begin, on average and at most (ms); `None` if
    /// nobody leaves.
    pub leaves_ms: Option<(f64, f64)>,
    /// The same of joins.
    pub joins_ms: Option<(f64, f64)>,
}

/// A scenario's steps after joins and leaves have waited.
#[derive(Clone, Debug)]
pub(super) struct WaitedSteps {
    /// The steps, each with the place of the first operation that is in it.
    pub(super) steps: Vec<(usize, PlanStep)>,
    pub(super) waits: Waits,
}

impl WaitedSteps {
    /// Lets the joins and leaves among these operations wait. They come `rest_ms` after each other,
    /// as all operations that follow each other. Without batches each is a change of its own, after it
    /// has waited. `None` if one of them is of a certain member.
    pub(super) fn of(
        operations: &[PlanStep],
        (batch_ms, rest_ms): (u32, u32),
        has_batches: bool,
    ) -> Option<Self> {
        let mut steps = Vec::new();
        let (mut joins, mut leaves) = (Delays::default(), Delays::default());
        let mut changes = 0;
        let mut place = 0;
        for part in operations.chunk_by(|one, next| is_request(one) && is_request(next)) {
            if !is_request(&part[0]) {
                steps.extend(part.iter().enumerate().map(|(index, &step)| (place + index, step)));
                place += part.len();
                continue;
            }
            let at = |index: usize| f64::from(rest_ms) * index as f64;
            let requests: Option<Vec<_>> = (part.iter().enumerate())
                .map(|(index, step)| Some((at(index), request(step.action)?)))
                .collect();
            let requests = requests?;
            for change in periods::changes(&requests, batch_ms.into(), -f64::from(rest_ms)) {
                for &index in &change.requests {
                    let (time, request) = requests[index];
                    let delays = if request == Request::Join { &mut joins } else { &mut leaves };
                    delays.take(change.at - time);
                }
                let before = steps.len();
                match has_batches {
                    true => steps.extend(batches(&requests, &change.requests, place)),
                    false => {
                        let alone = |&index: &usize| (place + index, part[index]);
                        steps.extend(change.requests.iter().map(alone));
                    }
                }
                changes += steps.len() - before;
            }
            place += part.len();
        }
        let waits = Waits {
            batch_ms,
            requests: joins.count + leaves.count,
            changes,
            leaves_ms: leaves.mean_and_longest(),
            joins_ms: joins.mean_and_longest(),
        };
        Some(Self { steps, waits })
    }
}

/// Returns the change, or the changes if more wait than go into one.
fn batches(
    requests: &[(f64, Request)],
    together: &[usize],
    place: usize,
) -> impl Iterator<Item = (usize, PlanStep)> {
    let first = place + together.first().copied().unwrap_or_default();
    let number = |kind: Request| together.iter().filter(|&&one| requests[one].1 == kind).count();
    let (joining, leaving) = (number(Request::Join) as u32, number(Request::Leave) as u32);
    let most = PlanAction::MOST_AT_ONCE;
    (0..joining.max(leaving).div_ceil(most)).map(move |part| {
        let of = |all: u32| all.saturating_sub(part * most).min(most);
        let action = match (of(joining), of(leaving)) {
            (1, 0) => PlanAction::Add,
            (0, 1) => PlanAction::Remove(None),
            (joining, leaving) => PlanAction::Batch { joining, leaving },
        };
        (first, PlanStep { action, reported: true })
    })
}

const fn is_request(step: &PlanStep) -> bool {
    matches!(step.action, PlanAction::Add | PlanAction::Remove(_))
}

/// Returns what a step asks for. `None` if it is of a certain member.
const fn request(action: PlanAction) -> Option<Request> {
    match action {
        PlanAction::Add => Some(Request::Join),
        PlanAction::Remove(None) => Some(Request::Leave),
        _ => None,
    }
}

#[derive(Default)]
struct Delays {
    count: usize,
    sum: f64,
    longest: f64,
}

impl Delays {
    fn take(&mut self, delay: f64) {
        self.count += 1;
        self.sum += delay;
        self.longest = self.longest.max(delay);
    }

    fn mean_and_longest(&self) -> Option<(f64, f64)> {
        (self.count > 0).then(|| (self.sum / self.count as f64, self.longest))
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch_ms, requests, changes, leaves_ms, joins_ms } = self;
        write!(f, "With batch_ms = {batch_ms}, {requests} joins and leaves are {changes} changes")?;
        for (what, delays) in [("a leave", leaves_ms), ("a join", joins_ms)] {
            if let Some((mean, longest)) = delays {
                let [mean, longest] = [*mean, *longest].map(number::rounded);
                write!(f, "; {what} waits {mean} ms before its change, {longest} at most")?;
            }
        }
        f.write_str(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(text: &str, times: (u32, u32), has_batches: bool) -> (Vec<(usize, String)>, Waits) {
        let step = |text: &str| PlanStep { action: text.parse().expect(text), reported: true };
        let operations: Vec<_> = text.split(", ").map(step).collect();
        let found = WaitedSteps::of(&operations, times, has_batches).expect("anybody leaves");
        let steps = found.steps.iter().map(|(place, step)| (*place, step.action.to_string()));
        (steps.collect(), found.waits)
    }

    #[test]
    fn what_comes_within_a_period_is_one_change() {
        let life = "create, add, remove, add, add, rekey, add";
        let (steps, waits) = waited(life, (250, 100), true);
        // The eviction follows the creation too soon, and takes along the join that waits.
        let expected =
            [(0, "create"), (1, "batch 1 1"), (3, "batch 2 0"), (5, "rekey"), (6, "add")];
        assert_eq!(steps, expected.map(|(place, step)| (place, step.to_owned())));
        assert_eq!((waits.requests, waits.changes, waits.leaves_ms), (5, 3, Some((50.0, 50.0))));
        let told = "With batch_ms = 250, 5 joins and leaves are 3 changes; a leave waits 50 ms \
                    before its change, 50 at most; a join waits 200 ms before its change, 250 at most.";
        assert_eq!(waits.to_string(), told);
        let (steps, alone) = waited(life, (250, 100), false);
        assert_eq!((steps.len(), alone.changes), (7, 5));
        assert_eq!(alone.leaves_ms, waits.leaves_ms, "it waits all the same");
        assert_eq!(waited("create, remove, remove", (50, 100), true).1.changes, 2);
    }

    #[test]
    fn more_than_a_service_takes_at_once_are_several_changes() {
        let many = format!("create{}", ", add".repeat(70));
        let (steps, waits) = waited(&many, (100, 1), true);
        assert_eq!(steps[1].1, "batch 64 0");
        assert_eq!(steps[2].1, "batch 6 0");
        assert_eq!((waits.requests, waits.changes), (70, 2));
        let certain = ["create", "remove 3"]
            .map(|text| PlanStep { action: text.parse().expect(text), reported: true });
        assert!(WaitedSteps::of(&certain, (100, 0), true).is_none());
    }
}
