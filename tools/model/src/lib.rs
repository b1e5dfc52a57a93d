//! Three searched models: of the order of events in a group without a controller, of a device's
//! [`membership`] in a group with a service, and of a service's store ([`continuity`]).
//!
//! In each, `rules` (or `member` and `service`) is what a device does, `model` what can happen,
//! `invariants` what must hold, and `searches` where the search begins. `docs/order.md` says what they
//! leave out.

pub mod continuity;
pub mod invariants;
pub mod membership;
pub mod model;
pub mod rules;
pub mod searches;

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::hash::Hash;

use stateright::{Checker, HasDiscoveries, Model};

/// What a search found.
#[derive(Debug)]
pub struct SearchOutcome {
    /// Different states.
    pub states: usize,
    /// The longest path.
    pub depth: usize,
    /// Invariants that do not hold, each with the steps to a state that shows it.
    pub violations: BTreeMap<&'static str, Vec<String>>,
    /// What can happen of what must be able to.
    pub examples: Vec<&'static str>,
}

impl SearchOutcome {
    /// Whether this invariant is broken; if there is none, whether all hold.
    pub fn is_as_expected(&self, broken: Option<&'static str>) -> bool {
        broken.map_or_else(|| self.violations.is_empty(), |name| self.violations.contains_key(name))
    }

    /// The row of a page about it.
    pub fn row(&self, title: &str, rules: &str) -> String {
        let names: Vec<_> = self.violations.keys().copied().collect();
        let broken = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        format!("| {title} | {rules} | {} | {broken} |", self.states)
    }
}

/// One search with some rules.
pub struct ModelRun {
    /// What is searched.
    pub title: &'static str,
    /// Which rules there are.
    pub rules: &'static str,
    /// The invariant that is to break, if one is.
    pub broken: Option<&'static str>,
    /// What must be able to happen otherwise: the search is not empty.
    pub example: &'static str,
    /// Whether it takes minutes.
    pub is_long: bool,
    outcome: Box<dyn FnOnce(Option<&'static str>) -> SearchOutcome>,
}

impl ModelRun {
    /// A search of this model to its end.
    pub fn new<M: SearchedModel>(
        title: &'static str,
        rules: &'static str,
        model: M,
        broken: Option<&'static str>,
        example: &'static str,
    ) -> Self {
        let outcome = Box::new(|broken| search(model, None, broken));
        Self { title, rules, broken, example, is_long: false, outcome }
    }

    /// Searches.
    pub fn outcome(self) -> SearchOutcome {
        (self.outcome)(self.broken)
    }
}

/// The searches whose figures are in `docs/order.md`: of the order of events and of a membership.
pub fn runs() -> Vec<ModelRun> {
    let of_order = searches::searches().into_iter().flat_map(searches::Search::runs);
    of_order.chain(membership::searches::runs()).collect()
}

/// The searches whose figures are in `docs/operate.md`.
pub fn store_runs() -> Vec<ModelRun> {
    let searches = continuity::searches::searches().into_iter();
    searches.flat_map(continuity::searches::StoreSearch::runs).collect()
}

/// What can be searched.
pub trait SearchedModel:
    Model<State: Clone + Debug + Hash + PartialEq + Send + Sync, Action: Clone + Debug + PartialEq>
    + Send
    + Sync
    + 'static
{
}

impl<M> SearchedModel for M where
    M: Model<
            State: Clone + Debug + Hash + PartialEq + Send + Sync,
            Action: Clone + Debug + PartialEq,
        > + Send
        + Sync
        + 'static
{
}

/// Looks at all states, breadth first, to this depth; to the end of the budget if there is none. Stops
/// when the invariant of this name is broken; if there is none, when any is.
pub fn search<M: SearchedModel>(
    model: M,
    depth: Option<usize>,
    wanted: Option<&'static str>,
) -> SearchOutcome {
    let until =
        wanted.map_or(HasDiscoveries::AnyFailures, |name| HasDiscoveries::AllOf([name].into()));
    let checker = model.checker().finish_when(until);
    let checker = match depth {
        Some(depth) => checker.target_max_depth(depth),
        None => checker,
    };
    let checker = checker.spawn_bfs().join();
    let (mut violations, mut examples) = (BTreeMap::new(), Vec::new());
    for (name, path) in checker.discoveries() {
        if checker.model().property(name).expectation.discovery_is_failure() {
            let steps = shortened(checker.model(), name, path.into_actions());
            let steps = steps.iter().map(|step| checker.model().format_action(step)).collect();
            violations.insert(name, steps);
        } else {
            examples.push(name);
        }
    }
    examples.sort_unstable();
    SearchOutcome {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        violations,
        examples,
    }
}

/// The same steps without those that the violation does not need: of the paths that it finds at
/// about one depth, the checker keeps the last.
fn shortened<M: SearchedModel>(
    model: &M,
    name: &'static str,
    mut steps: Vec<M::Action>,
) -> Vec<M::Action> {
    let holds = model.property(name).condition;
    let breaks = |steps: &[M::Action]| {
        let run = |state, step: &M::Action| {
            let mut possible = Vec::new();
            model.actions(&state, &mut possible);
            possible.contains(step).then(|| model.next_state(&state, step.clone()))?
        };
        let first = model.init_states().into_iter().next();
        let last = steps.iter().try_fold(first?, run)?;
        (!holds(model, &last)).then_some(())
    };
    for place in (0..steps.len()).rev() {
        let mut fewer = steps.clone();
        fewer.remove(place);
        if breaks(&fewer).is_some() {
            steps = fewer;
        }
    }
    steps
}

impl Debug for ModelRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, rules, broken, .. } = self;
        f.debug_tuple("ModelRun").field(title).field(rules).field(broken).finish()
    }
}

impl fmt::Display for SearchOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} states, depth {}", self.states, self.depth)?;
        for (invariant, steps) in &self.violations {
            writeln!(f, "broken: {invariant}")?;
            for (number, step) in steps.iter().enumerate() {
                writeln!(f, "{:3}. {step}", number + 1)?;
            }
        }
        self.examples.iter().try_for_each(|example| writeln!(f, "can happen: {example}"))
    }
}
