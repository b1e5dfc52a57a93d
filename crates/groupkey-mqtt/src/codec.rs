//! CBOR with exactly one encoding for each value.

use minicbor::{Decode, Encode};

/// Encodes a value in its shortest form. Encoding into memory does not fail.
pub(crate) fn encoded<T: Encode<()>>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).unwrap_or_default()
}

/// Decodes a value from all of `bytes`. Returns `None` if a byte is left over or the encoding is
/// not the shortest.
pub(crate) fn decoded<T: for<'b> Decode<'b, ()> + Encode<()>>(bytes: &[u8]) -> Option<T> {
    let value: T = minicbor::decode(bytes).ok()?;
    (encoded(&value) == bytes).then_some(value)
}
