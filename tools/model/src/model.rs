//! What can happen: the state of all devices and of the network, and the next steps.
//!
//! The network delivers what was said in any order, any number of times, or never. Dishonest devices
//! have no state: they say at any time what they can sign.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stateright::{Model, Property};

use crate::invariants;
use crate::rules::{
    EpochNumber, EvictionRule, Evictions, Id, ModelAnnouncement, ModelDevice, ModelRules, Word,
};

/// A group and its history, from which the search begins.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The members at first: 1 to this number.
    pub members: Id,
    /// What happened before.
    pub past: Past,
    /// Members, and devices outside, that say what they like.
    pub dishonest: BTreeSet<Id>,
    /// The rules of the group.
    pub rules: ModelRules,
    /// How much may happen.
    pub budget: Budget,
}

/// What happened before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// The group has come to epoch 3.
    Quiet,
    /// The same, and a device without memory is outside.
    Newcomer,
    /// The same, and a device is outside that an operator evicted.
    Eviction,
    /// An earlier founding came to epoch 5, and a ticket for the last member names it. The group began
    /// anew with epoch 1, and a device without memory is outside.
    OldTicket,
}

/// How often each kind of step may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Requests of honest devices to join or to begin again.
    pub requests: u8,
    /// Announcements of honest members.
    pub announcements: u8,
    /// Deliveries of what a dishonest device made up.
    pub lies: u8,
    /// Votes of honest members.
    pub votes: u8,
    /// Evictions by operators.
    pub evictions: u8,
    /// Tickets of operators.
    pub tickets: u8,
    /// Restarts with memory.
    pub restarts: u8,
    /// Restarts without memory.
    pub losses: u8,
}

/// What was said, and can be heard again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignedStatement {
    /// A member's vote to evict another one, in this founding and epoch.
    Vote(Id, Id, (u8, EpochNumber)),
    /// An operator's word.
    Word(Word),
    /// A member's announcement.
    Announcement(Arc<ModelAnnouncement>),
}

/// What everybody knows and said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The first device has number 1. Dishonest ones stay as they were.
    pub devices: Vec<ModelDevice>,
    /// What honest devices and operators said.
    pub said: BTreeSet<SignedStatement>,
    /// What remains of the budget.
    pub left: Budget,
    /// What the invariants ask for, and no device knows.
    pub history: SceneHistory,
}

/// What really happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SceneHistory {
    /// How often the group has decided to evict a device.
    pub decided: BTreeMap<Id, u8>,
    /// How many of these decisions a ticket has undone since.
    pub pardoned: BTreeMap<Id, u8>,
    /// Honest devices (first) that knew of an eviction (second): the number of the decision.
    pub knew: BTreeMap<(Id, Id), u8>,
    /// How many were undone when an honest device (first) began to count another one as a member.
    pub took_in: BTreeMap<(Id, Id), u8>,
    /// What each honest device followed.
    pub followed: BTreeSet<(Arc<ModelAnnouncement>, Id)>,
    /// Devices that have restarted.
    pub restarted: BTreeSet<Id>,
    /// Honest devices that came to an earlier epoch of the same founding, without a restart.
    pub went_back: BTreeSet<Id>,
}

/// A step. Where two devices are named, the first one hears the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An honest device asks to join or to begin again.
    Ask(Id),
    /// An honest member asks that another one be evicted.
    Vote(Id, Id),
    /// An operator says something.
    Say(Word),
    /// A device restarts, with or without its memory.
    Restart(Id, bool),
    /// Devices without a group found it anew.
    Found(Vec<Id>),
    /// An honest member takes these for dead, and announces.
    Announce(Id, Arc<ModelAnnouncement>),
    /// A device hears what was said.
    Hear(Id, SignedStatement),
    /// A device hears what a dishonest one made up.
    HearLie(Id, SignedStatement),
    /// A device hears from an honest one who was evicted.
    HearAnswer(Id, Id),
    /// A device hears from a dishonest one who was evicted.
    HearFalseAnswer(Id, Id, Evictions),
}

impl Scene {
    /// The honest devices.
    pub fn honest(&self) -> impl Iterator<Item = Id> {
        (1..=self.count()).filter(|device| !self.dishonest.contains(device))
    }

