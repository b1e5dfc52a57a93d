//! What parties can compute from what they hold: members their intervals, colluders the union of
//! theirs, and a party that takes over a controller the rest of the session.

use std::collections::BTreeSet;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::{GroupId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::protection::Protection;
use crate::scheme::Profile;

const DEPTH: u32 = 4;
const PERIODS: u32 = 1 << DEPTH;

/// One subgroup. Members 0 and 1 are in the creation, for the first period.
struct Group {
    session: Session,
    controller: Controller,
    station: SubgroupController,
    members: Vec<Member>,
    rng: ChaCha20Rng,
}

impl Group {
    fn new(profile: Profile, members: u32) -> Self {
        let session = Session::new(profile, DEPTH);
        let everybody: Vec<_> = (0..members).map(MemberId).collect();
        let mut group = Self {
            session,
            controller: Controller::new(session, 1, 1),
            station: SubgroupController::new(session, SubgroupId(0)),
            members: everybody.iter().map(|_| Member::new(session)).collect(),
            rng: ChaCha20Rng::seed_from_u64(1),
        };
        group.command(Command::Enroll(&everybody)).unwrap();
        group.command(Command::Create(&everybody[..2])).unwrap();
        group
    }

    /// Gives the controller a command and delivers the messages that follow. Returns the
    /// controller's last message.
    fn command(&mut self, command: Command<'_>) -> Result<Vec<u8>, Error> {
        let sent = self.with(PartyId::Controller, |cx, party| cx.command(party, command))?;
        let mut last = Vec::new();
        for (channel, bytes) in &sent {
            let deliver =
                |cx: &mut Context<'_>, party: &mut dyn Party| cx.deliver(party, *channel, bytes);
            for (channel, bytes) in self.with(SubgroupId(0).into(), deliver)? {
                for id in 0..self.members.len() as u32 {
                    let deliver = |cx: &mut Context<'_>, party: &mut dyn Party| {
                        cx.deliver(party, channel, &bytes)
                    };
                    let _ = self.with(MemberId(id).into(), deliver);
                }
            }
            last.clone_from(bytes);
        }
        Ok(last)
    }

    fn grant(&mut self, member: u32, (first, last): (u32, u32)) -> Result<Vec<u8>, Error> {
        let (first, last) = (epoch_of(first), epoch_of(last));
        self.command(Command::Grant { member: MemberId(member), first, last })
    }

    fn tick(&mut self) {
        let members = (0..self.members.len() as u32).map(|id| MemberId(id).into());
        let everybody = [PartyId::Controller, SubgroupId(0).into()].into_iter().chain(members);
        for party in everybody {
            self.with(party, |cx, party| cx.command(party, Command::Rekey)).unwrap();
        }
    }

    fn with(
        &mut self,
        me: PartyId,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) -> Result<Vec<(Channel, Vec<u8>)>, Error> {
        let Self { controller, station, members, rng, .. } = self;
        let mut outbox = Outbox::new();
        let mut probe = ();
        let protection = Protection::None;
        let setting = Setting::new(GroupId(0), Suite::Standard);
        let mut cx = Context::new(setting, me, protection, rng, 0, &mut outbox, &mut probe);
        let party: &mut dyn Party = match me {
            PartyId::Controller => controller,
            PartyId::SubgroupController(_) => station,
            PartyId::Member(id) => &mut members[id.0 as usize],
        };
        act(&mut cx, party)?;
        let sent = outbox.messages().map(|message| (message.channel, message.bytes.to_vec()));
        Ok(sent.collect())
    }

    fn computable(&mut self, timelines: &[&Timeline]) -> BTreeSet<[u8; 16]> {
        let mut keys = BTreeSet::new();
        let mut outbox = Outbox::new();
        let mut probe = ();
        let (setting, me, protection) =
            (Setting::new(GroupId(0), Suite::Standard), PartyId::Controller, Protection::None);
        let rng = &mut self.rng;
        let mut cx = Context::new(setting, me, protection, rng, 0, &mut outbox, &mut probe);
        for timeline in timelines {
            for leaf in &timeline.all(&mut cx) {
                keys.insert(*leaf.as_bytes());
            }
        }
        keys
    }

    /// Returns the keys of the whole session, before any were wiped.
    fn truth(&mut self) -> Vec<[u8; 16]> {
        assert_eq!(self.controller.domain.epoch(), Epoch(1));
        let timeline = core::mem::take(&mut self.controller.timeline);
        let mut keys = Vec::new();
        let mut cover = |cx: &mut Context<'_>, _: &mut dyn Party| {
            keys = timeline.all(cx)[..PERIODS as usize].iter().map(|key| *key.as_bytes()).collect();
            Ok(())
        };
        self.with(PartyId::Controller, &mut cover).unwrap();
        self.controller.timeline = timeline;
        keys
    }
}

#[test]
fn colluders_get_the_union_of_their_intervals() {
    let spans: Vec<_> = (0..PERIODS).flat_map(|a| (a..PERIODS).map(move |b| (a, b))).collect();
    for profile in Profile::ALL {
        let mut group = Group::new(profile, 2 + spans.len() as u32);
        let truth = group.truth();
        for (member, &span) in (2..).zip(&spans) {
            group.grant(member, span).unwrap();
        }
        let members = core::mem::take(&mut group.members);
        let known: Vec<_> =
            members[2..].iter().map(|member| group.computable(&[&member.timeline])).collect();
        for (first, (a, b)) in spans.iter().enumerate() {
            for (second, (c, d)) in spans.iter().enumerate().skip(first) {
                let theirs = |t: &u32| (a..=b).contains(&t) || (c..=d).contains(&t);
                for t in 0..PERIODS {
                    let key = &truth[t as usize];
                    let has = known[first].contains(key) || known[second].contains(key);
                    assert_eq!(has, theirs(&t), "{a} to {b} and {c} to {d}: {t}");
                }
            }
        }
    }
}

