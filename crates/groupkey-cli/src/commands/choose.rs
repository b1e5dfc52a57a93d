//! `groupkey choose`: the scheme that fits a group's requirements, with its evidence.

mod evidence;
#[cfg(feature = "live")]
mod live;
mod own_schemes;
mod pareto;
mod questions;
mod race;
mod report;
mod validate;

#[cfg(test)]
mod agreement;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey::catalogue::Scheme;
use groupkey_choose::answer::{self, Answer, AnswerDepth, Block};
use groupkey_choose::requirements::{
    EXAMPLES, FieldSetting, RequirementsDraft, RequirementsError, to_toml,
};
use groupkey_choose::{Decision, Grounds, Requirements, choose, input, recommend_on, words};
use groupkey_lab::choose::winner_maps::Winner;
use groupkey_lab::choose::{LaboratoryFiles, commands};

use crate::campaign::all_cores;
use crate::failure::Failure;
use crate::output::BesideFiles;
use crate::output::remark;
use crate::paragraph::{ListLine, Paragraph};
use crate::results_folder::{results_path, run_name};
use crate::table::{Column, Table, terminal_width};
use crate::{value_parsers, whole_file};

/// Arguments of `groupkey choose`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey choose                                  asks, each question with a default
  groupkey choose --requirements city             an example that is built in
  groupkey choose --print-requirements city > mine.toml
  groupkey choose --requirements mine.toml --set network.loss=3 --set members.now=1400
  groupkey choose --set members.now=30 --set trust.controller=false
  groupkey choose --requirements mine.toml --all
  groupkey choose --requirements mine.toml --fitted
  groupkey choose --requirements city --set devices.member=nrf52840 --set devices.radio=lte-m
  groupkey choose --requirements mine.toml --set devices.member=./my-board.toml
  groupkey choose --requirements city --fitted --pareto 5
  groupkey choose --requirements city --out chosen
  groupkey choose --requirements city --json | jq .recommended.candidate
  groupkey choose --requirements mine.toml --live http://127.0.0.1:8475

A change is complete when the last member has the new key; its time runs from the moment at which
the controller, or without one the group, begins it. The group has settled: its last change was
hours ago. groupkey net measures the same.

The answer: one recommendation with its reason, the runner-up, and what is not known; parameters,
suite, protection and QoS, and the schemes that are equal to it; then the candidates that no other
one beats in everything; then where the recommendation turns; then what is out, by which
requirement, and the nearest value that would let it in. QoS 0 is only for those who set
network.qos=0.

The finalists are simulated for these requirements until it is settled which cost least, or two
million messages are handed over. Ctrl-C ends that, and the answer is what is known then.

Grounds of a number: counted by running the scheme; modelled, which is counted and priced by a
device's profile; fitted, from a model of simulated times; simulated for these requirements.
Extrapolated means that it lies outside of what was counted or simulated. A modelled figure names
device and radio, and says if a price is assumed; its interval is that of the prices' sources. A
cost is a sum over a day by the weights of the requirements. docs/choose.md has every field.

Exit codes: 0 recommended, 1 nothing meets the requirements, 2 bad usage or input.")]
pub(crate) struct ChooseArguments {
    /// Requirements: an example by its name, or a file; `-` is standard input.
    #[arg(long, value_name = "EXAMPLE|FILE")]
    requirements: Option<PathBuf>,

