//! How close controllers come to the cost of their cryptography.
//!
//! For every scheme with a controller: each operation at growing sizes, beside the cost of the
//! primitive operations that the step counted, each at the price that the primitive alone has in the
//! same run. The ratio of the two is what is left to gain. In hybrid schemes it is the controller's
//! and all subgroup controllers' work together.
//!
//! `cargo bench -p groupkey --bench controller -- [scheme ...] [--members 1000,55000]`

mod fleet;

use std::collections::HashSet;

use groupkey::catalogue::{Configuration, Profile, SCHEMES};
use groupkey::{Command, MemberId, Operation};

use crate::fleet::{Fleet, Outboxes, Prices, Sample, ids, is_served, operations};

/// A step is repeated until it took so long in all, but no less and no more often than this.
const ENOUGH_NANOSECONDS: f64 = 5e8;
const LEAST_ROUNDS: u32 = 5;
const MOST_ROUNDS: u32 = 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    // `cargo test` runs benches once to see that they work; that wants no large group.
    let quick = arguments.iter().any(|argument| argument == "--test");
    let wanted: Vec<&String> =
        arguments.iter().filter(|a| SCHEMES.iter().any(|scheme| scheme.id == **a)).collect();
    let members = match arguments.iter().position(|argument| argument == "--members") {
        Some(place) => arguments[place + 1].split(',').filter_map(|n| n.parse().ok()).collect(),
        None if quick => vec![2, 100],
        None => vec![2, 10, 100, 1_000, 10_000, 55_000, 1_000_000],
    };
    println!("scheme      operation    members  protection       time_us    counted_us   ratio");
    for scheme in SCHEMES {
        let configuration = scheme.configuration(Profile::Sound);
        let chosen = wanted.is_empty() || wanted.iter().any(|id| *id == scheme.id);
        if !chosen || !is_served(&configuration) {
            continue;
        }
        for &members in &members {
            for protected in [false, true] {
                measure(&configuration, members, protected);
            }
        }
    }
}

fn measure(configuration: &Configuration, members: u32, protected: bool) {
    let ids = ids(members);
    let mut gone = HashSet::new();
    let mut fleet = Fleet::new(configuration, protected, Outboxes::default());
    if fleet.try_step(Command::Enroll(&ids)).is_err() {
        return println!("{:<11} takes fewer than {members} members", configuration.scheme().id);
    }
    for operation in operations(configuration) {
        let mut samples = Samples(Vec::new());
        for round in 0..MOST_ROUNDS {
            if round >= LEAST_ROUNDS && samples.nanoseconds() > ENOUGH_NANOSECONDS {
                break;
            }
            let sample = match operation {
                Operation::Create => {
                    // The outbox keeps its memory, as a controller's does: getting it is the system's work.
                    fleet = Fleet::new(configuration, protected, fleet.outboxes);
                    fleet.step(Command::Enroll(&ids));
                    fleet.step(Command::Create(&ids))
                }
                Operation::Add => {
                    let newcomer = MemberId(members + round);
                    fleet.step(Command::Enroll(&[newcomer]));
                    fleet.step(Command::Add(newcomer))
                }
                Operation::Remove => {
                    let leaver = MemberId((round * 7919) % members);
                    if !gone.insert(leaver) {
                        continue;
                    }
                    fleet.step(Command::Remove(leaver))
                }
                _ => fleet.step(Command::Rekey),
            };
            samples.0.push(sample);
        }
        samples.print(configuration, operation, members, protected);
    }
}

struct Samples(Vec<Sample>);

impl Samples {
    fn nanoseconds(&self) -> f64 {
        self.0.iter().map(|sample| sample.nanoseconds).sum()
    }

    /// The fastest of all, because whatever else the machine does only adds.
    fn print(&self, of: &Configuration, operation: Operation, members: u32, protected: bool) {
        let prices = Prices::measure();
        let ratio = |sample: &Sample| sample.nanoseconds / prices.of(&sample.meter);
        let Some(best) = self.0.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b))) else { return };
        let (time, counted) = (best.nanoseconds, prices.of(&best.meter));
        println!(
            "{:<11} {:<9} {members:>10}  {:<10} {:>13.1} {:>13.1} {:>7.2}",
            of.scheme().id,
            operation.name(),
            if protected { "mac" } else { "none" },
            time / 1e3,
            counted / 1e3,
            time / counted
        );
    }
}
