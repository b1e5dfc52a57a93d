//! Messages to the group under its key: COSE_Encrypt0 objects (RFC 9052), in every scheme.
//!
//! Source: S003 definition 3.2 for what members do; OSCORE (RFC 8613) and RFC 4303 for how
//! receivers separate senders and reject replays. `docs/messages.md` has the format to the byte.
//!
//! - The key id is group and epoch. The partial IV is the sender's counter. The key id's context
//!   holds the sender and its session. The sender draws a session for each key. So a sender that has
//!   lost its counters cannot use one twice, and of two copies of a sender each has its own from the
//!   next key on, if the generator was not copied. It also draws one when it
//!   hears a message of its own that it has not sent: receivers would refuse its next ones.
//! - Each sender's key is derived from the group key for group, epoch, sender and session. The
//!   nonce is the counter or, with [`Nonces::Synthetic`], the counter and a hash of the content.
//! - A receiver accepts a message once. The message may be 63 behind its sender's newest.
//! - Messages of the previous epoch are accepted for a grace period. Then the key of that epoch is
//!   wiped. A message of a later epoch shows that the receiver missed something. If the key may have
//!   leaked, there is no such period ([`Messenger::refuse_before`]).
//! - A member may hold a key and accept messages under the next one ([`Messenger::hold`]), so that no
//!   message comes before its key.
//! - With signatures, a COSE_Sign1 is encrypted. The sender signs first, so that no party without
//!   the key sees who signed what. The signature covers the protected header around it, and the key
//!   that encrypts it. So a member cannot put another member's content into a message of its own,
//!   nor under another key. Without signatures, any member can speak in the name of any other.
//! - Where members do not know each other's public keys, a sender has a credential that gives it its
//!   key ([`Messenger::introduce`]). It is inside the encryption of every sixteenth message of a
//!   session, from the first on, and of one that comes after a while. A receiver checks it once
//!   ([`Directory::introduced`]) and remembers the key: so in one group, a number must never belong
//!   to two keys.
//!
//! [`Directory::introduced`]: crate::protection::Directory::introduced
//!
//! If a scheme has encryption of its own, [`Messenger::encrypt`] makes messages with it. Each such
//! message has a key of its own, and carries it.
//!
//! A receiver that restarts has no memory of the messages that it accepted, and within an epoch it
//! would accept replays of them once more. There are three remedies: keep the [`Messenger`], change
//! the group key, or count resumptions. For the last, somebody whom all trust counts how often a
//! member resumed, and tells everybody. Senders then begin another session, which names the count
//! ([`Messenger::note_resumption`]). The member that resumed refuses sessions of a lower count
//! ([`Messenger::require_resumption`]): it may have heard them before.
//!
//! Why the CBOR is written by hand: each of the four shapes that COSE has here has exactly one
//! encoding. A library that reads other encodings too would have to be restricted. An independent
//! library reads the objects in `tests/laws/cose.rs`.
//!
//! [`Device`](crate::device::Device) has a messenger and keeps it in step. A driver of its own party does:
//!
//! ```
//! use groupkey::messages::{Messenger, MessageSettings};
//! use groupkey::{Context, Error, Party};
//!
//! fn first_message(cx: &mut Context<'_>, party: &dyn Party) -> Result<Vec<u8>, Error> {
//!     let mut messenger = Messenger::new(cx, MessageSettings::default())?;
//!     messenger.follow(cx, party); // after every step of the party
//!     messenger.seal(cx, b"slippery road")
//! }
//! ```

mod encryption;
mod holding;
mod object;
mod window;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use zeroize::{Zeroize, Zeroizing};

use self::object::{
    Object, ObjectHeader, SenderSession, SignedContent, encrypt_structure, signature_structure,
};
use self::window::ReplayWindow;
use crate::context::Context;
use crate::crypto::{MessageNonce, Signing};
use crate::diagnostics;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId, PartyId};
use crate::party::{MessageKey, Messages, Party};
use crate::protection::{IdentityBytes, PublicIdentity};
use crate::secret::Key;