    /// The number of devices: the members at first, and who is outside.
    fn count(&self) -> Id {
        self.members + Id::from(self.past != Past::Quiet)
    }

    /// Who asks to join or to begin again, with the ticket. Dishonest devices always do.
    fn asking(&self, state: &State) -> impl Iterator<Item = (Id, u8)> {
        (1..=self.count()).filter_map(|id| match self.dishonest.contains(&id) {
            true => Some((id, 0)),
            false => Some((id, state.device(id).ticket?)),
        })
    }

    /// What this dishonest device can announce to this one: any members in the order that the device
    /// knows, any newcomers, no eviction or what it knows or one that nobody decided.
    fn lies(&self, state: &State, by: Id, to: Id) -> Vec<ModelAnnouncement> {
        let device = state.device(to);
        let members = device.roster.iter().copied().filter(|&member| member != by);
        let strangers = (1..=self.count()).filter(|id| *id != by && !device.roster.contains(id));
        let mut places = vec![(vec![by], BTreeMap::new())];
        for other in members.chain(strangers) {
            let ticket = state.device(other).ticket.unwrap_or_default();
            let mut more: Vec<(Vec<Id>, BTreeMap<Id, u8>)> = Vec::new();
            for (stay, admitted) in &places {
                more.push(([&stay[..], &[other]].concat(), admitted.clone()));
                more.push((
                    stay.clone(),
                    admitted
                        .iter()
                        .map(|(&id, &ticket)| (id, ticket))
                        .chain([(other, ticket)])
                        .collect(),
                ));
            }
            places.extend(more);
        }
        let epochs: BTreeSet<_> = [1, 2, device.epoch + 1, device.epoch + 2].into();
        let mut lies = Vec::new();
        for (stay, admitted) in places {
            let roster = [stay, admitted.keys().copied().collect()].concat();
            if roster.len() < 2 {
                continue;
            }
            let absent = (1..=self.count()).filter(|id| !roster.contains(id));
            for &epoch in &epochs {
                let made_up = absent.clone().map(|member| Evictions::from([(member, epoch)]));
                let mut known = device.evicted.clone();
                known.retain(|member, _| !roster.contains(member));
                let said: BTreeSet<_> = made_up.chain([Evictions::new(), known]).collect();
                lies.extend(said.into_iter().map(|evicted| ModelAnnouncement {
                    life: device.life,
                    epoch,
                    roster: roster.clone(),
                    admitted: admitted.clone(),
                    evicted,
                    latest: epoch,
                }));
            }
        }
        lies
    }

    fn hear(&self, state: &State, me: Id, steps: &mut Vec<Step>) {
        let device = state.device(me);
        steps.extend(state.said.iter().cloned().map(|message| Step::Hear(me, message)));
        for other in self.honest().filter(|&other| other != me) {
            if !state.device(other).evicted.is_empty() && device.counts_as_member(other) {
                steps.push(Step::HearAnswer(me, other));
            }
        }
        if state.left.lies == 0 {
            return;
        }
        for &liar in &self.dishonest {
            let here = (device.life, device.epoch);
            steps.extend(
                device
                    .roster
                    .iter()
                    .map(|&member| Step::HearLie(me, SignedStatement::Vote(liar, member, here))),
            );
            let lies = self.lies(state, liar, me).into_iter();
            steps.extend(
                lies.map(|lie| Step::HearLie(me, SignedStatement::Announcement(lie.into()))),
            );
            if device.counts_as_member(liar) {
                let absent =
                    (1..=self.count()).filter(|id| *id != me && !device.roster.contains(id));
                let said = absent.map(|id| Evictions::from([(id, device.epoch.max(1))]));
                steps.extend(
                    said.chain([Evictions::new()])
                        .map(|said| Step::HearFalseAnswer(me, liar, said)),
                );
            }
        }
    }

