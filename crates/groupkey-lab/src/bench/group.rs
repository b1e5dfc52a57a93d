//! A group that lives for one activity: it is created, and then the activity is performed.
//!
//! Pauses between steps have no length (S002, section 6.1). Messages are delivered in the order in
//! which they were sent, to the parties that exist.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use groupkey::catalogue::{Audience, Class, Law, Recovery};
use groupkey::messages::{MessageSettings, Messenger, Nonces};
use groupkey::{
    Channel, Command, Context, Error, Event, MemberId, Operation, Outbox, Party, PartyId,
    Recipient, SubsetId,
};
use groupkey_testkit::replay::ReplayInput;
use groupkey_testkit::workbench::Handling;

use super::parties::{BATCH, leaver, newcomer};
use super::script::Script;
use super::state::{BenchState, PartyShare, PhaseRecord, Shares, Work};
use super::{Activity, BenchError, Phase};

/// A group that lives for one activity.
pub(crate) struct MeasuredGroup<'s> {
    state: &'s mut BenchState,
    seats: BTreeMap<PartyId, MeasuredParty>,
    current: BTreeSet<MemberId>,
    /// Members that split off and went on by themselves.
    apart: BTreeSet<MemberId>,
    queue: VecDeque<PendingDelivery>,
    shares: Shares,
    checking: Checking,
    /// Present if everything that parties are given is written down.
    script: Option<Script>,
    /// Whether messages stay where they are sent: the parties are given what a script says.
    is_scripted: bool,
}

/// Whether parties check the tags of messages. Otherwise they count the checks: in a group without
/// a controller each member checks each message of a creation, which takes minutes for a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Checking {
    #[default]
    Everybody,
    Nobody,
}

struct MeasuredParty {
    party: Box<dyn Party>,
    subsets: BTreeSet<SubsetId>,
}

struct PendingDelivery {
    from: PartyId,
    to: PartyId,
    channel: Channel,
    bytes: Rc<[u8]>,
}

impl BenchState {
    /// Creates a group from the same static variables as every other group, and performs the
    /// activity, with a script of it. Earlier episodes, the group's creation included, are reported
    /// as well. Nobody checks tags: the whole group is here only for the script.
    pub(crate) fn perform(
        &mut self,
        activity: Activity,
    ) -> Result<(Vec<PhaseRecord>, Script), BenchError> {
        self.rewind();
        let script = Some(Script::default());
        let mut group =
            MeasuredGroup { checking: Checking::Nobody, script, ..MeasuredGroup::new(self) };
        let episodes = group.perform(activity)?;
        Ok((episodes, group.script.unwrap_or_default()))
    }

    /// Has a member of a group encrypt this many messages of this length (bytes), one after the
    /// other, and another member decrypt them.
    pub(crate) fn converse(
        &mut self,
        messages: u32,
        bytes: u32,
        nonces: Nonces,
    ) -> Result<Vec<[PhaseRecord; 2]>, BenchError> {
        self.rewind();
        MeasuredGroup::new(self).converse(messages, bytes, nonces)
    }
}

impl<'s> MeasuredGroup<'s> {
    pub(crate) fn new(state: &'s mut BenchState) -> Self {
        let mut seats = BTreeMap::new();
        let BenchState { configuration, parties, .. } = state;
        if let Some(controller) = configuration.controller() {
            seats.insert(PartyId::Controller, MeasuredParty::new(controller));
        }
        for &subgroup in &parties.subgroups {
            seats.insert(subgroup.into(), MeasuredParty::new(configuration.party(subgroup.into())));
        }
        for &member in &parties.present {
            seats.insert(member.into(), MeasuredParty::new(configuration.member(member)));
        }
        Self::of(state, seats)
    }

    /// Returns new parties of these names that get what a script says, and do not check tags at
    /// first.
    pub(super) fn alone(state: &'s mut BenchState, parties: &BTreeSet<PartyId>) -> Self {
        let party = |&id: &PartyId| (id, MeasuredParty::new(state.configuration.party(id)));
        let seats = parties.iter().map(party).collect();
        Self { checking: Checking::Nobody, is_scripted: true, ..Self::of(state, seats) }
    }

    fn of(state: &'s mut BenchState, seats: BTreeMap<PartyId, MeasuredParty>) -> Self {
        Self {
            current: state.parties.present.clone(),
            state,
            seats,
            apart: BTreeSet::new(),
            queue: VecDeque::new(),
            shares: Shares::new(),
            checking: Checking::Everybody,
            script: None,
            is_scripted: false,
        }
    }

