//! Everything that an adversary can derive from what it knows.
//!
//! Rules are applied until nothing new follows. Most rules are instances from the run: a party that
//! has the inputs of an operation has its outputs. For one-way functions and wrapping the instances
//! are enough, because a value that no party computed in the run opens nothing in it. Some
//! operations can be combined in ways that no party in the run used. These combinations are closed,
//! too: sums bit by bit (elimination over GF(2)) and powers of one base. Two elements that differ
//! only by known exponents give each other.

use std::collections::HashMap;

use groupkey_testkit::rig::ValueId;

use super::rules::DerivationRules;

/// The values that are known, and why.
#[derive(Clone, Debug)]
pub(super) struct Closure<'r> {
    rules: &'r DerivationRules,
    reasons: Vec<KnowledgeSource>,
    /// Number of inputs that each rule still lacks.
    lacking: Vec<u32>,
    /// Values that each relation still lacks: how many, and all their numbers XORed.
    open: Vec<(u32, ValueId)>,
    queue: Vec<ValueId>,
    /// The sums that were combined to give a value, for each combination.
    combinations: Vec<Vec<usize>>,
}

/// Why a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnowledgeSource {
    /// It is not known.
    Unknown,
    /// It follows from sums that were combined.
    Combined(u32),
    /// It follows by a rule.
    Forward(u32),
    /// A party that the adversary corrupted has it, or the adversary was given it.
    Held,
    /// It is another element raised to known exponents.
    Power(ValueId),
    /// It was sent openly.
    Public,
    Relation(u32),
}

impl<'r> Closure<'r> {
    /// Returns what every party knows.
    pub(super) fn of_public(rules: &'r DerivationRules) -> Self {
        let mut closure = Self {
            rules,
            reasons: vec![KnowledgeSource::Unknown; rules.values],
            lacking: rules.forward.iter().map(|rule| rule.inputs.len() as u32).collect(),
            open: rules
                .relations
                .iter()
                .map(|relation| {
                    let all = relation.values.iter().fold(0, |all, value| all ^ value);
                    (relation.values.len() as u32, all)
                })
                .collect(),
            queue: Vec::new(),
            combinations: Vec::new(),
        };
        for (number, rule) in (0..).zip(&rules.forward) {
            if rule.inputs.is_empty() {
                rule.outputs
                    .iter()
                    .for_each(|&value| closure.learn(value, KnowledgeSource::Forward(number)));
            }
        }
        rules.public.iter().for_each(|&value| closure.learn(value, KnowledgeSource::Public));
        closure.saturate();
        closure
    }

    pub(super) fn with(&self, held: impl IntoIterator<Item = ValueId>) -> Self {
        let mut closure = self.clone();
        held.into_iter().for_each(|value| closure.learn(value, KnowledgeSource::Held));
        closure.saturate();
        closure
    }

    pub(super) fn knows(&self, value: ValueId) -> bool {
        self.reason(value) != KnowledgeSource::Unknown
    }

    pub(super) fn reason(&self, value: ValueId) -> KnowledgeSource {
        self.reasons[value as usize]
    }

    pub(super) fn premises(&self, value: ValueId) -> Vec<ValueId> {
        match self.reason(value) {
            KnowledgeSource::Unknown | KnowledgeSource::Held | KnowledgeSource::Public => {
                Vec::new()
            }
            KnowledgeSource::Forward(rule) => self.rules.forward[rule as usize].inputs.clone(),
            KnowledgeSource::Relation(relation) => {
                let values = &self.rules.relations[relation as usize].values;
                values.iter().copied().filter(|&other| other != value).collect()
            }
            KnowledgeSource::Combined(combination) => {
                let mut odd: Vec<ValueId> = Vec::new();
                for &relation in &self.combinations[combination as usize] {
                    for &term in &self.rules.relations[relation].values {
                        match odd.iter().position(|&known| known == term) {
                            Some(place) => drop(odd.remove(place)),
                            None => odd.push(term),
                        }
                    }
                }
                odd.retain(|&term| term != value);
                odd
            }
            KnowledgeSource::Power(from) => {
                let mut premises = if from == value { Vec::new() } else { vec![from] };
                let exponents = |element| {
                    let power = self.rules.power(element);
                    power.into_iter().flat_map(|power| power.exponents.iter().copied())
                };
                let mut change: HashMap<ValueId, i32> = HashMap::new();
                exponents(value).for_each(|(e, times)| *change.entry(e).or_default() += times);
                if from != value {
                    exponents(from).for_each(|(e, times)| *change.entry(e).or_default() -= times);
                }
                let mut needed: Vec<_> =
                    change.into_iter().filter(|&(_, times)| times != 0).map(|(e, _)| e).collect();
                needed.sort_unstable();
                premises.extend(needed);
                premises.retain(|&premise| premise != value);
                premises
            }
        }
    }

