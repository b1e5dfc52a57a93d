//! Maps of winners: the recommendation over two requirements that change together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

use groupkey_choose::decision::Candidate;
use groupkey_choose::requirements::Requirements;

/// Winners over two requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// What changes.
    pub kind: MapKind,
    /// Values from left to right.
    pub columns: Vec<f64>,
    /// Values from bottom to top.
    pub rows: Vec<f64>,
    /// The column and the row that are nearest to the requirements.
    pub present: (usize, usize),
    /// The winner in each cell, row by row. `None` where nothing meets the requirements.
    pub winners: Vec<Option<Winner>>,
}

/// What changes from cell to cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Members, and joins and leaves in proportion.
    MembersAndChanges,
    /// Loss and delay.
    LossAndDelay,
}

/// What is recommended in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    /// The candidate.
    pub candidate: Candidate,
    /// Its cost a day.
    pub cost: f64,
    /// Whether one of its figures lies outside what was counted or simulated.
    pub is_extrapolated: bool,
}

impl MapKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::MembersAndChanges, Self::LossAndDelay];

    /// Returns what the columns and the rows are, with units.
    pub const fn axes(self) -> (&'static str, &'static str) {
        match self {
            Self::MembersAndChanges => ("members", "joins + leaves an hour"),
            Self::LossAndDelay => ("loss (%)", "delay (ms)"),
        }
    }

    fn columns(self, requirements: &Requirements) -> Vec<f64> {
        match self {
            Self::MembersAndChanges => {
                let now = f64::from(requirements.members.now);
                let sizes = round((now / 30.0).max(2.0), (now * 20.0).min(MOST_MEMBERS), &FINE);
                ascending(sizes.into_iter().chain([now]))
            }
            Self::LossAndDelay => {
                let usual = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 15.0, 20.0, 30.0];
                ascending(usual.into_iter().chain([requirements.network.loss]))
            }
        }
    }

    fn rows(self, requirements: &Requirements) -> Vec<f64> {
        match self {
            Self::MembersAndChanges => {
                let now = changes(requirements);
                // A group without changes has no proportion; one change an hour stands for them.
                let now = if now > 0.0 { now } else { 1.0 };
                ascending(round(now / 60.0, now * 60.0, &COARSE).into_iter().chain([now]))
            }
            Self::LossAndDelay => {
                let usual = [1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 300.0, 500.0, 1_000.0];
                ascending(usual.into_iter().chain([requirements.network.delay]))
            }
        }
    }

    fn at(self, requirements: &Requirements, column: f64, row: f64) -> Requirements {
        let mut changed = requirements.clone();
        match self {
            Self::MembersAndChanges => {
                let members = &mut changed.members;
                members.now = column as u32;
                if members.most != 0 {
                    members.most = members.most.max(members.now);
                }
                match changes(requirements) {
                    0.0 => (members.joins, members.leaves) = (row / 2.0, row / 2.0),
                    now => {
                        members.joins *= row / now;
                        members.leaves *= row / now;
                    }
                }
            }
            Self::LossAndDelay => {
                let network = &mut changed.network;
                (network.loss, network.delay) = (column, row);
                network.jitter = network.jitter.min(row);
            }
        }
        changed
    }

    fn present(self, requirements: &Requirements) -> (f64, f64) {
        match self {
            Self::MembersAndChanges => (f64::from(requirements.members.now), changes(requirements)),
            Self::LossAndDelay => (requirements.network.loss, requirements.network.delay),
        }
    }
}

/// Makes a map on some threads. `decide` returns the winner for requirements.
pub fn map(
    kind: MapKind,
    requirements: &Requirements,
    threads: usize,
    decide: &(dyn Fn(&Requirements) -> Option<Winner> + Sync),
) -> Map {
    let (columns, rows) = (kind.columns(requirements), kind.rows(requirements));
    let (cells, next) = (columns.len() * rows.len(), AtomicUsize::new(0));
    let work = || {
        let mut done = Vec::new();
        loop {
            let cell = next.fetch_add(1, Ordering::Relaxed);
            if cell >= cells {
                return done;
            }
            let (column, row) = (columns[cell % columns.len()], rows[cell / columns.len()]);
            done.push((cell, decide(&kind.at(requirements, column, row))));
        }
    };
    let mut winners = vec![None; cells];
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let done = worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
            for (cell, winner) in done {
                winners[cell] = winner;
            }
        }
    });
    let (column, row) = kind.present(requirements);
    let present = (nearest(&columns, column), nearest(&rows, row));
    Map { kind, columns, rows, present, winners }
}

