//! The content of SGCSH's broadcasts, and the changes to the keys of the tree: they are hashed
//! where a member joins below them, and replaced where a member left.

use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::enrolment::Enrolment;
use crate::mechanisms::key_tree::{LEVELS, Node};
use crate::party::Operation;
use crate::scheme::Profile;
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

pub(super) const DEGREE: u32 = 2;

/// The content of a broadcast, parsed and not yet opened.
pub(super) struct News<'a> {
    /// The epoch since which a member can follow.
    pub(super) since: u64,
    /// The joins since then, by epoch and slot.
    pub(super) joins: Vec<(u64, u32)>,
    /// The slot of the member that joins with this message.
    pub(super) newcomer: Option<u32>,
    /// The slot that is freed, and the records.
    pub(super) removal: Option<(u32, &'a [u8])>,
    pub(super) masked: &'a [u8],
    /// What follows from the session key.
    pub(super) confirmation: Confirmation,
}

impl<'a> News<'a> {
    pub(super) fn parse(message: &Message<'a>, profile: Profile) -> Result<Self, Error> {
        let (operation, epoch) = (message.header().operation, message.header().epoch.0);
        let mut body = message.body();
        let since = body.number()?;
        let joins = Self::parse_joins(&mut body, since, epoch)?;
        let removal = match operation {
            Operation::Remove => Some((body.number32()?, body.bytes()?)),
            _ => None,
        };
        let masked = body.bytes()?;
        let confirmation = Confirmation::read(profile, &mut body)?;
        body.finish()?;
        let newcomer = joins.last().filter(|&&(at, _)| at == epoch).map(|&(_, slot)| slot);
        let records = removal.map_or(0, |(_, records)| records.len());
        let joins_now = operation == Operation::Add;
        if since >= epoch || newcomer.is_some() != joins_now || !records.is_multiple_of(RECORD) {
            return Err(Misbehaviour::Malformed.into());
        }
        Ok(Self { since, joins, newcomer, removal, masked, confirmation })
    }

    fn parse_joins(
        body: &mut Reader<'_>,
        since: u64,
        epoch: u64,
    ) -> Result<Vec<(u64, u32)>, Error> {
        let numbers = body.array()?;
        if numbers > 2 * REPEATED as u64 || !numbers.is_multiple_of(2) {
            return Err(Misbehaviour::Malformed.into());
        }
        let mut joins: Vec<(u64, u32)> = Vec::with_capacity(REPEATED);
        for _ in 0..numbers / 2 {
            let (age, slot) = (body.number()?, body.number32()?);
            let latest = joins.last().map_or(since, |&(at, _)| at);
            let at = epoch.checked_sub(age).filter(|&at| at > latest);
            joins.push((at.ok_or(Misbehaviour::Malformed)?, slot));
        }
        Ok(joins)
    }
}

/// Most joins that a broadcast repeats for members that missed them.
pub(super) const REPEATED: usize = 8;

/// Length of a record in bytes: the node under whose key another node's key is masked, that other
/// node, and its masked key.
pub(super) const RECORD: usize = 8 + Key::BYTES;

/// Masks a key, or removes the mask. No mask is used for two keys: its derivation takes in the
/// purpose, in the tree both nodes, and the epoch. In `sound` the confirmation takes the epoch's place.
/// It follows from the epoch and from all keys that a change draws, so two copies of a controller have
/// two masks.
pub(super) fn mask(
    cx: &mut Context<'_>,
    kek: &Key,
    label: &'static str,
    (epoch, confirmation): (Epoch, &Confirmation),
    place: [u32; 2],
    key: &Key,
) -> Key {
    let place = (u64::from(place[0]) << 32 | u64::from(place[1])).to_be_bytes();
    let mut context = [cx.group().0.to_be_bytes(), epoch.0.to_be_bytes(), place];
    if let Some(confirmation) = confirmation.bytes() {
        context.as_flattened_mut()[..Key::BYTES].copy_from_slice(confirmation);
    }
    let mask = cx.derive(kek, label, context.as_flattened());
    cx.xor(key, &mask)
}

