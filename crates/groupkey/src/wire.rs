//! The wire format: a CBOR sequence (RFC 8742) of a header, the scheme's body, and a tag.
//!
//! ```text
//! [version, group, epoch, operation, kind, sender, to]  body items ...  tag (bstr, if protected)
//! ```
//!
//! In messages of a member that catches up, a nonce is the header's last item
//! ([`crate::catching_up`]).
//!
//! `docs/wire.cddl` describes the format in CDDL (RFC 8610). The reader accepts only the shortest
//! encoding of a number and no left-over bytes, so that one message has one encoding.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use minicbor::data::Type;
use minicbor::{Decoder, Encoder};

use crate::catching_up::Nonce;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, GroupId, MemberId, PartyId};
use crate::operation::Operation;
use crate::outbox::{Recipient, SubsetId};
use crate::secret::Key;

/// The version of the wire format.
pub const VERSION: u8 = 1;

/// The sender, the recipient and the operation of a message, with its group and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The group.
    pub group: GroupId,
    /// The epoch that the message leads to (for `Enroll`: the current one).
    pub epoch: Epoch,
    /// The operation that the message is part of.
    pub operation: Operation,
    /// The scheme's own number for this kind of message.
    pub kind: u8,
    /// The party that made the message.
    pub sender: PartyId,
    /// The recipient of the message.
    pub to: Recipient,
    /// The nonce of the request to catch up that the message is or answers. Messages of
    /// [`Operation::CatchUp`] have one, and no others.
    pub nonce: Option<Nonce>,
}

/// A message whose encoding, group, addressee and protection were checked.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    header: Header,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    pub(crate) const fn new(header: Header, body: &'a [u8]) -> Self {
        Self { header, body }
    }

    /// Returns the header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the scheme's own part as it is on the wire, for later use.
    pub const fn content(&self) -> &'a [u8] {
        self.body
    }

    /// Returns the scheme's own part, not yet parsed.
    pub fn body(&self) -> Reader<'a> {
        Reader::new(self.body)
    }

    /// Refuses the message unless it comes from this party.
    pub fn require_sender(&self, party: PartyId) -> Result<(), Error> {
        if self.header.sender == party {
            Ok(())
        } else {
            Err(Misbehaviour::UnexpectedSender.into())
        }
    }

    /// Refuses the message unless it comes from the controller.
    pub fn from_controller(&self) -> Result<(), Error> {
        self.require_sender(PartyId::Controller)
    }

    /// Returns the member that sent the message. Refuses a message from any other party.
    pub fn from_member(&self) -> Result<MemberId, Error> {
        match self.header.sender {
            PartyId::Member(member) => Ok(member),
            PartyId::Controller | PartyId::SubgroupController(_) => {
                Err(Misbehaviour::UnexpectedSender.into())
            }
        }
    }

    /// Refuses the message unless it leads from epoch `current` to the next.
    pub fn require_next_epoch(&self, current: Epoch) -> Result<(), Error> {
        let got = self.header.epoch;
        if got <= current {
            Err(Misbehaviour::StaleEpoch { got, current }.into())
        } else if got > current.next() {
            Err(Misbehaviour::SkippedEpoch { got, current }.into())
        } else {
            Ok(())
        }
    }

    /// Refuses the message unless it is of epoch `current`.
    pub(crate) fn require_epoch(&self, current: Epoch) -> Result<(), Error> {
        let got = self.header.epoch;
        match got.cmp(&current) {
            Ordering::Less => Err(Misbehaviour::StaleEpoch { got, current }.into()),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(Misbehaviour::SkippedEpoch { got, current }.into()),
        }
    }

    /// Refuses the message unless it leads to an epoch after `current`. It may skip epochs.
    pub fn require_later_epoch(&self, current: Epoch) -> Result<(), Error> {
        let got = self.header.epoch;
        if got <= current {
            return Err(Misbehaviour::StaleEpoch { got, current }.into());
        }
        Ok(())
    }
}

/// Prints the body's length only: a body may hold keys.
impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, body } = self;
        f.debug_struct("Message").field("header", header).field("bytes", &body.len()).finish()
    }
}

