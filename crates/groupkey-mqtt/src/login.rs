//! The user name and the password of a client.

use core::fmt;

use zeroize::Zeroizing;

/// A user name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user name.
    pub name: String,
    /// The password: any bytes.
    pub password: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("name", &self.name).finish_non_exhaustive()
    }
}
