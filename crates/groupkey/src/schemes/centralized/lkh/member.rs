//! A member's side of LKH: it keeps the keys of its path and takes in new ones.

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{Continuation, ServedMembership};
use crate::mechanisms::key_tree::Node;
use crate::mechanisms::key_tree::path_update::{NewKeys, Update, group_key};
use crate::outbox::{Event, Recipient, SubsetId};
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::{Configuration, DEGREE, Profile};
use crate::schemes::centralized::lkh::strategy::{REQUEST, Strategy};
use crate::secret::{Key, List};
use crate::wire::Message;

#[derive(Debug)]
pub(crate) struct Member {
    strategy: Strategy,
    pub(crate) profile: Profile,
    pub(crate) degree: u32,
    pub(crate) membership: ServedMembership,
    /// The keys above the member's slot, lowest first.
    pub(crate) path: List<(Node, Key)>,
    /// The epoch in which the member got its whole path.
    came: Epoch,
    /// The level up to which the member listens to its subtrees' topics.
    listening: u8,
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(strategy: Strategy, profile: Profile, degree: u32) -> Self {
        Self {
            strategy,
            profile,
            degree,
            membership: ServedMembership::default(),
            path: List::new(),
            came: Epoch(0),
            listening: 0,
        }
    }

    pub(super) fn configured(strategy: Strategy, configuration: &Configuration) -> Self {
        Self::new(strategy, configuration.profile(), configuration.value(&DEGREE))
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let header = message.header();
        let enrolment = self.membership.enrolment()?;
        let mut body = message.body();
        let changed = body.number32()?;
        let keys = NewKeys::parse(cx, header.kind, body)?;
        if matches!(keys, NewKeys::Tree(_)) && header.operation != Operation::Create {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let is_broadcast = header.to == Recipient::Group;
        let is_own_joining = match header.operation {
            Operation::Add if is_broadcast => self.membership.is_own_joining(message, changed)?,
            Operation::Batch if is_broadcast => self.has_come_in(header.epoch),
            _ => false,
        };
        if is_own_joining {
            return Ok(());
        }
        let admission = self.membership.admit(message)?;
        let is_of_another = header.operation == Operation::Add && changed != enrolment.slot;
        if admission == Continuation::StartsAnew && is_of_another {
            // What this member could open would be a part of its path, and it would take the highest
            // key of that part for the root's.
            return Err(Misbehaviour::NothingForUs.into());
        }
        let kept = match admission {
            Continuation::Continues => &self.path[..],
            Continuation::StartsAnew => &[],
        };
        let update = Update { degree: self.degree, enrolment, kept, epoch: header.epoch };
        let path = match &keys {
            NewKeys::Records(records) if header.operation == Operation::Batch => {
                update.follow_batch(cx, records)?
            }
            _ => {
                let new = update.open(cx, &keys)?;
                update.merge(header.operation, changed, &new)
            }
        };
        self.enter(cx, header.epoch, path, None)?;
        if admission == Continuation::StartsAnew {
            self.came = header.epoch;
        }
        Ok(())
    }

    /// Returns whether the broadcast of the batch that leads to `epoch` has nothing for this
    /// member. That is so if the member joined with that batch, or has not joined yet.
    fn has_come_in(&self, epoch: Epoch) -> bool {
        self.membership
            .group_key()
            .is_none_or(|(current, _)| epoch == current && epoch == self.came)
    }

    /// Enters an epoch with the keys of the path. Fails if there are none: the message did not
    /// carry them. Also fails if a confirmation is given that does not confirm the group key.
    pub(crate) fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        path: List<(Node, Key)>,
        confirmation: Option<&Confirmation>,
    ) -> Result<(), Error> {
        let Some((root, root_key)) = path.last() else {
            return Err(Misbehaviour::NothingForUs.into());
        };
        let slot = self.membership.enrolment()?.slot;
        let top = root.level;
        let group_key = group_key(cx, self.profile, epoch, root_key);
        if let Some(confirmation) = confirmation {
            confirmation.verify(cx, self.profile, epoch, &group_key)?;
        }
        self.path = path;
        self.listen(cx, slot, top);
        self.membership.enter(cx, epoch, group_key);
        Ok(())
    }

    /// Subscribes to the topics of the member's subtrees, if the strategy and the profile use
    /// topics.
    fn listen(&mut self, cx: &mut Context<'_>, slot: u32, top: u8) {
        if self.strategy == Strategy::Group || self.profile.is_published() {
            return;
        }
        for level in self.listening + 1..=top {
            let node = Node::above(slot, level, self.degree);
            cx.event(Event::Subscribed(SubsetId(node.id())));
        }
        self.listening = self.listening.max(top);
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let path = self.path.len() * Key::BYTES;
        Footprint { permanent: self.membership.key_bytes() + path, temporary: path }
    }
}
