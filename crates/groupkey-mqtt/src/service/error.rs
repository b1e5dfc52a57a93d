//! The reasons why a service cannot start, and why an operator's command failed.

use alloc::string::String;
use core::fmt;

use groupkey::Error;

use super::succession::ChangeError;
use crate::group_form::FormError;
use crate::keyring::hex;
use crate::runtime::Fatal;
use crate::topics::BadPrefix;

/// The reason why a service cannot start.
#[derive(Debug)]
pub enum OpenError {
    /// The form must not run live.
    Form(FormError),
    /// The store has a group of another form.
    FormChanged,
    /// The store failed.
    Fatal(Fatal),
    /// The store has a group of a service with this public key, and the policy has another
    /// identity.
    IdentityChanged([u8; 32]),
    /// The scheme has no controller: its members need no service.
    NoController,
    /// Another version of groupkey wrote the store: that version, if the store has one.
    OtherVersion(Option<String>),
    /// Topics cannot have this prefix.
    Prefix(BadPrefix),
}

/// The reason why an operator's command failed.
#[derive(Debug)]
pub enum OperationError {
    /// The device is barred, but still has the key: the eviction is pending.
    BarredOnly(Error),
    /// The group cannot change its scheme.
    CannotChange(ChangeError),
    /// The service cannot continue.
    Fatal(Fatal),
    /// The scheme or the group's state does not allow the operation.
    Refused(Error),
    /// The service does not know yet whether its store is its last state.
    Unconfirmed,
    /// No device ever joined under this name.
    Unknown(String),
}

impl From<Fatal> for OpenError {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl From<ChangeError> for OperationError {
    fn from(error: ChangeError) -> Self {
        Self::CannotChange(error)
    }
}

impl From<Fatal> for OperationError {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(error) => write!(f, "{error}"),
            Self::FormChanged => write!(
                f,
                "the store has a group with another scheme, parameters or algorithms: put the old ones back \
                 into the file and change the scheme while the service runs, or give the new group a \
                 store of its own"
            ),
            Self::Fatal(error) => write!(f, "{error}"),
            Self::IdentityChanged(public) => write!(
                f,
                "the store has a group of the service {}, and the identity is another one: put the old \
                 identity back, or remove the line",
                hex(public)
            ),
            Self::NoController => {
                write!(f, "the scheme has no controller: its members need no service")
            }
            Self::OtherVersion(Some(version)) => write!(
                f,
                "groupkey {version} wrote the store and did not stop by itself, or its stores have another \
                 form: start and stop it once with that version (Ctrl-C), or give a new group a store of its own"
            ),
            Self::OtherVersion(None) => write!(
                f,
                "an early version of groupkey wrote the store, and no later one can read it: give a new group \
                 a store of its own, with the old identity if members know it"
            ),
            Self::Prefix(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BarredOnly(error) => write!(
                f,
                "{error}: the device is barred, but has the key until another device joins or the group is \
                 founded again"
            ),
            Self::CannotChange(error) => write!(f, "{error}"),
            Self::Fatal(error) => write!(f, "{error}"),
            Self::Refused(error) => write!(f, "{error}"),
            Self::Unconfirmed => write!(
                f,
                "the service does not act yet: it waits for the broker's notice of its last state, or \
                 for the operator to accept the state of the store"
            ),
            Self::Unknown(name) => write!(f, "no device ever joined as {name}"),
        }
    }
}

impl core::error::Error for OpenError {}
impl core::error::Error for OperationError {}
