//! The schemes that can be run: the catalogue's schemes, and the schemes that a program registers.
//!
//! A third-party scheme is a crate that implements the library's contract. Its program registers
//! the scheme once, before anything else. From then on users choose the scheme by its id, as they
//! choose the catalogue's schemes.

use std::sync::OnceLock;
use std::{error, fmt};

use groupkey::catalogue::{SCHEMES, Scheme};

/// Registers schemes in addition to the catalogue's, for this process. A process registers all its
/// schemes in one call.
pub fn register(schemes: &[&'static Scheme]) -> Result<(), RegistryError> {
    let mut known: Vec<_> = SCHEMES.iter().map(|scheme| scheme.id).collect();
    for scheme in schemes {
        if known.contains(&scheme.id) {
            return Err(RegistryError::IdInUse(scheme.id));
        }
        known.push(scheme.id);
    }
    BROUGHT.set(schemes.to_vec()).map_err(|_| RegistryError::AlreadyRegistered)
}

/// Returns all schemes: the catalogue's in its order, then the registered ones.
pub fn schemes() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().chain(own_schemes())
}

/// Returns the scheme with this id.
pub fn scheme(id: &str) -> Option<&'static Scheme> {
    schemes().find(|scheme| scheme.id == id)
}

/// Returns the schemes that were registered.
pub fn own_schemes() -> impl Iterator<Item = &'static Scheme> {
    BROUGHT.get().into_iter().flatten().copied()
}

/// Why schemes cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryError {
    /// Schemes were registered before. All schemes must be registered in one call.
    AlreadyRegistered,
    /// Another scheme has this id.
    IdInUse(&'static str),
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyRegistered => {
                write!(f, "schemes were registered before: register all of them at once")
            }
            Self::IdInUse(id) => {
                write!(f, "there is a scheme `{id}` already: give yours another id")
            }
        }
    }
}

impl error::Error for RegistryError {}

static BROUGHT: OnceLock<Vec<&'static Scheme>> = OnceLock::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_one_scheme() {
        assert_eq!(register(&[&SCHEMES[0]]), Err(RegistryError::IdInUse(SCHEMES[0].id)));
        assert_eq!(schemes().count(), SCHEMES.len());
        assert_eq!(scheme("skdc").map(|scheme| scheme.id), Some("skdc"));
        assert!(scheme("none such").is_none());
    }
}
