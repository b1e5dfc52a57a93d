//! Secret keys: wiped when dropped, compared in constant time, never printed.

mod list;

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

pub(crate) use self::list::List;

/// A symmetric key of [`Key::BYTES`] bytes.
///
/// Comparison takes the same time for all keys, and `Debug` shows no byte of a key:
///
/// ```
/// use groupkey::Key;
/// assert_eq!(format!("{:?}", Key::from_bytes([7; 16])), "Key(..)");
/// ```
#[derive(Clone, Default, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; Self::BYTES]);

impl Key {
    /// Length of every symmetric key: 16 bytes, 128 bits (S000 section 4).
    pub const BYTES: usize = 16;

    /// Creates a key from these bytes.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the key's bytes. The caller is responsible for wiping the copy.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    pub(crate) const fn as_bytes_mut(&mut self) -> &mut [u8; Self::BYTES] {
        &mut self.0
    }
}

impl ConstantTimeEq for Key {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}
