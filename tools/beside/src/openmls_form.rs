//! How openmls is measured: cipher suite 1, handshakes in clear, and messages as bytes.

use openmls::prelude::*;
use tls_codec::{Deserialize as _, Serialize as _};

pub(crate) const SUITE: Ciphersuite = Ciphersuite::MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519;

pub(crate) fn settings() -> MlsGroupCreateConfig {
    MlsGroupCreateConfig::builder()
        .wire_format_policy(MIXED_PLAINTEXT_WIRE_FORMAT_POLICY)
        .ciphersuite(SUITE)
        .use_ratchet_tree_extension(true)
        .build()
}

pub(crate) fn decoded(bytes: &[u8]) -> MlsMessageIn {
    MlsMessageIn::tls_deserialize_exact(bytes).expect("it was encoded")
}

pub(crate) fn encoded(message: &MlsMessageOut) -> Vec<u8> {
    message.tls_serialize_detached().expect("it can be encoded")
}
