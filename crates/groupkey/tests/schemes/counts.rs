//! What a run took, in the numbers that the formulas of headers are of.

use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, PartyId};
use groupkey_testkit::rig::{OperationReport, Rig};

/// Open messages, and keys that the controller wrapped.
pub(crate) fn costs(report: &OperationReport) -> (u32, u32) {
    let (_, keys) = wraps(report, PartyId::Controller);
    (report.open_messages().count() as u32, keys)
}

pub(crate) fn wraps(report: &OperationReport, party: impl Into<PartyId>) -> (u32, u32) {
    tally(report, party, Primitive::Wrap)
}

pub(crate) fn unwraps(report: &OperationReport, party: impl Into<PartyId>) -> (u32, u32) {
    tally(report, party, Primitive::Unwrap)
}

#[track_caller]
pub(crate) fn every_member_unwraps_once(
    report: &OperationReport,
    members: impl Iterator<Item = u32>,
) {
    for member in members {
        assert_eq!(calls(report, MemberId(member), Primitive::Unwrap), 1, "member {member}");
    }
}

pub(crate) fn derivations(report: &OperationReport, party: impl Into<PartyId>) -> u32 {
    calls(report, party, Primitive::Derive)
}

pub(crate) fn hashes(report: &OperationReport, party: impl Into<PartyId>) -> u32 {
    calls(report, party, Primitive::Hash)
}

pub(crate) fn calls(
    report: &OperationReport,
    party: impl Into<PartyId>,
    primitive: Primitive,
) -> u32 {
    tally(report, party, primitive).0
}

/// Calls, and what they were of: keys, elements, or bytes.
fn tally(report: &OperationReport, party: impl Into<PartyId>, primitive: Primitive) -> (u32, u32) {
    let tally = report.meter(party.into()).tally(primitive);
    (tally.calls as u32, tally.amount as u32)
}

/// Bytes of keys that a party holds between operations.
pub(crate) fn permanent(rig: &Rig, party: impl Into<PartyId>) -> u32 {
    rig.party(party.into()).footprint().permanent as u32
}
