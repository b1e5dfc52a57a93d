//! Limits for clients of the HTTP interface.

use std::time::Duration;

/// Limits for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once. Others wait in the kernel's queue.
    pub connections: usize,
    /// How long a connection may last.
    pub connection_time: Duration,
    /// How long the service may take to answer. After that, the operation may still be done.
    pub answer_time: Duration,
    /// Most bytes of a request's body.
    pub body: usize,
}

impl Default for Limits {
    /// 64 connections of at most 15 s, 10 s for the service, bodies of 4 KiB.
    fn default() -> Self {
        Self {
            connections: 64,
            connection_time: Duration::from_secs(15),
            answer_time: Duration::from_secs(10),
            body: 4 << 10,
        }
    }
}