/// Settings of messages. The members of a group must agree on whether senders sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSettings {
    /// How long messages of the previous epoch are accepted, in ns.
    pub grace: u64,
    /// Whether senders sign. If they do, signatures must protect the group. By default they sign if
    /// signatures protect the group.
    pub signed: Option<bool>,
    /// How this member's messages get their nonces. Receivers read both kinds.
    pub nonces: Nonces,
    /// How many senders' counters are remembered in an epoch, at most. Each takes 56 bytes. As many senders'
    /// public keys are remembered, of those that introduced themselves. Each takes 36 bytes.
    pub sources: usize,
}

/// How a message to the group gets its nonce. A copy of a running sender repeats the counters of the
/// original until the next key, and under the same key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Nonces {
    /// The sender's counter. If a copy of a sender sends another message, both show their exclusive
    /// or.
    #[default]
    Counter,
    /// The counter, and bytes derived from it and the content: eight in the suites with CCM, eleven
    /// with Ascon. Messages of a copy show whether they are equal, and nothing else.
    Synthetic,
}

/// Encrypts a member's messages to its group, and decrypts the messages of other members.
pub struct Messenger {
    me: MemberId,
    /// The latest resumption of a member that this one knows of.
    resumption: u32,
    /// The first epoch whose key counts.
    valid_from: Epoch,
    settings: MessageSettings,
    signed: bool,
    current: Option<Period>,
    /// Whether the present key is held when the next one comes.
    holds: bool,
    /// The period of the key under which this member sends, if the present one waits.
    held: Option<Box<Period>>,
    /// The previous period, with the time (ns) at which it ends.
    previous: Option<(Period, u64)>,
    /// What gives this member its public key.
    credential: Option<Vec<u8>>,
    /// When a message last showed it, ns.
    shown_at: Option<u64>,
    /// The public keys of senders that introduced themselves.
    introduced: BTreeMap<MemberId, IdentityBytes>,
}

/// A message that was accepted.
#[derive(Clone, PartialEq, Eq)]
pub struct Received {
    /// The epoch whose key encrypted the message.
    pub epoch: Epoch,
    /// The sender. It is proven if senders sign; otherwise any member may have sent the message.
    pub sender: MemberId,
    /// The decrypted content.
    pub content: Vec<u8>,
}

/// The content is for the application alone, and not for its logs.
impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("epoch", &self.epoch)
            .field("sender", &self.sender)
            .field("content", &self.content.len())
            .finish()
    }
}

impl Default for MessageSettings {
    /// Returns ten seconds of grace, signatures where they protect the group, and as many senders as
    /// S002 has members.
    fn default() -> Self {
        let nonces = Nonces::default();
        Self { grace: 10_000_000_000, signed: None, nonces, sources: 55_000 }
    }
}

impl MessageSettings {
    /// Returns settings for a device with little memory: the default, with the counters of 64 senders in
    /// an epoch. They take 3.5 KiB. Without signatures, one member can name as many senders as it likes.
    #[must_use]
    pub fn of_small_device() -> Self {
        Self { sources: 64, ..Self::default() }
    }
}

impl Nonces {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Counter, Self::Synthetic];

    /// Returns the name used in files, on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Synthetic => "synthetic",
        }
    }

    /// Returns the one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|nonces| nonces.name() == name)
    }
}

impl Messenger {
    /// Creates a messenger without a key, for the member whose context this is.
    pub fn new(cx: &Context<'_>, settings: MessageSettings) -> Result<Self, Error> {
        let PartyId::Member(me) = cx.me() else { return Err(Misuse::WrongRole.into()) };
        let signed = settings.signed.unwrap_or_else(|| cx.signs());
        Ok(Self {
            me,
            resumption: 0,
            valid_from: Epoch(0),
            settings,
            signed,
            current: None,
            holds: false,
            held: None,
            previous: None,
            credential: None,
            shown_at: None,
            introduced: BTreeMap::new(),
        })
    }

    /// Shows this credential with the first message of each session, again with every sixteenth, and when
    /// it was not shown for 10 s. Receivers need it if their directory does not know this member. It
    /// takes from the longest message its length and eight bytes.
    pub fn introduce(&mut self, credential: Vec<u8>) {
        self.credential = Some(credential);
    }

    /// Shows the credential with the next message: the one that showed it may be lost.
    pub const fn introduce_again(&mut self) {
        self.shown_at = None;
    }

    /// Returns how many senders have introduced themselves, as far as this member remembers.
    pub fn known_senders(&self) -> usize {
        self.introduced.len()
    }

