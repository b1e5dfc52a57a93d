//! Requirements as a file states them, and as single settings change them.
//!
//! `docs/choose.md` lists every field; [`EXAMPLES`] are files with comments.

mod fields;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::{error, fmt};

use groupkey::catalogue::Adversary;
use groupkey_choose::{ChooseError, Requirements};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

pub use self::fields::{FIELDS, Field, Kind};
use crate::audit::Claim;
use crate::bench::trace::{Change, Trace};
use crate::conditions::{LossDirection, Timeline};
use crate::device::{Board, Device};
use crate::input::{InputError, Mistake, in_words};
use crate::plan::{Exception, Plan};
use crate::scenario::Scenario;

/// The examples by their names: files with comments that say where their numbers come from.
pub const EXAMPLES: [(&str, &str); 5] = [
    ("city", include_str!("requirements_file/city.toml")),
    ("platoon", include_str!("requirements_file/platoon.toml")),
    ("plant", include_str!("requirements_file/plant.toml")),
    ("fleet", include_str!("requirements_file/fleet.toml")),
    ("ward", include_str!("requirements_file/ward.toml")),
];

/// Requirements in the making: those of a file, if there is one, and settings on top.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    requirements: Requirements,
    /// The file's path and its text.
    file: Option<(PathBuf, String)>,
    settings: Vec<Setting>,
}

/// One field with its value, in place of the file's. Reads as `network.loss=3`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    field: &'static Field,
    /// `None` takes an optional field away.
    value: Option<toml::Value>,
    text: String,
}

/// Why there are no requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementsError {
    /// The file cannot be used. Displays as `file:line:column: problem`.
    File(InputError),
    /// A setting cannot be used, or does not fit the others. Displays as `setting: problem`.
    Setting {
        /// The setting as it was written, or the name of a field.
        setting: String,
        /// What is wrong, and what to do about it.
        problem: String,
    },
}

impl Draft {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, RequirementsError> {
        let text = InputError::read(path)?;
        Self::parse(&text, path)
    }

    /// Reads the text of a file. Errors name the file by `path`, and files that it names are sought
    /// beside it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RequirementsError> {
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let requirements =
            parse(text, folder).map_err(|mistake| InputError::in_text(path, text, mistake))?;
        let file = Some((path.to_owned(), text.to_owned()));
        Ok(Self { requirements, file, settings: Vec::new() })
    }

    /// Sets one field. Whether it fits the others is checked in the end.
    pub fn set(&mut self, setting: Setting) -> Result<(), RequirementsError> {
        let mut table = toml::Table::try_from(&self.requirements)
            .map_err(|error| setting.refused(&error.to_string()))?;
        let (section, key) = setting.field.section_and_key();
        if let Some(toml::Value::Table(section)) = table.get_mut(section) {
            match &setting.value {
                Some(value) => section.insert(key.to_owned(), value.clone()),
                None => section.remove(key),
            };
        }
        self.requirements = table
            .try_into()
            .map_err(|error: toml::de::Error| setting.refused(&in_words(error.message())))?;
        self.settings.push(setting);
        Ok(())
    }

    /// Returns the present value of a field, as one would write it: `none` if it has none.
    pub fn value(&self, field: &str) -> String {
        let table = toml::Table::try_from(&self.requirements).unwrap_or_default();
        let (section, key) = field.split_once('.').unwrap_or((field, ""));
        match table.get(section).and_then(|section| section.get(key)) {
            Some(toml::Value::String(text)) => text.clone(),
            Some(toml::Value::Float(number)) => number.to_string(),
            Some(other) => other.to_string(),
            None => "none".to_owned(),
        }
    }

    /// Checks everything and returns the requirements.
    pub fn finish(&self) -> Result<Requirements, RequirementsError> {
        match check(&self.requirements) {
            Ok(()) => Ok(self.requirements.clone()),
            Err((field, problem)) => Err(self.refused(field, &problem)),
        }
    }

    /// Does the same for a policy, which simulates nothing: what no model knows is refused.
    pub fn finish_for_policy(&self) -> Result<Requirements, RequirementsError> {
        let requirements = self.finish()?;
        match requirements.network.burst {
            None => Ok(requirements),
            Some(_) => Err(self.refused(
                "network.burst",
                "is nothing that a policy can heed: bursts are not in the model of completion \
                 times; leave it out",
            )),
        }
    }

    /// Returns why there is no choice, with the place of the cause.
    pub fn explain(&self, error: &ChooseError) -> RequirementsError {
        match error {
            ChooseError::Impossible(wrong) => {
                self.refused(wrong.field, &format!("must be {}", wrong.expected))
            }
            ChooseError::NoGround { field, why } => {
                self.refused(field, &format!("cannot be judged: {why}"))
            }
            ChooseError::UnknownDevice { field, name, known } => {
                let known = known.iter().map(String::as_str);
                self.refused(field, &refers(unknown("device with prices", name, known)))
            }
            ChooseError::UnknownClaim { field, name, known } => {
                let known = known.iter().map(String::as_str);
                self.refused(field, &refers(unknown("confirmed claim", name, known)))
            }
        }
    }

    /// Makes an error of the last place that set a field, or a field that must fit it.
    fn refused(&self, field: &str, problem: &str) -> RequirementsError {
        let named = |name: &str| self.settings.iter().rfind(|setting| setting.field.name == name);
        let mut names = std::iter::once(field).chain(fields::must_fit(field).iter().copied());
        if let Some(setting) = names.clone().find_map(named) {
            return match setting.field.name == field {
                true => setting.refused(problem),
                false => setting.refused(&format!("{field} {problem}")),
            };
        }
        match &self.file {
            Some((path, text)) => {
                let offset = names.find_map(|name| place(text, name)).unwrap_or(0);
                let mistake = Mistake::at(offset, format!("{field} {problem}"));
                InputError::in_text(path, text, mistake).into()
            }
            None => RequirementsError::Setting {
                setting: field.to_owned(),
                problem: problem.to_owned(),
            },
        }
    }
}

