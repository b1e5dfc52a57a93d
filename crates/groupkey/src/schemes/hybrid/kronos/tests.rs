//! What a party can compute from the master key and one period's value, and what happens to a
//! period that begins with a tick and a message.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use alloc::vec::Vec;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::{GroupId, MemberId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::party::Command;
use crate::protection::Protection;

const RESEED: u32 = 5;

/// Two subgroups, and members that hear every message. An evicted party refuses new messages and
/// keeps the keys that it had.
struct Group {
    controller: Controller,
    stations: [SubgroupController; 2],
    members: Vec<AreaMember>,
    rng: ChaCha20Rng,
}

/// A message that waits to be delivered.
type Sent = (Channel, Vec<u8>);

impl Group {
    fn new(profile: Profile) -> Self {
        let everybody: Vec<_> = (0..8).map(MemberId).collect();
        let reseed = if profile == Profile::Sound { RESEED } else { 0 };
        let station = |id| SubgroupController::new(profile, reseed, SubgroupId(id));
        let mut group = Self {
            controller: Controller::new(profile, reseed, 2),
            stations: [station(0), station(1)],
            members: everybody.iter().map(|_| AreaMember::new(profile)).collect(),
            rng: ChaCha20Rng::seed_from_u64(1),
        };
        group.change(Command::Enroll(&everybody));
        group.change(Command::Create(&everybody[..6]));
        group
    }

    fn change(&mut self, command: Command<'_>) {
        let sent = self.command(PartyId::Controller, command);
        self.deliver(&sent);
    }

    fn tick(&mut self) {
        let mut sent = self.command(PartyId::Controller, Command::Rekey);
        for id in 0..2 {
            sent.extend(self.command(SubgroupId(id).into(), Command::Rekey));
        }
        self.deliver(&sent);
    }

    fn command(&mut self, party: PartyId, command: Command<'_>) -> Vec<Sent> {
        self.with(party, |cx, party| cx.command(party, command)).unwrap()
    }

    fn deliver(&mut self, sent: &[Sent]) {
        for (channel, bytes) in sent {
            let answer =
                |cx: &mut Context<'_>, party: &mut dyn Party| cx.deliver(party, *channel, bytes);
            if let Ok(further) = self.with(PartyId::Controller, answer) {
                self.deliver(&further);
            }
            for id in 0..2 {
                let deliver = |cx: &mut Context<'_>, party: &mut dyn Party| {
                    cx.deliver(party, *channel, bytes)
                };
                if let Ok(further) = self.with(SubgroupId(id).into(), deliver) {
                    self.deliver(&further);
                }
            }
            for id in 0..self.members.len() as u32 {
                let deliver = |cx: &mut Context<'_>, party: &mut dyn Party| {
                    cx.deliver(party, *channel, bytes)
                };
                let _ = self.with(MemberId(id).into(), deliver);
            }
        }
    }

    fn with(
        &mut self,
        me: PartyId,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) -> Result<Vec<Sent>, Error> {
        let Self { controller, stations, members, rng } = self;
        let mut outbox = Outbox::new();
        let mut probe = ();
        let protection = Protection::None;
        let setting = Setting::new(GroupId(0), Suite::Standard);
        let mut cx = Context::new(setting, me, protection, rng, 0, &mut outbox, &mut probe);
        let party: &mut dyn Party = match me {
            PartyId::Controller => controller,
            PartyId::SubgroupController(id) => &mut stations[id.0 as usize],
            PartyId::Member(id) => &mut members[id.0 as usize],
        };
        act(&mut cx, party)?;
        let sent = outbox.messages().map(|message| (message.channel, message.bytes.to_vec()));
        Ok(sent.collect())
    }

    /// Returns whether a thief that goes on with the stolen chain has the present group key.
    fn is_known_to(&mut self, stolen: &Chain, stolen_in: Epoch) -> bool {
        let (epoch, group_key) = self.controller.domain.group_key().unwrap();
        let (profile, group_key) = (self.controller.profile, group_key.clone());
        let mut chain = stolen.clone();
        let mut known = false;
        let compute = |cx: &mut Context<'_>, _: &mut dyn Party| {
            for _ in stolen_in.0..epoch.0 {
                chain = chain.next(cx);
            }
            known = chain.group_key(cx, profile, epoch) == group_key;
            Ok(())
        };
        self.with(PartyId::Controller, compute).unwrap();
        known
    }

    /// Lets the subgroup's controller 0, which follows the group by its own clock, tick.
    fn tick_first(&mut self) {
        let sent = self.command(SubgroupId(0).into(), Command::Rekey);
        self.deliver(&sent);
    }

    /// Lets the controller and the subgroup's controller 1 tick.
    fn tick_others(&mut self) {
        let mut sent = self.command(PartyId::Controller, Command::Rekey);
        sent.extend(self.command(SubgroupId(1).into(), Command::Rekey));
        self.deliver(&sent);
    }

    /// Returns whether the next tick needs a new master key.
    fn chain_is_due(&self) -> bool {
        self.controller.needs_seed(Operation::Rekey)
    }

    fn has_present_key(&self, member: usize) -> bool {
        self.members[member].group_key() == self.controller.group_key()
    }

    fn agrees(&self) {
        let key = self.controller.group_key();
        assert!(self.stations.iter().all(|station| station.group_key() == key));
        assert!(self.members[1..6].iter().all(|member| member.group_key() == key));
    }
}

