//! The one door: everything a party may use from outside itself comes through its [`Context`].

mod draft;
mod group;
mod integer;
mod keys;
mod messages;
mod pairing;
mod peer_keys;
mod peers;
mod state;
mod step;
mod trace;
mod tracer;

pub use self::draft::Draft;
pub use self::peer_keys::PeerKeys;
pub use self::state::{Context, Setting};
#[cfg(feature = "rig")]
pub(crate) use self::trace::Bytes;
#[cfg(feature = "rig")]
pub use self::tracer::{Rule, Traced, Tracer};
