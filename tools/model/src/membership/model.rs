//! What can happen to the device, the service, and what they say.
//!
//! The network delivers what was said in any order, any number of times, or never. The first device is
//! honest. The second one asks what it likes in its own name.

use std::collections::BTreeSet;

use stateright::{Model, Property};

use super::member::{MemberStanding, ModelMember};
use super::messages::{Count, DeviceName, ModelMessage, ModelPlace, ModelRequest};
use super::service::ModelService;
use super::{MembershipMends, invariants};

/// The honest device.
pub const HONEST: DeviceName = 1;

/// The dishonest device.
pub const DISHONEST: DeviceName = 2;

/// A group in which both devices are members, since an admission that everybody has recorded.
#[derive(Clone, Debug)]
pub struct ServiceScene {
    /// The rules.
    pub mends: MembershipMends,
    /// How much may happen.
    pub budget: ServiceBudget,
}

/// How often each kind of step may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServiceBudget {
    /// Requests of the honest device.
    pub requests: u8,
    /// Requests of the dishonest one.
    pub lies: u8,
    /// Evictions by the operator.
    pub evictions: u8,
    /// Readmissions by the operator.
    pub readmissions: u8,
    /// Changes of the key without another reason.
    pub rekeys: u8,
    /// Times that the honest device restarts, or joins again.
    pub restarts: u8,
    /// Times that the service restarts.
    pub openings: u8,
    /// Times that the operator has it found the group anew.
    pub foundings: u8,
}

/// What everybody knows and said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceState {
    /// The honest device.
    pub member: ModelMember,
    /// The service.
    pub service: ModelService,
    /// A copy of the store from the beginning.
    pub copy: ModelService,
    /// All that was said.
    pub said: BTreeSet<ModelMessage>,
    /// What remains of the budget.
    pub left: ServiceBudget,
    /// What the invariants ask for, and nobody knows.
    pub history: MembershipHistory,
}

/// What really happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MembershipHistory {
    /// Evicted devices that were not readmitted since.
    pub evicted: BTreeSet<DeviceName>,
    /// The admissions that an eviction has ended.
    pub ended: BTreeSet<Count>,
    /// Founding, epoch, number and admission of each member of each epoch.
    pub counted: BTreeSet<((Count, Count), Count, Count)>,
    /// Founding and epoch of the service when the device's present attempt began.
    pub asked_from: Option<(Count, Count)>,
    /// Whether the device ever followed a welcome from before that.
    pub was_led_back: bool,
    /// Whether the honest device was ever removed because of a request of an earlier membership.
    pub was_displaced: bool,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceStep {
    /// The device asks to join; in another attempt, if many requests were in vain.
    Ask(bool),
    /// The dishonest device asks.
    Lie(ModelRequest),
    /// The device begins again, after a restart or without one.
    BeginAgain(bool),
    /// The device hears something.
    Hear(ModelMessage),
    /// The service hears a request.
    Apply(ModelRequest),
    /// The service admits who waits.
    Admit,
    /// The operator evicts a device.
    Evict(DeviceName),
    /// The operator readmits a device.
    Readmit(DeviceName),
    /// The service changes the key.
    Rekey,
    /// The service restarts with its store, or with the old copy.
    Open(bool),
    /// The service founds the group anew.
    FoundAnew,
}

impl ServiceScene {
    /// What the dishonest device can ask: with the next stamp, in its old or another attempt, at any
    /// place that was ever offered.
    fn lies(&self, state: &ServiceState) -> Vec<ModelRequest> {
        let own = |request: &ModelRequest| request.name == DISHONEST;
        let asked: Vec<_> = state.requests().filter(own).collect();
        let stamp = asked.iter().map(|request| request.stamp).max().unwrap_or_default() + 1;
        let offered = state.said.iter().filter_map(|message| match message {
            ModelMessage::Offer(place, _) => Some(Some(*place)),
            ModelMessage::Request(request) => Some(request.place),
            _ => None,
        });
        let places: BTreeSet<_> = offered.chain([None]).collect();
        let asks =
            |place| [1, 2].map(|attempt| ModelRequest { name: DISHONEST, stamp, attempt, place });
        places.into_iter().flat_map(asks).collect()
    }
}

