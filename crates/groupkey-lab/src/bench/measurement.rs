//! The measurement of one scheme at one size: repetitions in rounds, and the rows that they make.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use groupkey::Error;

use super::rounds::rounds;
use super::samples::ActivitySamples;
use super::script::Script;
use super::state::{BenchState, Circumstances, PhaseRecord};
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
/// Each activity has a group of its own, which runs once. A repetition gives new parties what the
/// measured ones got there, from the creation on. So a row does not depend on what else is
/// measured. Messages are encrypted and decrypted one after the other in one group, as S003 does it
/// (definition 3.2).
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
    /// What the measured parties got in the group of each operation.
    scripts: Vec<(Activity, Script)>,
    refused: Vec<(Activity, Error)>,
    circumstances: Option<Circumstances>,
    effort: MeasuringEffort,
}

/// How long a measurement took, by how often it does so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeasuringEffort {
    pub(super) once: Duration,
    pub(super) rounds: Duration,
    /// Repetitions, those that are not measured included.
    pub(super) repetitions: Duration,
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
            scripts: Vec::new(),
            refused: Vec::new(),
            circumstances: None,
            effort: MeasuringEffort::default(),
        }
    }

    pub(super) const fn is_complete(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Measures the next round. Returns false if it was stopped.
    pub(super) fn visit(&mut self, instruments: &Instruments<'_>) -> Result<bool, BenchError> {
        let Some(repetitions) = self.rounds.pop() else { return Ok(true) };
        let mut state = BenchState::new(self.plan, self.members)?;
        let (talks, operations): (Vec<_>, Vec<_>) =
            self.plan.activities().partition(|activity| activity.operation().is_none());
        for activity in operations {
            if !self.operate(activity, repetitions, &mut state, instruments)? {
                return Ok(false);
            }
        }
        if !talks.is_empty() {
            let started = Instant::now();
            self.talk(&talks, repetitions, &mut state, instruments)?;
            self.effort.rounds += started.elapsed();
        }
        // Later rounds have only the measured parties.
        let now = state.circumstances();
        let bits = self.circumstances.map_or(now.security_bits, |before| before.security_bits);
        let security_bits = now.security_bits.min(bits);
        self.circumstances = Some(Circumstances { security_bits, ..now });
        Ok(true)
    }

    pub(super) const fn effort(&self) -> MeasuringEffort {
        self.effort
    }

    /// Returns the rows of all rounds.
    pub(super) fn end(self, prices: &mut HostPrices) -> Measurement {
        let mut rows = Vec::new();
        if let Some(circumstances) = self.circumstances {
            for (_, samples) in &self.samples {
                let own = samples.rows(circumstances, prices);
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
        let mut started = Instant::now();
        let mut lap = || {
            let before = std::mem::replace(&mut started, Instant::now());
            started - before
        };
        if !self.scripts.iter().any(|(known, _)| *known == activity) {
            let (first, mut script) = match state.perform(activity) {
                Err(BenchError::Refused(error)) => {
                    self.refused.push((activity, error));
                    return Ok(true);
                }
                performed => performed?,
            };
            script.keep(&self.samples(activity, &first).parties());
            self.scripts.push((activity, script));
            self.effort.once += lap();
        }
        let Self { scripts, samples, .. } = &mut *self;
        let script = scripts.iter().find(|(of, _)| *of == activity);
        let samples = samples.iter_mut().find(|(of, _)| *of == activity);
        let Some(((_, script), (_, samples))) = script.zip(samples) else { return Ok(true) };
        let parties = samples.parties();
        // This repetition is not measured. It makes the static variables, and wakes the processor.
        state.replay(script, &parties)?;
        for _ in 0..repetitions {
            if instruments.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            samples.take(&state.replay(script, &parties)?)?;
            (instruments.on_repetition)();
        }
        self.effort.repetitions += lap();
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
