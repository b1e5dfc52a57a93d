//! Shrinks a history that breaks an invariant.

use crate::history::SoakHistory;
use crate::ledger::Invariant;
use crate::world::run;

/// Returns the steps (from 1) of a shorter history that breaks the same invariant: none of them can
/// be left out alone.
pub fn shrink(history: &SoakHistory, kind: Invariant) -> Vec<usize> {
    let all: Vec<usize> = (1..=history.steps.len()).collect();
    shrink_with(all, |kept| {
        run(&history.only(kept)).violation.is_some_and(|violation| violation.kind == kind)
    })
}

/// Leaves out runs of steps, long ones first, while `fails` says that the rest still fails.
fn shrink_with(mut kept: Vec<usize>, mut fails: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut length = kept.len() / 2;
    while length > 0 {
        let mut place = kept.len();
        let mut is_shorter = false;
        // From the end: what comes after the violation goes at once.
        while place > 0 {
            let from = place.saturating_sub(length);
            let rest: Vec<_> = [&kept[..from], &kept[place..]].concat();
            if !rest.is_empty() && fails(&rest) {
                kept = rest;
                is_shorter = true;
            }
            place = from;
        }
        if !is_shorter || length > 1 {
            length /= 2;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        for needed in [vec![7], vec![1, 40], vec![3, 17, 22, 23]] {
            let fails = |kept: &[usize]| needed.iter().all(|step| kept.contains(step));
            assert_eq!(shrink_with((1..=40).collect(), fails), needed);
        }
    }

    #[test]
    fn one_of_two_ways_to_fail_is_left() {
        let fails = |kept: &[usize]| {
            [[2, 5], [8, 9]].iter().any(|way| way.iter().all(|step| kept.contains(step)))
        };
        let kept = shrink_with((1..=12).collect(), fails);
        assert!(kept == [2, 5] || kept == [8, 9], "{kept:?}");
    }

    #[test]
    fn a_history_that_needs_all_its_steps_keeps_them() {
        let all: Vec<usize> = (1..=9).collect();
        assert_eq!(shrink_with(all.clone(), |kept| kept.len() == 9), all);
    }
}
