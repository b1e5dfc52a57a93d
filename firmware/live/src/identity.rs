//! What is in the flash: the settings in the first sector, and in a log in the next two the device's
//! identity, and how often it has started. Behind them is the [membership](crate::membership).
//!
//! The device draws its identity at its first start and keeps it from then on. It uses an identity
//! only once it has read it back. So a start that is cut off in the middle of a write leaves an
//! identity that nobody has seen, and the next start draws another.

use core::fmt;

use embedded_storage_async::nor_flash::{NorFlash, ReadNorFlash};
use groupkey_mqtt::Secret;
use groupkey_mqtt::device_settings::{DeviceSettings, LONGEST_RECORD, NoSettings};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use sequential_storage::cache::Cache;
use sequential_storage::map::{MapConfig, MapStorage};

use crate::board::Flash;

/// The reason why the flash cannot be used.
pub enum BadFlash {
    Settings(NoSettings),
    /// The chip does not read or write, or the log is damaged.
    Unusable,
}

/// What the device finds in its flash.
pub struct StoredIdentity {
    pub settings: DeviceSettings,
    pub identity: Secret,
    /// How often the device has started, this time included. A clock may begin anew with each start.
    pub starts: u32,
    /// The flash, for the membership.
    pub flash: Flash,
}

/// Reads the flash, and counts this start. Draws the identity if there is none.
pub async fn read(mut flash: Flash, rng: &mut ChaCha20Rng) -> Result<StoredIdentity, BadFlash> {
    let mut record = [0; LONGEST_RECORD];
    flash.read(0, &mut record).await.map_err(|_| BadFlash::Unusable)?;
    let settings = DeviceSettings::read(&record).map_err(BadFlash::Settings)?;

    const LOG: MapConfig<Flash> =
        MapConfig::new(Flash::ERASE_SIZE as u32..3 * Flash::ERASE_SIZE as u32);
    let mut log = MapStorage::<u8, _, _>::new(flash, LOG, Cache::new_uncached());
    let mut buffer = [0; 64];
    let starts = log.fetch_item::<u32>(&mut buffer, &STARTS).await?.unwrap_or(0).saturating_add(1);
    log.store_item(&mut buffer, &STARTS, &starts).await?;
    if let Some(kept) = log.fetch_item::<[u8; 32]>(&mut buffer, &IDENTITY).await? {
        let (identity, (flash, _)) = (Secret::from_bytes(kept), log.destroy());
        return Ok(StoredIdentity { settings, identity, starts, flash });
    }
    let mut drawn = [0; 32];
    rng.fill_bytes(&mut drawn);
    log.store_item(&mut buffer, &IDENTITY, &drawn).await?;
    match log.fetch_item::<[u8; 32]>(&mut buffer, &IDENTITY).await? {
        Some(kept) if kept == drawn => {
            let (identity, (flash, _)) = (Secret::from_bytes(drawn), log.destroy());
            Ok(StoredIdentity { settings, identity, starts, flash })
        }
        _ => Err(BadFlash::Unusable),
    }
}

/// The log's key for the identity.
const IDENTITY: u8 = 1;

/// The log's key for the number of starts.
const STARTS: u8 = 2;

impl<E> From<sequential_storage::Error<E>> for BadFlash {
    fn from(_: sequential_storage::Error<E>) -> Self {
        Self::Unusable
    }
}

impl fmt::Display for BadFlash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(problem) => problem.fmt(f),
            Self::Unusable => f.write_str("the flash is damaged: erase it"),
        }
    }
}
