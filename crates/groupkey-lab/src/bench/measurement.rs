//! The measurement of one scheme at one size: repetitions in rounds, and the rows that they make.

use std::sync::atomic::{AtomicBool, Ordering};

use groupkey::Error;

use super::rounds::rounds;
use super::samples::ActivitySamples;
use super::state::{BenchState, Circumstances, PhaseRecord};
use super::warning::ProcessorWatch;
use super::{Activity, BenchError, BenchPlan, BenchRow, HostPrices};

/// The result of one scheme at one size.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// A row for each role, phase and activity that the plan asks for.
    pub rows: Vec<BenchRow>,
    /// The activities that the scheme refuses at this size, with its errors.
    pub refused: Vec<(Activity, Error)>,
}

/// The instruments of a measurement.
pub struct Instruments<'i> {
    /// Learns the price of a primitive when it first occurs.
    pub prices: &'i mut HostPrices,
    /// When this becomes true the measurement stops at the next opportunity.
    pub stop: &'i AtomicBool,
    /// Called for each measured repetition.
    pub on_repetition: &'i dyn Fn(),
}

/// Measures a scheme at one size (members), one round after the other. Returns `None` if it was
/// stopped. The plan must be valid.
///
/// Each activity has groups of its own, a new group for each repetition, all alike. So a row does
/// not depend on what else is measured. Messages are encrypted and decrypted one after the other in
/// one group, as S003 does it (definition 3.2).
pub fn measure(
    plan: &BenchPlan,
    members: u32,
    instruments: &mut Instruments<'_>,
) -> Result<Option<Measurement>, BenchError> {
    let mut ongoing = Ongoing::new(plan, members);
    while !ongoing.is_complete() {
        if !ongoing.visit(instruments)? {
            return Ok(None);
        }
    }
    Ok(Some(ongoing.end(instruments.prices)))
}

/// A measurement between its rounds.
pub(super) struct Ongoing<'p> {
    plan: &'p BenchPlan,
    members: u32,
    /// Repetitions of the rounds to come, the next round last.
    rounds: Vec<u32>,
    samples: Vec<(Activity, ActivitySamples<'p>)>,
    refused: Vec<(Activity, Error)>,
    watch: ProcessorWatch,
    circumstances: Option<Circumstances>,
}

impl<'p> Ongoing<'p> {
    pub(super) fn new(plan: &'p BenchPlan, members: u32) -> Self {
        let mut rounds: Vec<u32> = rounds(plan.repetitions).collect();
        rounds.reverse();
        Self {
            plan,
            members,
            rounds,
            samples: Vec::new(),
            refused: Vec::new(),
            watch: ProcessorWatch::default(),
            circumstances: None,
        }
    }

    pub(super) const fn is_complete(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Measures the next round. Returns false if it was stopped.
    pub(super) fn visit(&mut self, instruments: &Instruments<'_>) -> Result<bool, BenchError> {
        let Some(repetitions) = self.rounds.pop() else { return Ok(true) };
        let mut state = BenchState::new(self.plan, self.members)?;
        self.watch.resume();
        let (talks, operations): (Vec<_>, Vec<_>) =
            self.plan.activities().partition(|activity| activity.operation().is_none());
        for activity in operations {
            if !self.operate(activity, repetitions, &mut state, instruments)? {
                return Ok(false);
            }
        }
        if !talks.is_empty() {
            self.talk(&talks, repetitions, &mut state, instruments)?;
        }
        self.watch.pause();
        self.circumstances = Some(state.circumstances());
        Ok(true)
    }

    /// Returns the rows of all rounds.
    pub(super) fn end(self, prices: &mut HostPrices) -> Measurement {
        let mut rows = Vec::new();
        if let Some(circumstances) = self.circumstances {
            let busy = self.watch.warning();
            for (_, samples) in &self.samples {
                let own = samples.rows(circumstances, prices, busy);
                rows.extend(own.into_iter().filter(|row| self.plan.asks_for(row)));
            }
        }
        Measurement { rows, refused: self.refused }
    }

    fn operate(
        &mut self,
        activity: Activity,
        repetitions: u32,
        state: &mut BenchState,
        instruments: &Instruments<'_>,
    ) -> Result<bool, BenchError> {
        if self.refused.iter().any(|&(refused, _)| refused == activity) {
            return Ok(true);
        }
        // This repetition is not measured. It makes the static variables, and wakes the processor.
        let first = match state.perform(activity) {
            Err(BenchError::Refused(error)) => {
                self.refused.push((activity, error));
                return Ok(true);
            }
            performed => performed?,
        };
        let samples = self.samples(activity, &first);
        for _ in 0..repetitions {
            if instruments.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            samples.take(&state.perform(activity)?)?;
            (instruments.on_repetition)();
        }
        Ok(true)
    }

    fn talk(
        &mut self,
        talks: &[Activity],
        repetitions: u32,
        state: &mut BenchState,
        instruments: &Instruments<'_>,
    ) -> Result<(), BenchError> {
        if self.refused.iter().any(|(refused, _)| talks.contains(refused)) {
            return Ok(());
        }
        let messages =
            match state.converse(1 + repetitions, self.plan.message_bytes, self.plan.nonces) {
                Err(BenchError::Refused(error)) => {
                    self.refused.extend(talks.iter().map(|&talk| (talk, error)));
                    return Ok(());
                }
                conversed => conversed?,
            };
        for &talk in talks {
            // The first message is left out: with it, sender and receiver make keys that they keep.
            let samples = self.samples(talk, &messages[1]);
            messages[1..].iter().try_for_each(|episodes| samples.take(episodes))?;
            (0..repetitions).for_each(|_| (instruments.on_repetition)());
        }
        Ok(())
    }

    /// Returns the samples of an activity. Begins them with the first repetition.
    fn samples(&mut self, activity: Activity, first: &[PhaseRecord]) -> &mut ActivitySamples<'p> {
        let place = self.samples.iter().position(|(known, _)| *known == activity);
        let place = place.unwrap_or_else(|| {
            let samples = ActivitySamples::new(self.plan, self.members, activity, first);
            self.samples.push((activity, samples));
            self.samples.len() - 1
        });
        &mut self.samples[place].1
    }
}

impl std::fmt::Debug for Instruments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instruments").field("prices", &self.prices).finish_non_exhaustive()
    }
}