    /// The device after it has heard this; nothing if it refuses it, or knows it already.
    fn heard(
        &self,
        device: &ModelDevice,
        me: Id,
        message: &SignedStatement,
    ) -> Option<ModelDevice> {
        let mut after = device.clone();
        match message {
            &SignedStatement::Vote(voter, member, cast) => {
                after.receive_vote((voter, member), cast, self.rules)
            }
            &SignedStatement::Word(word) => after.receive_word(me, word, self.rules),
            SignedStatement::Announcement(next) => after.receive_announcement(me, next, self.rules),
        }?;
        (after != *device).then_some(after)
    }

    fn asked(&self, before: &State, me: Id) -> Option<State> {
        let mut next = before.clone();
        next.left.requests -= 1;
        let life = self.honest().map(|id| before.device(id).life).max()?;
        let ticket = self.budget.requests - next.left.requests;
        let device = next.device_mut(me);
        device.ticket = Some(ticket);
        if !device.is_member() {
            device.life = life;
        }
        Some(next)
    }

    fn voted(&self, before: &State, me: Id, member: Id) -> Option<State> {
        let mut next = before.clone();
        next.left.votes -= 1;
        let device = before.device(me);
        let cast = (device.life, device.epoch);
        next.said.insert(SignedStatement::Vote(me, member, cast)).then_some(())?;
        let votes = next.said.iter().filter(
            |said| matches!(said, SignedStatement::Vote(_, of, at) if (*of, *at) == (member, cast)),
        );
        let liars = self.dishonest.iter().filter(|&&liar| liar != member).count();
        if self.rules.evict == EvictionRule::Members((votes.count() + liars) as u8) {
            *next.history.decided.entry(member).or_default() += 1;
        }
        let voted = self.heard(next.device(me), me, &SignedStatement::Vote(me, member, cast))?;
        *next.device_mut(me) = voted;
        Some(next)
    }

    /// After an operator has said something.
    fn said(&self, before: &State, word: Word) -> Option<State> {
        let mut next = before.clone();
        next.said.insert(SignedStatement::Word(word)).then_some(())?;
        let SceneHistory { decided, pardoned, .. } = &mut next.history;
        match word {
            Word::Eviction(member, ..) => {
                next.left.evictions -= 1;
                *decided.entry(member).or_default() += 1;
            }
            Word::Ticket(party, _) => {
                next.left.tickets -= 1;
                pardoned.insert(party, decided.get(&party).copied().unwrap_or_default());
            }
        }
        Some(next)
    }

    fn restarted(&self, before: &State, me: Id, remembers: bool) -> Option<State> {
        let device = before.device(me).restarted(remembers);
        let mut next = before.clone();
        match remembers {
            true => next.left.restarts -= 1,
            false => next.left.losses -= 1,
        }
        next.history.knew.retain(|&(knower, _), _| remembers || knower != me);
        next.history.took_in.retain(|&(knower, _), _| knower != me);
        next.history.restarted.insert(me);
        *next.device_mut(me) = device;
        Some(next)
    }

    fn founded(&self, before: &State, founders: &[Id]) -> Option<State> {
        let life = self.honest().map(|id| before.device(id).life).max()? + 1;
        let mut next = before.clone();
        let honest: Vec<_> =
            founders.iter().copied().filter(|id| !self.dishonest.contains(id)).collect();
        if honest.is_empty() || founders.len() < 2 {
            return None;
        }
        for me in honest {
            next.device_mut(me).found(life, founders)?;
            next.history.take_in(me, &[], founders);
        }
        Some(next)
    }
}

