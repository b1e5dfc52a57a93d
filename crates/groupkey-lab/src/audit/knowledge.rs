//! What a party knows of a run, and which values are in bytes.

use std::collections::{HashMap, HashSet};

use groupkey::PartyId;
use groupkey::author::Rule;
use groupkey_testkit::rig::{OperationTrace, ValueId};

/// A reader of what each party knows of a run, by its operations and by the messages to it.
pub(super) struct KnowledgeReader<'t> {
    pub(super) trace: &'t OperationTrace,
    /// Values by their first bytes.
    heads: HashMap<[u8; HEAD], Vec<ValueId>>,
    /// A bit for each pair of first bytes: whether a value may begin with them.
    filter: Vec<u64>,
    /// The values in messages over confidential channels.
    entrusted: HashSet<ValueId>,
}

/// Shortest value (bytes) that must be learned. Shorter values every party can guess.
pub(super) const HEAD: usize = 8;

impl<'t> KnowledgeReader<'t> {
    pub(super) fn new(trace: &'t OperationTrace) -> Self {
        let mut heads: HashMap<_, Vec<ValueId>> = HashMap::with_capacity(trace.values().len());
        let mut filter = vec![0; 1 << 10];
        for (id, value) in (0..).zip(trace.values()) {
            if let Some(head) = value.first_chunk::<HEAD>() {
                heads.entry(*head).or_default().push(id);
                let place = usize::from(u16::from_be_bytes([head[0], head[1]]));
                filter[place / 64] |= 1 << (place % 64);
            }
        }
        let mut reader = Self { trace, heads, filter, entrusted: HashSet::new() };
        let mut entrusted = HashSet::new();
        for message in trace.messages().iter().filter(|message| message.to.is_some()) {
            reader.values_in(&message.bytes, |id| {
                entrusted.insert(id);
            });
        }
        reader.entrusted = entrusted;
        reader
    }

    /// Whether a value was handed over on a confidential channel.
    pub(super) fn is_entrusted(&self, value: ValueId) -> bool {
        self.entrusted.contains(&value)
    }

    /// Finds the values that occur in these bytes.
    pub(super) fn values_in(&self, bytes: &[u8], mut found: impl FnMut(ValueId)) {
        for (start, window) in bytes.windows(HEAD).enumerate() {
            let place = usize::from(u16::from_be_bytes([window[0], window[1]]));
            if self.filter[place / 64] >> (place % 64) & 1 == 0 {
                continue;
            }
            for &id in self.heads.get(window).into_iter().flatten() {
                if bytes[start..].starts_with(&self.trace.values()[id as usize]) {
                    found(id);
                }
            }
        }
    }

    /// Returns the values that a party has of its own: what it drew, its long-term secret, and what
    /// it was handed over a confidential channel.
    #[cfg(test)]
    pub(super) fn own(&self, party: PartyId) -> Vec<ValueId> {
        let mut own = Vec::new();
        for act in self.trace.acts().iter().filter(|act| act.party == party) {
            if matches!(act.rule, Rule::Given | Rule::Random) {
                own.extend(self.trace.outputs(act));
            }
        }
        for message in self.trace.messages().iter().filter(|message| message.to == Some(party)) {
            self.values_in(&message.bytes, |id| own.push(id));
        }
        own
    }

    /// Returns all values that a party used, made or was sent during some events, both ends
    /// included. Adds the values that it had before and used then.
    pub(super) fn known_to(&self, party: PartyId, from: u32, to: u32) -> Vec<ValueId> {
        let mut known = HashSet::new();
        let (mut before, mut used) = (HashSet::new(), HashSet::new());
        for act in self.trace.acts().iter().filter(|act| act.party == party) {
            let values = || self.trace.inputs(act).iter().chain(self.trace.outputs(act)).copied();
            if (from..=to).contains(&act.event) || act.rule == Rule::Given {
                known.extend(values());
            }
            if act.event < from {
                before.extend(values());
            } else {
                used.extend(self.trace.inputs(act).iter().copied());
            }
        }
        for message in self.trace.messages().iter().filter(|message| message.to == Some(party)) {
            self.values_in(&message.bytes, |id| {
                if (from..=to).contains(&message.event) {
                    known.insert(id);
                } else if message.event < from {
                    before.insert(id);
                }
            });
        }
        // Not for members: a member that joins again under its old name begins anew.
        if !matches!(party, PartyId::Member(_)) {
            known.extend(before.intersection(&used));
        }
        let mut known: Vec<_> = known.into_iter().collect();
        known.sort_unstable();
        known
    }
}

#[cfg(test)]
mod tests {
    use groupkey::MemberId;
    use groupkey::author::{Traced, Tracer};

    use super::super::closure::Closure;
    use super::super::rules::DerivationRules;
    use super::*;

    /// A value of 8 bytes is seen where it was sent, and one that is shorter can be guessed.
    #[test]
    fn short_values_count() {
        let mut trace = OperationTrace::default();
        let (secret, guessed, key) = ([0xa5; HEAD], [7; HEAD - 1], [1; 16]);
        for (inputs, output) in [(&secret[..], &key[..]), (&guessed[..], &[2; 16][..])] {
            for (rule, inputs, outputs) in
                [(Rule::Random, &[][..], &[inputs][..]), (Rule::OneWay, &[inputs], &[output])]
            {
                let traced = Traced { rule, label: "", context: &[], inputs, outputs };
                trace.operation(MemberId(1).into(), traced);
            }
        }
        let reader = KnowledgeReader::new(&trace);
        let mut seen = Vec::new();
        reader.values_in(&[&[9, 9][..], &secret, &[9]].concat(), |id| seen.push(id));
        assert_eq!(seen, [trace.value(&secret).expect("it was traced")]);
        let rules = DerivationRules::of(&reader);
        let closure = Closure::of_public(&rules);
        let knows = |bytes: &[u8]| closure.knows(trace.value(bytes).expect("it was traced"));
        assert!(!knows(&secret) && !knows(&key));
        assert!(knows(&guessed) && knows(&[2; 16]));
    }
}