impl ServiceState {
    fn requests(&self) -> impl Iterator<Item = ModelRequest> {
        self.said.iter().filter_map(|message| match message {
            ModelMessage::Request(request) => Some(*request),
            _ => None,
        })
    }

    fn say(&mut self, messages: impl IntoIterator<Item = ModelMessage>) {
        for message in messages {
            if let ModelMessage::Rekey(now, to) = &message {
                let members = to.iter().map(|(&number, &admission)| (*now, number, admission));
                self.history.counted.extend(members);
            }
            self.said.insert(message);
        }
    }

    /// After the device has begun another attempt, or asked for the first time in one.
    fn note_attempt(&mut self) {
        self.history.asked_from = (!self.member.asked.is_empty()).then_some(self.service.now);
    }

    fn asked(&mut self, is_in_vain: bool) -> Option<()> {
        let before = self.member.asked.len();
        let request = self.member.ask(is_in_vain)?;
        if is_in_vain || before == 0 {
            self.note_attempt();
        }
        self.left.requests -= 1;
        self.say([ModelMessage::Request(request)]);
        Some(())
    }

    fn heard(&mut self, message: &ModelMessage, mends: MembershipMends) -> Option<()> {
        self.member.hear(message, mends)?;
        if let ModelMessage::Welcome(welcome) = message {
            let entered = (welcome.place.founding, welcome.epoch);
            self.history.was_led_back |= self.history.asked_from.is_none_or(|from| entered < from);
        }
        Some(())
    }

    fn hear_all(&mut self, mends: MembershipMends) {
        for message in self.said.clone() {
            let _ = self.heard(&message, mends);
        }
    }

    fn applied(&mut self, request: ModelRequest, mends: MembershipMends) -> Option<()> {
        let answer = self.service.apply(request, mends)?;
        self.say(answer);
        Some(())
    }

    fn admitted(&mut self) {
        self.history.was_displaced |= self.service.waits_in_vain(HONEST);
        let said = self.service.admit();
        self.say(said);
    }

    fn evicted(&mut self, name: DeviceName) -> Option<()> {
        self.left.evictions -= 1;
        let (said, ended) = self.service.evict(name)?;
        self.say(said);
        self.history.evicted.insert(name);
        self.history.ended.extend(ended);
        Some(())
    }

    fn readmitted(&mut self, name: DeviceName) -> Option<()> {
        self.left.readmissions -= 1;
        self.service.readmit(name)?;
        self.history.evicted.remove(&name);
        Some(())
    }

    fn after(&mut self, step: &ServiceStep, mends: MembershipMends) -> Option<()> {
        match step {
            ServiceStep::Ask(is_in_vain) => self.asked(*is_in_vain)?,
            ServiceStep::Lie(request) => {
                self.left.lies -= 1;
                self.say([ModelMessage::Request(*request)]);
            }
            ServiceStep::BeginAgain(restarts) => {
                self.left.restarts -= 1;
                self.member.begin_again(*restarts);
                self.note_attempt();
            }
            ServiceStep::Hear(message) => self.heard(message, mends)?,
            ServiceStep::Apply(request) => self.applied(*request, mends)?,
            ServiceStep::Admit => self.admitted(),
            ServiceStep::Evict(name) => self.evicted(*name)?,
            ServiceStep::Readmit(name) => self.readmitted(*name)?,
            ServiceStep::Rekey => {
                self.left.rekeys -= 1;
                let said = self.service.rekey();
                self.say([said]);
            }
            ServiceStep::Open(is_copy) => {
                self.left.openings -= 1;
                let store = if *is_copy { &self.copy } else { &self.service };
                self.service = self.service.opened(store);
            }
            ServiceStep::FoundAnew => {
                self.left.foundings -= 1;
                self.service = self.service.emptied();
                // An empty store knows of no eviction, and the operator has ordered it.
                self.history.evicted.clear();
            }
        }
        Some(())
    }
}