    /// Adopts the key that a party has now: the group key or, in schemes that have keys for
    /// messages, the key of the last message ([`Messages::UnderOwnKeys`]). A message key counts as
    /// epoch 0. It is good for one message, of the member that began it. Without such a key the
    /// member cannot send. Call this after every step of the party. If nothing has changed, it does
    /// nothing.
    pub fn follow(&mut self, cx: &mut Context<'_>, party: &dyn Party) {
        match (party.messages(), party.group_key()) {
            (Messages::UnderOwnKeys(Some(MessageKey { key, own })), _) => {
                self.begin(cx, Epoch(0), key, Some(u64::from(own)));
            }
            (Messages::UnderOwnKeys(None), _) => self.end_current(cx),
            (_, Some((epoch, key))) => self.rekeyed(cx, epoch, key),
            (_, None) => {}
        }
    }

    /// Adopts a new group key, and draws a session. The previous key stays for the grace period.
    pub fn rekeyed(&mut self, cx: &mut Context<'_>, epoch: Epoch, key: &Key) {
        self.begin(cx, epoch, key, None);
    }

    /// Notes how many resumptions of members were counted. If they are more than before, the next
    /// message begins another session, which names this count. A message key is for one message, so
    /// its session continues.
    pub fn note_resumption(&mut self, count: u32) {
        let has_message_key = self.current.as_ref().is_some_and(|period| period.seals.is_some());
        if count > self.resumption && !has_message_key {
            self.resumption = count;
            let periods = self.current.iter_mut().chain(self.held.as_deref_mut());
            periods.for_each(|period| period.own = None);
        }
    }

    /// Refuses messages under the present key whose session began before this resumption, which is
    /// this member's own. The member may have heard them before it resumed.
    pub fn require_resumption(&mut self, count: u32) {
        self.note_resumption(count);
        self.current.iter_mut().for_each(|period| period.resumed = count);
    }

    /// Wipes the keys of epochs before this one, and takes no message under them any more, for good: the
    /// key was changed without a grace period. A member that has no later key can send nothing until
    /// it has one. Message keys have no epochs, and stay.
    pub fn refuse_before(&mut self, epoch: Epoch) {
        self.valid_from = self.valid_from.max(epoch);
        let is_refused = |period: &Period| period.seals.is_none() && period.epoch < epoch;
        // Assign in place: moving the value out would leave a copy behind.
        if self.current.as_ref().is_some_and(is_refused) {
            self.current = None;
        }
        if self.held.as_deref().is_some_and(is_refused) {
            self.held = None;
        }
        if self.previous.as_ref().is_some_and(|(period, _)| is_refused(period)) {
            self.previous = None;
        }
    }

    /// Encrypts a message of at most 65,535 bytes to the group, or 65,459 bytes if it is signed.
    pub fn seal(&mut self, cx: &mut Context<'_>, content: &[u8]) -> Result<Vec<u8>, Error> {
        let header = self.next_header(cx, self.sending().ok_or(Misuse::NotCreated)?)?;
        let shown = self.shown_credential(cx.suite().signing(), &header, cx.now(), content)?;
        let period =
            self.held.as_deref_mut().or(self.current.as_mut()).ok_or(Misuse::NotCreated)?;
        let key = match period.own.take() {
            Some(own) => own.key,
            None => period.key_of(cx, &header),
        };
        let extras = Extras { credential: shown.as_deref(), carried: None };
        let sealed = seal(cx, &key, header, extras, content);
        let length = sealed.as_ref().map(Vec::len);
        diagnostics::sealed(cx.me(), header.epoch, content.len(), length);
        // A message that is too long uses no counter.
        let counter = header.nonce.counter() + u64::from(sealed.is_ok());
        period.own = Some(SendingKey { key, counter });
        if sealed.is_ok() && shown.is_some() {
            self.shown_at = Some(cx.now());
        }
        sealed
    }

