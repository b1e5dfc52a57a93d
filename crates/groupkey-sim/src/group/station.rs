//! The station of a party: its link and its device.

use std::fmt;
use std::sync::Arc;

use groupkey::crypto::meter::Meter;

use crate::config::Processing;
use crate::link::LinkProfile;

/// A device and its link to the broker.
#[derive(Clone)]
pub struct Station {
    /// The link towards the broker.
    pub up: LinkProfile,
    /// The link from the broker.
    pub down: LinkProfile,
    /// What MQTT packets cost the device.
    pub processing: Processing,
    /// How long a step with these primitive operations takes, in ns.
    pub computation: Arc<dyn Fn(&Meter) -> u64 + Send + Sync>,
}

impl fmt::Debug for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Station")
            .field("up", &self.up)
            .field("down", &self.down)
            .field("processing", &self.processing)
            .finish_non_exhaustive()
    }
}
