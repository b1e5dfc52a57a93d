//! The way of an adversary to a key, as a numbered sequence that a person can follow.

use std::collections::HashMap;

use groupkey::author::Rule;
use groupkey::{MemberId, PartyId};
use groupkey_testkit::rig::{OperationTrace, TracedOperation, ValueId};

use super::claims::Claim;
use super::closure::{Closure, KnowledgeSource};
use super::examination::{Break, Corrupted, Examination};
use super::history::{ExecutedHistory, Stay};
use super::rules::DerivationRules;

/// Returns the adversary of a break, and the steps that it takes.
pub(super) fn derivation(
    examination: &Examination<'_>,
    rules: &DerivationRules,
    trace: &OperationTrace,
    broken: &Break,
) -> Vec<String> {
    let run = examination.run;
    if broken.claim == Claim::WrapBinding {
        return loose_wraps(trace);
    }
    let closure = examination.closure(&broken.coalition);
    let held: Vec<Vec<ValueId>> =
        broken.coalition.iter().map(|&corrupted| examination.known_to(corrupted)).collect();
    let target = run.keys[broken.key].value;
    let mut writer = DerivationWriter {
        names: ValueNames::new(run, trace),
        who: broken.coalition.iter().map(|&corrupted| who(run, corrupted)).collect(),
        held,
        rules,
        trace,
        closure: &closure,
        steps: Vec::new(),
        numbers: HashMap::new(),
    };
    let adversary = broken.coalition.iter().map(|&corrupted| adversary(run, corrupted));
    let adversary = match broken.coalition.is_empty() {
        true => "adversary: a party that only listens".to_owned(),
        false => format!("adversary: {}", adversary.collect::<Vec<_>>().join("; ")),
    };
    writer.write(target);
    std::iter::once(adversary).chain(writer.steps).collect()
}

/// Returns where keys were wrapped first without their epoch and place.
fn loose_wraps(trace: &OperationTrace) -> Vec<String> {
    let is_loose = |act: &&TracedOperation| act.rule == Rule::Wrap && !trace.is_bound(act);
    let loose = trace.acts().iter().find(is_loose).map(|act| {
        let (party, event) = (act.party, act.event);
        [
            format!("(1) in event {event}, {party} wraps keys without their epoch and place"),
            "(2) an insider can present them for another epoch, and in another place".to_owned(),
        ]
    });
    loose.into_iter().flatten().collect()
}

/// Returns the name of one of the adversary's sources in a step.
fn who(run: &ExecutedHistory, corrupted: Corrupted) -> String {
    match corrupted {
        Corrupted::Controller => "the controller".into(),
        Corrupted::Member(stay) => format!("member {}", run.stays[stay].member),
        Corrupted::OtherKeys(_) => "the adversary".into(),
        Corrupted::Retired(station, _) | Corrupted::Station(station) => {
            format!("subgroup controller {}", run.stations[station].id)
        }
    }
}

fn adversary(run: &ExecutedHistory, corrupted: Corrupted) -> String {
    let who = who(run, corrupted);
    match corrupted {
        Corrupted::Controller => who,
        Corrupted::Member(stay) => match run.stays[stay] {
            Stay { from, until: u32::MAX, .. } => format!("{who}, which came in event {from}"),
            Stay { from, until, .. } => {
                format!("{who}, which came in event {from} and was gone in event {until}")
            }
        },
        Corrupted::OtherKeys(key) => {
            format!("all group keys but that of epoch {}", run.keys[key].epoch)
        }
        Corrupted::Retired(_, to) => format!(
            "{who} without the long-term keys it was given, which had members until event {to}"
        ),
        Corrupted::Station(_) => who,
    }
}

struct DerivationWriter<'d> {
    names: ValueNames,
    who: Vec<String>,
    held: Vec<Vec<ValueId>>,
    rules: &'d DerivationRules,
    trace: &'d OperationTrace,
    closure: &'d Closure<'d>,
    steps: Vec<String>,
    numbers: HashMap<ValueId, usize>,
}

