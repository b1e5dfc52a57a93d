//! What computing in a group costs through [`Context`], beside the bare library's own operation in
//! the same run.
//!
//! `cargo bench -p groupkey --bench algebra`. After each time stands its ratio to the bare one: what
//! the door, the choice of the group and the place on the heap add. The two take turns, and the
//! ratio is of the fastest of many turns, so that what else the machine does counts less.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams, FixedMontyParams};
use crypto_bigint::{JacobiSymbol, Odd, U192, U256, U1024, U2048, U3072, Uint};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use groupkey::crypto::Suite;
use groupkey::crypto::group::{Element, ElementCheck};
use groupkey::protection::Protection;
use groupkey::{Context, Epoch, GroupId, Operation, Outbox, PartyId, Recipient, Setting};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

criterion_group!(benches, algebra);
criterion_main!(benches);

fn algebra(criterion: &mut Criterion) {
    for suite in Suite::ALL {
        let mut group = criterion.benchmark_group(suite.name());
        group.sample_size(10).warm_up_time(Duration::from_millis(1));
        group.measurement_time(Duration::from_millis(400));
        let mut pairs = Pairs { group, suite };
        match suite {
            Suite::Standard => pairs.compare(&Ristretto::new()),
            // The group of `standard`, and none.
            Suite::Constrained | Suite::Pq => {}
            Suite::Published => {
                pairs.compare(&Modp::<{ U1024::LIMBS }, { U192::LIMBS }>::new(160, false));
            }
            Suite::Published2048 => {
                pairs.compare(&Modp::<{ U2048::LIMBS }, { U256::LIMBS }>::new(256, false));
            }
            Suite::Modp2048 | Suite::Ffdhe2048 => {
                pairs.compare(&Modp::<{ U2048::LIMBS }, { U2048::LIMBS }>::new(2047, true));
            }
            Suite::Modp3072 | Suite::Ffdhe3072 => {
                pairs.compare(&Modp::<{ U3072::LIMBS }, { U3072::LIMBS }>::new(3071, true));
            }
        }
        pairs.group.finish();
    }
}

/// The operations of a library without anything of ours around them.
trait Bare {
    fn power(&self);
    fn generator_power(&self);
    fn multiply(&self);
    fn decode(&self);
}

struct Pairs<'a> {
    group: BenchmarkGroup<'a, WallTime>,
    suite: Suite,
}

impl Pairs<'_> {
    fn compare(&mut self, bare: &dyn Bare) {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (mut outbox, mut probe) = (Outbox::new(), ());
        let setting = Setting::new(GroupId(1), self.suite);
        let me = PartyId::Controller;
        let protection = Protection::None;
        let mut cx = Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
        let exponent = cx.random_exponent();
        let other = cx.generator_power(&exponent);
        let element = cx.power(&other, &exponent);
        cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0).element(&element).send();

        self.pair("power", || drop(black_box(cx.power(&element, &exponent))), || bare.power());
        self.pair(
            "generator power",
            || drop(black_box(cx.generator_power(&exponent))),
            || bare.generator_power(),
        );
        self.pair(
            "multiply",
            || drop(black_box(cx.multiply(&element, &other))),
            || {
                bare.multiply();
            },
        );

        let message = outbox.messages().next().expect("it was sent").bytes.to_vec();
        let bytes = &message[message.len() - Element::length(self.suite)..];
        let mut cx = Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
        let decode = || drop(black_box(cx.element(bytes, ElementCheck::Subgroup)));
        self.pair("decode and check", decode, || bare.decode());
    }

    /// Measures one operation through the context and bare, in turns.
    fn pair(&mut self, name: &str, mut ours: impl FnMut(), mut bare: impl FnMut()) {
        let mut best = [f64::INFINITY; 2];
        self.group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let ours = time(&mut ours, iterations);
                let times = [ours, time(&mut bare, iterations)];
                for (best, time) in best.iter_mut().zip(times) {
                    *best = best.min(time.as_secs_f64() * 1e9 / iterations as f64);
                }
                ours
            });
        });
        let [ours, bare] = best;
        if ours.is_finite() {
            let suite = self.suite.name();
            println!("{suite} {name}: {ours:.0} ns, bare {bare:.0} ns, ratio {:.2}", ours / bare);
        }
    }
}

