//! A group under `fame`: how long its messages are, who opens them, what its parties compute and how
//! long they take.

use std::hint::black_box;

use groupkey::catalogue::{Configuration, Profile, scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::crypto::pairing::{G1, G2};
use groupkey::protection::{Guard, Protection};
use groupkey::{
    Channel, Command, Context, Error, GroupId, Instance, MemberId, Outbox, Party, PartyId,
    Recipient, Suite,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::comparison::{FameOperations, mean, milliseconds};

/// Elements of G1 and of G2 in a key, and in a ciphertext: the header of the scheme's file.
pub const KEY: (usize, usize) = (9, 3);
pub const CIPHERTEXT: (usize, usize) = (6, 3);

const SUITE: Suite = Suite::Standard;
const MEMBERS: [MemberId; 3] = [MemberId(0), MemberId(1), MemberId(2)];
const RUNS: u32 = 20;

/// The place of the group's number in a message.
const GROUP: usize = 2;

/// A controller and the first member.
struct Pair {
    configuration: Configuration,
    group: GroupId,
    controller: Box<dyn Party>,
    member: Box<dyn Party>,
    rng: ChaCha20Rng,
    meter: Meter,
}

/// A message: to whom, its bytes, and how many of them are its body.
type Sent = (Recipient, Channel, Vec<u8>, usize);

/// Whether a key and a ciphertext are these elements, encoded, and what the header says beside them.
pub fn are_as_long_as_told() -> bool {
    let (first, second) = (G1::length(SUITE), G2::length(SUITE));
    let of = |(ones, twos): (usize, usize)| ones * first + twos * second;
    // Period, salt and the wrapped key with the link; period, two byte strings, the confirmation.
    let key = 1 + 17 + 3 + of(KEY) + 16 + 2 * 8;
    let ciphertext = 1 + 2 * 3 + of(CIPHERTEXT) + 17;
    let sent = Pair::new(Profile::Sound, GroupId(1)).1;
    let lengths: Vec<_> = sent.iter().map(|&(.., body)| body).collect();
    lengths == [key, key, key, ciphertext]
}

/// Whether a member of group 1, with a key for its first period, gets the key that a broadcast to this
/// group carries, in the same period or the next. Labels by which it would refuse are changed to those
/// that it expects, so that its pairings decide. The form is `published`, which has no confirmation.
pub fn opens(group: u64, in_same_period: bool) -> bool {
    let (mut own, created) = Pair::new(Profile::Published, GroupId(1));
    // Of the same seed, and so of the same master key.
    let (mut other, _) = Pair::new(Profile::Published, GroupId(group));
    // In this form a removal does not end the period, and a rekey does.
    let command = if in_same_period { Command::Remove(MEMBERS[2]) } else { Command::Rekey };
    let sent = other.told(PartyId::Controller, command);
    let broadcast = |sent: &[Sent]| {
        let to_all = sent.iter().find(|sent| sent.0 == Recipient::Group);
        to_all.cloned().expect("a change has a broadcast")
    };
    let period = |(_, _, bytes, body): &Sent| bytes.len() - body;
    let (first, mut second) = (broadcast(&created), broadcast(&sent));
    let place = period(&second);
    second.2[place] = first.2[period(&first)];
    second.2[GROUP] = first.2[GROUP];
    let heard = own.heard(MEMBERS[0].into(), &second);
    heard.is_ok() && own.member.group_key() == other.controller.group_key()
}

/// What a key, a ciphertext and its decryption take: the counted operations, and mean milliseconds, with
/// all that a party does beside.
pub fn costs() -> [(FameOperations, f64); 3] {
    let mut pair = Pair::new(Profile::Sound, GroupId(1)).0;
    let mut costs = [(FameOperations::default(), 0.0); 3];
    for _ in 0..RUNS {
        let mut timed = |place: usize, pair: &mut Pair, work: &mut dyn FnMut(&mut Pair)| {
            pair.meter = Meter::new();
            let start = milliseconds();
            work(pair);
            costs[place].1 += (milliseconds() - start) / f64::from(RUNS);
            costs[place].0 = operations(&pair.meter);
        };
        let mut sent = Vec::new();
        timed(1, &mut pair, &mut |pair| sent = pair.told(PartyId::Controller, Command::Rekey));
        timed(2, &mut pair, &mut |pair| {
            pair.heard(MEMBERS[0].into(), &sent[0]).expect("it is for all");
        });
        let request = pair.told(MEMBERS[0].into(), Command::CatchUp);
        timed(0, &mut pair, &mut |pair| {
            pair.heard(PartyId::Controller, &request[0]).expect("a member asks");
        });
    }
    costs
}

/// Mean milliseconds of a power in G1, and of a pairing.
pub fn primitives() -> [f64; 2] {
    let mut pair = Pair::new(Profile::Sound, GroupId(1)).0;
    let mut times = [0.0; 2];
    let measured = pair.step(PartyId::Controller, |cx, _| {
        let (scalar, first, second) = (cx.random_scalar(), cx.g1_generator(), cx.g2_generator());
        times = [
            mean(RUNS, || _ = black_box(cx.g1_power(&first, &scalar))),
            mean(RUNS, || _ = black_box(cx.pairings(&[(&first, &second)]))),
        ];
        Ok(())
    });
    measured.expect("nothing is refused");
    times
}

fn operations(meter: &Meter) -> FameOperations {
    let calls = |primitive| meter.tally(primitive).calls;
    let amount = |primitive| meter.tally(primitive).amount;
    let checks = calls(Primitive::CheckG1);
    // A hash counts as two checks, and only who receives nothing hashes.
    let is_sender = calls(Primitive::CheckG2) == 0;
    FameOperations {
        hashes: if is_sender { checks / 2 } else { 0 },
        first: calls(Primitive::ExponentiateG1) + amount(Primitive::ExponentiateG1Fixed),
        second: calls(Primitive::ExponentiateG2),
        target: calls(Primitive::ExponentiateGt),
        pairings: amount(Primitive::MillerLoop),
        finals: calls(Primitive::FinalExponentiation),
        checks: if is_sender { 0 } else { checks + calls(Primitive::CheckG2) },
    }
}

impl Pair {
    /// Makes a group. Returns it, and what its creation sent.
    fn new(profile: Profile, group: GroupId) -> (Self, Vec<Sent>) {
        let scheme = scheme("fame").expect("the feature `pairing` brings it");
        let configuration = scheme.configuration(profile);
        let mut pair = Self {
            controller: configuration.controller().expect("it is centralized"),
            member: configuration.member(MEMBERS[0]),
            configuration,
            group,
            rng: ChaCha20Rng::seed_from_u64(1),
            meter: Meter::new(),
        };
        let enrolled = pair.told(PartyId::Controller, Command::Enroll(&MEMBERS));
        let created = pair.told(PartyId::Controller, Command::Create(&MEMBERS));
        let own = Recipient::from(PartyId::from(MEMBERS[0]));
        for sent in enrolled.iter().chain(&created) {
            if [own, Recipient::Group].contains(&sent.0) {
                pair.heard(MEMBERS[0].into(), sent).expect("it is for this member");
            }
        }
        (pair, created)
    }

    fn told(&mut self, who: PartyId, command: Command<'_>) -> Vec<Sent> {
        self.step(who, |cx, party| cx.command(party, command)).expect("it can")
    }

    fn heard(&mut self, who: PartyId, sent: &Sent) -> Result<Vec<Sent>, Error> {
        self.step(who, |cx, party| cx.deliver(party, sent.1, &sent.2))
    }

    fn step(
        &mut self,
        who: PartyId,
        work: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) -> Result<Vec<Sent>, Error> {
        let mut outbox = Outbox::new();
        let instance = Instance::default();
        let setting = self.configuration.setting(self.group, SUITE, Guard::None, "", instance);
        let (none, rng, meter) = (Protection::None, &mut self.rng, &mut self.meter);
        let mut cx = Context::new(setting, who, none, rng, 0, &mut outbox, meter);
        let party =
            if who == PartyId::Controller { &mut self.controller } else { &mut self.member };
        work(&mut cx, &mut **party)?;
        let sent = outbox.messages();
        let all = sent.map(|sent| (sent.to, sent.channel, sent.bytes.to_vec(), sent.body_bytes));
        Ok(all.collect())
    }
}
