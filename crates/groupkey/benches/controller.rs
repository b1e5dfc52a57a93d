//! How close a controller comes to the cost of its cryptography.
//!
//! For every scheme with a controller: creation, add and remove at growing sizes, beside the cost of
//! the primitive operations that the step counted, each at the price that the primitive alone has
//! in the same run. The ratio of the two is what is left to gain.
//!
//! `cargo bench -p groupkey --bench controller -- [scheme ...] [--members 1000,55000]`

use std::hint::black_box;
use std::time::Instant;

use aes_kw::KwAes128;
use groupkey::catalogue::{Configuration, Profile, SCHEMES};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::protection::{MacKey, Protection};
use groupkey::{Command, Context, MemberId, Outbox, Party, PartyId, Setting};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sha2::Sha256;

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
    for scheme in SCHEMES.iter().filter(|scheme| scheme.has_controller()) {
        if !wanted.is_empty() && !wanted.iter().any(|id| *id == scheme.id) {
            continue;
        }
        for &members in &members {
            for protected in [false, true] {
                measure(&scheme.configuration(Profile::Sound), members, protected);
            }
        }
    }
}

fn measure(configuration: &Configuration, members: u32, protected: bool) {
    let repetitions = (500_000 / members).clamp(5, 1_000);
    let mut bench = Bench::new(configuration, protected, Outbox::new());
    let ids: Vec<_> = (0..members).map(MemberId).collect();
    let mut creation = Samples::default();
    for _ in 0..repetitions {
        // The outbox keeps its memory, as a controller's does: getting it is the system's work.
        bench = Bench::new(configuration, protected, bench.outbox);
        bench.step(Command::Enroll(&ids));
        creation.push(bench.step(Command::Create(&ids)));
    }
    creation.print(configuration, "create", members, protected);
    let (mut adds, mut removals) = (Samples::default(), Samples::default());
    for round in 0..repetitions {
        let newcomer = MemberId(members + round);
        bench.step(Command::Enroll(&[newcomer]));
        adds.push(bench.step(Command::Add(newcomer)));
        let leaver = MemberId((round * 7919) % members);
        if members > 2 && bench.is_present(leaver) {
            removals.push(bench.step(Command::Remove(leaver)));
            bench.gone.push(leaver);
        }
    }
    adds.print(configuration, "add", members, protected);
    removals.print(configuration, "remove", members, protected);
}

/// A controller alone: its members do not exist.
struct Bench {
    controller: Box<dyn Party>,
    rng: ChaCha20Rng,
    mac: Option<MacKey>,
    outbox: Outbox,
    gone: Vec<MemberId>,
}

impl Bench {
    fn new(configuration: &Configuration, protected: bool, outbox: Outbox) -> Self {
        Self {
            controller: configuration.controller().expect("only schemes with a controller"),
            rng: ChaCha20Rng::seed_from_u64(1),
            mac: protected.then(|| MacKey::from_bytes([7; 32])),
            outbox,
            gone: Vec::new(),
        }
    }

    fn is_present(&self, member: MemberId) -> bool {
        !self.gone.contains(&member)
    }

    fn step(&mut self, command: Command<'_>) -> Sample {
        self.outbox.clear();
        let mut meter = Meter::new();
        let protection = self.mac.as_ref().map_or(Protection::None, Protection::Mac);
        let started = Instant::now();
        let mut cx = Context::new(
            Setting::default(),
            PartyId::Controller,
            protection,
            &mut self.rng,
            0,
            &mut self.outbox,
            &mut meter,
        );
        cx.command(&mut *self.controller, command).expect("the command is valid");
        let nanoseconds = started.elapsed().as_nanos() as f64;
        black_box(&self.outbox);
        Sample { nanoseconds, meter }
    }
}

struct Sample {
    nanoseconds: f64,
    meter: Meter,
}

#[derive(Default)]
struct Samples(Vec<Sample>);

impl Samples {
    fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// The fastest of all, because whatever else the machine does only adds.
    fn print(&self, configuration: &Configuration, operation: &str, members: u32, protected: bool) {
        let prices = Prices::measure();
        let ratio = |sample: &Sample| sample.nanoseconds / prices.of(&sample.meter);
        let Some(best) = self.0.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b))) else { return };
        let (time, counted) = (best.nanoseconds, prices.of(&best.meter));
        println!(
            "{:<11} {operation:<9} {members:>10}  {:<10} {:>13.1} {:>13.1} {:>7.2}",
            configuration.scheme().id,
            if protected { "mac" } else { "none" },
            time / 1e3,
            counted / 1e3,
            time / counted
        );
    }
}

/// What primitives cost by themselves, through the libraries that provide them: ns.
struct Prices {
    wrap: (f64, f64),
    random: f64,
    derive: f64,
    mac: (f64, f64),
}

impl Prices {
    fn measure() -> Self {
        let wrap_one = time(wrap::<16>);
        let wrap_nine = time(wrap::<144>);
        let per_key = (wrap_nine - wrap_one) / 8.0;
        let mac_short = time(|i| mac(i, &[0; 32]));
        let mac_long = time(|i| mac(i, &[0; 1056]));
        let per_byte = (mac_long - mac_short) / 1024.0;
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        Self {
            wrap: (wrap_one - per_key, per_key),
            random: time(|_| {
                let mut key = [0; 16];
                rng.fill_bytes(&mut key);
                black_box(key);
            }),
            derive: time(|i| {
                let mut key = [0; 16];
                let hkdf = Hkdf::<Sha256>::new(None, black_box(&[i as u8; 16]));
                hkdf.expand(b"a label of usual length and a context", &mut key).unwrap();
                black_box(key);
            }),
            mac: (mac_short - 32.0 * per_byte, per_byte),
        }
    }

    fn of(&self, meter: &Meter) -> f64 {
        let linear = |primitive, (per_call, per_unit): (f64, f64)| {
            let tally = meter.tally(primitive);
            tally.calls as f64 * per_call + tally.amount as f64 * per_unit
        };
        linear(Primitive::Wrap, self.wrap)
            + linear(Primitive::Mac, self.mac)
            + linear(Primitive::Random, (self.random, 0.0))
            + linear(Primitive::Derive, (self.derive, 0.0))
    }
}

fn wrap<const LENGTH: usize>(round: u32) {
    let kek = [round as u8; 16];
    let keys = [round as u8; LENGTH];
    let mut out = [0; 160];
    let wrapped = KwAes128::new(black_box(&kek).into()).wrap_key(&keys, &mut out);
    black_box(wrapped.unwrap());
}

fn mac(round: u32, message: &[u8]) {
    let mut mac = Hmac::<Sha256>::new_from_slice(black_box(&[round as u8; 32])).unwrap();
    mac.update(message);
    black_box(mac.finalize());
}

/// The least time of one call, over batches that the clock can resolve.
fn time(mut call: impl FnMut(u32)) -> f64 {
    const BATCH: u32 = 1_000;
    let batches = (0..40).map(|_| {
        let started = Instant::now();
        (0..BATCH).for_each(&mut call);
        started.elapsed().as_nanos() as f64 / f64::from(BATCH)
    });
    batches.min_by(f64::total_cmp).unwrap_or(f64::NAN)
}
