//! Rows of a benchmark as findings refer to them: one scheme, one role, one operation, one size.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_choose::number::{grouped, time};
use groupkey_lab::bench::rounds::independent_of;
use groupkey_lab::bench::{BenchRow, CountedPrimitive};
use groupkey_lab::device::DeviceProfile;
use groupkey_lab::verdict::{Thresholds, VerdictGround, Void};

use super::evidence::{RunValues, SettingComparison};
use super::provenance;

/// A role and its operation. Without a phase both phases count together: S002 does not tell them
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoleOperation {
    pub(super) operation: &'static str,
    pub(super) role: &'static str,
    pub(super) phase: Option<&'static str>,
}

/// The quantity that is compared. Measured and modelled times are never compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yardstick {
    /// Counted primitives, each for itself: what grows, and what does not. They have no sum, and
    /// rank no schemes. A primitive counts if it leads the cost on this device
    /// ([`Thresholds::leading`]).
    Counted(&'static str),
    /// Observations of real parties; nothing is compared.
    Seen,
    /// Time measured on this machine (ns).
    Measured,
    /// What the counted primitives cost on a device (ns).
    Modelled(&'static str),
    /// Key material kept between operations (bytes).
    Permanent,
    /// Key material held in addition during an operation (bytes).
    Temporary,
}

/// All rows of a study, and the thresholds by which they are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'r> {
    pub(super) rows: &'r [BenchRow],
    pub(super) thresholds: &'r Thresholds,
}

/// The rows of a subject in one scheme at one size.
#[derive(Clone, Debug)]
pub(super) struct Cell<'r> {
    rows: Vec<&'r BenchRow>,
    thresholds: &'r Thresholds,
}

impl Yardstick {
    /// Formats one of its figures for readers.
    pub(super) fn words(self, value: f64) -> String {
        match self {
            Self::Measured | Self::Modelled(_) => time(value),
            Self::Permanent | Self::Temporary | Self::Seen => bytes_words(value),
            Self::Counted(_) => grouped(value),
        }
    }

    pub(super) const fn of(ground: VerdictGround) -> Self {
        match ground {
            VerdictGround::Counts(device) => Self::Counted(device),
            VerdictGround::PermanentBytes => Self::Permanent,
            VerdictGround::TemporaryBytes => Self::Temporary,
            VerdictGround::Calculation | VerdictGround::Runs | VerdictGround::Network => Self::Seen,
            VerdictGround::Device(device) => Self::Modelled(device),
        }
    }
}

impl RoleOperation {
    pub(super) const fn new(operation: &'static str, role: &'static str) -> Self {
        Self { operation, role, phase: None }
    }
}

impl<'r> Cells<'r> {
    pub(super) const fn new(rows: &'r [BenchRow], thresholds: &'r Thresholds) -> Self {
        Self { rows, thresholds }
    }

    /// Returns the rows of a subject; `None` if there are none.
    pub(super) fn at(self, scheme: &str, subject: RoleOperation, members: u32) -> Option<Cell<'r>> {
        let of_subject = |row: &&BenchRow| subject.has(row);
        let rows: Vec<_> = self
            .rows
            .iter()
            .filter(of_subject)
            .filter(|row| row.scheme == scheme && row.members == members)
            .collect();
        (!rows.is_empty()).then_some(Cell { rows, thresholds: self.thresholds })
    }

    pub(super) fn has(self, scheme: &str) -> bool {
        self.rows.iter().any(|row| row.scheme == scheme)
    }

    pub(super) fn sizes(self, scheme: &str, subject: RoleOperation) -> Vec<u32> {
        let own = self.rows.iter().filter(|row| row.scheme == scheme && subject.has(row));
        let mut sizes: Vec<u32> = own.map(|row| row.members).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns the largest size at which all of these schemes have the subject. Schemes without the
    /// subject do not count.
    pub(super) fn largest(self, schemes: &[&str], subject: RoleOperation) -> Option<u32> {
        let sizes: Vec<_> = schemes.iter().map(|scheme| self.sizes(scheme, subject)).collect();
        let mut told = sizes.iter().filter(|sizes| !sizes.is_empty());
        let first = told.next()?;
        let everywhere = |size: &&u32| told.clone().all(|sizes| sizes.contains(size));
        first.iter().rev().find(everywhere).copied()
    }
}

