//! What a member of a FAME group, present or former, makes of the messages that it hears.

use alloc::vec;
use alloc::vec::Vec;

use groupkey::author::Reader;
use groupkey::crypto::pairing::{ElementCheck, G1, G2};
use groupkey::protection::Protection;
use groupkey::{Context, Epoch, Key, Outbox, PartyId, Setting};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// One that keeps what it was given and opens with it whatever it likes.
#[derive(Clone, Copy, Debug)]
pub struct KeyHoarder {
    setting: Setting,
    is_sound: bool,
}

/// A key for a period, as it was given, and the link that came with it in the sound form.
#[derive(Clone, Debug)]
pub struct HoardedKey {
    begin: Vec<G2>,
    products: Vec<G1>,
    link: Option<Key>,
}

impl KeyHoarder {
    /// Creates one in a group of this form.
    pub const fn new(setting: Setting, is_sound: bool) -> Self {
        Self { setting, is_sound }
    }

    /// Returns the individual key in the body of an enrolment.
    pub fn individual(body: &[u8]) -> Option<Key> {
        let mut body = Reader::new(body);
        body.number().ok()?;
        Some(Key::from_bytes(body.bytes().ok()?.try_into().ok()?))
    }

    /// Opens the key for a period that came in the message of an epoch with this body.
    pub fn keep(&self, individual: &Key, epoch: u64, body: &[u8]) -> Option<HoardedKey> {
        let mut body = Reader::new(body);
        body.number().ok()?;
        let (salt, wrapped) = (body.bytes().ok()?, body.bytes().ok()?);
        let suite = self.setting.suite;
        let (first, second) = (G1::length(suite), G2::length(suite));
        let length = (3 * second + 9 * first) / Key::BYTES;
        let mut keys = vec![Key::default(); length + usize::from(self.is_sound)];
        self.step(|cx| {
            let kek = cx.derive(individual, "groupkey fame wrapping", salt);
            let mut rest = wrapped;
            // As many as are wrapped in one call.
            for (label, part) in (0..).zip(keys.chunks_mut(40)) {
                let (head, tail) = rest.split_at_checked(cx.wrapped_length(part.len()))?;
                cx.unwrap_keys(&kek, Epoch(epoch), label, head, part).ok()?;
                rest = tail;
            }
            let encoded: Vec<u8> = keys[..length].iter().flat_map(|key| *key.as_bytes()).collect();
            let (begin, elements) = encoded.split_at(3 * second);
            let begin = begin.chunks_exact(second).map(|bytes| cx.g2(bytes, CHECK));
            let begin = begin.collect::<Result<_, _>>().ok()?;
            let elements = cx.g1s(elements, CHECK).ok()?;
            let product =
                |t: usize| cx.g1_product(&elements[t], [&elements[3 + t], &elements[6 + t]]);
            let products = (0..3).map(product).collect();
            Some(HoardedKey { begin, products, link: keys.get(length).cloned() })
        })
    }

    /// Opens the ciphertext that came in the broadcast of an epoch with this body. In the sound form
    /// the link is taken `ahead` steps on first.
    pub fn open(&self, key: &HoardedKey, epoch: u64, ahead: u64, body: &[u8]) -> Option<Key> {
        let mut body = Reader::new(body);
        body.number().ok()?;
        if body.clone().bytes().is_err() {
            // Who was removed.
            body.number().ok()?;
        }
        let (begin, rows) = (body.bytes().ok()?, body.bytes().ok()?);
        let second = G2::length(self.setting.suite);
        self.step(|cx| {
            let begin = begin.chunks_exact(second).map(|bytes| cx.g2(bytes, CHECK));
            let begin: Vec<G2> = begin.collect::<Result<_, _>>().ok()?;
            let rows = cx.g1s(rows, CHECK).ok()?;
            let [group, period] = [rows.get(..3)?, rows.get(3..6)?];
            let mut quotient = |l: usize| {
                let product = cx.g1_product(&group[l], [&period[l]]);
                cx.g1_inverse(&product)
            };
            let quotients: Vec<G1> = (0..3).map(&mut quotient).collect();
            let pairs = key.products.iter().zip(&begin).chain(quotients.iter().zip(&key.begin));
            let shared = cx.pairings(&pairs.collect::<Vec<_>>());
            let group = self.setting.group;
            let context = [group.0.to_be_bytes(), epoch.to_be_bytes()].concat();
            let carried = cx.derive_from_gt(&shared, "groupkey fame group key", &context);
            let Some(link) = &key.link else { return Some(carried) };
            let mut link = link.clone();
            for epoch in (epoch + 1).saturating_sub(ahead)..=epoch {
                link = cx.hash_for(Epoch(epoch), &link, "groupkey fame link");
            }
            let mask = cx.hash_for(Epoch(epoch), &link, "groupkey fame mask");
            Some(cx.xor(&carried, &mask))
        })
    }

    fn step<T>(&self, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (setting, mut outbox) = (self.setting, Outbox::new());
        let (me, none) = (PartyId::Controller, Protection::None);
        work(&mut Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut ()))
    }
}

const CHECK: ElementCheck = ElementCheck::Subgroup;
