//! Seeded randomness, with one independent stream per link and direction. Adding a member does not
//! change the random numbers of the others.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A stream of random numbers. Its generator is made at the first draw: most links of a large,
/// clean network never draw, and neither do most copies.
#[derive(Debug)]
pub(crate) struct RandomStream {
    seed: u64,
    number: u64,
    /// How many words were drawn before the generator was made.
    drawn: u64,
    generator: Option<Box<ChaCha8Rng>>,
}

impl RandomStream {
    pub(crate) const fn new(seed: u64, number: u64) -> Self {
        Self { seed, number, drawn: 0, generator: None }
    }

    /// Returns the same stream without its first numbers.
    pub(crate) fn after(&self, numbers: u64) -> Self {
        // A number takes two words.
        Self { seed: self.seed, number: self.number, drawn: 2 * numbers, generator: None }
    }

    #[cold]
    fn generator(seed: u64, number: u64, drawn: u64) -> Box<ChaCha8Rng> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(number);
        generator.set_word_pos(u128::from(drawn));
        Box::new(generator)
    }

    /// Returns a number in 0..1, uniform, with 53 bits.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        let Self { seed, number, drawn, generator } = self;
        let generator = match generator {
            Some(generator) => generator,
            None => generator.insert(Self::generator(*seed, *number, *drawn)),
        };
        (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Clone for RandomStream {
    fn clone(&self) -> Self {
        let Self { seed, number, drawn, .. } = *self;
        let drawn = self.generator.as_ref().map_or(drawn, |made| made.get_word_pos() as u64);
        Self { seed, number, drawn, generator: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_on_where_it_was_made() {
        let mut stream = RandomStream::new(1, 2);
        for draws in 0..100 {
            let mut copy = stream.clone().clone();
            for _ in 0..draws {
                assert_eq!(copy.uniform(), stream.uniform());
            }
        }
    }

    #[test]
    fn what_comes_after_some_numbers_is_the_same() {
        let mut stream = RandomStream::new(1, 2);
        let numbers: Vec<f64> = (0..70).map(|_| stream.uniform()).collect();
        for skipped in [0, 1, 32, 69] {
            let mut rest = RandomStream::new(1, 2).after(skipped);
            assert_eq!(rest.uniform(), numbers[skipped as usize]);
        }
    }

    #[test]
    fn streams_are_repeatable_and_differ() {
        let draw = |seed, number| RandomStream::new(seed, number).uniform();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }
}