impl Cell<'_> {
    pub(super) fn members(&self) -> u32 {
        self.rows[0].members
    }

    /// Returns the compared quantity as one figure. For measured times it is the median.
    pub(super) fn value(&self, yardstick: Yardstick) -> f64 {
        match yardstick {
            Yardstick::Measured => self.rows.iter().map(|row| row.p50_ns).sum(),
            Yardstick::Modelled(device) => modelled_ns(device, self.rows[0], &self.primitives()),
            Yardstick::Permanent => self.most(|row| row.permanent_bytes),
            Yardstick::Temporary => self.most(|row| row.temporary_bytes),
            Yardstick::Counted(_) => self.primitives().values().map(|count| count.calls).sum(),
            Yardstick::Seen => f64::NAN,
        }
    }

    /// Compares two cells: this cell is at most `factor` times the other.
    ///
    /// Of counts, every primitive must be at most so often. If the claim is that the other cell has
    /// more (`factor` below 1), one primitive suffices.
    pub(super) fn at_most(
        &self,
        other: &Self,
        factor: f64,
        yardstick: Yardstick,
    ) -> SettingComparison {
        let words = format!("{} against {}", self.words(yardstick), other.words(yardstick));
        match yardstick {
            Yardstick::Measured => {
                let [own, others] = [self, other].map(|cell| RunValues::new(cell.samples()));
                SettingComparison::at_most_as_they_are(own, others, factor, words)
            }
            Yardstick::Counted(device) => {
                let pick = if factor < 1.0 { f64::min } else { f64::max };
                let ratio =
                    self.count_ratios(other, device).into_iter().reduce(pick).unwrap_or(1.0);
                SettingComparison::exact(ratio / factor, words)
            }
            _ => {
                let (own, others) = (self.value(yardstick), other.value(yardstick));
                // A device without prices leaves the comparison open.
                let ratio = if own == others { 1.0 } else { own / others };
                SettingComparison::exact(ratio / factor, words)
            }
        }
    }

    /// Compares two cells: neither cell is above `factor` times the other.
    pub(super) fn about(
        &self,
        other: &Self,
        factor: f64,
        yardstick: Yardstick,
    ) -> SettingComparison {
        self.at_most(other, factor, yardstick).and(other.at_most(self, factor, yardstick))
    }

    /// Returns why this cell is no evidence for these statements (paths in `published.toml`), by this
    /// yardstick. Which primitives lead rests on the prices of all.
    pub(super) fn void(&self, yardstick: Yardstick, tested: &[String]) -> Option<Void> {
        let prices = match yardstick {
            Yardstick::Modelled(device) => {
                let counts = self.primitives();
                let leading = counts.keys().filter(|name| self.leads(&counts, name, device));
                provenance::of_prices(device, leading.map(String::as_str), tested)
            }
            Yardstick::Counted(device) => {
                let counts = self.primitives();
                provenance::of_prices(device, counts.keys().map(String::as_str), tested)
            }
            _ => None,
        };
        provenance::of_scheme(&self.rows[0].scheme, tested).or(prices)
    }

    fn leads(&self, counts: &BTreeMap<String, CountedPrimitive>, name: &str, device: &str) -> bool {
        let count = counts.get(name).copied().unwrap_or_default();
        let alone = BTreeMap::from([(name.to_owned(), count)]);
        let cost = |counts| modelled_ns(device, self.rows[0], counts);
        cost(&alone) >= self.thresholds.leading.value * cost(counts)
    }

    /// Returns how often this cell has each leading primitive for once in the other, in calls and in
    /// amounts.
    fn count_ratios(&self, other: &Self, device: &str) -> Vec<f64> {
        let (own, others) = (self.primitives(), other.primitives());
        let names: BTreeSet<&String> = own.keys().chain(others.keys()).collect();
        let of = |counts: &BTreeMap<String, CountedPrimitive>, name: &str| {
            counts.get(name).copied().unwrap_or_default()
        };
        let leading = names
            .into_iter()
            .filter(|name| self.leads(&own, name, device) || self.leads(&others, name, device));
        let ratios = leading.flat_map(|name| {
            let (own, others) = (of(&own, name), of(&others, name));
            [(own.calls, others.calls), (own.amount, others.amount)]
        });
        ratios
            .filter(|(own, others)| own + others > 0.0)
            .map(|(own, others)| own / others)
            .collect()
    }

    /// Formats the figure with the primitives that cost most: `OFT 1.23 ms (34 derive, 17 unwrap)`.
    pub(super) fn words(&self, yardstick: Yardstick) -> String {
        let name = scheme_name(&self.rows[0].scheme);
        match yardstick {
            Yardstick::Measured | Yardstick::Modelled(_) => {
                let device = match yardstick {
                    Yardstick::Modelled(device) => device,
                    _ => "host",
                };
                let reason = self.reason(device);
                format!("{name} {} ({reason})", yardstick.words(self.value(yardstick)))
            }
            Yardstick::Permanent | Yardstick::Temporary | Yardstick::Seen => {
                format!("{name} {}", yardstick.words(self.value(yardstick)))
            }
            Yardstick::Counted(device) => {
                let members = grouped(self.members().into());
                format!("{name} with {members} members: {}", self.reason(device))
            }
        }
    }

    pub(super) fn primitives(&self) -> BTreeMap<String, CountedPrimitive> {
        let mut all = BTreeMap::<String, CountedPrimitive>::new();
        for (name, count) in self.rows.iter().flat_map(|row| &row.primitives) {
            let sum = all.entry(name.clone()).or_default();
            sum.calls += count.calls;
            sum.amount += count.amount;
        }
        all
    }

    /// Returns the times of the repetitions, phases together, as far as they are independent. The
    /// slowest quarter of each round is left out. Interruptions of a program only add time, and
    /// would hide the difference between schemes.
    fn samples(&self) -> Vec<f64> {
        let repetitions = self.rows.iter().map(|row| row.samples_ns.len()).min().unwrap_or(0);
        let total = |place: usize| self.rows.iter().map(|row| row.samples_ns[place] as f64).sum();
        let samples: Vec<f64> = (0..repetitions).map(total).collect();
        independent_of(&samples, |round| {
            let mut kept = round.to_vec();
            kept.sort_by(f64::total_cmp);
            kept.truncate((round.len() - round.len() / 4).max(2));
            kept
        })
    }

    fn most(&self, of: impl Fn(&BenchRow) -> u64) -> f64 {
        self.rows.iter().map(|row| of(row)).max().unwrap_or(0) as f64
    }

    fn reason(&self, device: &str) -> String {
        let primitives = self.primitives();
        let cost = |(name, count): (&String, &CountedPrimitive)| {
            let alone = BTreeMap::from([(name.clone(), *count)]);
            modelled_ns(device, self.rows[0], &alone)
        };
        let mut by_cost: Vec<_> = primitives.iter().collect();
        by_cost.sort_by(|a, b| cost(*b).total_cmp(&cost(*a)));
        let told = by_cost.iter().take(2).map(|(name, count)| {
            let calls = count_words(count.calls);
            if count.amount == count.calls {
                format!("{calls} {name}")
            } else {
                format!("{calls} {name} of {} in all", count_words(count.amount))
            }
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() { "nothing counted".to_owned() } else { told.join(", ") }
    }
}

/// `join, joining member`.
impl fmt::Display for RoleOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            "new-member" => "joining member".to_owned(),
            role => role.replace('-', " "),
        };
        write!(f, "{}, {role}", self.operation_name())?;
        match self.phase {
            Some("deployment") => write!(f, ", in deployment"),
            Some(_) => write!(f, ", in operation"),
            None => Ok(()),
        }
    }
}

