//! The operations of a rig's group: members join, leave, sleep and catch up, parts split and merge.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use groupkey::catalogue::Audience;
use groupkey::error::Error;
use groupkey::{Channel, Command, Epoch, MemberId, PartyId, SubgroupId};

use crate::rig::parties::{RigParty, RigPresence};
use crate::rig::report::{OperationReport, RigError};
use crate::rig::state::Rig;
use crate::rig::transit::RigInput;

impl Rig {
    /// Creates a group of the members 0 to `count - 1`.
    pub fn create(&mut self, count: u32) -> Result<OperationReport, RigError> {
        self.create_of(&(0..count).collect::<Vec<_>>())
    }

    /// Creates a group of these members.
    pub fn create_of(&mut self, members: &[u32]) -> Result<OperationReport, RigError> {
        let members: Vec<_> = members.iter().copied().map(MemberId).collect();
        self.enroll(&members)?;
        self.begin();
        let everybody = members.iter().copied().collect();
        self.command(Command::Create(&members), &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Adds a member.
    pub fn add(&mut self, member: u32) -> Result<OperationReport, RigError> {
        let member = MemberId(member);
        if !self.current.contains(&member) {
            self.enroll(&[member])?;
        }
        self.begin();
        let mut everybody = self.current.clone();
        everybody.insert(member);
        self.command(Command::Add(member), &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Evicts a member. It stays in the rig as an outsider that receives every open message.
    pub fn remove(&mut self, member: u32) -> Result<OperationReport, RigError> {
        let member = MemberId(member);
        self.begin();
        let mut everybody = self.current.clone();
        everybody.remove(&member);
        self.evict(&[member], Command::Remove(member), &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Removes evicted members from the rig: they receive nothing any more. For long histories, in
    /// which they would outnumber the members.
    pub fn forget_former(&mut self) {
        self.seats.forget_former();
    }

    /// Adds members and evicts others in one change. The evicted members stay as outsiders.
    pub fn batch(&mut self, joining: &[u32], leaving: &[u32]) -> Result<OperationReport, RigError> {
        let joining: Vec<_> = joining.iter().copied().map(MemberId).collect();
        let leaving: Vec<_> = leaving.iter().copied().map(MemberId).collect();
        self.enroll(&joining)?;
        self.begin();
        let mut everybody = self.current.clone();
        everybody.extend(&joining);
        everybody.retain(|member| !leaving.contains(member));
        let batch = Command::Batch { joining: &joining, leaving: &leaving };
        self.evict(&leaving, batch, &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Promises a member the keys of these epochs and no others. It need not have joined yet.
    pub fn grant(
        &mut self,
        member: u32,
        first: u64,
        last: u64,
    ) -> Result<OperationReport, RigError> {
        let member = MemberId(member);
        if self.seats.get(member.into()).is_none() {
            self.enroll(&[member])?;
        }
        self.begin();
        let (first, last) = (Epoch(first), Epoch(last));
        self.command(Command::Grant { member, first, last }, &self.current.clone())?;
        self.finish()
    }

    /// Has a member begin a message to the group.
    pub fn send(&mut self, member: u32) -> Result<OperationReport, RigError> {
        self.begin();
        self.command_to(MemberId(member).into(), Command::Send).map_err(RigError::Command)?;
        self.finish()
    }

    /// Begins a new period with the same members.
    pub fn rekey(&mut self) -> Result<OperationReport, RigError> {
        self.begin();
        self.command(Command::Rekey, &self.current.clone())?;
        self.finish()
    }

    /// Splits the group in two. These members continue by themselves, and so do the others. The
    /// rig's other operations concern the others.
    pub fn partition(&mut self, apart: &[u32]) -> Result<OperationReport, RigError> {
        let apart: BTreeSet<_> = apart.iter().copied().map(MemberId).collect();
        let rest: BTreeSet<_> = self.current.difference(&apart).copied().collect();
        self.begin();
        self.apart = apart.clone();
        let (out_of_reach, others) = (Vec::from_iter(apart.clone()), Vec::from_iter(rest.clone()));
        self.command(Command::Partition(&out_of_reach), &rest)?;
        self.command(Command::Partition(&others), &apart)?;
        self.current = rest;
        self.finish()
    }

    /// Turns to the part of the group that continued by itself. The current part is then apart.
    pub fn change_sides(&mut self) {
        core::mem::swap(&mut self.current, &mut self.apart);
    }

    /// Brings the two parts of the group together again.
    pub fn merge(&mut self) -> Result<OperationReport, RigError> {
        let epoch = self.latest_epoch().next();
        self.begin();
        let (current, apart) = (self.current.clone(), core::mem::take(&mut self.apart));
        for (part, other) in [(&current, &apart), (&apart, &current)] {
            let members = &Vec::from_iter(other.clone())[..];
            self.command(Command::Merge { members, epoch }, part)?;
        }
        self.current.extend(apart);
        self.finish()
    }

    /// Lets a member miss all messages from now on.
    pub fn sleep(&mut self, member: u32) {
        self.put_to_sleep(MemberId(member).into());
    }

    /// Lets a party miss all messages from now on: a member or a subgroup controller.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn put_to_sleep(&mut self, party: PartyId) {
        self.seat(party).standing = RigPresence::Asleep;
    }

    /// Wakes a member and has it ask for missed changes.
    pub fn catch_up(&mut self, member: u32) -> Result<OperationReport, RigError> {
        self.wake(MemberId(member).into())
    }

    /// Wakes a party and has it ask for missed changes.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn wake(&mut self, party: PartyId) -> Result<OperationReport, RigError> {
        self.seat(party).standing = RigPresence::Awake;
        self.begin();
        self.command_to(party, Command::CatchUp).map_err(RigError::Command)?;
        self.finish()
    }

    /// Returns whether the controller of a member's subgroup is asleep. The member then gets
    /// nothing.
    pub fn is_cut_off(&self, member: u32) -> bool {
        let member = MemberId(member).into();
        self.seats.get(member).is_some_and(|seat| self.has_no_server(member, seat))
    }

    /// Lets time pass, in ns.
    pub fn wait(&mut self, time: u64) {
        self.now += time;
    }

    /// Gives a party bytes as if they came from the wire. Messages sent in return are dropped.
    pub fn inject(&mut self, party: PartyId, bytes: &[u8]) -> Result<(), Error> {
        self.step(party, RigInput::Bytes(Channel::Open, bytes)).map(drop)
    }

    /// Gives a party a command. Messages sent in return are put on their way.
    pub fn command_to(&mut self, party: PartyId, command: Command<'_>) -> Result<(), Error> {
        let outbox = self.step(party, RigInput::Command(command))?;
        self.post(party, &outbox);
        Ok(())
    }

    /// Returns whether a member waits for the controller of its subgroup, which is asleep. A member
    /// that was not enrolled because of that listens to no subgroup yet.
    pub(super) fn has_no_server(&self, id: PartyId, seat: &RigParty) -> bool {
        let asleep = |subgroup: SubgroupId| {
            let server = self.seats.get(subgroup.into());
            server.is_some_and(|server| server.standing == RigPresence::Asleep)
        };
        let somebody_sleeps =
            || self.seats.subgroup_controllers().any(|seat| seat.standing == RigPresence::Asleep);
        match (id, seat.subscriptions().is_empty()) {
            (PartyId::Member(_), true) => somebody_sleeps(),
            (PartyId::Member(_), false) => {
                seat.subscriptions().iter().any(|subset| asleep(SubgroupId(subset.0)))
            }
            _ => false,
        }
    }

    pub(super) fn enroll(&mut self, members: &[MemberId]) -> Result<(), RigError> {
        for &member in members {
            if !self.current.contains(&member) {
                let party = self.configuration.member(member);
                self.seats.take_in(member.into(), party);
            }
        }
        if self.configuration.scheme().has_controller() {
            self.begin();
            self.command_to(PartyId::Controller, Command::Enroll(members))
                .map_err(RigError::Command)?;
            self.drive()?;
            self.deployment = core::mem::take(&mut self.report.messages);
        }
        Ok(())
    }

    /// Gives a command that evicts members. They become outsiders before any message is sent, so
    /// that they receive the messages that evict them. If the command fails, they are reinstated.
    fn evict(
        &mut self,
        leaving: &[MemberId],
        command: Command<'_>,
        everybody: &BTreeSet<MemberId>,
    ) -> Result<(), RigError> {
        let dismissed: Vec<_> = leaving.iter().filter_map(|&member| self.dismiss(member)).collect();
        let result = self.command(command, everybody);
        if result.is_err() {
            for (ghost, member, standing) in dismissed {
                self.seats.reinstate(ghost, member, standing);
            }
        }
        result
    }

    /// Makes an evicted member an outsider. Its id may come back as a new party, so the old party
    /// listens on under another id. Returns that id, the member and its previous standing.
    fn dismiss(&mut self, member: MemberId) -> Option<(PartyId, MemberId, RigPresence)> {
        let ghost = PartyId::Member(MemberId(u32::MAX - self.sequence as u32));
        let before = self.seats.dismiss(member, ghost)?;
        self.sequence += 1;
        Some((ghost, member, before))
    }

    fn begin(&mut self) {
        self.report = OperationReport::default();
    }

    /// Gives a command to the parties that it is for and that are awake. `Everybody` includes
    /// parties that are enrolled but not in the group: clocks tick for them too.
    fn command(
        &mut self,
        command: Command<'_>,
        everybody: &BTreeSet<MemberId>,
    ) -> Result<(), RigError> {
        let parties: Vec<_> = match self.configuration.scheme().audience(&command) {
            Audience::Controller => vec![PartyId::Controller],
            Audience::Everybody => self.seats.iter().map(|(id, _)| id).collect(),
            Audience::Members => everybody.iter().map(|&id| id.into()).collect(),
        };
        for party in parties {
            if self.seats[party].standing == RigPresence::Awake {
                self.command_to(party, command).map_err(RigError::Command)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<OperationReport, RigError> {
        self.drive()?;
        let deployment = core::mem::take(&mut self.deployment);
        Ok(OperationReport { deployment, ..core::mem::take(&mut self.report) })
    }
}
