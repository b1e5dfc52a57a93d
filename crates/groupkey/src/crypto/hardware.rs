//! The one door to AES-128 and SHA-256, which most steps of a member spend their time in: RustCrypto's
//! software or, with the feature `hardware`, what a chip has.
//!
//! A program for a chip implements `Hardware` and calls `install` before anything else. What the chip
//! cannot do, or before it is installed, software does.

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