impl FromStr for Setting {
    type Err = String;

    /// Reads `network.loss=3`. Texts need no quotation marks, lists no brackets; `none` takes a
    /// limit away.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or("expected field=value, as in network.loss=3")?;
        let (name, value) = (name.trim(), value.trim());
        let field = FIELDS.iter().find(|field| field.name == name).ok_or_else(|| {
            let known = FIELDS.iter().filter(|field| field.kind != Kind::File);
            unknown("field", name, known.map(|field| field.name))
        })?;
        if value.is_empty() {
            return Err(format!("{name} needs a value: {}", field.meaning));
        }
        let plain = |text: &str| toml::Value::String(text.trim().to_owned());
        let parsed = value.parse::<toml::Value>();
        let value = match (field.kind, parsed) {
            (Kind::File, _) => return Err(format!("{name} stands in a file only")),
            (Kind::Optional, _) if value == "none" => None,
            (Kind::List, Ok(value @ toml::Value::Array(_))) => Some(value),
            (Kind::List, _) if value == "none" => Some(toml::Value::Array(Vec::new())),
            (Kind::List, _) => Some(toml::Value::Array(value.split(',').map(plain).collect())),
            (_, Ok(value)) => Some(value),
            (_, Err(_)) => Some(plain(value)),
        };
        Ok(Self { field, value, text: text.to_owned() })
    }
}

impl Setting {
    fn refused(&self, problem: &str) -> RequirementsError {
        RequirementsError::Setting { setting: self.text.clone(), problem: problem.to_owned() }
    }
}

impl From<InputError> for RequirementsError {
    fn from(error: InputError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for RequirementsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Setting { setting, problem } => write!(f, "{setting}: {problem}"),
        }
    }
}

impl error::Error for RequirementsError {}

/// Returns the requirements as a file that reads back as the same. Fields at their defaults are
/// left out.
pub fn to_toml(requirements: &Requirements) -> String {
    let all = |requirements| toml::Table::try_from(requirements).unwrap_or_default();
    let (table, defaults) = (all(requirements), all(&Requirements::default()));
    let mut text = String::new();
    for (section, values) in sections(&table) {
        let default = defaults.get(section).and_then(toml::Value::as_table);
        let own: Vec<_> = FIELDS
            .iter()
            .map(Field::section_and_key)
            .filter(|(other, _)| *other == section)
            .filter_map(|(_, key)| Some((key, values.get(key)?)))
            .filter(|(key, value)| default.and_then(|default| default.get(*key)) != Some(*value))
            .collect();
        if own.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!("{gap}[{section}]\n");
        for (key, value) in own {
            text += &format!("{key} = {value}\n");
        }
    }
    text
}

