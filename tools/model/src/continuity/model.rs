//! What can happen: stores, services and the broker, and the next steps.
//!
//! The broker is honest and forwards in order, but for the steps that have a budget. A transaction of a
//! store is whole. Members take what reaches them, in any order or never, if it is of a later epoch than
//! theirs: so of two keys of one epoch that were sent, one member can have the one and another the
//! other. Answers to members that catch up leave after the notice, as wraps do, and are left out.

use std::collections::{BTreeMap, BTreeSet};

use stateright::{Model, Property};

use super::invariants;
use super::rules::{
    Drawn, ModelConclusion, ModelEntry, ModelNotice, ModelPublish, ModelStore, NoticeTopic,
    StoreMends, StoringService,
};

/// A group with a service, from which the search begins. The service has stopped by itself.
#[derive(Clone, Debug)]
pub struct StoreScene {
    /// How many services can run at once.
    pub services: usize,
    /// The rules.
    pub mends: StoreMends,
    /// How much may happen.
    pub budget: StoreBudget,
    /// Invariants that are known not to hold here, and are not looked at.
    pub known: &'static [&'static str],
}

/// How often each kind of step may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StoreBudget {
    /// Copies of a store.
    pub copies: u8,
    /// Openings.
    pub openings: u8,
    /// Changes of the key.
    pub changes: u8,
    /// Crashes and power cuts.
    pub crashes: u8,
    /// Stops.
    pub stops: u8,
    /// Publishes whose acknowledgement is lost.
    pub losses: u8,
    /// Times that the broker forgets its notices.
    pub forgets: u8,
    /// Words of the operator, that a store is the last state.
    pub words: u8,
    /// Recorded notices that a stranger publishes.
    pub recordings: u8,
}

/// What everybody has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreState {
    /// All files.
    pub stores: Vec<ModelStore>,
    /// The running services, at most one for each file.
    pub services: Vec<RunningService>,
    /// What the broker retains.
    pub retained: BTreeMap<NoticeTopic, ModelNotice>,
    /// The wraps that the broker has forwarded to members: epoch and key.
    pub wraps: BTreeSet<(u8, Drawn)>,
    /// What remains of the budget.
    pub left: StoreBudget,
    /// What the invariants ask for, and nobody knows.
    pub history: StoreHistory,
}

/// A service, and what was the case when it connected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunningService {
    /// The service.
    pub service: StoringService,
    /// Stores whose services acted then, and had published all that they had to say.
    acting: BTreeSet<usize>,
    /// What the broker had forwarded to members then.
    wraps: BTreeSet<(u8, Drawn)>,
}

/// What really happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StoreHistory {
    drawn: Drawn,
    /// All notices that were published, if a stranger may publish them again.
    notices: BTreeSet<ModelNotice>,
    /// Whether a service began to act beside one whose opening its store lacked and the broker knew.
    pub joined_another: bool,
    /// Whether a service began to act with a store that lacked what members had been sent.
    pub began_behind: bool,
}

/// A step. Services have the number of their store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreStep {
    /// Somebody copies a file.
    Copy(usize),
    /// A service is opened with a file and connects. The broker sends what it retains, in this order.
    Open(usize, [NoticeTopic; 2]),
    /// A service reads the next notice.
    Hear(usize),
    /// A service heard no notice, and the operator says that its store is the last state.
    Accept(usize),
    /// A service changes the key.
    Change(usize),
    /// A publish reaches the broker, and its acknowledgement the service, or not.
    Publish(usize, bool),
    /// A service stops by itself.
    Stop(usize),
    /// A service is killed, or has no power.
    Crash(usize),
    /// The broker forgets its notices.
    Forget,
    /// A stranger publishes a recorded notice.
    Repeat(NoticeTopic, ModelNotice),
}

impl StoreState {
    fn running(&self, store: usize) -> Option<&RunningService> {
        self.services.iter().find(|running| running.service.store == store)
    }

    fn running_mut(&mut self, store: usize) -> Option<(&mut RunningService, &mut ModelStore)> {
        let running = self.services.iter_mut().find(|running| running.service.store == store)?;
        Some((running, self.stores.get_mut(store)?))
    }

