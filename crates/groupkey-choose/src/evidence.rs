//! What is known of each variant: counts of its operations at many sizes, and what the audit found.
//!
//! [`Evidence::shipped`] is the evidence that comes with the program. Its counts are those of
//! groups that ran, with every party in them. They are kept without the protection of messages,
//! which adds a known number of bytes and one primitive for each message sent and received.
//!
//! Suite `pq` was not counted: its symmetric algorithms are those of `standard`, and so are its counts,
//! but for longer signatures. Only schemes of symmetric algorithms run in it.
//!
//! The counts of most schemes are of groups that nobody has left. A scheme whose messages grow with
//! the members that have left ([`Departures::Kept`]) is also counted after departures, each of which
//! a join made up for.
//!
//! [`Departures::Kept`]: groupkey::catalogue::Departures::Kept

mod table;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::OnceLock;

use groupkey::Suite;
use groupkey::crypto::Signing;
use serde::{Deserialize, Serialize};

use crate::decision::Variant;
use crate::moment::Moment;

pub use self::table::{CountTable, TableError};

/// All that is known of all variants.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    facts: BTreeMap<String, SchemeFacts>,
    known: Vec<VariantFacts>,
    /// By turnover: one table alone, unless costs grow with the members that have left.
    tables: BTreeMap<VariantKey, BTreeMap<u32, CountTable>>,
}

/// What is known of one variant, beside its counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VariantFacts {
    /// The variant.
    pub variant: Variant,
    /// Security level of its suite for this scheme (bits).
    pub bits: u32,
    /// Whether no step of it rests on a problem that a quantum computer solves. Signatures count: those
    /// of suite [`POST_QUANTUM`] do not rest on one alone.
    pub post_quantum: bool,
    /// The claims that the audit confirmed for its scheme's sound form, each as
    /// `adversary/claim`: `active/forward-secrecy`. The audit signed the messages. With a MAC,
    /// which every former member can make, nothing is confirmed against an active adversary.
    pub confirmed: BTreeSet<String>,
    /// The smallest and the largest group that was counted (members).
    pub counted: (u32, u32),
}

/// What is known of a scheme in its sound form. A line of [`Evidence::parse`]'s text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SchemeFacts {
    /// The scheme's id.
    pub scheme: String,
    /// Security level of its suites (bits).
    pub bits: u32,
    /// Whether its primitives, those that protect messages left out, are all symmetric.
    pub symmetric: bool,
    /// What the audit confirmed, as in [`VariantFacts::confirmed`].
    pub confirmed: BTreeSet<String>,
}

/// A value, and whether it lies outside what was counted or simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate<T> {
    /// The value.
    pub value: T,
    /// Whether it lies outside.
    pub is_extrapolated: bool,
}

/// Why a text is not evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// What one operation takes in a group of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sample {
    /// The operation's name: `create`, `add`, `remove`, `rekey` or `batch`.
    pub operation: String,
    /// Members when the operation begins; for `create`, when it has ended.
    pub members: u32,
    /// The members that are not the joining or leaving one, on average.
    pub member: Load,
    /// The most that any of them sends, receives and keeps, figure by figure, with the primitives
    /// of the one that takes longest on a Cortex-M4.
    pub busiest: Load,
    /// The controller.
    #[serde(default, skip_serializing_if = "Load::is_idle")]
    pub controller: Load,
    /// The most that a subgroup controller does, as of the busiest member.
    #[serde(default, skip_serializing_if = "Load::is_idle")]
    pub gateway: Load,
    /// The messages in the order in which they wait for each other.
    pub stages: Vec<Stage>,
    /// Primitives of the slowest member between the last message that it needs and the key.
    #[serde(default)]
    pub finish: Uses,
    /// The largest message (bytes, header and tag included).
    pub largest: u32,
}

/// What a party does in an operation, and what it keeps after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Load {
    /// Its primitives.
    #[serde(default)]
    pub uses: Uses,
    /// What it sends. A message to many members counts once.
    #[serde(default)]
    pub sent: ProtocolTraffic,
    /// What it receives.
    #[serde(default)]
    pub received: ProtocolTraffic,
    /// Receivers of what it sends: what `sent` would be if each receiver had its own copy.
    #[serde(default)]
    pub copies: ProtocolTraffic,
    /// Key material that it keeps (bytes).
    #[serde(default)]
    pub keys: f64,
}

/// Counted primitives, by the meter's names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uses(pub BTreeMap<String, PrimitiveCount>);

