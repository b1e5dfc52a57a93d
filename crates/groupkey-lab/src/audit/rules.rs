//! A run as rules: which numbered values follow from which others.

use std::collections::{HashMap, HashSet};

use groupkey::author::Rule;
use groupkey_testkit::rig::{TracedOperation, ValueId};

use super::knowledge::{HEAD, KnowledgeReader};

/// All rules by which values follow from others, and the values that every party knows.
#[derive(Debug, Default)]
pub(super) struct DerivationRules {
    pub(super) values: usize,
    /// A party that has all inputs has the outputs.
    pub(super) forward: Vec<Forward>,
    /// A party that has all values of a relation but one has the missing value, too.
    pub(super) relations: Vec<Relation>,
    /// The relations that are sums, bit by bit. Any combination of them holds, too.
    pub(super) sums: Vec<usize>,
    /// Elements that are powers, with the exponents that they come from.
    pub(super) powers: Vec<ElementPower>,
    /// Values that are in open messages, or that every party knows otherwise.
    pub(super) public: Vec<ValueId>,
    /// By value: the rules that have it as an input.
    pub(super) uses: Lists,
    /// By value: the relations that contain it.
    pub(super) places: Lists,
    /// The place of each element among the powers.
    raised: HashMap<ValueId, usize>,
    /// The relation, a product or an inverse of exponents, by which an exponent was made first.
    made: HashMap<ValueId, usize>,
}

/// The outputs follow from all inputs together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Forward {
    pub(super) rule: Rule,
    pub(super) label: &'static str,
    pub(super) inputs: Vec<ValueId>,
    pub(super) outputs: Vec<ValueId>,
}

/// Each of these values follows from the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Relation {
    pub(super) rule: Rule,
    pub(super) values: Vec<ValueId>,
}

/// An element: a base, or the generator if there is none, raised to a product of exponents.
#[derive(Clone, Debug)]
pub(super) struct ElementPower {
    pub(super) element: ValueId,
    pub(super) base: Option<ValueId>,
    /// Exponents and how often each occurs, in the order of their numbers.
    pub(super) exponents: Vec<(ValueId, i32)>,
}