/// Reads the items of a body, strictly.
#[derive(Clone)]
pub struct Reader<'a> {
    decoder: Decoder<'a>,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("position", &self.decoder.position()).finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// Creates a reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { decoder: Decoder::new(bytes) }
    }

    /// Reads an unsigned number.
    pub fn number(&mut self) -> Result<u64, Error> {
        let start = self.decoder.position();
        let value = self.decoder.u64().map_err(malformed)?;
        self.require_length(start, head_length(value))?;
        Ok(value)
    }

    /// Reads an unsigned number of at most 32 bits.
    pub fn number32(&mut self) -> Result<u32, Error> {
        u32::try_from(self.number()?).map_err(|_| Misbehaviour::Malformed.into())
    }

    /// Reads a byte string.
    pub fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let start = self.decoder.position();
        let bytes = self.decoder.bytes().map_err(malformed)?;
        self.require_length(start, head_length(bytes.len() as u64) + bytes.len())?;
        Ok(bytes)
    }

    /// Reads a byte string as long as a key: a key, a nonce or a tag.
    pub fn key(&mut self) -> Result<Key, Error> {
        let bytes = self.bytes()?.try_into().map_err(|_| Misbehaviour::Malformed)?;
        Ok(Key::from_bytes(bytes))
    }

    /// Reads the head of an array and returns its length. The caller reads that many items.
    pub fn array(&mut self) -> Result<u64, Error> {
        let start = self.decoder.position();
        let length = self.decoder.array().map_err(malformed)?.ok_or(Misbehaviour::Malformed)?;
        self.require_length(start, head_length(length))?;
        Ok(length)
    }

    /// Refuses bytes that are left over.
    pub fn finish(self) -> Result<(), Error> {
        if self.decoder.position() == self.decoder.input().len() {
            Ok(())
        } else {
            Err(Misbehaviour::Malformed.into())
        }
    }

    /// Returns the number of bytes that were not read yet.
    pub fn remaining(&self) -> usize {
        self.rest().len()
    }

    fn nonce(&mut self) -> Result<Nonce, Error> {
        self.bytes()?.try_into().map(Nonce).map_err(|_| Misbehaviour::Malformed.into())
    }

    fn rest(&self) -> &'a [u8] {
        &self.decoder.input()[self.decoder.position()..]
    }

    fn require_length(&self, start: usize, length: usize) -> Result<(), Error> {
        if self.decoder.position() - start == length {
            Ok(())
        } else {
            Err(Misbehaviour::Malformed.into())
        }
    }

    fn recipient(&mut self) -> Result<Recipient, Error> {
        match self.decoder.datatype().map_err(malformed)? {
            Type::Null => {
                self.decoder.null().map_err(malformed)?;
                Ok(Recipient::Group)
            }
            Type::Array => {
                if self.array()? != 1 {
                    return Err(Misbehaviour::Malformed.into());
                }
                Ok(Recipient::Subset(SubsetId(self.number32()?)))
            }
            _ => Ok(self.party()?.into()),
        }
    }

    /// Reads the number of a party.
    pub fn party(&mut self) -> Result<PartyId, Error> {
        let start = self.decoder.position();
        let number = self.decoder.i64().map_err(malformed)?;
        let magnitude = if number < 0 { -1 - number } else { number };
        self.require_length(start, head_length(magnitude as u64))?;
        PartyId::from_number(number).ok_or_else(|| Misbehaviour::Malformed.into())
    }
}

/// Appends the items of a message to a buffer.
#[derive(Debug)]
pub struct Writer<'a>(Encoder<&'a mut Vec<u8>>);

impl<'a> Writer<'a> {
    /// Creates a writer that appends to this buffer.
    pub fn new(buffer: &'a mut Vec<u8>) -> Self {
        Self(Encoder::new(buffer))
    }

    /// Appends the header of a message.
    pub fn header(&mut self, header: &Header) {
        self.array(if header.nonce.is_some() { 8 } else { 7 });
        self.number(u64::from(VERSION));
        self.number(header.group.0);
        self.number(header.epoch.0);
        self.number(header.operation as u64);
        self.number(u64::from(header.kind));
        self.party(header.sender);
        match header.to {
            Recipient::Controller => self.party(PartyId::Controller),
            Recipient::Group => infallible(self.0.null()),
            Recipient::Member(member) => self.party(member.into()),
            Recipient::SubgroupController(subgroup) => self.party(subgroup.into()),
            Recipient::Subset(SubsetId(subset)) => {
                self.array(1);
                self.number(u64::from(subset));
            }
        }
        if let Some(Nonce(nonce)) = &header.nonce {
            self.bytes(nonce);
        }
    }

    /// Appends an unsigned number.
    pub fn number(&mut self, value: u64) {
        infallible(self.0.u64(value));
    }

    /// Appends the head of an array; this many items must follow.
    pub fn array(&mut self, length: u64) {
        infallible(self.0.array(length));
    }

    /// Writes the head of a byte string. The caller appends the content.
    pub(crate) fn bytes_head(&mut self, length: usize) {
        infallible(self.0.bytes_len(length as u64));
    }

    /// Appends a byte string.
    pub fn bytes(&mut self, bytes: &[u8]) {
        infallible(self.0.bytes(bytes));
    }

    /// Appends the number of a party.
    pub fn party(&mut self, party: PartyId) {
        infallible(self.0.i64(party.number()));
    }
}

/// Splits a header from the bytes that follow it.
pub fn parse_header(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let items = reader.array()?;
    if !matches!(items, 7 | 8) || reader.number()? != u64::from(VERSION) {
        return Err(Misbehaviour::Malformed.into());
    }
    let group = GroupId(reader.number()?);
    let epoch = Epoch(reader.number()?);
    let operation = u8::try_from(reader.number()?).ok().and_then(Operation::from_code);
    let kind = u8::try_from(reader.number()?);
    let sender = reader.party()?;
    let to = reader.recipient()?;
    let nonce = if items == 8 { Some(reader.nonce()?) } else { None };
    let (Some(operation), Ok(kind)) = (operation, kind) else {
        return Err(Misbehaviour::Malformed.into());
    };
    if nonce.is_some() != (operation == Operation::CatchUp) {
        return Err(Misbehaviour::Malformed.into());
    }
    Ok((Header { group, epoch, operation, kind, sender, to, nonce }, reader.rest()))
}

