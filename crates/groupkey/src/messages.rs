//! Messages to the group under its key: COSE_Encrypt0 objects (RFC 9052), whatever the scheme.
//!
//! Source: S003 definition 3.2 for what members do; OSCORE (RFC 8613) and RFC 4303 for how senders are
//! kept apart and replays out. `docs/messages.md` has the format to the byte.
//!
//! - The key id is group and epoch, the partial IV the sender's counter. The sender is in the key
//!   id's context, with a session that the sender draws when it starts and increases with each key,
//!   so that one that has forgotten its counters cannot use one twice.
//! - Each sender's key is derived from the group key for group, epoch, sender and session. The nonce
//!   is the counter.
//! - A message is taken once. It may be 63 behind its sender's newest.
//! - Messages of the epoch before the current one are taken for a time of grace. Then its key is
//!   wiped. A message of a later epoch says that something was missed.
//! - With signatures, a COSE_Sign1 is encrypted (signed first, so that nobody without the key sees
//!   who signed what). It covers the protected header around it, and the key that encrypts it, so that a
//!   member cannot put what another one said into a message of its own, nor under another key. Without, any member can speak in the name of any other.
//!
//! Where a scheme has encryption of its own, [`Messenger::encrypt`] makes messages with it: each has
//! a key of its own, and carries it.
//!
//! What this does not do: a receiver that starts again has no memory of what it took, so it takes what is
//! replayed to it within an epoch once more. Keep the [`Messenger`], or change the group key.
//!
//! Why CBOR by hand: of the four shapes that COSE has here, each has exactly one encoding, and a
//! library that reads more than that would have to be held back. An independent library reads them in
//! `tests/laws/cose.rs`.
//!
//! ```
//! use groupkey::messages::{Messenger, Settings};
//! use groupkey::rig::Rig;
//! use groupkey::{MemberId, catalogue};
//!
//! let mut rig = Rig::new(catalogue::scheme("tgdh").unwrap(), Default::default());
//! rig.create(4).unwrap();
//! let [mut alice, mut bob] = [0, 3].map(|id| {
//!     rig.at(MemberId(id), |cx, party| {
//!         let mut messenger = Messenger::new(cx, Settings::default()).unwrap();
//!         messenger.follow(cx, party);
//!         messenger
//!     })
//! });
//! let bytes = rig.at(MemberId(0), |cx, _| alice.seal(cx, b"slippery road")).unwrap();
//! let message = rig.at(MemberId(3), |cx, _| bob.open(cx, &bytes)).unwrap();
//! assert_eq!((message.sender, &message.content[..]), (MemberId(0), &b"slippery road"[..]));
//! ```

mod encryption;
mod object;
mod window;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroize;

use self::object::{
    COUNTERS, Header, Object, Source, decode_signed, encode_signed, encrypt_structure,
    signature_structure,
};
use self::window::Window;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId, PartyId};
use crate::party::{MessageKey, Party};
use crate::secret::Key;

/// What members of a group must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long messages of the epoch before are taken, in ns.
    pub grace: u64,
    /// Whether senders sign. Then the group must be protected by signatures.
    pub signed: bool,
    /// Senders of an epoch whose counters are remembered, at most: 56 bytes each.
    pub sources: usize,
}

/// Encrypts a member's messages to its group, and decrypts those of the others.
pub struct Messenger {
    me: MemberId,
    /// Increases with each key, so that one that comes back is another source's.
    session: u64,
    settings: Settings,
    current: Option<Period>,
    /// With the time (ns) at which it ends.
    previous: Option<(Period, u64)>,
}

/// A message that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The epoch whose key it was encrypted under.
    pub epoch: Epoch,
    /// Who sent it: proven if senders sign, else one of the members.
    pub sender: MemberId,
    /// What was said.
    pub content: Vec<u8>,
}

impl Default for Settings {
    /// Ten seconds of grace, no signatures, as many senders as S002 has members.
    fn default() -> Self {
        Self { grace: 10_000_000_000, signed: false, sources: 55_000 }
    }
}

impl Messenger {
    /// A messenger without a key, for the member whose context this is. Draws a session.
    pub fn new(cx: &mut Context<'_>, settings: Settings) -> Result<Self, Error> {
        let PartyId::Member(me) = cx.me() else { return Err(Misuse::WrongRole.into()) };
        let random = cx.random_key();
        let session = random.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Ok(Self { me, session, settings, current: None, previous: None })
    }

