//! What a library computes with besides its inputs: random numbers, and a list of what it computed.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use groupkey::Context;
use groupkey::crypto::meter::Primitive;
use hmac::{Hmac, KeyInit, Mac};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The random numbers of a member's library and the count of its operations. Clones are the same.
///
/// All numbers follow from a secret that the member draws from its context in each step that needs some.
#[derive(Clone, Default)]
pub(crate) struct Resources(Arc<Shared>);

impl Resources {
    /// Begins a step: what is drawn from now on follows from the context's randomness.
    pub(crate) fn begin(&self, cx: &mut Context<'_>) {
        let mut secret = Zeroizing::new([0; 32]);
        for half in secret.chunks_mut(16) {
            half.copy_from_slice(cx.random_key().as_bytes());
        }
        let mut stock = self.stock();
        stock.stream = Some(ChaCha20Rng::from_seed(*secret));
        stock.secret = secret;
    }

    /// Ends a step: tells the context what was computed. No more can be drawn.
    pub(crate) fn end(&self, cx: &mut Context<'_>) {
        *self.stock() = Stock::default();
        for primitive in Primitive::ALL {
            let (calls, amount) = self.0.counts[primitive as usize].take();
            // What a call costs and what its units cost are added up apart.
            (0..calls).for_each(|call| cx.count(primitive, if call == 0 { amount } else { 0 }));
        }
    }

    pub(crate) fn count(&self, primitive: Primitive, amount: usize) {
        self.0.counts[primitive as usize].add(amount);
    }

    /// Draws bytes. Fails in a step that was not [begun](Self::begin).
    pub(crate) fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        self.count(Primitive::Random, bytes.len());
        self.stock().stream.as_mut().ok_or(NoRandomness)?.fill_bytes(bytes);
        Ok(())
    }

    /// Draws bytes that are fixed by what they are for: threads that draw at once get the same bytes in
    /// any order, and nobody without the secret of the step can tell them from random ones.
    pub(crate) fn fixed_by(&self, purpose: &[&[u8]]) -> Result<Zeroizing<[u8; 32]>, NoRandomness> {
        let stock = self.stock();
        stock.stream.as_ref().ok_or(NoRandomness)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&*stock.secret).expect("any length is a key");
        drop(stock);
        for part in purpose {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Ok(Zeroizing::new(mac.finalize().into_bytes().into()))
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.0.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resources(..)")
    }
}

/// A library wanted randomness in a step that needs none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRandomness;

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this step has no randomness")
    }
}

impl std::error::Error for NoRandomness {}

struct Shared {
    stock: Mutex<Stock>,
    counts: [Count; Primitive::ALL.len()],
}

impl Default for Shared {
    fn default() -> Self {
        Self { stock: Mutex::default(), counts: core::array::from_fn(|_| Count::default()) }
    }
}

#[derive(Default)]
struct Stock {
    secret: Zeroizing<[u8; 32]>,
    stream: Option<ChaCha20Rng>,
}

/// Calls and their units. Threads count at once.
#[derive(Default)]
struct Count {
    calls: AtomicU64,
    amount: AtomicUsize,
}

impl Count {
    fn add(&self, amount: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.amount.fetch_add(amount, Ordering::Relaxed);
    }

    fn take(&self) -> (u64, usize) {
        (self.calls.swap(0, Ordering::Relaxed), self.amount.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use groupkey::protection::Protection;
    use groupkey::{GroupId, MemberId, Outbox, Setting, Suite};

    use super::*;

    #[test]
    fn a_step_draws_what_its_context_gives_and_nothing_outside_of_it() {
        let drawn = |seed| {
            let (mut rng, mut outbox, mut probe) =
                (ChaCha20Rng::seed_from_u64(seed), Outbox::new(), ());
            let setting = Setting::new(GroupId(1), Suite::Standard);
            let me = MemberId(1).into();
            let mut cx =
                Context::new(setting, me, Protection::None, &mut rng, 0, &mut outbox, &mut probe);
            let resources = Resources::default();
            assert!(resources.fill(&mut [0; 8]).is_err() && resources.fixed_by(&[]).is_err());
            resources.begin(&mut cx);
            let mut bytes = [0; 8];
            resources.fill(&mut bytes).unwrap();
            let fixed = resources.fixed_by(&[b"ab", b"c"]).unwrap();
            assert_eq!(fixed, resources.fixed_by(&[b"ab", b"c"]).unwrap());
            assert_ne!(fixed, resources.fixed_by(&[b"a", b"bc"]).unwrap());
            resources.end(&mut cx);
            assert!(resources.fill(&mut [0; 8]).is_err() && resources.fixed_by(&[]).is_err());
            (bytes, fixed)
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
