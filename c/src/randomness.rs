//! The caller's random bytes. A call draws a seed before anything changes, so that a source that fails
//! is an error and not half a step. All randomness of the call follows from that seed.

#![forbid(unsafe_code)]

use core::convert::Infallible;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;
use crate::memory::Exclusive;

/// The randomness of the call that is running.
#[derive(Debug)]
pub(crate) struct OfThisCall;

/// Draws the seed of a call by `source`, which returns whether it succeeded.
pub(crate) fn seed(source: impl FnOnce(&mut [u8]) -> bool) -> Result<(), Error> {
    let mut seed = Zeroizing::new([0; 32]);
    if !source(&mut *seed) {
        return Err(Error::NoRandomness);
    }
    GENERATOR.enter(|generator| *generator = Some(ChaCha20Rng::from_seed(*seed)));
    Ok(())
}

/// Forgets the seed.
pub(crate) fn forget() {
    GENERATOR.enter(|generator| {
        // Over the old one, in its place.
        if let Some(generator) = generator {
            *generator = ChaCha20Rng::from_seed([0; 32]);
        }
        *generator = None;
    });
}

static GENERATOR: Exclusive<Option<ChaCha20Rng>> = Exclusive::new(None);

impl TryRng for OfThisCall {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let filled = GENERATOR.enter(|generator| match generator {
            Some(generator) => {
                generator.fill_bytes(bytes);
                true
            }
            None => false,
        });
        if filled != Some(true) {
            bytes.zeroize();
            unreachable!("a step runs in a call that has drawn its seed");
        }
        Ok(())
    }
}

impl TryCryptoRng for OfThisCall {}
