//! One party of a group on a transport of your own: CoAP, LoRa, CAN or a serial line.
//!
//! A [`Device`] has no I/O, no clock and no async runtime. Three calls are the whole loop of a
//! program:
//!
//! 1. [`Device::receive`] takes the bytes of a message and the time, and returns what happened.
//! 2. [`Device::outgoing`] yields the messages to transmit, with their recipients.
//! 3. [`Device::group_key`] is the key that the group has now. [`Device::send`] and `receive`
//!    encrypt and decrypt messages under it, if the device was made
//!    [with messages](Device::with_messages).
//!
//! The transport may lose, repeat and reorder messages. If a device cannot use a message, it
//! returns an [`Error`] and keeps its state. The time is in ns since an origin of your choice, and
//! must not go back.
//!
//! **Deployment.** Before a member joins, the controller gives it an individual key. That message
//! needs a channel that is confidential and authentic, such as a cable, DTLS or EDHOC:
//! [`Device::confidential`] yields it, and [`Device::receive_confidential`] takes it. A distributed
//! scheme has no such step.
//!
//! **Missed changes.** If `receive` returns
//! [`Misbehaviour::SkippedEpoch`](crate::error::Misbehaviour::SkippedEpoch), give the device
//! [`Command::CatchUp`] and transmit the request.
//!
//! **Restarts.** A member of a scheme with a controller keeps its membership ([`Device::membership`]), and
//! resumes it ([`Device::resume`]): the group's key stays. Without that, the controller removes it and
//! adds it again.
//!
//! **Evictions.** In a distributed scheme the members tell each other who the members are. Who joins
//! or catches up believes every device whose public key it has, an evicted one included. So give
//! [`Device::forget`] to all devices when a member is evicted, and before a device joins or
//! catches up.
//!
//! **Limits.** Schemes that need the members' long-term keys (`cka`, `d-lkh`, `d-oft`) need a
//! [`Context`](crate::Context::with_peer_keys) instead. Members of a distributed scheme must get
//! commands in one order: hand [`Device::new`] an [`Ordered`](crate::Ordered) party.
//!
//! ```
#![doc = include_str!("../examples/own_transport.rs")]
//! ```

mod resumption;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::context::{Context, Setting};
use crate::crypto::Suite;
use crate::error::{Error, Misuse};
use crate::identity::{Epoch, GroupId, Instance, MemberId, PartyId};
use crate::messages::{self, Messenger, Received};
use crate::outbox::{Channel, Event, Outbox, Recipient};
use crate::party::{Command, Party};
use crate::protection::{Directory, Identity, MacKey, Protection, PublicIdentity};
use crate::schemes::catalogue::Configuration;
use crate::secret::Key;

/// A party with everything that it needs between two messages.
pub struct Device {
    setting: Setting,
    me: PartyId,
    keys: Keys,
    party: Box<dyn Party>,
    rng: Box<dyn CryptoRng + Send>,
    talk: Option<Box<dyn GroupMessages>>,
    outbox: Outbox,
    open: VecDeque<(Recipient, Vec<u8>)>,
    confidential: VecDeque<(Recipient, Zeroizing<Vec<u8>>)>,
    /// What the controller gave over the confidential channel, if the device remembers it.
    enrolment: Option<Vec<Zeroizing<Vec<u8>>>>,
    /// Whether the device has resumed its membership, and has no key yet.
    resumes: bool,
}

/// What all devices of a group agree on. If one has something else, the others refuse its messages.
#[derive(Clone, Debug)]
pub struct Group {
    /// The scheme with its profile and parameters.
    pub configuration: Configuration,
    /// The algorithms.
    pub suite: Suite,
    /// The group's number.
    pub id: GroupId,
    /// The founding of the group: 16 random bytes, drawn whenever it is founded. They are not secret.
    pub instance: Instance,
}

