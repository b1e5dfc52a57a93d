//! Which identity has which number.
//!
//! A group message names its sender by a number, and each founding of the group gives numbers anew.
//! Rules name identities. So a bridge signs, under its identity, that in this founding the number is its own.
//! Whoever sends under another number gains nothing by repeating that.

use alloc::collections::BTreeMap;

use super::bridge_message::Introduction;
use crate::keyring::{Secret, verifies};

/// The identities of a group's members, as far as they introduced themselves.
#[derive(Clone, Debug, Default)]
pub struct Introductions {
    context: [u8; 32],
    identities: BTreeMap<u32, [u8; 32]>,
}

/// Signs that this identity has this number in the founding with this context.
pub fn introduce(identity: &Secret, context: &[u8; 32], member: u32, asks: bool) -> Introduction {
    let signature = identity.sign(PURPOSE, &[context, &member.to_be_bytes()]);
    Introduction { identity: identity.public().into(), signature: signature.into(), asks }
}

impl Introductions {
    /// Begins with the founding of this context. Forgets those of another.
    pub fn begin(&mut self, context: [u8; 32]) {
        if self.context != context {
            *self = Self { context, identities: BTreeMap::new() };
        }
    }

    /// Takes what the member with this number said. Returns whether it is true.
    pub fn learn(&mut self, member: u32, said: &Introduction) -> bool {
        let known = self.identities.get(&member);
        if known.is_some_and(|known| *known == *said.identity) {
            return true;
        }
        let statement: [&[u8]; 2] = [&self.context, &member.to_be_bytes()];
        let is_true = verifies(&said.identity, PURPOSE, &statement, &said.signature);
        if is_true && (known.is_some() || self.identities.len() < MOST) {
            self.identities.insert(member, *said.identity);
        }
        is_true
    }

    /// Returns the identity with this number, if it is known.
    pub fn of(&self, member: u32) -> Option<&[u8; 32]> {
        self.identities.get(&member)
    }

    /// Returns whether this identity has introduced itself.
    pub fn has(&self, identity: &[u8; 32]) -> bool {
        self.identities.values().any(|known| known == identity)
    }
}

const PURPOSE: &str = "groupkey bridge 1";

/// The maximum number of identities to remember.
const MOST: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_that_of_who_signed_for_it_in_this_founding() {
        let identity = Secret::from_bytes([5; 32]);
        let mut known = Introductions::default();
        known.begin([1; 32]);
        let said = introduce(&identity, &[1; 32], 7, false);
        assert!(!known.learn(8, &said), "it is said by another number");
        let other = Introduction { identity: Secret::from_bytes([6; 32]).public().into(), ..said };
        assert!(!known.learn(7, &other), "another identity's name under the same signature");
        assert_eq!(known.of(7), None);
        assert!(known.learn(7, &said) && known.learn(7, &said));
        assert_eq!(known.of(7), Some(&identity.public()));
        known.begin([1; 32]);
        assert!(known.has(&identity.public()));
        known.begin([2; 32]);
        assert!(known.of(7).is_none() && !known.learn(7, &said), "another founding");
    }
}
