//! The only interface of a party to the outside: everything it may use comes through its
//! [`Context`].

mod batch;
mod draft;
mod foreign;
#[cfg(feature = "distributed")]
mod group;
#[cfg(feature = "pairing")]
mod integer;
mod keys;
#[cfg(feature = "distributed")]
mod labelled;
mod messages;
#[cfg(feature = "pairing")]
mod pairing;
#[cfg(feature = "distributed")]
mod peers;
#[cfg(feature = "centralized")]
mod short;
mod state;
mod step;
mod trace;
mod tracer;

pub use self::draft::Draft;
#[cfg(feature = "distributed")]
pub use self::peers::PeerKeys;
pub use self::state::{Context, Setting};
#[cfg(feature = "research")]
pub use self::tracer::{Rule, Traced, Tracer};