/// The keys with which a device protects its messages and checks messages of other devices.
#[derive(Debug)]
pub enum Keys {
    /// One key for all devices: 16 bytes a message. Any device can send in the name of any other.
    Mac(MacKey),
    /// One signature (Ed25519) for all messages of a step: 88 bytes a message, and 16 for each level of
    /// their hash tree. For controllers that send many messages at once.
    Merkle {
        /// The key with which this device signs.
        identity: Identity,
        /// The public keys of the devices whose messages are accepted.
        directory: BTreeMap<PartyId, PublicIdentity>,
    },
    /// A signature (Ed25519): 64 bytes a message. Only the sender can have made it.
    Signature {
        /// The key with which this device signs.
        identity: Identity,
        /// The public keys of the devices whose messages are accepted.
        directory: BTreeMap<PartyId, PublicIdentity>,
    },
}

/// The result of a message or a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceOutput {
    /// An event that the scheme reports, such as [`Event::Rekeyed`].
    Event(Event),
    /// Another member sent a message to the group.
    Message(Received),
}

impl Device {
    /// Creates a member of a scheme of the catalogue.
    pub fn member(
        group: &Group,
        me: MemberId,
        keys: Keys,
        rng: impl CryptoRng + Send + 'static,
    ) -> Self {
        Self::new(group.configuration.member(me), me.into(), group.setting(&keys), keys, rng)
    }

    /// Creates the controller of a scheme of the catalogue. Returns `None` if the scheme is
    /// distributed.
    pub fn controller(
        group: &Group,
        keys: Keys,
        rng: impl CryptoRng + Send + 'static,
    ) -> Option<Self> {
        let party = group.configuration.controller()?;
        Some(Self::new(party, PartyId::Controller, group.setting(&keys), keys, rng))
    }

    /// Creates a device for any party. `rng` must be a generator of cryptographic quality. If the
    /// running program can be copied, as a virtual machine is, `rng` must ask the operating system for
    /// each value: of two copies of a generator both draw the same keys.
    pub fn new(
        party: Box<dyn Party>,
        me: PartyId,
        setting: Setting,
        keys: Keys,
        rng: impl CryptoRng + Send + 'static,
    ) -> Self {
        Self {
            setting,
            me,
            keys,
            party,
            rng: Box::new(rng),
            talk: None,
            outbox: Outbox::new(),
            open: VecDeque::new(),
            confidential: VecDeque::new(),
            enrolment: None,
            resumes: false,
        }
    }

    /// Lets the device exchange messages with the group. Whether senders sign must be the same at all
    /// members. A program that does not call this links no code for messages.
    #[must_use]
    pub fn with_messages(mut self, settings: messages::MessageSettings) -> Self {
        self.talk = Some(Box::new(Conversation {
            settings,
            messenger: None,
            resumptions: 0,
            resumed: None,
        }));
        self
    }

    /// Gives the party a command. [`Command`] says which party gets which.
    pub fn command(&mut self, command: Command<'_>, now: u64) -> Result<Vec<DeviceOutput>, Error> {
        self.step(now, |cx, party| cx.command(party, command))
    }

    /// Processes a message as it came over the transport: a message of the scheme, or a member's
    /// message to the group.
    pub fn receive(&mut self, bytes: &[u8], now: u64) -> Result<Vec<DeviceOutput>, Error> {
        if bytes.first() != Some(&COSE_ENCRYPT0) {
            self.require_answer(bytes)?;
            return self.step(now, |cx, party| cx.deliver(party, Channel::Open, bytes));
        }
        let received = self.talk(now, |cx, talk| talk.open(cx, bytes))?;
        let is_echo = PartyId::Member(received.sender) == self.me;
        Ok(if is_echo { Vec::new() } else { [DeviceOutput::Message(received)].into() })
    }

    /// Processes a message that came over the confidential channel of the deployment phase.
    pub fn receive_confidential(
        &mut self,
        bytes: &[u8],
        now: u64,
    ) -> Result<Vec<DeviceOutput>, Error> {
        let happened =
            self.step(now, |cx, party| cx.deliver(party, Channel::Confidential, bytes))?;
        self.enrolment
            .iter_mut()
            .for_each(|enrolment| enrolment.push(Zeroizing::new(bytes.to_vec())));
        Ok(happened)
    }

