//! Seeded randomness, one independent stream per link and direction: adding a member does not
//! change the luck of the others.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A stream of random numbers, made when it is first drawn from: most links of a large, clean
/// network never draw.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    seed: u64,
    number: u64,
    generator: Option<Box<ChaCha8Rng>>,
}

impl Stream {
    pub(crate) const fn new(seed: u64, number: u64) -> Self {
        Self { seed, number, generator: None }
    }

    #[cold]
    fn generator(seed: u64, number: u64) -> Box<ChaCha8Rng> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(number);
        Box::new(generator)
    }

    /// A number in 0..1, uniform, with 53 bits.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        let Self { seed, number, generator } = self;
        let generator = match generator {
            Some(generator) => generator,
            None => generator.insert(Self::generator(*seed, *number)),
        };
        (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_differ() {
        let draw = |seed, number| Stream::new(seed, number).uniform();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }
}
