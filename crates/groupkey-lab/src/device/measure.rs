//! What a primitive costs by itself on the machine that this runs on.
//!
//! A cost is measured through the door that schemes use, [`Context`], less the framing of a message
//! around it. Each figure is from the fastest of several batches, so that what else the machine does
//! counts less; but primes, which take now longer, now shorter to find, from all of them together.

use std::hint::black_box;
use std::time::{Duration, Instant};

use groupkey::context::Draft;
use groupkey::credentials::Credentials;
use groupkey::crypto::group::{Check, Element, Exponent};
use groupkey::crypto::integer::{Integer, Prime};
use groupkey::crypto::meter::Primitive;
use groupkey::crypto::pairing::{G1, G2};
use groupkey::protection::Guard;
use groupkey::{
    Channel, Context, Epoch, Error, Footprint, GroupId, Input, Key, MemberId, Operation, Outbox,
    Party, PartyId, Recipient, Setting, Suite,
};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

/// Measures the primitives of one suite.
pub struct Workbench<'r> {
    /// The algorithms.
    pub suite: Suite,
    /// How much work goes into a figure.
    pub effort: Effort,
    /// Makes the randomness that steps draw from; drawing is part of what they cost.
    pub randomness: &'r dyn Fn() -> Box<dyn CryptoRng>,
}

/// How much work goes into a figure: a line takes two of these, and framing to subtract another two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Batches, of which the fastest counts.
    pub batches: u32,
    /// How long a batch takes, about.
    pub batch: Duration,
}

/// What a primitive costs: so much a call, and so much a unit of the call's amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Price {
    /// Time of a call (ns).
    pub per_call_ns: f64,
    /// Time of a unit (ns); what a unit is, [`Primitive`] tells.
    pub per_unit_ns: f64,
}

impl Effort {
    /// For a profile that others use: about a second for a primitive.
    pub const THOROUGH: Self = Self { batches: 25, batch: Duration::from_millis(10) };

    /// For figures that one run needs: some 30 ms for a primitive.
    pub const QUICK: Self = Self { batches: 9, batch: Duration::from_millis(1) };
}

/// Few and many units, between which a line is drawn.
const KEYS: [usize; 2] = [1, 33];
const BYTES: [usize; 2] = [16, 4_112];
const MANY: usize = 65;