/// Returns the sections in the order of [`FIELDS`].
fn sections(table: &toml::Table) -> impl Iterator<Item = (&'static str, &toml::Table)> {
    let mut names: Vec<&str> = FIELDS.iter().map(|field| field.section_and_key().0).collect();
    names.dedup();
    names.into_iter().filter_map(|name| Some((name, table.get(name)?.as_table()?)))
}

/// Reads requirements, but does not check whether they fit each other.
fn parse(text: &str, folder: &Path) -> Result<Requirements, Mistake> {
    let mut root = DeTable::parse(text)?;
    check_keys(root.get_ref())?;
    let scenario = take(root.get_mut(), "network", "scenario")?;
    let trace = take(root.get_mut(), "members", "trace")?;
    let mut requirements = Requirements::deserialize(Deserializer::from(root.clone()))?;
    let is_set = |section: &str, key: &str| value(root.get_ref(), section, key).is_some();
    if let Some(path) = scenario {
        let scenario = Scenario::load(&folder.join(path.get_ref()))
            .map_err(|error| Mistake::at(path.span().start, error))?;
        if let Some(problem) = beyond_choice(&scenario.plan) {
            let problem = format!("network.scenario: {}: {problem}", path.get_ref());
            return Err(Mistake::at(path.span().start, problem));
        }
        conditions_of(&scenario.plan, &mut requirements, is_set);
    }
    if let Some(path) = trace {
        let trace = Trace::load(&folder.join(path.get_ref()))
            .map_err(|error| Mistake::at(path.span().start, error))?;
        changes_of(&trace, &mut requirements, is_set);
    }
    Ok(requirements)
}

/// Refuses what is no field, and names the nearest one.
fn check_keys(root: &DeTable<'_>) -> Result<(), Mistake> {
    let mut known: Vec<&str> = FIELDS.iter().map(|field| field.section_and_key().0).collect();
    known.dedup();
    for (section, content) in root {
        let name = section.get_ref().as_ref();
        if !known.contains(&name) {
            // Often a field stands without its section.
            let problem = match FIELDS.iter().find(|field| field.section_and_key().1 == name) {
                Some(field) => {
                    let (section, key) = field.section_and_key();
                    format!("{key:?} belongs into [{section}]")
                }
                None => unknown("section", name, known.iter().copied()),
            };
            return Err(Mistake::at(section.span().start, problem));
        }
        let Some(keys) = content.get_ref().as_table() else {
            let problem = format!("{name} is a section: write [{name}] and its fields below");
            return Err(Mistake::at(content.span().start, problem));
        };
        for key in keys.keys() {
            let own = FIELDS.iter().map(Field::section_and_key);
            let own = own.filter(|(section, _)| *section == name).map(|(_, key)| key);
            if own.clone().all(|known| known != key.get_ref().as_ref()) {
                let problem = unknown(&format!("field in [{name}]"), key.get_ref(), own);
                return Err(Mistake::at(key.span().start, problem));
            }
        }
    }
    Ok(())
}

/// Checks values that belong together, and names. Returns the field and what is wrong with it.
fn check(requirements: &Requirements) -> Result<(), (&'static str, String)> {
    requirements
        .validate()
        .map_err(|wrong| (wrong.field, format!("must be {}", wrong.expected)))?;
    let devices = &requirements.devices;
    for (field, name) in [
        ("devices.member", &devices.member),
        ("devices.gateway", &devices.gateway),
        ("devices.controller", &devices.controller),
    ] {
        if !Device::names().any(|known| known == name) {
            return Err((field, refers(unknown("device", name, Device::names()))));
        }
    }
    if let Some(name) = &devices.board
        && !Board::names().any(|known| known == name)
    {
        return Err(("devices.board", refers(unknown("board", name, Board::names()))));
    }
    let security = &requirements.security;
    for (field, adversary, claims) in [
        ("security.passive", Adversary::Passive, &security.passive),
        ("security.active", Adversary::Active, &security.active),
    ] {
        let known = || Claim::against(adversary).map(Claim::name);
        if let Some(claim) = claims.iter().find(|claim| known().all(|known| known != *claim)) {
            return Err((field, refers(unknown("claim", claim, known()))));
        }
    }
    match security.guard.as_deref() {
        Some(name) if !["mac", "signature"].contains(&name) => {
            let told = unknown("protection", name, ["mac", "signature"].into_iter());
            Err(("security.guard", refers(told)))
        }
        _ => Ok(()),
    }
}

