//! Keys for other protocols: an exporter under a label, as TLS (RFC 5705) and MLS (RFC 9420 section
//! 8.5) have one.
//!
//! The group key itself belongs to the scheme and to [`messages`](crate::messages). SRTP, a radio or
//! a Group OSCORE context ([`oscore`]) take a key from here. Whoever learns such a key learns nothing of the
//! group key, nor of what has another label, context, length or epoch.
//!
//! HKDF-SHA-256; salt: the group's context (32 bytes); input: the group key; info: `groupkey
//! export`, a zero byte, the epoch (8 bytes), the length of the output (2), the length of the label
//! (2), the label, and the caller's context. In the suite `constrained`, Ascon-Hash256 takes HKDF's
//! place.

pub mod oscore;

use crate::context::Setting;
use crate::crypto::derive;
use crate::error::{Error, Misuse};
use crate::identity::Epoch;
use crate::secret::Key;

/// The longest output, in bytes: HKDF's limit.
pub const LONGEST_EXPORT: usize = 255 * 32;

impl Setting {
    /// Fills `output` with bytes that follow from the group key of an epoch, for the purpose that
    /// `label` states. `context` tells uses of one label apart. All members of the epoch get the same.
    ///
    /// # Errors
    ///
    /// [`Misuse::MessageTooLong`] if the output is longer than [`LONGEST_EXPORT`], or the label than
    /// 65,535 bytes.
    pub fn export(
        &self,
        (epoch, key): (Epoch, &Key),
        label: &str,
        context: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        let limit = LONGEST_EXPORT;
        let too_long = |_| Misuse::MessageTooLong { limit };
        if output.len() > limit {
            return Err(too_long(()).into());
        }
        let length = (output.len() as u16).to_be_bytes();
        let label_length = u16::try_from(label.len()).map_err(|_| too_long(()))?.to_be_bytes();
        let epoch = epoch.0.to_be_bytes();
        let info = [&epoch[..], &length, &label_length, label.as_bytes(), context];
        derive::export(self.suite, &self.context, key, &info, output);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec;

    use super::*;
    use crate::crypto::{GroupContext, Suite};
    use crate::identity::GroupId;

    fn exported(setting: &Setting, epoch: u64, key: u8, label: &str, context: &[u8]) -> [u8; 16] {
        let mut output = [0; 16];
        let key = Key::from_bytes([key; 16]);
        setting.export((Epoch(epoch), &key), label, context, &mut output).unwrap();
        output
    }

    #[test]
    fn everything_that_is_named_makes_another_key() {
        for suite in [Suite::Standard, Suite::Constrained] {
            let of = |context| Setting {
                context: GroupContext::of(&[context]),
                ..Setting::new(GroupId(1), suite)
            };
            let setting = of(&b"a"[..]);
            let outputs = [
                exported(&setting, 1, 1, "srtp", b""),
                exported(&setting, 2, 1, "srtp", b""),
                exported(&setting, 1, 2, "srtp", b""),
                exported(&setting, 1, 1, "srt", b"p"),
                exported(&setting, 1, 1, "srtp", b"p"),
                exported(&setting, 1, 1, "", b"srtp"),
                exported(&of(b"b"), 1, 1, "srtp", b""),
            ];
            assert_eq!(outputs.iter().collect::<BTreeSet<_>>().len(), outputs.len());
            let mut longer = [0; 32];
            let key = Key::from_bytes([1; 16]);
            setting.export((Epoch(1), &key), "srtp", b"", &mut longer).unwrap();
            assert_ne!(longer[..16], outputs[0], "a longer key does not begin with a shorter one");
            let mut all = vec![0; LONGEST_EXPORT + 1];
            setting.export((Epoch(1), &key), "x", b"", &mut all[1..]).unwrap();
            assert!(all[1..].windows(16).all(|part| part != [0; 16]));
            let refused = setting.export((Epoch(1), &key), "x", b"", &mut all);
            assert_eq!(refused, Err(Misuse::MessageTooLong { limit: LONGEST_EXPORT }.into()));
        }
    }
}
