//! The schemes that were compiled in, by the features `centralized`, `hybrid`, `distributed` and
//! `pairing`. This is the only registry: the command, the tests and the simulator know schemes from
//! here.

pub use crate::scheme::{
    Adversary, Assumption, Audience, Claims, Class, Configuration, Departures, Law, Parameter,
    ParameterError, Parties, Profile, Provenance, Recovery, Scheme, Unsuited, growth,
};

/// All schemes, in the order in which tables show them.
pub static SCHEMES: &[Scheme] = &joined::<COUNT>();

/// Returns the scheme with this id.
///
/// Firmware that looks its scheme up in a `static` links only that scheme:
///
/// ```
/// # use groupkey::catalogue::{self, Scheme};
/// static SKDC: Scheme = *catalogue::scheme("skdc").unwrap();
/// ```
pub const fn scheme(id: &str) -> Option<&'static Scheme> {
    let mut index = 0;
    while index < SCHEMES.len() {
        if is_same(SCHEMES[index].id.as_bytes(), id.as_bytes()) {
            return Some(&SCHEMES[index]);
        }
        index += 1;
    }
    None
}

/// Compares byte strings; `==` cannot do this in a constant yet.
const fn is_same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}

const CLASSES: &[&[Scheme]] = &[
    #[cfg(feature = "centralized")]
    super::centralized::SCHEMES,
    #[cfg(feature = "hybrid")]
    super::hybrid::SCHEMES,
    #[cfg(feature = "distributed")]
    super::distributed::SCHEMES,
];

const COUNT: usize = {
    let (mut count, mut class) = (0, 0);
    while class < CLASSES.len() {
        count += CLASSES[class].len();
        class += 1;
    }
    count
};

/// Returns the schemes of all classes, one after the other.
const fn joined<const N: usize>() -> [Scheme; N] {
    let mut all = [UNNAMED; N];
    let (mut count, mut class) = (0, 0);
    while class < CLASSES.len() {
        let mut index = 0;
        while index < CLASSES[class].len() {
            all[count] = CLASSES[class][index];
            count += 1;
            index += 1;
        }
        class += 1;
    }
    all
}

/// A placeholder that a scheme overwrites.
const UNNAMED: Scheme = Scheme::new(
    "",
    "",
    Provenance::StandIn,
    "",
    Parties::Distributed { member: |_, _| unreachable!("it is in no catalogue") },
);