impl RoleOperation {
    pub(super) fn operation_name(self) -> &'static str {
        match self.operation {
            "add" => "join",
            "create" => "creation",
            "remove" => "leave",
            other => other,
        }
    }

    fn has(self, row: &BenchRow) -> bool {
        row.operation == self.operation
            && row.role == self.role
            && self.phase.is_none_or(|phase| row.phase == phase)
    }
}

/// Returns what counted primitives cost on a device (ns), in the row's suite. If the device has no
/// such suite, it returns NaN, which decides nothing.
pub(super) fn modelled_ns(
    device: &str,
    row: &BenchRow,
    counts: &BTreeMap<String, CountedPrimitive>,
) -> f64 {
    let suite = Suite::named(&row.suite);
    let device = DeviceProfile::named(device);
    let costs = device.as_ref().zip(suite).and_then(|(device, suite)| device.costs(suite));
    let Some(costs) = costs else { return f64::NAN };
    let each = Primitive::ALL.into_iter().filter_map(|primitive| {
        let count = counts.get(primitive.name())?;
        let cost = costs.of(primitive);
        Some(count.calls * cost.per_call_ns + count.amount * cost.per_unit_ns)
    });
    each.sum()
}

/// Returns the name of a scheme in the literature: the part before the first comma.
pub(super) fn scheme_name(id: &str) -> String {
    let name =
        groupkey_lab::registry::schemes().find(|scheme| scheme.id == id).map_or(id, |s| s.name);
    let orientation = id.strip_prefix("lkh-").filter(|word| *word != "plus");
    match (name.split_once(','), orientation) {
        (Some((short, _)), Some(orientation)) => format!("{short} {orientation}-oriented"),
        (Some(_), None) if id.starts_with("boneh-") => name.replace(',', ""),
        (Some((short, _)), None) => short.to_owned(),
        (None, _) => name.to_owned(),
    }
}

