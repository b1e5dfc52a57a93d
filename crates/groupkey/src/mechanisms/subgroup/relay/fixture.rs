//! One subgroup without protection, whose messages a test can hold back, record and change.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::context::{Context, Setting};
use crate::crypto::Suite;
use crate::error::Error;
use crate::identity::{Epoch, GroupId, MemberId, PartyId, SubgroupId};
use crate::mechanisms::subgroup::relay::TOKEN;
use crate::outbox::{Channel, Outbox, Recipient};
use crate::party::{Command, Operation, Party};
use crate::protection::Protection;

/// A controller, a subgroup's controller and members. Member i is at position i.
pub(crate) struct RelayFixture<S, M> {
    controller: Box<dyn Party>,
    pub(crate) subgroup: S,
    pub(crate) members: Vec<M>,
    /// Members that receive nothing.
    pub(crate) asleep: BTreeSet<u32>,
    /// All messages that went over open channels.
    pub(crate) recorded: Vec<PostedMessage>,
    queue: VecDeque<PostedMessage>,
    rng: ChaCha20Rng,
}

#[derive(Clone, Debug)]
pub(crate) struct PostedMessage {
    pub(crate) to: Recipient,
    channel: Channel,
    pub(crate) bytes: Vec<u8>,
    pub(crate) body: usize,
}

impl<S: Party, M: Party> RelayFixture<S, M> {
    pub(crate) fn new(controller: Box<dyn Party>, subgroup: S, members: Vec<M>) -> Self {
        let everybody: Vec<_> = (0..members.len() as u32).map(MemberId).collect();
        let mut stage = Self::of_strangers(controller, subgroup, members);
        stage.command(Command::Enroll(&everybody));
        stage.command(Command::Create(&everybody));
        stage
    }

    /// The same group before any member is enrolled.
    pub(crate) fn of_strangers(controller: Box<dyn Party>, subgroup: S, members: Vec<M>) -> Self {
        Self {
            controller,
            subgroup,
            members,
            asleep: BTreeSet::new(),
            recorded: Vec::new(),
            queue: VecDeque::new(),
            rng: ChaCha20Rng::seed_from_u64(1),
        }
    }

    pub(crate) fn command(&mut self, command: Command<'_>) {
        self.begin(command);
        self.settle();
    }

    /// Delivers all messages that are on their way.
    pub(crate) fn settle(&mut self) {
        while let Some(message) = self.next() {
            // A member that was evicted, or missed too much, may refuse.
            let _ = self.deliver(&message);
        }
    }

    /// Gives the controller a command, and delivers no message.
    pub(crate) fn begin(&mut self, command: Command<'_>) {
        self.step(PartyId::Controller, |cx, party| cx.command(party, command)).unwrap();
    }

    pub(crate) fn next(&mut self) -> Option<PostedMessage> {
        self.queue.pop_front()
    }

    /// Delivers a message. The messages that the receiver sends are then on their way.
    pub(crate) fn deliver(&mut self, message: &PostedMessage) -> Result<(), Error> {
        let to = match message.to {
            Recipient::Member(member) if self.asleep.contains(&member.0) => return Ok(()),
            Recipient::Member(member) => member.into(),
            Recipient::SubgroupController(subgroup) => subgroup.into(),
            _ => PartyId::Controller,
        };
        self.step(to, |cx, party| cx.deliver(party, message.channel, &message.bytes))
    }

    /// Lets a member hand on a kept letter, in its own name, as a token of another epoch. The token
    /// has a key that opens nothing, and `rest` in place of what else the scheme's tokens have.
    pub(crate) fn hand_on_again(
        &mut self,
        from: u32,
        kept: &PostedMessage,
        epoch: Epoch,
        rest: &[u8],
    ) -> Result<(), Error> {
        let (to, body) = (kept.to, &kept.bytes[kept.body..]);
        self.step(MemberId(from).into(), |cx, _| {
            let mut draft = cx.draft(to, epoch, Operation::Rekey, TOKEN);
            draft.packed_bytes(body).bytes(&[7; 24]).packed_bytes(rest).send();
            Ok(())
        })?;
        let token = self.queue.pop_back().expect("it was sent just now");
        self.deliver(&token)
    }

    /// Acts as a party. The messages that it sends are then on their way.
    pub(crate) fn step(
        &mut self,
        me: PartyId,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let party: &mut dyn Party = match me {
            PartyId::Controller => &mut *self.controller,
            PartyId::SubgroupController(SubgroupId(_)) => &mut self.subgroup,
            PartyId::Member(member) => &mut self.members[member.0 as usize],
        };
        let (mut outbox, mut probe) = (Outbox::new(), ());
        let (setting, rng) = (Setting::new(GroupId(0), Suite::Standard), &mut self.rng);
        let mut cx = Context::new(setting, me, Protection::None, rng, 0, &mut outbox, &mut probe);
        act(&mut cx, party)?;
        for message in outbox.messages() {
            let (to, channel, bytes) = (message.to, message.channel, message.bytes.to_vec());
            let posted =
                PostedMessage { to, channel, body: bytes.len() - message.body_bytes, bytes };
            if channel == Channel::Open {
                self.recorded.push(posted.clone());
            }
            self.queue.push_back(posted);
        }
        Ok(())
    }
}