impl Model for ServiceScene {
    type State = ServiceState;
    type Action = ServiceStep;

    fn init_states(&self) -> Vec<ServiceState> {
        let service = ModelService::new(1, 0);
        let mut state = ServiceState {
            member: ModelMember::new(HONEST),
            copy: service.clone(),
            service,
            said: BTreeSet::new(),
            left: ServiceBudget { requests: 2, lies: 2, ..self.budget },
            history: MembershipHistory::default(),
        };
        for place in [None, Some(ModelPlace { number: 2, founding: 1 })] {
            let stamp = 1 + Count::from(place.is_some());
            let lie = ModelRequest { name: DISHONEST, stamp, attempt: 1, place };
            let _ = state.after(&ServiceStep::Ask(false), self.mends);
            let _ = state.after(&ServiceStep::Lie(lie), self.mends);
            for request in state.clone().requests() {
                let _ = state.after(&ServiceStep::Apply(request), self.mends);
            }
            state.hear_all(self.mends);
        }
        state.admitted();
        state.hear_all(self.mends);
        state.copy = state.service.clone();
        state.left = self.budget;
        vec![state]
    }

    fn actions(&self, state: &ServiceState, steps: &mut Vec<ServiceStep>) {
        let left = state.left;
        steps.extend(state.said.iter().cloned().map(ServiceStep::Hear));
        steps.extend(state.requests().map(ServiceStep::Apply));
        if left.requests > 0 && state.member.standing == MemberStanding::Outside {
            steps.extend([false, true].map(ServiceStep::Ask));
        }
        if left.lies > 0 {
            steps.extend(self.lies(state).into_iter().map(ServiceStep::Lie));
        }
        if left.restarts > 0 {
            steps.extend([false, true].map(ServiceStep::BeginAgain));
        }
        if !state.service.waiting.is_empty() {
            steps.push(ServiceStep::Admit);
        }
        for name in [HONEST, DISHONEST] {
            if left.evictions > 0 {
                steps.push(ServiceStep::Evict(name));
            }
            if left.readmissions > 0 {
                steps.push(ServiceStep::Readmit(name));
            }
        }
        if left.rekeys > 0 {
            steps.push(ServiceStep::Rekey);
        }
        if left.openings > 0 {
            steps.push(ServiceStep::Open(false));
            if !self.mends.continuity {
                steps.push(ServiceStep::Open(true));
            }
        }
        if left.foundings > 0 {
            steps.push(ServiceStep::FoundAnew);
        }
    }

    fn next_state(&self, before: &ServiceState, step: ServiceStep) -> Option<ServiceState> {
        let mut next = before.clone();
        next.after(&step, self.mends)?;
        (next != *before).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        invariants::properties()
    }

    fn format_action(&self, step: &ServiceStep) -> String {
        match step {
            ServiceStep::Ask(_) => "1 asks to join".to_owned(),
            ServiceStep::BeginAgain(true) => "1 restarts".to_owned(),
            ServiceStep::BeginAgain(false) => "1 joins again".to_owned(),
            ServiceStep::Hear(message) => format!("1 hears: {message}"),
            ServiceStep::Lie(request) => format!("2 asks: {request}"),
            ServiceStep::Apply(request) => format!("the service hears: {request}"),
            ServiceStep::Admit => "the service admits who waits".to_owned(),
            ServiceStep::Evict(name) => format!("the operator evicts {name}"),
            ServiceStep::Readmit(name) => format!("the operator readmits {name}"),
            ServiceStep::Rekey => "the service changes the key".to_owned(),
            ServiceStep::Open(false) => "the service restarts".to_owned(),
            ServiceStep::Open(true) => "the service restarts with an old store".to_owned(),
            ServiceStep::FoundAnew => "the service founds the group anew".to_owned(),
        }
    }
}
