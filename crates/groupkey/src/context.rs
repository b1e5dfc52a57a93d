//! The only interface of a party to the outside: everything it may use comes through its
//! [`Context`].

mod draft;
#[cfg(feature = "distributed")]
mod group;
#[cfg(feature = "pairing")]
mod integer;
mod keys;
mod messages;
#[cfg(feature = "pairing")]
mod pairing;
#[cfg(feature = "distributed")]
mod peers;
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
