//! The one door to AES-128 and SHA-256: RustCrypto's software or, with the feature `hardware`, a chip.
//!
//! A program for a chip implements `Hardware` and calls `install` before anything else. Software does
//! what the chip cannot do, and everything until a chip is installed.

#[cfg(feature = "hardware")]
mod aes128;
#[cfg(feature = "hardware")]
mod installed;
#[cfg(feature = "hardware")]
mod sha256;

#[cfg(not(feature = "hardware"))]
pub(crate) use aes::Aes128;
#[cfg(not(feature = "hardware"))]
pub(crate) use sha2::{Sha256, block_api::compress256};

#[cfg(feature = "hardware")]
pub(crate) use self::aes128::Aes128;
#[cfg(feature = "hardware")]
pub use self::installed::{Hardware, WrongAnswer, install};
#[cfg(feature = "hardware")]
pub(crate) use self::sha256::{Sha256, compress256};

/// The initial state of SHA-256 (FIPS 180-4 section 5.3.3).
pub(crate) const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