    fn learn(&mut self, value: ValueId, reason: KnowledgeSource) {
        if !self.knows(value) {
            self.reasons[value as usize] = reason;
            self.queue.push(value);
        }
    }

    fn saturate(&mut self) {
        loop {
            self.apply_rules();
            self.compare_powers();
            if self.queue.is_empty() {
                self.combine_sums();
            }
            if self.queue.is_empty() {
                return;
            }
        }
    }

    /// Applies rules first in, first out, so that short derivations are found first.
    fn apply_rules(&mut self) {
        let rules = self.rules;
        let mut next = 0;
        while let Some(&value) = self.queue.get(next) {
            next += 1;
            for &number in rules.uses.of(value) {
                let lacking = &mut self.lacking[number as usize];
                *lacking -= 1;
                if *lacking == 0 {
                    for &output in &rules.forward[number as usize].outputs {
                        self.learn(output, KnowledgeSource::Forward(number));
                    }
                }
            }
            for &number in rules.places.of(value) {
                let (count, missing) = &mut self.open[number as usize];
                *count -= 1;
                *missing ^= value;
                if let (1, missing) = (*count, *missing) {
                    self.learn(missing, KnowledgeSource::Relation(number));
                }
            }
        }
        self.queue.clear();
    }

    /// Compares elements that differ only by known exponents: one of them gives all.
    fn compare_powers(&mut self) {
        let rules = self.rules;
        if rules.powers.is_empty() {
            return;
        }
        type Residue = (Option<ValueId>, Vec<(ValueId, i32)>);
        let residue = |power: &super::rules::ElementPower| -> Residue {
            let unknown = power.exponents.iter().copied().filter(|&(e, _)| !self.knows(e));
            (power.base, unknown.collect())
        };
        let mut reached: HashMap<Residue, Option<ValueId>> = HashMap::new();
        reached.insert((None, Vec::new()), None);
        for power in &rules.powers {
            if self.knows(power.element) {
                reached.entry(residue(power)).or_insert(Some(power.element));
            }
            if let Some(base) = power.base.filter(|&base| self.knows(base)) {
                reached.entry((Some(base), Vec::new())).or_insert(Some(base));
            }
        }
        let found: Vec<_> = rules
            .powers
            .iter()
            .filter(|power| !self.knows(power.element))
            .filter_map(|power| Some((power.element, *reached.get(&residue(power))?)))
            .collect();
        for (element, from) in found {
            // An element that follows from the generator, which every party has, counts as a power
            // of itself.
            self.learn(element, KnowledgeSource::Power(from.unwrap_or(element)));
        }
    }

    /// Combines sums that have several unknown values each: together they may give one of the
    /// values.
    fn combine_sums(&mut self) {
        let rules = self.rules;
        let open: Vec<usize> =
            rules.sums.iter().copied().filter(|&sum| self.open[sum].0 >= 2).collect();
        if open.len() < 2 {
            return;
        }
        let mut columns: HashMap<ValueId, usize> = HashMap::new();
        let mut unknown = Vec::new();
        let mut rows: Vec<(Bits, Bits)> = Vec::new();
        for (number, &sum) in open.iter().enumerate() {
            let (mut row, mut sources) = (Bits::default(), Bits::default());
            for &value in rules.relations[sum].values.iter().filter(|&&value| !self.knows(value)) {
                let column = *columns.entry(value).or_insert_with(|| {
                    unknown.push(value);
                    unknown.len() - 1
                });
                row.flip(column);
            }
            sources.flip(number);
            rows.push((row, sources));
        }
        let mut pivot = 0;
        for column in 0..unknown.len() {
            let Some(found) = (pivot..rows.len()).find(|&row| rows[row].0.has(column)) else {
                continue;
            };
            rows.swap(pivot, found);
            let (row, sources) = rows[pivot].clone();
            for (number, other) in rows.iter_mut().enumerate() {
                if number != pivot && other.0.has(column) {
                    other.0.add(&row);
                    other.1.add(&sources);
                }
            }
            pivot += 1;
        }
        for (row, sources) in rows {
            if let Some(column) = row.only() {
                let combination = self.combinations.len() as u32;
                let chosen = (0..open.len()).filter(|&number| sources.has(number));
                self.combinations.push(chosen.map(|number| open[number]).collect());
                self.learn(unknown[column], KnowledgeSource::Combined(combination));
            }
        }
    }
}

/// A row of a matrix over GF(2).
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn flip(&mut self, place: usize) {
        if self.0.len() <= place / 64 {
            self.0.resize(place / 64 + 1, 0);
        }
        self.0[place / 64] ^= 1 << (place % 64);
    }

    fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word ^= other;
        }
    }

    /// Returns the only bit that is set, if there is exactly one.
    fn only(&self) -> Option<usize> {
        let set: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        let word = self.0.iter().position(|&word| word != 0)?;
        (set == 1).then(|| 64 * word + self.0[word].trailing_zeros() as usize)
    }
}
