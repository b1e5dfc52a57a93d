//! Short values: as many bits of a key as a message has room for, and no more.

use crate::context::state::Context;
use crate::context::tracer::Rule;
use crate::secret::Key;

impl Context<'_> {
    /// Returns a key's first bits, at most 128; all others are zero. Only secrets that papers made
    /// this short are this short.
    pub(crate) fn shorten(&mut self, key: &Key, bits: u32) -> Key {
        let mut short = key.clone();
        for (first, byte) in (0..).step_by(8).zip(short.as_bytes_mut()) {
            *byte &= !(0xff_u32 >> bits.saturating_sub(first).min(8)) as u8;
        }
        if short != *key {
            self.trace(Rule::OneWay, &[key], &[&short]);
        }
        short
    }

    /// Masks a value that is sent in the open, in as few bytes as it takes.
    pub(crate) fn xor_in_public(&mut self, value: &Key, mask: &Key) -> Key {
        let masked = self.xor(value, mask);
        self.trace(Rule::Public, &[], &[&masked]);
        masked
    }
}
