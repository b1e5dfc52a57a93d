//! Keys for other protocols, as an operator names them: `LABEL:LENGTH`, or `LABEL:LENGTH:CONTEXT`.

use groupkey::exporter::LONGEST_EXPORT;
use groupkey_mqtt::keyring::from_hex;

/// A key that is wanted whenever the group has a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyExport {
    /// The purpose.
    pub(crate) label: String,
    /// How many bytes.
    pub(crate) length: usize,
    /// What tells uses of one label apart.
    pub(crate) context: Vec<u8>,
}

impl KeyExport {
    /// Reads the three parts. The context is in hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let label = parts.next().filter(|label| !label.is_empty()).ok_or("give a label first")?;
        let length = parts.next().and_then(|length| length.parse().ok());
        let length = length.filter(|length| (1..=LONGEST_EXPORT).contains(length));
        let length = length.ok_or("give a length of 1 to 8160 after the label, as in srtp:30")?;
        let context = from_hex(parts.next().unwrap_or_default());
        let context = context.ok_or("the context is in hexadecimal digits, as in srtp:30:0a0b")?;
        Ok(Self { label: label.to_owned(), length, context })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_has_a_label_a_length_and_perhaps_a_context() {
        let export = |label: &str, length, context: &[u8]| {
            Ok(KeyExport { label: label.to_owned(), length, context: context.to_vec() })
        };
        assert_eq!(KeyExport::parse("srtp:30"), export("srtp", 30, b""));
        assert_eq!(KeyExport::parse("a b:8160:0aFF"), export("a b", 8160, &[0x0a, 0xff]));
        for wrong in
            ["", ":30", "srtp", "srtp:", "srtp:0", "srtp:8161", "srtp:x", "srtp:1:0", "srtp:1:+1"]
        {
            assert!(KeyExport::parse(wrong).is_err(), "{wrong}");
        }
    }
}
