//! The state machines without a network: a service and its members around a broker in memory.

mod admission;
mod hostile;
mod kills;
mod lives;
mod room;
