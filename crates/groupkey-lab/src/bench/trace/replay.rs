//! Runs a trace through a group: what each role computes and sends, scheme by scheme.
//!
//! Everything is real except the network, which is fast and loses nothing. Each member of the trace
//! is a party of its own, and after each change all members must hold the same key. Nothing is
//! timed. Primitives are counted, so that the same trace and seed give the same figures on every
//! machine.

use std::collections::BTreeMap;
use std::fmt;

use groupkey::catalogue::{Law, Scheme};
use groupkey::crypto::meter::Meter;
use groupkey::{MemberId, Operation, PartyId};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};
use serde::{Deserialize, Serialize};

use super::events::{JoinOrLeave, Trace, TraceEvent};
use crate::bench::file::{counts_of, deviation, traffic};
use crate::bench::samples::counts;
use crate::bench::{CountedPrimitive, Deviation, MessageTraffic, Reach, Role};
use crate::device::DeviceProfile;
use crate::results::{FileRow, ResultColumn, RunRow, fields};

/// The costs of a trace for a scheme's parties.
#[derive(Clone, Debug)]
pub struct TraceReplay {
    scheme: &'static Scheme,
    settings: Settings,
    joins: usize,
    leaves: usize,
    shares: BTreeMap<(Role, PartyId), RoleTotals>,
    deployment: MessageTraffic,
}

/// What one role did in a whole trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReplayRow {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// Suite of algorithms.
    pub suite: String,
    /// `centralized`, `hybrid` or `distributed`.
    pub class: String,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// Protection of messages: `none`, `mac`, `signature` or `merkle`.
    pub protection: String,
    /// Seed of the run.
    pub seed: u64,
    /// The role. The work of a member as it joins is the `new-member`'s. A sponsor is a member
    /// here.
    pub role: String,
    /// Number of parties that were in this role at some time.
    pub parties: u64,
    /// Members that joined after the creation.
    pub joins: u64,
    /// Members that left.
    pub leaves: u64,
    /// Counted primitives of all parties in the role, by the meter's names. Enrolment is not
    /// counted.
    pub primitives: BTreeMap<String, CountedPrimitive>,
    /// Operational messages of all kinds that the role sent.
    pub messages: u64,
    /// Bytes of the scheme's own bodies in these messages.
    pub payload_bytes: u64,
    /// Bytes of the whole messages.
    pub wire_bytes: u64,
    /// Messages to one party.
    pub unicast: MessageTraffic,
    /// Messages to a subset.
    pub multicast: MessageTraffic,
    /// Messages to the whole group.
    pub broadcast: MessageTraffic,
    /// Messages of the deployment phase, over confidential channels. They count for the controller.
    pub deployment: MessageTraffic,
    /// Device that the next fields are for, if one was chosen and has figures for the suite.
    pub device: Option<String>,
    /// Time of the role's primitives on the device, all parties together (s).
    pub device_seconds: Option<f64>,
    /// Time of the party that computes longest (s).
    pub busiest_seconds: Option<f64>,
    /// Energy of that party's computation on the device, idling included (J): modelled.
    pub busiest_joule: Option<Deviation>,
}

/// Why a trace cannot be run through a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The group grows or shrinks beyond what the scheme takes.
    Members {
        /// The scheme.
        scheme: &'static str,
        /// The smallest and the largest group of the trace.
        needed: (usize, usize),
        /// What the scheme takes.
        range: (u32, u32),
    },
    /// The scheme does not have this parameter, or not with this value.
    Parameter(&'static str),
    /// A party refused, or the members did not agree on a key.
    Run {
        /// The event's place in the trace; `None` if it was the creation.
        event: Option<usize>,
        /// What happened.
        error: RigError,
    },
    /// The caller stopped the run.
    Stopped,
    /// The scheme does not have an operation that the trace needs.
    Unsupported {
        /// The scheme.
        scheme: &'static str,
        /// The operation.
        operation: Operation,
    },
}

