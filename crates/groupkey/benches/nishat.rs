//! Nishat with 55,000 members: how long the controller takes to enrol, create, add and remove, a
//! member to follow, and the arithmetic of long integers by itself. Enrolment takes so long that
//! the yardstick leaves the scheme out.
//!
//! `cargo bench -p groupkey --bench nishat [-- members]`

use std::time::Instant;

use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::integer::Prime;
use groupkey::protection::Protection;
use groupkey::{
    Command, Context, Error, GroupId, MemberId, Outbox, Party, PartyId, Recipient, Setting, Suite,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let members = match arguments.iter().find_map(|argument| argument.parse().ok()) {
        Some(members) => members,
        // `cargo test` runs benches once to see that they work.
        None if arguments.iter().any(|argument| argument == "--test") => 20,
        None => 55_000,
    };
    println!("{members} members; the fastest of several rounds, ms");
    println!("{:<10} {:<10} {:<28} {:>12}", "profile", "suite", "step", "ms");
    for suite in [Suite::Standard, Suite::Published] {
        measure_integers(suite, members);
        for profile in Profile::ALL {
            measure(profile, suite, members);
        }
    }
}

const ROUNDS: u32 = 5;

/// What the published form's lock takes, without any group.
fn measure_integers(suite: Suite, members: u32) {
    let mut desk = Desk::new(suite);
    let show = |step, ms| show("-", suite, step, ms);
    let mut primes: Vec<Prime> = Vec::new();
    let seconds = desk.run(PartyId::Controller, |cx| {
        primes.extend((0..members).map(|_| cx.random_prime()));
    });
    show("primes", seconds);
    let mut product = None;
    let seconds = desk.run(PartyId::Controller, |cx| product = Some(cx.multiply_primes(&primes)));
    show("product of primes", seconds);
    let product = product.expect("just made");
    let (prime, short) = (&primes[0], desk.with(|cx| cx.random_integer(Prime::bits(suite))));
    show("product by a prime", desk.best(|cx| drop(cx.multiply_by_prime(&product, prime))));
    show("product by a", desk.best(|cx| drop(cx.multiply_integer(&product, &short))));
    show("exact division", desk.best(|cx| drop(cx.divide_by_prime(&product, prime))));
    show("remainder", desk.best(|cx| drop(cx.short_of_multiple(&product, prime))));
}

fn measure(profile: Profile, suite: Suite, members: u32) {
    let configuration = scheme("nishat").expect("a scheme of the catalogue").configuration(profile);
    let mut controller = configuration.controller().expect("it has one");
    let mut member = configuration.member(MemberId(0));
    let mut desk = Desk::new(suite);
    let show = |step, seconds| show(profile.name(), suite, step, seconds);
    let everybody: Vec<_> = (0..members).map(MemberId).collect();
    show("enrol all", desk.command(&mut *controller, Command::Enroll(&everybody)));
    desk.hand_over(&mut *member);
    show("create", desk.command(&mut *controller, Command::Create(&everybody)));
    show("create, member", desk.hand_over(&mut *member));
    let mut best = [f64::INFINITY; 5];
    for round in 0..ROUNDS {
        let newcomer = MemberId(members + round);
        let enrolled = desk.command(&mut *controller, Command::Enroll(&[newcomer]));
        let added = desk.command(&mut *controller, Command::Add(newcomer));
        let followed = desk.hand_over(&mut *member);
        let removed = desk.command(&mut *controller, Command::Remove(MemberId(1 + round)));
        let samples = [enrolled, added, followed, removed, desk.hand_over(&mut *member)];
        best = core::array::from_fn(|i| best[i].min(samples[i]));
    }
    let steps = ["enrol one", "add", "add, member", "remove", "remove, member"];
    steps.into_iter().zip(best).for_each(|(step, seconds)| show(step, seconds));
    assert_eq!(member.group_key(), controller.group_key());
}

fn show(profile: &str, suite: Suite, step: &str, seconds: f64) {
    println!("{profile:<10} {:<10} {step:<28} {:>12.3}", suite.name(), seconds * 1e3);
}

/// Where parties work.
struct Desk {
    suite: Suite,
    rng: ChaCha20Rng,
    outbox: Outbox,
}

impl Desk {
    fn new(suite: Suite) -> Self {
        Self { suite, rng: ChaCha20Rng::seed_from_u64(1), outbox: Outbox::new() }
    }

    fn command(&mut self, controller: &mut dyn Party, command: Command<'_>) -> f64 {
        self.outbox.clear();
        self.run(PartyId::Controller, |cx| cx.command(controller, command).expect("it is valid"))
    }

    /// Delivers what is for member 0.
    fn hand_over(&mut self, member: &mut dyn Party) -> f64 {
        let outbox = std::mem::take(&mut self.outbox);
        let me = MemberId(0);
        let mut seconds = 0.0;
        for message in outbox.messages() {
            if [Recipient::Group, Recipient::Member(me)].contains(&message.to) {
                seconds += self.run(me.into(), |cx| {
                    let taken: Result<(), Error> =
                        cx.deliver(member, message.channel, message.bytes);
                    taken.expect("it is genuine");
                });
            }
        }
        seconds
    }

    fn best(&mut self, mut work: impl FnMut(&mut Context<'_>)) -> f64 {
        let rounds = (0..ROUNDS).map(|_| self.run(PartyId::Controller, &mut work));
        rounds.fold(f64::INFINITY, f64::min)
    }

    /// How long it takes (s).
    fn run(&mut self, me: PartyId, work: impl FnOnce(&mut Context<'_>)) -> f64 {
        let setting = Setting::new(GroupId(0), self.suite);
        let Self { rng, outbox, .. } = self;
        let mut probe = ();
        let mut cx = Context::new(setting, me, Protection::None, rng, 0, outbox, &mut probe);
        let started = Instant::now();
        work(&mut cx);
        started.elapsed().as_secs_f64()
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let mut result = None;
        self.run(PartyId::Controller, |cx| result = Some(work(cx)));
        result.expect("the work is done")
    }
}
