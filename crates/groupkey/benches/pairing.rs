//! What pairings and exponentiations cost through the context, beside the same by the library that
//! provides them.
//!
//! `cargo bench -p groupkey --bench pairing`

use std::hint::black_box;

use bls12_381::{
    G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Gt, Scalar, multi_miller_loop,
};
use criterion::{Criterion, criterion_group, criterion_main};
use groupkey::crypto::group::ElementCheck;
use groupkey::crypto::pairing::G1;
use groupkey::protection::Protection;
use groupkey::{Context, Epoch, GroupId, Operation, Outbox, PartyId, Recipient, Setting, Suite};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

criterion_group!(benches, library, context);
criterion_main!(benches);

fn library(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bls12_381 itself");
    let scalar = Scalar::from_bytes_wide(&[7; 64]);
    let p = G1Affine::from(G1Projective::generator() * scalar);
    let q = G2Affine::from(G2Projective::generator() * scalar);
    let prepare = |q: &G2Affine| G2Prepared::from(*q);
    group.bench_function("two Miller loops", |bencher| {
        bencher.iter(|| {
            let prepared = [prepare(black_box(&q)), prepare(&q)];
            multi_miller_loop(&[(&p, &prepared[0]), (&p, &prepared[1])])
        });
    });
    let loops = multi_miller_loop(&[(&p, &prepare(&q))]);
    group.bench_function("final exponentiation", |bencher| {
        bencher.iter(|| black_box(&loops).final_exponentiation());
    });
    group.bench_function("product of two pairings", |bencher| {
        bencher.iter(|| {
            let prepared = [prepare(black_box(&q)), prepare(&q)];
            multi_miller_loop(&[(&p, &prepared[0]), (&p, &prepared[1])]).final_exponentiation()
        });
    });
    group.bench_function("power in G1", |bencher| {
        bencher.iter(|| G1Affine::from(black_box(&p) * scalar));
    });
    group.bench_function("power in G2", |bencher| {
        bencher.iter(|| G2Affine::from(black_box(&q) * scalar));
    });
    let target: Gt = loops.final_exponentiation();
    group.bench_function("power in GT", |bencher| bencher.iter(|| black_box(&target) * scalar));
    let bytes = p.to_compressed();
    group.bench_function("check in G1", |bencher| {
        bencher.iter(|| G1Affine::from_compressed(black_box(&bytes)).unwrap());
    });
    let bytes = q.to_compressed();
    group.bench_function("check in G2", |bencher| {
        bencher.iter(|| G2Affine::from_compressed(black_box(&bytes)).unwrap());
    });
    group.finish();
}

fn context(criterion: &mut Criterion) {
    for suite in [Suite::Standard, Suite::Published] {
        let mut group = criterion.benchmark_group(format!("through the context, {}", suite.name()));
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut outbox = Outbox::new();
        let mut probe = ();
        let setting = Setting::new(GroupId(1), suite);
        let me = PartyId::Controller;
        let mut cx =
            Context::new(setting, me, Protection::None, &mut rng, 0, &mut outbox, &mut probe);
        let (first, second) = (cx.g1_generator(), cx.g2_generator());
        let scalar = cx.random_scalar();
        let p = cx.g1_power(&first, &scalar);
        let q = cx.g2_power(&second, &scalar);
        group.bench_function("one pairing", |bencher| {
            bencher.iter(|| cx.pairings(&[(black_box(&p), &q)]));
        });
        group.bench_function("product of two pairings", |bencher| {
            bencher.iter(|| cx.pairings(&[(black_box(&p), &q), (&p, &q)]));
        });
        group.bench_function("power in G1", |bencher| {
            bencher.iter(|| cx.g1_power(black_box(&p), &scalar));
        });
        group.bench_function("power in G2", |bencher| {
            bencher.iter(|| cx.g2_power(black_box(&q), &scalar));
        });
        let target = cx.pairings(&[(&p, &q)]);
        group.bench_function("power in GT", |bencher| {
            bencher.iter(|| cx.gt_power(black_box(&target), &scalar));
        });
        group.bench_function("product in GT", |bencher| {
            bencher.iter(|| cx.gt_product(black_box(&target), &target));
        });
        group.bench_function("key from GT", |bencher| {
            bencher.iter(|| cx.derive_from_gt(black_box(&target), "", &[]));
        });
        group.bench_function("table in G1", |bencher| bencher.iter(|| cx.g1_table(black_box(&p))));
        let table = cx.g1_table(&p);
        let scalars: Vec<_> = (0..256).map(|_| cx.random_scalar()).collect();
        group.bench_function("256 powers in G1 from the table", |bencher| {
            bencher.iter(|| cx.g1_powers(black_box(&table), &scalars));
        });
        let many: Vec<G1> = cx.g1_powers(&table, &scalars);
        group.bench_function("one product in G1", |bencher| {
            bencher.iter(|| cx.g1_product(black_box(&p), &many[..1]));
        });
        group.bench_function("256 products in G1", |bencher| {
            bencher.iter(|| cx.g1_product(black_box(&p), &many));
        });
        group.bench_function("one product in G2", |bencher| {
            bencher.iter(|| cx.g2_product(black_box(&q), [&q]));
        });
        group.bench_function("inverse of a scalar", |bencher| {
            bencher.iter(|| cx.invert_scalar(black_box(&scalar)));
        });
        let encoded = |work: &dyn Fn(&mut Context<'_>)| {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let mut outbox = Outbox::new();
            let mut probe = ();
            work(&mut Context::new(
                setting,
                me,
                Protection::None,
                &mut rng,
                0,
                &mut outbox,
                &mut probe,
            ));
            let sent = outbox.messages().next().unwrap();
            sent.bytes[sent.bytes.len() - sent.body_bytes..].to_vec()
        };
        let one = encoded(&|cx| {
            cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0).g1(&p).send();
        });
        let two = encoded(&|cx| {
            cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0).g2(&q).send();
        });
        let [one, two] =
            [&one, &two].map(|body| groupkey::author::Reader::new(body).bytes().unwrap());
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut outbox = Outbox::new();
        let mut cx =
            Context::new(setting, me, Protection::None, &mut rng, 0, &mut outbox, &mut probe);
        group.bench_function("check in G1", |bencher| {
            bencher.iter(|| cx.g1(black_box(one), ElementCheck::Subgroup).unwrap());
        });
        group.bench_function("check in G2", |bencher| {
            bencher.iter(|| cx.g2(black_box(two), ElementCheck::Subgroup).unwrap());
        });
        group.finish();
    }
}