    /// Takes the key that a party has now: the group's, or in schemes that have keys for messages
    /// that of the last one that went around ([`Party::message_key`]). Such a key counts as epoch 0,
    /// and is good for one message of the member that began it; without one nothing can be sent. To
    /// be called after every step of the party; if nothing has changed, nothing happens.
    pub fn follow(&mut self, cx: &Context<'_>, party: &dyn Party) {
        if !party.keys_messages() {
            if let Some((epoch, key)) = party.group_key() {
                self.rekeyed(cx, epoch, key);
            }
            return;
        }
        match party.message_key() {
            Some(MessageKey { key, own }) => self.begin(cx, Epoch(0), key, Some(u64::from(own))),
            None => self.end_current(cx),
        }
    }

    /// Takes a new group key. The one before it stays for the time of grace.
    pub fn rekeyed(&mut self, cx: &Context<'_>, epoch: Epoch, key: &Key) {
        self.begin(cx, epoch, key, None);
    }

    /// Encrypts a message to the group, of at most 65,535 bytes, or 65,459 if it is signed.
    pub fn seal(&mut self, cx: &mut Context<'_>, content: &[u8]) -> Result<Vec<u8>, Error> {
        let (me, session, signed) = (self.me, self.session, self.settings.signed);
        let period = self.current.as_mut().ok_or(Misuse::NotCreated)?;
        let counter = period.next_counter()?;
        let source = Source { sender: me, session: session.to_be_bytes() };
        let header = Header { group: cx.group(), epoch: period.epoch, counter, source, signed };
        let protected = header.encode(cx.suite(), None);
        let key = match period.own.take() {
            Some(own) => own.key,
            None => period.key_of(cx, &header),
        };
        let sealed = signed_if(cx, signed, &key, &protected, content).and_then(|mut content| {
            cx.seal(&key, counter, &encrypt_structure(&protected), &mut content)?;
            Ok(content)
        });
        // A message that is too long has used no counter.
        let counter = counter + u64::from(sealed.is_ok());
        period.own = Some(Own { key, counter });
        Ok(Object::encode(&protected, &sealed?))
    }

