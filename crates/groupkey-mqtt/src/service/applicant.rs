//! A device that may join and waits for it.

use crate::join::Request;
use crate::keyring::Secret;

/// A device that waits to be admitted.
pub(super) struct Applicant {
    pub(super) request: Request,
    /// What it proved to know.
    pub(super) shared: Option<Secret>,
    pub(super) token: Option<[u8; 32]>,
}

impl Applicant {
    pub(super) fn name(&self) -> &str {
        &self.request.body.name
    }
}
