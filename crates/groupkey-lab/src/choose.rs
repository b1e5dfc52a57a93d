//! Makes what `groupkey-choose` decides on: counts of all variants, and a model of how long their
//! changes take. Simulates candidates, and says how good the decisions are.

mod counting;
mod devices;
mod evidence;
mod fit;
pub(crate) mod in_parallel;
mod late_receivers;
mod latency;
mod measure;
mod memory;
mod message_flow;
mod named_files;
mod plan;
mod race;
mod rows;
mod validate;
mod variants;
mod wave_carrier;
pub mod winner_maps;

pub use self::devices::{make_devices, make_radios, prices};
pub use self::evidence::{
    EvidenceOptions, EvidenceRunError, make_evidence, make_evidence_of, make_own_evidence,
};
pub use self::fit::{FitOptions, fit_completion};
pub use self::measure::{MeasureError, MeasureOptions, SimulatedCandidate, measure};
pub use self::memory::make_memories;
pub use self::named_files::LaboratoryFiles;
pub use self::plan::{RUNS, SEED, commands, plan};
pub use self::race::{
    CONFIDENCE, DEARER_FROM, EQUAL_WITHIN, PROCEDURE, RaceOptions, RacedDecision, race,
};
pub use self::rows::{CandidateFigure, ChoiceRow, column_of};
pub use self::validate::{Regret, RequirementsSource, Trial, ValidateOptions, regret, validate};

#[cfg(test)]
mod departures;
#[cfg(test)]
mod tests;
