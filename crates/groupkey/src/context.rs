//! The one door: everything a party may use from outside itself comes through its [`Context`].

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
mod peer_keys;
#[cfg(feature = "distributed")]
mod peers;
mod state;
mod step;
mod trace;
mod tracer;

pub use self::draft::Draft;
#[cfg(feature = "distributed")]
pub use self::peer_keys::PeerKeys;
pub use self::state::{Context, Setting};
#[cfg(feature = "rig")]
pub(crate) use self::trace::Bytes;
#[cfg(feature = "rig")]
pub use self::tracer::{Rule, Traced, Tracer};