    /// Decrypts a message. On an error nothing has changed, and the caller can offer the message
    /// again: after [`SkippedEpoch`](Misbehaviour::SkippedEpoch), once the member has caught up.
    pub fn open(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<Received, Error> {
        let opened = self.take(cx, bytes);
        diagnostics::opened(cx.me(), bytes.len(), &opened);
        opened
    }

    fn take(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<Received, Error> {
        self.end_grace(cx.now());
        let object = Object::decode(cx.suite(), bytes)?;
        let header = object.header;
        self.require_ours(cx, &header)?;
        if object.carried.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let received = self.open_object(cx, &object)?;
        self.answer_impostor(cx, &header);
        Ok(received)
    }

    /// Decrypts a message under the key of its epoch.
    fn open_object(
        &mut self,
        cx: &mut Context<'_>,
        object: &Object<'_>,
    ) -> Result<Received, Error> {
        let header = object.header;
        let known = self.known(header.source.sender);
        let previous = self.previous.as_mut().map(|(period, _)| period);
        let earlier = self.held.as_deref_mut().into_iter().chain(previous);
        let has_epoch = self.current.as_ref().is_none_or(|period| period.seals.is_none());
        if has_epoch && header.epoch < self.valid_from {
            let (got, current) = (header.epoch, self.valid_from);
            return Err(Misbehaviour::StaleEpoch { got, current }.into());
        }
        let mut periods = self.current.iter_mut().chain(earlier).peekable();
        let current = periods.peek().ok_or(Misuse::NotCreated)?.epoch;
        let mut opened = Err(no_key(header.epoch, current));
        for period in periods {
            if period.epoch == header.epoch {
                match period.open(cx, object, None, &known) {
                    // Message keys have no epochs, so the message may be under the previous key,
                    // with the same counters. A replay under one key is noise under the other.
                    Err(Error::Misbehaved(
                        why @ (Misbehaviour::Forged | Misbehaviour::Replayed),
                    )) => {
                        if opened != Err(Misbehaviour::Replayed.into()) {
                            opened = Err(why.into());
                        }
                    }
                    taken => {
                        opened = taken;
                        break;
                    }
                }
            }
        }
        opened.map(|opened| self.note_introduction(opened))
    }

    fn known(&self, sender: MemberId) -> Known {
        Known {
            sources: self.settings.sources,
            resumption: self.resumption,
            identity: self.introduced.get(&sender).cloned(),
        }
    }

    /// Remembers the key of a sender that introduced itself. Where there is no room, those make room that
    /// have said nothing under the present key and the one before.
    fn note_introduction(&mut self, opened: Opened) -> Received {
        let Opened { received, introduced } = opened;
        let Some(identity) = introduced else { return received };
        let Self { current, held, previous, introduced, settings, .. } = self;
        if introduced.len() >= settings.sources {
            let previous = previous.as_ref().map(|(period, _)| period);
            let periods = current.iter().chain(held.as_deref()).chain(previous);
            introduced.retain(|sender, _| periods.clone().any(|period| period.has_heard(*sender)));
        }
        if introduced.len() < settings.sources {
            introduced.insert(received.sender, identity.to_bytes());
        }
        received
    }

    /// Returns the credential if this message shows it. Refuses content that would not leave room for
    /// it, in whichever message.
    fn shown_credential(
        &self,
        signing: Signing,
        header: &ObjectHeader,
        now: u64,
        content: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some(credential) = self.credential.as_ref().filter(|_| header.signed) else {
            return Ok(None);
        };
        let around = SignedContent::longest_form(signing) + credential.len();
        let limit = Context::SEALABLE.saturating_sub(around);
        if content.len() > limit {
            return Err(Misuse::MessageTooLong { limit }.into());
        }
        let is_due = header.nonce.counter().is_multiple_of(INTRODUCED_EVERY);
        // The clock may have been set back.
        let is_fresh = |at: u64| (at..at.saturating_add(INTRODUCED_WITHIN)).contains(&now);
        let is_shown = is_due || !self.shown_at.is_some_and(is_fresh);
        Ok(is_shown.then(|| credential.clone()))
    }

    const fn source(&self, period: &Period) -> SenderSession {
        let &Self { me: sender, resumption, .. } = self;
        SenderSession { sender, resumption, session: period.session }
    }

    /// Returns what there is to say about this member's next message before its content is known.
    fn next_header(&self, cx: &Context<'_>, period: &Period) -> Result<ObjectHeader, Error> {
        Ok(ObjectHeader {
            group: cx.group(),
            epoch: period.epoch,
            nonce: period.next_counter()?.into(),
            nonces: self.settings.nonces,
            source: self.source(period),
            signed: self.signed,
        })
    }

    /// Draws another session if somebody else has sent this message in this member's session: the
    /// others would refuse its own messages up to that counter. A copy of this process also does so.
    fn answer_impostor(&mut self, cx: &mut Context<'_>, header: &ObjectHeader) {
        let &mut Self { me: sender, resumption, .. } = self;
        for period in self.current.iter_mut().chain(self.held.as_deref_mut()) {
            let own = SenderSession { sender, resumption, session: period.session };
            let sent = period.own.as_ref().map_or(0, |own| own.counter);
            let is_ours = header.source == own && header.epoch == period.epoch;
            if period.seals.is_none() && is_ours && header.nonce.counter() >= sent {
                period.own = None;
                period.session = draw_session(cx);
            }
        }
    }

    /// Begins the period of a key. `seals` says how many messages may be sent in it, if limited.
    fn begin(&mut self, cx: &mut Context<'_>, epoch: Epoch, key: &Key, seals: Option<u64>) {
        if self.current.as_ref().is_some_and(|period| period.epoch == epoch && period.key == *key) {
            return;
        }
        match (self.holds, &self.held) {
            (true, None) => self.held = self.current.take().map(Box::new),
            // Assign in place: moving the value out would leave a copy behind.
            (_, Some(_)) => self.current = None,
            (false, None) => self.end_current(cx),
        }
        let (key, session, sources) = (key.clone(), draw_session(cx), BTreeMap::new());
        self.current = Some(Period { epoch, key, seals, session, own: None, sources, resumed: 0 });
        self.refuse_before(self.valid_from);
    }

    /// Ends the period of the present key. Its grace period begins.
    fn end_current(&mut self, cx: &Context<'_>) {
        if let Some(period) = self.current.take() {
            self.previous = Some((period, cx.now().saturating_add(self.settings.grace)));
        }
    }

    /// Refuses a message of another group. Refuses a signed message if senders must not sign, and
    /// an unsigned one if they must.
    fn require_ours(&self, cx: &Context<'_>, header: &ObjectHeader) -> Result<(), Error> {
        if header.group != cx.group() {
            return Err(Misbehaviour::ForeignGroup.into());
        }
        if header.signed != self.signed {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        Ok(())
    }

    /// Returns how many bytes the senders take that this member remembers: their counters under each
    /// key that it has, and their public keys. The maps around them are not counted.
    pub fn memory_of_senders(&self) -> usize {
        let previous = self.previous.as_ref().map(|(period, _)| period);
        let periods = self.current.iter().chain(self.held.as_deref()).chain(previous);
        let sources: usize = periods.map(|period| period.sources.len()).sum();
        sources * size_of::<(SenderSession, ReceivingKey)>()
            + self.introduced.len() * size_of::<(MemberId, IdentityBytes)>()
    }

    /// Wipes the key of the previous epoch if its grace period is over. [`Self::open`] does this
    /// too. A member that receives nothing should call this.
    pub fn end_grace(&mut self, now: u64) {
        // Assign in place: moving the value out would leave a copy behind.
        if self.previous.as_ref().is_some_and(|(_, end)| now > *end) {
            self.previous = None;
        }
    }
}

impl fmt::Debug for Messenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messenger")
            .field("me", &self.me)
            .field("settings", &self.settings)
            .field("epoch", &self.current.as_ref().map(|period| period.epoch))
            .finish_non_exhaustive()
    }
}

/// The period of one group key, or of one message key.
struct Period {
    epoch: Epoch,
    key: Key,
    /// How many messages this member may send, if there is a limit.
    seals: Option<u64>,
    /// Drawn for each key. If a key comes back, its messages belong to another source.
    session: [u8; 8],
    own: Option<SendingKey>,
    sources: BTreeMap<SenderSession, ReceivingKey>,
    /// The resumption with which this member came back in this period: 0 if it was there all along.
    resumed: u32,
}

/// What a receiver knows when it hears of a source.
struct Known {
    sources: usize,
    /// The latest resumption of a member that it knows of.
    resumption: u32,
    /// The sender's public key, if the sender introduced itself.
    identity: Option<IdentityBytes>,
}

/// A message that was decrypted, and the public key that its sender has by its credential, if nobody
/// knew it before.
#[derive(PartialEq, Eq)]
struct Opened {
    received: Received,
    introduced: Option<PublicIdentity>,
}

/// What a message has besides its content.
#[derive(Clone, Copy)]
struct Extras<'a> {
    credential: Option<&'a [u8]>,
    /// The ciphertext that carries the message's key, if the message has a key of its own.
    carried: Option<&'a [u8]>,
}