/// Checks whether a trace can be run through a group of this scheme, as far as that shows
/// beforehand.
pub fn check(
    scheme: &'static Scheme,
    settings: &Settings,
    trace: &Trace,
) -> Result<(), ReplayError> {
    let mut configuration = scheme.configuration(settings.profile);
    for &(name, value) in &settings.parameters {
        configuration.set(name, value).map_err(|_| ReplayError::Parameter(name))?;
    }
    let needs = |change| trace.count(change) > 0;
    for (operation, needed) in [
        (Operation::Create, true),
        (Operation::Add, needs(JoinOrLeave::Join)),
        (Operation::Remove, needs(JoinOrLeave::Leave)),
    ] {
        if needed && !scheme.operations.contains(&operation) {
            return Err(ReplayError::Unsupported { scheme: scheme.id, operation });
        }
    }
    let (needed, range) = (trace.sizes(), scheme.members);
    match needed.0 >= range.0 as usize && needed.1 <= range.1 as usize {
        true => Ok(()),
        false => Err(ReplayError::Members { scheme: scheme.id, needed, range }),
    }
}

/// Runs a trace through a group of this scheme. Calls `go_on` after each event with the number of
/// events run. `go_on` stops the run by returning `false`.
pub fn replay(
    scheme: &'static Scheme,
    settings: &Settings,
    trace: &Trace,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<TraceReplay, ReplayError> {
    check(scheme, settings, trace)?;
    let mut rig = Rig::new(scheme, settings.clone());
    let mut replay = TraceReplay {
        scheme,
        settings: settings.clone(),
        joins: trace.count(JoinOrLeave::Join),
        leaves: trace.count(JoinOrLeave::Leave),
        shares: BTreeMap::new(),
        deployment: MessageTraffic::default(),
    };
    let created = rig.create_of(trace.initial());
    replay.take(created.and_then(|report| agreed(scheme.law, &rig, report)), None, None)?;

    let mut now_ms = 0;
    for (place, &TraceEvent { time_ms, change, member }) in trace.events().iter().enumerate() {
        rig.wait((time_ms - now_ms).saturating_mul(1_000_000));
        now_ms = time_ms;
        let (report, joining) = match change {
            JoinOrLeave::Join => (rig.add(member), Some(member)),
            JoinOrLeave::Leave => (rig.remove(member), None),
        };
        rig.forget_former();
        replay.take(
            report.and_then(|report| agreed(scheme.law, &rig, report)),
            Some(place),
            joining,
        )?;
        if !go_on(place + 1) {
            return Err(ReplayError::Stopped);
        }
    }
    Ok(replay)
}

impl TraceReplay {
    /// Returns a row for each role that occurred. Times and energies are for the device, if one is
    /// given.
    pub fn rows(&self, device: Option<&DeviceProfile>) -> Vec<ReplayRow> {
        Role::ALL.into_iter().filter_map(|role| self.row(role, device)).collect()
    }

    /// Returns what one party counted in the whole trace, in all its roles.
    pub fn meter(&self, party: PartyId) -> Meter {
        let mut meter = Meter::new();
        let own = self.shares.iter().filter(|((_, id), _)| *id == party);
        own.for_each(|(_, share)| meter.add(&share.meter));
        meter
    }

    /// Adds the costs of an operation.
    fn take(
        &mut self,
        report: Result<OperationReport, RigError>,
        event: Option<usize>,
        joining: Option<u32>,
    ) -> Result<(), ReplayError> {
        let report = report.map_err(|error| ReplayError::Run { event, error })?;
        let joining = joining.map(|member| PartyId::Member(MemberId(member)));
        let role = |party| match Some(party) == joining {
            true => Role::NewMember,
            false => Role::of_party(party),
        };
        for (&party, meter) in &report.meters {
            self.shares.entry((role(party), party)).or_default().meter.add(meter);
        }
        for sent in &report.messages {
            let share = self.shares.entry((role(sent.from), sent.from)).or_default();
            share.sent[Reach::of(sent.to) as usize].count(sent.body_bytes, sent.bytes.len());
        }
        for sent in &report.deployment {
            self.deployment.count(sent.body_bytes, sent.bytes.len());
        }
        Ok(())
    }

    fn row(&self, role: Role, device: Option<&DeviceProfile>) -> Option<ReplayRow> {
        let shares: Vec<&RoleTotals> =
            self.shares.iter().filter(|((of, _), _)| *of == role).map(|(_, share)| share).collect();
        if shares.is_empty() {
            return None;
        }
        let (mut meter, mut sent, mut all) =
            (Meter::new(), [MessageTraffic::default(); 3], MessageTraffic::default());
        for share in &shares {
            meter.add(&share.meter);
            sent.iter_mut().zip(share.sent).for_each(|(sum, own)| sum.add(own));
        }
        sent.into_iter().for_each(|traffic| all.add(traffic));

        let suite = self.settings.suite;
        let priced = device.and_then(|device| Some((device, device.costs(suite)?)));
        let busiest = priced.and_then(|(_, costs)| {
            shares.iter().max_by_key(|share| costs.computation(&share.meter))
        });
        let busiest = priced.zip(busiest).map(|((device, costs), share)| {
            let energy = device.energy(suite, &share.meter);
            (costs.time(&share.meter).value, energy.map(|energy| energy.gross))
        });
        let joule = busiest.and_then(|(_, joule)| joule);
        let [unicast, multicast, broadcast] = sent;
        Some(ReplayRow {
            scheme: self.scheme.id.to_owned(),
            profile: self.settings.profile.name().to_owned(),
            suite: suite.name().to_owned(),
            class: self.scheme.class().name().to_owned(),
            provenance: self.scheme.provenance.name().to_owned(),
            protection: self.settings.protection.name().to_owned(),
            seed: self.settings.seed,
            role: role.name().to_owned(),
            parties: shares.len() as u64,
            joins: self.joins as u64,
            leaves: self.leaves as u64,
            primitives: counts(&meter),
            messages: all.messages,
            payload_bytes: all.payload_bytes,
            wire_bytes: all.wire_bytes,
            unicast,
            multicast,
            broadcast,
            deployment: match role {
                Role::Controller => self.deployment,
                _ => MessageTraffic::default(),
            },
            device: priced.map(|(device, _)| device.name.clone()),
            device_seconds: priced.map(|(_, costs)| costs.time(&meter).value),
            busiest_seconds: busiest.map(|(seconds, _)| seconds),
            busiest_joule: joule,
        })
    }
}

impl FileRow for ReplayRow {
    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: scheme, profile, suite, class, provenance, protection]);
        columns.extend(fields![integer: seed]);
        columns.extend(fields![text: role]);
        columns.extend(fields![integer: parties, joins, leaves]);
        columns.extend(fields![integer: messages, payload_bytes, wire_bytes]);
        columns.extend(traffic("unicast", |row: &Self| row.unicast));
        columns.extend(traffic("multicast", |row: &Self| row.multicast));
        columns.extend(traffic("broadcast", |row: &Self| row.broadcast));
        columns.extend(traffic("deployment", |row: &Self| row.deployment));
        columns.push(ResultColumn::text("device", |row: &Self| row.device.clone()));
        columns.extend(fields![optional number: device_seconds, busiest_seconds]);
        columns.extend(deviation("busiest_joule", |row: &Self| row.busiest_joule));
        columns.extend(counts_of(|row: &Self| &row.primitives));
        columns
    }
}