    pub(crate) fn perform(&mut self, activity: Activity) -> Result<Vec<PhaseRecord>, BenchError> {
        let is_creation =
            matches!(activity, Activity::Create | Activity::Encrypt | Activity::Decrypt);
        let checking = self.checking;
        if is_creation {
            self.check_from_now_on(checking);
        } else {
            self.checking = Checking::Nobody;
        }
        let mut episodes = self.create()?;
        if !is_creation {
            self.check_from_now_on(checking);
        }
        let count = self.count();
        let (leaver, newcomer) = (leaver(count), newcomer(count));
        match activity {
            Activity::Create | Activity::Encrypt | Activity::Decrypt => return Ok(episodes),
            Activity::Add => {
                episodes.extend(self.enroll(activity, &[newcomer])?);
                self.operate(Command::Add(newcomer))?;
            }
            Activity::Remove => {
                self.dismiss(leaver);
                self.operate(Command::Remove(leaver))?;
            }
            Activity::Batch => {
                let several =
                    |first: MemberId| (0..BATCH).map(move |next| MemberId(first.0 + next));
                let (joining, leaving): (Vec<_>, Vec<_>) =
                    (several(newcomer).collect(), several(leaver).collect());
                episodes.extend(self.enroll(activity, &joining)?);
                leaving.iter().for_each(|&member| self.dismiss(member));
                self.operate(Command::Batch { joining: &joining, leaving: &leaving })?;
            }
            Activity::Rekey => self.operate(Command::Rekey)?,
            Activity::Send => {
                self.command(leaver.into(), Command::Send)?;
                self.drive()?;
            }
            Activity::Partition => self.partition()?,
            Activity::Merge => {
                self.partition()?;
                self.cut();
                self.end_part(None);
                self.merge()?;
            }
        }
        episodes.push(self.end(activity, Phase::Operational));
        Ok(episodes)
    }

    /// Creates the group. The first member misses that the member in the middle leaves, and catches
    /// up. Returns the first member; `None` if the scheme has no such request.
    pub(crate) fn catch_up(mut self) -> Result<Option<MemberId>, BenchError> {
        let scheme = self.state.configuration.scheme();
        let (late, leaver) = (MemberId(0), leaver(self.count()));
        // Without a group key, a change concerns the leaving member's subgroup alone.
        if scheme.recovery != Recovery::Request
            || scheme.law == Law::OneMessage
            || !scheme.operations.contains(&Operation::Remove)
            || scheme.class() == Class::Distributed
            || late == leaver
        {
            return Ok(None);
        }
        self.create()?;
        self.dismiss(leaver);
        let Some(seat) = self.seats.remove(&late.into()) else { return Ok(None) };
        self.current.remove(&late);
        self.operate(Command::Remove(leaver))?;
        self.seats.insert(late.into(), seat);
        self.current.insert(late);
        self.end_part(None);
        self.command(late.into(), Command::CatchUp)?;
        self.drive()?;
        self.end_part(Some((None, Phase::Operational)));
        self.check()?;
        Ok(Some(late))
    }

    fn create(&mut self) -> Result<Vec<PhaseRecord>, BenchError> {
        let members = self.state.parties.members.clone();
        let mut episodes = Vec::from_iter(self.enroll(Activity::Create, &members)?);
        self.operate(Command::Create(&members))?;
        episodes.push(self.end(Activity::Create, Phase::Operational));
        Ok(episodes)
    }

    /// Hands out individual keys, if the scheme has them. Joining members come into being.
    fn enroll(
        &mut self,
        activity: Activity,
        members: &[MemberId],
    ) -> Result<Option<PhaseRecord>, BenchError> {
        if activity != Activity::Create {
            for &member in members {
                let party = self.state.configuration.member(member);
                self.seats.insert(member.into(), MeasuredParty::new(party));
                self.current.insert(member);
            }
        }
        if !self.state.configuration.scheme().has_controller() {
            return Ok(None);
        }
        self.command(PartyId::Controller, Command::Enroll(members))?;
        self.drive()?;
        Ok(Some(self.end(activity, Phase::Deployment)))
    }

    fn dismiss(&mut self, member: MemberId) {
        self.current.remove(&member);
        self.seats.remove(&member.into());
    }

