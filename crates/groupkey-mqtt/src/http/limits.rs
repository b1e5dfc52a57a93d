//! What clients of the HTTP interface may cost.

use std::time::Duration;

/// What clients may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once. More wait in the kernel's queue until one ends.
    pub connections: usize,
    /// How long a connection may last: from its first byte to the last of the answer.
    pub connection_time: Duration,
    /// How long the service may take to answer. What was asked may be done all the same.
    pub answer_time: Duration,
    /// Bytes of a request's body.
    pub body: usize,
}

impl Default for Limits {
    /// 64 connections of 15 s at most, 10 s for the service, bodies of 4 KiB.
    fn default() -> Self {
        Self {
            connections: 64,
            connection_time: Duration::from_secs(15),
            answer_time: Duration::from_secs(10),
            body: 4 << 10,
        }
    }
}
