//! Signatures and public keys as bytes: as many as Ed25519 has, or those of a hybrid.

/// The bytes of a signature: 64 of Ed25519 (RFC 8032), or 3,373 in suite `pq`.
pub type SignatureBytes = EncodedBytes<64>;

/// The bytes of a public key: 32 of Ed25519 (RFC 8032), or 1,984 in suite `pq`.
pub type IdentityBytes = EncodedBytes<32>;

/// As many bytes as Ed25519 has of something, or more, which lie elsewhere. A build without suite `pq`
/// has room for the former alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedBytes<const N: usize>(Kind<N>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind<const N: usize> {
    // A build without signatures makes none.
    #[cfg_attr(not(feature = "signatures"), allow(dead_code))]
    Ed25519([u8; N]),
    #[cfg(feature = "suite-pq")]
    Hybrid(alloc::boxed::Box<[u8]>),
}

impl<const N: usize> EncodedBytes<N> {
    #[cfg(feature = "signatures")]
    pub(super) const fn ed25519(bytes: [u8; N]) -> Self {
        Self(Kind::Ed25519(bytes))
    }

    #[cfg(all(feature = "signatures", feature = "suite-pq"))]
    pub(super) fn hybrid(parts: [&[u8]; 2]) -> Self {
        Self(Kind::Hybrid(parts.concat().into()))
    }
}

impl<const N: usize> AsRef<[u8]> for EncodedBytes<N> {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Kind::Ed25519(bytes) => bytes,
            #[cfg(feature = "suite-pq")]
            Kind::Hybrid(bytes) => bytes,
        }
    }
}