impl RunRow for ReplayRow {
    const FORMAT: &'static str = "groupkey-trace";

    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }
}

/// What a party did in one role.
#[derive(Clone, Debug, Default)]
struct RoleTotals {
    meter: Meter,
    sent: [MessageTraffic; 3],
}

/// Returns the report, if the members agree on a key. Without a group key, or with planned periods,
/// members need not agree after every change.
fn agreed(law: Law, rig: &Rig, report: OperationReport) -> Result<OperationReport, RigError> {
    match law {
        Law::OneKey => rig.agreed_key().map(|_| report),
        Law::OneMessage | Law::PlannedPeriods => Ok(report),
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Members { scheme, needed: (least, most), range: (low, high) } => write!(
                f,
                "{scheme} takes {low} to {high} members; the trace has groups of {least} to {most}"
            ),
            Self::Parameter(name) => write!(f, "there is no parameter {name} with this value"),
            Self::Run { event: None, error } => write!(f, "the creation failed: {error}"),
            Self::Run { event: Some(place), error } => {
                write!(f, "event {} failed: {error}", place + 1)
            }
            Self::Stopped => write!(f, "stopped"),
            Self::Unsupported { scheme, operation } => {
                write!(f, "{scheme} has no {}, which the trace needs", operation.name())
            }
        }
    }
}