    /// Encrypts at most 65,535 bytes to the group. [`Self::outgoing`] yields the message.
    pub fn send(&mut self, content: &[u8], now: u64) -> Result<(), Error> {
        let sealed = self.talk(now, |cx, talk| talk.seal(cx, content))?;
        self.open.push_back((Recipient::Group, sealed));
        Ok(())
    }

    /// Refuses all that a party says from now on: takes its public key out of the directory. Fails
    /// with [`Misuse::NoIdentity`] if a MAC protects the group: nothing keeps a former member from
    /// speaking for others then.
    pub fn forget(&mut self, party: PartyId) -> Result<(), Error> {
        match &mut self.keys {
            Keys::Mac(_) => Err(Misuse::NoIdentity.into()),
            Keys::Merkle { directory, .. } | Keys::Signature { directory, .. } => {
                directory.remove(&party);
                Ok(())
            }
        }
    }

    /// Yields the messages to transmit, oldest first. Each is yielded once.
    pub fn outgoing(&mut self) -> impl Iterator<Item = (Recipient, Vec<u8>)> {
        core::iter::from_fn(|| self.open.pop_front())
    }

    /// Yields the messages that need a confidential and authentic channel, oldest first. Each is
    /// yielded once.
    pub fn confidential(&mut self) -> impl Iterator<Item = (Recipient, Zeroizing<Vec<u8>>)> {
        core::iter::from_fn(|| self.confidential.pop_front())
    }

    /// Returns the group key and its epoch; `None` before the device has one.
    pub fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.party.group_key()
    }

    /// Fills `output` with bytes that follow from the group key, for another protocol
    /// ([`exporter`](crate::exporter)). Returns the epoch. Fails with [`Misuse::NotCreated`] before
    /// the device has a key.
    pub fn export(&self, label: &str, context: &[u8], output: &mut [u8]) -> Result<Epoch, Error> {
        let key = self.group_key().ok_or(Misuse::NotCreated)?;
        self.setting.export(key, label, context, output)?;
        Ok(key.0)
    }

    /// Returns which party this is.
    pub const fn me(&self) -> PartyId {
        self.me
    }

    fn step(
        &mut self,
        now: u64,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) -> Result<Vec<DeviceOutput>, Error> {
        let Self { setting, me, keys, party, rng, outbox, .. } = self;
        let (protection, mut probe) = (keys.protection(), ());
        let mut cx = Context::new(*setting, *me, protection, &mut **rng, now, outbox, &mut probe);
        act(&mut cx, &mut **party)?;
        if let (PartyId::Member(_), Some(talk)) = (self.me, &mut self.talk) {
            talk.follow(&mut cx, &**party)?;
        }
        self.resumes &= self.party.group_key().is_none();
        let happened = self.outbox.events().iter().copied().map(DeviceOutput::Event).collect();
        for message in self.outbox.messages() {
            let bytes = message.bytes.to_vec();
            match message.channel {
                Channel::Confidential => {
                    self.confidential.push_back((message.to, Zeroizing::new(bytes)));
                }
                Channel::Open => self.open.push_back((message.to, bytes)),
            }
        }
        self.outbox.clear();
        Ok(happened)
    }

    fn talk<T>(
        &mut self,
        now: u64,
        act: impl FnOnce(&mut Context<'_>, &mut dyn GroupMessages) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Self { setting, me, keys, rng, outbox, talk, .. } = self;
        let talk = talk.as_mut().ok_or(Misuse::NoMessages)?;
        let (protection, mut probe) = (keys.protection(), ());
        let mut cx = Context::new(*setting, *me, protection, &mut **rng, now, outbox, &mut probe);
        act(&mut cx, &mut **talk)
    }
}

