//! The network-impact study.
use crate::plan::Plan;
use crate::report::{Calibration, PublishedValue, Verdict};
use crate::results::NetworkRow;

/// All settings of the study.
pub fn plans(_runs: u32, _seed: u64) -> Vec<Plan> {
    todo!()
}
/// Every published value beside ours.
pub fn compare(_rows: &[NetworkRow]) -> Vec<PublishedValue> {
    todo!()
}
/// What became of the findings.
pub fn verdicts(_rows: &[NetworkRow]) -> Vec<Verdict> {
    todo!()
}
/// Every number that was set.
pub fn calibration() -> Vec<Calibration> {
    todo!()
}
/// What is taken for granted.
pub fn assumptions() -> Vec<String> {
    todo!()
}
/// How it was done.
pub fn method() -> Vec<String> {
    todo!()
}