/// How often a primitive was used, and on how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrimitiveCount {
    /// Calls.
    pub calls: f64,
    /// Units in all.
    pub amount: f64,
}

/// Messages of the protocol, and their bytes (headers and tags included, MQTT's not).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolTraffic {
    /// Messages.
    pub messages: f64,
    /// Bytes.
    pub bytes: f64,
}

/// Messages that leave at once, after those of the stage before have arrived. Stages that follow
/// each other and look alike are one, with averages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// How many such stages follow each other.
    pub repeats: f64,
    /// Senders that work in parallel.
    pub senders: f64,
    /// Messages of the sender with most, one after the other on its connection.
    pub messages: f64,
    /// Bytes of a message, on average.
    pub bytes: f64,
    /// Deliveries in all: one for each receiver of each message.
    pub deliveries: f64,
    /// Of these, the deliveries that the next stage, or the end, waits for.
    pub awaited: f64,
    /// The parties that get these deliveries.
    pub receivers: f64,
    /// Primitives of the slowest sender since it last sent.
    pub uses: Uses,
    /// Whether members, the controller or gateways send.
    pub sender: DeviceRole,
}

/// A kind of party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceRole {
    /// The controller.
    Controller,
    /// A subgroup controller.
    Gateway,
    /// A member.
    #[default]
    Member,
}

/// A variant without its protection, and an operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct VariantKey {
    scheme: String,
    parameters: BTreeMap<String, u32>,
    operation: String,
    suite: String,
}

static SHIPPED: OnceLock<Evidence> = OnceLock::new();
static BROUGHT: OnceLock<Evidence> = OnceLock::new();

impl Evidence {
    /// The protections of messages whose counts follow from the counts without one. One signature
    /// for all messages of a step is [beside them](Self::TOGETHER), where it can pay.
    pub const GUARDS: [&'static str; 2] = ["mac", "signature"];
    /// The protection of all messages of a step by one signature. It is known of operations of one
    /// step alone, and of variants of which a step sends at least [so many](Self::WORTH) messages.
    pub const TOGETHER: &'static str = "merkle";
    /// With fewer messages the signatures that it saves take less than the bytes that it adds.
    pub const WORTH: f64 = 8.0;

    /// Returns the evidence that comes with the program, and what was [brought](Self::bring).
    pub fn shipped() -> &'static Self {
        SHIPPED.get_or_init(|| {
            let mut all =
                Self::parse(include_str!("../data/counts.jsonl")).expect("a test reads it");
            if let Some(Self { facts, known, tables }) = BROUGHT.get().cloned() {
                all.facts.extend(facts);
                all.tables.extend(tables);
                all.known.extend(known);
                all.known.sort_by(|one, other| one.variant.cmp(&other.variant));
            }
            all
        })
    }

    /// Adds evidence on [registered](crate::registry) schemes to what comes with the program, for
    /// this process. Once, and before anything is chosen: otherwise it returns false.
    pub fn bring(own: Self) -> bool {
        SHIPPED.get().is_none() && BROUGHT.set(own).is_ok()
    }

    /// Reads evidence: lines of JSON, each either [`SchemeFacts`] or a [`CountTable`].
    pub fn parse(text: &str) -> Result<Self, EvidenceError> {
        let (mut facts, mut tables): (_, Vec<CountTable>) = (Vec::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            let wrong = |problem: String| EvidenceError { line: index + 1, problem };
            if line.starts_with("{\"scheme\"") && line.contains("\"counts\"") {
                let written =
                    serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
                let table = CountTable::read(written, tables.last());
                tables.push(table.map_err(|error| wrong(error.to_string()))?);
            } else {
                facts.push(serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?);
            }
        }
        Ok(Self::new(facts, tables))
    }

