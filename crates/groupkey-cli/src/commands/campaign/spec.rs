//! The file of a campaign: commands whose options are lists, of which each combination is a cell.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use clap::{ArgAction, CommandFactory};
use serde::Deserialize;
use toml::{Spanned, Value};

use super::cell::CampaignCell;
use crate::arguments::Cli;
use crate::failure::Failure;

/// A campaign's cells, which are made when they are asked for.
#[derive(Debug)]
pub(crate) struct Spec {
    blocks: Vec<Block>,
}

/// One `[[cells]]`: a command and the values of its options.
#[derive(Debug)]
struct Block {
    command: String,
    takes_threads: bool,
    /// In the order of the file. The last one varies fastest.
    options: Vec<(String, Vec<OptionValue>)>,
    cells: usize,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecFile {
    /// For people.
    #[serde(rename = "description")]
    _description: Option<String>,
    cells: Vec<Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>>,
}

/// What a cell gives to an option, once for each text; none if it is a flag. `None` if a flag is not
/// set.
type OptionValue = Option<Vec<String>>;

/// What is wrong in a file, and where.
type Refused = (String, Range<usize>);

impl Spec {
    /// The most cells of a campaign. A larger number is treated as a typing error.
    const MOST_CELLS: usize = 1_000_000;
    /// The longest file that is read (bytes).
    const MOST_BYTES: u64 = 1 << 20;

    /// Reads a file.
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let refused = |problem: String| {
            Failure::input(format!("{}: {problem}", path.display()))
                .with_help("docs/campaigns.md describes the file; examples/campaigns/ has some")
        };
        let length = fs::metadata(path).map(|metadata| metadata.len());
        if length.is_ok_and(|length| length > Self::MOST_BYTES) {
            return Err(refused("the file is longer than a mebibyte".to_owned()));
        }
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        Self::parse(&text).map_err(|(problem, place)| {
            let before = &text[..place.start.min(text.len())];
            let line = before.matches('\n').count() + 1;
            refused(format!("line {line}: {problem}"))
        })
    }

    /// Reads the text of a file.
    fn parse(text: &str) -> Result<Self, Refused> {
        let file: SpecFile = toml::from_str(text)
            .map_err(|error| (error.message().to_owned(), error.span().unwrap_or_default()))?;
        let cli = Cli::command();
        let blocks = file.cells.into_iter().map(|table| Block::of(&cli, table));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        let all = blocks.iter().try_fold(0_usize, |all, block| all.checked_add(block.cells));
        match all {
            Some(0) => Err(("there are no [[cells]]".to_owned(), 0..0)),
            Some(all) if all <= Self::MOST_CELLS => Ok(Self { blocks }),
            _ => Err((format!("there are more than {} cells", Self::MOST_CELLS), 0..0)),
        }
    }

    /// Returns how many cells there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.cells).sum()
    }

    /// Returns a cell, counted from 0.
    pub(crate) fn cell(&self, mut place: usize) -> CampaignCell {
        for block in &self.blocks {
            match place.checked_sub(block.cells) {
                Some(beyond) => place = beyond,
                None => return block.cell(place),
            }
        }
        unreachable!("a place is below the number of cells")
    }
}