    /// Gives a command to the parties that it is for, and delivers the messages that follow.
    fn operate(&mut self, command: Command<'_>) -> Result<(), BenchError> {
        let parties: Vec<PartyId> = match self.state.configuration.scheme().audience(&command) {
            Audience::Controller => vec![PartyId::Controller],
            Audience::Everybody => self.seats.keys().copied().collect(),
            Audience::Members => self.current.iter().map(|&member| member.into()).collect(),
        };
        for party in parties {
            self.command(party, command)?;
        }
        self.drive()?;
        self.check()
    }

    fn partition(&mut self) -> Result<(), BenchError> {
        let count = self.count();
        let (rest, apart): (Vec<_>, Vec<_>) =
            self.current.iter().partition(|member| member.0 < count.div_ceil(2));
        self.apart = apart.iter().copied().collect();
        self.current = rest.iter().copied().collect();
        for (members, gone) in [(&rest, &apart), (&apart, &rest)] {
            for &member in members {
                self.command(member.into(), Command::Partition(gone))?;
            }
        }
        self.drive()?;
        self.check()
    }

    fn merge(&mut self) -> Result<(), BenchError> {
        let keys = self.seats.values().filter_map(|seat| seat.party.group_key());
        let epoch = keys.map(|(epoch, _)| epoch).max().unwrap_or_default().next();
        let apart = std::mem::take(&mut self.apart);
        let parts = [&self.current, &apart].map(|part| part.iter().copied().collect::<Vec<_>>());
        for (part, other) in [(&parts[0], &parts[1]), (&parts[1], &parts[0])] {
            for &member in part {
                self.command(member.into(), Command::Merge { members: other, epoch })?;
            }
        }
        self.current.extend(apart);
        self.drive()?;
        self.check()
    }

