//! The settings that a device finds in its flash: how to reach the broker, and which group to join.
//!
//! Whoever installs a device writes them, and the device only reads them. They have secrets, as
//! a member's configuration file has. The device's identity is not among them: the device draws it itself.
//!
//! ```text
//! record:    magic (4 bytes), length of the settings (2 bytes, little-endian),
//!            the first 8 bytes of the settings' SHA-256, the settings
//! settings:  [address, port, client, login, prefix, name, shared, service]
//! login:     [user, password], or null
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use groupkey::messages::MessageSettings;
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::codec::{decoded, encoded};
use crate::keyring::Secret;
use crate::member::MemberSettings;

/// The settings of a device.
#[derive(Clone, PartialEq, Eq, Encode, Decode, Zeroize, ZeroizeOnDrop)]
#[cbor(array)]
pub struct DeviceSettings {
    /// The broker's IPv4 address, as the device reaches it.
    #[n(0)]
    pub address: [u8; 4],
    /// The broker's port.
    #[n(1)]
    pub port: u16,
    /// The client identifier: at most [`LONGEST_CLIENT`] bytes, and unique at the broker.
    #[n(2)]
    pub client: String,
    /// User and password, if the broker requires them.
    #[n(3)]
    pub login: Option<(String, String)>,
    /// The prefix of the group's topics.
    #[n(4)]
    pub prefix: String,
    /// The device's name: see [`is_name`](crate::topics::is_name).
    #[n(5)]
    pub name: String,
    /// A pre-shared key, or an enrolment token for the first join.
    #[cbor(n(6), with = "minicbor::bytes")]
    shared: Option<[u8; 32]>,
    /// The service's public key.
    #[cbor(n(7), with = "minicbor::bytes")]
    service: Option<[u8; 32]>,
}

/// The reason why there are no settings in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSettings {
    /// The flash does not begin with a record.
    Blank,
    /// The record has other bytes than were written, or is of another version.
    Damaged,
}

/// Settings do not fit into a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLong {
    /// The client identifier has more than [`LONGEST_CLIENT`] bytes.
    Client,
    /// The record has more than [`LONGEST_RECORD`] bytes.
    Record,
}

impl DeviceSettings {
    /// Creates settings without a login, with the trust of a member: a shared secret, the
    /// service's public key, or both.
    pub fn new(
        (address, port): ([u8; 4], u16),
        client: String,
        (prefix, name): (String, String),
        shared: Option<&Secret>,
        service: Option<[u8; 32]>,
    ) -> Self {
        let shared = shared.map(|secret| *secret.as_bytes());
        Self { address, port, client, login: None, prefix, name, shared, service }
    }

    /// Returns the settings with which the device's member joins.
    pub fn member(&self, identity: Secret) -> MemberSettings {
        MemberSettings {
            prefix: self.prefix.clone(),
            name: self.name.clone(),
            identity,
            shared: self.shared.map(Secret::from_bytes),
            service: self.service,
            allowed: Default::default(),
            messages: MessageSettings::of_small_device(),
            freshness: Default::default(),
        }
    }

    /// Returns the record to write at the start of the flash.
    pub fn record(&self) -> Result<Zeroizing<Vec<u8>>, TooLong> {
        if self.client.len() > LONGEST_CLIENT {
            return Err(TooLong::Client);
        }
        let settings = Zeroizing::new(encoded(self));
        if HEADER + settings.len() > LONGEST_RECORD {
            return Err(TooLong::Record);
        }
        let mut record = Zeroizing::new(Vec::with_capacity(HEADER + settings.len()));
        record.extend_from_slice(&MAGIC);
        record.extend_from_slice(&(settings.len() as u16).to_le_bytes());
        record.extend_from_slice(&check_sum(&settings));
        record.extend_from_slice(&settings);
        Ok(record)
    }

    /// Reads settings from the first [`LONGEST_RECORD`] bytes of the flash.
    pub fn read(flash: &[u8]) -> Result<Self, NoSettings> {
        let rest = flash.strip_prefix(&MAGIC).ok_or(NoSettings::Blank)?;
        let settings = rest
            .split_first_chunk()
            .and_then(|(length, rest)| {
                let (sum, rest) = rest.split_first_chunk()?;
                let settings = rest.get(..usize::from(u16::from_le_bytes(*length)))?;
                (check_sum(settings) == *sum).then_some(settings)
            })
            .ok_or(NoSettings::Damaged)?;
        decoded(settings).ok_or(NoSettings::Damaged)
    }
}