impl Block {
    fn of(
        cli: &clap::Command,
        table: Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>,
    ) -> Result<Self, Refused> {
        let place = table.span();
        let mut entries: Vec<_> = table.into_inner().into_iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let is_command = |(name, _): &(Spanned<String>, _)| name.get_ref() == "command";
        let Some(command) = entries.iter().position(is_command) else {
            return Err((format!("say which command: {}", known(COMMANDS)), place));
        };
        let (_, command) = entries.remove(command);
        let named = command.get_ref().as_str().filter(|name| COMMANDS.contains(name));
        let Some(named) = named.map(str::to_owned) else {
            return Err((format!("command is one of {}", known(COMMANDS)), command.span()));
        };
        let described = subcommand(cli, &named).expect("the command is there");
        let option = |name: &str| {
            described.get_arguments().find(|argument| argument.get_long() == Some(name))
        };
        let mut options = Vec::new();
        let mut cells = 1_usize;
        for (name, value) in entries {
            let place = name.span();
            let name = name.into_inner();
            if name == PARTS && option(PART).is_some() {
                let values = parts(value.get_ref()).map_err(|problem| (problem, value.span()))?;
                cells = cells.saturating_mul(values.len());
                options.push((PART.to_owned(), values));
                continue;
            }
            let argument = option(&name)
                .filter(|_| !OURS.contains(&&*name))
                .ok_or_else(|| (format!("{named} has no option --{name} for a cell"), place))?;
            let is_flag = matches!(argument.get_action(), ArgAction::SetTrue);
            let (place, value) = (value.span(), value.into_inner());
            let values = values(value, is_flag)
                .map_err(|problem| (format!("{name}: {problem}"), place.clone()))?;
            cells = cells.saturating_mul(values.len());
            options.push((name, values));
        }
        // The whole of a study writes files, and a part prints rows.
        if named.starts_with(STUDY) && options.iter().all(|(name, _)| name != PART) {
            return Err((format!("say in how many parts: {PARTS} = 8"), command.span()));
        }
        Ok(Self { command: named, takes_threads: option("threads").is_some(), options, cells })
    }

    fn cell(&self, place: usize) -> CampaignCell {
        let mut options = Vec::new();
        let mut left = place;
        for (name, values) in self.options.iter().rev() {
            if let Some(given) = &values[left % values.len()] {
                options.push((name.clone(), given.clone()));
            }
            left /= values.len();
        }
        options.reverse();
        let Self { command, takes_threads, .. } = self;
        CampaignCell { command: command.clone(), options, takes_threads: *takes_threads }
    }
}

/// Returns the values of an option, each for a cell. A list in the list is for one cell, which has
/// the option several times.
fn values(value: Value, is_flag: bool) -> Result<Vec<OptionValue>, String> {
    let one = |value: Value| match (value, is_flag) {
        (Value::Boolean(set), true) => Ok(set.then(Vec::new)),
        (_, true) => Err("it is a flag: true or false".to_owned()),
        (Value::Array(values), false) => {
            each(values)?.into_iter().map(text).collect::<Result<_, _>>().map(Some)
        }
        (value, false) => Ok(Some(vec![text(value)?])),
    };
    match value {
        Value::Array(values) => each(values)?.into_iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

/// Returns the parts of a command's work, each for a cell.
fn parts(value: &Value) -> Result<Vec<OptionValue>, String> {
    let parts = value.as_integer().filter(|parts| (1..=MOST_PARTS).contains(parts));
    let parts = parts.ok_or_else(|| format!("{PARTS} is a whole number from 1 to {MOST_PARTS}"))?;
    Ok((1..=parts).map(|part| Some(vec![format!("{part}/{parts}")])).collect())
}

/// Returns a command by its words: `reproduce network-impact`.
fn subcommand<'c>(cli: &'c clap::Command, words: &str) -> Option<&'c clap::Command> {
    words.split(' ').try_fold(cli, |command, word| command.find_subcommand(word))
}

fn each(values: Vec<Value>) -> Result<Vec<Value>, String> {
    if values.is_empty() { Err("the list is empty".to_owned()) } else { Ok(values) }
}

fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) if text.is_empty() => Err("the text is empty".to_owned()),
        Value::String(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        other => Err(format!("a text or a number is needed, not a {}", other.type_str())),
    }
}

fn known(names: &[&str]) -> String {
    names.join(", ")
}

/// The commands whose output depends on nothing but their arguments and files.
const COMMANDS: &[&str] = &["audit", "choose", "net", "reproduce network-impact", "trace"];

/// The commands of which only parts are cells.
const STUDY: &str = "reproduce ";

/// The option that says which part of a command's work a cell is, and what stands in the file for all.
const PART: &str = "part";
const PARTS: &str = "parts";
const MOST_PARTS: i64 = 100_000;

/// Options that a campaign gives itself, and those that ask, write files, or depend on this machine.
const OURS: &[&str] = &[
    "against",
    "ask",
    "evidence",
    "fresh",
    "help",
    "json",
    "live",
    "measure",
    "out",
    "print-requirements",
    "report",
    "resume",
    "save",
    "threads",
    "token-file",
    "version",
];

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"
description = "loss"