impl Model for Scene {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let outside = self.count();
        let roster: Vec<_> = (1..=self.members).collect();
        let (epoch, latest) = if self.past == Past::OldTicket { (1, 5) } else { (3, 3) };
        let mut evicted = Evictions::new();
        let mut said = BTreeSet::new();
        let mut history = SceneHistory::default();
        match self.past {
            Past::Quiet | Past::Newcomer => {}
            Past::Eviction => {
                evicted.insert(outside, 3);
                said.insert(SignedStatement::Word(Word::Eviction(outside, 2, 3)));
                history.decided.insert(outside, 1);
                history
                    .knew
                    .extend(self.honest().filter(|&id| id != outside).map(|id| ((id, outside), 1)));
            }
            Past::OldTicket => {
                _ = said.insert(SignedStatement::Word(Word::Ticket(self.members, 5)))
            }
        }
        let member = ModelDevice::member(epoch, &roster, &evicted, latest);
        let mut devices = vec![member; usize::from(self.members)];
        devices.resize(usize::from(self.count()), ModelDevice::default());
        vec![State { devices, said, left: self.budget, history }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let left = state.left;
        let ModelRules { evict, .. } = self.rules;
        for me in self.honest() {
            let device = state.device(me);
            self.hear(state, me, steps);
            if left.requests > 0 && device.ticket.is_none() && !device.evicted.contains_key(&me) {
                steps.push(Step::Ask(me));
            }
            if left.announcements > 0 {
                let all: BTreeMap<_, _> = self.asking(state).collect();
                let mut next = BTreeSet::new();
                for dead in subsets(device.roster.iter().copied().filter(|&other| other != me)) {
                    for heard in subsets(all.keys().copied()) {
                        let joins = heard.into_iter().map(|id| (id, all[&id])).collect();
                        next.extend(device.announce(me, &dead, &joins, self.rules));
                    }
                }
                steps.extend(next.into_iter().map(|next| Step::Announce(me, next.into())));
            }
            if left.votes > 0 && matches!(evict, EvictionRule::Members(_)) {
                let others = device.roster.iter().filter(|&&other| other != me);
                steps.extend(others.map(|&other| Step::Vote(me, other)));
            }
            if left.restarts > 0 {
                steps.push(Step::Restart(me, true));
            }
            if left.losses > 0 {
                steps.push(Step::Restart(me, false));
            }
        }
        for member in 1..=self.count() {
            let epoch = self.honest().map(|id| state.device(id).epoch).max().unwrap_or_default();
            if left.evictions > 0
                && self.honest().any(|id| state.device(id).roster.contains(&member))
            {
                let since = state.named(member).max(epoch) + 1;
                steps.push(Step::Say(Word::Eviction(member, epoch, since)));
            }
            let since = self.honest().filter_map(|id| state.device(id).evicted.get(&member)).max();
            if let Some(&since) = since.filter(|_| left.tickets > 0) {
                steps.push(Step::Say(Word::Ticket(member, since.max(state.asked_for(member)))));
            }
        }
        let is_evicted =
            |id: &Id| self.honest().any(|other| state.device(other).evicted.contains_key(id));
        steps.push(Step::Found((1..=self.members).filter(|id| !is_evicted(id)).collect()));
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        match step {
            Step::Ask(me) => self.asked(before, me),
            Step::Vote(me, member) => self.voted(before, me, member),
            Step::Say(word) => self.said(before, word),
            Step::Restart(me, remembers) => self.restarted(before, me, remembers),
            Step::Found(founders) => self.founded(before, &founders),
            Step::Announce(_, next) => {
                let mut after = before.clone();
                after.left.announcements -= 1;
                after.said.insert(SignedStatement::Announcement(next)).then_some(after)
            }
            Step::Hear(me, message) => {
                before.after(me, self.heard(before.device(me), me, &message)?, Some(&message))
            }
            Step::HearLie(me, message) => {
                let after = self.heard(before.device(me), me, &message)?;
                let mut next = before.after(me, after, Some(&message))?;
                next.left.lies -= 1;
                Some(next)
            }
            Step::HearAnswer(me, other) => {
                let mut after = before.device(me).clone();
                after.receive_answer(me, other, &before.device(other).evicted, self.rules);
                before.after(me, after, None)
            }
            Step::HearFalseAnswer(me, liar, said) => {
                let mut after = before.device(me).clone();
                after.receive_answer(me, liar, &said, self.rules);
                let mut next = before.after(me, after, None)?;
                next.left.lies -= 1;
                Some(next)
            }
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        invariants::properties()
    }

    fn format_action(&self, step: &Step) -> String {
        let said = |message: &SignedStatement| match message {
            SignedStatement::Vote(by, member, (_, epoch)) => {
                format!("{by} asks in epoch {epoch} to evict {member}")
            }
            SignedStatement::Word(word) => format!("an operator: {word:?}"),
            SignedStatement::Announcement(next) => {
                let ModelAnnouncement { epoch, roster, admitted, evicted, latest, .. } = &**next;
                let by = roster[0];
                format!(
                    "{by} announces epoch {epoch}: members {roster:?}, tickets {admitted:?}, \
                     evicted {evicted:?}, latest {latest}"
                )
            }
        };
        match step {
            Step::Ask(me) => format!("{me} asks to join or to begin again"),
            Step::Vote(me, member) => format!("{me} asks to evict {member}"),
            Step::Say(word) => format!("an operator says {word:?}"),
            Step::Restart(me, true) => format!("{me} restarts"),
            Step::Restart(me, false) => format!("{me} restarts without its memory"),
            Step::Found(founders) => format!("{founders:?} found the group anew"),
            Step::Announce(_, next) => {
                format!("says {}", said(&SignedStatement::Announcement(next.clone())))
            }
            Step::Hear(me, message) => format!("{me} hears: {}", said(message)),
            Step::HearLie(me, message) => format!("{me} hears a lie: {}", said(message)),
            Step::HearAnswer(me, other) => format!("{me} hears from {other} who was evicted"),
            Step::HearFalseAnswer(me, liar, said) => {
                format!("{me} hears a lie: {liar} answers that {said:?} were evicted")
            }
        }
    }
}

impl State {
    /// This device.
    pub fn device(&self, id: Id) -> &ModelDevice {
        &self.devices[usize::from(id) - 1]
    }

