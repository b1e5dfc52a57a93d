//! A source of randomness that is wiped.

use core::fmt;
use core::hint::black_box;
use core::ops::{Deref, DerefMut};

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// ChaCha20 as a generator, whose seed and unused output are overwritten when it is dropped.
/// Whoever has the seed of a step has the keys that the step drew.
pub struct Generator(ChaCha20Rng);

impl Generator {
    /// Returns the generator with this seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(*seed))
    }

    pub(crate) fn stream(of: &ChaCha20Rng, stream: u64) -> Self {
        let mut rng = of.clone();
        rng.set_stream(stream);
        Self(rng)
    }
}

impl Deref for Generator {
    type Target = ChaCha20Rng;

    fn deref(&self) -> &ChaCha20Rng {
        &self.0
    }
}

impl DerefMut for Generator {
    fn deref_mut(&mut self) -> &mut ChaCha20Rng {
        &mut self.0
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // The type has no wipe of its own. Without the black box the compiler may leave out a write
        // that nothing reads.
        self.0 = ChaCha20Rng::from_seed([0; 32]);
        black_box(&self.0);
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Generator(..)")
    }
}
