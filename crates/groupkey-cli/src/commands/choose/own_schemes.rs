//! Schemes of one's own in `groupkey choose`: counted before the choice, since no evidence on them ships.

use std::path::Path;

use groupkey_choose::evidence::Evidence;
use groupkey_lab::audit::recorded;
use groupkey_lab::choose::{EvidenceOptions, EvidenceRunError, make_own_evidence};
use groupkey_lab::registry;

use super::evidence::SEED;
use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::interruption;
use crate::output::remark;
use crate::progress::ProgressBar;

/// Counts the registered schemes. Their claims are confirmed by these findings of an audit alone.
pub(super) fn count(audit: Option<&Path>) -> Result<(), Failure> {
    let findings = match audit {
        None => Vec::new(),
        Some(path) => recorded::read(path).map_err(|error| Failure::input(error.to_string()))?,
    };
    let own: Vec<&str> = registry::own_schemes().map(|scheme| scheme.id).collect();
    if own.is_empty() && audit.is_some() {
        return Err(Failure::input("--audit is about schemes of your own, and there are none")
            .with_help("docs/extend.md says how a program adds one"));
    }
    if own.is_empty() {
        return Ok(());
    }
    for id in own.iter().filter(|id| !findings.iter().any(|finding| finding.scheme == **id)) {
        remark(&format!(
            "note: {id} was not audited, so no claim of it counts; audit --scheme {id} --profile \
             sound --out {id} does it, and --audit {id} takes it"
        ));
    }
    let bar = ProgressBar::counting("groups counted");
    let evidence = make_own_evidence(
        &findings,
        &EvidenceOptions {
            seed: SEED,
            is_quick: false,
            threads: all_cores(),
            stop: interruption::requested(),
            on_progress: &|done, total| bar.advance(done, total),
        },
    );
    drop(bar);
    let evidence = evidence.map_err(|error| match error {
        EvidenceRunError::Interrupted => Failure::interrupted("nothing is chosen"),
        error @ EvidenceRunError::Incomplete { .. } => Failure::running(error.to_string()),
    })?;
    // A process chooses once.
    Evidence::bring(evidence);
    Ok(())
}
