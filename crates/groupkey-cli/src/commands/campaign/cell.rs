//! A cell: one command of the laboratory, and its address.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::path::Path;
use std::{fs, io};

use clap::Parser;
use serde::Serialize;
use sha2::{Digest, Sha256};
use toml::Value;

use crate::arguments::Cli;
use crate::commands;
use crate::failure::Failure;
use crate::provenance::COMMIT;

/// One command, with one value for each option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CampaignCell {
    /// The command: `net`, or `reproduce network-impact`.
    pub(crate) command: String,
    /// Its options, without dashes, each with what it is given: once for each value. An option that
    /// is a flag has no value.
    pub(crate) options: Vec<(String, Vec<String>)>,
    /// Whether the command can be told its number of threads. Its output does not depend on it.
    pub(crate) takes_threads: bool,
}

/// The hash of all that a cell's output depends on: 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub(crate) struct CellAddress(pub(crate) String);

/// Computes addresses, and reads each file once for it.
#[derive(Debug, Default)]
pub(crate) struct CellAddresses {
    /// What is known of a name: the file, if it is one.
    files: HashMap<String, Option<NamedFile>>,
}

/// A file that a cell's output depends on.
#[derive(Clone, Debug)]
struct NamedFile {
    content: [u8; 32],
    /// The files that it names in turn.
    names: Vec<String>,
}

impl CampaignCell {
    /// Runs the command in this process, on one thread. Returns what it printed.
    pub(crate) fn run(&self) -> Result<Vec<u8>, Failure> {
        let mut words = self.words();
        if self.takes_threads {
            words.push("--threads=1".to_owned());
        }
        let cli = Cli::try_parse_from(words)?;
        let mut printed = Vec::new();
        commands::run(&cli, &mut printed)?;
        Ok(printed)
    }

    /// Returns the words of its command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let command = ["groupkey"].into_iter().chain(self.command.split(' ')).chain(["--json"]);
        let mut words: Vec<_> = command.map(str::to_owned).collect();
        for (name, values) in &self.options {
            match &values[..] {
                [] => words.push(format!("--{name}")),
                values => words.extend(values.iter().map(|value| format!("--{name}={value}"))),
            }
        }
        words
    }
}

/// A line for a shell: what a value has besides letters and digits is quoted.
impl fmt::Display for CampaignCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |c: char| c.is_alphanumeric() || "-_=.,:/+%@".contains(c);
        for (place, word) in self.words().iter().enumerate() {
            let space = if place == 0 { "" } else { " " };
            match word.chars().all(is_plain) {
                true => write!(f, "{space}{word}")?,
                false => write!(f, "{space}'{}'", word.replace('\'', r"'\''"))?,
            }
        }
        Ok(())
    }
}

impl CellAddresses {
    /// Returns the address of a cell. The order of its options makes no difference.
    pub(crate) fn of(&mut self, cell: &CampaignCell) -> Result<CellAddress, Failure> {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        };
        add(b"groupkey campaign cell 1");
        add(concat!(env!("CARGO_PKG_VERSION"), " ").as_bytes());
        add(COMMIT.as_bytes());
        add(cell.command.as_bytes());
        let mut options: Vec<_> = cell.options.iter().collect();
        options.sort();
        for (name, values) in options {
            add(name.as_bytes());
            add(&values.len().to_be_bytes());
            for value in values {
                add(value.as_bytes());
                for file in self.files_of(value)? {
                    add(&self.files[&file].as_ref().expect("it is one").content);
                }
            }
        }
        let mut address = String::new();
        for byte in hash.finalize() {
            let _ = write!(address, "{byte:02x}");
        }
        Ok(CellAddress(address))
    }

    /// Returns the files that the options of a cell name, whose address is known.
    pub(crate) fn files(&mut self, cell: &CampaignCell) -> Result<Vec<String>, Failure> {
        let mut files = Vec::new();
        for value in cell.options.iter().flat_map(|(_, values)| values) {
            files.extend(self.files_of(value)?);
        }
        Ok(files)
    }

    /// Returns the files that a value names, each before those that it names in turn: the value itself,
    /// one of a list, or what a field is set to.
    fn files_of(&mut self, value: &str) -> Result<Vec<String>, Failure> {
        let mut left: Vec<String> = match self.read(value)?.is_some() {
            true => vec![value.to_owned()],
            false => value.split([',', '=']).rev().map(str::to_owned).collect(),
        };
        let mut files = Vec::new();
        while let Some(name) = left.pop() {
            if let Some(file) = self.read(&name)?
                && !files.contains(&name)
            {
                left.extend(file.names.iter().rev().cloned());
                files.push(name);
            }
        }
        Ok(files)
    }

    /// Returns the file of this name, if there is one.
    fn read(&mut self, name: &str) -> Result<Option<&NamedFile>, Failure> {
        if !self.files.contains_key(name) {
            let path = Path::new(name);
            let file = match path.is_file() {
                false => None,
                true => Some(NamedFile::read(path).map_err(|error| {
                    Failure::input(format!("cannot read {}: {error}", path.display()))
                })?),
            };
            self.files.insert(name.to_owned(), file);
        }
        Ok(self.files[name].as_ref())
    }
}

