//! The cost of a primitive by itself on the machine that runs this code. The machine provides the
//! stopwatch: a host has a clock, an emulated device counts instructions.
//!
//! The cost is measured through the interface that schemes use, [`Context`], less the framing of a
//! message around it.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::hint::black_box;

use groupkey::author::Draft;
use groupkey::crypto::group::{Element, ElementCheck, Exponent};
use groupkey::crypto::integer::{Integer, Prime};
use groupkey::crypto::meter::{Meter, Primitive, Probe};
use groupkey::crypto::pairing::{G1, G2};
use groupkey::messages::{self, Messenger};
use groupkey::protection::Guard;
use groupkey::{
    Channel, Context, Epoch, Error, Footprint, GroupId, Input, Key, MemberId, Operation, Outbox,
    Party, PartyId, Recipient, Setting, Suite,
};
use rand_core::CryptoRng;

use crate::credentials::Credentials;

/// Measures the primitives of one suite.
pub struct Workbench<'r> {
    /// The algorithms.
    pub suite: Suite,
    /// The stopwatch that measures.
    pub stopwatch: &'r dyn Stopwatch,
    /// Makes the generator that steps draw from. Drawing is part of their cost.
    pub randomness: &'r dyn Fn() -> Box<dyn CryptoRng>,
}

/// Measures work that can be repeated, in a unit of its own.
pub trait Stopwatch {
    /// Returns the cost of one call.
    fn one(&self, work: &mut dyn FnMut()) -> f64;

    /// Returns the average cost of one call, for work whose cost varies.
    fn mean(&self, work: &mut dyn FnMut()) -> f64;
}

/// The cost of a primitive: one part per call, and one part per unit of the call's amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredCost {
    /// The cost of a call.
    pub per_call: f64,
    /// The cost of a unit. [`Primitive`] says what a unit is.
    pub per_unit: f64,
}

/// What a party does with a message besides the primitives. The amount is bytes of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Handling {
    /// A message of the scheme is decoded and given to the party.
    Receive,
    /// A message of the scheme is written into the outbox.
    Send,
    /// A member's message to the group is built.
    Encrypt,
    /// A member's message to the group is taken apart.
    Decrypt,
}

impl Handling {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Receive, Self::Send, Self::Encrypt, Self::Decrypt];

    /// Returns the name used in device profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Send => "send",
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        }
    }
}

/// Returns the primitives that are a suite's own. If a suite differs from `published` only in the
/// Diffie-Hellman group, these are the primitives of that group. `pq` differs from `standard` in
/// signatures and key encapsulation, which counts as powers. Of the other suites, they are all primitives.
pub fn own_primitives(suite: Suite) -> impl Iterator<Item = Primitive> {
    Primitive::ALL.into_iter().filter(move |primitive| match suite {
        Suite::Standard | Suite::Constrained | Suite::Published => true,
        Suite::Pq => matches!(
            primitive,
            Primitive::Sign
                | Primitive::Verify
                | Primitive::ExponentiateGenerator
                | Primitive::Exponentiate
                | Primitive::CheckElement
        ),
        _ => primitive.is_of_group(),
    })
}

/// Returns whether a board can measure the primitive: 60 KiB of heap are enough. Tables of pairings and
/// long primes need more than 200 KiB, keys of ML-DSA-65 more than 100 KiB.
pub fn fits_boards(suite: Suite, primitive: Primitive) -> bool {
    !primitive.is_of_pairing() && !primitive.is_of_integers() && suite != Suite::Pq
}

/// Few and many units. A line through the two gives the cost.
const KEYS: [usize; 2] = [1, 33];
const BYTES: [usize; 2] = [16, 4_112];
const MANY: usize = 65;

/// How many messages are signed for an average, and how many of them between two looks at the stopwatch:
/// an emulated device's has no room for more.
const SIGNED: usize = 128;
const BATCH: usize = 16;