/// Formats a length in the unit that fits; 1 KB is 1,000 B, as in the papers.
pub(super) fn bytes_words(bytes: f64) -> String {
    match bytes {
        ..1e3 => format!("{bytes} B"),
        ..1e6 => format!("{:.1} KB", bytes / 1e3),
        _ => format!("{:.2} MB", bytes / 1e6),
    }
}

/// Formats a mean count: whole if it is large or whole.
fn count_words(count: f64) -> String {
    if count >= 10.0 || count.fract() == 0.0 { grouped(count) } else { format!("{count:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groupkey_lab::verdict::Ruling;

    #[test]
    fn figures_have_units_that_fit() {
        assert_eq!([16.0, 1_600.0, 2.5e7].map(bytes_words), ["16 B", "1.6 KB", "25.00 MB"]);
    }

    /// The repetitions saw only five states of the machine, however many repetitions there are.
    #[test]
    fn what_the_machine_did_is_no_difference_between_schemes() {
        let measured = |scheme, states: [u64; 5]| BenchRow {
            samples_ns: states.iter().flat_map(|ns| (0..60).map(move |i| ns + i)).collect(),
            ..example::row(scheme, 10, 1_000, 1.0, 1)
        };
        let ruling = |other| {
            let rows = [measured("skdc", [1_000, 1_050, 950, 1_030, 970]), measured("oft", other)];
            let subject = RoleOperation::new("create", "controller");
            let thresholds = Thresholds::in_use();
            let cells = Cells::new(&rows, &thresholds);
            let [skdc, oft] = ["skdc", "oft"].map(|scheme| cells.at(scheme, subject, 10));
            let pair = skdc.zip(oft);
            pair.map(|(a, b)| a.at_most(&b, 1.0, Yardstick::Measured).ruling(0.05, 1))
        };
        assert_eq!(ruling([990, 1_070, 1_020, 1_050, 970]), Some(Ruling::Open));
        assert_eq!(ruling([1_290, 1_370, 1_320, 1_350, 1_270]), Some(Ruling::Holds));
    }

    #[test]
    fn counts_grow_by_one_primitive_and_stay_by_all() {
        let rows = [10, 1_000].map(|members| {
            let count = |calls| CountedPrimitive { calls, amount: calls };
            let counted = [("hash", f64::from(members)), ("unwrap", 5.0)];
            BenchRow {
                primitives: counted.map(|(name, calls)| (name.to_owned(), count(calls))).into(),
                ..example::row("skdc", members, 1, 1.0, 1)
            }
        });
        let thresholds = Thresholds::in_use();
        let cells = [10, 1_000].map(|members| {
            let subject = RoleOperation::new("create", "controller");
            Cells::new(&rows, &thresholds).at("skdc", subject, members).expect("a row")
        });
        let [small, large] = &cells;
        let ruling = |comparison: SettingComparison| comparison.ruling(0.05, 1);
        assert_eq!(ruling(small.at_most(large, 0.8, Yardstick::Counted("host"))), Ruling::Holds);
        assert_eq!(ruling(large.about(small, 1.25, Yardstick::Counted("host"))), Ruling::Fails);
    }

    #[test]
    fn schemes_have_the_names_of_the_literature() {
        assert_eq!(scheme_name("skdc"), "SKDC");
        assert_eq!(scheme_name("lkh-user"), "LKH user-oriented");
        assert_eq!(scheme_name("lkh-plus"), "LKH+");
        assert_eq!(scheme_name("boneh-fat"), "Boneh+ fat client");
        assert_eq!(scheme_name("mine"), "mine");
    }
}

#[cfg(test)]
pub(super) mod example {
    use super::*;
    use groupkey_lab::bench::MessageTraffic;

    /// Returns a controller's creation that took about this long (ns), with this many wraps and
    /// bytes.
    pub(crate) fn row(scheme: &str, members: u32, ns: u64, wraps: f64, bytes: u64) -> BenchRow {
        let none = MessageTraffic::default();
        let wraps = CountedPrimitive { calls: wraps, amount: wraps };
        BenchRow {
            scheme: scheme.to_owned(),
            profile: "published".to_owned(),
            parameters: String::new(),
            suite: Suite::Published.name().to_owned(),
            security_bits: 80,
            class: "centralized".to_owned(),
            provenance: "specified".to_owned(),
            protection: "none".to_owned(),
            workload: "example".to_owned(),
            operation: "create".to_owned(),
            role: "controller".to_owned(),
            phase: "operational".to_owned(),
            members,
            subgroups: 0,
            message_bytes: None,
            nonces: None,
            repetitions: 8,
            seed: 1,
            clock: "processor".to_owned(),
            mean_ns: ns as f64,
            ci95_ns: Some(1.0),
            sd_ns: Some(1.0),
            p50_ns: ns as f64,
            p90_ns: ns as f64,
            p99_ns: ns as f64,
            counted_ns: ns as f64,
            measured_over_counted: Some(1.0),
            primitives: BTreeMap::from([("wrap".to_owned(), wraps)]),
            permanent_bytes: bytes,
            temporary_bytes: 0,
            messages: 0,
            payload_bytes: 0,
            wire_bytes: 0,
            unicast: none,
            multicast: none,
            broadcast: none,
            device: None,
            device_ns: None,
            device_joule: None,
            radio: None,
            radio_joule: None,
            // The last two were interrupted.
            samples_ns: (0..6).map(|i| ns + i).chain([90 * ns, 100 * ns]).collect(),
            warnings: Vec::new(),
        }
    }
}
