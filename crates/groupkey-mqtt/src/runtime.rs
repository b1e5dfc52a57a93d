//! The interface between the core and its driver: inputs, outputs, and fatal errors.

use alloc::string::String;
use core::time::Duration;

use groupkey::{Epoch, PartyId};
use rand_chacha::ChaCha20Rng;

use crate::store::{Publish, StoreError};

/// An input of a runtime.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// The broker has taken responsibility for the publish with this number.
    Acknowledged(u64),
    /// A message arrived on a topic.
    Arrived {
        /// The topic.
        topic: &'a str,
        /// The payload.
        payload: &'a [u8],
    },
    /// The broker is connected, and the subscriptions are made.
    Connected,
    /// The time of [`Runtime::deadline`] has come.
    Tick,
}

/// An output of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<E> {
    /// Report this to the application.
    Event(E),
    /// Publish this message, and again after a reconnection, until the broker acknowledges it.
    Publish(Publish),
    /// Subscribe to this topic.
    Subscribe(String),
    /// Unsubscribe from this topic.
    Unsubscribe(String),
}

/// The reason why a runtime cannot continue. A service must be reopened from its store.
#[derive(Debug)]
pub enum Fatal {
    /// A commit failed, or a fault point was reached: see
    /// [`Service::crash_at`](crate::Service::crash_at).
    Crashed,
    /// The service has announced another group that was founded later, according to its clock.
    EarlierGroup {
        /// When the group in the store was founded, ms since 1970.
        founded: u64,
        /// When the group in the retained notice was founded, ms since 1970.
        announced: u64,
    },
    /// The store has no group, and the broker's notice shows that the service has one.
    GroupExists {
        /// When that group was founded, ms since 1970.
        founded: u64,
        /// The epoch in the notice.
        epoch: Epoch,
        /// The number of members in the notice.
        members: u64,
    },
    /// The operating system gives no randomness.
    NoRandomness,
    /// The broker retains no messages, and the runtime [relies on
    /// them](Runtime::relies_on_retained_messages).
    NothingRetained,
    /// The store ends in an earlier epoch than the one that the service has announced.
    OldStore {
        /// The last epoch in the store.
        stored: Epoch,
        /// The epoch in the retained notice.
        announced: Epoch,
    },
    /// The store has another history than the service that announced this epoch.
    OtherHistory {
        /// The epoch in the notice.
        epoch: Epoch,
    },
    /// The store failed. It has all messages that were published.
    Store(StoreError),
}

/// A state machine around parties, without sockets, clock or randomness.
///
/// A driver gives an input, or calls a method of the runtime that changes it. Then it polls the
/// outputs until there are none, before the next input or call. At last it calls [`Self::finished`],
/// and waits until [`Self::deadline`] at most.
pub trait Runtime {
    /// What is reported to the application.
    type Event;

    /// Handles an input at the time `now`, in ns since 1970. `rng` must be fresh from the operating
    /// system for each call. Bad messages are counted, not reported. Drain [`Self::poll`] before the
    /// next call.
    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal>;

    /// Returns the next output, or `None` if there is none.
    fn poll(&mut self) -> Result<Option<Output<Self::Event>>, Fatal>;

    /// Returns whether the runtime needs a broker that retains messages for later subscribers.
    fn relies_on_retained_messages(&self) -> bool {
        false
    }

    /// Tells the runtime that the last input or call is done, for measuring its duration.
    fn finished(&mut self, _now: u64) {}

    /// Returns when to call the runtime with [`Input::Tick`], in ns since 1970.
    fn deadline(&self) -> Option<u64>;
}

/// Returns the operation's code and the sender that a message names, unchecked.
pub(crate) fn head(bytes: &[u8]) -> Option<(u8, PartyId)> {
    let mut decoder = minicbor::Decoder::new(bytes);
    decoder.array().ok()?;
    // The version, the group and the epoch.
    for _ in 0..3 {
        decoder.skip().ok()?;
    }
    let operation = decoder.u8().ok()?;
    // The kind.
    decoder.skip().ok()?;
    Some((operation, PartyId::from_number(decoder.i64().ok()?)?))
}

impl core::fmt::Display for Fatal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Crashed => write!(f, "the service has crashed: start it again with its store"),
            Self::EarlierGroup { founded, announced } => write!(
                f,
                "the store's group was founded {} s before another group of this service: the store \
                 is an old copy, or a second service founded that group, or the clock was behind; {REMEDY}",
                announced.saturating_sub(*founded).div_ceil(1000)
            ),
            Self::GroupExists { founded, epoch, members } => write!(
                f,
                "the store has no group, and this service has one: the broker's notice shows founding \
                 {founded} in epoch {epoch} with {members} members; check the store's path and whether its \
                 volume is mounted. If the store is lost, groupkey serve --found founds another group. An \
                 empty store knows no evictions: first take evicted devices out of the service's file"
            ),
            Self::NoRandomness => write!(f, "the operating system gives no randomness"),
            Self::NothingRetained => f.write_str(
                "the broker retains no messages (its Retain Available is 0). A group with a service needs \
                 them: the service's last notice shows members what they missed, and shows the service \
                 whether its store is the last state. Let the broker retain messages (Mosquitto: \
                 retain_available true), or use another broker",
            ),
            Self::OldStore { stored, announced } => write!(
                f,
                "the store is an old copy: it ends in epoch {stored}, and this service has announced epoch \
                 {announced}; {REMEDY}"
            ),
            Self::OtherHistory { epoch } => write!(
                f,
                "the store is an old copy: this service has announced epoch {epoch} with another history, \
                 or still runs with another copy; {REMEDY}"
            ),
            Self::Store(error) => write!(f, "{error}"),
        }
    }
}

/// What an operator can do about a store that is not the service's last state.
const REMEDY: &str = "put the last copy back. If there is none, stop the other service and start this one \
     with groupkey serve --found: it founds the group anew, with the devices and evictions of its store";

impl core::error::Error for Fatal {}

impl From<StoreError> for Fatal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How long a request and its answer are valid, in s. Requests are repeated sooner.
pub(crate) const REQUEST_EXPIRY: u32 = 30;

/// Returns the time `wait` after `start`, in ns.
pub(crate) fn after(start: u64, wait: Duration) -> u64 {
    start.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX))
}

/// A millisecond in ns.
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// A second in ns.
pub(crate) const SECOND: u64 = 1_000 * MILLISECOND;