fn refers(problem: String) -> String {
    format!("names what is not there: {problem}")
}

/// Returns what a scenario has that no choice can heed, and what to do about it.
fn beyond_choice(plan: &Plan) -> Option<String> {
    let usual = Plan::new(plan.scheme, plan.members);
    let differs = |exceptions: &[Exception], device: &Arc<Device>| {
        exceptions.iter().any(|exception| exception.device.name != device.name)
    };
    let exceptions = plan.exceptions.iter().chain(&plan.subgroup_exceptions);
    let links = || std::iter::once(&plan.link).chain(exceptions.clone().map(|other| &other.link));
    let is_one_way = |link: &Timeline| {
        link.initial.loss_percent > 0.0 && link.initial.loss_direction != LossDirection::Both
    };
    let has = [
        (links().any(|link| !link.changes.is_empty()), "links that change over time, [[change]]"),
        (links().any(is_one_way), "packets lost in one direction alone, loss_direction"),
        (
            differs(&plan.exceptions, &plan.device)
                || differs(&plan.subgroup_exceptions, &plan.subgroup_device),
            "members with another device, device in a [[link]]",
        ),
        (plan.request_bytes.is_some(), "requests of members, request_bytes"),
        (plan.hand_over != usual.hand_over, "another time of delivery, hand_over"),
        (plan.max_in_flight != usual.max_in_flight, "a limit of exchanges, max_in_flight"),
    ];
    let (_, what) = has.into_iter().find(|(has, _)| *has)?;
    Some(format!(
        "a choice cannot heed {what}; take that out, or write the links into [network] here \
         (groupkey net --scenario simulates it for one scheme)"
    ))
}

/// Takes the worst that any link has when the scenario begins, the devices, the quality of service
/// and the members, as far as the file does not say otherwise.
fn conditions_of(
    plan: &Plan,
    requirements: &mut Requirements,
    is_set: impl Fn(&str, &str) -> bool,
) {
    let exceptions = plan.exceptions.iter().chain(&plan.subgroup_exceptions);
    let links = || {
        let links = exceptions.clone().map(|exception| &exception.link);
        std::iter::once(&plan.link).chain(links).map(|link| &link.initial)
    };
    let network = &mut requirements.network;
    for (key, place, worst) in [
        ("loss", &mut network.loss, links().map(|link| link.loss_percent).fold(0.0, f64::max)),
        ("delay", &mut network.delay, links().map(|link| link.delay_ms).fold(0.0, f64::max)),
        ("jitter", &mut network.jitter, links().map(|link| link.jitter_ms).fold(0.0, f64::max)),
    ] {
        if !is_set("network", key) {
            *place = worst;
        }
    }
    if !is_set("network", "burst") {
        let lossy = links().filter(|link| link.loss_percent > 0.0);
        network.burst = lossy.filter_map(|link| link.burst_ms).max_by(f64::total_cmp);
    }
    if !is_set("network", "bandwidth") {
        let rates = links().filter_map(|link| link.bandwidth_kbit_s);
        network.bandwidth = rates.min_by(f64::total_cmp);
    }
    if !is_set("network", "qos") {
        network.qos = Some(plan.qos);
    }
    if !is_set("members", "now") {
        requirements.members.now = plan.members;
    }
    for (key, place, device) in [
        ("member", &mut requirements.devices.member, &plan.device),
        ("gateway", &mut requirements.devices.gateway, &plan.subgroup_device),
        ("controller", &mut requirements.devices.controller, &plan.controller_device),
    ] {
        if !is_set("devices", key) {
            place.clone_from(&device.name);
        }
    }
}