    /// Puts evidence together. A table of a scheme without facts is left out.
    pub fn new(facts: Vec<SchemeFacts>, tables: Vec<CountTable>) -> Self {
        let facts: BTreeMap<_, _> =
            facts.into_iter().map(|facts| (facts.scheme.clone(), facts)).collect();
        let mut sizes: BTreeMap<Variant, (u32, u32)> = BTreeMap::new();
        let mut most: BTreeMap<&Variant, Option<f64>> = BTreeMap::new();
        for table in &tables {
            let most = most.entry(&table.variant).or_insert(Some(0.0));
            *most = most.zip(table.messages_of_steps()).map(|(one, other)| one.max(other));
        }
        for table in &tables {
            let (low, high) = table.counted();
            let most = most[&table.variant].filter(|&messages| messages >= Self::WORTH);
            for guard in Self::GUARDS.into_iter().chain(most.map(|_| Self::TOGETHER)) {
                let variant = Variant { guard: guard.to_owned(), ..table.variant.clone() };
                let range = sizes.entry(variant).or_insert((low, high));
                *range = (range.0.min(low), range.1.max(high));
            }
        }
        let known = sizes.into_iter().filter_map(|(variant, counted)| {
            let SchemeFacts { bits, symmetric, confirmed, .. } = facts.get(&variant.scheme)?;
            let is_signed = variant.guard != "mac";
            let counts = |claim: &&String| is_signed || claim.starts_with("passive/");
            Some(VariantFacts {
                bits: *bits,
                post_quantum: *symmetric && !is_signed,
                confirmed: confirmed.iter().filter(counts).cloned().collect(),
                counted,
                variant,
            })
        });
        let mut known: Vec<VariantFacts> = known.collect();
        // Under a MAC a variant in `standard` is what it would be in `pq`.
        let signed = known.iter().filter(|known| {
            let Variant { suite, guard, scheme, .. } = &known.variant;
            suite == COUNTED_AS && guard != "mac" && facts[scheme].symmetric
        });
        let hybrid = signed.map(|known| {
            let variant = Variant { suite: POST_QUANTUM.to_owned(), ..known.variant.clone() };
            VariantFacts { variant, post_quantum: true, ..known.clone() }
        });
        known.extend(hybrid.collect::<Vec<_>>());
        known.sort_by(|one, other| one.variant.cmp(&other.variant));
        let mut by_key: BTreeMap<VariantKey, BTreeMap<u32, CountTable>> = BTreeMap::new();
        for table in tables {
            by_key.entry(VariantKey::of(&table)).or_default().insert(table.turnover(), table);
        }
        Self { facts, known, tables: by_key }
    }

    /// Writes the evidence as [`Self::parse`] reads it.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for facts in self.facts.values() {
            text += &serde_json::to_string(facts).expect("it has no map with other keys than text");
            text.push('\n');
        }
        // Tables of two suites that have much in common stand below each other.
        let mut tables: Vec<&CountTable> = self.tables().collect();
        tables.sort_by_key(|table| {
            let VariantKey { scheme, parameters, operation, suite } = VariantKey::of(table);
            (scheme, parameters, operation, table.turnover(), suite)
        });
        let mut before = None;
        for table in tables {
            text += &serde_json::to_string(&table.write_after(before)).expect("as above");
            before = Some(table);
            text.push('\n');
        }
        text
    }

    /// Returns what is known of each variant, in the order of schemes' ids, parameters, suites and
    /// protections.
    pub fn known(&self) -> &[VariantFacts] {
        &self.known
    }

    /// Returns the counts of a variant's operation in a group at this moment, or `None` if the
    /// operation was not counted or cannot be at this size. Between counted sizes it interpolates;
    /// beyond the largest one it extrapolates. Between counted turnovers it interpolates, too.
    pub fn counts(
        &self,
        variant: &Variant,
        operation: &str,
        moment: Moment,
    ) -> Option<Estimate<Sample>> {
        let key = VariantKey {
            scheme: variant.scheme.clone(),
            parameters: variant.parameters.clone(),
            suite: counted_suite(&variant.suite).to_owned(),
            operation: operation.to_owned(),
        };
        let tables = self.tables.get(&key)?;
        let turnover = moment.turnover();
        let below = tables.range(..=turnover).next_back();
        let above = tables.range(turnover..).next();
        let mut estimate = match (below, above) {
            (Some((low, below)), Some((high, above))) if low != high => {
                let share = f64::from(turnover - low) / f64::from(high - low);
                below.at_between(above, share, moment.members)?
            }
            (Some((_, nearest)), _) | (None, Some((_, nearest))) => nearest.at(moment.members)?,
            (None, None) => return None,
        };
        let longer = GuardCost::longer(&variant.suite);
        if variant.guard == Self::TOGETHER {
            estimate.value.protect_together(longer)?;
        } else {
            estimate.value.protect(GuardCost::named(&variant.suite, &variant.guard)?);
        }
        Some(estimate)
    }

    /// Returns what is known of each scheme.
    pub fn facts(&self) -> impl Iterator<Item = &SchemeFacts> {
        self.facts.values()
    }

    /// Returns the tables of counts.
    pub fn tables(&self) -> impl Iterator<Item = &CountTable> {
        self.tables.values().flat_map(BTreeMap::values)
    }
}

impl VariantKey {
    fn of(table: &CountTable) -> Self {
        let Variant { scheme, parameters, suite, .. } = table.variant.clone();
        Self { scheme, parameters, suite, operation: table.operation.clone() }
    }
}

