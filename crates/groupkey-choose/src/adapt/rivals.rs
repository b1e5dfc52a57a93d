//! Candidates that were better for a while.
//!
//! Numbers of members go up and down, and with each of them another candidate is best. So a
//! candidate must have saved a part of what the change to it costs, had it been in force, before the
//! change is made. A change that turns out wrong then costs little more than what was lost already.

use crate::choice::ChooseError;
use crate::decision::Candidate;

/// Candidates that were the best one at some time since the last change.
#[derive(Clone, Debug, Default)]
pub(super) struct Rivals(Vec<Rival>);

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Rival {
    pub(super) candidate: Candidate,
    /// What it would have saved since it was last dearer than the present one.
    pub(super) saved: f64,
    /// What it saves a day, on average.
    pub(super) rate: f64,
}

impl Rivals {
    /// Takes in the best candidate of an observation, and what each rival saves a day. `None` drops
    /// it: it exceeds a limit, or cannot do what is needed. `share` is how much the observation
    /// counts in the average.
    pub(super) fn note(
        &mut self,
        best: Candidate,
        days: f64,
        share: f64,
        mut saves: impl FnMut(&Candidate) -> Result<Option<f64>, ChooseError>,
    ) -> Result<(), ChooseError> {
        if self.0.iter().all(|rival| rival.candidate != best) {
            self.0.push(Rival { candidate: best, saved: 0.0, rate: 0.0 });
        }
        let mut kept = Vec::new();
        for mut rival in self.0.drain(..) {
            let Some(saves) = saves(&rival.candidate)? else { continue };
            rival.saved = (rival.saved + saves * days).max(0.0);
            rival.rate += share * (saves - rival.rate);
            kept.push(rival);
        }
        kept.sort_by(|one, other| other.saved.total_cmp(&one.saved));
        kept.truncate(MOST);
        self.0 = kept;
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Rival> {
        self.0.iter()
    }

    /// Forgets them all, for another candidate is in force.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The most rivals.
const MOST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn named(scheme: &str) -> Candidate {
        let mut candidate = Candidate::default();
        scheme.clone_into(&mut candidate.variant.scheme);
        candidate
    }

    #[test]
    fn what_is_better_and_worse_by_turns_has_saved_nothing() {
        let mut rivals = Rivals::default();
        for look in 0..1_000 {
            let saves = if look % 2 == 0 { 1.0 } else { -1.0 };
            rivals.note(named("other"), 1.0, 0.1, |_| Ok(Some(saves))).unwrap();
        }
        let rival = rivals.iter().next().unwrap();
        assert!(rival.saved <= 1.0 && rival.rate.abs() < 0.1, "{rival:?}");
    }

    #[test]
    fn what_stays_better_adds_up_and_what_exceeds_a_limit_is_gone() {
        let mut rivals = Rivals::default();
        for _ in 0..10 {
            rivals.note(named("other"), 0.5, 0.5, |_| Ok(Some(2.0))).unwrap();
        }
        let rival = rivals.iter().next().unwrap();
        assert!((rival.saved - 10.0).abs() < 1e-9 && (rival.rate - 2.0).abs() < 0.01);
        rivals.note(named("other"), 0.5, 0.5, |_| Ok(None)).unwrap();
        assert_eq!(rivals.iter().count(), 0);
    }
}
