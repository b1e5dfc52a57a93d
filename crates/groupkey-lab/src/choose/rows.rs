//! Rows of results that `groupkey choose` leaves behind.

use groupkey_choose::decision::{Assessment, Candidate, Decision, Figure, Ground, Quantity};
use serde::{Deserialize, Serialize};

use crate::registry;
use crate::results::{FileRow, ResultColumn, RunRow, fields};

/// A candidate that meets all requirements, with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChoiceRow {
    /// Place in the answer, from 1.
    pub place: u32,
    /// `recommended`, `equal` to it as far as the model knows, on the `front`, or `beaten`.
    pub standing: String,
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Parameters that differ from the sound profile's, separated by spaces: `degree=2`.
    pub parameters: String,
    /// Suite of algorithms.
    pub suite: String,
    /// Protection of messages: `mac` or `signature`.
    pub protection: String,
    /// MQTT quality of service: 0, 1 or 2.
    pub qos: u8,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// Its cost a day, by the weights of the requirements.
    pub cost: f64,
    /// Its figures; one is missing if there is no ground for it.
    pub figures: Vec<CandidateFigure>,
}

/// A figure of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CandidateFigure {
    /// What it is, with its unit: `completion_ms`.
    pub quantity: String,
    /// The expected value.
    pub value: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// What it rests on: `counted`, `modelled`, `fitted` or `simulated`.
    pub ground: String,
    /// Whether it lies outside of what was counted or simulated.
    pub is_extrapolated: bool,
}

impl ChoiceRow {
    /// Returns the rows of an answer: the front, then what it beats, by ascending cost.
    pub fn of(decision: &Decision) -> Vec<Self> {
        let recommended = decision.recommended.as_ref().map(|best| &best.candidate);
        let standing = |place: usize, candidate: &Candidate| match () {
            () if recommended == Some(candidate) => "recommended",
            () if decision.equals.contains(candidate) => "equal",
            () if place < decision.front.len() => "front",
            () => "beaten",
        };
        let all = decision.front.iter().chain(&decision.beaten).enumerate();
        let row = |(place, one): (usize, &Assessment)| {
            let Candidate { variant, qos } = &one.candidate;
            let parameters =
                variant.parameters.iter().map(|(name, value)| format!("{name}={value}"));
            let scheme = registry::scheme(&variant.scheme);
            Self {
                place: place as u32 + 1,
                standing: standing(place, &one.candidate).to_owned(),
                scheme: variant.scheme.clone(),
                parameters: parameters.collect::<Vec<_>>().join(" "),
                suite: variant.suite.clone(),
                protection: variant.guard.clone(),
                qos: *qos,
                provenance: scheme.map_or("unknown", |scheme| scheme.provenance.name()).to_owned(),
                cost: one.cost,
                figures: one.figures.iter().map(CandidateFigure::of).collect(),
            }
        };
        all.map(row).collect()
    }

    /// Returns a figure, if there is a ground for it.
    pub fn figure(&self, quantity: Quantity) -> Option<&CandidateFigure> {
        let name = column_of(quantity);
        self.figures.iter().find(|figure| figure.quantity == name)
    }
}

impl CandidateFigure {
    fn of(figure: &Figure) -> Self {
        Self {
            quantity: column_of(figure.quantity).to_owned(),
            value: figure.value,
            low: figure.interval.0,
            high: figure.interval.1,
            ground: match figure.ground {
                Ground::Counted => "counted",
                Ground::Modelled => "modelled",
                Ground::Fitted => "fitted",
                Ground::Simulated => "simulated",
            }
            .to_owned(),
            is_extrapolated: figure.is_extrapolated,
        }
    }
}

/// Returns the name of a quantity in columns, with its unit.
pub const fn column_of(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Completion => "completion_ms",
        Quantity::CompletionOf99 => "completion_of_99_ms",
        Quantity::Energy => "energy_joule_a_day",
        Quantity::Sent => "sent_bytes_a_day",
        Quantity::Received => "received_bytes_a_day",
        Quantity::Keys => "keys_bytes",
        Quantity::Memory => "memory_bytes",
        Quantity::Flash => "flash_bytes",
        Quantity::LargestMessage => "largest_message_bytes",
        Quantity::Controller => "controller_ms_a_day",
        Quantity::ControllerSent => "controller_sent_bytes_a_day",
    }
}

impl FileRow for ChoiceRow {
    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![integer: place]);
        columns.extend(fields![text: standing, scheme, parameters, suite, protection]);
        columns.extend(fields![integer: qos]);
        columns.extend(fields![text: provenance]);
        columns.extend(fields![number: cost]);
        for quantity in Quantity::ALL {
            let name = column_of(quantity);
            let of = move |row: &Self| row.figure(quantity).cloned();
            columns.push(ResultColumn::number(name, move |row| Some(of(row)?.value)));
            columns
                .push(ResultColumn::number(format!("{name}_low"), move |row| Some(of(row)?.low)));
            columns
                .push(ResultColumn::number(format!("{name}_high"), move |row| Some(of(row)?.high)));
            columns.push(ResultColumn::text(format!("{name}_ground"), move |row| {
                Some(of(row)?.ground)
            }));
        }
        columns
    }
}

impl RunRow for ChoiceRow {
    const FORMAT: &'static str = "groupkey-choice";

    fn seed(&self) -> Option<u64> {
        None
    }
}
