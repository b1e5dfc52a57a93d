//! Requirements in the making: those of a file, if there is one, and single fields on top.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{error, fmt};

use super::Requirements;
use super::fields::{FIELDS, Field, FieldKind, must_fit};
use super::file::{self, NamedFiles, parse, place, table};
use crate::device::DeviceFile;
use crate::input::{InputError, Mistake, in_words};
use crate::spelling::unknown;
use crate::{ChooseError, Grounds, choice};

/// Requirements in the making: those of a file, if there is one, and settings on top.
#[derive(Clone, Debug, Default)]
pub struct RequirementsDraft {
    requirements: Requirements,
    file: Option<(PathBuf, String)>,
    settings: Vec<FieldSetting>,
    devices: Vec<DeviceFile>,
}

/// One field with its value, in place of the file's. Reads as `network.loss=3`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSetting {
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

impl RequirementsDraft {
    /// Reads a file. `files` reads those that it names.
    pub fn load(path: &Path, files: &dyn NamedFiles) -> Result<Self, RequirementsError> {
        let text = InputError::read(path)?;
        Self::parse(&text, path, files)
    }

    /// Reads the text of a file. Errors name the file by `path`, and files that it names are sought
    /// beside it.
    pub fn parse(
        text: &str,
        path: &Path,
        files: &dyn NamedFiles,
    ) -> Result<Self, RequirementsError> {
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let requirements = parse(text, folder, files)
            .map_err(|mistake| InputError::in_text(path, text, mistake))?;
        let file = Some((path.to_owned(), text.to_owned()));
        let mut draft = Self { requirements, file, settings: Vec::new(), devices: Vec::new() };
        draft.read_devices(files)?;
        Ok(draft)
    }

    /// Reads the devices and radios that are files: once more after settings that may name one.
    pub fn read_devices(&mut self, files: &dyn NamedFiles) -> Result<(), RequirementsError> {
        let read = file::read_devices(&self.requirements.devices, files);
        self.devices = read.map_err(|(field, problem)| {
            self.refused(field, &format!("cannot be used: {problem}"))
        })?;
        Ok(())
    }

    /// Sets one field. Whether it fits the others is checked in the end.
    pub fn set(&mut self, setting: FieldSetting) -> Result<(), RequirementsError> {
        let mut table = table(&self.requirements);
        file::set(&mut table, setting.field.name, setting.value.clone());
        self.requirements = table
            .try_into()
            .map_err(|error: toml::de::Error| setting.refused(&in_words(error.message())))?;
        self.settings.push(setting);
        Ok(())
    }

    /// Returns the present value of a field, as one would write it: `none` if it has none.
    pub fn value(&self, field: &str) -> String {
        match file::get(&table(&self.requirements), field) {
            Some(toml::Value::String(text)) => text.clone(),
            Some(toml::Value::Float(number)) => number.to_string(),
            Some(other) => other.to_string(),
            None => "none".to_owned(),
        }
    }

    /// Checks everything and returns the requirements.
    pub fn finish(&self) -> Result<Requirements, RequirementsError> {
        let mut requirements = self.requirements.clone();
        requirements.devices.files.clone_from(&self.devices);
        check(&requirements).map_err(|error| self.explain(&error))?;
        Ok(requirements)
    }

    /// Returns why there is no choice, with the place of the cause.
    pub fn explain(&self, error: &ChooseError) -> RequirementsError {
        self.refused(error.field(), &error.problem())
    }

