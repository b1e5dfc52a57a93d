//! The scheme's own encryption: every message has its own header, and so its own K.
//!
//! The controller draws a header as for a change of the key (S003, equation 5). A member raises the
//! header of the current epoch to a random power s. With t' = ts, `(C_0^s, C_1^s)` is `(g^t',
//! u_s^t')`, and no party can tell it from a new header. So members need neither u_s nor the
//! elements of G2 that make it.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::messages::{Header, context};
use crate::context::Context;
use crate::crypto::pairing::{ElementCheck, G1, G2, Gt};
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::secret::Key;

/// A member's elements that open headers, and the header of the current epoch.
#[derive(Clone, Copy)]
pub(super) struct Opening<'m> {
    pub(super) base: &'m G1,
    /// u_(c,i).
    pub(super) combined: &'m G1,
    pub(super) header: &'m Header,
}

impl Opening<'_> {
    pub(super) fn encapsulate(self, cx: &mut Context<'_>, epoch: Epoch) -> (Key, Vec<u8>) {
        let s = cx.random_scalar();
        let header =
            Header { c0: cx.g2_power(&self.header.c0, &s), c1: cx.g2_power(&self.header.c1, &s) };
        let key = self.key_of(cx, epoch, &header);
        (key, header.encode())
    }

    /// Returns the key that a header carries.
    pub(super) fn decapsulate(
        self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        ciphertext: &[u8],
        check: ElementCheck,
    ) -> Result<Key, Error> {
        let header = Header::decode(cx, ciphertext, check)?;
        Ok(self.key_of(cx, epoch, &header))
    }

    fn key_of(self, cx: &mut Context<'_>, epoch: Epoch, header: &Header) -> Key {
        let shared = shared(cx, self.base, self.combined, header);
        message_key(cx, epoch, &shared)
    }
}

impl Header {
    /// Encodes C_0 and C_1, one after the other.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.c0.encode(&mut bytes);
        self.c1.encode(&mut bytes);
        bytes
    }

    fn decode(cx: &mut Context<'_>, bytes: &[u8], check: ElementCheck) -> Result<Self, Error> {
        let length = G2::length(cx.suite());
        if bytes.len() != 2 * length {
            return Err(Misbehaviour::Malformed.into());
        }
        let (c0, c1) = bytes.split_at(length);
        Ok(Self { c0: cx.g2(c0, check)?, c1: cx.g2(c1, check)? })
    }
}

/// Returns K = e(g_i, C_1) / e(u_(c,i), C_0).
pub(super) fn shared(
    cx: &mut Context<'_>,
    base: &G1,
    combined: &G1,
    header: &Header,
) -> Zeroizing<Gt> {
    let inverse = Zeroizing::new(cx.g1_inverse(combined));
    Zeroizing::new(cx.pairings(&[(base, &header.c1), (&inverse, &header.c0)]))
}

pub(super) fn message_key(cx: &mut Context<'_>, epoch: Epoch, shared: &Gt) -> Key {
    let context = context(cx, epoch);
    cx.derive_from_gt(shared, "groupkey boneh message", &context)
}
