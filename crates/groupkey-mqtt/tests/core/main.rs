//! The state machines without a network: a service and its members, or peers, around a broker in
//! memory.

mod admission;
mod behind;
mod change;
mod change_attacked;
mod foundings;
mod hostile;
mod kills;
mod lives;
mod peers;
mod rekeying;
mod resuming;
mod store;
mod virtual_group;