impl NamedFile {
    fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let content = Sha256::digest(&bytes).into();
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let mut names = Vec::new();
        // Requirements name devices, radios, scenarios and traces beside them.
        if path.extension().is_some_and(|extension| extension == "toml")
            && let Some(table) = str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok())
        {
            let mut add = |text: &str| names.extend(folder.join(text).to_str().map(str::to_owned));
            texts(&Value::Table(table), &mut add);
        }
        Ok(Self { content, names })
    }
}

/// Hands over each text in a file.
fn texts(value: &Value, add: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => add(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, add)),
        Value::Table(table) => table.values().for_each(|value| texts(value, add)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_all_that_the_output_depends_on() {
        let folder = tempfile::tempdir().expect("writable");
        let path = folder.path().join("device.toml");
        fs::write(&path, "one").expect("writable");
        let file = path.to_string_lossy().into_owned();
        let cell = |options: &[(&str, &[&str])]| CampaignCell {
            command: "net".to_owned(),
            options: options.iter().map(|&(name, values)| option(name, values)).collect(),
            takes_threads: true,
        };
        let of =
            |cell: &CampaignCell| CellAddresses::default().of(cell).expect("files are readable");
        let base = cell(&[("scheme", &["skdc"]), ("device", &[&file])]);
        let same = cell(&[("device", &[&file]), ("scheme", &["skdc"])]);
        assert_eq!(of(&base), of(&same), "the order of options");
        let before = of(&base);
        for other in [
            cell(&[("scheme", &["skdc"]), ("device", &["host"])]),
            cell(&[("scheme", &["skdc,device"]), ("device", &[&file])]),
            cell(&[("scheme", &[]), ("device", &[&file])]),
            CampaignCell { command: "audit".to_owned(), ..base.clone() },
        ] {
            assert_ne!(before, of(&other), "{other}");
        }
        fs::write(&path, "two").expect("writable");
        assert_ne!(before, of(&base), "the content of a file");
    }

    /// Requirements name a device beside them, and a setting of a field another one.
    #[test]
    fn an_address_has_the_files_that_files_and_settings_name() {
        let folder = tempfile::tempdir().expect("writable");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("writable");
            path.to_string_lossy().into_owned()
        };
        let device = file("board.toml", "one");
        let requirements = file("mine.toml", "[devices]\nmember = \"board.toml\"\n");
        for options in [
            vec![option("requirements", &[&requirements])],
            vec![option("set", &["members.now=5", &format!("devices.member={device}")])],
        ] {
            let cell = CampaignCell { command: "choose".to_owned(), options, takes_threads: true };
            file("board.toml", "one");
            let mut addresses = CellAddresses::default();
            let before = addresses.of(&cell).expect("files are readable");
            assert!(addresses.files(&cell).expect("as before").contains(&device), "{cell}");
            file("board.toml", "two");
            assert_ne!(before, CellAddresses::default().of(&cell).expect("as before"), "{cell}");
        }
    }

    #[test]
    fn its_line_can_be_run_in_a_shell() {
        let options =
            vec![option("set", &["a=1", "members.now=30 & 'more'"]), option("quick", &[])];
        let cell = CampaignCell { command: "audit".to_owned(), options, takes_threads: false };
        let line = r"groupkey audit --json --set=a=1 '--set=members.now=30 & '\''more'\''' --quick";
        assert_eq!(cell.to_string(), line);
    }

    fn option(name: &str, values: &[&str]) -> (String, Vec<String>) {
        (name.to_owned(), values.iter().map(|&value| value.to_owned()).collect())
    }
}
