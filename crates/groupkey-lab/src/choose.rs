//! Makes what `groupkey-choose` decides on: counts of all variants, and a model of how long their
//! changes take. Simulates candidates, and says how good the decisions are.

mod counting;
mod devices;
mod evidence;
mod fit;
mod flow;
mod latency;
pub mod maps;
mod measure;
mod memory;
mod named_files;
mod plan;
mod trial;
mod validate;
mod variants;
mod waves;

pub use self::devices::{make_boards, make_devices, prices};
pub use self::evidence::{EvidenceError, EvidenceOptions, make_evidence};
pub use self::fit::{FitOptions, Observation, fit, fit_completion, latencies, observe};
pub use self::measure::{MeasureError, MeasureOptions, Measured, measure};
pub use self::memory::make_memories;
pub use self::named_files::LaboratoryFiles;
pub use self::plan::{RUNS, SEED, commands, plan};
pub use self::trial::{Phase, PolicyTrial, observations, try_policy};
pub use self::validate::{Generator, Regret, Trial, ValidateOptions, regret, validate};

#[cfg(test)]
mod tests;