impl Map {
    /// Returns the winners, each once, with the number of its cells; the most frequent first.
    pub fn ranking(&self) -> Vec<(&Candidate, usize)> {
        let mut counts: BTreeMap<&Candidate, usize> = BTreeMap::new();
        for winner in self.winners.iter().flatten() {
            *counts.entry(&winner.candidate).or_default() += 1;
        }
        let mut ranking: Vec<_> = counts.into_iter().collect();
        ranking.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        ranking
    }

    /// Returns a sentence on the present cell and on how many winners there are.
    pub fn reading(&self) -> String {
        let cells = self.winners.len();
        let none = self.winners.iter().filter(|winner| winner.is_none()).count();
        let mut told = match self.ranking().first() {
            Some((candidate, count)) => {
                format!("{candidate} is recommended in {count} of {cells} cells.")
            }
            None => "Nothing meets the requirements anywhere on this map.".to_owned(),
        };
        if none > 0 && none < cells {
            told += &format!(" In {none} cells nothing meets the requirements.");
        }
        told
    }
}

const MOST_MEMBERS: f64 = 100_000.0;

const FINE: [f64; 5] = [1.0, 2.0, 3.0, 5.0, 7.0];
const COARSE: [f64; 3] = [1.0, 2.0, 5.0];

/// Returns the round numbers in a range: these steps of each decade.
fn round(least: f64, most: f64, steps: &[f64]) -> Vec<f64> {
    let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
    let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
    all.filter(|value| (least..=most).contains(value)).collect()
}

fn changes(requirements: &Requirements) -> f64 {
    requirements.members.joins + requirements.members.leaves
}

fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn nearest(values: &[f64], value: f64) -> usize {
    let distances = values.iter().map(|other| (other - value).abs()).enumerate();
    distances.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use groupkey_choose::decision::Variant;

    use super::*;

    #[test]
    fn a_map_does_not_depend_on_threads_and_has_the_present_group_on_it() {
        let mut requirements = Requirements::default();
        (requirements.members.now, requirements.network.jitter) = (300, 15.0);
        for kind in MapKind::ALL {
            let one = map(kind, &requirements, 1, &decide);
            assert_eq!(one, map(kind, &requirements, 4, &decide));
            let (column, row) = one.present;
            let here = (one.columns[column], one.rows[row]);
            assert_eq!(here, kind.present(&requirements));
            assert_eq!(one.winners.len(), one.columns.len() * one.rows.len());
            let cell = &one.winners[row * one.columns.len() + column];
            assert_eq!(*cell, decide(&requirements), "{kind:?}");
            assert!(one.ranking().len() == 2 && one.reading().contains(" of "), "{one:?}");
        }
    }

    #[test]
    fn every_cell_has_requirements_that_a_group_can_have() {
        let mut requirements = Requirements::default();
        requirements.members.now = 10;
        (requirements.members.most, requirements.network.jitter) = (30, 15.0);
        (requirements.members.joins, requirements.members.leaves) = (0.0, 0.0);
        for kind in MapKind::ALL {
            map(kind, &requirements, 2, &|cell| {
                assert_eq!(cell.validate(), Ok(()));
                None
            });
        }
    }

    /// Something that differs on both maps.
    fn decide(requirements: &Requirements) -> Option<Winner> {
        let is_large = requirements.members.now > 500 || requirements.network.loss > 2.0;
        let variant = Variant {
            scheme: if is_large { "lkh-group" } else { "skdc" }.into(),
            parameters: BTreeMap::new(),
            suite: "standard".into(),
            guard: "mac".into(),
        };
        let cost = f64::from(requirements.members.now);
        (requirements.network.delay < 900.0).then_some(Winner {
            candidate: Candidate { variant, qos: 1 },
            cost,
            is_extrapolated: false,
        })
    }
}