    /// Creates the group. The member in the middle encrypts this many messages of this length
    /// (bytes), and the first member decrypts them.
    pub(crate) fn converse(
        mut self,
        messages: u32,
        bytes: u32,
        nonces: Nonces,
    ) -> Result<Vec<[PhaseRecord; 2]>, BenchError> {
        self.create()?;
        let (sender, receiver) = (leaver(self.count()), MemberId(0));
        let settings = MessageSettings { nonces, ..MessageSettings::default() };
        let begin = |cx: &mut Context<'_>, party: &dyn Party| {
            let mut messenger = Messenger::new(cx, settings)?;
            messenger.follow(cx, party);
            Ok(messenger)
        };
        let begins_each = self.state.configuration.scheme().law == Law::OneMessage;
        self.note(sender.into(), || ReplayInput::Messenger(nonces), None);
        let (mut sealing, _) = self.at(sender, begin)?;
        self.note(receiver.into(), || ReplayInput::Messenger(nonces), None);
        let (mut opening, _) = self.at(receiver, begin)?;
        self.end_part(None);
        let content = vec![0x5a; bytes as usize];
        let mut told = Vec::new();
        for _ in 0..messages {
            if begins_each {
                self.command(sender.into(), Command::Send)?;
                self.drive()?;
                for (member, messenger) in [(sender, &mut sealing), (receiver, &mut opening)] {
                    let follow = |cx: &mut Context<'_>, party: &dyn Party| {
                        messenger.follow(cx, party);
                        Ok(())
                    };
                    self.at(member, follow)?;
                }
            }
            self.end_part(None);
            self.note(sender.into(), || ReplayInput::Seal(content.as_slice().into()), None);
            let (object, mut sealed) = self.at(sender, |cx, _| sealing.seal(cx, &content))?;
            sealed.work.broadcast.count(content.len(), object.len());
            sealed.work.handled.add(Handling::Encrypt, 1, object.len() as u64);
            self.note_bytes(sender, &object);
            self.end_part(Some((Some(Activity::Encrypt), Phase::Operational)));
            self.note(
                receiver.into(),
                || ReplayInput::Open(object.as_slice().into()),
                Some(sender.into()),
            );
            let (received, mut opened) = self.at(receiver, |cx, _| opening.open(cx, &object))?;
            opened.work.handled.add(Handling::Decrypt, 1, object.len() as u64);
            self.note_bytes(receiver, &received.content);
            self.end_part(Some((Some(Activity::Decrypt), Phase::Operational)));
            if received.content != content {
                return Err(BenchError::Disagreement(receiver.into()));
            }
            told.push([
                alone(Activity::Encrypt, sender, sealed),
                alone(Activity::Decrypt, receiver, opened),
            ]);
        }
        Ok(told)
    }

    /// Performs work at a member that is not a step of its party.
    fn at<T>(
        &mut self,
        member: MemberId,
        what: impl FnOnce(&mut Context<'_>, &dyn Party) -> Result<T, Error>,
    ) -> Result<(T, PartyShare), BenchError> {
        let party = member.into();
        let seat = &self.seats[&party];
        let (result, nanoseconds, meter) = self.state.measure(party, |cx| what(cx, &*seat.party));
        let result = result.map_err(|error| BenchError::of_command(party, error))?;
        let mut share = PartyShare { nanoseconds, work: Work { meter, ..Work::default() } };
        share.work.keep(seat.party.footprint());
        Ok((result, share))
    }

    pub(super) fn command(&mut self, to: PartyId, command: Command<'_>) -> Result<(), BenchError> {
        self.note(to, || ReplayInput::Command(command.into()), None);
        let drawn = self.state.drawn();
        self.script.iter_mut().for_each(|script| script.command(to, drawn, command));
        let result = self.step(to, |cx, party| cx.command(party, command));
        result.map_err(|error| BenchError::of_command(to, error))
    }

    fn drive(&mut self) -> Result<(), BenchError> {
        while let Some(PendingDelivery { from, to, channel, bytes }) = self.queue.pop_front() {
            self.note(to, || ReplayInput::Deliver(channel, Rc::clone(&bytes)), Some(from));
            let drawn = self.state.drawn();
            self.script
                .iter_mut()
                .for_each(|script| script.message(to, drawn, (from, channel, &bytes)));
            self.deliver(from, to, channel, &bytes)?;
        }
        Ok(())
    }

    pub(super) fn deliver(
        &mut self,
        from: PartyId,
        to: PartyId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), BenchError> {
        // In a group from a script the sender has done nothing.
        self.state.issue(from);
        let checking = self.checking;
        self.step(to, |cx, party| match checking {
            Checking::Everybody => cx.deliver(party, channel, bytes),
            Checking::Nobody => cx.deliver_unchanged(party, channel, bytes),
        })
        .map_err(|error| BenchError::Step { party: to, error })?;
        if let Some(share) = self.shares.get_mut(&to) {
            share.work.handled.add(Handling::Receive, 1, bytes.len() as u64);
        }
        Ok(())
    }

    /// Lets the next step draw what it draws after this many bytes of static variables.
    pub(super) const fn draw_from(&mut self, drawn: usize) {
        self.state.draw_from(drawn);
    }

    pub(super) fn check_from_now_on(&mut self, checking: Checking) {
        self.checking = checking;
        self.script.iter_mut().for_each(Script::check);
    }

    /// Forgets what the parties have done since the last episode.
    pub(super) fn cut(&mut self) {
        self.shares.clear();
        self.script.iter_mut().for_each(Script::cut);
    }

    fn step(
        &mut self,
        id: PartyId,
        step: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(seat) = self.seats.get_mut(&id) else { return Ok(()) };
        let (result, nanoseconds, meter) = self.state.measure(id, |cx| step(cx, &mut *seat.party));
        result?;
        for event in self.state.outbox.events() {
            match *event {
                Event::Subscribed(subset) => drop(seat.subsets.insert(subset)),
                Event::Unsubscribed(subset) => drop(seat.subsets.remove(&subset)),
                _ => {}
            }
        }
        let share = self.shares.entry(id).or_default();
        share.nanoseconds += nanoseconds;
        share.work.meter.add(&meter);
        if let Some(transcript) = self.state.recorder.as_mut().and_then(|r| r.transcript(id)) {
            transcript.step(&self.state.outbox, &*seat.party);
        }
        self.post(id);
        Ok(())
    }

    /// Counts the messages that a step has left, and sends them to the parties that exist.
    fn post(&mut self, from: PartyId) {
        let Self { state, seats, apart, queue, shares, is_scripted, .. } = self;
        let work = &mut shares.get_mut(&from).expect("it has just done something").work;
        let is_apart =
            |id: PartyId| matches!(id, PartyId::Member(member) if apart.contains(&member));
        for message in state.outbox.messages() {
            let traffic = match message.to {
                Recipient::Group => &mut work.broadcast,
                Recipient::Subset(_) => &mut work.multicast,
                Recipient::Controller | Recipient::Member(_) | Recipient::SubgroupController(_) => {
                    &mut work.unicast
                }
            };
            traffic.count(message.body_bytes, message.bytes.len());
            work.handled.add(Handling::Send, 1, message.bytes.len() as u64);
            if *is_scripted {
                continue;
            }

            let mut copy: Option<Rc<[u8]>> = None;
            let mut send = |to: PartyId| {
                if to != from && is_apart(to) == is_apart(from) {
                    let bytes = Rc::clone(copy.get_or_insert_with(|| message.bytes.into()));
                    queue.push_back(PendingDelivery { from, to, channel: message.channel, bytes });
                }
            };
            let mut if_it_exists = |to: PartyId| {
                if seats.contains_key(&to) {
                    send(to);
                }
            };
            match message.to {
                Recipient::Controller => if_it_exists(PartyId::Controller),
                Recipient::Member(member) => if_it_exists(member.into()),
                Recipient::SubgroupController(subgroup) => if_it_exists(subgroup.into()),
                Recipient::Group => {
                    let members = seats.keys().filter(|id| matches!(id, PartyId::Member(_)));
                    members.for_each(|&id| send(id));
                }
                Recipient::Subset(subset) => {
                    let listening = seats.iter().filter(|(_, seat)| seat.subsets.contains(&subset));
                    listening.for_each(|(&id, _)| send(id));
                }
            }
        }
    }

    /// Writes an input of a party down, if the group is recorded and the party exists.
    fn note(
        &mut self,
        party: PartyId,
        act: impl FnOnce() -> ReplayInput<Rc<[u8]>>,
        from: Option<PartyId>,
    ) {
        if self.seats.contains_key(&party)
            && let Some(recorder) = &mut self.state.recorder
        {
            recorder.act(party, act, from);
        }
    }

    /// Writes down what a member has encrypted or decrypted, if the group is recorded.
    fn note_bytes(&mut self, member: MemberId, bytes: &[u8]) {
        let Self { state, seats, .. } = self;
        let recorder = state.recorder.as_mut();
        if let Some(transcript) = recorder.and_then(|r| r.transcript(member.into())) {
            transcript.bytes(bytes);
            transcript.step(&Outbox::new(), &*seats[&member.into()].party);
        }
    }

    fn end_part(&mut self, label: Option<(Option<Activity>, Phase)>) {
        self.state.recorder.iter_mut().for_each(|recorder| recorder.end(label));
    }

    /// Ends an episode. Returns what each party did since the last episode, and what it holds now.
    pub(super) fn end(&mut self, activity: Activity, phase: Phase) -> PhaseRecord {
        self.end_part(Some((Some(activity), phase)));
        self.script.iter_mut().for_each(|script| script.end(activity, phase));
        let mut shares = std::mem::take(&mut self.shares);
        for (id, share) in &mut shares {
            if let Some(seat) = self.seats.get(id) {
                share.work.keep(seat.party.footprint());
            }
        }
        PhaseRecord { activity, phase, shares }
    }

    /// Checks that all members that exist have the key of the operation.
    fn check(&self) -> Result<(), BenchError> {
        // Without a group key, or with planned times, members need not have a key.
        if self.state.configuration.scheme().law != Law::OneKey {
            return Ok(());
        }
        let controller = self.seats.get(&PartyId::Controller);
        for part in [&self.current, &self.apart] {
            let seat =
                |member: &MemberId| (PartyId::from(*member), &self.seats[&PartyId::from(*member)]);
            let controller = controller.map(|seat| (PartyId::Controller, seat));
            let mut held = controller.into_iter().chain(part.iter().map(seat));
            let Some((first, one)) = held.next() else { continue };
            let key = one.party.group_key().ok_or(BenchError::Disagreement(first))?;
            if let Some((id, _)) = held.find(|(_, seat)| seat.party.group_key() != Some(key)) {
                return Err(BenchError::Disagreement(id));
            }
        }
        Ok(())
    }

    fn count(&self) -> u32 {
        self.state.parties.members.len() as u32
    }
}

impl MeasuredParty {
    fn new(party: Box<dyn Party>) -> Self {
        Self { party, subsets: BTreeSet::new() }
    }
}

fn alone(activity: Activity, member: MemberId, share: PartyShare) -> PhaseRecord {
    PhaseRecord { activity, phase: Phase::Operational, shares: [(member.into(), share)].into() }
}