[[cells]]
command = "net"
scheme = ["skdc", "lkh-group"]
samples = [false, true]
loss = [0, 2.5]
operation = "create,add"

[[cells]]
requirements = "city"
command = "choose"
fitted = true
set = [["members.now=50", "members.most=60"], "members.now=70"]
"#;

    #[test]
    fn lists_are_multiplied_out_in_the_order_of_the_file() {
        let spec = Spec::parse(SPEC).expect("it is good");
        let cells: Vec<_> = (0..spec.len()).map(|place| spec.cell(place).to_string()).collect();
        assert_eq!(cells.len(), 10);
        let head = "groupkey net --json --scheme=";
        assert_eq!(cells[0], format!("{head}skdc --loss=0 --operation=create,add"));
        assert_eq!(cells[1], format!("{head}skdc --loss=2.5 --operation=create,add"));
        assert_eq!(cells[2], format!("{head}skdc --samples --loss=0 --operation=create,add"));
        assert_eq!(
            cells[7],
            format!("{head}lkh-group --samples --loss=2.5 --operation=create,add")
        );
        let head = "groupkey choose --json --requirements=city --fitted";
        assert_eq!(cells[8], format!("{head} --set=members.now=50 --set=members.most=60"));
        assert_eq!(cells[9], format!("{head} --set=members.now=70"));
    }

    #[test]
    fn the_parts_of_a_commands_work_are_a_cell_each() {
        let text = "[[cells]]\ncommand = \"reproduce network-impact\"\nparts = 2\nseed = [1, 2]";
        let spec = Spec::parse(text).expect("it is good");
        let cells: Vec<_> = (0..spec.len()).map(|place| spec.cell(place).to_string()).collect();
        let head = "groupkey reproduce network-impact --json";
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[0], format!("{head} --part=1/2 --seed=1"));
        assert_eq!(cells[3], format!("{head} --part=2/2 --seed=2"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let line = |text: &str, (_, place): &Refused| text[..place.start].matches('\n').count() + 1;
        for (text, words, at) in [
            ("[[cells]]\nscheme = \"skdc\"", "say which command", 1),
            ("[[cells]]\ncommand = \"serve\"", "command is one of", 2),
            ("[[cells]]\ncommand = \"net\"\nschema = 1", "no option --schema", 3),
            ("[[cells]]\ncommand = \"net\"\nthreads = 1", "no option --threads", 3),
            ("[[cells]]\ncommand = \"net\"\nloss = []", "loss: the list is empty", 3),
            ("[[cells]]\ncommand = \"net\"\nsamples = \"yes\"", "samples: it is a flag", 3),
            ("[[cells]]\ncommand = \"net\"\nloss = [[[1]]]", "is needed, not a array", 3),
            ("[[cells]]\ncommand = \"net\"\nscheme = \"\"", "the text is empty", 3),
            ("[[cells]]\ncommand = \"choose\"\nparts = 0", "parts is a whole number", 3),
            ("[[cells]]\ncommand = \"net\"\nparts = 2", "no option --parts", 3),
            (
                "[[cells]]\nquick = true\ncommand = \"reproduce network-impact\"",
                "in how many parts",
                3,
            ),
            ("cells = []", "there are no [[cells]]", 1),
            ("seed = 1\n[[cells]]\ncommand = \"net\"", "unknown field `seed`", 1),
        ] {
            let refused = Spec::parse(text).expect_err(words);
            assert!(refused.0.contains(words), "{refused:?}");
            assert_eq!(line(text, &refused), at, "{refused:?}");
        }
        let many = format!("[[cells]]\ncommand = \"net\"\nseed = {0}\nloss = {0}", numbers());
        assert!(Spec::parse(&many).is_err_and(|(problem, _)| problem.contains("more than")));
    }

    fn numbers() -> String {
        format!("{:?}", (0..1001).collect::<Vec<_>>())
    }

    #[test]
    fn every_command_exists_and_prints_json() {
        let cli = Cli::command();
        for name in COMMANDS {
            let command = subcommand(&cli, name).expect(name);
            assert!(command.get_arguments().any(|argument| argument.get_long() == Some("json")));
        }
    }
}
