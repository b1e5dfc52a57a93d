//! The controllers of a group without its members: what the serving side of an operation costs.
//!
//! A hybrid scheme's subgroup controllers belong to that side: what the controller sends them is
//! delivered within the step, and counts.

#![allow(dead_code)] // Nobody who uses this module uses all of it.

use std::hint::black_box;
use std::time::Instant;

use aes_kw::KwAes128;
use groupkey::catalogue::{Class, Configuration};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::protection::{MacKey, Protection};
use groupkey::{
    Command, Context, Error, GroupId, MemberId, Operation, Outbox, Party, PartyId, Recipient,
    Setting, SubgroupId, Suite,
};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// The controllers of a group.
pub(crate) struct Fleet {
    controller: Box<dyn Party>,
    subgroups: Vec<Box<dyn Party>>,
    serving: Serving,
    /// What the controller sent in its last step, and what each subgroup's controller did.
    pub(crate) outboxes: Outboxes,
}

/// What was sent; the memory is kept from step to step, as a server's is.
#[derive(Default)]
pub(crate) struct Outboxes {
    controller: Outbox,
    subgroup: Outbox,
}

/// What a step took.
pub(crate) struct Sample {
    /// Time in all controllers, one after the other (ns).
    pub(crate) nanoseconds: f64,
    /// Their primitive operations.
    pub(crate) meter: Meter,
}

struct Serving {
    rng: ChaCha20Rng,
    mac: Option<MacKey>,
}

impl Fleet {
    /// The controllers of a group without members.
    pub(crate) fn new(configuration: &Configuration, protected: bool, outboxes: Outboxes) -> Self {
        let subgroups = configuration.subgroup_controllers().into_iter();
        Self {
            controller: configuration.controller().expect("only schemes with a controller"),
            subgroups: subgroups.map(|(_, party)| party).collect(),
            serving: Serving {
                rng: ChaCha20Rng::seed_from_u64(1),
                mac: protected.then(|| MacKey::from_bytes([7; 32])),
            },
            outboxes,
        }
    }

    /// Has the controller take a valid command, and subgroup controllers what comes of it.
    pub(crate) fn step(&mut self, command: Command<'_>) -> Sample {
        self.try_step(command).expect("the command is valid")
    }

    /// The same, if the controller takes the command.
    pub(crate) fn try_step(&mut self, command: Command<'_>) -> Result<Sample, Error> {
        let Self { controller, subgroups, serving, outboxes } = self;
        let mut meter = Meter::new();
        let started = Instant::now();
        let outbox = &mut outboxes.controller;
        serving
            .context(PartyId::Controller, outbox, &mut meter)
            .command(&mut **controller, command)?;
        for message in outboxes.controller.messages() {
            let Recipient::SubgroupController(id) = message.to else { continue };
            let mut cx = serving.context(id.into(), &mut outboxes.subgroup, &mut meter);
            cx.deliver(&mut *subgroups[id.0 as usize], message.channel, message.bytes)?;
        }
        if command == Command::Rekey {
            for (id, party) in (0..).map(SubgroupId).zip(subgroups) {
                let mut cx = serving.context(id.into(), &mut outboxes.subgroup, &mut meter);
                cx.command(&mut **party, command)?;
            }
        }
        let nanoseconds = started.elapsed().as_nanos() as f64;
        black_box(&self.outboxes);
        Ok(Sample { nanoseconds, meter })
    }

    /// Key material of the controller, and of all subgroup controllers (bytes).
    pub(crate) fn key_bytes(&self) -> (usize, usize) {
        let of = |party: &dyn Party| party.footprint().permanent;
        (of(&*self.controller), self.subgroups.iter().map(|party| of(&**party)).sum())
    }

    /// The subgroup controllers alone.
    pub(crate) fn into_subgroups(self) -> Vec<Box<dyn Party>> {
        self.subgroups
    }
}

