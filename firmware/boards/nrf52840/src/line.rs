//! Frames over a serial line: COBS, which ends a frame with a zero byte. After an error the line is in
//! step again with the next frame.
//!
//! A frame is a byte that says what it is, and the content.

use alloc::vec::Vec;

use embedded_io_async::{Read, Write};

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To the device: what it needs to begin ([`Settings`](crate::member::Settings)).
    Settings = 0,
    /// To the device: a message of the deployment phase. The line must be a cable.
    Confidential = 1,
    /// Both ways: a message of the group. From the device: to all members.
    Group = 2,
    /// From the device: a message to the controller.
    Controller = 3,
    /// To the device: content to encrypt to the group. From the device: a member's content.
    Content = 4,
    /// From the device: the epoch whose key it has (8 bytes, little-endian).
    Epoch = 5,
    /// From the device: why it refused a frame, in words.
    Refused = 6,
}

/// Frames that come in.
pub struct Frames {
    encoded: Vec<u8>,
    /// Whether the frame is longer than any that counts.
    is_too_long: bool,
}

impl Frames {
    /// Begins with the next frame.
    pub const fn new() -> Self {
        Self { encoded: Vec::new(), is_too_long: false }
    }

    /// Waits for the next frame that is one. Returns what it is, and its content.
    pub async fn next<R: Read>(&mut self, line: &mut R) -> Result<(Kind, Vec<u8>), R::Error> {
        loop {
            let mut byte = [0];
            if line.read(&mut byte).await? == 0 {
                continue;
            }
            if byte[0] != 0 {
                self.is_too_long |= self.encoded.len() == LONGEST;
                if !self.is_too_long {
                    self.encoded.push(byte[0]);
                }
                continue;
            }
            let mut frame = core::mem::take(&mut self.encoded);
            let is_whole = !core::mem::take(&mut self.is_too_long);
            let length = cobs::decode_in_place(&mut frame).ok().filter(|_| is_whole);
            if let Some(length) = length
                && let Some((&first, content)) = frame[..length].split_first()
                && let Some(kind) = Kind::from_byte(first)
            {
                return Ok((kind, content.to_vec()));
            }
        }
    }
}

/// Sends a frame.
pub async fn send<W: Write>(line: &mut W, kind: Kind, content: &[u8]) -> Result<(), W::Error> {
    let mut plain = Vec::with_capacity(1 + content.len());
    plain.push(kind as u8);
    plain.extend_from_slice(content);
    let mut encoded = alloc::vec![0; cobs::max_encoding_length(plain.len()) + 1];
    let length = cobs::encode(&plain, &mut encoded);
    // The byte behind the code is the zero that ends it.
    line.write_all(&encoded[..=length]).await?;
    line.flush().await
}

impl Kind {
    const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Settings,
            1 => Self::Confidential,
            2 => Self::Group,
            3 => Self::Controller,
            4 => Self::Content,
            5 => Self::Epoch,
            6 => Self::Refused,
            _ => return None,
        })
    }
}

/// The maximum length of a frame on the line, in bytes.
const LONGEST: usize = 4_096;
