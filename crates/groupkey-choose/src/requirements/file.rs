//! Files of requirements. `docs/choose.md` lists every field; [`EXAMPLES`] are files with comments.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::fields::{FIELDS, Field};
use super::{Devices, Members, Requirements, is_file};
use crate::device::{DeviceFile, DevicePrices, FilePrices, RadioPrices};
use crate::input::Mistake;
use crate::spelling::unknown;

/// The examples by their names: files with comments that say where their numbers come from.
pub const EXAMPLES: [(&str, &str); 5] = [
    ("city", include_str!("examples/city.toml")),
    ("platoon", include_str!("examples/platoon.toml")),
    ("plant", include_str!("examples/plant.toml")),
    ("fleet", include_str!("examples/fleet.toml")),
    ("ward", include_str!("examples/ward.toml")),
];

/// Reads the files that a file of requirements names in place of single fields. An error names the
/// file.
pub trait NamedFiles {
    /// Returns `members.now`, `devices` and `network` as a scenario has them, or what no choice can
    /// heed in it. Nothing else of the requirements is taken.
    fn scenario(&self, path: &Path) -> Result<Requirements, String>;

    /// Returns the members of a trace and their rates. `burst` and `rekeys` are not taken.
    fn trace(&self, path: &Path) -> Result<Members, String>;

    /// Returns the text of a device's file, a profile's or a board's, and its prices.
    fn device(&self, path: &Path) -> Result<(String, DevicePrices), String>;

    /// Returns the text of a radio's file, and its prices.
    fn radio(&self, path: &Path) -> Result<(String, RadioPrices), String>;
}

/// Reads none.
impl NamedFiles for () {
    fn scenario(&self, path: &Path) -> Result<Requirements, String> {
        Err(format!("{}: this program reads no scenarios", path.display()))
    }

    fn trace(&self, path: &Path) -> Result<Members, String> {
        Err(format!("{}: this program reads no traces", path.display()))
    }

    fn device(&self, path: &Path) -> Result<(String, DevicePrices), String> {
        Err(format!("{}: this program reads no devices", path.display()))
    }

    fn radio(&self, path: &Path) -> Result<(String, RadioPrices), String> {
        Err(format!("{}: this program reads no radios", path.display()))
    }
}

/// Reads the files of devices and radios that requirements name. Fails with the field that names one,
/// and what is wrong.
pub(super) fn read_devices(
    of: &Devices,
    files: &dyn NamedFiles,
) -> Result<Vec<DeviceFile>, (&'static str, String)> {
    let mut read: Vec<DeviceFile> = Vec::new();
    let named = [
        ("devices.member", Some(&of.member)),
        ("devices.gateway", Some(&of.gateway)),
        ("devices.controller", Some(&of.controller)),
        ("devices.radio", of.radio.as_ref()),
    ];
    for (field, name) in named {
        let Some(name) = name.filter(|name| is_file(name)) else { continue };
        if read.iter().any(|file| file.name == *name) {
            continue;
        }
        let path = Path::new(name);
        let file = match field {
            "devices.radio" => {
                files.radio(path).map(|(text, radio)| (text, FilePrices::Radio(radio)))
            }
            _ => files.device(path).map(|(text, of)| (text, FilePrices::Device(Box::new(of)))),
        };
        let (text, prices) = file.map_err(|problem| (field, problem))?;
        read.push(DeviceFile { name: name.clone(), text, prices });
    }
    Ok(read)
}