    /// Take what a running service with [http] in its file has counted in the last hour, in place of
    /// the file's fields: members, joins, leaves, rekeys and QoS. Also tells its scheme. The service
    /// changes nothing; groupkey ctl change does. Fields of --set come last.
    #[cfg(feature = "live")]
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["ask", "evidence", "validate", "print_requirements"],
    )]
    live: Option<String>,

    /// With --live: the file with the service's token.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FILE", default_value = "http.token", requires = "live")]
    token_file: PathBuf,

    /// One field, in place of the file's or of its default: network.loss=3.
    #[arg(long, value_name = "FIELD=VALUE", allow_hyphen_values = true)]
    set: Vec<FieldSetting>,

    /// Ask the questions even if standard input is no terminal.
    #[arg(long, conflicts_with = "requirements")]
    ask: bool,

    /// Print an example of a requirements file, with comments.
    #[arg(
        long,
        value_name = "EXAMPLE",
        value_parser = value_parsers::requirements(),
        conflicts_with_all = [
            "requirements", "set", "ask", "fitted", "save", "report", "json", "all", "evidence",
            "validate",
        ],
    )]
    print_requirements: Option<&'static str>,

    /// Answer by the fitted model alone, in a moment, without simulating the finalists. Its errors
    /// are in docs/choose.md. Bursts and outages are not in it.
    #[arg(long, conflicts_with_all = ["evidence", "validate"])]
    fitted: bool,

    /// Findings about schemes of your own: the folder that audit --out named. Without them no claim
    /// of such a scheme counts.
    #[arg(long, value_name = "RESULTS", value_parser = results_path())]
    audit: Option<PathBuf>,

    /// Write the requirements as understood into a file.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Also write into this folder: report.html (the front, maps of winners, a section for each
    /// candidate), decision.json, requirements.toml, results.jsonl (a header, then a row for each
    /// candidate) and summary.csv.
    #[arg(long = "out", value_name = "DIR")]
    report: Option<PathBuf>,

    /// Make again what decisions rest on, into this folder: counts of every variant, prices of
    /// devices, and the model of completion times. Takes hours.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["requirements", "set", "ask", "save", "report", "json", "all"],
    )]
    evidence: Option<PathBuf>,

    /// With --evidence: count these schemes alone. The counts of the others, and the model, stay as
    /// they are.
    #[arg(
        long,
        value_name = "ID",
        value_delimiter = ',',
        value_parser = value_parsers::scheme(),
        requires = "evidence",
    )]
    scheme: Vec<&'static Scheme>,

    /// Compare answers to random requirements with the best that simulations find, and print how
    /// much more they cost. Takes hours.
    #[arg(
        long,
        conflicts_with_all = ["requirements", "set", "ask", "save", "report", "all", "evidence"],
    )]
    validate: bool,

    /// With --evidence or --validate: small groups and few simulations, for a first look.
    #[arg(long)]
    quick: bool,

    /// Threads to run on; the answer does not depend on their number [default: as many as there are
    /// cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Print the front with a tolerance in place of the whole answer: of candidates that differ by at
    /// most this much in every objective, one is left. Then which requirement narrows the field first,
    /// and the first questions of a decision tree over all schemes.
    #[arg(
        long,
        value_name = "PERCENT",
        num_args = 0..=1,
        default_missing_value = "5",
        value_parser = pareto::tolerance,
        conflicts_with_all = [
            "all", "report", "evidence", "validate", "print_requirements",
        ],
    )]
    pareto: Option<f64>,

    /// Print every candidate that meets the requirements, and every reason why others do not.
    #[arg(long)]
    all: bool,

    /// Print the whole decision as one JSON object.
    #[arg(long)]
    json: bool,
}

impl ChooseArguments {
    fn threads(&self) -> usize {
        self.threads.map_or_else(all_cores, usize::from)
    }

    fn seen(&self) -> Result<Vec<FieldSetting>, Failure> {
        #[cfg(feature = "live")]
        if let Some(address) = &self.live {
            return live::settings(address, &self.token_file);
        }
        Ok(Vec::new())
    }
}

pub(crate) fn run(arguments: &ChooseArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(example) = arguments.print_requirements {
        write!(out, "{example}")?;
        return Ok(());
    }
    if let Some(folder) = &arguments.evidence {
        return evidence::run(folder, arguments, out);
    }
    if arguments.validate {
        return validate::run(arguments, out);
    }
    Failure::refuse_any(&[("--quick", arguments.quick)], "--evidence or --validate")?;
    let (requirements, decision) = decide(arguments)?;
    let out = &mut BesideFiles::new(out, arguments.report.is_some());
    if let Some(percent) = arguments.pareto {
        pareto::print(&decision, &requirements, percent, arguments.json, out)?;
        race::is_whole(&decision)?;
        return conclude(&decision);
    }
    let depth = if arguments.all { AnswerDepth::All } else { AnswerDepth::Short };
    match arguments.json {
        true => {
            writeln!(out, "{}", serde_json::to_string_pretty(&decision).expect("it is a tree"))?
        }
        false => {
            let best = decision.recommended.as_ref();
            let commands = best.map_or_else(Vec::new, |best| {
                commands(best, &requirements, decision.runs(&best.candidate))
            });
            print(&Answer::new(&decision, &requirements, depth, &commands), out)?;
        }
    }
    if let Some(folder) = &arguments.report {
        if let Some(field) = requirements.beyond_model() {
            remark(&format!(
                "note: the maps of the report are without {field}, which no model knows"
            ));
        }
        let name = arguments.requirements.as_deref().map_or_else(String::new, run_name);
        let page = report::write(&decision, &requirements, &name, folder, &winner)?;
        let told = format!("report:  {}", page.display());
        match arguments.json {
            // Standard output is one object.
            true => remark(&told),
            false => writeln!(out, "\n{told}")?,
        }
    }
    race::is_whole(&decision)?;
    conclude(&decision)
}