/// Lists of numbers, one for each value, in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl DerivationRules {
    pub(super) fn of(reader: &KnowledgeReader<'_>) -> Self {
        let trace = reader.trace;
        let mut rules = Self { values: trace.values().len(), ..Self::default() };
        let mut seen = HashSet::new();
        let mut public = HashSet::new();
        for message in trace.messages().iter().filter(|message| message.to.is_none()) {
            reader.values_in(&message.bytes, |id| {
                public.insert(id);
            });
        }
        for act in trace.acts() {
            let (inputs, outputs) = (trace.inputs(act), trace.outputs(act));
            let context = trace.context(act);
            let shape = match act.rule {
                Rule::Unwrap => (Rule::Wrap, sorted(inputs[..2].iter().chain(outputs))),
                rule => (rule, inputs.iter().chain(outputs).copied().collect()),
            };
            let shape = match act.rule {
                Rule::Wrap => (Rule::Wrap, sorted(inputs.iter().chain(outputs))),
                _ => shape,
            };
            if seen.insert((shape, act.label(), context)) {
                rules.take(reader, act, &mut public);
            }
        }
        rules.compose(reader);
        let short = (0..).zip(trace.values()).filter(|(_, value)| value.len() < HEAD);
        public.extend(short.map(|(id, _)| id));
        rules.public = public.into_iter().collect();
        rules.public.sort_unstable();
        rules.index();
        rules
    }

    fn take(
        &mut self,
        reader: &KnowledgeReader<'_>,
        act: &TracedOperation,
        public: &mut HashSet<ValueId>,
    ) {
        let trace = reader.trace;
        let (inputs, outputs) = (trace.inputs(act), trace.outputs(act));
        let rule = act.rule;
        match rule {
            Rule::Given | Rule::Random => {}
            Rule::Public => public.extend(outputs),
            Rule::Wrap => self.forward(rule, "", [inputs[0], outputs[0]], &inputs[1..]),
            Rule::Unwrap => self.forward(Rule::Wrap, "", [inputs[0], inputs[1]], outputs),
            Rule::OneWay => {
                let mut all = inputs.to_vec();
                reader.values_in(trace.context(act), |id| all.push(id));
                self.forward(rule, act.label(), all, outputs);
            }
            Rule::Pair => self.forward(rule, "", inputs.iter().copied(), outputs),
            Rule::Assemble => {
                self.forward(rule, "", inputs.iter().copied(), outputs);
                self.forward(rule, "", outputs.iter().copied(), inputs);
            }
            Rule::Divide | Rule::ExponentProduct | Rule::Invert | Rule::Multiply | Rule::Xor => {
                self.relate(rule, inputs.iter().chain(outputs).copied().collect());
            }
            Rule::Power => {
                self.forward(rule, "", [inputs[0], inputs[1]], outputs);
                self.forward(rule, "", [outputs[0], inputs[1]], &inputs[..1]);
            }
            Rule::PowerOfGenerator => self.forward(rule, "", [inputs[0]], outputs),
        }
        match rule {
            Rule::Power => self.raise(outputs[0], Some(inputs[0]), inputs[1]),
            Rule::PowerOfGenerator => self.raise(outputs[0], None, inputs[0]),
            _ => {}
        }
    }

    fn forward(
        &mut self,
        rule: Rule,
        label: &'static str,
        inputs: impl IntoIterator<Item = ValueId>,
        outputs: &[ValueId],
    ) {
        let inputs = sorted(inputs.into_iter().collect::<Vec<_>>().iter());
        let outputs: Vec<_> = outputs.iter().copied().filter(|id| !inputs.contains(id)).collect();
        if !outputs.is_empty() {
            self.forward.push(Forward { rule, label, inputs, outputs });
        }
    }

    fn relate(&mut self, rule: Rule, values: Vec<ValueId>) {
        let distinct = sorted(values.iter());
        if distinct.len() < values.len() {
            // A value with itself: its XOR says nothing, its square works only forward.
            if let (false, [inputs @ .., output]) = (rule == Rule::Xor, &values[..]) {
                self.forward(Rule::OneWay, "", inputs.iter().copied(), &[*output]);
            }
            return;
        }
        if rule == Rule::Xor {
            self.sums.push(self.relations.len());
        }
        if let (Rule::ExponentProduct | Rule::Invert, Some(&made)) = (rule, values.last()) {
            self.made.entry(made).or_insert(self.relations.len());
        }
        self.relations.push(Relation { rule, values });
    }

    /// Records an element as a power. Its base and its exponent are replaced by their own factors.
    fn raise(&mut self, element: ValueId, base: Option<ValueId>, exponent: ValueId) {
        if self.raised.contains_key(&element) {
            return;
        }
        let below = base.and_then(|base| self.raised.get(&base));
        let (base, mut exponents) = match below {
            Some(&power) => (self.powers[power].base, self.powers[power].exponents.clone()),
            None => (base, Vec::new()),
        };
        for (factor, times) in self.factors(exponent, 1) {
            match exponents.iter_mut().find(|(known, _)| *known == factor) {
                Some((_, count)) => *count += times,
                None => exponents.push((factor, times)),
            }
        }
        exponents.retain(|&(_, times)| times != 0);
        exponents.sort_unstable();
        self.raised.insert(element, self.powers.len());
        self.powers.push(ElementPower { element, base, exponents });
    }

    fn factors(&self, exponent: ValueId, times: i32) -> Vec<(ValueId, i32)> {
        // Following the inverse of an inverse must not go round in a circle.
        let earlier = |&&made: &&usize| self.relations[made].values[0] < exponent;
        let made = self.made.get(&exponent).filter(earlier);
        match made.map(|&made| &self.relations[made]) {
            Some(Relation { rule: Rule::Invert, values }) => self.factors(values[0], -times),
            Some(Relation { values, .. }) => {
                let [a, b, _] = values[..] else { return vec![(exponent, times)] };
                let mut factors = self.factors(a, times);
                factors.extend(self.factors(b, times));
                factors
            }
            None => vec![(exponent, times)],
        }
    }

    /// Adds rules for values that are part of longer ones.
    fn compose(&mut self, reader: &KnowledgeReader<'_>) {
        for (id, value) in (0..).zip(reader.trace.values()) {
            if value.len() > HEAD {
                let mut parts = Vec::new();
                reader.values_in(value, |part| parts.push(part));
                parts.retain(|&part| part != id);
                if !parts.is_empty() {
                    self.forward(Rule::Assemble, "", [id], &parts);
                }
            }
        }
    }

    pub(super) fn power(&self, element: ValueId) -> Option<&ElementPower> {
        self.raised.get(&element).map(|&place| &self.powers[place])
    }

    fn index(&mut self) {
        let inputs = self.forward.iter().map(|rule| &rule.inputs[..]);
        self.uses = Lists::inverse(self.values, inputs);
        let values = self.relations.iter().map(|relation| &relation.values[..]);
        self.places = Lists::inverse(self.values, values);
    }
}

impl Lists {
    fn inverse<'s>(values: usize, sets: impl Iterator<Item = &'s [ValueId]> + Clone) -> Self {
        let mut starts = vec![0; values + 1];
        for &value in sets.clone().flatten() {
            starts[value as usize + 1] += 1;
        }
        for place in 0..values {
            starts[place + 1] += starts[place];
        }
        let mut next = starts.clone();
        let mut items = vec![0; starts[values] as usize];
        for (number, set) in (0..).zip(sets) {
            for &value in set {
                let place = &mut next[value as usize];
                items[*place as usize] = number;
                *place += 1;
            }
        }
        Self { starts, items }
    }

    pub(super) fn of(&self, value: ValueId) -> &[u32] {
        let (start, end) = (self.starts[value as usize], self.starts[value as usize + 1]);
        &self.items[start as usize..end as usize]
    }
}

/// Returns the values in order, without repetitions.
fn sorted<'v>(values: impl Iterator<Item = &'v ValueId>) -> Vec<ValueId> {
    let mut values: Vec<_> = values.copied().collect();
    values.sort_unstable();
    values.dedup();
    values
}
