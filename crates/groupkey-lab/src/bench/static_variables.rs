//! Static variables instead of random values: every repetition draws the same values again.

use std::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};
use sha2::{Digest, Sha256};

/// Values, each the SHA-256 hash of the value before (S002, section 4.2.1).
///
/// They are ready before they are drawn, so that drawing them costs a measured step next to
/// nothing. A first, unmeasured repetition makes them as it needs them.
#[derive(Clone)]
pub struct StaticVariables {
    ready: Vec<u8>,
    drawn: usize,
    last: [u8; 32],
    /// The variables begin again after this many bytes.
    period: usize,
}

impl StaticVariables {
    /// Returns the variables that follow from a seed.
    pub fn new(seed: u64) -> Self {
        let first = Sha256::new().chain_update(b"groupkey static variables");
        let last = first.chain_update(seed.to_be_bytes()).finalize().into();
        Self { ready: Vec::new(), drawn: 0, last, period: usize::MAX }
    }

    /// Returns variables that are ready, and that begin again after this many bytes. They are for
    /// work that is done so often that its draws cannot be kept.
    pub fn recurring(seed: u64, period: usize) -> Self {
        let mut variables = Self::new(seed);
        variables.make_ready(period);
        Self { period, ..variables }
    }

    /// Begins again with the first value.
    pub fn rewind(&mut self) {
        self.drawn = 0;
    }

    /// Returns how many bytes were drawn since the first value.
    pub const fn drawn(&self) -> usize {
        self.drawn
    }

    /// Goes on with the values that come after this many bytes.
    pub const fn draw_from(&mut self, drawn: usize) {
        self.drawn = drawn;
    }

    fn make_ready(&mut self, bytes: usize) {
        while self.ready.len() < bytes {
            self.ready.extend_from_slice(&self.last);
            self.last = Sha256::digest(self.last).into();
        }
    }

    fn draw<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let Ok(()) = self.try_fill_bytes(&mut bytes);
        bytes
    }
}

impl TryRng for StaticVariables {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.draw()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.draw()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        if bytes.len() > self.period - self.drawn.min(self.period) {
            self.drawn = 0;
        }
        let end = self.drawn + bytes.len();
        self.make_ready(end);
        bytes.copy_from_slice(&self.ready[self.drawn..end]);
        self.drawn = end;
        Ok(())
    }
}

/// The values are as good as random, but every party knows them: for benchmarks only.
impl TryCryptoRng for StaticVariables {}

impl std::fmt::Debug for StaticVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticVariables").field("drawn", &self.drawn).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    #[test]
    fn each_value_is_the_hash_of_the_one_before() {
        let mut variables = StaticVariables::new(1);
        let values: [[u8; 32]; 3] = [(); 3].map(|()| variables.draw());
        assert_eq!(values[1], <[u8; 32]>::from(Sha256::digest(values[0])));
        assert_eq!(values[2], <[u8; 32]>::from(Sha256::digest(values[1])));
    }

    #[test]
    fn they_come_again_however_they_are_drawn() {
        let mut variables = StaticVariables::new(1);
        let (first, second) = (variables.next_u64(), variables.next_u64());
        variables.rewind();
        let mut both = [0; 16];
        variables.fill_bytes(&mut both);
        assert_eq!(both, [first.to_le_bytes(), second.to_le_bytes()].as_flattened());
        variables.draw_from(8);
        assert_eq!((variables.next_u64(), variables.drawn()), (second, 16));
        assert_ne!(StaticVariables::new(2).next_u64(), first);
    }

    #[test]
    fn recurring_ones_begin_again() {
        let mut variables = StaticVariables::recurring(1, 64);
        let first = variables.draw::<40>();
        assert_eq!(variables.draw::<40>(), first);
    }
}
