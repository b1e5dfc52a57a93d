//! The resources that one step of a party may use.

use core::fmt;

use rand_core::CryptoRng;

use crate::catching_up::Nonce;
#[cfg(feature = "distributed")]
use crate::context::peers::PeerKeys;
#[cfg(feature = "research")]
use crate::context::tracer::Tracer;
use crate::crypto::meter::{Primitive, Probe};
use crate::crypto::{GroupContext, Suite};
use crate::error::{Error, Unsupported};
use crate::identity::{GroupId, PartyId};
use crate::outbox::{Event, Outbox};
use crate::protection::Protection;
use crate::protection::hash_tree::Root;

/// Values that all parties of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The group.
    pub group: GroupId,
    /// The algorithms.
    pub suite: Suite,
    /// The hash of everything that the parties must agree on. It goes into every signature, MAC and
    /// derivation, because a party has one identity in several groups: its messages in one must mean
    /// nothing in another.
    pub context: GroupContext,
    /// Whether the scheme can run in the suite
    /// ([`Scheme::unsuited_to`](crate::catalogue::Scheme::unsuited_to)). If not, every step fails.
    pub suited: bool,
}

impl Setting {
    /// Returns a setting without a context: for parties that need not agree on anything else, as in
    /// measurements. A group takes its setting from
    /// [`Configuration::setting`](crate::catalogue::Configuration::setting).
    pub fn new(group: GroupId, suite: Suite) -> Self {
        Self { group, suite, context: GroupContext::default(), suited: true }
    }

    /// Sets the context.
    #[must_use]
    pub const fn with_context(self, context: GroupContext) -> Self {
        Self { context, ..self }
    }

    /// Refuses a scheme that cannot run in the suite.
    pub(super) fn require_suited(&self) -> Result<(), Error> {
        if self.suited { Ok(()) } else { Err(Unsupported::Suite.into()) }
    }

    /// Returns the parts that a message's signature covers, in order.
    pub(super) const fn signed<'m>(&'m self, content: &'m [u8]) -> [&'m [u8]; 3] {
        [b"groupkey message 2", self.context.as_bytes(), content]
    }

    /// Returns the parts that a signature for many messages covers, in order.
    pub(super) const fn signed_root<'r>(&'r self, root: &'r Root) -> [&'r [u8]; 5] {
        let [salt, leaves, node] = root.parts();
        [b"groupkey hash tree 1", self.context.as_bytes(), salt, leaves, node]
    }
}

/// The resources that one step of a party may use. Its driver makes a context for every step.
pub struct Context<'a> {
    pub(super) setting: Setting,
    pub(super) me: PartyId,
    pub(super) protection: Protection<'a>,
    #[cfg(feature = "distributed")]
    pub(super) peer_keys: Option<&'a dyn PeerKeys>,
    pub(super) rng: &'a mut dyn CryptoRng,
    pub(super) now: u64,
    /// The nonce of the request that this step takes, answers or makes.
    pub(super) nonce: Option<Nonce>,
    /// Whether a party acts. Its messages may then get their tags together, in the end.
    pub(super) in_step: bool,
    pub(super) outbox: &'a mut Outbox,
    pub(super) probe: &'a mut dyn Probe,
    #[cfg(feature = "research")]
    pub(super) tracer: Option<&'a mut dyn Tracer>,
}

impl<'a> Context<'a> {
    /// Creates a context for the party `me` at time `now` (ns since an origin of the driver's
    /// choice).
    pub const fn new(
        setting: Setting,
        me: PartyId,
        protection: Protection<'a>,
        rng: &'a mut dyn CryptoRng,
        now: u64,
        outbox: &'a mut Outbox,
        probe: &'a mut dyn Probe,
    ) -> Self {
        Self {
            setting,
            me,
            protection,
            #[cfg(feature = "distributed")]
            peer_keys: None,
            rng,
            now,
            nonce: None,
            in_step: false,
            outbox,
            probe,
            #[cfg(feature = "research")]
            tracer: None,
        }
    }

    /// Adds long-term keys for key agreement, which some distributed schemes need.
    #[cfg(feature = "distributed")]
    #[must_use]
    pub const fn with_peer_keys(mut self, keys: &'a dyn PeerKeys) -> Self {
        self.peer_keys = Some(keys);
        self
    }

    /// Adds a tracer that is notified of every operation on secrets, and first of the long-term
    /// secret, if there is one. For audits: the tracer sees every secret.
    #[cfg(feature = "research")]
    #[must_use]
    pub fn with_tracer(mut self, tracer: &'a mut dyn Tracer) -> Self {
        self.tracer = Some(tracer);
        self.trace_given();
        self
    }

    /// Returns the group.
    pub const fn group(&self) -> GroupId {
        self.setting.group
    }

    /// Returns the algorithms.
    pub const fn suite(&self) -> Suite {
        self.setting.suite
    }

    /// Returns the context of the group: the hash of everything that its parties must agree on.
    pub const fn group_context(&self) -> &GroupContext {
        &self.setting.context
    }

    /// Returns the party whose step this is.
    pub const fn me(&self) -> PartyId {
        self.me
    }

    /// Returns the time in ns, as the driver gives it.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Reports an event to the driver.
    pub fn event(&mut self, event: Event) {
        self.outbox.push_event(event);
    }

    /// Reserves room for this many messages of about this many body bytes each. Sending to a large
    /// group then does not move what the outbox already holds.
    pub fn reserve(&mut self, messages: usize, body_bytes: usize) {
        const HEADER_BYTES: usize = 24;
        let each = HEADER_BYTES + body_bytes + 2 + self.protection.longest_tag(messages);
        self.outbox.reserve(messages, messages * each);
    }

    /// Draws the nonce of a new request. Catch-up messages that this step sends from now on have
    /// it.
    pub(crate) fn draw_nonce(&mut self) -> Nonce {
        self.probe.record(Primitive::Random, Nonce::BYTES);
        let mut nonce = Nonce::default();
        self.rng.fill_bytes(&mut nonce.0);
        self.nonce = Some(nonce);
        nonce
    }

    /// Returns the nonce of the request that this step takes, answers or makes.
    pub(crate) const fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    /// Sets the nonce of the catch-up messages that are sent from now on. For repeated requests,
    /// and for forgers.
    pub const fn set_nonce(&mut self, nonce: Option<Nonce>) {
        self.nonce = nonce;
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("setting", &self.setting)
            .field("me", &self.me)
            .field("protection", &self.protection)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
