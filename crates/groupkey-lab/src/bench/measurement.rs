//! The measurement of one scheme at one size: repetitions, and the rows that they make.

use std::sync::atomic::{AtomicBool, Ordering};

use groupkey::Error;

use super::book::Book;
use super::stage::Stage;
use super::warning::Watch;
use super::{Activity, BenchError, BenchPlan, BenchRow, Prices};

/// What came of one scheme at one size.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// A row for each role, phase and activity that the plan asks for.
    pub rows: Vec<BenchRow>,
    /// What the scheme does not do at this size, and what it says about it.
    pub refused: Vec<(Activity, Error)>,
}

/// What a measurement is done with.
pub struct Instruments<'i> {
    /// Learns what a primitive costs when it first occurs.
    pub prices: &'i mut Prices,
    /// When this becomes true the measurement stops at the next opportunity.
    pub stop: &'i AtomicBool,
    /// Is told of each measured repetition.
    pub on_repetition: &'i dyn Fn(),
}

/// Measures a scheme at one size (members); `None` if it was stopped. The plan must be valid.
///
/// Each activity has groups of its own, a new one for each repetition, all alike: so a row does not
/// depend on what else is measured. Messages are encrypted and decrypted one after the other in one
/// group, as S003 does it (definition 3.2).
pub fn measure(
    plan: &BenchPlan,
    members: u32,
    instruments: &mut Instruments<'_>,
) -> Result<Option<Measurement>, BenchError> {
    let mut measurement = Measurement::default();
    let wanted = |row: &BenchRow| plan.asks_for(row);
    let mut stage = Stage::new(plan, members)?;
    let (talks, operations): (Vec<_>, Vec<_>) =
        plan.activities().partition(|activity| activity.operation().is_none());
    for activity in operations {
        let watch = Watch::begin();
        // Not measured: it makes the static variables, and wakes the processor.
        let first = match stage.perform(activity) {
            Err(BenchError::Refused(error)) => {
                measurement.refused.push((activity, error));
                continue;
            }
            performed => performed?,
        };
        let mut book = Book::new(plan, members, activity, &first);
        for _ in 0..plan.repetitions {
            if instruments.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            book.take(&stage.perform(activity)?)?;
            (instruments.on_repetition)();
        }
        let rows = book.rows(&stage, instruments.prices, watch.end());
        measurement.rows.extend(rows.into_iter().filter(wanted));
    }
    if talks.is_empty() {
        return Ok(Some(measurement));
    }

    let watch = Watch::begin();
    let messages = match stage.converse(1 + plan.repetitions, plan.message_bytes) {
        Err(BenchError::Refused(error)) => {
            measurement.refused.extend(talks.into_iter().map(|talk| (talk, error)));
            return Ok(Some(measurement));
        }
        conversed => conversed?,
    };
    let busy = watch.end();
    for talk in talks {
        // With the first message, sender and receiver make keys that they keep.
        let mut book = Book::new(plan, members, talk, &messages[1]);
        messages[1..].iter().try_for_each(|episodes| book.take(episodes))?;
        let rows = book.rows(&stage, instruments.prices, busy);
        measurement.rows.extend(rows.into_iter().filter(wanted));
        (0..plan.repetitions).for_each(|_| (instruments.on_repetition)());
    }
    Ok(Some(measurement))
}

impl std::fmt::Debug for Instruments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instruments").field("prices", &self.prices).finish_non_exhaustive()
    }
}
