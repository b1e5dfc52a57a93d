//! Reasons for which both versions of MQTT have codes, in words.

pub(super) const ACCESS: &str = "we are not authorised; look at its access list";
pub(super) const BUSY: &str = "it cannot serve us now";
pub(super) const CLIENT: &str = "it does not take our client identifier";
pub(super) const LOGIN: &str = "it does not know the user, or the password is wrong";
pub(super) const STRANGER: &str =
    "we are not authorised; look at user and password, and at its access list";
pub(super) const UNSPECIFIED: &str = "it does not say why; look at its access list and its log";
