//! One member's part in an event: the chain keys that it has, and the key that follows from them.

use crate::context::Context;
use crate::crypto::group::ElementCheck;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::agreement::{self, AgreementKeys, KeyConfirmations};
use crate::mechanisms::membership::pairs::Pairs;
use crate::mechanisms::membership::round::Round;
use crate::mechanisms::membership::{MembershipChange, Roster, circumstances};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

/// A member's part in an event that is under way. Lists are by place.
#[derive(Debug)]
pub(crate) struct Run {
    operation: Operation,
    sound: bool,
    me: usize,
    /// Pairs with all members to which this one sends, or from which it receives.
    pairs: Pairs,
    /// The chain keys of all members, this one's included.
    chains: Round<Key>,
    confirmations: KeyConfirmations,
}

/// What a member has between two events; in the sound profile nothing.
#[derive(Debug)]
pub(crate) struct Kept {
    pairs: Pairs,
    chains: List<Key>,
}

const CHAIN: u8 = 0;
const CONFIRM: u8 = 1;

const PAIR: &str = "groupkey sender-keys pair";

impl Default for Kept {
    fn default() -> Self {
        Self { pairs: Pairs::new(PAIR), chains: List::new() }
    }
}

impl agreement::AgreementRun for Run {
    type Kept = Kept;

    fn begin(
        cx: &mut Context<'_>,
        change: &MembershipChange,
        sound: bool,
        me: usize,
        kept: &Kept,
    ) -> Result<Self, Error> {
        let (operation, roster) = (change.operation(), change.roster());
        let mut run = Self {
            operation,
            sound,
            me,
            pairs: kept.pairs.clone(),
            chains: Round::of(roster.len()),
            confirmations: KeyConfirmations::of(sound, roster.len(), me),
        };
        run.pairs.retain(roster);
        if run.goes_on(me) {
            for (place, chain) in kept.chains.iter().enumerate() {
                run.chains.put(place, cx.hash(chain, "groupkey sender-keys next"));
            }
        } else {
            run.chains.put(me, cx.random_key());
        }
        match run.chains.is_complete() {
            true => run.finish(cx, change.epoch(), roster)?,
            false => run.send_chain(cx, change)?,
        }
        Ok(run)
    }

