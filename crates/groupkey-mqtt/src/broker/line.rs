//! Where a session writes: the way to one connection of a client.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::{Notify, mpsc};

use crate::packet::Packet;
use crate::version::Version;

/// The way to a client.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Tells one connection of a client from the next one.
    pub(super) number: u64,
    pub(super) version: Version,
    pub(super) outgoing: mpsc::UnboundedSender<Vec<u8>>,
    pub(super) unsent: Rc<Cell<usize>>,
    pub(super) closed: Rc<Notify>,
}

impl Line {
    /// Sends a packet. A client that takes nothing is cut off before its packets fill the memory.
    pub(super) fn write(&self, packet: &Packet) {
        let Ok(bytes) = packet.encode(self.version) else { return };
        self.unsent.set(self.unsent.get() + bytes.len());
        if self.unsent.get() > MOST_UNSENT || self.outgoing.send(bytes).is_err() {
            self.close();
        }
    }

    /// Ends the connection.
    pub(super) fn close(&self) {
        self.closed.notify_one();
    }
}

/// Bytes that may wait for one client.
const MOST_UNSENT: usize = 256 << 20;
