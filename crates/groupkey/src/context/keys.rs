//! Symmetric keys: drawn, derived, hashed, wrapped.

use alloc::vec;
use alloc::vec::Vec;

use crate::context::state::Context;
use crate::context::trace::{TraceValue, Verbatim};
use crate::context::tracer::Rule;
use crate::crypto::derive;
use crate::crypto::meter::Primitive;
use crate::crypto::wrap::{Binding, is_bound, unwrap, wrap, wrapped_length};
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::secret::Key;

impl Context<'_> {
    /// Draws a new random key.
    pub fn random_key(&mut self) -> Key {
        self.probe.record(Primitive::Random, Key::BYTES);
        let mut key = Key::default();
        self.rng.fill_bytes(key.as_bytes_mut());
        self.trace(Rule::Random, &[], &[&key]);
        key
    }

    /// Derives a key from another (HKDF or its Ascon counterpart). `label` states its purpose.
    pub fn derive(&mut self, secret: &Key, label: &'static str, context: &[u8]) -> Key {
        self.probe.record(Primitive::Derive, Key::BYTES + label.len() + context.len());
        let key = derive::derive(
            self.setting.suite,
            &self.setting.context,
            secret.as_bytes(),
            label,
            context,
        );
        self.trace_labelled(Rule::OneWay, label, context, &[secret], &[&key]);
        key
    }

    /// Derives a key from another for one epoch of this group.
    pub fn derive_for(&mut self, epoch: Epoch, secret: &Key, label: &'static str) -> Key {
        self.derive(secret, label, self.moment(epoch).as_flattened())
    }

    /// Returns the next key of a one-way chain. `label`, of at most 38 bytes, states the kind of
    /// chain. Cheaper than [`Self::derive`], for chains of thousands of keys.
    pub fn hash(&mut self, key: &Key, label: &'static str) -> Key {
        self.hash_with(key, label, &[])
    }

    /// Hashes a uniform key and `context` in one step, as in a chain, at an eighth of the cost of
    /// [`Self::derive`]. For a controller that needs this for every member. `label` and `context`
    /// have at most 38 bytes together.
    pub fn hash_with(&mut self, key: &Key, label: &'static str, context: &[u8]) -> Key {
        self.probe.record(Primitive::Hash, 1);
        let next = derive::hash(self.setting.suite, &self.setting.context, key, label, context);
        self.trace_labelled(Rule::OneWay, label, context, &[key], &[&next]);
        next
    }

    /// Does the same for one epoch of this group.
    pub fn hash_for(&mut self, epoch: Epoch, key: &Key, label: &'static str) -> Key {
        self.hash_with(key, label, self.moment(epoch).as_flattened())
    }

    /// Returns the hash of public data. Each part but the last has a fixed length. `label` states
    /// the kind of data.
    pub fn digest(&mut self, label: &'static str, parts: &[&[u8]]) -> [u8; 32] {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.probe.record(Primitive::Derive, label.len() + length);
        let digest = derive::digest(self.setting.suite, &self.setting.context, label, parts);
        if self.is_traced() {
            self.trace_labelled(Rule::OneWay, label, &parts.concat(), &[], &[&Verbatim(&digest)]);
        }
        digest
    }

    /// Combines two keys bit by bit: masks one with the other, or removes the mask.
    pub fn xor(&mut self, key: &Key, mask: &Key) -> Key {
        let mut result = key.clone();
        for (byte, mask) in result.as_bytes_mut().iter_mut().zip(mask.as_bytes()) {
            *byte ^= mask;
        }
        self.trace(Rule::Xor, &[key, mask], &[&result]);
        result
    }

    /// Wraps keys in one call and appends the result to `out`, for data that is sent more than
    /// once. `label` is as in [`Draft::wrapped`](crate::context::Draft::wrapped).
    pub fn wrap_keys<'k>(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        keys: impl IntoIterator<Item = &'k Key, IntoIter: ExactSizeIterator>,
        out: &mut Vec<u8>,
    ) {
        let keys = keys.into_iter();
        self.probe.record(Primitive::Wrap, keys.len());
        let context = self.setting.context;
        let binding = Binding { group: &context, epoch: epoch.0, label };
        let start = out.len();
        if self.is_traced() {
            let keys: Vec<&Key> = keys.collect();
            wrap(self.setting.suite, kek, binding, keys.iter().copied(), self.rng, out);
            self.trace_wrapping(Rule::Wrap, kek, (epoch, label), &keys, &out[start..]);
        } else {
            wrap(self.setting.suite, kek, binding, keys, self.rng, out);
        }
    }

    /// Opens a wrapped key.
    pub fn unwrap_key(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        wrapped: &[u8],
    ) -> Result<Key, Error> {
        let mut key = [Key::default()];
        self.unwrap_keys(kek, epoch, label, wrapped, &mut key)?;
        let [key] = key;
        Ok(key)
    }

    /// Opens keys that were wrapped in one call. There must be exactly as many as `keys` holds.
    pub fn unwrap_keys(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        wrapped: &[u8],
        keys: &mut [Key],
    ) -> Result<(), Error> {
        self.probe.record(Primitive::Unwrap, keys.len());
        let binding = Binding { group: &self.setting.context, epoch: epoch.0, label };
        unwrap(self.setting.suite, kek, binding, wrapped, keys).ok_or(Misbehaviour::WrongKey)?;
        if self.is_traced() {
            let keys: Vec<_> = keys.iter().collect();
            self.trace_wrapping(Rule::Unwrap, kek, (epoch, label), &keys, wrapped);
        }
        Ok(())
    }

    pub(super) fn trace_wrapping(
        &mut self,
        rule: Rule,
        kek: &Key,
        (epoch, label): (Epoch, u64),
        keys: &[&Key],
        wrapped: &[u8],
    ) {
        let mut context = [0; 17];
        context[..8].copy_from_slice(&epoch.0.to_be_bytes());
        context[8..16].copy_from_slice(&label.to_be_bytes());
        context[16] = u8::from(is_bound(self.setting.suite));
        let (wrapped, mut values) = (Verbatim(wrapped), vec![kek as &dyn TraceValue]);
        match rule {
            Rule::Wrap => {
                values.extend(keys.iter().map(|&key| key as &dyn TraceValue));
                self.trace_labelled(rule, "", &context, &values, &[&wrapped]);
            }
            _ => {
                let keys: Vec<_> = keys.iter().map(|&key| key as &dyn TraceValue).collect();
                values.push(&wrapped);
                self.trace_labelled(rule, "", &context, &values, &keys);
            }
        }
    }

    /// Returns the length in bytes of this many keys wrapped in one call.
    pub const fn wrapped_length(&self, keys: usize) -> usize {
        wrapped_length(self.setting.suite, keys)
    }

    /// Returns the bytes that bind a key to the group and to an epoch.
    pub(super) const fn moment(&self, epoch: Epoch) -> [[u8; 8]; 2] {
        [self.setting.group.0.to_be_bytes(), epoch.0.to_be_bytes()]
    }
}
