//! How close the sponsor of a join in a Diffie-Hellman tree comes to the cost of its group operations.
//!
//! The best of some joins, beside what the counted exponentiations cost by themselves in the same run,
//! and the same with the elements that it reads and writes. Protection: none.
//!
//! `cargo bench -p groupkey --bench sponsor [-- --members 1000,55000]`

#[path = "sponsor/mod.rs"]
mod member;

use std::hint::black_box;
use std::time::Instant;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use groupkey::crypto::meter::Primitive;

use crate::member::Sponsor;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--test");
    let members = match arguments.iter().position(|argument| argument == "--members") {
        Some(place) => arguments[place + 1].split(',').filter_map(|n| n.parse().ok()).collect(),
        None if quick => vec![55],
        None => vec![55, 860, 55_000],
    };
    println!("members  exponentiations  read  written   time_us  exp_us  ratio  with coding");
    for members in members {
        let mut best = f64::INFINITY;
        let mut ratios = [f64::INFINITY; 2];
        let mut line = String::new();
        for _ in 0..if quick { 1 } else { 25 } {
            let mut sponsor = Sponsor::among(members);
            let started = Instant::now();
            sponsor.sponsor();
            let time = started.elapsed().as_nanos() as f64;
            black_box(&sponsor.outbox);
            let [generator, power, read, write] = prices();
            let calls = |primitive| sponsor.meter.tally(primitive).calls as f64;
            let exponentiations = calls(Primitive::ExponentiateGenerator) * generator
                + calls(Primitive::Exponentiate) * power;
            let coding =
                calls(Primitive::CheckElement) * read + calls(Primitive::EncodeElement) * write;
            let all = exponentiations + coding;
            ratios = [ratios[0].min(time / exponentiations), ratios[1].min(time / all)];
            if time < best {
                best = time;
                line = format!(
                    "{members:>7}  {:>15}  {:>4}  {:>7}  {:>8.1}  {:>6.1}",
                    sponsor.meter.exponentiations(),
                    calls(Primitive::CheckElement),
                    calls(Primitive::EncodeElement),
                    time / 1e3,
                    exponentiations / 1e3
                );
            }
        }
        println!("{line}  {:>5.2}  {:>11.2}", ratios[0], ratios[1]);
    }
}

/// What the generator's power, another element's, reading and writing an element cost by themselves: ns.
fn prices() -> [f64; 4] {
    let scalar = Scalar::from_bytes_mod_order([0x5a; 32]);
    let point = RistrettoPoint::mul_base(&scalar);
    let encoded = point.compress();
    [
        time(|| _ = black_box(RistrettoPoint::mul_base(black_box(&scalar)))),
        time(|| _ = black_box(black_box(&point) * black_box(&scalar))),
        time(|| {
            let read = CompressedRistretto::from_slice(black_box(encoded.as_bytes()));
            black_box(read.ok().and_then(|encoded| encoded.decompress()));
        }),
        time(|| _ = black_box(black_box(&point).compress())),
    ]
}

/// The least time of one call, over batches that the clock can resolve.
fn time(mut call: impl FnMut()) -> f64 {
    const BATCH: u32 = 20;
    let batches = (0..10).map(|_| {
        let started = Instant::now();
        (0..BATCH).for_each(|_| call());
        started.elapsed().as_nanos() as f64 / f64::from(BATCH)
    });
    batches.min_by(f64::total_cmp).unwrap_or(f64::NAN)
}