fn check_sum(settings: &[u8]) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = Sha256::digest(settings).into();
    [a, b, c, d, e, f, g, h]
}

/// The maximum length of a record, in bytes.
pub const LONGEST_RECORD: usize = 1_024;

/// The maximum length of a device's client identifier, in bytes.
pub const LONGEST_CLIENT: usize = 64;

/// The maximum length of a message that a device sends, in bytes.
pub const LONGEST_MESSAGE: usize = 1_024;

/// The first bytes of a record. The last one is the version.
const MAGIC: [u8; 4] = *b"gks\x01";
const HEADER: usize = 4 + 2 + 8;

impl fmt::Debug for DeviceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSettings")
            .field("address", &self.address)
            .field("port", &self.port)
            .field("client", &self.client)
            .field("prefix", &self.prefix)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for NoSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blank => "the flash has no settings: write them first",
            Self::Damaged => "the settings in the flash are damaged: write them again",
        })
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => write!(
                f,
                "a device's client identifier has at most {LONGEST_CLIENT} bytes: shorten its name, or \
                 the prefix"
            ),
            Self::Record => write!(
                f,
                "a device's settings have at most {LONGEST_RECORD} bytes: shorten user, password, \
                 name or prefix"
            ),
        }
    }
}

impl core::error::Error for NoSettings {}

impl core::error::Error for TooLong {}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> DeviceSettings {
        let secret = Secret::from_bytes([7; 32]);
        let place = ("plant/7".to_owned(), "truck-1".to_owned());
        let client = "groupkey:device:truck-1:plant.7".to_owned();
        let login = Some(("truck-1".to_owned(), "password".to_owned()));
        let broker = ([10, 0, 2, 2], 1883);
        let mut settings = DeviceSettings::new(broker, client, place, Some(&secret), Some([9; 32]));
        settings.login = login;
        settings
    }

    #[test]
    fn a_record_is_read_back_from_a_longer_flash() {
        let mut flash = settings().record().unwrap().to_vec();
        flash.resize(LONGEST_RECORD, 0xFF);
        let read = DeviceSettings::read(&flash).unwrap();
        assert_eq!(read, settings());
        let member = read.member(Secret::from_bytes([1; 32]));
        assert_eq!((member.name.as_str(), member.service), ("truck-1", Some([9; 32])));
        assert!(!format!("{read:?}").contains("password"));
    }

    /// Each sender takes 56 bytes, in this epoch and in the one before. Without signatures an insider names
    /// as many as it likes.
    #[test]
    fn the_senders_that_a_board_remembers_fit_its_memory() {
        let member = settings().member(Secret::from_bytes([1; 32]));
        assert!(member.messages.sources * 2 * 56 <= 8 << 10);
    }

    #[test]
    fn a_torn_record_is_refused() {
        assert_eq!(DeviceSettings::read(&[0xFF; LONGEST_RECORD]), Err(NoSettings::Blank));
        let record = settings().record().unwrap();
        for written in MAGIC.len()..record.len() {
            let mut flash = [0xFF; LONGEST_RECORD];
            flash[..written].copy_from_slice(&record[..written]);
            assert_eq!(DeviceSettings::read(&flash), Err(NoSettings::Damaged), "{written}");
            assert_eq!(DeviceSettings::read(&record[..written]), Err(NoSettings::Damaged));
        }
    }

    #[test]
    fn what_a_device_has_no_room_for_is_refused() {
        let long = |client: usize, prefix: usize| {
            let mut settings = settings();
            (settings.client, settings.prefix) = ("c".repeat(client), "p".repeat(prefix));
            settings.record().map(drop)
        };
        assert_eq!(long(LONGEST_CLIENT, 200), Ok(()));
        assert_eq!(long(LONGEST_CLIENT + 1, 200), Err(TooLong::Client));
        assert_eq!(long(LONGEST_CLIENT, LONGEST_RECORD), Err(TooLong::Record));
    }
}