    fn take(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        place: usize,
        _: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error> {
        match message.header().kind {
            CHAIN => self.take_chain(cx, message, place, roster),
            CONFIRM => self.take_confirmation(cx, roster.at(place), place, message.body()),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn proceed(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        _: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error> {
        self.finish(cx, epoch, roster)
    }

    fn forget(&mut self, kind: u8, place: usize) {
        // After a confirmation no step can fail.
        if kind == CHAIN {
            self.chains.forget(place);
        }
    }

    fn confirmed_key(&self) -> Option<&Key> {
        self.confirmations.confirmed_key()
    }

    /// All chain keys, their sum, and the key of a pair's message; in the sound profile also the
    /// keys of pairs, the confirmations and the key for them.
    fn most_held(&self, _: &Context<'_>) -> usize {
        let (members, pairs) = (self.chains.len(), self.pairs.stored_bytes());
        let confirming = if self.sound { members + 1 } else { 0 };
        let pairs = if self.sound { pairs } else { 0 };
        (members + 2 + confirming) * Key::BYTES + pairs
    }

    fn keep(&mut self) -> Kept {
        let mut kept = Kept::default();
        if !self.sound {
            kept.pairs = self.pairs.clone();
            kept.chains = self.chains.words().cloned().collect();
        }
        kept
    }

    fn kept_bytes(kept: &Kept) -> usize {
        kept.pairs.stored_bytes() + kept.chains.len() * Key::BYTES
    }
}

impl Run {
    /// Whether the chain of the member in a place moves on and is not drawn anew: as published, if
    /// nobody has left. A new member has no chain yet, and the parts of a merger do not share any.
    fn goes_on(&self, place: usize) -> bool {
        !self.sound
            && match self.operation {
                Operation::Add => place != self.chains.len() - 1,
                Operation::Rekey => true,
                _ => false,
            }
    }

    /// Sends this member's chain key to all others or, if they have it already, to the new member.
    fn send_chain(&mut self, cx: &mut Context<'_>, change: &MembershipChange) -> Result<(), Error> {
        let (epoch, roster, me) = (change.epoch(), change.roster(), cx.me());
        let newcomer = roster.len() - 1;
        let (to, receivers) = match self.goes_on(self.me) {
            true => (Recipient::Member(roster.at(newcomer)), newcomer..newcomer + 1),
            false => (Recipient::Group, 0..roster.len()),
        };
        let salt = cx.random_key();
        let mut keys = List::with_capacity(receivers.len());
        for place in receivers.filter(|&place| place != self.me) {
            let pair = self.pairs.with(cx, roster.at(place))?;
            keys.push(pair.key_of(cx, &salt, epoch, me));
            self.pairs.keep(pair);
        }
        let length = keys.len() * cx.wrapped_length(1);
        let mut draft = cx.draft(to, epoch, self.operation, CHAIN);
        if self.operation == Operation::Add {
            roster.write(&mut draft);
        }
        draft.bytes(salt.as_bytes()).packed(length);
        for key in keys.iter() {
            draft.packed_wrapped(key, epoch, 0, &self.chains.slots()[self.me]);
        }
        draft.send();
        Ok(())
    }

    fn take_chain(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        place: usize,
        roster: &Roster,
    ) -> Result<(), Error> {
        let (epoch, sender) = (message.header().epoch, message.header().sender);
        let mut body = message.body();
        if self.operation == Operation::Add && Roster::read(&mut body)? != *roster {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let salt = body.key()?;
        let wrapped = body.bytes()?;
        body.finish()?;
        // If the sender's chain moved on, only the new member does not have it.
        self.chains.require_open(place)?;
        let (own, receivers) = match self.goes_on(place) {
            true => (0, 1),
            false => (self.me - usize::from(self.me > place), roster.len() - 1),
        };
        let length = cx.wrapped_length(1);
        if wrapped.len() != receivers * length {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let pair = self.pairs.with(cx, roster.at(place))?;
        let key = pair.key_of(cx, &salt, epoch, sender);
        let chain = cx.unwrap_key(&key, epoch, 0, &wrapped[own * length..][..length])?;
        self.chains.put(place, chain);
        Ok(())
    }

    fn take_confirmation(
        &mut self,
        cx: &mut Context<'_>,
        sender: MemberId,
        place: usize,
        body: Reader<'_>,
    ) -> Result<(), Error> {
        self.chains.require_said(place)?;
        self.confirmations.take(cx, (sender, place), body)
    }

    /// Computes the keys once all chain keys are there. Changes nothing on an error.
    fn finish(&mut self, cx: &mut Context<'_>, epoch: Epoch, roster: &Roster) -> Result<(), Error> {
        if self.confirmations.has_keys() || !self.chains.is_complete() {
            return Ok(());
        }
        let keys = self.make_keys(cx, epoch, roster);
        if let Some(own) = self.confirmations.confirm(cx, roster, keys)? {
            let mut draft = cx.draft(Recipient::Group, epoch, self.operation, CONFIRM);
            draft.bytes(own.as_bytes()).send();
        }
        Ok(())
    }

    /// Each chain key goes in by a hash, so that the last member to send one cannot aim at a sum.
    fn make_keys(&self, cx: &mut Context<'_>, epoch: Epoch, roster: &Roster) -> AgreementKeys {
        let mut sum: Option<Key> = None;
        for chain in self.chains.words() {
            let part = cx.hash_for(epoch, chain, "groupkey sender part");
            sum = Some(match &sum {
                Some(sum) => cx.xor(sum, &part),
                None => part,
            });
        }
        let sum = sum.unwrap_or_default();
        let context = circumstances(cx, epoch, roster);
        let group = cx.derive(&sum, "groupkey sender-keys", &context);
        let confirmation = match self.sound {
            true => cx.derive(&sum, "groupkey sender-keys confirmation", &context),
            false => Key::default(),
        };
        AgreementKeys { group, confirmation, label: "groupkey sender-keys confirms" }
    }
}
