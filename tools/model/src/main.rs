//! Searches the models.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use groupkey_model::model::{Budget, Past, Scene};
use groupkey_model::rules::{EvictionRule, Id, Mends, ModelRules};
use groupkey_model::{ModelRun, runs, search, store_runs};

/// Searches the models: without arguments, the searches of docs/order.md; with --store, those of
/// docs/operate.md; with --members, one search of the order of events of your own. Ends with 1 if an
/// invariant breaks that should hold.
#[derive(Debug, Parser)]
#[command(name = "groupkey-model")]
struct Arguments {
    /// Also the searches that take minutes.
    #[arg(long)]
    long: bool,
    /// The searches of a service's store.
    #[arg(long, conflicts_with = "members")]
    store: bool,
    /// Members at first.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=4))]
    members: Option<Id>,
    /// What happened before.
    #[arg(long, value_enum, default_value = "quiet")]
    past: PastName,
    /// Dishonest devices.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    dishonest: Vec<Id>,
    /// Members that evict together; operators alone if absent.
    #[arg(long)]
    votes_needed: Option<u8>,
    /// The rules from before all mends.
    #[arg(long)]
    before: bool,
    /// The longest path; to the end of the budget if absent.
    #[arg(long)]
    depth: Option<usize>,
    /// Requests to join or to begin again.
    #[arg(long, default_value_t = 1)]
    requests: u8,
    /// Honest announcements.
    #[arg(long, default_value_t = 1)]
    announcements: u8,
    /// Lies.
    #[arg(long, default_value_t = 1)]
    lies: u8,
    /// Votes.
    #[arg(long, default_value_t = 0)]
    votes: u8,
    /// Operators' evictions.
    #[arg(long, default_value_t = 0)]
    evictions: u8,
    /// Operators' tickets.
    #[arg(long, default_value_t = 0)]
    tickets: u8,
    /// Restarts with memory.
    #[arg(long, default_value_t = 0)]
    restarts: u8,
    /// Restarts without memory.
    #[arg(long, default_value_t = 0)]
    losses: u8,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PastName {
    Quiet,
    Newcomer,
    Eviction,
    OldTicket,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let is_as_expected = match arguments.members {
        Some(members) => run_one(&arguments, members),
        None => {
            let runs = if arguments.store { store_runs() } else { runs() };
            run_all(runs, arguments.long)
        }
    };
    if is_as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_all(runs: Vec<ModelRun>, long: bool) -> bool {
    let mut is_as_expected = true;
    let mut rows = Vec::new();
    for run in runs.into_iter().filter(|run| long || !run.is_long) {
        let (title, rules, broken) = (run.title, run.rules, run.broken);
        let outcome = run.outcome();
        println!("{title}, {rules}: {outcome}");
        rows.push(outcome.row(title, rules));
        is_as_expected &= outcome.is_as_expected(broken);
    }
    println!("| the search | rules | states | breaks |\n|---|---|--:|---|");
    rows.iter().for_each(|row| println!("{row}"));
    is_as_expected
}

fn run_one(arguments: &Arguments, members: Id) -> bool {
    let &Arguments {
        requests,
        announcements,
        lies,
        votes,
        evictions,
        tickets,
        restarts,
        losses,
        ..
    } = arguments;
    let past = match arguments.past {
        PastName::Quiet => Past::Quiet,
        PastName::Newcomer => Past::Newcomer,
        PastName::Eviction => Past::Eviction,
        PastName::OldTicket => Past::OldTicket,
    };
    let scene = Scene {
        members,
        past,
        dishonest: arguments.dishonest.iter().copied().collect::<BTreeSet<_>>(),
        rules: ModelRules {
            evict: arguments.votes_needed.map_or(EvictionRule::Operators, EvictionRule::Members),
            mends: if arguments.before { Mends::NONE } else { Mends::ALL },
        },
        budget: Budget {
            requests,
            announcements,
            lies,
            votes,
            evictions,
            tickets,
            restarts,
            losses,
        },
    };
    let outcome = search(scene, arguments.depth, None);
    print!("{outcome}");
    outcome.violations.is_empty()
}
