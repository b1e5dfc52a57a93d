//! Every scheme that was compiled in, by the features `centralized`, `hybrid`, `distributed` and
//! `pairing`. The only registry: the command, the tests and the simulator know schemes from here.

pub use crate::scheme::{
    Audience, Claims, Class, Configuration, Law, Parameter, ParameterError, Parties, Profile,
    Provenance, Recovery, Scheme,
};

/// All schemes, in the order in which tables show them.
pub static SCHEMES: &[Scheme] = &joined::<COUNT>();

/// The scheme with this id.
pub fn scheme(id: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| scheme.id == id)
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

/// The schemes of all classes, one after the other.
const fn joined<const N: usize>() -> [Scheme; N] {
    let mut all = [Scheme::UNNAMED; N];
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
