//! The schemes that can be run: the catalogue's schemes, and the schemes that a program registers.
//!
//! A third-party scheme is a crate that implements the library's contract. Its program registers
//! the scheme once, before anything else. From then on users choose the scheme by its id, as they
//! choose the catalogue's schemes. A program whose schemes come and go, such as Python, lends them
//! to one piece of work ([`with_schemes`]).

use std::cell::RefCell;
use std::sync::OnceLock;
use std::{error, fmt};

use groupkey::catalogue::{SCHEMES, Scheme};

/// Registers schemes in addition to the catalogue's, for this process. A process registers all its
/// schemes in one call.
pub fn register(schemes: &[&'static Scheme]) -> Result<(), RegistryError> {
    require_new_ids(SCHEMES, schemes)?;
    BROUGHT.set(schemes.to_vec()).map_err(|_| RegistryError::AlreadyRegistered)
}

/// Does some work for which these schemes are registered, too. Only this thread finds them by their
/// ids. Other threads can have other schemes with the same ids at the same time.
pub fn with_schemes<T>(
    lent: &[&'static Scheme],
    work: impl FnOnce() -> T,
) -> Result<T, RegistryError> {
    require_new_ids(schemes(), lent)?;
    let before = LENT.with_borrow(Vec::len);
    LENT.with_borrow_mut(|all| all.extend_from_slice(lent));
    let _returned = Returned { before };
    Ok(work())
}

/// Returns all schemes: the catalogue's in its order, then the registered ones.
pub fn schemes() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().chain(own_schemes())
}

/// Returns the scheme with this id.
pub fn scheme(id: &str) -> Option<&'static Scheme> {
    schemes().find(|scheme| scheme.id == id)
}

/// Returns the schemes that were registered, and those that were lent to this thread's work.
pub fn own_schemes() -> impl Iterator<Item = &'static Scheme> {
    BROUGHT.get().into_iter().flatten().copied().chain(LENT.with_borrow(Clone::clone))
}

fn require_new_ids(
    known: impl IntoIterator<Item = &'static Scheme>,
    schemes: &[&'static Scheme],
) -> Result<(), RegistryError> {
    let mut known: Vec<_> = known.into_iter().map(|scheme| scheme.id).collect();
    for scheme in schemes {
        if known.contains(&scheme.id) {
            return Err(RegistryError::IdInUse(scheme.id));
        }
        known.push(scheme.id);
    }
    Ok(())
}

/// Takes lent schemes back when the work is over, also if it panicked.
struct Returned {
    before: usize,
}

impl Drop for Returned {
    fn drop(&mut self) {
        LENT.with_borrow_mut(|all| all.truncate(self.before));
    }
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

thread_local! {
    static LENT: RefCell<Vec<&'static Scheme>> = const { RefCell::new(Vec::new()) };
}

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

    #[test]
    fn a_lent_scheme_is_there_for_its_work_and_its_thread() {
        static LENT: Scheme =
            Scheme::new("lent", "", SCHEMES[0].provenance, "", SCHEMES[0].parties);
        let outcome = with_schemes(&[&LENT], || {
            assert_eq!(scheme("lent").map(|scheme| scheme.id), Some("lent"));
            assert_eq!(with_schemes(&[&LENT], || ()), Err(RegistryError::IdInUse("lent")));
            let elsewhere = std::thread::spawn(|| scheme("lent").is_some());
            assert!(!elsewhere.join().expect("it only looks"));
            schemes().count()
        });
        assert_eq!(outcome, Ok(SCHEMES.len() + 1));
        assert!(scheme("lent").is_none());
        let panicked = std::panic::catch_unwind(|| with_schemes(&[&LENT], || panic!("as planned")));
        assert!(panicked.is_err() && scheme("lent").is_none());
    }
}
