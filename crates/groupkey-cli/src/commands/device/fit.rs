//! `groupkey device fit`: which schemes fit on named devices, and what the others lack.

use std::io::Write;

use clap::Args;
use clap::builder::TypedValueParser;
use groupkey_lab::capacity::{
    Battery, Circumstances, Drain, Endurance, Fit, Need, Shortage, Verdict, fits,
};
use groupkey_lab::device::Board;
use serde_json::{Value, json};

use super::battery::{told_counts, told_obstacle};
use super::energy::{positive, significant};
use crate::choice;
use crate::failure::Failure;
use crate::number::{self, distinct};
use crate::table::{Column, Table};

/// Arguments of `groupkey device fit`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey device fit
  groupkey device fit --device esp32-c3 --members 10,1000
  groupkey device fit --device esp8266 --suite constrained --protection mac --json
  groupkey device fit --device nrf52840 --battery cr2032 --days 365 --changes-per-day 24
  groupkey device fit --show esp32-c3

Without --device it compares all built-in boards in groups of 1,000. docs/device-fit.md")]
pub(crate) struct FitArguments {
    /// A built-in board, or a file: a path that ends in .toml or contains a slash [default: all].
    #[arg(long = "device", value_name = "NAME|FILE", value_parser = choice::board().map(Box::new))]
    board: Option<Box<Board>>,

    /// Sizes of groups [default: 10,100,1000,10000 on one board, 1000 on all].
    #[arg(long, value_delimiter = ',', value_parser = number::whole(2..=1 << 24))]
    members: Vec<u32>,

    /// Algorithms.
    #[arg(long, default_value = "standard", value_parser = choice::counted_suite())]
    suite: &'static str,

    /// Protection of messages.
    #[arg(long, default_value = "mac", value_parser = choice::counted_guard())]
    protection: &'static str,

    /// A battery that must last: cr123a, cr2032, 2xaa, 18650, or a number of joules.
    #[arg(long, value_name = "NAME|J")]
    battery: Option<Battery>,

    /// How long the battery must last.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 365.0,
        requires = "battery",
        value_parser = positive
    )]
    days: f64,

    /// Changes of the key a day, for the battery.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 24.0,
        requires = "battery",
        value_parser = positive
    )]
    changes_per_day: f64,

    /// Count the board's idle power against the battery, too.
    #[arg(long, requires = "battery")]
    idle: bool,

    /// Print a built-in board's file, with the source of every figure, and stop.
    #[arg(long, value_name = "NAME", exclusive = true, value_parser = choice::board_text())]
    show: Option<&'static str>,

    /// Print a JSON array.
    #[arg(long)]
    json: bool,
}

/// Prints what fits.
pub(crate) fn run(arguments: &FitArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(text) = arguments.show {
        write!(out, "{text}")?;
        return Ok(());
    }
    let boards: Vec<Board> = match &arguments.board {
        Some(board) => vec![(**board).clone()],
        None => Board::names().filter_map(Board::named).collect(),
    };
    let sizes: Vec<u32> = match (&arguments.members[..], &arguments.board) {
        ([], Some(_)) => vec![10, 100, 1_000, 10_000],
        ([], None) => vec![1_000],
        (sizes, _) => distinct(sizes).into_iter().copied().collect(),
    };
    let endurance = arguments.battery.as_ref().map(|battery| Endurance {
        battery: battery.clone(),
        drain: Drain { changes_per_day: arguments.changes_per_day, with_idle: arguments.idle },
        days: arguments.days,
    });
    let at = |members| Circumstances {
        members,
        suite: arguments.suite.to_owned(),
        guard: arguments.protection.to_owned(),
        qos: 1,
    };
    let found: Vec<(&Board, Vec<Fit>)> = boards
        .iter()
        .flat_map(|board| sizes.iter().map(move |&members| (board, members)))
        .map(|(board, members)| (board, fits(board, &at(members), endurance.as_ref())))
        .collect();
    if arguments.json {
        let objects: Vec<Value> = found
            .iter()
            .flat_map(|(board, fits)| fits.iter().map(|fit| object(arguments, board, fit)))
            .collect();
        writeln!(out, "{:#}", Value::from(objects))?;
        return Ok(());
    }
    match &boards[..] {
        [board] => {
            head(board, arguments, out)?;
            write!(out, "{}", on_one(board, &found, &sizes))?;
        }
        boards => {
            writeln!(out, "A member with {}, {}.", arguments.suite, arguments.protection)?;
            for (members, of_size) in sizes.iter().zip(0..) {
                let of_size: Vec<_> = found.iter().skip(of_size).step_by(sizes.len()).collect();
                writeln!(out, "\nIn a group of {members}:\n")?;
                write!(out, "{}", on_all(boards, &of_size))?;
            }
        }
    }
    list_shortages(&found, out)?;
    writeln!(
        out,
        "\n~: at least, as not all was counted. ?: not counted, or fits as far as counted.\n\
         Memory of the network is taken off the boards' before: groupkey device fit --show esp32-c3"
    )?;
    Ok(())
}

fn head(board: &Board, arguments: &FitArguments, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "board:  {}, {}", board.name, board.description)?;
    writeln!(out, "counts: {}", told_counts(board))?;
    for (name, memory) in [("ram:   ", &board.ram), ("flash: ", &board.flash)] {
        let (left, all, taken) = (memory.available(), memory.bytes, memory.taken_bytes);
        writeln!(out, "{name} {left} B = {all} - {taken} ({})", memory.taken_source)?;
    }
    writeln!(out, "member: {}, {}\n", arguments.suite, arguments.protection)?;
    Ok(())
}

