//! The member's side of S2RP.

use alloc::vec::Vec;

use super::messages::{COMMANDS, CREATION, KEYS, REQUEST, UPDATE, group_key, next_join_key};
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::key_tree::path_update::{NewKeys, Records, Update, label};
use crate::mechanisms::key_tree::{LEVELS, Node};
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::Profile;
use crate::schemes::centralized::s2rp::hash_chains::{leads_to, step};
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    degree: u32,
    length: u16,
    pub(super) membership: ServedMembership,
    /// The keys above the member's slot, lowest first.
    pub(super) path: List<(Node, Key)>,
    pub(super) command: Key,
    /// J, unless the group key is made of the root's key alone.
    pub(super) join_key: Option<Key>,
}

/// The content of an update, parsed and not yet opened.
struct Change<'a> {
    slot: u32,
    /// The levels at which a new key is an anchor. No hash leads from an anchor to the previous
    /// key.
    anchored: &'a [u8],
    command: Option<Key>,
    /// The wrapped anchor of a new chain of commands, or nothing.
    commands: &'a [u8],
    records: Option<NewKeys<'a>>,
    confirmation: Confirmation,
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile, degree: u32, length: u16, has_join_key: bool) -> Self {
        Self {
            profile,
            degree,
            length,
            membership: ServedMembership::default(),
            path: List::new(),
            command: Key::default(),
            join_key: has_join_key.then(Key::default),
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        match (message.header().operation, message.header().kind) {
            (Operation::Create, CREATION) => self.take_tree(cx, message),
            (Operation::Add | Operation::Remove | Operation::Rekey, UPDATE) => {
                self.follow_update(cx, message)
            }
            (Operation::Add | Operation::CatchUp, KEYS) => self.take_keys(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn take_tree(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let epoch = message.header().epoch;
        let mut body = message.body();
        let command = body.bytes()?;
        let leaf_keys = 1 + self.join_key.iter().count();
        let leaves = Records::parse(cx, leaf_keys, body.bytes()?)?;
        let records = read_records(cx, &mut body)?;
        body.finish()?;
        self.membership.admit(message)?;
        let enrolment = self.membership.enrolment()?;
        let leaf = Node::leaf(enrolment.slot);
        let (lowest, wrapped) = leaves.find(leaf).ok_or(Misbehaviour::NothingForUs)?;
        if lowest <= leaf || !lowest.is_above(enrolment.slot, self.degree) {
            return Err(Misbehaviour::Malformed.into());
        }
        let mut keys = [Key::default(), Key::default()];
        let label = label(leaf, lowest);
        cx.unwrap_keys(&enrolment.key, epoch, label, wrapped, &mut keys[..leaf_keys])?;
        let [key, join_key] = keys;
        let join_key = self.join_key.as_ref().map(|_| join_key);
        let mut path = List::filled((lowest, key), 1);
        if let Some(records) = records {
            let update = Update { degree: self.degree, enrolment, kept: &path, epoch };
            let above = update.open(cx, &records)?;
            path.append(&above);
        }
        let (_, root_key) = path.last().ok_or(Misbehaviour::NothingForUs)?;
        let command = cx.unwrap_key(root_key, epoch, COMMANDS, command)?;
        self.enter(cx, epoch, path, join_key, command, None)
    }

    /// Follows the join or the eviction of another member, or a new period.
    fn follow_update(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let (operation, epoch) = (message.header().operation, message.header().epoch);
        let enrolment = self.membership.enrolment()?;
        let joins = operation == Operation::Add;
        let change = Change::parse(cx, self.profile, joins, message.body())?;
        if joins && self.membership.is_own_joining(message, change.slot)? {
            return Ok(());
        }
        self.membership.require_continuation(message)?;
        // The command is checked first: it is cheap, and a party that forges a join does not have
        // it.
        let mut command = self.command.clone();
        if let Some(revealed) = change.command {
            require_vouched(step(cx, &revealed) == command)?;
            command = revealed;
        }
        let update = Update { degree: self.degree, enrolment, kept: &self.path, epoch };
        let mut new = match &change.records {
            None => List::new(),
            Some(records) => update.open(cx, records)?,
        };
        for (node, key) in new.iter().filter(|(node, _)| !change.anchored.contains(&node.level)) {
            let held = self.held(*node).ok_or(Misbehaviour::Forged)?;
            require_vouched(step(cx, key) == *held)?;
        }
        if joins {
            let is_new = |node| new.iter().any(|&(other, _)| other == node);
            let mut shared = self.path.clone();
            shared.retain(|&&(node, _)| node.is_above(change.slot, self.degree) && !is_new(node));
            // In `sound`, all keys that the joining member now shares are new. As published, they
            // stay.
            if self.profile == Profile::Sound && !shared.is_empty() {
                return Err(Misbehaviour::NothingForUs.into());
            }
            new.append(&shared);
        }
        let path = update.merge(operation, change.slot, &new);
        let (_, root_key) = path.last().ok_or(Misbehaviour::NothingForUs)?;
        if !change.commands.is_empty() {
            command = cx.unwrap_key(root_key, epoch, COMMANDS, change.commands)?;
        }
        let join_key = match &self.join_key {
            Some(join_key) if joins => Some(next_join_key(cx, join_key)),
            kept => kept.clone(),
        };
        self.enter(cx, epoch, path, join_key, command, Some(&change.confirmation))
    }

    /// Takes all keys at once, as a joining member or as a member that missed changes.
    fn take_keys(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let (operation, epoch) = (message.header().operation, message.header().epoch);
        let mut body = message.body();
        let levels = read_levels(&mut body)?;
        let anchored = (0..body.array()?).map(|_| body.number().map(Epoch));
        let anchored = anchored.collect::<Result<Vec<_>, _>>()?;
        let wrapped = body.bytes()?;
        body.finish()?;
        if anchored.len() != if operation == Operation::CatchUp { levels.len() } else { 0 } {
            return Err(Misbehaviour::Malformed.into());
        }
        self.membership.admit(message)?;
        let enrolment = self.membership.enrolment()?;
        let mut keys = List::zeros(levels.len() + 1 + self.join_key.iter().count());
        cx.unwrap_keys(&enrolment.key, epoch, 0, wrapped, &mut keys)?;
        let (path_keys, others) = keys.split_at(levels.len());
        let (join_key, command) = match others {
            [join_key, command] => (Some(join_key.clone()), command),
            [command] => (None, command),
            _ => return Err(Misbehaviour::Malformed.into()),
        };
        let nodes = levels.iter().map(|&level| Node::above(enrolment.slot, level, self.degree));
        let path: List<_> = nodes.zip(path_keys.iter().cloned()).collect();
        let current = self.membership.group_key().map(|(epoch, _)| epoch);
        for ((node, key), anchored) in path.iter().zip(anchored) {
            // A chain that began no later than the member's epoch must lead to the key that it
            // holds.
            let held = self.held(*node).filter(|_| Some(anchored) <= current);
            require_vouched(held.is_none_or(|held| leads_to(cx, key, held, self.length)))?;
        }
        self.enter(cx, epoch, path, join_key, command.clone(), None)
    }

    fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        path: List<(Node, Key)>,
        join_key: Option<Key>,
        command: Key,
        confirmation: Option<&Confirmation>,
    ) -> Result<(), Error> {
        let (_, root_key) = path.last().ok_or(Misbehaviour::NothingForUs)?;
        let group_key = group_key(cx, self.profile, epoch, root_key, join_key.as_ref());
        if let Some(confirmation) = confirmation {
            confirmation.verify(cx, self.profile, epoch, &group_key)?;
        }
        self.path = path;
        self.join_key = join_key;
        self.command = command;
        self.membership.enter(cx, epoch, group_key);
        Ok(())
    }

    fn held(&self, node: Node) -> Option<&Key> {
        self.path.iter().find(|(held, _)| *held == node).map(|(_, key)| key)
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
        let others = 1 + self.join_key.iter().count();
        let keys = if self.group_key().is_some() { self.path.len() + others } else { 0 };
        let permanent = self.membership.key_bytes() + keys * Key::BYTES;
        Footprint { permanent, temporary: keys * Key::BYTES }
    }
}

impl<'a> Change<'a> {
    fn parse(
        cx: &Context<'_>,
        profile: Profile,
        joins: bool,
        mut body: Reader<'a>,
    ) -> Result<Self, Error> {
        let slot = body.number32()?;
        let anchored = read_levels(&mut body)?;
        let (command, commands) = (body.bytes()?, body.bytes()?);
        let command = match command.try_into() {
            Ok(command) => Some(Key::from_bytes(command)),
            Err(_) if command.is_empty() => None,
            Err(_) => return Err(Misbehaviour::Malformed.into()),
        };
        // No chain of a node vouches for a join or for new anchors, so a command must.
        let due = joins || !anchored.is_empty();
        if command.is_some() != due || command.is_none() && !commands.is_empty() {
            return Err(Misbehaviour::Malformed.into());
        }
        let records = read_records(cx, &mut body)?;
        let confirmation = Confirmation::read(profile, &mut body)?;
        body.finish()?;
        Ok(Self { slot, anchored, command, commands, records, confirmation })
    }
}

/// Refuses a key for which no chain vouches.
fn require_vouched(vouched_for: bool) -> Result<(), Error> {
    if vouched_for { Ok(()) } else { Err(Misbehaviour::Forged.into()) }
}

/// Reads levels above the slots, in ascending order.
fn read_levels<'a>(body: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    let levels = body.bytes()?;
    let possible = levels.iter().all(|&level| (1..LEVELS).contains(&usize::from(level)));
    if !possible || levels.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Misbehaviour::Malformed.into());
    }
    Ok(levels)
}

fn read_records<'a>(cx: &Context<'_>, body: &mut Reader<'a>) -> Result<Option<NewKeys<'a>>, Error> {
    let records = body.bytes()?;
    match records.is_empty() {
        true => Ok(None),
        false => Ok(Some(NewKeys::Records(Records::parse(cx, 1, records)?))),
    }
}
