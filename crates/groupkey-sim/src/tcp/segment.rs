//! Segments on the wire.

use crate::time::EventKey;

/// IPv4 header, TCP header and the timestamp option with its padding.
const HEADER_BYTES: u32 = 20 + 20 + 12;

/// A TCP segment on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    pub(crate) length: u32,
    pub(crate) acknowledgement: u64,
    /// The sender's clock, ms (RFC 7323).
    pub(crate) timestamp: u64,
    /// The timestamp that this segment acknowledges, ms.
    pub(crate) echo: u64,
    pub(crate) selective: SelectiveAcknowledgement,
    pub(crate) retransmission: bool,
    /// When the segment arrives. The network sets this; it is kept here so that a segment lies
    /// in one piece.
    pub(crate) due: EventKey,
}

impl Segment {
    pub(crate) const fn end(&self) -> u64 {
        self.sequence + self.length as u64
    }

    /// Returns the bytes of the IP packet.
    pub(crate) const fn wire_bytes(&self) -> u32 {
        let option = match self.selective.count {
            0 => 0,
            blocks => 4 + 8 * blocks as u32,
        };
        HEADER_BYTES + option + self.length
    }
}

/// A stretch of the stream, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The SACK option (RFC 2018); with timestamps it has room for three blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectiveAcknowledgement {
    pub(super) blocks: [Range; 3],
    pub(super) count: u8,
    /// Whether the first block reports a duplicate (RFC 2883).
    pub(super) duplicate: bool,
}

impl SelectiveAcknowledgement {
    pub(super) fn push(&mut self, range: Range) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = range;
            self.count += 1;
        }
    }

    /// Returns the bytes that were reported to have arrived twice.
    pub(super) fn duplicate(&self) -> Option<Range> {
        self.duplicate.then(|| self.blocks[0])
    }

    /// Returns the blocks held beyond a gap.
    pub(super) fn held(&self) -> &[Range] {
        &self.blocks[usize::from(self.duplicate)..usize::from(self.count)]
    }
}