impl Workbench<'_> {
    /// What a primitive costs here.
    pub fn price(&self, primitive: Primitive) -> Price {
        let (per_call, per_unit) = self.cost(primitive);
        // What is too cheap for the clock may come out below nothing.
        Price { per_call_ns: per_call.max(0.0), per_unit_ns: per_unit.max(0.0) }
    }

    /// Time of a call and of a unit (ns).
    fn cost(&self, primitive: Primitive) -> (f64, f64) {
        let one_key = Key::default();
        match primitive {
            Primitive::Random => (self.time(Guard::None, |cx| keep(cx.random_key())), 0.0),
            Primitive::Wrap => line(KEYS, |count| {
                let keys = vec![Key::default(); count];
                let wrapped = self.time(Guard::None, |cx| send_wrapped(cx, &keys));
                let bytes = vec![0; self.wrapped_length(count)];
                wrapped - self.time(Guard::None, |cx| send_bytes(cx, &bytes))
            }),
            Primitive::Unwrap => line(KEYS, |count| {
                let keys = vec![Key::default(); count];
                let message = self.sent(Guard::None, |cx| send_wrapped(cx, &keys));
                let length = self.wrapped_length(count);
                let wrapped = &message[message.len() - length..];
                let mut opened = keys.clone();
                self.time(Guard::None, |cx| {
                    cx.unwrap_keys(&one_key, Epoch(1), 0, wrapped, &mut opened)
                        .expect("just wrapped");
                })
            }),
            Primitive::Derive => line(BYTES, |bytes| {
                let context = vec![0; bytes - Key::BYTES];
                self.time(Guard::None, |cx| keep(cx.derive(&one_key, "", &context)))
            }),
            Primitive::Hash => (self.time(Guard::None, |cx| keep(cx.hash(&one_key, ""))), 0.0),
            Primitive::Seal => line(BYTES, |bytes| {
                let message = vec![0; bytes];
                self.time(Guard::None, |cx| {
                    let mut content = message.clone();
                    cx.seal(&one_key, 0, &[], &mut content).expect("it is short");
                    keep(content);
                })
            }),
            Primitive::Unseal => line(BYTES, |bytes| {
                let mut sealed = vec![0; bytes];
                self.once(|cx| cx.seal(&one_key, 0, &[], &mut sealed)).expect("it is short");
                self.time(Guard::None, |cx| {
                    let mut content = sealed.clone();
                    cx.unseal(&one_key, 0, &[], &mut content).expect("just sealed");
                    keep(content);
                })
            }),
            Primitive::Mac => self.protection(Guard::Mac),
            Primitive::Sign => self.protection(Guard::Signature),
            Primitive::Verify => line(BYTES, |bytes| {
                let bytes = vec![0; bytes];
                let check = |guard| {
                    let message = self.sent(guard, |cx| send_bytes(cx, &bytes));
                    self.time(guard, |cx| {
                        cx.deliver(&mut Idle, Channel::Open, &message).expect("just sent")
                    })
                };
                check(Guard::Signature) - check(Guard::None)
            }),
            Primitive::ExponentiateGenerator => {
                let exponent = self.once(random_exponent);
                (self.time(Guard::None, |cx| keep(cx.generator_power(&exponent))), 0.0)
            }
            Primitive::Exponentiate => {
                let (exponent, element) = self.once(|cx| {
                    let exponent = random_exponent(cx);
                    let element = cx.generator_power(&exponent);
                    (exponent, element)
                });
                (self.time(Guard::None, |cx| keep(cx.power(&element, &exponent))), 0.0)
            }
            Primitive::MultiplyElements => {
                let (a, b) = self.once(two_elements);
                (self.time(Guard::None, |cx| keep(cx.multiply(&a, &b))), 0.0)
            }
            Primitive::DivideElements => {
                let (a, b) = self.once(two_elements);
                (self.time(Guard::None, |cx| keep(cx.divide(&a, &b))), 0.0)
            }
            Primitive::InvertExponent => {
                let exponent = self.once(random_exponent);
                (self.time(Guard::None, |cx| keep(cx.inverse(&exponent))), 0.0)
            }
            Primitive::CheckElement => {
                let message = self.sent(Guard::None, |cx| {
                    let exponent = random_exponent(cx);
                    let element = cx.generator_power(&exponent);
                    let mut draft = cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0);
                    draft.element(&element).send();
                });
                let bytes = &message[message.len() - Element::length(self.suite)..];
                (self.time(Guard::None, |cx| keep(cx.element(bytes, Check::Subgroup))), 0.0)
            }
            // Elements are read in one suite only, and the check of their order is a power.
            Primitive::CheckGt if self.suite != Suite::Published => (0.0, 0.0),
            Primitive::CheckGt => self.cost(Primitive::ExponentiateGt),
            Primitive::GeneratePrime => (self.mean_time(|cx| keep(cx.random_prime())), 0.0),
            Primitive::MultiplyPrimes => self.line_of_integers(|cx, primes, _| {
                keep(cx.multiply_primes(primes));
            }),
            Primitive::MultiplyInteger => self.line_of_integers(|cx, primes, product| {
                keep(cx.multiply_by_prime(product, &primes[0]));
            }),
            Primitive::DivideInteger => self.line_of_integers(|cx, primes, product| {
                keep(cx.short_of_multiple(product, &primes[0]));
            }),
            _ => self.pairing_cost(primitive),
        }
    }

    /// The same, of what has to do with pairings.
    fn pairing_cost(&self, primitive: Primitive) -> (f64, f64) {
        let (p, q, gt, scalar) = self.once(|cx| {
            let scalar = cx.random_scalar();
            let (first, second) = (cx.g1_generator(), cx.g2_generator());
            let (p, q) = (cx.g1_power(&first, &scalar), cx.g2_power(&second, &scalar));
            let gt = cx.pairings(&[(&p, &q)]);
            (p, q, gt, scalar)
        });
        let time = |work: &mut dyn FnMut(&mut Context<'_>)| self.time(Guard::None, work);
        let once = |work: &mut dyn FnMut(&mut Context<'_>)| (time(work), 0.0);
        match primitive {
            Primitive::InvertScalar => once(&mut |cx| keep(cx.invert_scalar(&scalar))),
            Primitive::TabulateG1 => once(&mut |cx| keep(cx.g1_table(&p))),
            Primitive::ExponentiateG1Fixed => {
                let table = self.once(|cx| cx.g1_table(&p));
                let scalars = self.once(|cx| [(); MANY].map(|()| cx.random_scalar()));
                line([1, MANY], |count| {
                    time(&mut |cx| keep(cx.g1_powers(&table, &scalars[..count])))
                })
            }
            Primitive::ExponentiateG1 => once(&mut |cx| keep(cx.g1_power(&p, &scalar))),
            Primitive::ExponentiateG2 => once(&mut |cx| keep(cx.g2_power(&q, &scalar))),
            Primitive::ExponentiateGt => once(&mut |cx| keep(cx.gt_power(&gt, &scalar))),
            Primitive::MultiplyG1 => line([1, MANY], |count| {
                time(&mut |cx| keep(cx.g1_product(&p, std::iter::repeat_n(&p, count))))
            }),
            Primitive::MultiplyG2 => line([1, MANY], |count| {
                time(&mut |cx| keep(cx.g2_product(&q, std::iter::repeat_n(&q, count))))
            }),
            Primitive::MultiplyGt => once(&mut |cx| keep(cx.gt_product(&gt, &gt))),
            // The two are always together: what is there once counts as final exponentiation.
            Primitive::MillerLoop => {
                let (_, pair) = line([1, 2], |count| {
                    time(&mut |cx| keep(cx.pairings(&[(&p, &q); 2][..count])))
                });
                (0.0, pair)
            }
            Primitive::FinalExponentiation => {
                let (rest, _) = line([1, 2], |count| {
                    time(&mut |cx| keep(cx.pairings(&[(&p, &q); 2][..count])))
                });
                (rest, 0.0)
            }
            Primitive::CheckG1 => {
                let bytes = self.body(&|draft| _ = draft.g1(&p), G1::length(self.suite));
                once(&mut |cx| keep(cx.g1(&bytes, Check::Subgroup)))
            }
            Primitive::CheckG2 => {
                let bytes = self.body(&|draft| _ = draft.g2(&q), G2::length(self.suite));
                once(&mut |cx| keep(cx.g2(&bytes, Check::Subgroup)))
            }
            _ => unreachable!("the others have nothing to do with pairings"),
        }
    }

    /// The last so many bytes of a message with what `write` writes.
    fn body(&self, write: &dyn Fn(&mut Draft<'_, '_>), length: usize) -> Vec<u8> {
        let message = self.sent(Guard::None, |cx| {
            let mut draft = cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0);
            write(&mut draft);
            draft.send();
        });
        message[message.len() - length..].to_vec()
    }

    /// Of work on primes and their product, by the product's bytes.
    fn line_of_integers(
        &self,
        mut work: impl FnMut(&mut Context<'_>, &[Prime], &Integer),
    ) -> (f64, f64) {
        let bytes_each = Prime::length(self.suite);
        line([16, 1_024].map(|count| count * bytes_each), |bytes| {
            let count = bytes / bytes_each;
            let primes: Vec<_> = self.once(|cx| (0..count).map(|_| cx.random_prime()).collect());
            let product = self.once(|cx| cx.multiply_primes(&primes));
            self.time(Guard::None, |cx| work(cx, &primes, &product))
        })
    }

    /// What protecting a message adds to sending it.
    fn protection(&self, guard: Guard) -> (f64, f64) {
        line(BYTES, |bytes| {
            let bytes = vec![0; bytes];
            let send = |guard| self.time(guard, |cx| send_bytes(cx, &bytes));
            send(guard) - send(Guard::None)
        })
    }

    /// Time of one call of `work` in the fastest batch (ns).
    fn time(&self, guard: Guard, work: impl FnMut(&mut Context<'_>)) -> f64 {
        self.batches(guard, work).fold(f64::INFINITY, f64::min)
    }

    /// Time of one call of `work` in all batches together (ns).
    fn mean_time(&self, work: impl FnMut(&mut Context<'_>)) -> f64 {
        self.batches(Guard::None, work).sum::<f64>() / f64::from(self.effort.batches)
    }

    /// Time of one call of `work` in each batch (ns).
    fn batches(
        &self,
        guard: Guard,
        mut work: impl FnMut(&mut Context<'_>),
    ) -> impl Iterator<Item = f64> {
        let mut desk = Desk::new(self, guard);
        let mut seconds = move |calls: u32| {
            let started = Instant::now();
            (0..calls).for_each(|_| desk.step(&mut work));
            started.elapsed().as_secs_f64() / f64::from(calls)
        };
        let wanted = self.effort.batch.as_secs_f64();
        let calls = (wanted / seconds(3).max(1e-7)).clamp(1.0, 100_000.0) as u32;
        (0..self.effort.batches).map(move |_| seconds(calls) * 1e9)
    }

    /// The message that `work` sends.
    fn sent(&self, guard: Guard, work: impl FnOnce(&mut Context<'_>)) -> Vec<u8> {
        let mut desk = Desk::new(self, guard);
        desk.step(work);
        let message = desk.outbox.messages().next().expect("it sends one");
        message.bytes.to_vec()
    }

    fn wrapped_length(&self, keys: usize) -> usize {
        self.once(|cx| cx.wrapped_length(keys))
    }

    fn once<T>(&self, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        Desk::new(self, Guard::None).step(work)
    }
}

impl std::fmt::Debug for Workbench<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workbench")
            .field("suite", &self.suite)
            .field("effort", &self.effort)
            .finish_non_exhaustive()
    }
}

/// Where a party works: all that a context borrows.
struct Desk {
    suite: Suite,
    credentials: Credentials,
    rng: Box<dyn CryptoRng>,
    outbox: Outbox,
}

impl Desk {
    fn new(bench: &Workbench<'_>, guard: Guard) -> Self {
        let mut credentials = Credentials::new(guard, 1);
        credentials.issue(ME);
        Self { suite: bench.suite, credentials, rng: (bench.randomness)(), outbox: Outbox::new() }
    }

    fn step<T>(&mut self, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        self.outbox.clear();
        work(&mut Context::new(
            Setting { group: GroupId(1), suite: self.suite },
            ME,
            self.credentials.protection(ME),
            &mut *self.rng,
            0,
            &mut self.outbox,
            &mut (),
        ))
    }
}

/// Takes every message and does nothing with it.
struct Idle;

impl Party for Idle {
    fn step(&mut self, _: &mut Context<'_>, _: Input<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        None
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

const ME: PartyId = PartyId::Member(MemberId(1));

fn random_exponent(cx: &mut Context<'_>) -> Exponent {
    cx.random_exponent()
}

fn two_elements(cx: &mut Context<'_>) -> (Element, Element) {
    let [a, b] = [random_exponent(cx), random_exponent(cx)];
    (cx.generator_power(&a), cx.generator_power(&b))
}

fn send_bytes(cx: &mut Context<'_>, bytes: &[u8]) {
    cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0).bytes(bytes).send();
}

fn send_wrapped(cx: &mut Context<'_>, keys: &[Key]) {
    let mut draft = cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0);
    draft.wrapped(&Key::default(), Epoch(1), 0, keys).send();
}

/// Keeps the compiler from leaving out what nobody looks at.
fn keep<T>(result: T) {
    drop(black_box(result));
}

/// The line through a few and many units: time of a call, time of a unit.
fn line([few, many]: [usize; 2], mut time: impl FnMut(usize) -> f64) -> (f64, f64) {
    let (short, long) = (time(few), time(many));
    let per_unit = (long - short) / (many - few) as f64;
    (short - per_unit * few as f64, per_unit)
}