    /// Makes an error of the last place that set a field, or a field that must fit it.
    fn refused(&self, field: &str, problem: &str) -> RequirementsError {
        let named = |name: &str| self.settings.iter().rfind(|setting| setting.field.name == name);
        let mut names = std::iter::once(field).chain(must_fit(field).iter().copied());
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

impl FromStr for FieldSetting {
    type Err = String;

    /// Reads `network.loss=3`. Texts need no quotation marks, lists no brackets; `none` takes a
    /// limit away.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or("expected field=value, as in network.loss=3")?;
        let (name, value) = (name.trim(), value.trim());
        let field = FIELDS.iter().find(|field| field.name == name).ok_or_else(|| {
            let known = FIELDS.iter().filter(|field| field.kind != FieldKind::File);
            unknown("field", name, known.map(|field| field.name))
        })?;
        if value.is_empty() {
            return Err(format!("{name} needs a value: {}", field.meaning));
        }
        let plain = |text: &str| toml::Value::String(text.trim().to_owned());
        let parsed = value.parse::<toml::Value>();
        let value = match (field.kind, parsed) {
            (FieldKind::File, _) => return Err(format!("{name} stands in a file only")),
            (FieldKind::Optional, _) if value == "none" => None,
            (FieldKind::List, Ok(value @ toml::Value::Array(_))) => Some(value),
            (FieldKind::List, _) if value == "none" => Some(toml::Value::Array(Vec::new())),
            (FieldKind::List, _) => Some(toml::Value::Array(value.split(',').map(plain).collect())),
            (_, Ok(value)) => Some(value),
            (_, Err(_)) => Some(plain(value)),
        };
        Ok(Self { field, value, text: text.to_owned() })
    }
}

impl FieldSetting {
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

/// Checks values, names, and whether they fit each other.
fn check(requirements: &Requirements) -> Result<(), ChooseError> {
    choice::check(requirements, &Grounds::shipped())?;
    match &requirements.security.guard {
        Some(name) if !GUARDS.contains(&&**name) => Err(ChooseError::UnknownName {
            field: "security.guard",
            kind: "protection",
            name: name.clone(),
            known: GUARDS.map(str::to_owned).to_vec(),
        }),
        _ => Ok(()),
    }
}

const GUARDS: [&str; 3] = ["mac", "merkle", "signature"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_a_place_and_the_nearest_name() {
        for (text, place, told) in [
            ("[netwrok]\nloss = 3\n", "1:2", "there is no section \"netwrok\", but \"network\""),
            ("[network]\nlos = 3\n", "2:1", "there is no field in [network] \"los\", but \"loss\""),
            ("loss = 3\n", "1:1", "\"loss\" belongs into [network]"),
            ("members = 3\n", "1:11", "members is a section: write [members]"),
            ("[network]\n\nloss = 60\n", "3:8", "network.loss must be 0 to 50 %"),
            ("[network]\nloss = \"high\"\n", "2:8", "expected a number, not \"high\""),
            ("[members]\nnow = 2.5\n", "2:7", "expected a whole number, not 2.5"),
            ("[members]\nnow = 1\n", "2:7", "members.now must be 2 to"),
            ("[members]\nnow = 9\nmost = 5\n", "3:8", "members.most must be 0, or at least"),
            ("[network]\nloss = \n", "2:8", ""),
            ("[limits]\nbattery = 9\n", "2:11", "limits.battery-days must be both"),
            ("[devices]\nmember = \"cortex-m3\"\n", "2:10", "but \"cortex-m4\""),
            (
                "[security]\nactive = [\"secrecy\"]\n",
                "2:10",
                "there is no confirmed claim \"secrecy\"",
            ),
            ("[security]\nguard = \"none\"\n", "2:9", "there are mac, merkle, signature"),
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
            let error = text.parse::<FieldSetting>().expect_err(text);
            assert!(error.starts_with(told), "{error}");
        }
        let refused = |text: &str| {
            let mut draft = RequirementsDraft::default();
            draft.set(text.parse().expect(text))?;
            draft.finish()
        };
        for (text, told) in [
            ("network.loss=60", "network.loss=60: must be 0 to 50 %"),
            ("network.loss=high", "network.loss=high: expected a number, not \"high\""),
            ("members.now=1e3", "members.now=1e3: expected a whole number"),
            ("members.now=abc", "members.now=abc: expected a whole number, not \"abc\""),
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

    fn draft(text: &str) -> Result<RequirementsDraft, RequirementsError> {
        RequirementsDraft::parse(text, Path::new("group.toml"), &())
    }

    fn read(text: &str) -> Result<Requirements, RequirementsError> {
        draft(text)?.finish()
    }
}
