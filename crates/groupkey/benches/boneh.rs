//! The controller of Boneh+ with thin clients, as it should be run, with 55,000 members: time beside what
//! the counted operations cost by themselves in the same run. The yardstick leaves Boneh+ out, because its
//! published form takes the square of the members.
//!
//! `cargo bench -p groupkey --bench boneh [-- members]`

mod fleet;

use std::hint::black_box;
use std::time::Instant;

use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::protection::Protection;
use groupkey::{Command, Context, GroupId, MemberId, Outbox, PartyId, Setting, Suite};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::fleet::{Fleet, Outboxes, Sample, ids};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let members = match arguments.iter().find_map(|argument| argument.parse().ok()) {
        Some(members) => members,
        // `cargo test` runs benches once to see that they work.
        None if arguments.iter().any(|argument| argument == "--test") => 20,
        None => 55_000,
    };
    let prices = Prices::measure();
    let configuration = scheme("boneh-thin").expect("it is there").configuration(Profile::Sound);
    let mut fleet = Fleet::new(&configuration, true, Outboxes::default());
    let everybody = ids(members);
    println!("boneh-thin sound, {members} members, ms");
    println!("{:<8} {:>12} {:>12} {:>6}", "step", "time", "counted", "ratio");
    let show = |step: &str, sample: &Sample| {
        let (time, counted) = (sample.nanoseconds, prices.of(&sample.meter));
        println!("{step:<8} {:>12.3} {:>12.3} {:>6.2}", time / 1e6, counted / 1e6, time / counted);
    };
    show("enrol", &fleet.step(Command::Enroll(&everybody)));
    show("create", &fleet.step(Command::Create(&everybody)));
    fleet.step(Command::Enroll(&[MemberId(members)]));
    show("add", &fleet.step(Command::Add(MemberId(members))));
    show("remove", &fleet.step(Command::Remove(MemberId(0))));
}

/// What the group operations cost by themselves (ns): a power of a tabulated base, a power in each group.
struct Prices {
    table: f64,
    fixed: f64,
    g1: f64,
    g2: f64,
}

impl Prices {
    fn measure() -> Self {
        let setting = Setting::new(GroupId(1), Suite::Standard);
        let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(1), Outbox::new());
        let mut probe = ();
        let me = PartyId::Controller;
        let protection = Protection::None;
        let mut cx = Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
        let (g1, g2) = (cx.g1_generator(), cx.g2_generator());
        let table = cx.g1_table(&g1);
        let scalars: Vec<_> = (0..256).map(|_| cx.random_scalar()).collect();
        Self {
            table: least(|| _ = black_box(cx.g1_table(&g1))),
            fixed: least(|| _ = black_box(cx.g1_powers(&table, &scalars))) / 256.0,
            g1: least(|| _ = black_box(cx.g1_power(&g1, &scalars[0]))),
            g2: least(|| _ = black_box(cx.g2_power(&g2, &scalars[0]))),
        }
    }

    fn of(&self, meter: &Meter) -> f64 {
        let of = |primitive, price: f64| meter.tally(primitive).amount as f64 * price;
        of(Primitive::TabulateG1, self.table)
            + of(Primitive::ExponentiateG1Fixed, self.fixed)
            + of(Primitive::ExponentiateG1, self.g1)
            + of(Primitive::ExponentiateG2, self.g2)
    }
}

/// The least of several times (ns).
fn least(mut work: impl FnMut()) -> f64 {
    let times = (0..10).map(|_| {
        let started = Instant::now();
        work();
        started.elapsed().as_nanos() as f64
    });
    times.min_by(f64::total_cmp).unwrap_or(f64::NAN)
}
