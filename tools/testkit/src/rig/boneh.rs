//! What an eavesdropper reads from the messages of a Boneh+ group, and what it computes from them.

use alloc::vec::Vec;

use groupkey::author::Reader;
use groupkey::crypto::pairing::{ElementCheck, G1, G2};
use groupkey::protection::Protection;
use groupkey::{Context, Key, Outbox, PartyId, Setting};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// An eavesdropper on a group. It has no key at all.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    setting: Setting,
    fat: bool,
}

impl Listener {
    /// Creates a listener to a group of fat clients or of thin clients.
    pub const fn new(setting: Setting, fat: bool) -> Self {
        Self { setting, fat }
    }

    /// Returns the elements at the beginning of a body: a public key, or the elements for a thin
    /// client. Returns none if the body begins otherwise.
    pub fn elements(&self, body: &[u8]) -> Vec<G1> {
        let Ok(bytes) = Reader::new(body).bytes() else { return Vec::new() };
        self.step(|cx| cx.g1s(bytes, ElementCheck::Subgroup).unwrap_or_default())
    }

    /// Returns C_0 and C_1, which are at the end of every body.
    pub fn header(&self, body: &[u8]) -> Option<(G2, G2)> {
        let mut body = Reader::new(body);
        if body.clone().bytes().is_ok() {
            body.bytes().ok()?;
        } else {
            body.number().ok()?;
        }
        if self.fat {
            for _ in 0..body.array().ok()? {
                body.number().ok()?;
            }
        }
        let (c0, c1) = (body.bytes().ok()?, body.bytes().ok()?);
        let element = |bytes| self.step(|cx| cx.g2(bytes, ElementCheck::Subgroup).ok());
        element(c0).zip(element(c1))
    }

    /// Returns the group key of an epoch that would follow from the product of these pairings.
    pub fn key(&self, epoch: u64, pairs: &[(&G1, &G2)]) -> Key {
        let context = [self.setting.group.0.to_be_bytes(), epoch.to_be_bytes()].concat();
        self.step(|cx| {
            let shared = cx.pairings(pairs);
            cx.derive_from_gt(&shared, "groupkey boneh group key", &context)
        })
    }

    /// Returns the inverse of an element.
    pub fn inverse(&self, element: &G1) -> G1 {
        self.step(|cx| cx.g1_inverse(element))
    }

    fn step<T>(&self, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (setting, mut outbox) = (self.setting, Outbox::new());
        let (me, none) = (PartyId::Controller, Protection::None);
        work(&mut Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut ()))
    }
}