/// Decides, and writes the requirements where `--save` says. Makes the folder of `--out` first.
pub(crate) fn decide(arguments: &ChooseArguments) -> Result<(Requirements, Decision), Failure> {
    own_schemes::count(arguments.audit.as_deref())?;
    let draft = draft(arguments)?;
    let requirements = draft.finish().map_err(refused)?;
    if let Some(path) = &arguments.save {
        whole_file::write(path, to_toml(&requirements).as_bytes()).map_err(|error| {
            Failure::running(format!("cannot write {}: {error}", path.display()))
                .with_help("choose another file with --save")
        })?;
    }
    if let Some(folder) = &arguments.report {
        report::prepare(folder)?;
    }
    let mut decision =
        choose(&requirements.as_modelled()).map_err(|error| refused(draft.explain(&error)))?;
    if !arguments.fitted {
        decision = race::finalists(&decision, &requirements, arguments.threads())?;
    } else if let Some(field) = requirements.beyond_model() {
        return Err(Failure::input(format!("{field} is not in the fitted model"))
            .with_help("leave out --fitted, and the finalists are simulated with it"));
    }
    Ok((requirements, decision))
}

pub(crate) fn print(answer: &Answer, out: &mut dyn Write) -> Result<(), Failure> {
    for (place, block) in answer.0.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        match block {
            Block::Paragraph(text) => writeln!(out, "{}", Paragraph { indent: 0, text })?,
            Block::Lines { title, lines } => {
                writeln!(out, "{title}")?;
                lines
                    .iter()
                    .try_for_each(|text| writeln!(out, "{}", ListLine { indent: 2, text }))?;
            }
            Block::Table(shown) => {
                if !shown.title.is_empty() {
                    writeln!(out, "{}", shown.title)?;
                }
                write!(out, "{}", table(shown))?;
                shown
                    .left_out
                    .iter()
                    .try_for_each(|text| writeln!(out, "{}", Paragraph { indent: 0, text }))?;
            }
        }
    }
    Ok(())
}

fn table(shown: &answer::AnswerTable) -> Table {
    let mut table = Table::new(shown.columns.iter().map(|column| {
        let drawn = if column.is_number { Column::number } else { Column::text };
        drawn(column.name).may_go(column.dispensable)
    }));
    shown.rows.iter().for_each(|row| table.row(row.iter().cloned()));
    table.fit(terminal_width());
    table
}

fn draft(arguments: &ChooseArguments) -> Result<RequirementsDraft, Failure> {
    let ChooseArguments { requirements, set, ask, .. } = arguments;
    let stdin = io::stdin();
    let mut draft =
        requirements.as_deref().map_or_else(|| Ok(RequirementsDraft::default()), read)?;
    let seen = arguments.seen()?;
    for setting in seen.iter().chain(set) {
        draft.set(setting.clone()).map_err(refused)?;
    }
    let is_asked = *ask || (requirements.is_none() && seen.is_empty() && set.is_empty());
    if is_asked {
        if !ask && !stdin.is_terminal() {
            return Err(Failure::input("there are no requirements, and nobody to ask").with_help(
                "groupkey choose --print-requirements city > group.toml, edit it, then \
                     --requirements group.toml; or give single fields: --set members.now=30",
            ));
        }
        questions::ask(&mut draft, &mut stdin.lock(), &mut io::stderr())?;
        if arguments.save.is_none() {
            remark("--save FILE keeps these requirements\n");
        }
    }
    draft.read_devices(&LaboratoryFiles).map_err(refused)?;
    Ok(draft)
}

/// Reads an example, a file, or standard input.
fn read(path: &Path) -> Result<RequirementsDraft, Failure> {
    if path.as_os_str() == "-" {
        let text = input::text(io::stdin().lock())
            .map_err(|problem| Failure::input(format!("standard input: {problem}")))?;
        return RequirementsDraft::parse(&text, "<standard input>".as_ref(), &LaboratoryFiles)
            .map_err(refused);
    }
    let draft = match example(path) {
        Some(text) => RequirementsDraft::parse(text, path, &LaboratoryFiles),
        None => RequirementsDraft::load(path, &LaboratoryFiles),
    };
    draft.map_err(refused)
}

fn refused(error: RequirementsError) -> Failure {
    match error {
        RequirementsError::File(error) => Failure::input(error.to_string())
            .with_help("docs/choose.md lists every field; the examples are city, platoon, plant, fleet and ward"),
        RequirementsError::Setting { setting, problem } => {
            Failure::input(format!("--set {setting}: {problem}"))
                .with_help("docs/choose.md lists every field")
        }
    }
}

fn winner(requirements: &Requirements) -> Option<Winner> {
    let best = recommend_on(&requirements.as_modelled(), &Grounds::shipped()).ok()??;
    let is_extrapolated = best.figures.iter().any(|figure| figure.is_extrapolated);
    Some(Winner { candidate: best.candidate, cost: best.cost, is_extrapolated })
}

fn conclude(decision: &Decision) -> Result<(), Failure> {
    if decision.recommended.is_some() {
        return Ok(());
    }
    let failure = Failure::running("nothing meets the requirements");
    Err(match words::nearest_miss(decision) {
        Some((scheme, fields)) => failure.with_help(format!("{scheme} would with {fields}")),
        None => failure.with_help("--all has every reason"),
    })
}

fn example(name: &Path) -> Option<&'static str> {
    EXAMPLES.into_iter().find(|(known, _)| name == Path::new(known)).map(|(_, text)| text)
}
