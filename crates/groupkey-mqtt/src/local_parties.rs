//! The parties of one process with their keys, and the messages between them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

use groupkey::author::EventOrder;
use groupkey::crypto::meter::Meter;
use groupkey::error::Misuse;
#[cfg(feature = "distributed")]
use groupkey::event_order::is_word;
use groupkey::{
    Channel, Context, Epoch, Error, Event, GroupContext, Key, MemberId, Outbox, Party, PartyId,
    Recipient, SavedState, Setting,
};
use minicbor::{Decode, Encode};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroizing;

use crate::group_form::GroupForm;
use crate::keyring::Keyring;
use crate::store::Decisions;

/// Parties of one process. Messages between them are delivered directly. Other messages leave for
/// the network.
pub(crate) struct LocalParties {
    form: GroupForm,
    setting: Setting,
    /// What operators' words cover, where there are operators.
    #[cfg(feature = "distributed")]
    words: Option<GroupContext>,
    pub(crate) keyring: Keyring,
    seats: BTreeMap<PartyId, Box<dyn Party>>,
}

/// A [command](groupkey::Command) that owns its lists of members, so that it can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum OwnedCommand {
    #[n(0)]
    Add(#[n(0)] u32),
    #[n(1)]
    Batch(#[n(0)] Vec<u32>, #[n(1)] Vec<u32>),
    #[n(2)]
    CatchUp,
    #[n(3)]
    Create(#[n(0)] Vec<u32>),
    #[n(4)]
    Enroll(#[n(0)] Vec<u32>),
    #[n(5)]
    Rekey,
    #[n(6)]
    Remove(#[n(0)] u32),
}

#[derive(Clone, Copy)]
pub(crate) enum PartyInput<'a> {
    /// The application considers these members dead.
    Dead(&'a [MemberId]),
    Message(Channel, &'a [u8]),
    Command(&'a OwnedCommand),
}

/// The output of a step, and of the steps that it caused within the process.
#[derive(Debug, Default)]
pub(crate) struct StepOutput {
    /// Messages to parties outside the process.
    pub(crate) sent: Vec<OutgoingMessage>,
    /// Events of the party that took the first step.
    pub(crate) events: Vec<Event>,
}

/// A message to a party outside the process. A confidential one has keys in clear: the bytes are
/// wiped, unless an open message is taken out.
pub(crate) struct OutgoingMessage {
    pub(crate) to: Recipient,
    pub(crate) channel: Channel,
    pub(crate) bytes: Zeroizing<Vec<u8>>,
}

impl LocalParties {
    pub(crate) const fn new(form: GroupForm, setting: Setting, keyring: Keyring) -> Self {
        Self {
            form,
            setting,
            #[cfg(feature = "distributed")]
            words: None,
            keyring,
            seats: BTreeMap::new(),
        }
    }

    /// Takes operators' words that cover this context, whatever the group's own is.
    #[cfg(feature = "distributed")]
    pub(crate) const fn take_words(&mut self, covered: GroupContext) {
        self.words = Some(covered);
    }

    pub(crate) fn seat(&mut self, id: PartyId, party: Box<dyn Party>) {
        self.seats.insert(id, party);
    }

    pub(crate) const fn form(&self) -> &GroupForm {
        &self.form
    }

    pub(crate) const fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Sets the setting of all parties, which must not have taken a step yet.
    pub(crate) fn set_setting(&mut self, setting: Setting) {
        self.setting = setting;
    }

    pub(crate) const fn group_context(&self) -> &GroupContext {
        &self.setting.context
    }

    pub(crate) fn group_key(&self, id: PartyId) -> Option<(Epoch, &Key)> {
        self.seats.get(&id)?.group_key()
    }

    pub(crate) fn group_keys(&self) -> impl Iterator<Item = (PartyId, Epoch, &Key)> {
        let seats = self.seats.iter();
        seats.filter_map(|(&id, party)| party.group_key().map(|(epoch, key)| (id, epoch, key)))
    }

    pub(crate) fn saved(&self) -> Result<Vec<(PartyId, SavedState)>, Error> {
        let seats = self.seats.iter();
        let saved = seats
            .map(|(&id, party)| Ok((id, SavedState::of(&self.form.configuration, id, &**party)?)));
        saved.collect()
    }

    /// Gives a party of a controller's process the state that was saved.
    pub(crate) fn restore(&mut self, id: PartyId, state: &[u8]) -> Result<(), Error> {
        let configuration = &self.form.configuration;
        let party = match id {
            PartyId::Controller => configuration.restore_controller(state)?,
            PartyId::SubgroupController(subgroup) => {
                configuration.restore_subgroup_controller(subgroup, state)?
            }
            PartyId::Member(_) => return Err(Misuse::WrongRole.into()),
        };
        self.seats.insert(id, party);
        Ok(())
    }

    /// Returns the epoch of an announced event that is not complete at a party.
    pub(crate) fn under_way(&self, id: PartyId) -> Option<Epoch> {
        self.ordering(id)?.under_way()
    }

    pub(crate) fn counts_as_member(&self, id: PartyId, other: MemberId) -> bool {
        self.ordering(id).is_none_or(|order| order.counts_as_member(other))
    }

    pub(crate) fn decisions(&self, id: PartyId) -> Decisions {
        let order = self.ordering(id);
        let evicted = order.map_or(&[][..], |order| order.evicted()).to_vec();
        let latest = order.map_or(Epoch(0), EventOrder::latest_epoch);
        Decisions { latest, evicted, words: Vec::new() }
    }

    /// Tells a party whom another one reports as evicted. Returns `false` if it has no room for that.
    pub(crate) fn hear_evicted(
        &mut self,
        id: PartyId,
        reporter: MemberId,
        evicted: &[(MemberId, Epoch)],
    ) -> bool {
        let party = self.seats.get_mut(&id);
        let order = party.and_then(|party| party.ordering_mut());
        order.is_none_or(|order| order.hear_evicted(reporter, evicted))
    }

    /// Returns whether a party that is no longer a member may ask to rejoin by itself.
    pub(crate) fn may_return(&self, id: PartyId) -> bool {
        self.ordering(id).is_some_and(EventOrder::may_return)
    }

    fn ordering(&self, id: PartyId) -> Option<&dyn EventOrder> {
        self.seats.get(&id)?.ordering()
    }

    /// Runs a step of one party, and the steps that it causes at other parties of the process. On
    /// an error nothing has changed. A message that another party refuses has no effect, as if it
    /// had been lost.
    pub(crate) fn step(
        &mut self,
        id: PartyId,
        input: PartyInput<'_>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<StepOutput, Error> {
        let mut left = StepOutput::default();
        let mut within = VecDeque::new();
        left.events = self.one_step(id, input, now, rng, &mut left.sent, &mut within)?;
        if matches!(input, PartyInput::Command(OwnedCommand::Rekey)) {
            // A period begins for the subgroups' controllers, too: in Kronos by their own clocks.
            let others: Vec<_> = self.seats.keys().copied().filter(|&other| other != id).collect();
            for other in others {
                let _ = self.one_step(other, input, now, rng, &mut left.sent, &mut within);
            }
        }
        for _ in 0..STEPS_WITHIN {
            let Some((to, channel, bytes)) = within.pop_front() else { break };
            let input = PartyInput::Message(channel, &bytes);
            let _ = self.one_step(to, input, now, rng, &mut left.sent, &mut within);
        }
        Ok(left)
    }

    /// Calls `act` with a party and its context, for example for a messenger.
    pub(crate) fn at<R>(
        &mut self,
        id: PartyId,
        now: u64,
        rng: &mut ChaCha20Rng,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> R,
    ) -> Option<R> {
        let (mut outbox, mut meter) = (Outbox::new(), Meter::new());
        let Self { form, setting, keyring, seats, .. } = self;
        let protection = keyring.protection(form.guard, id)?;
        let party = seats.get_mut(&id)?;
        let mut cx = Context::new(*setting, id, protection, rng, now, &mut outbox, &mut meter);
        Some(act(&mut cx, &mut **party))
    }

    fn one_step(
        &mut self,
        id: PartyId,
        input: PartyInput<'_>,
        now: u64,
        rng: &mut ChaCha20Rng,
        sent: &mut Vec<OutgoingMessage>,
        within: &mut VecDeque<(PartyId, Channel, Zeroizing<Vec<u8>>)>,
    ) -> Result<Vec<Event>, Error> {
        let (mut outbox, mut meter) = (Outbox::new(), Meter::new());
        #[cfg(feature = "distributed")]
        let words = self.words;
        let Self { form, setting, keyring, seats, .. } = self;
        let protection = keyring.protection(form.guard, id).ok_or(Misuse::NoIdentity)?;
        let party = seats.get_mut(&id).ok_or(Misuse::WrongRole)?;
        let mut cx = Context::new(*setting, id, protection, rng, now, &mut outbox, &mut meter);
        match input {
            PartyInput::Dead(members) => {
                cx.command(&mut **party, groupkey::Command::Partition(members))?
            }
            #[cfg(feature = "distributed")]
            PartyInput::Message(_, bytes) if words.is_some() && is_word(bytes) => {
                let covered = words.unwrap_or_default();
                cx.deliver_word(&mut **party, bytes, &covered)?;
            }
            PartyInput::Message(channel, bytes) => cx.deliver(&mut **party, channel, bytes)?,
            PartyInput::Command(command) => {
                command.give(|command| cx.command(&mut **party, command))?
            }
        }
        for message in outbox.messages() {
            let (to, channel) = (message.to, message.channel);
            let bytes = Zeroizing::new(message.bytes.to_vec());
            match self.neighbour(to) {
                Some(neighbour) => within.push_back((neighbour, channel, bytes)),
                None => sent.push(OutgoingMessage { to, channel, bytes }),
            }
        }
        Ok(outbox.events().to_vec())
    }

    fn neighbour(&self, to: Recipient) -> Option<PartyId> {
        to.party().filter(|id| self.seats.contains_key(id))
    }
}

impl OwnedCommand {
    pub(crate) fn give<R>(&self, give: impl FnOnce(groupkey::Command<'_>) -> R) -> R {
        let ids = |ids: &[u32]| ids.iter().copied().map(MemberId).collect::<Vec<_>>();
        match self {
            Self::Add(member) => give(groupkey::Command::Add(MemberId(*member))),
            Self::Batch(joining, leaving) => {
                give(groupkey::Command::Batch { joining: &ids(joining), leaving: &ids(leaving) })
            }
            Self::CatchUp => give(groupkey::Command::CatchUp),
            Self::Create(members) => give(groupkey::Command::Create(&ids(members))),
            Self::Enroll(members) => give(groupkey::Command::Enroll(&ids(members))),
            Self::Rekey => give(groupkey::Command::Rekey),
            Self::Remove(member) => give(groupkey::Command::Remove(MemberId(*member))),
        }
    }
}

impl fmt::Debug for LocalParties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalParties").field("form", &self.form).finish_non_exhaustive()
    }
}

impl fmt::Debug for PartyInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(channel, bytes) => {
                write!(f, "Message({channel:?}, {} bytes)", bytes.len())
            }
            Self::Dead(members) => write!(f, "Dead({members:?})"),
            Self::Command(command) => write!(f, "{command:?}"),
        }
    }
}

impl fmt::Debug for OutgoingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingMessage")
            .field("to", &self.to)
            .field("channel", &self.channel)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// The maximum number of steps that one step may cause within the process. It is far more than a
/// controller and its subgroups need.
const STEPS_WITHIN: usize = 100_000;