impl Serving {
    fn context<'s>(
        &'s mut self,
        id: PartyId,
        outbox: &'s mut Outbox,
        meter: &'s mut Meter,
    ) -> Context<'s> {
        outbox.clear();
        let protection = self.mac.as_ref().map_or(Protection::None, Protection::Mac);
        Context::new(
            Setting::new(GroupId(0), Suite::Standard),
            id,
            protection,
            &mut self.rng,
            0,
            outbox,
            meter,
        )
    }
}

/// What can be measured of a scheme, in this order.
pub(crate) fn operations(configuration: &Configuration) -> impl Iterator<Item = Operation> {
    let known = [Operation::Create, Operation::Add, Operation::Remove, Operation::Rekey];
    let scheme = configuration.scheme();
    known.into_iter().filter(|operation| scheme.operations.contains(operation))
}

/// Whether the scheme has controllers at all.
pub(crate) fn is_served(configuration: &Configuration) -> bool {
    configuration.scheme().class() != Class::Distributed
}

/// So many members' ids.
pub(crate) fn ids(members: u32) -> Vec<MemberId> {
    (0..members).map(MemberId).collect()
}

/// What primitives cost by themselves, through the libraries that provide them: ns.
pub(crate) struct Prices {
    wrap: (f64, f64),
    unwrap: (f64, f64),
    random: f64,
    derive: f64,
    hash: f64,
    mac: (f64, f64),
}

impl Prices {
    /// Measures them, in a few milliseconds.
    pub(crate) fn measure() -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        Self {
            wrap: line(16, 144, |bytes| time(|i| wrap(i, bytes))).scaled(16.0),
            unwrap: line(16, 144, |bytes| {
                let mut wrapped = vec![0; bytes + 8];
                let kek = KwAes128::new((&[7; 16]).into());
                kek.wrap_key(&vec![1; bytes], &mut wrapped).unwrap();
                time(|_| unwrap(&wrapped))
            })
            .scaled(16.0),
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
            hash: time(|i| {
                let digest = Sha256::new().chain_update(b"a label of a chain");
                black_box(digest.chain_update(black_box([i as u8; 16])).finalize());
            }),
            mac: line(32, 1056, |bytes| {
                let key = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
                time(|_| mac(&key, &[0; 1056][..bytes]))
            })
            .scaled(1.0),
        }
    }

    /// What the counted operations cost together.
    pub(crate) fn of(&self, meter: &Meter) -> f64 {
        let linear = |primitive, (per_call, per_unit): (f64, f64)| {
            let tally = meter.tally(primitive);
            tally.calls as f64 * per_call + tally.amount as f64 * per_unit
        };
        linear(Primitive::Wrap, self.wrap)
            + linear(Primitive::Unwrap, self.unwrap)
            + linear(Primitive::Mac, self.mac)
            + linear(Primitive::Random, (self.random, 0.0))
            + linear(Primitive::Derive, (self.derive, 0.0))
            + linear(Primitive::Hash, (self.hash, 0.0))
    }
}

/// Cost of a call and of a byte, from two lengths.
struct Line {
    per_call: f64,
    per_byte: f64,
}

fn line(short: usize, long: usize, time_of: impl Fn(usize) -> f64) -> Line {
    let (at_short, at_long) = (time_of(short), time_of(long));
    let per_byte = (at_long - at_short) / (long - short) as f64;
    Line { per_call: at_short - per_byte * short as f64, per_byte }
}

impl Line {
    /// Per call and per unit of so many bytes.
    fn scaled(self, bytes: f64) -> (f64, f64) {
        (self.per_call, self.per_byte * bytes)
    }
}

fn wrap(round: u32, bytes: usize) {
    let kek = [round as u8; 16];
    let keys = [round as u8; 144];
    let mut out = [0; 152];
    let wrapped = KwAes128::new(black_box(&kek).into()).wrap_key(&keys[..bytes], &mut out);
    black_box(wrapped.unwrap());
}

fn unwrap(wrapped: &[u8]) {
    let mut out = [0; 144];
    let kek = KwAes128::new(black_box(&[7; 16]).into());
    black_box(kek.unwrap_key(black_box(wrapped), &mut out).unwrap());
}

fn mac(key: &Hmac<Sha256>, message: &[u8]) {
    let mut mac = black_box(key).clone();
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
