//! What the contract costs an MLS library: its own calls, and the same steps of a party of groupkey-mls,
//! in turns, in processor time of one run. Nothing protects the contract's messages, as MLS protects its own.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release --bin contract -- --members 100 --rounds 15`

mod direct;
#[path = "../../openmls_form.rs"]
mod openmls_form;
#[path = "../../processor_time.rs"]
mod processor_time;

use std::collections::BTreeMap;

use clap::Parser;
use groupkey::catalogue::{Configuration, Profile, Scheme};
use groupkey::protection::{Guard, Protection};
use groupkey::{
    Channel, Command, Context, GroupId, Instance, MemberId, Outbox, Party, Recipient, Setting,
    Suite,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use self::processor_time::timed;

/// What the contract costs an MLS library.
#[derive(Parser)]
struct Arguments {
    /// Members of the group
    #[arg(long, default_value_t = 100)]
    members: u32,
    /// Rounds: the least time of them counts
    #[arg(long, default_value_t = 15)]
    rounds: u32,
}

/// The steps that are compared.
const STEPS: [&str; 6] =
    ["add, sponsor", "add, member", "add, joiner", "remove, sponsor", "remove, member", "create"];

/// The least time of each step, in µs.
type Least = BTreeMap<&'static str, f64>;

fn main() {
    let Arguments { members, rounds } = Arguments::parse();
    println!("library   step              own calls, µs   contract, µs   ratio");
    for scheme in groupkey_mls::SCHEMES {
        let (mut own, mut ours) = (Least::new(), Least::new());
        for round in 0..rounds {
            // Who goes first has colder caches: they take turns.
            for turn in 0..2 {
                match (round + turn) % 2 {
                    0 => direct::measure(scheme.id, members, &mut own),
                    _ => measure(scheme, members, &mut ours),
                }
            }
        }
        for step in STEPS {
            let (own, ours) = (own[step], ours[step]);
            println!("{:9} {step:16} {own:>14.0} {ours:>14.0} {:>7.3}", scheme.id, ours / own);
        }
    }
}

fn note(least: &mut Least, step: &'static str, time: f64) {
    let known = least.entry(step).or_insert(f64::INFINITY);
    *known = known.min(time);
}

/// Measures the steps of a group of the contract. Members that nobody watches are not there.
fn measure(scheme: &'static Scheme, members: u32, least: &mut Least) {
    let mut group = Group::new(scheme.configuration(Profile::Sound));
    let ids: Vec<_> = (0..members).map(MemberId).collect();
    ids.iter().for_each(|&id| group.seat(id));
    let mut packages = Vec::new();
    for &id in &ids[1..] {
        packages.extend(group.command(id, Command::Create(&ids)).1);
    }
    group.command(ids[0], Command::Create(&ids));
    let last = packages.pop().expect("a key package");
    packages.iter().for_each(|package| drop(group.deliver(ids[0], package)));
    let (time, welcome) = group.deliver(ids[0], &last);
    note(least, "create", time);
    // Of epochs 2 and 3 these are the sponsors.
    let (adds, removes, other, leaver) = (ids[2], ids[3], ids[5], ids[members as usize / 2]);
    for id in [adds, removes, other] {
        group.deliver(id, &welcome[0]);
    }
    let newcomer = MemberId(members);
    group.seat(newcomer);
    let package = group.command(newcomer, Command::Add(newcomer)).1;
    for id in [adds, removes, other] {
        group.command(id, Command::Add(newcomer));
    }
    for id in [removes, other] {
        group.deliver(id, &package[0]);
    }
    let (time, made) = group.deliver(adds, &package[0]);
    note(least, "add, sponsor", time);
    let (commit, welcome) = (&made[0], &made[1]);
    note(least, "add, member", group.deliver(other, commit).0);
    group.deliver(removes, commit);
    note(least, "add, joiner", group.deliver(newcomer, welcome).0);

    group.command(other, Command::Remove(leaver));
    let (time, made) = group.command(removes, Command::Remove(leaver));
    note(least, "remove, sponsor", time);
    note(least, "remove, member", group.deliver(other, &made[0]).0);
}

struct Group {
    configuration: Configuration,
    setting: Setting,
    rng: ChaCha20Rng,
    parties: BTreeMap<MemberId, Box<dyn Party>>,
}

impl Group {
    fn new(configuration: Configuration) -> Self {
        let (number, instance) = (GroupId(1), Instance([5; 16]));
        Self {
            setting: configuration.setting(number, Suite::Standard, Guard::None, "", instance),
            rng: ChaCha20Rng::seed_from_u64(1),
            parties: BTreeMap::new(),
            configuration,
        }
    }

    fn seat(&mut self, id: MemberId) {
        self.parties.insert(id, self.configuration.member(id));
    }

    fn command(&mut self, id: MemberId, command: Command<'_>) -> (f64, Vec<Vec<u8>>) {
        self.step(id, |cx, party| cx.command(party, command).expect("it is possible"))
    }

    fn deliver(&mut self, id: MemberId, bytes: &[u8]) -> (f64, Vec<Vec<u8>>) {
        self.step(id, |cx, party| cx.deliver(party, Channel::Open, bytes).expect("it is valid"))
    }

    /// Returns the time of the step, and what it sent: to the group first.
    fn step(
        &mut self,
        id: MemberId,
        run: impl FnOnce(&mut Context<'_>, &mut dyn Party),
    ) -> (f64, Vec<Vec<u8>>) {
        let party = self.parties.get_mut(&id).expect("it was seated");
        let (mut outbox, mut probe) = (Outbox::new(), ());
        let (rng, none) = (&mut self.rng, Protection::None);
        let mut cx = Context::new(self.setting, id.into(), none, rng, 0, &mut outbox, &mut probe);
        let ((), time) = timed(|| run(&mut cx, &mut **party));
        let mut sent: Vec<_> =
            outbox.messages().map(|message| (message.to, message.bytes.to_vec())).collect();
        sent.sort_by_key(|(to, _)| *to != Recipient::Group);
        (time, sent.into_iter().map(|(_, bytes)| bytes).collect())
    }
}