/// The suite whose signatures a quantum computer does not break.
pub const POST_QUANTUM: &str = "pq";

/// The suite whose counts are those of [`POST_QUANTUM`].
const COUNTED_AS: &str = "standard";

/// Returns the name of the suite whose counts are those of this one: mostly its own.
pub fn counted_suite(suite: &str) -> &str {
    if suite == POST_QUANTUM { COUNTED_AS } else { suite }
}

/// How a protection adds to what was counted without one.
#[derive(Clone, Copy, Debug)]
pub struct GuardCost {
    /// Bytes that the tag adds to a message.
    pub tag: f64,
    /// The names of the primitives for a message that is sent, and for one that is received.
    pub primitives: [&'static str; 2],
}

impl GuardCost {
    /// Returns what a protection adds in a suite: `mac` or `signature`.
    pub fn named(suite: &str, name: &str) -> Option<Self> {
        // A tag of 16 bytes has a head of one byte, one of 64 bytes has two, and a longer one three.
        let longer = match Self::longer(suite) {
            0.0 => 0.0,
            longer => longer + 1.0,
        };
        match name {
            "mac" => Some(Self { tag: 17.0, primitives: ["mac", "mac"] }),
            "signature" => Some(Self { tag: 66.0 + longer, primitives: ["sign", "verify"] }),
            _ => None,
        }
    }

    /// Returns how many bytes a suite's signature is longer than one of Ed25519.
    fn longer(suite: &str) -> f64 {
        let signing = Suite::named(suite).map_or(Signing::Ed25519, Suite::signing);
        (signing.signature_bytes() - Signing::Ed25519.signature_bytes()) as f64
    }
}

impl Sample {
    fn protect(&mut self, guard: GuardCost) {
        let Self { member, busiest, controller, gateway, .. } = self;
        for load in [&mut *member, &mut *controller] {
            // Each message was counted, and all of it is protected.
            for (open, traffic) in [(Uses::SEND, load.sent), (Uses::RECEIVE, load.received)] {
                if traffic.messages > 0.0 {
                    let count = PrimitiveCount { calls: traffic.messages, amount: traffic.bytes };
                    load.uses.0.insert(open.to_owned(), count);
                }
            }
        }
        for load in [member, busiest, controller, gateway] {
            load.uses.protect(guard);
            for traffic in [&mut load.sent, &mut load.received, &mut load.copies] {
                traffic.bytes += guard.tag * traffic.messages;
            }
        }
        for stage in &mut self.stages {
            stage.uses.protect(guard);
            stage.bytes += guard.tag;
        }
        self.finish.protect(guard);
        if self.largest > 0 {
            self.largest += guard.tag as u32;
        }
    }
}

impl Uses {
    /// The name under which messages sent are counted while their protection is open.
    pub const SEND: &'static str = "protect";
    /// The name under which messages received are counted while their protection is open.
    pub const RECEIVE: &'static str = "check";

    fn protect(&mut self, guard: GuardCost) {
        for (open, primitive) in [Self::SEND, Self::RECEIVE].into_iter().zip(guard.primitives) {
            if let Some(count) = self.0.remove(open) {
                let sum = self.0.entry(primitive.to_owned()).or_default();
                sum.calls += count.calls;
                sum.amount += count.amount;
            }
        }
    }
}

impl fmt::Display for EvidenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for EvidenceError {}

impl Load {
    /// Returns whether something is sent or received.
    pub(crate) fn is_on_air(&self) -> bool {
        self.sent.messages + self.received.messages > 0.0
    }

    fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::SCHEMES;

    use super::*;
    use crate::device::DevicePrices;

    fn variant(scheme: &str, guard: &str) -> Variant {
        Variant {
            scheme: scheme.to_owned(),
            parameters: BTreeMap::new(),
            suite: "standard".to_owned(),
            guard: guard.to_owned(),
        }
    }

    #[test]
    fn the_shipped_evidence_knows_every_scheme() {
        let evidence = Evidence::shipped();
        for scheme in SCHEMES {
            let known = evidence.known().iter().any(|known| known.variant.scheme == scheme.id);
            assert!(known, "{} was not counted: tools/record evidence", scheme.id);
        }
        assert!(
            DevicePrices::named("cortex-m4").is_some() && DevicePrices::named("host").is_some()
        );
        assert_eq!(
            Evidence::parse(&evidence.to_text()).map(|read| read.to_text()),
            Ok(evidence.to_text())
        );
    }

