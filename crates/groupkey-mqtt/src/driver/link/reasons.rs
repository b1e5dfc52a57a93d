//! Reasons for which both versions of MQTT have codes, in words.

pub(super) const ACCESS: &str = "this client is not authorised; check the broker's access list";
pub(super) const BUSY: &str = "it is not available now";
pub(super) const CLIENT: &str = "it refuses the client identifier";
pub(super) const LOGIN: &str = "user or password is wrong";
pub(super) const STRANGER: &str =
    "this client is not authorised; check user and password, and the broker's access list";
pub(super) const UNSPECIFIED: &str = "it gives no reason; check its access list and its log";