impl Workbench<'_> {
    /// Returns the cost of a primitive on this machine.
    pub fn cost(&self, primitive: Primitive) -> MeasuredCost {
        let (per_call, per_unit) = self.line_of(primitive);
        // The result for a primitive that is too cheap for the stopwatch may be below zero.
        MeasuredCost { per_call: per_call.max(0.0), per_unit: per_unit.max(0.0) }
    }

    /// Returns the cost of handling a message on this machine, without its protection and without
    /// what encrypts it.
    pub fn handling(&self, handling: Handling) -> MeasuredCost {
        let sealing = |length: usize| {
            let (mut messenger, content) = (self.messenger(), vec![0; length]);
            let bytes = self.once(|cx| messenger.seal(cx, &content).expect("it has a key")).len();
            let cost = self.time(Guard::None, |cx| keep(messenger.seal(cx, &content)));
            (bytes, cost, self.cost(Primitive::Seal))
        };
        let points = BYTES.map(|length| match handling {
            Handling::Receive => {
                let message = self.sent(Guard::None, |cx| send_bytes(cx, &vec![0; length]));
                let cost = self.time(Guard::None, |cx| {
                    cx.deliver(&mut Idle, Channel::Open, &message).expect("just sent");
                });
                (message.len(), cost)
            }
            Handling::Send => {
                let content = vec![0; length];
                let message = self.sent(Guard::None, |cx| send_bytes(cx, &content));
                (message.len(), self.time(Guard::None, |cx| send_bytes(cx, &content)))
            }
            Handling::Encrypt => {
                let (bytes, cost, seal) = sealing(length);
                (bytes, cost - seal.per_call - seal.per_unit * self.sealed_bytes(length))
            }
            Handling::Decrypt => {
                let (bytes, sealing, _) = sealing(length);
                let (mut sender, mut receiver) = (self.messenger(), self.messenger());
                let content = vec![0; length];
                let both = self.time(Guard::None, |cx| {
                    let sealed = sender.seal(cx, &content).expect("it has a key");
                    keep(receiver.open(cx, &sealed).expect("it has the key"));
                });
                let unseal = self.cost(Primitive::Unseal);
                let primitive = unseal.per_call + unseal.per_unit * self.sealed_bytes(length);
                (bytes, both - sealing - primitive)
            }
        });
        let [few, many] = points.map(|(bytes, _)| bytes);
        let (per_call, per_unit) = line([few, many], |bytes| points[usize::from(bytes == many)].1);
        MeasuredCost { per_call: per_call.max(0.0), per_unit: per_unit.max(0.0) }
    }

    fn messenger(&self) -> Messenger {
        self.once(|cx| {
            let settings = messages::MessageSettings::default();
            let mut messenger = Messenger::new(cx, settings).expect("it is a member");
            messenger.rekeyed(cx, Epoch(1), &Key::default());
            // With the first message it makes keys that it keeps.
            keep(messenger.seal(cx, &[]));
            messenger
        })
    }

    /// Returns how many bytes are encrypted or authenticated for a content of this length.
    fn sealed_bytes(&self, length: usize) -> f64 {
        let (mut messenger, mut meter) = (self.messenger(), Meter::new());
        let mut desk = ContextParts::new(self, Guard::None);
        desk.counted(&mut meter, |cx| keep(messenger.seal(cx, &vec![0; length])));
        meter.tally(Primitive::Seal).amount as f64
    }

    /// Returns the cost of a call and of a unit.
    fn line_of(&self, primitive: Primitive) -> (f64, f64) {
        let one_key = Key::default();
        if self.suite == Suite::Pq && primitive.is_of_group() {
            return (self.encapsulation(primitive), 0.0);
        }
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
                    cx.seal(&one_key, 0.into(), &[], &mut content).expect("it is short");
                    keep(content);
                })
            }),
            Primitive::Unseal => line(BYTES, |bytes| {
                let mut sealed = vec![0; bytes];
                self.once(|cx| cx.seal(&one_key, 0.into(), &[], &mut sealed)).expect("it is short");
                self.time(Guard::None, |cx| {
                    let mut content = sealed.clone();
                    cx.unseal(&one_key, 0.into(), &[], &mut content).expect("just sealed");
                    keep(content);
                })
            }),
            Primitive::Mac => self.protection(Guard::Mac),
            Primitive::Sign if self.suite == Suite::Pq => self.signing_by_trial(),
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
                let (exponent, element) = self.once(|cx| (random_exponent(cx), random_element(cx)));
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
                    let element = random_element(cx);
                    let mut draft = cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0);
                    draft.element(&element).send();
                });
                let bytes = &message[message.len() - Element::length(self.suite)..];
                (self.time(Guard::None, |cx| keep(cx.element(bytes, ElementCheck::Subgroup))), 0.0)
            }
            Primitive::EncodeElement => {
                let element = self.once(random_element);
                let length = Element::length(self.suite);
                let encoded = self.time(Guard::None, |cx| {
                    let mut bytes = Vec::with_capacity(length);
                    cx.encode_element(&element, &mut bytes);
                    keep(bytes);
                });
                (encoded, 0.0)
            }
            // Elements of GT are read in one suite only. The check of their order is a power.
            Primitive::CheckGt if self.suite != Suite::Published => (0.0, 0.0),
            Primitive::CheckGt => self.line_of(Primitive::ExponentiateGt),
            Primitive::GeneratePrime => (self.mean_time(|cx| keep(cx.random_prime())), 0.0),
            Primitive::MultiplyPrimes => self.line_of_integers(|cx, primes, _| {
                keep(cx.multiply_primes(primes.iter().copied()));
            }),
            Primitive::MultiplyInteger => self.line_of_integers(|cx, primes, product| {
                keep(cx.multiply_by_prime(product, primes[0]));
            }),
            Primitive::DivideInteger => self.line_of_integers(|cx, primes, product| {
                keep(cx.short_of_multiple(product, primes[0]));
            }),
            _ => self.pairing_cost(primitive),
        }
    }

    fn pairing_cost(&self, primitive: Primitive) -> (f64, f64) {
        // Numbers of 16 bytes have inverses, too, and no suite of their own: without a pairing, theirs
        // count as in `standard`, as they do in a device's profile.
        if !self.suite.has_pairing() {
            return Workbench { suite: Suite::Standard, ..*self }.pairing_cost(primitive);
        }
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
                time(&mut |cx| keep(cx.g1_product(&p, core::iter::repeat_n(&p, count))))
            }),
            Primitive::MultiplyG2 => line([1, MANY], |count| {
                time(&mut |cx| keep(cx.g2_product(&q, core::iter::repeat_n(&q, count))))
            }),
            Primitive::MultiplyGt => once(&mut |cx| keep(cx.gt_product(&gt, &gt))),
            // The two always occur together: the part that occurs once counts as final
            // exponentiation.
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
                once(&mut |cx| keep(cx.g1(&bytes, ElementCheck::Subgroup)))
            }
            Primitive::CheckG2 => {
                let bytes = self.body(&|draft| _ = draft.g2(&q), G2::length(self.suite));
                once(&mut |cx| keep(cx.g2(&bytes, ElementCheck::Subgroup)))
            }
            _ => unreachable!("the others have nothing to do with pairings"),
        }
    }

    /// Returns the last `length` bytes of a message whose items `write` appends.
    fn body(&self, write: &dyn Fn(&mut Draft<'_, '_>), length: usize) -> Vec<u8> {
        let message = self.sent(Guard::None, |cx| {
            let mut draft = cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0);
            write(&mut draft);
            draft.send();
        });
        message[message.len() - length..].to_vec()
    }

    /// Returns the cost of work on primes and their product, by the product's bytes. It takes long
    /// to find primes, so a few are used again and again. Their number is odd: otherwise products
    /// would be squares, which are cheaper.
    fn line_of_integers(
        &self,
        mut work: impl FnMut(&mut Context<'_>, &[&Prime], &Integer),
    ) -> (f64, f64) {
        const FEW: usize = 17;
        let bytes_each = Prime::length(self.suite);
        let few: Vec<_> = self.once(|cx| (0..FEW).map(|_| cx.random_prime()).collect());
        line([16, 1_024].map(|count| count * bytes_each), |bytes| {
            let primes: Vec<_> = few.iter().cycle().take(bytes / bytes_each).collect();
            let product = self.once(|cx| cx.multiply_primes(primes.iter().copied()));
            self.time(Guard::None, |cx| work(cx, &primes, &product))
        })
    }

    fn protection(&self, guard: Guard) -> (f64, f64) {
        line(BYTES, |bytes| {
            let bytes = vec![0; bytes];
            let send = |guard| self.time(guard, |cx| send_bytes(cx, &bytes));
            send(guard) - send(Guard::None)
        })
    }

    /// Returns the cost of what counts as this primitive in key encapsulation: nothing, if nothing does.
    fn encapsulation(&self, primitive: Primitive) -> f64 {
        let mut public = Vec::new();
        let private = self.once(|cx| {
            let private = cx.random_private_key();
            cx.encode_public_keys(core::slice::from_ref(&private), &mut public);
            private
        });
        let check = ElementCheck::Subgroup;
        let checked = || {
            self.time(Guard::None, |cx| cx.require_public_key(&public, check).expect("it is one"))
        };
        match primitive {
            Primitive::ExponentiateGenerator => self.time(Guard::None, |cx| {
                let mut public = Vec::with_capacity(public.len());
                cx.encode_public_keys(core::slice::from_ref(&private), &mut public);
                keep(public);
            }),
            Primitive::CheckElement => checked(),
            Primitive::Exponentiate => {
                let info = self.once(|cx| cx.hpke_info("", &[]));
                let both = self.time(Guard::None, |cx| {
                    let mut encapsulated = Vec::with_capacity(cx.kem_lengths().encapsulated);
                    let key = cx.encapsulate(&public, &info, check, &mut encapsulated);
                    keep((key.expect("it is a public key"), encapsulated));
                });
                both - checked()
            }
            _ => 0.0,
        }
    }

    /// Returns the cost of a signature that is made anew until one is good, as ML-DSA's: the average of
    /// [`SIGNED`] messages. A message of more bytes takes as much more as to check its signature does.
    fn signing_by_trial(&self) -> (f64, f64) {
        let [few, _] = BYTES;
        let batches = (0..SIGNED).step_by(BATCH).map(|first| {
            let send = |guard| {
                self.time(guard, |cx| {
                    for number in first..first + BATCH {
                        let mut content = vec![0; few];
                        content[..2].copy_from_slice(&(number as u16).to_be_bytes());
                        send_bytes(cx, &content);
                    }
                })
            };
            send(Guard::Signature) - send(Guard::None)
        });
        let each = batches.sum::<f64>() / SIGNED as f64;
        let (_, per_byte) = self.line_of(Primitive::Verify);
        (each - per_byte * few as f64, per_byte)
    }

    fn time(&self, guard: Guard, mut work: impl FnMut(&mut Context<'_>)) -> f64 {
        let mut desk = ContextParts::new(self, guard);
        self.stopwatch.one(&mut || desk.step(&mut work))
    }

    fn mean_time(&self, mut work: impl FnMut(&mut Context<'_>)) -> f64 {
        let mut desk = ContextParts::new(self, Guard::None);
        self.stopwatch.mean(&mut || desk.step(&mut work))
    }

    fn sent(&self, guard: Guard, work: impl FnOnce(&mut Context<'_>)) -> Vec<u8> {
        let mut desk = ContextParts::new(self, guard);
        desk.step(work);
        let message = desk.outbox.messages().next().expect("it sends one");
        message.bytes.to_vec()
    }

    fn wrapped_length(&self, keys: usize) -> usize {
        self.once(|cx| cx.wrapped_length(keys))
    }

    fn once<T>(&self, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        ContextParts::new(self, Guard::None).step(work)
    }
}

impl fmt::Debug for Workbench<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workbench").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// Everything that the context of a party borrows.
struct ContextParts {
    setting: Setting,
    credentials: Credentials,
    rng: Box<dyn CryptoRng>,
    outbox: Outbox,
}

impl ContextParts {
    fn new(bench: &Workbench<'_>, guard: Guard) -> Self {
        let mut credentials = Credentials::for_suite(bench.suite, guard, 1);
        credentials.issue(ME);
        // Drivers make the setting once, so it is no part of a step's cost.
        let setting = Setting::new(GroupId(1), bench.suite);
        Self { setting, credentials, rng: (bench.randomness)(), outbox: Outbox::new() }
    }

    fn step<T>(&mut self, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        self.counted(&mut (), work)
    }

    fn counted<T>(&mut self, probe: &mut dyn Probe, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        self.outbox.clear();
        work(&mut Context::new(
            self.setting,
            ME,
            self.credentials.protection(ME),
            &mut *self.rng,
            0,
            &mut self.outbox,
            probe,
        ))
    }
}

/// A party that accepts every message and does nothing with it.
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

fn random_element(cx: &mut Context<'_>) -> Element {
    let exponent = random_exponent(cx);
    cx.generator_power(&exponent)
}

fn two_elements(cx: &mut Context<'_>) -> (Element, Element) {
    (random_element(cx), random_element(cx))
}

fn send_bytes(cx: &mut Context<'_>, bytes: &[u8]) {
    cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0).bytes(bytes).send();
}

fn send_wrapped(cx: &mut Context<'_>, keys: &[Key]) {
    let mut draft = cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0);
    draft.wrapped(&Key::default(), Epoch(1), 0, keys).send();
}

/// Keeps the compiler from removing a result that no code reads.
fn keep<T>(result: T) {
    drop(black_box(result));
}

/// Returns the line through the costs of few and of many units: the cost of a call and of a unit.
pub fn line([few, many]: [usize; 2], mut time: impl FnMut(usize) -> f64) -> (f64, f64) {
    let (short, long) = (time(few), time(many));
    let per_unit = (long - short) / (many - few) as f64;
    (short - per_unit * few as f64, per_unit)
}
