//! Services, members and peers: as state machines, over brokers, over HTTP, and as a program sees them.

mod example;
#[cfg(feature = "http")]
mod http;
mod live;
mod machines;
mod membership;
mod simulator;