impl DerivationWriter<'_> {
    /// Writes the steps that lead to a value, and then the step that gives it.
    fn write(&mut self, value: ValueId) {
        if self.numbers.contains_key(&value) {
            return;
        }
        let reason = self.closure.reason(value);
        let premises = self.closure.premises(value);
        // Wrapped values that were sent need no step of their own.
        let premises: Vec<_> = premises.into_iter().filter(|&p| !self.is_wrapped(p)).collect();
        premises.iter().for_each(|&premise| self.write(premise));
        let name = self.names.of(value);
        let from = premises.iter().map(|premise| format!("({})", self.numbers[premise]));
        let from = from.collect::<Vec<_>>().join(" and ");
        let how = match reason {
            KnowledgeSource::Held | KnowledgeSource::Unknown => {
                let place = self.held.iter().position(|held| held.contains(&value));
                let who = place.map_or("the adversary", |place| self.who[place].as_str());
                format!("{who} has {name}")
            }
            KnowledgeSource::Public => match self.sent_in(value) {
                Some(event) => format!("event {event} sends openly {name}"),
                None => format!("everybody knows {name}"),
            },
            KnowledgeSource::Forward(rule) => {
                let rule = &self.rules.forward[rule as usize];
                match rule.rule {
                    Rule::Wrap => {
                        let wrapped = rule.inputs.iter().find(|&&input| self.is_wrapped(input));
                        let sent = wrapped.and_then(|&wrapped| self.sent_in(wrapped));
                        let sent = sent.map_or(String::new(), |event| {
                            format!(" what was sent in event {event}")
                        });
                        format!("unwrap with {from}{sent}: {name}")
                    }
                    Rule::OneWay if rule.label.is_empty() => format!("compute from {from}: {name}"),
                    Rule::OneWay => format!("derive for `{}` from {from}: {name}", rule.label),
                    Rule::Pair => format!("pair {from}: {name}"),
                    Rule::Power | Rule::PowerOfGenerator => {
                        format!("exponentiate with {from}: {name}")
                    }
                    _ => format!("put together or take apart {from}: {name}"),
                }
            }
            KnowledgeSource::Relation(relation) => {
                match self.rules.relations[relation as usize].rule {
                    Rule::Xor => format!("XOR of {from}: {name}"),
                    Rule::Invert => format!("invert {from}: {name}"),
                    _ => format!("multiply or divide {from}: {name}"),
                }
            }
            KnowledgeSource::Combined(_) => format!("XOR of {from}: {name}"),
            KnowledgeSource::Power(_) => format!("exponentiate with {from}: {name}"),
        };
        let number = self.steps.len() + 1;
        self.numbers.insert(value, number);
        self.steps.push(format!("({number}) {how}"));
    }

    /// Whether a value is the result of a wrap, as it was sent.
    fn is_wrapped(&self, value: ValueId) -> bool {
        self.names.wrapped.contains_key(&value)
            && self.closure.reason(value) == KnowledgeSource::Public
    }

    /// Returns the first event that sent a value openly.
    fn sent_in(&self, value: ValueId) -> Option<u32> {
        let bytes = &self.trace.values()[value as usize];
        let open = self.trace.messages().iter().filter(|message| message.to.is_none());
        let mut with = open.filter(|m| m.bytes.windows(bytes.len()).any(|part| *part == **bytes));
        with.next().map(|message| message.event)
    }
}

struct ValueNames {
    names: HashMap<ValueId, String>,
    wrapped: HashMap<ValueId, ()>,
}

impl ValueNames {
    fn new(run: &ExecutedHistory, trace: &OperationTrace) -> Self {
        let mut names = HashMap::new();
        let mut wrapped = HashMap::new();
        for key in &run.keys {
            names.insert(key.value, format!("the group key of epoch {}", key.epoch));
        }
        for message in trace.messages() {
            let Some(to) = message.to else { continue };
            for (id, value) in (0..).zip(trace.values()) {
                let is_key = value.len() == groupkey::Key::BYTES;
                if is_key && message.bytes.windows(value.len()).any(|part| *part == **value) {
                    let name = match to {
                        PartyId::Member(MemberId(member)) => {
                            format!("the individual key of member {member}")
                        }
                        other => format!("a key that {other} was given"),
                    };
                    names.entry(id).or_insert(name);
                }
            }
        }
        let mut drawn = HashMap::<(PartyId, u32), u32>::new();
        for act in trace.acts() {
            let (party, event) = (act.party, act.event);
            let party = match party {
                PartyId::Controller => "the controller".to_owned(),
                other => other.to_string(),
            };
            for &output in trace.outputs(act) {
                let name = match act.rule {
                    Rule::Random => {
                        let count = drawn.entry((act.party, event)).or_default();
                        *count += 1;
                        format!("random value {count} that {party} drew in event {event}")
                    }
                    Rule::Given => format!("the long-term secret of {party}"),
                    Rule::Public => "a public key".to_owned(),
                    Rule::Wrap => {
                        wrapped.insert(output, ());
                        format!("what {party} wrapped in event {event}")
                    }
                    Rule::OneWay if !act.label().is_empty() => {
                        format!("value `{}` of event {event}", act.label())
                    }
                    Rule::Power | Rule::PowerOfGenerator => {
                        format!("a power that {party} computed in event {event}")
                    }
                    Rule::Xor => format!("a sum that {party} computed in event {event}"),
                    _ => format!("a value that {party} computed in event {event}"),
                };
                names.entry(output).or_insert(name);
            }
        }
        Self { names, wrapped }
    }

    fn of(&self, value: ValueId) -> String {
        self.names.get(&value).cloned().unwrap_or_else(|| format!("value {value}"))
    }
}

#[cfg(test)]
mod tests {
    use groupkey::author::{Traced, Tracer};

    use super::*;

    #[test]
    fn a_loose_wrap_is_named() {
        for bound in [0, 1] {
            let (mut trace, mut context) = (OperationTrace::default(), [0; 17]);
            context[16] = bound;
            let (inputs, outputs): ([&[u8]; 2], [&[u8]; 1]) = ([&[1; 16], &[2; 16]], [&[3; 24]]);
            let (inputs, outputs) = (&inputs[..], &outputs[..]);
            let traced = Traced { rule: Rule::Wrap, label: "", context: &context, inputs, outputs };
            trace.operation(PartyId::Controller, traced);
            assert_eq!(loose_wraps(&trace).is_empty(), bound == 1);
        }
    }
}