#[test]
fn as_published_a_stolen_master_key_gives_all_later_keys() {
    let mut group = Group::new(Profile::Published);
    group.tick();
    let (stolen, stolen_in) = (group.controller.chain.clone(), group.controller.domain.epoch());
    for round in 0..30 {
        group.tick();
        assert!(group.is_known_to(&stolen, stolen_in), "round {round}");
    }
    group.change(Command::Remove(MemberId(0)));
    assert!(group.is_known_to(&stolen, stolen_in), "after an eviction");
    group.change(Command::Add(MemberId(6)));
    assert!(group.is_known_to(&stolen, stolen_in), "after a join");
    group.agrees();
}

#[test]
fn as_published_the_master_key_and_a_members_key_are_enough() {
    for profile in Profile::ALL {
        let mut group = Group::new(profile);
        group.tick();
        let (epoch, key) = group.members[3].group_key().unwrap();
        let master = group.controller.chain.master.clone();
        let pooled = Chain { master, value: key.clone(), since: Epoch(1) };
        group.tick();
        assert_eq!(group.is_known_to(&pooled, epoch), profile == Profile::Published);
    }
}

#[test]
fn the_sound_form_recovers_with_the_next_master_key() {
    let mut group = Group::new(Profile::Sound);
    let (stolen, stolen_in) = (group.controller.chain.clone(), group.controller.domain.epoch());
    for _ in 1..RESEED {
        group.tick();
        assert!(group.is_known_to(&stolen, stolen_in), "until then it does not");
    }
    for round in 0..20 {
        group.tick();
        group.agrees();
        assert!(!group.is_known_to(&stolen, stolen_in), "round {round}");
    }
    let (stolen, stolen_in) = (group.controller.chain.clone(), group.controller.domain.epoch());
    group.change(Command::Remove(MemberId(0)));
    group.agrees();
    assert!(!group.is_known_to(&stolen, stolen_in), "after an eviction");
}

#[test]
fn a_new_master_key_may_come_before_or_after_the_tick() {
    let ids = [0, 1].map(|id| PartyId::from(SubgroupId(id)));
    let mut group = Group::new(Profile::Sound);
    for round in 0..20 {
        let seeds = group.command(PartyId::Controller, Command::Rekey);
        assert_eq!(seeds.is_empty(), round % RESEED != RESEED - 1);
        let mut sent = group.command(ids[0], Command::Rekey);
        sent.extend(seeds);
        group.deliver(&sent);
        let sent = group.command(ids[1], Command::Rekey);
        group.deliver(&sent);
        group.agrees();
    }
    group.change(Command::Add(MemberId(6)));
    group.agrees();
}

#[test]
fn an_early_tick_does_not_keep_an_evicted_member_in() {
    for profile in Profile::ALL {
        let mut group = Group::new(profile);
        group.tick_first();
        group.change(Command::Remove(MemberId(0)));
        assert_eq!(group.stations[0].clock, Clock::Ahead);
        // This change follows the wrong epoch, and is refused.
        group.change(Command::Remove(MemberId(2)));
        assert_eq!(group.stations[0].clock, Clock::Ahead);
        group.tick_others();
        group.tick_first();
        assert_eq!(group.stations[0].clock, Clock::InStep);
        assert!(!group.has_present_key(0) && !group.has_present_key(2));
        assert!(group.has_present_key(4) && group.has_present_key(5));
        group.tick();
        assert!(group.has_present_key(4) && !group.has_present_key(0));
    }
}

/// The clock is early every time, so the controller cannot bring it into step at once.
#[test]
fn a_clock_that_is_always_early_is_led_on_in_the_end() {
    let mut group = Group::new(Profile::Sound);
    group.tick_first();
    group.change(Command::Remove(MemberId(0)));
    for clock in [Clock::Ahead, Clock::InStep] {
        group.tick_first();
        assert_eq!(group.stations[0].clock, clock);
        group.tick_others();
    }
    assert!(group.stations[0].area.subgroup.roster.enrolled_slot(MemberId(0)).is_none());
    group.change(Command::Remove(MemberId(2)));
    assert!(!group.has_present_key(0) && !group.has_present_key(2));
}

#[test]
fn a_late_tick_after_a_resumption_does_not_keep_an_evicted_member_in() {
    for periods in 1..3 {
        let mut group = Group::new(Profile::Sound);
        group.tick_others();
        group.change(Command::Remove(MemberId(1)));
        let request = group.command(SubgroupId(0).into(), Command::CatchUp);
        group.deliver(&request);
        group.tick_first();
        let delayed = group.command(PartyId::Controller, Command::Remove(MemberId(2)));
        for _ in 1..periods {
            group.tick();
        }
        group.deliver(&delayed);
        group.tick();
        assert!(group.has_present_key(4) && !group.has_present_key(2), "{periods}");
    }
}

#[test]
fn a_master_key_that_was_lost_is_asked_for() {
    let mut group = Group::new(Profile::Sound);
    while !group.chain_is_due() {
        group.tick();
    }
    let lost = group.command(PartyId::Controller, Command::Rekey);
    assert_eq!(lost.len(), 2);
    for id in [0, 1] {
        let sent = group.command(SubgroupId(id).into(), Command::Rekey);
        assert!(sent.is_empty());
    }
    group.tick();
    group.tick();
    group.agrees();
}

#[test]
fn a_change_meets_a_tick_that_waits_for_a_master_key() {
    let mut group = Group::new(Profile::Sound);
    while !group.chain_is_due() {
        group.tick();
    }
    group.tick_first();
    group.change(Command::Add(MemberId(6)));
    group.tick_others();
    group.agrees();
}