/// The key that this member sends under, and the counter of its next message.
struct SendingKey {
    key: Key,
    counter: u64,
}

/// The key that another member sends under, and the counters received from that member.
struct ReceivingKey {
    key: Key,
    window: ReplayWindow,
}

impl Period {
    fn next_counter(&self) -> Result<u64, Error> {
        let counter = self.own.as_ref().map_or(0, |own| own.counter);
        if counter >= self.seals.unwrap_or(MessageNonce::COUNTERS) {
            return Err(Misuse::CountersUsedUp.into());
        }
        Ok(counter)
    }

    /// Opens a message that was not accepted before, under the key that it carries or its source's
    /// key.
    fn open(
        &mut self,
        cx: &mut Context<'_>,
        object: &Object<'_>,
        carried: Option<&Key>,
        known: &Known,
    ) -> Result<Opened, Error> {
        let header = &object.header;
        let SenderSession { sender, resumption, .. } = header.source;
        let source = self.sources.get(&header.source);
        let is_old = match source {
            Some(heard) => !heard.window.takes(header.nonce.counter()),
            None => self.has_ended(&header.source, known.resumption),
        };
        if is_old || resumption < self.resumed {
            return Err(Misbehaviour::Replayed.into());
        }
        let key = source.map(|heard| heard.key.clone()).unwrap_or_else(|| self.key_of(cx, header));
        let identity = known.identity.as_ref().map(AsRef::as_ref);
        let (content, introduced) = decrypt(cx, carried.unwrap_or(&key), object, identity)?;
        match self.sources.get_mut(&header.source) {
            Some(heard) => heard.window.note(header.nonce.counter()),
            None => self.hear_first(header, key, known)?,
        }
        Ok(Opened { received: Received { epoch: header.epoch, sender, content }, introduced })
    }