/// Returns the requirements as a file that reads back as the same. Fields at their defaults are
/// left out.
pub fn to_toml(requirements: &Requirements) -> String {
    let (table, defaults) = (table(requirements), table(&Requirements::default()));
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
pub(super) fn parse(
    text: &str,
    folder: &Path,
    files: &dyn NamedFiles,
) -> Result<Requirements, Mistake> {
    let mut root = DeTable::parse(text)?;
    check_keys(root.get_ref())?;
    let scenario = take(root.get_mut(), "network", "scenario")?;
    let trace = take(root.get_mut(), "members", "trace")?;
    let mut requirements = Requirements::deserialize(Deserializer::from(root.clone()))?;
    let Devices { member, radio, gateway, controller, .. } = &mut requirements.devices;
    for name in [member, gateway, controller].into_iter().chain(radio) {
        if is_file(name) {
            *name = folder.join(&*name).display().to_string();
        }
    }
    if let Some(name) = scenario {
        let named = files.scenario(&folder.join(name.get_ref()));
        let named = named.map_err(|problem| Mistake::at(name.span().start, problem))?;
        requirements = filled(&requirements, &named, &OF_A_SCENARIO, root.get_ref());
    }
    if let Some(name) = trace {
        let members = files.trace(&folder.join(name.get_ref()));
        let members = members.map_err(|problem| Mistake::at(name.span().start, problem))?;
        let named = Requirements { members, ..Requirements::default() };
        requirements = filled(&requirements, &named, &OF_A_TRACE, root.get_ref());
        if value(root.get_ref(), "members.most").is_none() {
            let members = &mut requirements.members;
            members.most = members.most.max(members.now);
        }
    }
    Ok(requirements)
}

/// The fields that a scenario fills in.
const OF_A_SCENARIO: [&str; 12] = [
    "members.now",
    "devices.member",
    "devices.gateway",
    "devices.controller",
    "network.loss",
    "network.burst",
    "network.delay",
    "network.jitter",
    "network.bandwidth",
    "network.outages",
    "network.outage-length",
    "network.qos",
];

/// The fields that a trace fills in.
const OF_A_TRACE: [&str; 4] = ["members.now", "members.most", "members.joins", "members.leaves"];

/// Returns the requirements with these fields as a named file has them, as far as the file itself
/// does not set them.
fn filled(
    requirements: &Requirements,
    named: &Requirements,
    fields: &[&str],
    file: &DeTable<'_>,
) -> Requirements {
    let (mut filled, named) = (table(requirements), table(named));
    for field in fields.iter().filter(|field| value(file, field).is_none()) {
        set(&mut filled, field, get(&named, field).cloned());
    }
    filled.try_into().expect("these were requirements before")
}

pub(super) fn get<'t>(table: &'t toml::Table, field: &str) -> Option<&'t toml::Value> {
    let (section, key) = field.split_once('.')?;
    table.get(section)?.get(key)
}

/// Gives a field a value. `None` takes an optional field away.
pub(super) fn set(table: &mut toml::Table, field: &str, value: Option<toml::Value>) {
    let (section, key) = field.split_once('.').unwrap_or((field, ""));
    if let Some(toml::Value::Table(section)) = table.get_mut(section) {
        match value {
            Some(value) => section.insert(key.to_owned(), value),
            None => section.remove(key),
        };
    }
}

/// Returns the requirements as a table of sections.
pub(super) fn table(requirements: &Requirements) -> toml::Table {
    toml::Table::try_from(requirements).expect("texts and numbers")
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

fn value<'t, 'i>(root: &'t DeTable<'i>, field: &str) -> Option<&'t Spanned<DeValue<'i>>> {
    let (section, key) = field.split_once('.')?;
    root.get(section)?.get_ref().as_table()?.get(key)
}

/// Returns the place of a field's value in a text that was read before.
pub(super) fn place(text: &str, field: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    value(root.get_ref(), field).map(|value| value.span().start)
}

#[cfg(test)]
mod tests {
    use super::super::RequirementsDraft;
    use super::*;

    #[test]
    fn every_example_is_read_and_survives_being_written() {
        for (name, text) in EXAMPLES {
            let requirements = read(text);
            assert_ne!(requirements, Requirements::default(), "{name}");
            let written = to_toml(&requirements);
            assert_eq!(read(&written), requirements, "{name}: {written}");
        }
        assert_eq!(read(""), Requirements::default());
        assert_eq!(to_toml(&Requirements::default()), "");
    }

    fn read(text: &str) -> Requirements {
        let draft = RequirementsDraft::parse(text, Path::new("group.toml"), &());
        draft.and_then(|draft| draft.finish()).unwrap_or_else(|error| panic!("{error}"))
    }
}