    fn device_mut(&mut self, id: Id) -> &mut ModelDevice {
        &mut self.devices[usize::from(id) - 1]
    }

    /// Whether an operator has said a ticket that undoes an eviction with this mark.
    pub fn is_undone(&self, member: Id, since: EpochNumber) -> bool {
        self.named(member) >= since
    }

    /// What a ticket for this member must name by operators' words.
    fn asked_for(&self, member: Id) -> EpochNumber {
        let asked = |said: &SignedStatement| match *said {
            SignedStatement::Word(Word::Eviction(subject, _, since)) => {
                (subject == member).then_some(since)
            }
            _ => None,
        };
        self.said.iter().filter_map(asked).max().unwrap_or_default()
    }

    fn named(&self, member: Id) -> EpochNumber {
        let named = |said: &SignedStatement| match *said {
            SignedStatement::Word(Word::Ticket(party, named)) => (party == member).then_some(named),
            _ => None,
        };
        self.said.iter().filter_map(named).max().unwrap_or_default()
    }

    /// This state after a device has heard something, and what that means; nothing if it changes
    /// nothing.
    fn after(
        &self,
        me: Id,
        device: ModelDevice,
        message: Option<&SignedStatement>,
    ) -> Option<Self> {
        let before = self.device(me);
        if device == *before {
            return None;
        }
        let mut next = self.clone();
        let history = &mut next.history;
        for (&member, &since) in &device.evicted {
            // Who was not there cannot tell an eviction from one that a ticket has undone.
            let can_tell = before.roster.contains(&member) || !self.is_undone(member, since);
            if can_tell && !before.evicted.contains_key(&member) {
                let number = history.decided.get(&member).copied().unwrap_or_default();
                history.knew.insert((me, member), number);
            }
        }
        if let Some(SignedStatement::Announcement(event)) = message
            && event.roster == device.roster
        {
            history.take_in(me, &before.roster, &device.roster);
            history.followed.insert((event.clone(), me));
            if event.epoch <= before.epoch && before.is_member() {
                history.went_back.insert(me);
            }
        }
        *next.device_mut(me) = device;
        Some(next)
    }
}

impl SceneHistory {
    fn take_in(&mut self, me: Id, before: &[Id], roster: &[Id]) {
        for &member in roster.iter().filter(|member| !before.contains(member)) {
            let number = self.pardoned.get(&member).copied().unwrap_or_default();
            self.took_in.insert((me, member), number);
        }
    }
}

fn subsets(of: impl Iterator<Item = Id>) -> Vec<BTreeSet<Id>> {
    of.fold(vec![BTreeSet::new()], |mut all, id| {
        let with: Vec<_> =
            all.iter().map(|set| set.iter().copied().chain([id]).collect()).collect();
        all.extend(with);
        all
    })
}