fn time(work: &mut dyn FnMut(), iterations: u64) -> Duration {
    let started = Instant::now();
    (0..iterations).for_each(|_| work());
    started.elapsed()
}

/// curve25519-dalek.
struct Ristretto {
    scalar: Scalar,
    points: [RistrettoPoint; 2],
    encoded: CompressedRistretto,
}

impl Ristretto {
    fn new() -> Self {
        let mut bytes = [0; 64];
        ChaCha20Rng::seed_from_u64(2).fill_bytes(&mut bytes);
        let scalar = Scalar::from_bytes_mod_order_wide(&bytes);
        let point = RistrettoPoint::mul_base(&scalar);
        Self { scalar, points: [point, point * scalar], encoded: point.compress() }
    }
}

impl Bare for Ristretto {
    fn power(&self) {
        black_box(black_box(&self.points[0]) * black_box(&self.scalar));
    }

    fn generator_power(&self) {
        black_box(RistrettoPoint::mul_base(black_box(&self.scalar)));
    }

    fn multiply(&self) {
        black_box(black_box(&self.points[0]) + black_box(&self.points[1]));
    }

    fn decode(&self) {
        let point = black_box(&self.encoded).decompress();
        black_box(point.filter(|point| !point.is_identity()));
    }
}

/// crypto-bigint, modulo 2^bits - 1: Montgomery's arithmetic takes the same time for all moduli of
/// a length.
struct Modp<const L: usize, const M: usize> {
    exponent: Uint<M>,
    exponent_bits: u32,
    elements: [ConstMontyForm<Ones, L>; 2],
    encoded: Vec<u8>,
    is_safe: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ones;

impl<const L: usize> ConstMontyParams<L> for Ones {
    const LIMBS: usize = L;
    const PARAMS: FixedMontyParams<L> =
        FixedMontyParams::new_vartime(Uint::<L>::MAX.to_odd().expect_copied("odd"));
}

impl<const L: usize, const M: usize> Modp<L, M> {
    fn new(exponent_bits: u32, is_safe: bool) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let mut number = |bytes: usize| {
            let mut encoded = vec![0; bytes];
            rng.fill_bytes(&mut encoded);
            encoded
        };
        let exponent = Uint::<M>::from_be_slice(&number(Uint::<M>::BITS as usize / 8));
        let exponent = exponent.shr_vartime(Uint::<M>::BITS - exponent_bits);
        let encoded = number(Uint::<L>::BITS as usize / 8);
        let element = ConstMontyForm::new(&Uint::from_be_slice(&encoded));
        Self { exponent, exponent_bits, elements: [element, element.square()], encoded, is_safe }
    }
}

impl<const L: usize, const M: usize> Bare for Modp<L, M> {
    fn power(&self) {
        let base = black_box(&self.elements[0]);
        black_box(base.pow_bounded_exp(black_box(&self.exponent), self.exponent_bits));
    }

    fn generator_power(&self) {
        self.power();
    }

    fn multiply(&self) {
        black_box(black_box(&self.elements[0]).mul(black_box(&self.elements[1])));
    }

    fn decode(&self) {
        let value = Uint::<L>::from_be_slice(black_box(&self.encoded));
        let element = ConstMontyForm::<Ones, L>::new(&value);
        let modulus: &Odd<Uint<L>> = <Ones as ConstMontyParams<L>>::PARAMS.modulus();
        let is_member = if self.is_safe {
            value.jacobi_symbol_vartime(modulus) == JacobiSymbol::One
        } else {
            element.pow_vartime(&self.exponent) == ConstMontyForm::ONE
        };
        black_box((element, is_member));
    }
}
