//! What a report shows: rows of any command, and the study that they reproduce.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::audit::{Finding, recorded};
use crate::bench::trace::ReplayRow;
use crate::bench::{BenchHeader, BenchRow};
use crate::choose::ChoiceRow;
use crate::results::{
    FileHeader, NetworkRow, Origin, ResultsError, ResultsHeader, ResultsKind, RunHeader, RunRow,
    read_jsonl,
};
use crate::verdict::Verdict;

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Values that studies print, which the page shows beside rows of the same setting.
    pub printed: Vec<PrintedValue>,
    /// The published study that the rows reproduce, if any.
    pub reproduction: Option<Reproduction>,
    /// Where the rows come from, in the order in which they were read.
    pub sources: Vec<Source>,
    /// Rows of benchmarks.
    pub entries: Vec<Entry>,
    /// Rows of network studies, each file with its source and its header.
    pub networks: Vec<(usize, ResultsHeader, Vec<NetworkRow>)>,
    /// Costs of traces, by their sources.
    pub traces: Vec<(usize, ReplayRow)>,
    /// Candidates of choices, by their sources.
    pub choices: Vec<(usize, ChoiceRow)>,
    /// The findings of audits. About other schemes that have rows, the page shows those that are
    /// recorded.
    pub findings: Vec<Finding>,
}

/// A value that a study prints.
#[derive(Clone, Debug)]
pub struct PrintedValue {
    /// The study.
    pub source: &'static str,
    /// The schemes, by id, for which it holds.
    pub schemes: &'static [&'static str],
    /// The schemes' class.
    pub class: &'static str,
    /// The role whose cost it is.
    pub role: &'static str,
    /// An operation, or `None` if the value holds for all operations.
    pub operation: Option<&'static str>,
    /// The quantity, in ns, J or bytes.
    pub quantity: PrintedQuantity,
    /// The smallest and the largest group for which it holds.
    pub members: (u32, u32),
    /// The value, in the quantity's unit.
    pub value: f64,
    /// Whether it is an upper bound.
    pub bound: bool,
    /// The profile of the study's own device. Times modelled for another device say nothing about
    /// the value. Empty for a value that does not depend on a device.
    pub device: &'static str,
    /// What to keep in mind.
    pub note: String,
}

/// The quantity of a printed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedQuantity {
    /// Energy (J).
    EnergyJoule,
    /// Bytes of keys that are kept.
    PermanentBytes,
    /// Time (ns).
    TimeNs,
}

/// A published study that was run again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reproduction {
    /// What the study is about, in a line.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// Every value that it prints about computation, and our value.
    pub published: Vec<Beside>,
    /// Every value that it prints about networks, and our value.
    pub published_times: Vec<PublishedValue>,
    /// Its findings, decided.
    pub verdicts: Vec<Verdict>,
    /// The method, one paragraph each.
    pub method: Vec<String>,
    /// Every number that was set rather than measured here.
    pub calibration: Vec<Calibration>,
    /// The command that makes these results again.
    pub command: String,
    /// The command that runs a single row of a network study again. `{scheme}`, `{operation}`,
    /// `{members}`, `{loss}`, `{delay}`, `{qos}`, `{runs}` and `{seed}` stand for the row's own
    /// values.
    pub replay: String,
}

/// A value that a study prints, and our value beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// What the value is.
    pub what: String,
    /// The study's value, in `unit`.
    pub published: f64,
    /// The error that the study prints with the value, or an error that follows from printed
    /// errors.
    pub error: Option<f64>,
    /// Our value from real parties. Sizes are the same everywhere, times are this machine's.
    pub measured: Option<f64>,
    /// Our modelled value: what counted primitives cost on the study's device.
    pub modelled: Option<f64>,
    /// The unit.
    pub unit: &'static str,
    /// What to keep in mind.
    pub note: String,
}

/// A results file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What was run: a workload or a study.
    pub name: String,
    /// Seed of the run.
    pub seed: u64,
    /// Commit of the code that ran.
    pub commit: String,
    /// Processor and number of cores.
    pub machine: String,
    /// What the run assumes, one sentence each.
    pub assumptions: Vec<String>,
    /// Number of its rows.
    pub rows: usize,
    /// How the file differs from the file that was to be written; absent if it does not differ.
    pub lacking: Option<String>,
}

/// A row and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Index of its source.
    pub source: usize,
    /// The row.
    pub row: BenchRow,
}

/// A value that the paper prints, and what our rows give in the same setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedValue {
    /// Its key in the table of published values.
    pub key: String,
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// `create`, `add` or `remove`.
    pub operation: String,
    /// Members of the group.
    pub members: u32,
    /// Packet loss (%).
    pub loss_percent: f64,
    /// One-way delay (ms).
    pub delay_ms: f64,
    /// What the value measures.
    pub quantity: TimeQuantity,
    /// The paper's value, in `unit`.
    pub published: f64,
    /// Our value, in `unit`; NaN if no row has this setting.
    pub ours: f64,
    /// `ms` or `%`.
    pub unit: String,
    /// Where the paper prints the value, or what to keep in mind.
    pub note: String,
}