/// Takes the members and the rates of a trace, as far as the file does not say otherwise.
fn changes_of(trace: &Trace, requirements: &mut Requirements, is_set: impl Fn(&str, &str) -> bool) {
    let members = &mut requirements.members;
    let hours = (trace.duration_ms() as f64 / 3_600_000.0).max(f64::MIN_POSITIVE);
    let rate = |change| trace.count(change) as f64 / hours;
    if !is_set("members", "now") {
        members.now = trace.initial().len() as u32;
    }
    if !is_set("members", "most") {
        members.most = (trace.sizes().1 as u32).max(members.now);
    }
    if !trace.events().is_empty() {
        if !is_set("members", "joins") {
            members.joins = rate(Change::Join);
        }
        if !is_set("members", "leaves") {
            members.leaves = rate(Change::Leave);
        }
    }
}

/// Takes the name of a file out of a section.
fn take<'i>(
    root: &mut DeTable<'i>,
    section: &str,
    key: &str,
) -> Result<Option<Spanned<String>>, Mistake> {
    let Some(DeValue::Table(table)) = root.get_mut(section).map(Spanned::get_mut) else {
        return Ok(None);
    };
    let Some(value) = table.remove(key) else { return Ok(None) };
    match value.get_ref().as_str() {
        Some(name) => Ok(Some(Spanned::new(value.span(), name.to_owned()))),
        None => Err(Mistake::at(value.span().start, "expected the name of a file, in quotes")),
    }
}

fn value<'t, 'i>(
    root: &'t DeTable<'i>,
    section: &str,
    key: &str,
) -> Option<&'t Spanned<DeValue<'i>>> {
    root.get(section)?.get_ref().as_table()?.get(key)
}

/// Returns the place of a field's value, or of its section, in a text that was read before.
fn place(text: &str, field: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (section, key) = field.split_once('.')?;
    value(root.get_ref(), section, key).map(|value| value.span().start)
}

