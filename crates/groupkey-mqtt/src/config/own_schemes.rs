//! The schemes that a configuration may name besides the catalogue's.

use std::sync::OnceLock;

use groupkey::catalogue::{self, Class, Scheme};

/// Lets configurations of this process name these schemes, too. The first call counts. Those of a class
/// with a controller do not run live: a service restores its controller by the catalogue.
pub fn register_schemes(schemes: &[&'static Scheme]) {
    let among_members = |scheme: &&&Scheme| scheme.class() == Class::Distributed;
    let _ = OWN.set(schemes.iter().filter(among_members).copied().collect());
}

pub(super) fn scheme(id: &str) -> Option<&'static Scheme> {
    let own = OWN.get().into_iter().flatten().copied();
    catalogue::scheme(id).or_else(|| own.into_iter().find(|scheme| scheme.id == id))
}

static OWN: OnceLock<Vec<&'static Scheme>> = OnceLock::new();
