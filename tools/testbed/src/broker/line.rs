//! The outgoing side of a client's connection, to which the client's session writes.

use std::cell::Cell;
use std::rc::Rc;

use groupkey_mqtt::Version;
use tokio::sync::{Notify, mpsc};

use crate::packet::Packet;

/// The outgoing side of a client's connection.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Distinguishes a client's connections from each other.
    pub(super) number: u64,
    pub(super) version: Version,
    pub(super) outgoing: mpsc::UnboundedSender<Vec<u8>>,
    pub(super) unsent: Rc<Cell<usize>>,
    pub(super) closed: Rc<Notify>,
}

impl Line {
    /// Sends a packet. Ends the connection if too many bytes wait for the client, so that they do
    /// not fill the memory.
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

/// The maximum number of bytes that wait for one client.
const MOST_UNSENT: usize = 256 << 20;
