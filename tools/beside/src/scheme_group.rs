//! A group of one of our schemes: every party signs, and checks what it receives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use groupkey::catalogue::{self, Configuration, Profile};
use groupkey::crypto::meter::Meter;
use groupkey::messages::{MessageSettings, Messenger};
use groupkey::protection::{Directory, Guard, Identity, Protection, PublicIdentity};
use groupkey::{
    Channel, Command, Context, Event, GroupId, Instance, MemberId, Outbox, Party, PartyId,
    Recipient, Setting, SubsetId, Suite,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::figures::{FigureTable, MeasuredStep, MlsTree};
use crate::processor_time::timed;

/// Measures a scheme in a group of this size. Without a controller, all members are there; with one,
/// only three of them, as each does the same. In a populated tree of TreeKEM every member has committed
/// once.
pub(crate) fn measure(
    id: &str,
    members: u32,
    tree: Option<MlsTree>,
    rows: &mut FigureTable,
) -> Result<(), String> {
    let found = catalogue::scheme(id).ok_or_else(|| format!("there is no scheme {id}"))?;
    let scheme = &tree.map_or_else(|| id.to_owned(), |tree| format!("{id}/{}", tree.name()));
    let mut group = Group::new(found.configuration(Profile::Sound));
    let ids: Vec<_> = (0..members).map(MemberId).collect();
    let has_controller = found.has_controller();
    let watched: Vec<_> = match has_controller {
        true => BTreeSet::from([0, members / 3, members - 1]).into_iter().map(MemberId).collect(),
        false => ids.clone(),
    };
    watched.iter().for_each(|&member| group.seat_member(member));
    if has_controller {
        group.run(Command::Enroll(&ids), &[PartyId::Controller]);
    }
    let everyone = |members: &[MemberId]| match has_controller {
        true => vec![PartyId::Controller],
        false => members.iter().map(|&member| member.into()).collect(),
    };
    group.reset();
    group.run(Command::Create(&ids), &everyone(&ids));
    group.note(
        scheme,
        members,
        (MeasuredStep::CreateMakes, MeasuredStep::CreateReceives),
        None,
        rows,
    );

    if tree == Some(MlsTree::Populated) {
        (0..members).for_each(|_| group.run(Command::Rekey, &everyone(&ids)));
    }
    let newcomer = MemberId(members);
    group.seat_member(newcomer);
    if has_controller {
        group.run(Command::Enroll(&[newcomer]), &[PartyId::Controller]);
    }
    let with_newcomer: Vec<_> = ids.iter().copied().chain([newcomer]).collect();
    group.reset();
    group.run(Command::Add(newcomer), &everyone(&with_newcomer));
    group.note(
        scheme,
        members,
        (MeasuredStep::AddMakes, MeasuredStep::AddReceives),
        Some(newcomer),
        rows,
    );

    let leaver = MemberId(members / 2 + 1);
    group.seats.remove(&leaver.into());
    let rest: Vec<_> = with_newcomer.into_iter().filter(|&member| member != leaver).collect();
    group.reset();
    group.run(Command::Remove(leaver), &everyone(&rest));
    group.note(
        scheme,
        members,
        (MeasuredStep::RemoveMakes, MeasuredStep::RemoveReceives),
        None,
        rows,
    );
    group.measure_messages(scheme, members, rows);
    Ok(())
}

/// The parties that are there, and what they have done.
struct Group {
    configuration: Configuration,
    setting: Setting,
    keys: Keys,
    rng: ChaCha20Rng,
    seats: BTreeMap<PartyId, Seat>,
    outbox: Outbox,
    sent: usize,
}

struct Seat {
    party: Box<dyn Party>,
    identity: Identity,
    subscribed: BTreeSet<SubsetId>,
    /// Processor time since the last operation began, µs.
    time: f64,
    /// Whether it sent something in that operation.
    has_sent: bool,
}

#[derive(Default)]
struct Keys(BTreeMap<PartyId, PublicIdentity>);

impl Directory for Keys {
    fn public_identity(&self, party: PartyId) -> Option<PublicIdentity> {
        self.0.get(&party).cloned()
    }
}

/// A message on its way, and who sent it.
type InTransit = (PartyId, Recipient, Channel, Rc<[u8]>);

impl Group {
    fn new(configuration: Configuration) -> Self {
        let (number, instance) = (GroupId(1), Instance([5; 16]));
        let guard = Guard::Signature;
        let mut group = Self {
            setting: configuration.setting(number, Suite::Standard, guard, "beside", instance),
            keys: Keys::default(),
            rng: ChaCha20Rng::seed_from_u64(1),
            seats: BTreeMap::new(),
            outbox: Outbox::new(),
            sent: 0,
            configuration,
        };
        if let Some(controller) = group.configuration.controller() {
            group.seat(PartyId::Controller, controller);
        }
        group
    }

    fn seat_member(&mut self, member: MemberId) {
        let party = self.configuration.member(member);
        self.seat(member.into(), party);
    }

    fn seat(&mut self, id: PartyId, party: Box<dyn Party>) {
        let mut secret = [0; 32];
        self.rng.fill_bytes(&mut secret);
        let identity = Identity::from_secret(&secret);
        self.keys.0.insert(id, identity.public());
        let subscribed = BTreeSet::new();
        self.seats.insert(id, Seat { party, identity, subscribed, time: 0.0, has_sent: false });
    }

    fn reset(&mut self) {
        self.sent = 0;
        for seat in self.seats.values_mut() {
            (seat.time, seat.has_sent) = (0.0, false);
        }
    }

    /// Gives parties a command, and carries messages until there are none.
    fn run(&mut self, command: Command<'_>, to: &[PartyId]) {
        let mut transit = VecDeque::new();
        for &id in to {
            self.step(id, &mut transit, |cx, party| cx.command(party, command));
        }
        while let Some((from, to, channel, bytes)) = transit.pop_front() {
            let receives = |(&id, seat): (&PartyId, &Seat)| {
                let is_for_it = to.includes(id, |subset| seat.subscribed.contains(&subset));
                (id != from && is_for_it).then_some(id)
            };
            let receivers: Vec<_> = match to.party() {
                Some(one) => vec![one],
                None => self.seats.iter().filter_map(receives).collect(),
            };
            for id in receivers {
                self.step(id, &mut transit, |cx, party| cx.deliver(party, channel, &bytes));
            }
        }
    }

    fn step(
        &mut self,
        id: PartyId,
        transit: &mut VecDeque<InTransit>,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), groupkey::Error>,
    ) {
        if !self.seats.contains_key(&id) {
            return;
        }
        let (result, time) = self.at(id, |cx, party| timed(|| act(cx, party)));
        result.unwrap_or_else(|error| panic!("{id}: {error}"));
        let Some(seat) = self.seats.get_mut(&id) else { return };
        seat.time += time;
        for event in self.outbox.events() {
            match event {
                Event::Subscribed(subset) => seat.subscribed.insert(*subset),
                Event::Unsubscribed(subset) => seat.subscribed.remove(subset),
                _ => false,
            };
        }
        for message in self.outbox.messages() {
            seat.has_sent = true;
            self.sent += message.bytes.len();
            transit.push_back((id, message.to, message.channel, message.bytes.into()));
        }
    }

    /// Notes what the last operation took who made it, the newcomer, and another member.
    fn note(
        &self,
        scheme: &str,
        members: u32,
        (makes, receives): (MeasuredStep, MeasuredStep),
        newcomer: Option<MemberId>,
        rows: &mut FigureTable,
    ) {
        let old = self.seats.iter().filter(|(id, _)| Some(**id) != newcomer.map(Into::into));
        let makers = old.clone().filter(|(_, seat)| seat.has_sent);
        let most = |seats: &mut dyn Iterator<Item = &Seat>| {
            seats.map(|seat| seat.time).max_by(f64::total_cmp)
        };
        let maker = match self.seats.get(&PartyId::Controller) {
            Some(controller) => Some(controller.time),
            None => most(&mut makers.map(|(_, seat)| seat)),
        };
        if let Some(time) = maker {
            rows.note(scheme, members, makes, time, self.sent);
        }
        let mut receivers: Vec<_> = old
            .filter(|(id, seat)| matches!(id, PartyId::Member(_)) && !seat.has_sent)
            .map(|(_, seat)| seat.time)
            .collect();
        receivers.sort_by(f64::total_cmp);
        if let Some(&median) = receivers.get(receivers.len() / 2) {
            rows.note(scheme, members, receives, median, self.sent);
        }
        if let Some(seat) = newcomer.and_then(|newcomer| self.seats.get(&newcomer.into())) {
            rows.note(scheme, members, MeasuredStep::AddJoins, seat.time, self.sent);
        }
    }

    /// Measures messages among members, signed by their sender.
    fn measure_messages(&mut self, scheme: &str, members: u32, rows: &mut FigureTable) {
        let ids: Vec<_> =
            self.seats.keys().copied().filter(|id| matches!(id, PartyId::Member(_))).collect();
        let [sender, .., receiver] = ids[..] else { return };
        let settings = MessageSettings { signed: Some(true), ..MessageSettings::default() };
        let mut messengers = [sender, receiver].map(|id| {
            self.at(id, |cx, party| {
                let mut messenger = Messenger::new(cx, settings).expect("it has an identity");
                messenger.follow(cx, party);
                messenger
            })
        });
        for (length, seal, open) in MeasuredStep::MESSAGES {
            let content = vec![7; length];
            let mut sealed = Vec::new();
            let ((), time) = self.at(sender, |cx, _| {
                timed(|| {
                    for _ in 0..MESSAGES {
                        sealed.push(messengers[0].seal(cx, &content).expect("it has a key"));
                    }
                })
            });
            rows.note(scheme, members, seal, time / MESSAGES as f64, sealed[0].len());
            let ((), time) = self.at(receiver, |cx, _| {
                timed(|| {
                    for message in &sealed {
                        messengers[1].open(cx, message).expect("it is whole");
                    }
                })
            });
            rows.note(scheme, members, open, time / MESSAGES as f64, sealed[0].len());
        }
    }

    /// Lets a party that is there do something. What it sends is in the outbox.
    fn at<T>(&mut self, id: PartyId, act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> T) -> T {
        let seat = self.seats.get_mut(&id).expect("it is there");
        self.outbox.clear();
        let protection = Protection::Signature { identity: &seat.identity, directory: &self.keys };
        let mut meter = Meter::new();
        let (rng, outbox) = (&mut self.rng, &mut self.outbox);
        let mut cx = Context::new(self.setting, id, protection, rng, 0, outbox, &mut meter);
        act(&mut cx, &mut *seat.party)
    }
}

/// How many messages one figure is the average of.
const MESSAGES: usize = 50;