    fn forward(&mut self, from: Option<usize>, topic: NoticeTopic, notice: &ModelNotice) {
        self.retained.insert(topic, notice.clone());
        if self.left.recordings > 0 {
            self.history.notices.insert(notice.clone());
        }
        let others = self.services.iter_mut().filter(|other| Some(other.service.store) != from);
        others.for_each(|other| other.service.inbox.push((topic, notice.clone())));
    }

    /// A service begins to act.
    fn confirm(&mut self, store: usize, mends: StoreMends) -> Option<()> {
        self.history.drawn += 1;
        let drawn = self.history.drawn;
        let running = self.running(store)?;
        let file = &self.stores[store];
        let is_beside = running.acting.iter().any(|&other| {
            let acts = self.running(other).is_some_and(|other| other.service.is_confirmed);
            acts && !(mends.openings && self.stores[other].last_opening_is_in(file))
        });
        let log = &file.log;
        let is_behind =
            running.wraps.iter().any(|&(_, key)| !log.contains(&ModelEntry::Changed(key)));
        self.history.joined_another |= is_beside;
        self.history.began_behind |= is_behind;
        let (running, file) = self.running_mut(store)?;
        running.service.confirm(file, drawn, mends);
        Some(())
    }

    fn end(&mut self, store: usize) {
        self.services.retain(|running| running.service.store != store);
    }
}

impl StoreScene {
    fn opened(&self, before: &StoreState, store: usize, order: [NoticeTopic; 2]) -> StoreState {
        let mut service = StoringService::open(store, &before.stores[store]);
        let retained = order
            .into_iter()
            .filter_map(|topic| before.retained.get(&topic).map(|notice| (topic, notice.clone())));
        service.inbox.extend(retained);
        let acts = |running: &&RunningService| {
            running.service.is_confirmed && running.service.outputs.is_empty()
        };
        let acting = before.services.iter().filter(acts).map(|running| running.service.store);
        let running =
            RunningService { service, acting: acting.collect(), wraps: before.wraps.clone() };
        let mut next = before.clone();
        next.left.openings -= 1;
        next.services.push(running);
        next.services.sort_by_key(|running| running.service.store);
        next
    }

    fn heard(&self, before: &StoreState, store: usize) -> Option<StoreState> {
        let mut next = before.clone();
        let (running, file) = next.running_mut(store)?;
        let (topic, notice) = running.service.inbox.remove(0);
        match file.compare(topic, &notice, running.service.is_confirmed, self.mends) {
            ModelConclusion::Confirmed => next.confirm(store, self.mends)?,
            ModelConclusion::End => next.end(store),
            ModelConclusion::Nothing => {}
        }
        Some(next)
    }

    fn published(&self, before: &StoreState, store: usize, is_known: bool) -> Option<StoreState> {
        let mut next = before.clone();
        next.left.losses -= u8::from(!is_known);
        let (running, file) = next.running_mut(store)?;
        let publish = running.service.outputs.remove(0);
        if is_known && let Some(place) = file.queue.iter().position(|queued| *queued == publish) {
            file.queue.remove(place);
        }
        match publish {
            ModelPublish::Notice(topic, notice) => next.forward(Some(store), topic, &notice),
            ModelPublish::Wrap(epoch, key) => _ = next.wraps.insert((epoch, key)),
        }
        Some(next)
    }
}

impl Model for StoreScene {
    type State = StoreState;
    type Action = StoreStep;

    fn init_states(&self) -> Vec<StoreState> {
        let log = vec![ModelEntry::Founded, ModelEntry::Stopped];
        let store = ModelStore { log, queue: Vec::new() };
        let notice = ModelNotice { epoch: 1, log: vec![ModelEntry::Founded] };
        let retained =
            [NoticeTopic::Epoch, NoticeTopic::State].map(|topic| (topic, notice.clone()));
        vec![StoreState {
            stores: vec![store],
            services: Vec::new(),
            retained: retained.into(),
            wraps: BTreeSet::new(),
            left: self.budget,
            history: StoreHistory { notices: [notice].into(), ..StoreHistory::default() },
        }]
    }

