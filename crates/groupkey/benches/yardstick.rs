//! The yardstick: what the controllers of every scheme take for a fleet of 55,000, in 55 subgroups of
//! 1,000 where a scheme has subgroups.
//!
//! Beside each time stands what the counted primitive operations cost by themselves in the same run,
//! and the ratio of the two. `cargo bench -p groupkey --bench yardstick [-- scheme]`

mod fleet;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use groupkey::catalogue::{Configuration, Profile, SCHEMES};
use groupkey::{Command, Error, MemberId, Operation};

use crate::fleet::{Fleet, Outboxes, Prices, Sample, ids, is_served, operations};

const MEMBERS: u32 = 55_000;

fn yardstick(criterion: &mut Criterion) {
    let prices = Prices::measure();
    for scheme in SCHEMES {
        for profile in Profile::ALL {
            let configuration = scheme.configuration(profile);
            // Those with pairings take longer by far: `boneh.rs`, `nishat.rs`.
            if is_served(&configuration) && !scheme.computes_pairings() {
                measure(criterion, &configuration, &prices);
            }
        }
    }
}

fn measure(criterion: &mut Criterion, configuration: &Configuration, prices: &Prices) {
    let name = format!("{} {}", configuration.scheme().id, configuration.profile().name());
    let mut group = criterion.benchmark_group(&name);
    group.sample_size(10).warm_up_time(Duration::from_millis(1));
    group.measurement_time(Duration::from_millis(500));
    for operation in operations(configuration) {
        let mut best = f64::INFINITY;
        let mut counted = 0.0;
        let mut run = Run::new(configuration);
        group.bench_function(operation.name(), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let Sample { nanoseconds, meter } = run.perform(configuration, operation);
                    if nanoseconds < best {
                        (best, counted) = (nanoseconds, prices.of(&meter));
                    }
                    total += Duration::from_nanos(nanoseconds as u64);
                }
                total
            });
        });
        if best.is_finite() {
            println!(
                "{name} {}: best {:.3} ms, counted primitives {:.3} ms, ratio {:.2}",
                operation.name(),
                best / 1e6,
                counted / 1e6,
                best / counted
            );
        }
    }
    group.finish();
}

/// A group to which the same operation is done again and again.
struct Run {
    fleet: Fleet,
    next: u32,
    leaver: u32,
}

impl Run {
    fn new(configuration: &Configuration) -> Self {
        let (fleet, _) = Self::founded(configuration, Outboxes::default());
        Self { fleet, next: MEMBERS, leaver: 0 }
    }

    fn perform(&mut self, configuration: &Configuration, operation: Operation) -> Sample {
        if operation == Operation::Create {
            let outboxes = std::mem::take(&mut self.fleet.outboxes);
            let (fleet, sample) = Self::founded(configuration, outboxes);
            self.fleet = fleet;
            return sample;
        }
        self.change(operation).unwrap_or_else(|_| {
            // A session that was planned is over, or no number is left for a joining member: another
            // group.
            *self = Self::new(configuration);
            self.change(operation).expect("a new group takes it")
        })
    }

    fn change(&mut self, operation: Operation) -> Result<Sample, Error> {
        match operation {
            Operation::Add => self.add(),
            Operation::Remove => {
                // Somebody comes for everybody who goes, so that the group keeps its size.
                self.add()?;
                // 7,919 is a prime, so that nobody is meant twice.
                self.leaver = (self.leaver + 7_919) % MEMBERS;
                self.fleet.try_step(Command::Remove(MemberId(self.leaver)))
            }
            _ => self.fleet.try_step(Command::Rekey),
        }
    }

    fn add(&mut self) -> Result<Sample, Error> {
        let newcomer = MemberId(self.next);
        self.next += 1;
        self.fleet.try_step(Command::Enroll(&[newcomer]))?;
        self.fleet.try_step(Command::Add(newcomer))
    }

    fn founded(configuration: &Configuration, outboxes: Outboxes) -> (Fleet, Sample) {
        let mut fleet = Fleet::new(configuration, true, outboxes);
        let ids = ids(MEMBERS);
        fleet.step(Command::Enroll(&ids));
        let sample = fleet.step(Command::Create(&ids));
        (fleet, sample)
    }
}

criterion_group!(benches, yardstick);
criterion_main!(benches);