/// A parameter that was set, and the source of its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// What the parameter is.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Where the value comes from.
    pub source: String,
}

/// The quantity that a published value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeQuantity {
    /// Time until the last party has the key.
    Total,
    /// The part of that time spent on the network.
    Transmission,
    /// The share of the time spent on the network.
    TransmissionShare,
}

impl Report {
    /// Adds the rows of one benchmark.
    pub fn add(&mut self, header: &BenchHeader, rows: impl IntoIterator<Item = BenchRow>) {
        let source = self.sources.len();
        let before = self.entries.len();
        self.entries.extend(rows.into_iter().map(|row| Entry { source, row }));
        let rows = self.entries.len() - before;
        self.sources.push(Source {
            name: header.workload.clone(),
            seed: header.seed,
            commit: header.commit.clone(),
            machine: header.machine.clone(),
            assumptions: header.assumptions.clone(),
            rows,
            lacking: header.lacking(rows),
        });
    }

    /// Adds the rows of a network study.
    pub fn add_network(&mut self, header: ResultsHeader, rows: Vec<NetworkRow>) {
        self.sources.push(Source {
            name: header.study.clone(),
            seed: header.seed,
            commit: header.commit.clone(),
            machine: header.machine.clone(),
            assumptions: header.assumptions.clone(),
            rows: rows.len(),
            lacking: header.lacking(rows.len()),
        });
        self.networks.push((self.sources.len() - 1, header, rows));
    }

    /// Adds the findings of an audit.
    pub fn add_audit(&mut self, header: &RunHeader<Finding>, findings: Vec<Finding>) {
        self.add_source(header, findings.len());
        self.findings.extend(findings);
    }

    /// Adds the costs of a trace.
    pub fn add_trace(&mut self, header: &RunHeader<ReplayRow>, rows: Vec<ReplayRow>) {
        let source = self.add_source(header, rows.len());
        self.traces.extend(rows.into_iter().map(|row| (source, row)));
    }

    /// Adds the candidates of a choice.
    pub fn add_choice(&mut self, header: &RunHeader<ChoiceRow>, rows: Vec<ChoiceRow>) {
        let source = self.add_source(header, rows.len());
        self.choices.extend(rows.into_iter().map(|row| (source, row)));
    }

    /// Reads a results file of any kind; its header or its first row tells which. Returns how the
    /// file differs from the file that was to be written, if it does.
    pub fn read(&mut self, path: &Path) -> Result<Option<String>, ResultsError> {
        match ResultsKind::of(path)? {
            ResultsKind::Audit => {
                let (header, rows) = read_jsonl(path)?;
                self.add_audit(&header, rows);
            }
            ResultsKind::Benchmark => {
                let (header, rows) = read_jsonl::<BenchHeader>(path)?;
                self.add(&header, rows);
            }
            ResultsKind::Choice => {
                let (header, rows) = read_jsonl(path)?;
                self.add_choice(&header, rows);
            }
            ResultsKind::Network => {
                let (header, rows) = read_jsonl::<ResultsHeader>(path)?;
                self.add_network(header, rows);
            }
            ResultsKind::Trace => {
                let (header, rows) = read_jsonl(path)?;
                self.add_trace(&header, rows);
            }
        }
        Ok(self.sources.last().and_then(|source| source.lacking.clone()))
    }

    fn add_source<R: RunRow>(&mut self, header: &RunHeader<R>, rows: usize) -> usize {
        let Origin { commit, machine, seed } = header.origin();
        self.sources.push(Source {
            name: header.name.clone(),
            seed,
            commit: commit.to_owned(),
            machine: machine.to_owned(),
            assumptions: header.assumptions.clone(),
            rows,
            lacking: None,
        });
        self.sources.len() - 1
    }

    /// Returns the schemes of rows with costs, in the order of the rows, repeatedly.
    pub(super) fn schemes(&self) -> impl Iterator<Item = &str> {
        let measured = self.entries.iter().map(|entry| &*entry.row.scheme);
        let simulated = self.network_rows().map(|row| &*row.setting.scheme);
        let traced = self.traces.iter().map(|(_, row)| &*row.scheme);
        let chosen = self.choices.iter().map(|(_, row)| &*row.scheme);
        measured.chain(simulated).chain(traced).chain(chosen)
    }

    pub(super) fn network_rows(&self) -> impl Iterator<Item = &NetworkRow> {
        self.networks.iter().flat_map(|(.., rows)| rows)
    }

    /// Returns the values that the study prints about networks, and ours.
    pub(super) fn published_times(&self) -> &[PublishedValue] {
        self.reproduction.as_ref().map_or(&[], |reproduction| &reproduction.published_times)
    }

    pub(super) fn audited(&self) -> Vec<Finding> {
        let audited: BTreeSet<&str> = self.findings.iter().map(|one| &*one.scheme).collect();
        let shown: BTreeSet<&str> = self.schemes().collect();
        let is_shown = |finding: &&Finding| {
            shown.contains(&*finding.scheme) && !audited.contains(&*finding.scheme)
        };
        let recorded = recorded::findings().iter().filter(is_shown);
        self.findings.iter().chain(recorded).cloned().collect()
    }
}
