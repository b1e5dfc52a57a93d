//! CBOR with exactly one encoding for each value.
//!
//! What is encoded may be a key. So no buffer grows while it is written, and no copy is made for a
//! comparison: nobody could wipe what that leaves behind.

use alloc::vec::Vec;

use minicbor::encode::Write;
use minicbor::{Decode, Encode};

/// Encodes a value in its shortest form. Encoding into memory does not fail.
pub(crate) fn encoded<T: Encode<()>>(value: &T) -> Vec<u8> {
    let mut length = Length(0);
    let _ = minicbor::encode(value, &mut length);
    let mut bytes = Vec::with_capacity(length.0);
    let _ = minicbor::encode(value, &mut bytes);
    bytes
}

/// Decodes a value from all of `bytes`. Returns `None` if a byte is left over or the encoding is
/// not the shortest.
pub(crate) fn decoded<T: for<'b> Decode<'b, ()> + Encode<()>>(bytes: &[u8]) -> Option<T> {
    let value: T = minicbor::decode(bytes).ok()?;
    let mut same = Same { rest: bytes };
    (minicbor::encode(&value, &mut same).is_ok() && same.rest.is_empty()).then_some(value)
}

/// Counts the bytes that are written.
struct Length(usize);

/// Takes exactly the bytes `rest`.
struct Same<'a> {
    rest: &'a [u8],
}

/// The bytes are other ones.
struct Other;

impl Write for Length {
    type Error = Other;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Other> {
        self.0 += bytes.len();
        Ok(())
    }
}

impl Write for Same<'_> {
    type Error = Other;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Other> {
        self.rest = self.rest.strip_prefix(bytes).ok_or(Other)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_without_growth_and_has_one_encoding() {
        let value = (vec![7_u32; 100], "some text".to_owned());
        let bytes = encoded(&value);
        assert_eq!((bytes.len(), &bytes), (bytes.capacity(), &minicbor::to_vec(&value).unwrap()));
        assert_eq!(decoded(&bytes), Some(value));
        assert_eq!(decoded(&[0x07]), Some(7_u32));
        assert_eq!(decoded::<u32>(&[0x18, 0x07]), None, "longer than necessary");
        assert_eq!(decoded::<u32>(&[0x07, 0x07]), None, "a byte is left over");
    }
}
