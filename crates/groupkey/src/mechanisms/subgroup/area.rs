//! An area: a subgroup with a key of its own. Under this key its controller multicasts what only
//! its members need. IGKMP, SeGCom and Kronos have areas below the subgroup controllers, and their
//! members are the same.
//!
//! In the `published` profile there is no area key, and each member gets the group key by unicast.
//!
//! Bodies: `{AK', GK'}_individual` (`published`: `{GK'}_individual`); where a member joins:
//! `slot of the joining member, {AK', GK'}_AK`; where no member joins or leaves: `{GK'}_AK`.

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, SubgroupId};
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::subgroup::{LocalChange, Subgroup, take_enrolment, unwrap_own};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::state;
use crate::scheme::Profile;
use crate::secret::Key;
use crate::wire::Message;

/// A subgroup controller's view of its area.
#[derive(Debug)]
pub(crate) struct Area {
    pub(crate) profile: Profile,
    pub(crate) subgroup: Subgroup,
    /// Shared by the area. It wraps what no other party needs.
    pub(crate) area_key: Option<Key>,
}

state!(Area { subgroup, area_key });

#[derive(Debug)]
pub(crate) struct AreaMember {
    pub(crate) profile: Profile,
    pub(crate) membership: ServedMembership,
    pub(crate) area_key: Option<Key>,
}

/// Carries what a member needs under its individual key.
pub(crate) const KEYS: u8 = 0;
/// Carries new keys under the old area key, when a member joins the area.
const REFRESH: u8 = 1;
/// Carries the group key under the area key.
const REKEY: u8 = 2;
/// Asks for the current keys.
pub(crate) const REQUEST: u8 = 3;

impl Area {
    /// An area without members.
    pub(crate) fn new(profile: Profile, id: SubgroupId) -> Self {
        Self { profile, subgroup: Subgroup::new(id), area_key: None }
    }

    /// Enters an epoch, and sends its key to the members.
    pub(crate) fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
        change: LocalChange,
        group_key: &Key,
    ) {
        self.subgroup.membership.enter(cx, epoch, group_key.clone());
        if self.profile.is_published() {
            return self.send_keys_to_all(cx, operation);
        }
        let everybody = self.subgroup.everybody();
        if let (LocalChange::Nobody, Some(area_key)) = (change, &self.area_key) {
            return cx
                .draft(everybody, epoch, operation, REKEY)
                .wrapped(area_key, epoch, 1, [group_key])
                .send();
        }
        let area_key = cx.random_key();
        let old = self.area_key.replace(area_key.clone());
        match (change, old) {
            // In a subgroup without earlier members, no member has an old area key.
            (LocalChange::Joined(slot), Some(old)) if self.subgroup.roster.len() > 1 => {
                self.send_keys(cx, slot, operation);
                cx.draft(everybody, epoch, operation, REFRESH)
                    .number(u64::from(slot))
                    .wrapped(&old, epoch, 0, [&area_key, group_key])
                    .send();
            }
            _ => self.send_keys_to_all(cx, operation),
        }
    }

    /// Sends a member everything that it needs, under its individual key.
    pub(crate) fn send_keys(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let Some((epoch, group_key)) = self.subgroup.membership.group_key() else { return };
        let roster = &self.subgroup.roster;
        let mut draft = cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEYS);
        match &self.area_key {
            None => draft.wrapped(roster.key(slot), epoch, 0, [group_key]),
            Some(area_key) => draft.wrapped(roster.key(slot), epoch, 0, [area_key, group_key]),
        };
        draft.send();
    }

    fn send_keys_to_all(&self, cx: &mut Context<'_>, operation: Operation) {
        cx.reserve(self.subgroup.roster.len(), cx.wrapped_length(2) + 2);
        self.subgroup.slots().for_each(|slot| self.send_keys(cx, slot, operation));
    }

    pub(crate) fn key_bytes(&self) -> usize {
        self.subgroup.key_bytes() + bytes_of(self.area_key.as_ref())
    }
}

impl AreaMember {
    /// A member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, membership: ServedMembership::of_a_subgroup(), area_key: None }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if take_enrolment(&mut self.membership, cx, message)? {
            return Ok(());
        }
        self.membership.enrolment()?;
        let header = message.header();
        let mut body = message.body();
        let newcomer = if header.kind == REFRESH { Some(body.number32()?) } else { None };
        let wrapped = body.bytes()?;
        body.finish()?;
        match (self.profile.is_published(), header.operation, header.kind, newcomer) {
            (true, _, KEYS, _) => {
                self.membership.admit(message)?;
                let [group_key] = unwrap_own(&self.membership, cx, message, 0, wrapped)?;
                self.membership.enter(cx, header.epoch, group_key);
            }
            (false, _, KEYS, _) => {
                self.membership.admit(message)?;
                let keys = unwrap_own(&self.membership, cx, message, 0, wrapped)?;
                self.enter(cx, header.epoch, keys);
            }
            (false, Operation::Add, REFRESH, Some(newcomer)) => {
                if self.membership.is_own_joining(message, newcomer)? {
                    return Ok(());
                }
                self.membership.require_continuation(message)?;
                let mut keys = [Key::default(), Key::default()];
                cx.unwrap_keys(self.area_key()?, header.epoch, 0, wrapped, &mut keys)?;
                self.enter(cx, header.epoch, keys);
            }
            (false, Operation::Add | Operation::Remove | Operation::Rekey, REKEY, _) => {
                self.membership.require_continuation(message)?;
                let group_key = cx.unwrap_key(self.area_key()?, header.epoch, 1, wrapped)?;
                self.membership.enter(cx, header.epoch, group_key);
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        Ok(())
    }

    fn area_key(&self) -> Result<&Key, Error> {
        self.area_key.as_ref().ok_or_else(|| Misbehaviour::UnexpectedMessage.into())
    }

    fn enter(&mut self, cx: &mut Context<'_>, epoch: Epoch, [area_key, group_key]: [Key; 2]) {
        self.area_key = Some(area_key);
        self.membership.enter(cx, epoch, group_key);
    }
}

impl Party for AreaMember {
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
        let area_key = bytes_of(self.area_key.as_ref());
        Footprint { permanent: self.membership.key_bytes() + area_key, temporary: 2 * Key::BYTES }
    }
}

const fn bytes_of(area_key: Option<&Key>) -> usize {
    if area_key.is_some() { Key::BYTES } else { 0 }
}