/// Says that a name is unknown, which known one is nearest, and which there are.
fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let list = known.join(", ");
    let nearest = known
        .into_iter()
        .map(|known| (distance(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.chars().count() / 3);
    match nearest {
        Some((_, nearest)) => {
            format!("there is no {kind} {name:?}, but {nearest:?}; there are {list}")
        }
        None => format!("there is no {kind} {name:?}; there are {list}"),
    }
}

/// Returns how many letters must be put in, left out or replaced to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, &counterpart) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != counterpart);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_read_and_survives_being_written() {
        for (name, text) in EXAMPLES {
            let requirements = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_ne!(requirements, Requirements::default(), "{name}");
            let written = to_toml(&requirements);
            assert_eq!(read(&written), Ok(requirements), "{name}: {written}");
        }
        assert_eq!(read(""), Ok(Requirements::default()));
        assert_eq!(to_toml(&Requirements::default()), "");
    }

    #[test]
    fn the_list_of_fields_is_that_of_the_requirements() {
        let mut all = Requirements::default();
        (all.network.bandwidth, all.network.qos) = (Some(1.0), Some(1));
        all.security.guard = Some("mac".into());
        let limits = &mut all.limits;
        for limit in [
            &mut limits.complete,
            &mut limits.sent,
            &mut limits.received,
            &mut limits.energy,
            &mut limits.battery,
            &mut limits.battery_days,
            &mut limits.keys,
            &mut limits.flash,
            &mut limits.memory,
            &mut limits.message,
        ] {
            *limit = Some(1.0);
        }
        all.network.burst = Some(1.0);
        all.devices.board = Some("esp32-c3".to_owned());
        let table = toml::Table::try_from(&all).expect("it is a table");
        let mut there: Vec<String> = table
            .iter()
            .flat_map(|(section, keys)| {
                let keys = keys.as_table().expect("a section");
                keys.keys().map(move |key| format!("{section}.{key}"))
            })
            .collect();
        let mut listed: Vec<String> = FIELDS
            .iter()
            .filter(|field| field.kind != Kind::File)
            .map(|field| field.name.to_owned())
            .collect();
        there.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, there);
    }

    #[test]
    fn mistakes_have_a_place_and_the_nearest_name() {
        for (text, place, told) in [
            ("[netwrok]\nloss = 3\n", "1:2", "there is no section \"netwrok\", but \"network\""),
            ("[network]\nlos = 3\n", "2:1", "there is no field in [network] \"los\", but \"loss\""),
            ("loss = 3\n", "1:1", "\"loss\" belongs into [network]"),
            ("members = 3\n", "1:11", "members is a section: write [members]"),
            ("[network]\n\nloss = 60\n", "3:8", "network.loss must be 0 to 50 %"),
            ("[network]\nloss = \"high\"\n", "2:8", "invalid type"),
            ("[members]\nnow = 2.5\n", "2:7", "invalid type"),
            ("[members]\nnow = 1\n", "2:7", "members.now must be 2 to"),
            ("[members]\nnow = 9\nmost = 5\n", "3:8", "members.most must be 0, or at least"),
            ("[network]\nloss = \n", "2:8", ""),
            ("[limits]\nbattery = 9\n", "2:11", "limits.battery-days must be both"),
            ("[devices]\nmember = \"cortex-m3\"\n", "2:10", "but \"cortex-m4\""),
            ("[security]\nactive = [\"secrecy\"]\n", "2:10", "there is no claim \"secrecy\""),
            ("[security]\nguard = \"none\"\n", "2:9", "there are mac, signature"),
            ("[presence]\nsleep = \"nap\"\n", "2:9", "unknown variant"),
            ("[members]\ntrace = \"missing.csv\"\n", "2:9", "missing.csv"),
            ("[network]\nscenario = 4\n", "2:12", "expected the name of a file"),
        ] {
            let error = read(text).expect_err(text).to_string();
            let expected = format!("group.toml:{place}: ");
            assert!(error.starts_with(&expected) && error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn settings_take_the_place_of_fields_and_are_named_if_wrong() {
        let mut draft = draft("[network]\nloss = 60\n").expect("it is checked in the end");
        for text in [
            "network.loss = 3",
            "members.now=1400",
            "devices.member=rv32imac",
            "limits.complete=200",
            "network.qos=1",
            "network.qos=none",
            "security.active=agreement,forward-secrecy",
            "presence.splits=true",
        ] {
            draft.set(text.parse().expect(text)).expect(text);
        }
        let requirements = draft.finish().expect("all of it fits");
        assert_eq!((requirements.network.loss, requirements.members.now), (3.0, 1400));
        assert_eq!(requirements.devices.member, "rv32imac");
        assert_eq!((requirements.limits.complete, requirements.network.qos), (Some(200.0), None));
        assert_eq!(requirements.security.active, ["agreement", "forward-secrecy"]);
        assert!(requirements.presence.splits);

        for (text, told) in [
            ("network.los=3", "there is no field \"network.los\", but \"network.loss\""),
            ("network.loss", "expected field=value"),
            ("network.loss=", "network.loss needs a value: packets lost"),
            ("members.trace=a.csv", "members.trace stands in a file only"),
        ] {
            let error = text.parse::<Setting>().expect_err(text);
            assert!(error.starts_with(told), "{error}");
        }
        let refused = |text: &str| {
            let mut draft = Draft::default();
            draft.set(text.parse().expect(text))?;
            draft.finish()
        };
        for (text, told) in [
            ("network.loss=60", "network.loss=60: must be 0 to 50 %"),
            (
                "network.loss=high",
                "network.loss=high: invalid type: string \"high\", expected a number",
            ),
            ("members.now=1e3", "members.now=1e3: invalid type"),
            (
                "members.now=abc",
                "members.now=abc: invalid type: string \"abc\", expected a whole number",
            ),
            ("members.now=1e9", "members.now=1e9"),
            ("members.joins=1e12", "members.joins=1e12: must be 0 to 1,000,000,000 an hour"),
            ("members.burst=1e7", "members.burst=1e7: must be 1 to 1,000,000 members"),
            (
                "network.bandwidth=1e10",
                "network.bandwidth=1e10: must be 0.1 to 1,000,000,000 kbit/s",
            ),
            ("weights.joule=1e10", "weights.joule=1e10: must be 0 to 1,000,000,000"),
            ("limits.battery=9", "limits.battery=9: limits.battery-days must be both"),
            ("network.jitter=30", "network.jitter=30: must be 0 to the delay"),
            ("network.delay=-1", "network.delay=-1: must be"),
        ] {
            let error = refused(text).expect_err(text).to_string();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn a_scenario_and_a_trace_fill_in_what_the_file_leaves_out() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let text = "[members]\ntrace = \"traces/shift.csv\"\njoins = 7\n\
                    [network]\nscenario = \"scenarios/depots.toml\"\ndelay = 15\n";
        let draft = Draft::parse(text, &examples.join("group.toml")).expect("both are there");
        let requirements = draft.finish().expect("all of it fits");
        let (members, network) = (requirements.members, requirements.network);
        assert_eq!((members.now, members.joins), (10, 7.0));
        // Six leave within half an hour.
        assert_eq!((members.most, members.leaves), (11, 12.0));
        assert_eq!((network.loss, network.delay, network.qos), (3.0, 15.0, Some(2)));
        assert_eq!(requirements.devices.member, "host");
    }

    const LOSSY: &str = "[network]\nloss_percent = 2\ndelay_ms = 60\n";

    /// Requirements with a scenario of these tables.
    fn with_scenario(group: &str, tables: &str) -> Result<Requirements, RequirementsError> {
        let folder = tempfile::tempdir().expect("there is room");
        let scenario = format!(
            "description = 'x'\n[group]\nscheme = 'lkh-group'\nmembers = 20\n{group}\n{tables}"
        );
        std::fs::write(folder.path().join("lte.toml"), scenario).expect("there is room");
        let text = "[network]\nscenario = \"lte.toml\"\n";
        Draft::parse(text, &folder.path().join("group.toml"))?.finish()
    }

    #[test]
    fn bursts_of_a_scenario_are_taken() {
        let lossless = "[[link]]\nmembers = [0, 3]\nburst_ms = 9000\nloss_percent = 0\n";
        let taken = with_scenario("", &format!("{LOSSY}burst_ms = 3000\n{lossless}"));
        let taken = taken.expect("a choice heeds it").network;
        assert_eq!((taken.loss, taken.burst, taken.delay), (2.0, Some(3_000.0), 60.0));
    }

    #[test]
    fn a_policy_refuses_bursts() {
        let draft = draft("[network]\nloss = 2.0\nburst = 5\n").expect("it can be read");
        assert_eq!(draft.finish().expect("it fits").network.burst, Some(5.0));
        let refused = draft.finish_for_policy().expect_err("no model knows it").to_string();
        assert!(refused.contains("3:9: network.burst is nothing that a policy"), "{refused}");
    }

    #[test]
    fn what_a_choice_cannot_heed_in_a_scenario_is_refused_by_name() {
        for (group, tables, told) in [
            ("", "[[change]]\nat_ms = 5\nloss_percent = 1\n", "[[change]]"),
            ("", "[[link]]\nmembers = [0, 3]\ndevice = 'cortex-m4'\n", "device in a [[link]]"),
            ("", "[[link]]\nmembers = [0, 3]\nloss_direction = 'up'\n", "loss_direction"),
            ("request_bytes = 40", "", "request_bytes"),
            ("", "[mqtt]\nhand_over = 'publish'\n", "hand_over"),
            ("", "[mqtt]\nmax_in_flight = 20\n", "max_in_flight"),
        ] {
            let refused = with_scenario(group, &format!("{LOSSY}{tables}")).expect_err(told);
            let refused = refused.to_string();
            assert!(refused.contains("group.toml:2:12: network.scenario: lte.toml"), "{refused}");
            assert!(refused.contains(told), "{told}: {refused}");
        }
    }

    /// A key of a scenario is taken, or refused, or the page says that it is no requirement.
    #[test]
    fn the_page_says_what_becomes_of_every_key_of_a_scenario() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let page = |name: &str| std::fs::read_to_string(docs.join(name)).expect("it is there");
        let (scenarios, choose) = (page("scenarios.md"), page("choose.md"));
        let (keys, _) = scenarios.split_once("## What comes out").expect("a heading");
        let (_, told) = choose.split_once("### From a scenario").expect("a heading");
        let (told, _) = told.split_once("\n#").expect("another heading");
        let keys = keys.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let keys: Vec<&str> = keys.map(|(key, _)| key).filter(|key| !key.contains('.')).collect();
        assert!(keys.len() > 25, "{keys:?}");
        for key in keys {
            assert!(told.contains(&format!("`{key}`")), "nothing is said of {key}");
        }
    }

    fn draft(text: &str) -> Result<Draft, RequirementsError> {
        Draft::parse(text, Path::new("group.toml"))
    }

    fn read(text: &str) -> Result<Requirements, RequirementsError> {
        draft(text)?.finish()
    }
}
