//! The state machines without a network: a service and its members, or peers, around a broker in
//! memory.

mod admission;
mod behind;
mod change;
mod change_attacked;
mod confirming;
mod foundings;
mod gathering;
mod hostile;
mod kills;
mod lives;
mod peers;
mod rekeying;
mod resuming;
mod staging;
mod store;
#[cfg(feature = "tracing")]
mod tracing;
mod trail;
mod virtual_group;
