//! Limits for clients of the HTTP interface.

use std::time::Duration;

/// Limits for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of connections at once. A further connection takes the place of the
    /// oldest one that has sent no request. If there is none, it is closed.
    pub connections: usize,
    /// The maximum number of connections of one peer's address. The same holds for them.
    pub connections_of_peer: usize,
    /// How long a client may take to send the head of its request.
    pub head_time: Duration,
    /// How long a connection may last.
    pub connection_time: Duration,
    /// How long the service may take to answer. After that, the operation may still be carried out.
    pub answer_time: Duration,
    /// The maximum number of bytes of a request's body.
    pub body: usize,
}

impl Default for Limits {
    /// Returns the default limits: 64 connections of at most 15 s, 8 of them for each peer, 3 s for
    /// a head, 10 s for the service, and bodies of 4 KiB.
    fn default() -> Self {
        Self {
            connections: 64,
            connections_of_peer: 8,
            head_time: Duration::from_secs(3),
            connection_time: Duration::from_secs(15),
            answer_time: Duration::from_secs(10),
            body: 4 << 10,
        }
    }
}
