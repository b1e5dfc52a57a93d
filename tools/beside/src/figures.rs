//! What was measured, and its tables.

use std::collections::BTreeMap;

use serde_json::json;

/// What was measured: the least of each figure.
#[derive(Default)]
pub(crate) struct FigureTable {
    figures: BTreeMap<(u32, MeasuredStep, String), Figure>,
}

/// A part of an operation, by one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeasuredStep {
    CreateMakes,
    CreateReceives,
    AddMakes,
    AddReceives,
    AddJoins,
    RemoveMakes,
    RemoveReceives,
    Seal40,
    Open40,
    Seal1000,
    Open1000,
}

/// The state of an MLS tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MlsTree {
    /// One member added all others at once.
    Blank,
    /// Every member has committed once.
    Populated,
}

/// A time and what was sent for it.
#[derive(Clone, Copy, Debug)]
struct Figure {
    /// Processor time, µs.
    time: f64,
    /// All messages of the operation, or the message, in bytes.
    bytes: usize,
}

impl MeasuredStep {
    const ALL: [Self; 11] = [
        Self::CreateMakes,
        Self::CreateReceives,
        Self::AddMakes,
        Self::AddReceives,
        Self::AddJoins,
        Self::RemoveMakes,
        Self::RemoveReceives,
        Self::Seal40,
        Self::Open40,
        Self::Seal1000,
        Self::Open1000,
    ];

    /// What a message of the group is long.
    pub(crate) const MESSAGES: [(usize, Self, Self); 2] =
        [(40, Self::Seal40, Self::Open40), (1_000, Self::Seal1000, Self::Open1000)];

    const fn name(self) -> &'static str {
        match self {
            Self::CreateMakes => "create, who makes it",
            Self::CreateReceives => "create, another member",
            Self::AddMakes => "add, who makes it",
            Self::AddReceives => "add, another member",
            Self::AddJoins => "add, who joins",
            Self::RemoveMakes => "remove, who makes it",
            Self::RemoveReceives => "remove, another member",
            Self::Seal40 => "seal 40 bytes",
            Self::Open40 => "open 40 bytes",
            Self::Seal1000 => "seal 1,000 bytes",
            Self::Open1000 => "open 1,000 bytes",
        }
    }
}

impl MlsTree {
    /// Both states.
    pub(crate) const ALL: [Self; 2] = [Self::Blank, Self::Populated];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::Populated => "populated",
        }
    }
}

impl FigureTable {
    /// Notes a figure.
    pub(crate) fn note(
        &mut self,
        who: &str,
        members: u32,
        step: MeasuredStep,
        time: f64,
        bytes: usize,
    ) {
        let figure = Figure { time, bytes };
        self.figures
            .entry((members, step, who.to_owned()))
            .and_modify(|least| {
                if time < least.time {
                    *least = figure;
                }
            })
            .or_insert(figure);
    }

    /// Prints each figure as a line of JSON.
    pub(crate) fn print_lines(&self) {
        for ((members, step, who), Figure { time, bytes }) in &self.figures {
            let step = step.name();
            println!(
                "{}",
                json!({ "who": who, "members": members, "step": step, "us": time, "bytes": bytes })
            );
        }
    }

    /// Prints a table for each size: µs of processor time.
    pub(crate) fn print_tables(&self, sizes: &[u32]) {
        for &members in sizes {
            let of_size = |who: &(u32, MeasuredStep, String)| who.0 == members;
            let mut columns: Vec<&str> =
                self.figures.keys().filter(|key| of_size(key)).map(|key| &*key.2).collect();
            columns.sort_unstable();
            columns.dedup();
            println!("\n{members} members, µs of processor time");
            print!("{:<24}", "");
            columns.iter().for_each(|column| print!(" {:>width$}", column, width = width(column)));
            println!();
            for step in MeasuredStep::ALL {
                print!("{:<24}", step.name());
                for column in &columns {
                    let figure = self.figures.get(&(members, step, (*column).to_owned()));
                    let text =
                        figure.map_or("-".to_owned(), |figure| format!("{:.1}", figure.time));
                    print!(" {text:>width$}", width = width(column));
                }
                println!();
            }
        }
    }
}

fn width(column: &str) -> usize {
    column.len().max(10)
}