/// A row for each scheme, with its memory at each size.
fn on_one(board: &Board, found: &[(&Board, Vec<Fit>)], sizes: &[u32]) -> String {
    let mut table = Table::new([
        Column::text("scheme"),
        Column::number("members"),
        Column::number("ram B"),
        Column::number("ram %"),
        Column::number("flash B"),
        Column::number("flash %"),
        Column::number("change J").may_go(1),
        Column::text("verdict"),
    ]);
    let schemes = found.first().map_or(0, |(_, fits)| fits.len());
    for place in 0..schemes {
        for (_, fits) in found.iter().take(sizes.len()) {
            let fit = &fits[place];
            let share = |need: Need, available: u64| match need.bytes() {
                Some(bytes) => format!("{:.0}", 100.0 * bytes / available as f64),
                None => "-".to_owned(),
            };
            table.row([
                fit.scheme.id.to_owned(),
                fit.members.to_string(),
                told_need(fit.working),
                share(fit.working, board.ram.available()),
                told_need(fit.flash),
                share(fit.flash, board.flash.available()),
                fit.change
                    .as_ref()
                    .map_or_else(|_| "-".to_owned(), |change| significant(change.joule().value)),
                told_verdict(fit),
            ]);
        }
    }
    table.to_string()
}

/// A row for each scheme, a column for each board.
fn on_all(boards: &[Board], found: &[&(&Board, Vec<Fit>)]) -> String {
    let names = Board::names().take(boards.len());
    let columns = names.map(Column::text);
    let mut table = Table::new([Column::text("scheme")].into_iter().chain(columns));
    let schemes = found.first().map_or(0, |(_, fits)| fits.len());
    for place in 0..schemes {
        let cells = found.iter().map(|(_, fits)| told_shortly(&fits[place]));
        let id = found[0].1[place].scheme.id.to_owned();
        table.row([id].into_iter().chain(cells));
    }
    table.to_string()
}

/// Says what is short, board by board, with the amounts.
fn list_shortages(found: &[(&Board, Vec<Fit>)], out: &mut dyn Write) -> Result<(), Failure> {
    let mut has_heading = false;
    for (board, fits) in found {
        for fit in fits.iter().filter(|fit| fit.verdict() == Verdict::DoesNotFit) {
            if !has_heading {
                writeln!(out, "\nWhat is short:")?;
                has_heading = true;
            }
            let short: Vec<_> = fit.shortages.iter().map(told_shortage).collect();
            let (id, members) = (fit.scheme.id, fit.members);
            writeln!(out, "  {}: {id} with {members} members: {}", board.name, short.join("; "))?;
        }
    }
    Ok(())
}

fn told_shortage(short: &Shortage) -> String {
    let Shortage { of, needed, available } = short;
    format!(
        "{} {} of {} {}, short by {} ({:.0} %)",
        of.name(),
        amount(*needed),
        amount(*available),
        of.unit(),
        amount(short.by()),
        short.percent()
    )
}

fn amount(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { significant(value) }
}

fn told_need(need: Need) -> String {
    match need {
        Need::Counted(bytes) => format!("{bytes:.0}"),
        Need::AtLeast(bytes) => format!("{bytes:.0}~"),
        Need::Unknown => "?".to_owned(),
    }
}

fn told_verdict(fit: &Fit) -> String {
    match (&fit.change, fit.verdict()) {
        (Err(obstacle), _) => told_obstacle(obstacle),
        (_, Verdict::Open) => "fits, as far as counted".to_owned(),
        (_, Verdict::DoesNotFit) => {
            let short: Vec<_> = fit.shortages.iter().map(|short| short.of.name()).collect();
            format!("no: {}", short.join(", "))
        }
        (_, verdict) => verdict.name().to_owned(),
    }
}

fn told_shortly(fit: &Fit) -> String {
    match fit.verdict() {
        Verdict::Fits => "fits".to_owned(),
        Verdict::Open => "fits?".to_owned(),
        Verdict::NoGroup => "-".to_owned(),
        Verdict::DoesNotFit => {
            let short = fit.shortages.iter();
            short
                .map(|one| format!("{} +{:.0} %", one.of.name(), one.percent()))
                .collect::<Vec<_>>()
                .join(", ")
        }
    }
}

fn object(arguments: &FitArguments, board: &Board, fit: &Fit) -> Value {
    let need = |need: Need, available: u64| {
        let (bytes, ground) = (need.bytes(), need.ground());
        json!({ "bytes": bytes, "ground": ground, "available": available })
    };
    let shortages = fit.shortages.iter().map(|short| {
        json!({
            "of": short.of.name(),
            "unit": short.of.unit(),
            "needed": short.needed,
            "available": short.available,
            "short_by": short.by(),
            "percent": short.percent(),
        })
    });
    json!({
        "device": board.name,
        "bearing": board.counts.bearing.name(),
        "scheme": fit.scheme.id,
        "provenance": fit.scheme.provenance.name(),
        "suite": arguments.suite,
        "protection": arguments.protection,
        "members": fit.members,
        "verdict": fit.verdict().name(),
        "reason": fit.change.as_ref().err().map(told_obstacle),
        "ram": need(fit.working, board.ram.available()),
        "flash": need(fit.flash, board.flash.available()),
        "change_joule": fit.change.as_ref().ok().map(|change| change.joule().value),
        "short": shortages.collect::<Vec<_>>(),
    })
}