/// Derives the key of a node that gets its second child from the key of its only child so far.
pub(super) fn first_key(cx: &mut Context<'_>, child: &Key, node: Node, epoch: Epoch) -> Key {
    let node = u64::from(node.id()).to_be_bytes();
    let context = [cx.group().0.to_be_bytes(), epoch.0.to_be_bytes(), node];
    cx.derive(child, "groupkey sgcsh first", context.as_flattened())
}

/// Returns the key that follows a node's key when a member joins below the node.
pub(super) fn next_key(cx: &mut Context<'_>, key: &Key) -> Key {
    cx.hash(key, "groupkey sgcsh joined")
}

/// Appends the record of a node's key, masked by the key of a child.
pub(super) fn record(
    cx: &mut Context<'_>,
    change: (Epoch, &Confirmation),
    [under, target]: [Node; 2],
    [kek, key]: [&Key; 2],
    out: &mut Vec<u8>,
) {
    let place = [under.id(), target.id()];
    let masked = mask(cx, kek, NODE, change, place, key);
    place.iter().for_each(|id| out.extend_from_slice(&id.to_be_bytes()));
    out.extend_from_slice(masked.as_bytes());
}

/// Replaces the keys above a joining member's slot. The node at which its path meets this member's
/// path has two children now. If that node had no key before, it gets its first one.
pub(super) fn follow_join(
    cx: &mut Context<'_>,
    path: &mut List<(Node, Key)>,
    enrolment: &Enrolment,
    epoch: Epoch,
    newcomer: u32,
) -> Result<(), Error> {
    let level = u32::BITS - (enrolment.slot ^ newcomer).leading_zeros();
    if !(1..LEVELS as u32).contains(&level) {
        return Err(Misbehaviour::Malformed.into());
    }
    let meeting = Node::above(enrolment.slot, level as u8, DEGREE);
    let mut place = path.partition_point(|&(node, _)| node < meeting);
    if path.get(place).is_none_or(|&(node, _)| node != meeting) {
        let child = place.checked_sub(1).map_or(&enrolment.key, |below| &path[below].1);
        let key = first_key(cx, child, meeting, epoch);
        path.insert(place, (meeting, key));
        place += 1;
    }
    for (_, key) in &mut path[place..] {
        *key = next_key(cx, key);
    }
    Ok(())
}

/// Returns the path without the keys that an evicted member knew, and with the keys from the
/// records instead.
pub(super) fn follow_removal(
    cx: &mut Context<'_>,
    mut path: List<(Node, Key)>,
    enrolment: &Enrolment,
    change: (Epoch, &Confirmation),
    freed: u32,
    records: &[u8],
) -> Result<List<(Node, Key)>, Error> {
    if freed == enrolment.slot {
        return Err(Misbehaviour::NothingForUs.into());
    }
    path.retain(|(node, _)| !node.is_above(freed, DEGREE));
    for level in 0..LEVELS as u8 {
        let under = Node::above(enrolment.slot, level, DEGREE);
        let Some((target, masked)) = find(records, under) else { continue };
        let held = path.iter().find(|&&(node, _)| node == under).map(|(_, key)| key);
        let kek = if level == 0 { Some(&enrolment.key) } else { held };
        let Some(kek) = kek else { continue };
        let is_new = path.iter().all(|&(node, _)| node < target);
        if target <= under || !target.is_above(enrolment.slot, DEGREE) || !is_new {
            return Err(Misbehaviour::Malformed.into());
        }
        let key = mask(cx, kek, NODE, change, [under.id(), target.id()], &masked);
        path.push((target, key));
    }
    Ok(path)
}

fn find(records: &[u8], under: Node) -> Option<(Node, Key)> {
    let (records, _) = records.as_chunks::<RECORD>();
    records.iter().find_map(|record| {
        let (id, rest) = record.split_first_chunk::<4>()?;
        let (target, masked) = rest.split_first_chunk::<4>()?;
        let masked = Key::from_bytes(masked.try_into().ok()?);
        let target = Node::from_id(u32::from_be_bytes(*target));
        (u32::from_be_bytes(*id) == under.id()).then_some((target, masked))
    })
}

const NODE: &str = "groupkey sgcsh node";