    /// Decrypts a message. On an error nothing has changed, and the message can be offered again:
    /// after [`SkippedEpoch`](Misbehaviour::SkippedEpoch), once the member has caught up.
    pub fn open(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<Received, Error> {
        self.end_grace(cx.now());
        let object = Object::decode(cx.suite(), bytes)?;
        let header = object.header;
        self.require_ours(cx, &header)?;
        if object.carried.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let previous = self.previous.as_mut().map(|(period, _)| period);
        let latest = self.current.as_ref().or(previous.as_deref()).ok_or(Misuse::NotCreated)?;
        let current = latest.epoch;
        let mut refusal = no_key(header.epoch, current);
        for period in self.current.iter_mut().chain(previous) {
            if period.epoch == header.epoch {
                match period.open(cx, &object, None, self.settings.sources) {
                    // Without epochs, it may be one of the message key before, whose counters were the
                    // same; a replay under one key is noise under the other.
                    Err(Error::Misbehaved(
                        why @ (Misbehaviour::Forged | Misbehaviour::Replayed),
                    )) => {
                        if refusal != Misbehaviour::Replayed.into() {
                            refusal = why.into();
                        }
                    }
                    taken => return taken,
                }
            }
        }
        Err(refusal)
    }

    /// Begins the time of a key, in which so many messages may be sent, if there is a limit.
    fn begin(&mut self, cx: &Context<'_>, epoch: Epoch, key: &Key, seals: Option<u64>) {
        if self.current.as_ref().is_some_and(|period| period.epoch == epoch && period.key == *key) {
            return;
        }
        self.end_current(cx);
        self.session = self.session.wrapping_add(1);
        let (key, sources) = (key.clone(), BTreeMap::new());
        self.current = Some(Period { epoch, key, seals, own: None, sources });
    }

    /// Ends the time of the present key, but for that of grace.
    fn end_current(&mut self, cx: &Context<'_>) {
        if let Some(period) = self.current.take() {
            self.previous = Some((period, cx.now().saturating_add(self.settings.grace)));
        }
    }

    /// Refuses what is of another group, or signed where it must not be, or not where it must.
    fn require_ours(&self, cx: &Context<'_>, header: &Header) -> Result<(), Error> {
        if header.group != cx.group() {
            return Err(Misbehaviour::ForeignGroup.into());
        }
        if header.signed != self.settings.signed {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        Ok(())
    }

    /// Wipes the key of the epoch before, if its time is over. [`Self::open`] does so as well; a member
    /// that hears nothing should.
    pub fn end_grace(&mut self, now: u64) {
        // In place: what is moved out leaves a copy behind.
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

/// The time of one group key, or of one message's.
struct Period {
    epoch: Epoch,
    key: Key,
    /// How many messages this member may send, if there is a limit.
    seals: Option<u64>,
    own: Option<Own>,
    sources: BTreeMap<Source, Heard>,
}

/// The key that this member sends under, and the counter of its next message.
struct Own {
    key: Key,
    counter: u64,
}

/// The key that another member sends under, and the counters that came from it.
struct Heard {
    key: Key,
    window: Window,
}

impl Period {
    /// The counter of this member's next message.
    fn next_counter(&self) -> Result<u64, Error> {
        let counter = self.own.as_ref().map_or(0, |own| own.counter);
        if counter >= self.seals.unwrap_or(COUNTERS) {
            return Err(Misuse::CountersUsedUp.into());
        }
        Ok(counter)
    }

    /// Opens a message, under the key that it carries or else its source's, if it was not taken yet.
    fn open(
        &mut self,
        cx: &mut Context<'_>,
        object: &Object<'_>,
        carried: Option<&Key>,
        limit: usize,
    ) -> Result<Received, Error> {
        let Object { header, protected, sealed, .. } = object;
        let Source { sender, .. } = header.source;
        let known = self.sources.get(&header.source);
        if known.is_some_and(|heard| !heard.window.takes(header.counter)) {
            return Err(Misbehaviour::Replayed.into());
        }
        let key = known.map(|heard| heard.key.clone()).unwrap_or_else(|| self.key_of(cx, header));
        let content = decrypt(cx, carried.unwrap_or(&key), header, protected, sealed)?;
        let of_sender = |session| Source { sender, session };
        let sessions = self.sources.range(of_sender([0; 8])..=of_sender([u8::MAX; 8])).count();
        let limit = if sessions < SESSIONS { limit } else { SESSIONS };
        let is_full = sessions >= SESSIONS || self.sources.len() == limit;
        match self.sources.get_mut(&header.source) {
            Some(heard) => heard.window.note(header.counter),
            None if is_full => {
                return Err(Unsupported::TooManySources { limit }.into());
            }
            None => {
                let mut window = Window::default();
                window.note(header.counter);
                self.sources.insert(header.source, Heard { key, window });
            }
        }
        Ok(Received { epoch: header.epoch, sender, content })
    }

    /// The key of a source in this period.
    fn key_of(&self, cx: &mut Context<'_>, header: &Header) -> Key {
        cx.derive(&self.key, LABEL, &header.circumstances())
    }
}

/// Times that a sender may have started within an epoch: more would fill the memory of sources.
const SESSIONS: usize = 8;

/// What keys of messages are derived for.
const LABEL: &str = "groupkey message";

/// And what represents such a key in a signature: keys may come again in name, under one epoch.
const SIGNED: &str = "groupkey signed message";

/// The content, in a signed one if there must be a signature.
fn signed_if(
    cx: &mut Context<'_>,
    signed: bool,
    key: &Key,
    protected: &[u8],
    content: &[u8],
) -> Result<Vec<u8>, Error> {
    if !signed {
        return Ok(content.to_vec());
    }
    let binding = cx.derive(key, SIGNED, &[]);
    let signature = cx.sign(&signature_structure(protected, &binding, content))?;
    Ok(encode_signed(content, &signature))
}

/// Decrypts a message and checks its signature, if it has one.
fn decrypt(
    cx: &mut Context<'_>,
    key: &Key,
    header: &Header,
    protected: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, Error> {
    let mut content = sealed.to_vec();
    let opened = cx.unseal(key, header.counter, &encrypt_structure(protected), &mut content);
    if opened.is_err() {
        content.zeroize();
    }
    opened?;
    if !header.signed {
        return Ok(content);
    }
    let (said, signature) = decode_signed(&content).ok_or(Misbehaviour::Malformed)?;
    let binding = cx.derive(key, SIGNED, &[]);
    let structure = signature_structure(protected, &binding, said);
    cx.verify(header.source.sender.into(), &structure, signature)?;
    Ok(said.to_vec())
}

/// Why a message for which there is no key is refused.
fn no_key(got: Epoch, current: Epoch) -> Error {
    if got > current {
        Misbehaviour::SkippedEpoch { got, current }.into()
    } else {
        Misbehaviour::StaleEpoch { got, current }.into()
    }
}