#[test]
fn who_takes_over_a_controller_reads_on_and_as_published_back() {
    for profile in Profile::ALL {
        let mut group = Group::new(profile, 2);
        let truth = group.truth();
        for now in 0..PERIODS {
            let controller = core::mem::take(&mut group.controller.timeline);
            let station = core::mem::take(&mut group.station.timeline);
            for timeline in [&controller, &station] {
                let known = group.computable(&[timeline]);
                for (t, key) in (0..).zip(&truth) {
                    let expected = t >= now || profile == Profile::Published;
                    assert_eq!(known.contains(key), expected, "{t} in {now}");
                }
            }
            group.controller.timeline = controller;
            group.station.timeline = station;
            if now + 1 < PERIODS {
                group.tick();
            }
        }
        let over = group.command(Command::Rekey);
        assert_eq!(over, Err(Misuse::SessionOver.into()));
        assert_eq!(group.session.periods(), PERIODS);
    }
}

#[test]
fn a_promise_is_made_once_and_for_what_is_to_come() {
    for profile in Profile::ALL {
        let mut group = Group::new(profile, 5);
        group.tick();
        group.tick();
        for bad in [(0, 3), (1, 1), (5, 4), (3, PERIODS)] {
            assert_eq!(group.grant(2, bad), Err(Misuse::OutsideSession.into()), "{bad:?}");
        }
        assert_eq!(group.grant(9, (3, 4)), Err(Misuse::NotEnrolled(MemberId(9)).into()));
        let message = group.grant(2, (3, 4)).unwrap();
        assert_eq!(group.grant(2, (3, 9)), Err(Misuse::AlreadyMember(MemberId(2)).into()));
        // A replay does not make a second promise.
        for _ in 0..3 {
            let replay = |cx: &mut Context<'_>, party: &mut dyn Party| {
                cx.deliver(party, Channel::Open, &message)
            };
            let refused = group.with(SubgroupId(0).into(), replay);
            assert_eq!(refused, Err(Misbehaviour::InvalidRoster.into()));
            group.tick();
        }
    }
}

#[test]
fn who_slept_through_its_grant_gets_the_seeds_when_it_asks() {
    for profile in Profile::ALL {
        let mut group = Group::new(profile, 3);
        let sleeper = group.members.pop().unwrap();
        group.grant(2, (0, 9)).unwrap();
        (0..3).for_each(|_| group.tick());
        group.members.push(sleeper);
        let asleep = PartyId::from(MemberId(2));
        // A member ignores ticks of its clock before it knows of a group.
        group.with(asleep, |cx, party| cx.command(party, Command::Rekey)).unwrap();
        assert_eq!(group.members[2].group_key(), None);
        let asks = group.with(asleep, |cx, party| cx.command(party, Command::CatchUp)).unwrap();
        let take =
            |cx: &mut Context<'_>, party: &mut dyn Party| cx.deliver(party, asks[0].0, &asks[0].1);
        let answer = group.with(SubgroupId(0).into(), take).unwrap();
        let take = |cx: &mut Context<'_>, party: &mut dyn Party| {
            cx.deliver(party, answer[0].0, &answer[0].1)
        };
        group.with(asleep, take).unwrap();
        assert!(group.members[2].group_key().is_some());
        assert_eq!(group.members[2].group_key(), group.controller.group_key());
    }
}

#[test]
fn a_promise_to_a_member_whose_enrolment_was_lost_is_asked_for() {
    let mut group = Group::new(Profile::Sound, 2);
    group.members.push(Member::new(group.session));
    let newcomer = MemberId(2);
    let enroll = Command::Enroll(&[newcomer]);
    let lost = group.with(PartyId::Controller, |cx, party| cx.command(party, enroll)).unwrap();
    assert_eq!(lost.len(), 1);
    let grant = Command::Grant { member: newcomer, first: epoch_of(0), last: epoch_of(9) };
    let sent = group.with(PartyId::Controller, |cx, party| cx.command(party, grant)).unwrap();
    let deliver = |group: &mut Group, to: PartyId, sent: &[(Channel, Vec<u8>)]| {
        let [(channel, bytes), ..] = sent else { panic!("a message") };
        group.with(to, |cx, party| cx.deliver(party, *channel, bytes))
    };
    let station = PartyId::from(SubgroupId(0));
    let missed = Misbehaviour::SkippedEpoch { got: epoch_of(0), current: epoch_of(0) };
    assert_eq!(deliver(&mut group, station, &sent), Err(missed.into()));
    let asks = group.with(station, |cx, party| cx.command(party, Command::CatchUp)).unwrap();
    let told = deliver(&mut group, PartyId::Controller, &asks).unwrap();
    let enrolled = deliver(&mut group, station, &told).unwrap();
    deliver(&mut group, newcomer.into(), &enrolled).unwrap();
    // The refused message can be delivered again.
    let seeds = deliver(&mut group, station, &sent).unwrap();
    deliver(&mut group, newcomer.into(), &seeds).unwrap();
    assert_eq!(group.members[2].group_key(), group.controller.group_key());
}