    #[test]
    fn protection_adds_a_tag_and_a_primitive_a_message() {
        let evidence = Evidence::shipped();
        let add = |guard: &str| {
            let counted = evidence.counts(&variant("skdc", guard), "add", Moment::fresh(8));
            counted.expect("it was counted").value
        };
        let (mac, signature) = (add("mac"), add("signature"));
        let received = mac.member.received;
        assert!(received.messages > 0.0);
        let more = signature.member.received.bytes - received.bytes;
        assert_eq!(more, 49.0 * received.messages);
        assert_eq!(mac.member.uses.0["mac"].calls, received.messages);
        assert_eq!(signature.member.uses.0["verify"].calls, received.messages);
        assert_eq!(signature.largest - mac.largest, 49);
        assert!(!mac.controller.uses.0.contains_key(Uses::SEND));
    }

    #[test]
    fn one_signature_protects_what_a_step_sends() {
        let evidence = Evidence::shipped();
        let of = |guard: &str, operation: &str| {
            let counted = evidence.counts(&variant("skdc", guard), operation, Moment::fresh(64));
            counted.expect("it was counted").value
        };
        let (each, together) = (of("signature", "remove"), of("merkle", "remove"));
        let messages = each.controller.sent.messages;
        assert_eq!(messages, 63.0);
        assert_eq!(each.controller.uses.0["sign"].calls, messages);
        assert_eq!(together.controller.uses.0["sign"].calls, 1.0);
        assert_eq!(together.stages[0].uses.0["sign"].calls, 1.0);
        assert_eq!(together.member.uses.0["verify"].calls, each.member.uses.0["verify"].calls);
        assert!(together.member.received.bytes > each.member.received.bytes);
        assert_eq!(together.largest - each.largest, 88 + 6 * 16 + 2 - 66);
        let guards = |scheme: &str| {
            let of_it = evidence.known().iter().filter(|known| known.variant.scheme == scheme);
            of_it.map(|known| &*known.variant.guard).collect::<BTreeSet<_>>()
        };
        assert!(guards("skdc").contains(Evidence::TOGETHER));
        // One broadcast, and members that answer each other.
        assert!(["lkh-group", "tgdh"].into_iter().all(|one| guards(one) == guards("gdh2")));
    }

    #[test]
    fn an_active_adversary_makes_macs() {
        let known = Evidence::shipped().known();
        let of = |guard: &str| {
            let wanted = variant("lkh-group", guard);
            known.iter().find(|known| known.variant == wanted).expect("it was counted")
        };
        assert!(of("mac").post_quantum && !of("signature").post_quantum);
        assert!(of("mac").confirmed.iter().all(|claim| claim.starts_with("passive/")));
        assert!(of("signature").confirmed.contains("active/forward-secrecy"));
    }

    #[test]
    fn symmetric_schemes_have_a_post_quantum_form_with_longer_signatures() {
        let evidence = Evidence::shipped();
        let of = |scheme: &str, guard: &str| {
            let wanted = Variant { suite: POST_QUANTUM.to_owned(), ..variant(scheme, guard) };
            evidence.known().iter().find(|known| known.variant == wanted)
        };
        for scheme in SCHEMES {
            let known = of(scheme.id, "signature");
            let is_symmetric =
                evidence.facts().any(|facts| facts.scheme == scheme.id && facts.symmetric);
            assert_eq!(
                known.is_some_and(|known| known.post_quantum),
                is_symmetric,
                "{}",
                scheme.id
            );
            assert!(!is_symmetric || scheme.unsuited_to(Suite::Pq).is_none(), "{}", scheme.id);
            assert!(of(scheme.id, "mac").is_none());
        }
        let known = of("lkh-group", "signature").expect("it is symmetric");
        assert!(known.confirmed.contains("active/forward-secrecy"));
        for (guard, more) in [("signature", 3_310.0), ("merkle", 3_310.0)] {
            let counts = |variant: &Variant| {
                let counts = evidence.counts(variant, "remove", Moment::fresh(64));
                counts.expect("it was counted").value
            };
            let standard = counts(&variant("skdc", guard));
            let pq = counts(&of("skdc", guard).expect("it is symmetric").variant);
            let messages = standard.member.received.messages;
            let grown = pq.member.received.bytes - standard.member.received.bytes;
            assert!((grown - more * messages).abs() <= messages, "{guard}: {grown}");
            assert_eq!(pq.member.uses, standard.member.uses);
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = Evidence::parse("{}").expect_err("it is no fact");
        assert_eq!(error.line, 1);
    }
}