impl std::error::Error for ReplayError {}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use groupkey::catalogue::scheme;

    use super::*;

    fn trace() -> Trace {
        let text =
            "time_ms,event,member\n0,create,0-7\n10,join,8\n20,leave,3\n30,join,3\n40,leave,8\n";
        Trace::parse(text, Path::new("t.csv")).expect("a trace")
    }

    fn run(id: &str) -> Result<TraceReplay, ReplayError> {
        let scheme = scheme(id).expect("in the catalogue");
        replay(scheme, &Settings::default(), &trace(), &mut |_| true)
    }

    /// SKDC, by its header: a change costs a wrap and a unicast for each member.
    #[test]
    fn skdc_sends_each_member_each_key() {
        let rows = run("skdc").expect("it has all operations").rows(None);
        let roles: Vec<_> = rows.iter().map(|row| &*row.role).collect();
        assert_eq!(roles, ["controller", "member", "new-member"]);
        let controller = &rows[0];
        assert_eq!(controller.unicast.messages, 8 + 9 + 8 + 9 + 8);
        assert_eq!(controller.primitives["wrap"].calls, 42.0);
        assert_eq!((controller.messages, controller.broadcast.messages), (42, 0));
        assert_eq!(controller.deployment.messages, 10, "ten enrolments, one of them again");
        assert_eq!((rows[1].primitives["unwrap"].calls, rows[1].messages), (40.0, 0));
        assert_eq!(rows[2].primitives["unwrap"].calls, 2.0);
        assert_eq!((controller.joins, controller.leaves, rows[1].parties), (2, 2, 9));
    }

    #[test]
    fn a_device_prices_it() {
        let device = DeviceProfile::named("host").expect("built in");
        let rows = run("tgdh").expect("it has all operations").rows(Some(&device));
        let member = rows.iter().find(|row| row.role == "member").expect("there are members");
        let (all, busiest) = (member.device_seconds.expect("priced"), member.busiest_seconds);
        assert!(busiest.is_some_and(|busiest| busiest > 0.0 && busiest < all));
        assert_eq!(member.busiest_joule, None, "nobody knows the host's power");
    }

    #[test]
    fn what_a_scheme_cannot_is_told() {
        let settings = Settings { parameters: vec![("degree", 1_000_000)], ..Settings::default() };
        let skdc = scheme("skdc").expect("in the catalogue");
        let told = replay(skdc, &settings, &trace(), &mut |_| true).expect_err("no such parameter");
        assert_eq!(told, ReplayError::Parameter("degree"));
        let told = run("marks").expect_err("it has no joins").to_string();
        assert!(told.contains("marks has no add"), "{told}");
        let stopped = replay(skdc, &Settings::default(), &trace(), &mut |done| done < 2);
        assert_eq!(stopped.expect_err("it was stopped"), ReplayError::Stopped);
    }
}
