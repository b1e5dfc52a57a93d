//! What wrapping one key costs in each suite, beside the parts it is made of.
//!
//! `cargo bench -p groupkey --bench wrap`. The decision that rests on it is
//! ADR 5 in `docs/decisions.md`.

use std::hint::black_box;

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes_kw::KwAes128;
use criterion::{Criterion, criterion_group, criterion_main};
use groupkey::crypto::Suite;
use groupkey::protection::Protection;
use groupkey::{Context, Epoch, GroupId, Key, Outbox, PartyId, Setting};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

criterion_group!(benches, parts, suites);
criterion_main!(benches);

fn parts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parts");
    group.bench_function("AES-128, one block, fresh key", |bencher| {
        bencher.iter(|| {
            let mut block = [3; 16].into();
            Aes128::new(black_box(&[7; 16]).into()).encrypt_block(&mut block);
            block
        });
    });
    group.bench_function("AES-128 key wrap, one key, fresh key", |bencher| {
        bencher.iter(|| {
            let mut out = [0; 24];
            KwAes128::new(black_box(&[7; 16]).into()).wrap_key(&[3; 16], &mut out).map(<[u8]>::len)
        });
    });
    group.finish();
}

fn suites(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wrap one key through the context");
    for suite in Suite::ALL {
        group.bench_function(suite.name(), |bencher| {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let mut outbox = Outbox::new();
            let mut probe = ();
            let mut cx = Context::new(
                Setting::new(GroupId(1), suite),
                PartyId::Controller,
                Protection::None,
                &mut rng,
                0,
                &mut outbox,
                &mut probe,
            );
            let (kek, key) = (Key::from_bytes([7; 16]), Key::from_bytes([3; 16]));
            let mut out = Vec::new();
            bencher.iter(|| {
                out.clear();
                cx.wrap_keys(black_box(&kek), Epoch(1), 1, [&key], &mut out);
                out.len()
            });
        });
    }
    group.finish();
}
