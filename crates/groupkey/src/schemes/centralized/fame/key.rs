//! A member's key for "group" and a period: on its way, and as the member holds it.

use alloc::vec::Vec;

use zeroize::{Zeroize, Zeroizing};

use super::ciphertext::{AttributeCiphertext, three_of_second};
use crate::context::Context;
use crate::crypto::Suite;
use crate::crypto::pairing::{ElementCheck, G1, G2, Gt};
use crate::crypto::wrap::MAX_KEYS;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::secret::{Key, List};

/// sk_0, and the elements of "group", of the period and of sk'.
#[derive(Debug)]
pub(super) struct AttributeKey {
    pub(super) begin: [G2; 3],
    pub(super) elements: [G1; 9],
}

/// What opens ciphertexts for one period.
#[derive(Debug)]
pub(super) struct PolicyKey {
    /// sk_0.
    begin: [G2; 3],
    products: [G1; 3],
}

impl AttributeKey {
    /// Returns the length of an encoded key in bytes, a multiple of 16.
    pub(super) const fn length(suite: Suite) -> usize {
        3 * G2::length(suite) + 9 * G1::length(suite)
    }

    /// Wraps the key, and the link after it, with a key for this message alone.
    pub(super) fn wrap(
        &self,
        cx: &mut Context<'_>,
        kek: &Key,
        epoch: Epoch,
        link: Option<&Key>,
    ) -> Vec<u8> {
        let length = Self::length(cx.suite()) / Key::BYTES;
        let mut keys = List::with_capacity(length + 1);
        let mut encoded = Zeroizing::new(Vec::with_capacity(G2::length(cx.suite())));
        let mut append = |cx: &mut Context<'_>, encode: &dyn Fn(&mut Vec<u8>)| {
            encoded.zeroize();
            encode(&mut encoded);
            let first = keys.len();
            encoded.chunks_exact(Key::BYTES).for_each(|part| keys.push(key_of(part)));
            cx.assembled(&keys[first..].iter().collect::<Vec<_>>(), &encoded);
        };
        self.begin.iter().for_each(|element| append(cx, &|out| element.encode(out)));
        self.elements.iter().for_each(|element| append(cx, &|out| element.encode(out)));
        if let Some(link) = link {
            keys.push(link.clone());
        }
        let mut wrapped = Vec::new();
        for (label, part) in (0..).zip(keys.chunks(MAX_KEYS)) {
            cx.wrap_keys(kek, epoch, label, part, &mut wrapped);
        }
        wrapped
    }
}

impl PolicyKey {
    /// Opens what [`AttributeKey::wrap`] made. Returns the key, and the link if there is one.
    pub(super) fn unwrap(
        cx: &mut Context<'_>,
        kek: &Key,
        epoch: Epoch,
        has_link: bool,
        wrapped: &[u8],
        check: ElementCheck,
    ) -> Result<(Self, Option<Key>), Error> {
        let suite = cx.suite();
        let length = AttributeKey::length(suite) / Key::BYTES;
        let mut keys = List::filled(Key::default(), length + usize::from(has_link));
        let mut rest = wrapped;
        for (label, part) in (0..).zip(keys.chunks_mut(MAX_KEYS)) {
            let head = rest.split_at_checked(cx.wrapped_length(part.len()));
            let (head, tail) = head.ok_or(Misbehaviour::Malformed)?;
            cx.unwrap_keys(kek, epoch, label, head, part)?;
            rest = tail;
        }
        if !rest.is_empty() {
            return Err(Misbehaviour::Malformed.into());
        }
        let mut encoded = Zeroizing::new(Vec::with_capacity(length * Key::BYTES));
        keys[..length].iter().for_each(|key| encoded.extend_from_slice(key.as_bytes()));
        let (first, second) = (G1::length(suite), G2::length(suite));
        let lengths = [second; 3].into_iter().chain([first; 9]);
        let mut place = 0;
        for length in lengths {
            let parts: Vec<_> = keys[place / Key::BYTES..][..length / Key::BYTES].iter().collect();
            cx.assembled(&parts, &encoded[place..][..length]);
            place += length;
        }
        let (begin, elements) = encoded.split_at(3 * second);
        let begin = three_of_second(cx, begin, check)?;
        let mut elements = cx.g1s(elements, check)?;
        let products = core::array::from_fn(|t| {
            cx.g1_product(&elements[t], [&elements[3 + t], &elements[6 + t]])
        });
        elements.iter_mut().for_each(Zeroize::zeroize);
        Ok((Self { begin, products }, keys.get(length).cloned()))
    }

    pub(super) fn open(&self, cx: &mut Context<'_>, sealed: &AttributeCiphertext) -> Gt {
        let [group, period] = &sealed.rows;
        let quotients: [G1; 3] = core::array::from_fn(|l| {
            let product = cx.g1_product(&group[l], [&period[l]]);
            cx.g1_inverse(&product)
        });
        let [p1, p2, p3] = &self.products;
        let [c1, c2, c3] = &sealed.begin;
        let [q1, q2, q3] = &quotients;
        let [k1, k2, k3] = &self.begin;
        cx.pairings(&[(p1, c1), (p2, c2), (p3, c3), (q1, k1), (q2, k2), (q3, k3)])
    }

    /// Returns the size of the elements in bytes.
    pub(super) fn stored_bytes(&self) -> usize {
        3 * (self.begin[0].stored_bytes() + self.products[0].stored_bytes())
    }
}

impl Drop for AttributeKey {
    fn drop(&mut self) {
        self.begin.iter_mut().for_each(Zeroize::zeroize);
        self.elements.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl Drop for PolicyKey {
    fn drop(&mut self) {
        self.begin.iter_mut().for_each(Zeroize::zeroize);
        self.products.iter_mut().for_each(Zeroize::zeroize);
    }
}

fn key_of(part: &[u8]) -> Key {
    let mut key = Key::default();
    key.as_bytes_mut().copy_from_slice(part);
    key
}
