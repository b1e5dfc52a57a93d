//! What the sponsor of a join does grows with the height of the tree, and with nothing else: neither
//! what it computes, nor what it sends, nor the memory that it asks for.
//!
//! It is one member of a large group with a Diffie-Hellman tree, without the others: it comes as a joining
//! member, is told a tree, and is the sponsor of the next join.
//!
//! The tree has each leaf as deep as the tree is high, but for some that are one level higher, the
//! rightmost leaf among them: the next member goes beside that, which is ours. So the sponsor's new
//! leaf is as deep as any. The blinded keys of the others are keys of a few members, again and again:
//! nobody looks at most of them.

use groupkey::catalogue::{self, Configuration, Profile};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::protection::Protection;
use groupkey::{
    Channel, Command, Context, GroupId, MemberId, Outbox, Party, PartyId, Setting, Suite,
};
use minicbor::Encoder;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use stats_alloc::Region;

use crate::ALLOCATOR;

/// About as many, seen from the next power of two.
const SIZES: [(u32, u64); 3] = [(55, 6), (860, 10), (55_000, 16)];

pub(crate) fn the_sponsor_of_a_join_works_on_its_path_only() {
    for (members, height) in SIZES {
        let mut sponsor = Sponsor::among(members);
        let region = Region::new(ALLOCATOR);
        sponsor.sponsor();
        let allocated = region.change().bytes_allocated as u64;
        let meter = sponsor.meter;
        let sent: Vec<_> = sponsor.outbox.messages().map(|message| message.body_bytes).collect();
        println!("{members} members: {sent:?} bytes sent, {allocated} allocated");
        assert_eq!(meter.exponentiations(), 2 * height, "{members} members");
        // The joining member's once more, when it comes.
        assert_eq!(meter.tally(Primitive::CheckElement).calls, height + 1, "{members} members");
        // The path but for the root, in a byte string; no confirmation.
        let length = 32 * height as usize;
        assert_eq!(sent, [length + if length < 256 { 2 } else { 3 } + 1], "{members} members");
        assert!(allocated < 2_000 * height, "{members} members: {allocated} bytes");
        // A hash for each secret and each node of the path, and the key; each of little.
        let hashes = meter.tally(Primitive::Derive);
        assert_eq!(hashes.calls, (height - 1) + (height + 2) + 1, "{members} members");
        assert!(hashes.amount < 250 * height, "{members} members: {hashes:?}");
    }
}

/// A member that is the sponsor when the next one joins.
struct Sponsor {
    party: Box<dyn Party>,
    me: MemberId,
    /// What the next one tells.
    join: Vec<u8>,
    rng: ChaCha20Rng,
    /// What it sent in its last step.
    outbox: Outbox,
    /// What it did in its last step.
    meter: Meter,
}

impl Sponsor {
    /// A member of a group of so many.
    ///
    /// # Panics
    ///
    /// If the number is below three quarters of a power of two.
    fn among(members: u32) -> Self {
        // Nobody can confirm the key of a tree that nobody made.
        let configuration = catalogue::scheme("tgdh").unwrap().configuration(Profile::Published);
        let me = MemberId(members - 1);
        let newcomer = MemberId(members);
        let mut sponsor = Self::new(&configuration, me);
        let joins: Vec<_> = (0..8).map(|seed| join_of(&configuration, MemberId(9), seed)).collect();
        let elements: Vec<_> = joins.iter().map(|join| &join[join.len() - 32..]).collect();
        sponsor.command(Command::Add(me));
        let own = sponsor.outbox.messages().next().expect("it tells its blinded key").bytes;
        let own = own[own.len() - 32..].to_vec();
        let others = (0..2 * members as usize - 3).flat_map(|i| elements[i % 8]).copied();
        let packed: Vec<u8> = others.chain(own).collect();
        sponsor.deliver(&tree(members, &packed));
        sponsor.join = join_of(&configuration, newcomer, 99);
        // Until here nobody needs to have acted.
        sponsor.command(Command::Add(newcomer));
        sponsor
    }

    /// The step that counts: it hears the joining member, makes its path anew, and has the key.
    fn sponsor(&mut self) {
        let join = std::mem::take(&mut self.join);
        self.deliver(&join);
    }

    fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            party: configuration.member(me),
            me,
            join: Vec::new(),
            rng: ChaCha20Rng::seed_from_u64(1),
            outbox: Outbox::new(),
            meter: Meter::new(),
        }
    }

    fn command(&mut self, command: Command<'_>) {
        self.step(|cx, party| cx.command(party, command));
    }

    fn deliver(&mut self, bytes: &[u8]) {
        self.step(|cx, party| cx.deliver(party, Channel::Open, bytes));
    }

    fn step(
        &mut self,
        step: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), groupkey::error::Error>,
    ) {
        let Self { party, me, rng, outbox, meter, .. } = self;
        outbox.clear();
        *meter = Meter::new();
        let me = PartyId::Member(*me);
        let setting = Setting::new(GroupId(7), Suite::Standard);
        let mut cx = Context::new(setting, me, Protection::None, rng, 0, outbox, meter);
        step(&mut cx, &mut **party).expect("the step is in order");
    }
}

fn join_of(configuration: &Configuration, member: MemberId, seed: u64) -> Vec<u8> {
    let mut newcomer = Sponsor::new(configuration, member);
    newcomer.rng = ChaCha20Rng::seed_from_u64(seed);
    newcomer.command(Command::Add(member));
    let join = newcomer.outbox.messages().next().expect("it tells its blinded key");
    join.bytes.to_vec()
}

/// The tree that the first member sends the last one.
fn tree(members: u32, packed: &[u8]) -> Vec<u8> {
    let height = members.next_power_of_two().ilog2();
    // Of the nodes two levels above the deepest, some have four leaves, the others, on the right, three.
    let nodes = members.next_power_of_two() / 4;
    assert!(members >= 3 * nodes && members < 4 * nodes, "no such tree");
    let full = members - 3 * nodes;
    let deep = height as u8;
    let mut depths = vec![deep; 4 * full as usize];
    depths.extend((full..nodes).flat_map(|_| [deep, deep, deep - 1]));
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes);
    let header = [1, 7, 5, 2, 2, 1, u64::from(members)];
    let result = encoder.array(7).and_then(|encoder| {
        header.iter().try_for_each(|&number| encoder.u64(number).map(drop))?;
        encoder.array(members.into())?;
        (0..members).try_for_each(|member| encoder.u32(member).map(drop))?;
        encoder.bytes(&depths)?.bytes(packed)?.bytes(&[])
    });
    assert!(result.is_ok(), "a vector takes everything");
    bytes
}