    fn has_heard(&self, sender: MemberId) -> bool {
        self.sessions_of(sender, u32::MAX).next().is_some()
    }

    /// Remembers a source that was not heard before, in place of the sender's sessions that have ended.
    fn hear_first(&mut self, header: &ObjectHeader, key: Key, limits: &Known) -> Result<(), Error> {
        let SenderSession { sender, resumption, .. } = header.source;
        let is_known = resumption <= limits.resumption;
        let ends = |other: &SenderSession| is_known && other.resumption < resumption;
        let ended = self.sessions_of(sender, u32::MAX).filter(|other| ends(other)).count();
        let sessions = self.sessions_of(sender, u32::MAX).count() - ended;
        // Without a signature, any member could use up the sessions of another one.
        let may_start = !header.signed || sessions < SESSIONS;
        let limit = if may_start { limits.sources } else { SESSIONS };
        if !may_start || self.sources.len() - ended >= limit {
            return Err(Unsupported::TooManySources { limit }.into());
        }
        if ended > 0 {
            self.sources.retain(|other, _| other.sender != sender || !ends(other));
        }
        let mut window = ReplayWindow::default();
        window.note(header.nonce.counter());
        self.sources.insert(header.source, ReceivingKey { key, window });
        Ok(())
    }

    /// Returns whether the sender has begun a session since a later resumption: it does not go on with
    /// this one. What a resumption says that is not `known` yet, nobody can judge.
    fn has_ended(&self, source: &SenderSession, known: u32) -> bool {
        let last = self.sessions_of(source.sender, known).next_back();
        last.is_some_and(|last| last.resumption > source.resumption)
    }

    /// Returns the sessions of a sender that were heard in this period, as far as they began after
    /// this resumption at the latest, by resumption.
    fn sessions_of(
        &self,
        sender: MemberId,
        resumption: u32,
    ) -> impl DoubleEndedIterator<Item = &SenderSession> {
        let first = SenderSession { sender, resumption: 0, session: [0; 8] };
        let last = SenderSession { sender, resumption, session: [u8::MAX; 8] };
        self.sources.range(first..=last).map(|(source, _)| source)
    }

    fn key_of(&self, cx: &mut Context<'_>, header: &ObjectHeader) -> Key {
        cx.derive(&self.key, LABEL, &header.circumstances())
    }
}

fn draw_session(cx: &mut Context<'_>) -> [u8; 8] {
    *cx.random_key().as_bytes().first_chunk().expect("a key is longer")
}