    fn actions(&self, state: &StoreState, steps: &mut Vec<StoreStep>) {
        let left = state.left;
        for store in 0..state.stores.len() {
            if left.copies > 0 {
                steps.push(StoreStep::Copy(store));
            }
            let has_room = state.services.len() < self.services;
            if left.openings > 0 && has_room && state.running(store).is_none() {
                use NoticeTopic::{Epoch, State};
                let orders = [[Epoch, State], [State, Epoch]];
                steps.extend(orders.map(|order| StoreStep::Open(store, order)));
            }
        }
        for running in &state.services {
            let service = &running.service;
            let store = service.store;
            if !service.inbox.is_empty() {
                steps.push(StoreStep::Hear(store));
            } else if !service.is_confirmed && left.words > 0 {
                steps.push(StoreStep::Accept(store));
            }
            if service.is_confirmed {
                if left.changes > 0 {
                    steps.push(StoreStep::Change(store));
                }
                if left.stops > 0 {
                    steps.push(StoreStep::Stop(store));
                }
            }
            if !service.outputs.is_empty() {
                steps.push(StoreStep::Publish(store, true));
                if left.losses > 0 {
                    steps.push(StoreStep::Publish(store, false));
                }
            }
            if left.crashes > 0 {
                steps.push(StoreStep::Crash(store));
            }
        }
        if left.forgets > 0 && !state.retained.is_empty() {
            steps.push(StoreStep::Forget);
        }
        if left.recordings > 0 {
            for topic in [NoticeTopic::Epoch, NoticeTopic::State] {
                let notices = state.history.notices.iter().cloned();
                steps.extend(notices.map(|notice| StoreStep::Repeat(topic, notice)));
            }
        }
    }

    fn next_state(&self, before: &StoreState, step: StoreStep) -> Option<StoreState> {
        let mut next = before.clone();
        match step {
            StoreStep::Copy(store) => {
                next.left.copies -= 1;
                next.stores.push(before.stores[store].clone());
            }
            StoreStep::Open(store, order) => return Some(self.opened(before, store, order)),
            StoreStep::Hear(store) => return self.heard(before, store),
            StoreStep::Accept(store) => {
                next.left.words -= 1;
                next.confirm(store, self.mends)?;
            }
            StoreStep::Change(store) => {
                next.left.changes -= 1;
                next.history.drawn += 1;
                let key = next.history.drawn;
                let (running, file) = next.running_mut(store)?;
                running.service.change(file, key, self.mends);
            }
            StoreStep::Publish(store, is_known) => return self.published(before, store, is_known),
            StoreStep::Stop(store) => {
                next.left.stops -= 1;
                next.stores[store].log.push(ModelEntry::Stopped);
                next.end(store);
            }
            StoreStep::Crash(store) => {
                next.left.crashes -= 1;
                next.end(store);
            }
            StoreStep::Forget => {
                next.left.forgets -= 1;
                next.retained.clear();
            }
            StoreStep::Repeat(topic, notice) => {
                next.left.recordings -= 1;
                next.forward(None, topic, &notice);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        invariants::properties(self.known)
    }

    fn format_action(&self, step: &StoreStep) -> String {
        let told = |notice: &ModelNotice| format!("epoch {}, log {:?}", notice.epoch, notice.log);
        match step {
            StoreStep::Copy(store) => format!("store {store} is copied"),
            StoreStep::Open(store, order) => {
                format!("a service is opened with store {store}, and is sent {order:?}")
            }
            StoreStep::Hear(store) => format!("service {store} reads the next notice"),
            StoreStep::Accept(store) => format!("the operator accepts store {store}"),
            StoreStep::Change(store) => format!("service {store} changes the key"),
            StoreStep::Publish(store, true) => format!("service {store} publishes"),
            StoreStep::Publish(store, false) => {
                format!("service {store} publishes, and hears of no acknowledgement")
            }
            StoreStep::Stop(store) => format!("service {store} stops"),
            StoreStep::Crash(store) => format!("service {store} crashes"),
            StoreStep::Forget => "the broker forgets its notices".to_owned(),
            StoreStep::Repeat(topic, notice) => {
                format!("a stranger repeats on {topic:?}: {}", told(notice))
            }
        }
    }
}
