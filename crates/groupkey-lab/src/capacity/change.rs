//! What one change of the key takes of a member on a board, for every scheme.

use groupkey::catalogue::{SCHEMES, Scheme};
use groupkey_choose::evidence::{Evidence, Known, Load};
use groupkey_choose::requirements::Network;
use groupkey_choose::{Variant, energy};

use crate::choose::prices;
use crate::device::Board;
use crate::statistics::Deviation;

/// The group whose changes are counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Circumstances {
    /// Members.
    pub members: u32,
    /// The suite's name.
    pub suite: String,
    /// The protection of messages: `mac` or `signature`.
    pub guard: String,
    /// Quality of service of MQTT: 0, 1 or 2.
    pub qos: u8,
}

/// What a change takes of the member that does most.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The scheme with its parameters: those with which a change takes least energy.
    pub variant: Variant,
    /// The operations that a change is the mean of: a join and a leave, as far as the scheme has
    /// them.
    pub operations: Vec<String>,
    /// Energy of the computation (J).
    pub computation: Deviation,
    /// Energy of sending (J).
    pub sending: Deviation,
    /// Energy of receiving (J).
    pub receiving: Deviation,
    /// Instructions of the computation, as counted for the board's core or its stand-in.
    pub instructions: f64,
    /// Key material that the member keeps (bytes).
    pub keys: f64,
    /// The largest message (bytes).
    pub largest: f64,
    /// Whether the size lies outside of what was counted.
    pub is_extrapolated: bool,
}

/// Why there is nothing to say of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The scheme cannot have so many members, or so few.
    Size {
        /// The smallest and the largest group.
        members: (u32, u32),
    },
    /// No variant with this suite, protection and size was counted.
    NotCounted,
}

/// Returns what a change takes, scheme by scheme in the catalogue's order.
pub fn changes(
    board: &Board,
    at: &Circumstances,
) -> Vec<(&'static Scheme, Result<Change, Obstacle>)> {
    let evidence = Evidence::shipped();
    let priced = Priced::new(board);
    let of = |scheme: &'static Scheme| {
        if !(scheme.members.0..=scheme.members.1).contains(&at.members) {
            return Err(Obstacle::Size { members: scheme.members });
        }
        let is_asked = |known: &&Known| {
            let Variant { scheme: id, suite, guard, .. } = &known.variant;
            id == scheme.id && *suite == at.suite && *guard == at.guard
        };
        let known = evidence.known().iter().filter(is_asked);
        let changes = known.filter_map(|known| priced.change(evidence, &known.variant, at));
        changes
            .min_by(|a, b| a.joule().value.total_cmp(&b.joule().value))
            .ok_or(Obstacle::NotCounted)
    };
    SCHEMES.iter().map(|scheme| (scheme, of(scheme))).collect()
}

impl Change {
    /// Returns the energy of a change (J). Errors of the three powers are independent.
    pub fn joule(&self) -> Deviation {
        let parts = [self.computation, self.sending, self.receiving];
        Deviation {
            value: parts.iter().map(|part| part.value).sum(),
            error: parts.iter().map(|part| part.error.powi(2)).sum::<f64>().sqrt(),
        }
    }
}

/// A board with its prices.
struct Priced<'b> {
    board: &'b Board,
    prices: groupkey_choose::device::Device,
}

impl<'b> Priced<'b> {
    fn new(board: &'b Board) -> Self {
        let prices = prices(&board.device()).expect("counts of all suites, power and radio");
        Self { board, prices }
    }

    /// Returns the mean of the operations that the scheme has of a join and a leave; or else of a
    /// new period, or of the creation.
    fn change(&self, evidence: &Evidence, variant: &Variant, at: &Circumstances) -> Option<Change> {
        let counted = |operation: &&str| evidence.counts(variant, operation, at.members);
        let of = |operations: &[&'static str]| {
            let counted: Vec<_> = operations.iter().filter_map(counted).collect();
            (!counted.is_empty()).then_some(counted)
        };
        let samples =
            of(&["add", "remove"]).or_else(|| of(&["rekey"])).or_else(|| of(&["create"]))?;
        let network = Network::default();
        let (mut parts, mut instructions) = ([0.0; 3], 0.0);
        for sample in &samples {
            let load = &sample.value.busiest;
            let taken = energy(&self.prices, &variant.suite, load, &network, at.qos)?;
            for (sum, part) in
                parts.iter_mut().zip([taken.computation, taken.sending, taken.receiving])
            {
                *sum += part / samples.len() as f64;
            }
            instructions += self.instructions(&variant.suite, load)? / samples.len() as f64;
        }
        let Board { power, radio, .. } = self.board;
        let [computation, sending, receiving] = [&power.active, &radio.send, &radio.receive]
            .iter()
            .zip(parts)
            .map(|(figure, value)| Deviation {
                value,
                error: if value == 0.0 { 0.0 } else { value * figure.error_watt / figure.watt },
            })
            .collect::<Vec<_>>()
            .try_into()
            .ok()?;
        let most = |figure: fn(&groupkey_choose::evidence::Sample) -> f64| {
            samples.iter().map(|sample| figure(&sample.value)).fold(0.0, f64::max)
        };
        Some(Change {
            variant: variant.clone(),
            operations: samples.iter().map(|sample| sample.value.operation.clone()).collect(),
            computation,
            sending,
            receiving,
            instructions,
            keys: most(|sample| sample.busiest.keys),
            largest: most(|sample| f64::from(sample.largest)),
            is_extrapolated: samples.iter().any(|sample| sample.is_extrapolated),
        })
    }

    fn instructions(&self, suite: &str, load: &Load) -> Option<f64> {
        let clock = &self.board.clock;
        let seconds = self.prices.time(suite, &load.uses)? / 1e9;
        Some(seconds * clock.hertz as f64 * clock.instructions_per_cycle)
    }
}