/// How often a sender that signs may start within an epoch, so that one member cannot fill the memory of
/// sources. No session makes room for another: its recorded messages would be taken once more.
const SESSIONS: usize = 8;

/// A sender shows its credential in each message whose counter is a multiple of this. Who missed the
/// first waits for fifteen messages at most, of a sender that sends so many in 10 s.
const INTRODUCED_EVERY: u64 = 16;

/// A sender shows its credential if it has not done so for this time, ns. So the next word of one that
/// speaks seldom is understood whatever was lost before.
const INTRODUCED_WITHIN: u64 = 10_000_000_000;

/// The label for the derivation of message keys.
const LABEL: &str = "groupkey message";

/// The label for the value that represents a message key in a signature: different keys may have
/// the same name, under one epoch.
const SIGNED: &str = "groupkey signed message";

/// The label for what stands before the counter in a synthetic nonce.
const NONCE: &str = "groupkey message nonce";

/// Encrypts a message under its sender's key. The header has the counter, and gets its nonce here.
fn seal(
    cx: &mut Context<'_>,
    key: &Key,
    mut header: ObjectHeader,
    extras: Extras<'_>,
    content: &[u8],
) -> Result<Vec<u8>, Error> {
    if header.nonces == Nonces::Synthetic {
        header.nonce = synthetic_nonce(cx, key, header.nonce.counter(), content);
    }
    let protected = header.encode(cx.suite(), extras.carried);
    let mut sealed = match header.signed {
        true => signed(cx, key, &protected, extras.credential, content)?,
        false => content.to_vec(),
    };
    let covered = encrypt_structure(cx.group_context(), &protected);
    cx.seal(key, header.nonce, &covered, &mut sealed)?;
    Ok(Object::encode(&protected, &sealed))
}

/// Returns the nonce of this content. It follows from all that is encrypted: the signature, too, follows
/// from the content.
fn synthetic_nonce(cx: &mut Context<'_>, key: &Key, counter: u64, content: &[u8]) -> MessageNonce {
    let hashed = Zeroizing::new([&counter.to_be_bytes()[..], content].concat());
    let hash = cx.derive(key, NONCE, &hashed);
    MessageNonce::synthetic(counter, hash.as_bytes().first_chunk().expect("a key is longer"))
}

fn signed(
    cx: &mut Context<'_>,
    key: &Key,
    protected: &[u8],
    credential: Option<&[u8]>,
    content: &[u8],
) -> Result<Vec<u8>, Error> {
    let binding = cx.derive(key, SIGNED, &[]);
    let signing = cx.suite().signing();
    let structure = signature_structure(signing, protected, &binding, content);
    let signature = &cx.sign(&structure)?;
    Ok(SignedContent { content, signature: signature.as_ref(), credential }.encode(signing))
}

/// Decrypts a message and checks its signature, if it has one. `known` is the public key of a sender
/// that introduced itself. Returns the content, and the key of a sender that introduces itself now.
fn decrypt(
    cx: &mut Context<'_>,
    key: &Key,
    object: &Object<'_>,
    known: Option<&[u8]>,
) -> Result<(Vec<u8>, Option<PublicIdentity>), Error> {
    let &Object { header, protected, sealed, .. } = object;
    let mut content = sealed.to_vec();
    let covered = encrypt_structure(cx.group_context(), protected);
    let opened = cx.unseal(key, header.nonce, &covered, &mut content);
    if opened.is_err() {
        content.zeroize();
    }
    opened?;
    if !header.signed {
        return Ok((content, None));
    }
    let SignedContent { content: said, signature, credential } =
        SignedContent::decode(cx.suite().signing(), &content).ok_or(Misbehaviour::Malformed)?;
    let binding = cx.derive(key, SIGNED, &[]);
    let structure = signature_structure(cx.suite().signing(), protected, &binding, said);
    let sender = header.source.sender.into();
    let introduced = cx.verify_introduced(sender, known, credential, &structure, signature)?;
    Ok((said.to_vec(), introduced))
}

/// Returns the reason for refusing a message for which there is no key.
fn no_key(got: Epoch, current: Epoch) -> Error {
    if got > current {
        Misbehaviour::SkippedEpoch { got, current }.into()
    } else {
        Misbehaviour::StaleEpoch { got, current }.into()
    }
}
