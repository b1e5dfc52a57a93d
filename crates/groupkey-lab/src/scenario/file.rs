//! A scenario as its file states it, and the plan made from it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use groupkey::Suite;
use groupkey::catalogue::{Class, Profile, Scheme};
use groupkey::protection::Guard;
use groupkey_choose::input::{InputError, Mistake};
use groupkey_sim::group::Rest;
use groupkey_sim::{Duration, HandOver, SessionState};
use serde::Deserialize;
use toml::Spanned;

use super::name::Named;
use super::{Scenario, ScenarioError};
use crate::conditions::{
    Conditions, ConditionsError, LossDirection, OutageRate, Timeline, YEAR_MS,
};
use crate::device::DeviceProfile;
use crate::plan::{Exception, Plan, PlanAction, PlanError, PlanStep};

impl Scenario {
    /// Reads a scenario file.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = InputError::read(path)?;
        Self::parse(&text, path)
    }

    /// Reads the text of a scenario file; errors name the file by `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        parse(text).map_err(|mistake| InputError::in_text(path, text, mistake))
    }
}

fn parse(text: &str) -> Result<Scenario, Mistake> {
    let file: ScenarioFile = toml::from_str(text)?;
    file.check_limits()?;
    let plan = file.plan()?;
    plan.validate().map_err(|error| file.mistake(&error))?;
    Ok(Scenario { description: file.description, plan })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    description: String,
    runs: Option<Spanned<u32>>,
    seed: Option<u64>,
    operations: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    rest_ms: u32,
    group: GroupSection,
    #[serde(default)]
    mqtt: Mqtt,
    #[serde(default)]
    network: Section,
    #[serde(default)]
    link: Vec<Spanned<Section>>,
    #[serde(default)]
    change: Vec<Spanned<Section>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupSection {
    scheme: Spanned<Named<&'static Scheme>>,
    members: Spanned<u32>,
    profile: Option<Named<Profile>>,
    suite: Option<Named<Suite>>,
    protection: Option<Named<Guard>>,
    #[serde(default)]
    parameters: BTreeMap<Spanned<String>, u32>,
    device: Option<Spanned<Named<Arc<DeviceProfile>>>>,
    controller_device: Option<Spanned<Named<Arc<DeviceProfile>>>>,
    subgroup_device: Option<Spanned<Named<Arc<DeviceProfile>>>>,
    request_bytes: Option<Spanned<u32>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mqtt {
    qos: Option<Spanned<u8>>,
    hand_over: Option<Named<HandOver>>,
    max_in_flight: Option<Spanned<u16>>,
    keep_alive_s: Option<Spanned<u16>>,
    session: Option<Spanned<Named<SessionState>>>,
    restarts_per_hour: Option<Spanned<f64>>,
    restart_s: Option<Spanned<f64>>,
}

/// Conditions for some clients from some time on. An absent key leaves its condition unchanged.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    /// First and last member.
    members: Option<Spanned<[u32; 2]>>,
    /// First and last subgroup. The section applies to the controllers of these subgroups.
    subgroups: Option<Spanned<[u32; 2]>>,
    at_ms: Option<Spanned<f64>>,
    device: Option<Spanned<Named<Arc<DeviceProfile>>>>,
    loss_percent: Option<Spanned<f64>>,
    loss_direction: Option<Named<LossDirection>>,
    burst_ms: Option<Spanned<f64>>,
    delay_ms: Option<Spanned<f64>>,
    jitter_ms: Option<Spanned<f64>>,
    bandwidth_kbit_s: Option<Spanned<f64>>,
    outages_per_hour: Option<Spanned<f64>>,
    outage_s: Option<Spanned<f64>>,
}

impl ScenarioFile {
    fn plan(&self) -> Result<Plan, Mistake> {
        let base = self.network.checked(Conditions::default())?;
        self.check_sections()?;
        let scheme = self.group.scheme.get_ref().0;
        let mut plan = Plan::new(scheme, *self.group.members.get_ref());
        let GroupSection { profile, suite, protection, device, controller_device, .. } =
            &self.group;
        let Mqtt { qos, hand_over, max_in_flight, keep_alive_s, session, .. } = &self.mqtt;

        set(&mut plan.profile, profile.as_ref().map(|named| named.0));
        set(&mut plan.suite, suite.as_ref().map(|named| named.0));
        plan.protection = match protection {
            Some(named) => named.0,
            None => scheme.default_protection(plan.profile),
        };
        set(&mut plan.device, device.as_ref().map(|named| Arc::clone(&named.get_ref().0)));
        let controller_device = controller_device.as_ref();
        set(&mut plan.controller_device, controller_device.map(|n| Arc::clone(&n.get_ref().0)));
        plan.subgroup_device = match &self.group.subgroup_device {
            Some(device) => Arc::clone(&device.get_ref().0),
            None => Arc::clone(&plan.controller_device),
        };
        set(&mut plan.qos, qos.as_ref().map(|qos| *qos.get_ref()));
        set(&mut plan.hand_over, hand_over.as_ref().map(|named| named.0));
        set(&mut plan.max_in_flight, max_in_flight.as_ref().map(|limit| *limit.get_ref()));
        set(&mut plan.keep_alive_s, keep_alive_s.as_ref().map(|seconds| *seconds.get_ref()));
        set(&mut plan.session, session.as_ref().map(|named| named.get_ref().0));
        plan.restarts = self.mqtt.restarts()?;
        set(&mut plan.runs, self.runs.as_ref().map(|runs| *runs.get_ref()));
        set(&mut plan.seed, self.seed);
        plan.request_bytes = self.group.request_bytes.as_ref().map(|bytes| *bytes.get_ref());
        plan.rest = Rest::Idle(Duration::from_millis(self.rest_ms.into()));
        let parameters = &self.group.parameters;
        plan.parameters =
            parameters.iter().map(|(name, value)| (name.get_ref().clone(), *value)).collect();
        if let Some(operations) = &self.operations {
            plan.steps = operations.iter().map(step).collect::<Result<_, _>>()?;
        }

        self.check_numbers(&plan)?;
        plan.link = self.timeline(base, LinkOwner::Any)?;
        plan.exceptions = self.exceptions(base, LinkOwner::Member, &plan.device)?;
        plan.subgroup_exceptions =
            self.exceptions(base, LinkOwner::Subgroup, &plan.subgroup_device)?;
        if !plan.connections_end() {
            let advice = "nothing fails here; add outages_per_hour to [network] or a [[link]], or \
                          restarts_per_hour";
            refuse(keep_alive_s, advice)?;
            refuse(session, advice)?;
        }
        Ok(plan)
    }

    /// Refuses numbers so large that a run would use up all memory.
    fn check_limits(&self) -> Result<(), Mistake> {
        let GroupSection { members, request_bytes, .. } = &self.group;
        for (number, most, what) in [
            (Some(members), Plan::MOST_MEMBERS, "members"),
            (self.runs.as_ref(), Plan::MOST_RUNS, "runs"),
            (request_bytes.as_ref(), Plan::MOST_REQUEST_BYTES, "bytes of a request"),
        ] {
            if let Some(number) = number.filter(|number| *number.get_ref() > most) {
                let problem = format!("{} {what} are too many; {most} at most", number.get_ref());
                return Err(mistake(number.span(), problem));
            }
        }
        Ok(())
    }

    /// Checks that each table has only the keys allowed in it. The three kinds of tables share one
    /// form.
    fn check_sections(&self) -> Result<(), Mistake> {
        let has_subgroups = self.group.scheme.get_ref().0.class() == Class::Hybrid;
        let no_subgroups = "this scheme has no subgroups; hybrid schemes have";
        if !has_subgroups {
            refuse(&self.group.subgroup_device, no_subgroups)?;
        }
        let Section { members, subgroups, at_ms, device, .. } = &self.network;
        refuse(members, "[network] is for all clients; put members into a [[link]]")?;
        refuse(subgroups, "[network] is for all clients; put subgroups into a [[link]]")?;
        refuse(at_ms, "[network] holds from the start; put at_ms into a [[change]]")?;
        refuse(device, "put the device of all members into [group]")?;
        for link in &self.link {
            let advice = "a [[link]] holds from the start; put at_ms into a [[change]]";
            refuse(&link.get_ref().at_ms, advice)?;
            if link.get_ref().members.is_none() && link.get_ref().subgroups.is_none() {
                let problem = "whose? add members = [first, last] or subgroups = [first, last], \
                               or use [network] for all";
                return Err(mistake(link.span(), problem));
            }
        }
        for change in &self.change {
            refuse(&change.get_ref().device, "a device cannot change; put it into a [[link]]")?;
            let advice = "outages cannot change; put them into [network] or a [[link]]";
            refuse(&change.get_ref().outages_per_hour, advice)?;
            refuse(&change.get_ref().outage_s, advice)?;
            match &change.get_ref().at_ms {
                None => return Err(mistake(change.span(), "when? add at_ms = milliseconds")),
                Some(at_ms) if !(0.0..=YEAR_MS).contains(at_ms.get_ref()) => {
                    let problem = "at_ms must be a time from 0 on, within a year";
                    return Err(mistake(at_ms.span(), problem));
                }
                Some(_) => {}
            }
        }
        for section in self.sections() {
            for (name, numbers) in
                [("members", &section.members), ("subgroups", &section.subgroups)]
            {
                let Some(numbers) = numbers else { continue };
                let [first, last] = *numbers.get_ref();
                if first > last || last == u32::MAX {
                    let problem = format!("{name} are the first and the last, such as [0, 9]");
                    return Err(mistake(numbers.span(), problem));
                }
            }
            if let (Some(_), Some(subgroups)) = (&section.members, &section.subgroups) {
                let problem = "members or subgroups, not both: make it two tables";
                return Err(mistake(subgroups.span(), problem));
            }
            if !has_subgroups {
                refuse(&section.subgroups, no_subgroups)?;
            }
        }
        Ok(())
    }

    /// Refuses sections whose members or subgroups do not exist.
    fn check_numbers(&self, plan: &Plan) -> Result<(), Mistake> {
        let added: u32 = plan.steps.iter().map(|step| step.action.newcomers()).sum();
        let last_member = plan.members.saturating_add(added) - 1;
        // A later check reports an impossible configuration.
        let subgroups = plan.configuration().map(|known| known.subgroup_controllers().len());
        let last_subgroup = subgroups.map_or(u32::MAX, |number| (number as u32).saturating_sub(1));
        for section in self.sections() {
            for (what, numbers, last) in [
                ("member", &section.members, last_member),
                ("subgroup", &section.subgroups, last_subgroup),
            ] {
                let Some(numbers) = numbers else { continue };
                let [first, _] = *numbers.get_ref();
                if first > last {
                    let problem =
                        format!("there is no {what} {first}: the first is 0, the last here {last}");
                    return Err(mistake(numbers.span(), problem));
                }
            }
        }
        Ok(())
    }

    /// Returns the links, then the changes in the order of their times.
    fn sections(&self) -> impl Iterator<Item = &Section> {
        let mut changes: Vec<&Section> = self.change.iter().map(Spanned::get_ref).collect();
        changes.sort_by(|a, b| a.time().total_cmp(&b.time()));
        self.link.iter().map(Spanned::get_ref).chain(changes)
    }

    /// Builds the link of a client, which may be a client that no section names.
    fn timeline(&self, base: Conditions, client: LinkOwner) -> Result<Timeline, Mistake> {
        let mut timeline = Timeline::constant(base);
        let mut now = base;
        for section in self.sections().filter(|section| section.covers(client)) {
            now = section.checked(now)?;
            match section.at_ms {
                Some(_) => timeline.changes.push((section.time(), now)),
                None => timeline.initial = now,
            }
        }
        Ok(timeline)
    }

    /// Returns the clients of a kind that the sections name, as ranges of clients that are treated
    /// alike.
    fn exceptions(
        &self,
        base: Conditions,
        kind: fn(u32) -> LinkOwner,
        device: &Arc<DeviceProfile>,
    ) -> Result<Vec<Exception>, Mistake> {
        let ranges = || self.sections().filter_map(|section| section.range(kind(0)));
        let mut bounds: Vec<u32> = ranges().flat_map(|range| [range.start, range.end]).collect();
        bounds.sort_unstable();
        bounds.dedup();

        let mut exceptions = Vec::new();
        for pair in bounds.windows(2) {
            let (first, end) = (pair[0], pair[1]);
            if !ranges().any(|range| range.contains(&first)) {
                continue;
            }
            let named = self.sections().filter(|section| section.covers(kind(first)));
            let own = named.filter_map(|section| section.device.as_ref()).last();
            exceptions.push(Exception {
                numbers: first..end,
                link: self.timeline(base, kind(first))?,
                device: own
                    .map_or_else(|| Arc::clone(device), |named| Arc::clone(&named.get_ref().0)),
            });
        }
        Ok(exceptions)
    }

    /// Returns an invalid plan's error with the position of its cause in the file.
    fn mistake(&self, error: &PlanError) -> Mistake {
        let GroupSection { scheme, members, parameters, device, controller_device, .. } =
            &self.group;
        let subgroup_device = &self.group.subgroup_device;
        let of_operation = |index: usize| self.operations.as_ref()?.get(index).map(Spanned::span);
        let span = match error {
            PlanError::Members { .. } => Some(members.span()),
            PlanError::Qos(_) => self.mqtt.qos.as_ref().map(Spanned::span),
            PlanError::NoRequest { .. } => self.group.request_bytes.as_ref().map(Spanned::span),
            PlanError::InFlight => self.mqtt.max_in_flight.as_ref().map(Spanned::span),
            PlanError::Runs => self.runs.as_ref().map(Spanned::span),
            PlanError::Steps { index, .. } => of_operation(*index),
            PlanError::Unsupported { operation, .. } => self
                .operations
                .as_ref()
                .and_then(|all| {
                    all.iter().find(|text| text.get_ref().trim().starts_with(operation.name()))
                })
                .map(Spanned::span),
            PlanError::Parameter { name, .. } => {
                parameters.keys().find(|known| known.get_ref() == name).map(Spanned::span)
            }
            PlanError::Device { device: name, .. } => self
                .sections()
                .filter_map(|section| section.device.as_ref())
                .chain(device)
                .chain(controller_device)
                .chain(subgroup_device)
                .find(|named| named.get_ref().0.name == *name)
                .map(Spanned::span),
            PlanError::Conditions(_) | PlanError::Unsuited(_) => None,
        };
        mistake(span.unwrap_or_else(|| scheme.span()), error)
    }
}

impl Mqtt {
    fn restarts(&self) -> Result<Option<OutageRate>, Mistake> {
        if let Some(zero) = self.keep_alive_s.as_ref().filter(|seconds| *seconds.get_ref() == 0) {
            return Err(mistake(zero.span(), "a keep-alive takes 1 to 65535 s"));
        }
        outages(None, &self.restarts_per_hour, &self.restart_s, ["restarts_per_hour", "restart_s"])
    }
}

impl Section {
    /// Returns the conditions after this section, given the conditions before it.
    fn checked(&self, before: Conditions) -> Result<Conditions, Mistake> {
        let mut now = before;
        set(&mut now.loss_percent, self.loss_percent.as_ref().map(|loss| *loss.get_ref()));
        set(&mut now.loss_direction, self.loss_direction.as_ref().map(|named| named.0));
        set(&mut now.delay_ms, self.delay_ms.as_ref().map(|delay| *delay.get_ref()));
        set(&mut now.jitter_ms, self.jitter_ms.as_ref().map(|jitter| *jitter.get_ref()));
        let burst = self.burst_ms.as_ref().map(|ms| *ms.get_ref());
        set(&mut now.burst_ms, burst.map(|ms| Some(ms).filter(|ms| *ms != 0.0)));
        let rate = self.bandwidth_kbit_s.as_ref().map(|rate| *rate.get_ref());
        set(&mut now.bandwidth_kbit_s, rate.map(|rate| Some(rate).filter(|r| *r != f64::INFINITY)));

        let names = ["outages_per_hour", "outage_s"];
        now.outages = outages(before.outages, &self.outages_per_hour, &self.outage_s, names)?;

        now.validate().map_err(|error| {
            let key = match error {
                ConditionsError::Bandwidth(_) => &self.bandwidth_kbit_s,
                // Another section may set the burst, and this section's loss may not fit it.
                ConditionsError::Burst(_) if self.burst_ms.is_none() => &self.loss_percent,
                ConditionsError::Burst(_) => &self.burst_ms,
                ConditionsError::ChangeTime(_) => &self.at_ms,
                ConditionsError::Delay(_) => &self.delay_ms,
                ConditionsError::Jitter(_) => &self.jitter_ms,
                ConditionsError::Loss(_) => &self.loss_percent,
                ConditionsError::Outages(_) | ConditionsError::OutagesChange(_) => {
                    &self.outages_per_hour
                }
            };
            mistake(key.as_ref().map_or(0..0, Spanned::span), error)
        })?;
        Ok(now)
    }

    fn time(&self) -> f64 {
        self.at_ms.as_ref().map_or(0.0, |at_ms| *at_ms.get_ref())
    }

    /// Returns the clients of this kind that the section names.
    fn range(&self, kind: LinkOwner) -> Option<Range<u32>> {
        let named = match kind {
            LinkOwner::Any => None,
            LinkOwner::Member(_) => self.members.as_ref(),
            LinkOwner::Subgroup(_) => self.subgroups.as_ref(),
        };
        let [first, last] = *named?.get_ref();
        Some(first..last + 1)
    }

    fn covers(&self, client: LinkOwner) -> bool {
        if self.members.is_none() && self.subgroups.is_none() {
            return true;
        }
        let (LinkOwner::Member(number) | LinkOwner::Subgroup(number)) = client else {
            return false;
        };
        self.range(client).is_some_and(|range| range.contains(&number))
    }
}

/// The client that a link belongs to.
#[derive(Clone, Copy)]
enum LinkOwner {
    /// A client that no section names.
    Any,
    Member(u32),
    Subgroup(u32),
}

/// Returns how often something fails, by two keys that belong together. `per_hour = 0` means never. A
/// key that is absent stays as it was.
fn outages(
    before: Option<OutageRate>,
    per_hour: &Option<Spanned<f64>>,
    length_s: &Option<Spanned<f64>>,
    [per_hour_name, length_name]: [&str; 2],
) -> Result<Option<OutageRate>, Mistake> {
    let mut rate = before.map(|before| before.per_hour);
    let mut length = before.map(|before| before.length_s);
    set(&mut rate, per_hour.as_ref().map(|rate| Some(*rate.get_ref())));
    set(&mut length, length_s.as_ref().map(|length| Some(*length.get_ref())));
    if rate == Some(0.0) {
        return Ok(None);
    }
    let missing = |given: &Option<Spanned<f64>>, name: &str| match given {
        Some(given) => Err(mistake(given.span(), format!("{name} belongs to it: add both"))),
        None => Ok(None),
    };
    match (rate, length) {
        (Some(per_hour_value), Some(length_s_value)) => {
            let found = OutageRate { per_hour: per_hour_value, length_s: length_s_value };
            let place = per_hour.as_ref().or(length_s.as_ref()).map_or(0..0, Spanned::span);
            found.validate().map_err(|error| mistake(place, error))?;
            Ok(Some(found))
        }
        (Some(_), None) => missing(per_hour, length_name),
        (None, Some(_)) => missing(length_s, per_hour_name),
        (None, None) => Ok(None),
    }
}

fn step(text: &Spanned<String>) -> Result<PlanStep, Mistake> {
    let action =
        PlanAction::from_str(text.get_ref()).map_err(|problem| mistake(text.span(), problem))?;
    Ok(PlanStep { action, reported: !matches!(action, PlanAction::Turnover(_)) })
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn refuse<T>(key: &Option<Spanned<T>>, advice: &str) -> Result<(), Mistake> {
    match key {
        Some(key) => Err(mistake(key.span(), advice)),
        None => Ok(()),
    }
}

fn mistake(span: Range<usize>, problem: impl ToString) -> Mistake {
    Mistake::at(span.start, problem)
}
