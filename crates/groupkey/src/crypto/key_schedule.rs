//! The key schedule of MLS (RFC 9420 section 8), without pre-shared keys. Secrets may have any
//! length: those of MLS have 32 bytes, ours 16, as every key here. The tests have the vectors of
//! the former.

use alloc::vec::Vec;

use crate::crypto::labelled::{append_vector, expand_with_label, extract};
use crate::crypto::suite::Hashing;

/// What the members of an epoch agree on: `GroupContext` of RFC 9420 section 8.1, without
/// extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochContext<'c> {
    pub(crate) cipher_suite: u16,
    pub(crate) group: &'c [u8],
    pub(crate) epoch: u64,
    /// The hash of the tree after the change.
    pub(crate) tree_hash: &'c [u8],
    /// The hash of all changes up to this one (`confirmed_transcript_hash`).
    pub(crate) transcript: &'c [u8],
}

impl EpochContext<'_> {
    /// Returns the encoding.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        const VERSION: u16 = 1;
        let mut bytes = Vec::with_capacity(
            16 + self.group.len() + self.tree_hash.len() + self.transcript.len(),
        );
        bytes.extend_from_slice(&VERSION.to_be_bytes());
        bytes.extend_from_slice(&self.cipher_suite.to_be_bytes());
        append_vector(self.group, &mut bytes);
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        append_vector(self.tree_hash, &mut bytes);
        append_vector(self.transcript, &mut bytes);
        append_vector(&[], &mut bytes);
        bytes
    }
}

/// Computes the secret that a joining member is sent. Without a path the secret of the commit is
/// zeros.
pub(crate) fn joiner_secret(
    hashing: Hashing,
    init_secret: &[u8],
    commit_secret: &[u8],
    context: &[u8],
    joiner_secret: &mut [u8],
) {
    let key = extract(hashing, init_secret, &[commit_secret]);
    expand_with_label(hashing, &key[..], "joiner", context, joiner_secret);
}

/// Computes the secret of the epoch, without a pre-shared key: zeros, as long as a secret.
pub(crate) fn epoch_secret(
    hashing: Hashing,
    joiner_secret: &[u8],
    context: &[u8],
    epoch_secret: &mut [u8],
) {
    const ZEROS: [u8; 64] = [0; 64];
    let key = extract(hashing, joiner_secret, &[&ZEROS[..joiner_secret.len()]]);
    expand_with_label(hashing, &key[..], "epoch", context, epoch_secret);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|digits| (digits[0] << 4 | digits[1]) as u8).collect()
    }

    /// The working group's vectors `key-schedule.json`: cipher suite 1, the epoch without a
    /// pre-shared key.
    #[test]
    fn secrets_are_those_of_mls() {
        let context = EpochContext {
            cipher_suite: 1,
            group: &bytes("EE415C0B5ADDA6D9D81706CFFB733A35"),
            epoch: 1,
            tree_hash: &bytes("B72B8173D7F60CFB69195464B9F9B5BDC4244181DC51D582B0B2A458F084D6C6"),
            transcript: &bytes("E97ADF65A223F3E76145F3D1DBFBD55E0E30CD3915607B031209301D5ABD2BD7"),
        }
        .to_bytes();
        let expected = bytes(
            "0001000110EE415C0B5ADDA6D9D81706CFFB733A35000000000000000120B72B8173D7F60CFB69195464\
             B9F9B5BDC4244181DC51D582B0B2A458F084D6C620E97ADF65A223F3E76145F3D1DBFBD55E0E30CD3915\
             607B031209301D5ABD2BD700",
        );
        assert_eq!(context, expected);
        let init = bytes("6C890AF57D11B034C5D8CEB941EF417FC3F09B57B3003EA22710B7267E8094A4");
        let commit = bytes("5CA64CB28F8D9208518193BDC99B908197058A4B12614936EC341FC9ADBD899F");
        let (mut joiner, mut epoch) = ([0; 32], [0; 32]);
        joiner_secret(Hashing::Sha2, &init, &commit, &context, &mut joiner);
        let expected = "4DFB888923C0AEC9C0D4B43F4A7054A4CB55CC16E39CC57E91966FE034F1993B";
        assert_eq!(joiner[..], bytes(expected));
        epoch_secret(Hashing::Sha2, &joiner, &context, &mut epoch);
        for (label, expected) in [
            ("init", "004F4AF4016D23A050AB3A0C95FB55B5FCF905419F12C77F4FE0D7CAED373DB4"),
            ("exporter", "F1E607BCBC29BEF7F83ADFDE729789FD13434D467D932C05FF70B785356D5EA5"),
            ("external", "51910260B3C0FCD26D6D09931A0CA28A98EFCDD4E01F63226388304FEFFE0BE9"),
            ("confirm", "35598F090C4E9F21072E0A486D3DF302000FFB553745A3F9A9BAD64C11512826"),
        ] {
            let mut output = [0; 32];
            // `DeriveSecret`.
            expand_with_label(Hashing::Sha2, &epoch, label, &[], &mut output);
            assert_eq!(output[..], bytes(expected), "{label}");
        }
    }
}