/// Returns how many bytes CBOR takes for a number, or for the head of a string or array of that
/// length.
pub(crate) const fn head_length(value: u64) -> usize {
    match value {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}

/// Writes the head of a byte string of this length to as many bytes as it takes.
pub(crate) fn write_bytes_head(length: usize, head: &mut [u8]) {
    let written = Encoder::new(head).bytes_len(length as u64).map(|_| ());
    debug_assert!(written.is_ok());
}

fn malformed(_: minicbor::decode::Error) -> Error {
    Misbehaviour::Malformed.into()
}

pub(crate) fn infallible<T>(result: Result<T, minicbor::encode::Error<core::convert::Infallible>>) {
    // Appending to a vector cannot fail, and the encoder cannot fail in any other way.
    debug_assert!(result.is_ok());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::identity::SubgroupId;

    fn any_header() -> impl Strategy<Value = Header> {
        let party = prop_oneof![
            Just(PartyId::Controller),
            any::<u32>().prop_map(|id| PartyId::Member(MemberId(id))),
            any::<u32>().prop_map(|id| PartyId::SubgroupController(SubgroupId(id))),
        ];
        let to = prop_oneof![
            Just(Recipient::Controller),
            Just(Recipient::Group),
            any::<u32>().prop_map(|id| Recipient::Member(MemberId(id))),
            any::<u32>().prop_map(|id| Recipient::SubgroupController(SubgroupId(id))),
            any::<u32>().prop_map(|id| Recipient::Subset(SubsetId(id))),
        ];
        let operation = prop::sample::select(&Operation::ALL[..]);
        (any::<u64>(), any::<u64>(), operation, any::<u8>(), party, to, any::<[u8; 8]>()).prop_map(
            |(group, epoch, operation, kind, sender, to, nonce)| {
                let nonce = (operation == Operation::CatchUp).then_some(Nonce(nonce));
                let (group, epoch) = (GroupId(group), Epoch(epoch));
                Header { group, epoch, operation, kind, sender, to, nonce }
            },
        )
    }

    proptest! {
        #[test]
        fn header_survives_the_wire(header in any_header(), rest in any::<Vec<u8>>()) {
            let mut bytes = Vec::new();
            Writer::new(&mut bytes).header(&header);
            bytes.extend_from_slice(&rest);
            prop_assert_eq!(parse_header(&bytes), Ok((header, &rest[..])));
        }

        #[test]
        fn accepted_bytes_are_the_only_encoding(bytes in any::<Vec<u8>>()) {
            if let Ok((header, rest)) = parse_header(&bytes) {
                let mut again = Vec::new();
                Writer::new(&mut again).header(&header);
                again.extend_from_slice(rest);
                prop_assert_eq!(again, bytes);
            }
        }
    }

    #[test]
    fn longer_encodings_of_a_number_are_refused() {
        for bytes in [&[0x18, 0x01][..], &[0x19, 0x00, 0x01], &[0x1b, 0, 0, 0, 0, 0, 0, 0, 1]] {
            assert_eq!(Reader::new(bytes).number(), Err(Misbehaviour::Malformed.into()));
        }
        assert_eq!(Reader::new(&[0x58, 0x01, 0xff]).bytes(), Err(Misbehaviour::Malformed.into()));
        assert_eq!(Reader::new(&[0x98, 0x01, 0x00]).array(), Err(Misbehaviour::Malformed.into()));
    }

    #[test]
    fn a_nonce_stands_where_somebody_catches_up_and_nowhere_else() {
        let header = |operation, nonce| Header {
            group: GroupId(1),
            epoch: Epoch(2),
            operation,
            kind: 3,
            sender: PartyId::Controller,
            to: Recipient::Group,
            nonce,
        };
        for (operation, nonce) in
            [(Operation::CatchUp, None), (Operation::Add, Some(Nonce([7; 8])))]
        {
            let mut bytes = Vec::new();
            Writer::new(&mut bytes).header(&header(operation, nonce));
            assert_eq!(parse_header(&bytes), Err(Misbehaviour::Malformed.into()));
        }
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).header(&header(Operation::CatchUp, Some(Nonce([7; 8]))));
        // The nonce is one byte shorter, and so is the length in its head.
        let (last, head) = (bytes.len() - 1, bytes.len() - 9);
        bytes[head] -= 1;
        assert_eq!(parse_header(&bytes[..last]), Err(Misbehaviour::Malformed.into()));
    }

    #[test]
    fn left_over_bytes_are_refused() {
        let mut reader = Reader::new(&[1, 2]);
        assert_eq!(reader.number(), Ok(1));
        assert_eq!(reader.finish(), Err(Misbehaviour::Malformed.into()));
    }
}