/// Messages with the group. A device has them behind this interface, so that nobody links them who
/// does not use them.
trait GroupMessages: Send {
    fn follow(&mut self, cx: &mut Context<'_>, party: &dyn Party) -> Result<(), Error>;

    /// Encrypts. Fails with [`Misuse::NotCreated`] if the device had no group key yet.
    fn seal(&mut self, cx: &mut Context<'_>, content: &[u8]) -> Result<Vec<u8>, Error>;

    /// Decrypts. Fails as [`Self::seal`], or if nobody of the group has sent this.
    fn open(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<Received, Error>;

    fn note_resumptions(&mut self, count: u32);

    /// Takes no message of the first epoch whose session began before this resumption.
    fn resume(&mut self, count: u32);
}

struct Conversation {
    settings: messages::MessageSettings,
    /// Present from the first group key on.
    messenger: Option<Messenger>,
    resumptions: u32,
    /// The resumption of this device, until it has a key.
    resumed: Option<u32>,
}

impl GroupMessages for Conversation {
    fn follow(&mut self, cx: &mut Context<'_>, party: &dyn Party) -> Result<(), Error> {
        if self.messenger.is_none() && party.group_key().is_some() {
            self.messenger = Some(Messenger::new(cx, self.settings)?);
        }
        if let Some(messenger) = &mut self.messenger {
            messenger.follow(cx, party);
            messenger.note_resumption(self.resumptions);
            self.resumed.take().into_iter().for_each(|count| messenger.require_resumption(count));
        }
        Ok(())
    }

    fn seal(&mut self, cx: &mut Context<'_>, content: &[u8]) -> Result<Vec<u8>, Error> {
        self.messenger.as_mut().ok_or(Misuse::NotCreated)?.seal(cx, content)
    }

    fn open(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<Received, Error> {
        self.messenger.as_mut().ok_or(Misuse::NotCreated)?.open(cx, bytes)
    }

    fn note_resumptions(&mut self, count: u32) {
        self.resumptions = count.max(self.resumptions);
        self.messenger.iter_mut().for_each(|messenger| messenger.note_resumption(count));
    }

    fn resume(&mut self, count: u32) {
        self.resumptions = count.max(self.resumptions);
        self.resumed = Some(count);
    }
}

impl Group {
    /// Returns the setting of a device with these keys. A transport of one's own has no prefix.
    fn setting(&self, keys: &Keys) -> Setting {
        let Self { configuration, suite, id, instance } = self;
        configuration.setting(*id, *suite, keys.protection().guard(), "", *instance)
    }
}

impl Keys {
    /// Makes keys for a MAC under a key of these bytes.
    pub fn mac(key: [u8; 32]) -> Self {
        Self::Mac(MacKey::from_bytes(key))
    }

    const fn protection(&self) -> Protection<'_> {
        match self {
            Self::Mac(key) => Protection::Mac(key),
            Self::Merkle { identity, directory } => Protection::Merkle { identity, directory },
            Self::Signature { identity, directory } => {
                Protection::Signature { identity, directory }
            }
        }
    }
}

impl Directory for BTreeMap<PartyId, PublicIdentity> {
    fn public_identity(&self, party: PartyId) -> Option<PublicIdentity> {
        self.get(&party).cloned()
    }
}

/// The first byte of a message to the group (RFC 9052, section 2: tag 16). A message of a scheme
/// begins with an array.
const COSE_ENCRYPT0: u8 = 0xd0;

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("me", &self.me)
            .field("setting", &self.setting)
            .field("epoch", &self.group_key().map(|(epoch, _)| epoch))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::catalogue::{self, Profile};
    use crate::error::Misbehaviour;

    const IDS: [MemberId; 3] = [MemberId(0), MemberId(1), MemberId(2)];

    fn group(scheme: &str) -> Group {
        let configuration = catalogue::scheme(scheme).unwrap().configuration(Profile::Sound);
        let (suite, id, instance) = (Suite::Standard, GroupId(1), Instance([5; 16]));
        Group { configuration, suite, id, instance }
    }

    /// Returns a gateway and three members whose messages are signed, before the group is created.
    fn deployed() -> (Device, [Device; 3]) {
        deployed_with(|identity, directory| Keys::Signature { identity, directory })
    }

    fn deployed_with(
        keys: fn(Identity, BTreeMap<PartyId, PublicIdentity>) -> Keys,
    ) -> (Device, [Device; 3]) {
        let secret = |party: PartyId| [party.number() as u8 + 1; 32];
        let parties = [PartyId::Controller].into_iter().chain(IDS.map(PartyId::Member));
        let directory = parties
            .map(|party| (party, Identity::from_secret(&secret(party)).public()))
            .collect::<BTreeMap<_, _>>();
        let keys = |party| keys(Identity::from_secret(&secret(party)), directory.clone());
        let rng = |party| ChaCha20Rng::from_seed(secret(party));
        let (group, me) = (group("lkh-group"), PartyId::Controller);
        let mut gateway = Device::controller(&group, keys(me), rng(me)).unwrap();
        let mut members = IDS.map(|me| {
            let (keys, rng) = (keys(me.into()), rng(me.into()));
            Device::member(&group, me, keys, rng)
                .with_messages(messages::MessageSettings::default())
        });
        gateway.command(Command::Enroll(&IDS), 0).unwrap();
        assert_eq!(gateway.outgoing().count(), 0, "individual keys do not leave in the clear");
        for (member, (to, bytes)) in members.iter_mut().zip(gateway.confidential()) {
            assert_eq!(to, member.me().into());
            assert_eq!(member.receive(&bytes, 0), Err(Misbehaviour::WrongChannel.into()));
            member.receive_confidential(&bytes, 0).unwrap();
        }
        (gateway, members)
    }

    #[test]
    fn a_member_that_missed_an_epoch_catches_up() {
        let of_a_step = |identity, directory| Keys::Merkle { identity, directory };
        for group in [deployed(), deployed_with(of_a_step)] {
            misses_an_epoch_and_catches_up(group);
        }
    }

    fn misses_an_epoch_and_catches_up(group: (Device, [Device; 3])) {
        let (mut gateway, [mut first, mut second, _]) = group;
        gateway.command(Command::Create(&IDS[..2]), 0).unwrap();
        let created: Vec<_> = gateway.outgoing().collect();
        for (_, bytes) in created {
            first.receive(&bytes, 0).unwrap();
            second.receive(&bytes, 0).unwrap();
        }
        let mut missed = None;
        for order in [Command::Add(IDS[2]), Command::Remove(IDS[2])] {
            gateway.command(order, 1).unwrap();
            let sent: Vec<_> = gateway.outgoing().collect();
            for (to, bytes) in
                sent.into_iter().filter(|(to, _)| to.includes(IDS[1].into(), |_| true))
            {
                second.receive(&bytes, 1).unwrap();
                missed = Some((to, bytes));
            }
        }
        let (_, latest) = missed.unwrap();
        let refusal = first.receive(&latest, 1).unwrap_err();
        assert!(matches!(refusal, Error::Misbehaved(Misbehaviour::SkippedEpoch { .. })));
        first.command(Command::CatchUp, 1).unwrap();
        let (_, request) = first.outgoing().next().unwrap();
        gateway.receive(&request, 1).unwrap();
        let (_, answer) = gateway.outgoing().next().unwrap();
        let happened = first.receive(&answer, 1).unwrap();
        assert!(happened.contains(&DeviceOutput::Event(Event::Rekeyed(Epoch(3)))));
        assert_eq!(first.group_key(), gateway.group_key());
        assert_eq!(first.group_key(), second.group_key());
    }

    /// That is why a program that can be copied asks the operating system for each random value.
    #[test]
    fn two_copies_of_a_generator_draw_the_same_key() {
        let [one, other] = [IDS[0], IDS[1]].map(|evicted| {
            let (mut gateway, _) = deployed();
            gateway.command(Command::Create(&IDS), 0).unwrap();
            gateway.command(Command::Remove(evicted), 1).unwrap();
            gateway
        });
        assert_eq!(one.group_key(), other.group_key());
    }

    /// The last of four is evicted while the third sleeps, goes on with that one alone, by honest code,
    /// and answers it when it catches up.
    #[test]
    fn a_member_that_catches_up_believes_nobody_that_it_was_told_to_forget() {
        for (scheme, forgets) in ["tgdh", "dh-lkh", "gdh2", "gdh3"]
            .into_iter()
            .flat_map(|scheme| [(scheme, false), (scheme, true)])
        {
            let group = group(scheme);
            let ids = [0, 1, 2, 3].map(MemberId);
            let secret = |id: MemberId| [id.0 as u8 + 1; 32];
            let directory: BTreeMap<PartyId, _> = ids
                .iter()
                .map(|&id| (id.into(), Identity::from_secret(&secret(id)).public()))
                .collect();
            let mut devices = ids.map(|me| {
                let identity = Identity::from_secret(&secret(me));
                let keys = Keys::Signature { identity, directory: directory.clone() };
                let rng = ChaCha20Rng::from_seed(secret(me));
                Device::member(&group, me, keys, rng)
            });
            for device in &mut devices {
                device.command(Command::Create(&ids), 0).unwrap();
            }
            exchange(&mut devices.iter_mut().collect::<Vec<_>>());
            let [first, second, sleeper, evicted] = &mut devices;
            for device in [&mut *first, &mut *second] {
                device.command(Command::Remove(ids[3]), 0).unwrap();
            }
            exchange(&mut [first, second]);
            evicted.command(Command::Partition(&ids[..2]), 0).unwrap();
            exchange(&mut [evicted]);
            let before = sleeper.group_key().map(|(epoch, key)| (epoch, key.clone()));
            if forgets {
                sleeper.forget(ids[3].into()).unwrap();
            }
            sleeper.command(Command::CatchUp, 1).unwrap();
            exchange(&mut [sleeper, evicted]);
            let known = sleeper.group_key().map(|(epoch, key)| (epoch, key.clone()));
            assert_eq!(known == before, forgets, "{scheme}");
            assert_eq!(sleeper.group_key() == evicted.group_key(), !forgets, "{scheme}");
        }
    }

    /// Delivers what these devices say to each other, and drops what they say to others.
    fn exchange(devices: &mut [&mut Device]) {
        for _ in 0..100 {
            let mut sent = Vec::new();
            for device in devices.iter_mut() {
                let from = device.me();
                sent.extend(device.outgoing().map(|(to, bytes)| (from, to, bytes)));
            }
            if sent.is_empty() {
                return;
            }
            for (from, to, bytes) in sent {
                for device in devices.iter_mut().filter(|device| device.me() != from) {
                    if to.includes(device.me(), |_| true) {
                        let _ = device.receive(&bytes, 1);
                    }
                }
            }
        }
        panic!("it never ends");
    }

    #[test]
    fn what_is_forged_or_comes_too_early_changes_nothing() {
        let (mut gateway, [mut first, mut second, _]) = deployed();
        assert_eq!(first.send(b"too early", 0), Err(Misuse::NotCreated.into()));
        gateway.command(Command::Create(&IDS[..2]), 0).unwrap();
        let created: Vec<_> = gateway.outgoing().collect();
        for (_, bytes) in created {
            let mut forged = bytes.clone();
            *forged.last_mut().unwrap() ^= 1;
            assert_eq!(first.receive(&forged, 0), Err(Misbehaviour::Forged.into()));
            assert!(first.group_key().is_none());
            assert_eq!(first.outgoing().count(), 0);
            first.receive(&bytes, 0).unwrap();
            second.receive(&bytes, 0).unwrap();
        }
        first.send(b"slippery road", 0).unwrap();
        let (to, bytes) = first.outgoing().next().unwrap();
        assert_eq!((to, first.outgoing().next()), (Recipient::Group, None));
        assert_eq!(first.receive(&bytes, 0), Ok(Vec::new()), "the sender hears itself");
        let expected =
            Received { epoch: Epoch(1), sender: IDS[0], content: b"slippery road".into() };
        assert_eq!(second.receive(&bytes, 0), Ok([DeviceOutput::Message(expected)].into()));
        assert_eq!(second.receive(&bytes, 0), Err(Misbehaviour::Replayed.into()));
    }
}
