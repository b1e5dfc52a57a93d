//! A device that waits to be admitted.

use crate::join::Request;
use crate::keyring::Secret;

/// A device that waits to be admitted.
pub(super) struct Applicant {
    pub(super) request: Request,
    /// The secret that the device proved to know.
    pub(super) shared: Option<Secret>,
    pub(super) token: Option<[u8; 32]>,
}

impl Applicant {
    pub(super) fn name(&self) -> &str {
        &self.request.body.name
    }
}
