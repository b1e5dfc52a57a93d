//! A controller's memory is mostly keys: at most twice what it counts as key material. Where it has
//! no key of each member, because those are derived or a subgroup controller has them, it must still
//! know who is in, at most 16 bytes a member. The floor is 12: the id and the number of the enrolment,
//! which tells a device from one that had its id before, take 8, the subgroup and whether it joined 4.
//! The rest is what it takes to find an id among many.

use groupkey::catalogue::{Class, Configuration, Profile, SCHEMES, Scheme};
use groupkey::protection::Protection;
use groupkey::{
    Command, Context, GroupId, MemberId, Outbox, Party, PartyId, Recipient, Setting, Suite,
};
use groupkey_testkit::sample;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use stats_alloc::Region;

use crate::ALLOCATOR;

/// The fleet of S002.
const MEMBERS: u32 = 55_000;

/// What a controller without individual keys holds of each member, at most (bytes).
const KNOWN_OF_EACH: usize = 16;

/// What does not grow with the members: nothing beside 55,000 of them, but something beside a hundred.
const FIXED: usize = 4096;

pub(crate) fn controllers_hold_little_but_keys() {
    for scheme in sample::one_in(6, SCHEMES) {
        for profile in Profile::ALL {
            let configuration = scheme.configuration(profile);
            if scheme.class() == Class::Distributed {
                continue;
            }
            let members = members(scheme);
            let ids: Vec<_> = (0..members).map(MemberId).collect();
            let region = Region::new(ALLOCATOR);
            let held = || region.change().bytes_allocated - region.change().bytes_deallocated;
            let mut fleet = Fleet::new(&configuration);
            fleet.step(Command::Enroll(&ids));
            fleet.step(Command::Create(&ids));
            let (keys, subgroup_keys) = fleet.key_bytes();
            let all = held();
            let Fleet { controller, subgroups, .. } = fleet;
            drop(controller);
            let below = held();
            drop(subgroups);
            for (who, held, keys) in
                [("controller", all - below, keys), ("subgroup controllers", below, subgroup_keys)]
            {
                let told = format!(
                    "{} {}, {who}: {held} bytes, {keys} of them keys",
                    scheme.id,
                    profile.name()
                );
                println!("{told}");
                let floor = KNOWN_OF_EACH * members as usize;
                assert!(held <= (2 * keys).max(floor) + FIXED, "{told}");
            }
        }
    }
}

/// Pairings take milliseconds where other schemes take microseconds, so those have smaller fleets
/// here. Published, Boneh+ takes the square of the members.
fn members(scheme: &Scheme) -> u32 {
    match scheme.id {
        "boneh-fat" => 100,
        "boneh-thin" => 500,
        "fame" => 500,
        "nishat" => 20_000,
        _ => MEMBERS,
    }
}

/// The controllers of a group without its members. What they send is dropped.
struct Fleet {
    controller: Box<dyn Party>,
    subgroups: Vec<Box<dyn Party>>,
    rng: ChaCha20Rng,
}

impl Fleet {
    fn new(configuration: &Configuration) -> Self {
        let subgroups = configuration.subgroup_controllers().into_iter();
        Self {
            controller: configuration.controller().expect("only schemes with a controller"),
            subgroups: subgroups.map(|(_, party)| party).collect(),
            rng: ChaCha20Rng::seed_from_u64(1),
        }
    }

    /// Has the controller take a valid command, and subgroup controllers what it sends them.
    fn step(&mut self, command: Command<'_>) {
        let Self { controller, subgroups, rng } = self;
        let (mut sent, mut passed_on, mut meter) = (Outbox::new(), Outbox::new(), ());
        let mut cx = context(PartyId::Controller, rng, &mut sent, &mut meter);
        cx.command(&mut **controller, command).expect("the command is valid");
        for message in sent.messages() {
            let Recipient::SubgroupController(id) = message.to else { continue };
            let mut cx = context(id.into(), rng, &mut passed_on, &mut meter);
            let heard = cx.deliver(&mut *subgroups[id.0 as usize], message.channel, message.bytes);
            heard.expect("it is the controller's");
        }
    }

    /// Key material of the controller, and of all subgroup controllers (bytes).
    fn key_bytes(&self) -> (usize, usize) {
        let of = |party: &dyn Party| party.footprint().permanent;
        (of(&*self.controller), self.subgroups.iter().map(|party| of(&**party)).sum())
    }
}

fn context<'c>(
    id: PartyId,
    rng: &'c mut ChaCha20Rng,
    outbox: &'c mut Outbox,
    meter: &'c mut (),
) -> Context<'c> {
    outbox.clear();
    let setting = Setting::new(GroupId(0), Suite::Standard);
    Context::new(setting, id, Protection::None, rng, 0, outbox, meter)
}
