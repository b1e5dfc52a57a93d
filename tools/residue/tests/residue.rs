//! Schemes leave next to no random key or exponent in memory that they give back: not while a group
//! lives, and not when its parties are gone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groupkey::catalogue::{Audience, Class, Configuration, Profile, SCHEMES};
use groupkey::protection::Guard;
use groupkey::{
    Channel, Command, Context, Error, Event, GroupId, MemberId, Operation, Outbox, Party, PartyId,
    Recipient, Setting, SubsetId, Suite,
};
use groupkey_residue::{MarkedBytes, Residue, WatchedAllocator, marks, residues};
use groupkey_testkit::credentials::Credentials;

#[global_allocator]
static WATCH: WatchedAllocator = WatchedAllocator;

/// Where an enum or an `Option` held a key and now holds something smaller, the rest stays as it was, or
/// is whatever lay on the stack: that hangs on the compiler, and two builds had 4 and 24. When lists grew
/// by themselves there were 5,364.
const BY_CHANCE: usize = 100;

/// Not the third: with AES-CBC a random vector goes with every wrapped key.
const SUITES: [Suite; 2] = [Suite::Standard, Suite::Constrained];

#[test]
fn schemes_leave_next_to_no_keys_behind() {
    let (mut blocks, mut all) = (0, BTreeMap::new());
    for scheme in SCHEMES {
        // Their secrets are numbers that were reduced, which bear no mark; to find primes takes randomness.
        if scheme.computes_pairings() {
            continue;
        }
        for profile in Profile::ALL {
            for suite in SUITES {
                let mut group = Group::new(scheme.configuration(profile), suite);
                group.live();
                group.end();
                // What others may hear, as a nonce, is no secret.
                let is_secret = |mark: &u32| !group.told.contains(mark);
                let left = group.left.iter().filter(|left| left.marks.iter().any(is_secret));
                for Residue { place, .. } in left.cloned() {
                    blocks += 1;
                    let schemes: &mut BTreeSet<_> = all.entry(place).or_default();
                    schemes.insert(scheme.id);
                }
            }
        }
    }
    println!("{blocks} blocks with keys in them, where they were given back: {all:#?}");
    assert!(blocks <= BY_CHANCE, "{blocks} blocks with keys in them: {all:#?}");
}

#[test]
fn what_is_left_is_found() {
    let mut random = MarkedBytes::default();
    let (list, left) = residues(|| {
        let mut list = Vec::with_capacity(1);
        for _ in 0..2 {
            let mut key = [0; 16];
            rand_core::Rng::fill_bytes(&mut random, &mut key);
            list.push(key);
        }
        list
    });
    assert_eq!((list.len(), left.len()), (2, 1), "{left:?}");
    assert!(marks(&list[0]).eq(left[0].marks.iter().copied()));
}

/// It is its own remainder modulo the order of ristretto255, which has 253 bits.
#[test]
fn an_exponent_is_found() {
    let mut wide = [1; 64];
    rand_core::Rng::fill_bytes(&mut MarkedBytes::default(), &mut wide);
    assert!(wide[31..].iter().all(|&byte| byte == 0) && marks(&wide[..31]).count() > 0);
    let ((), left) = residues(|| drop(wide[..32].to_vec()));
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A group whose members hear everything that is for them, at once.
struct Group {
    configuration: Configuration,
    suite: Suite,
    credentials: Credentials,
    random: MarkedBytes,
    parties: BTreeMap<PartyId, Seat>,
    members: BTreeSet<MemberId>,
    /// Who hears nothing at present.
    asleep: Option<MemberId>,
    /// Memory that was given back and held a key.
    left: Vec<Residue>,
    /// The marks of what was in messages.
    told: BTreeSet<u32>,
}

struct Seat {
    party: Box<dyn Party>,
    subsets: BTreeSet<SubsetId>,
}

type Posted = (PartyId, Recipient, Channel, Vec<u8>);

impl Group {
    fn new(configuration: Configuration, suite: Suite) -> Self {
        let controller =
            configuration.controller().into_iter().map(|party| (PartyId::Controller, party));
        let subgroups =
            configuration.subgroup_controllers().into_iter().map(|(id, party)| (id.into(), party));
        let parties = controller.chain(subgroups).map(|(id, party)| (id, Seat::new(party)));
        Self {
            parties: parties.collect(),
            configuration,
            suite,
            credentials: Credentials::new(Guard::None, 1),
            random: MarkedBytes::default(),
            members: BTreeSet::new(),
            asleep: None,
            left: Vec::new(),
            told: BTreeSet::new(),
        }
    }

    /// Every operation that the scheme has, some of them often enough for lists to grow.
    fn live(&mut self) {
        let founders: Vec<_> = (0..9).map(MemberId).collect();
        self.admit(&founders);
        self.tell_all(Command::Create(&founders));
        for round in 0..8 {
            let newcomer = MemberId(100 + round);
            if self.can(Operation::Add) {
                self.admit(&[newcomer]);
                self.tell_all(Command::Add(newcomer));
            }
            if self.can(Operation::Remove) && round % 2 == 1 {
                self.members.remove(&MemberId(round));
                self.tell_all(Command::Remove(MemberId(round)));
                self.dismiss(MemberId(round));
            }
            if self.can(Operation::Rekey) {
                self.tell_all(Command::Rekey);
            }
        }
        if self.can(Operation::Batch) {
            let (joining, leaving) = ([MemberId(200), MemberId(201)], [MemberId(0), MemberId(2)]);
            self.admit(&joining);
            self.members.retain(|member| !leaving.contains(member));
            self.tell_all(Command::Batch { joining: &joining, leaving: &leaving });
        }
        let sleeper = MemberId(4);
        self.asleep = Some(sleeper);
        if self.can(Operation::Add) {
            self.admit(&[MemberId(300)]);
            self.tell_all(Command::Add(MemberId(300)));
        }
        self.asleep = None;
        self.tell([sleeper.into()], Command::CatchUp);
    }

    /// The parties are gone.
    fn end(&mut self) {
        let parties = std::mem::take(&mut self.parties);
        let ((), left) = residues(|| drop(parties));
        self.left.extend(left);
    }

    fn can(&self, operation: Operation) -> bool {
        self.configuration.scheme().operations.contains(&operation)
    }

    fn admit(&mut self, members: &[MemberId]) {
        for &member in members {
            self.parties.insert(member.into(), Seat::new(self.configuration.member(member)));
            self.members.insert(member);
        }
        if self.configuration.scheme().class() != Class::Distributed {
            self.tell([PartyId::Controller], Command::Enroll(members));
        }
    }

    fn dismiss(&mut self, member: MemberId) {
        let seat = self.parties.remove(&member.into());
        let ((), left) = residues(|| drop(seat));
        self.left.extend(left);
    }

    fn tell_all(&mut self, command: Command<'_>) {
        let parties: Vec<_> = match self.configuration.scheme().audience(&command) {
            Audience::Controller => vec![PartyId::Controller],
            Audience::Everybody => self.parties.keys().copied().collect(),
            Audience::Members => self.members.iter().map(|&member| member.into()).collect(),
        };
        self.tell(parties, command);
    }

    fn tell(&mut self, parties: impl IntoIterator<Item = PartyId>, command: Command<'_>) {
        let mut posted = VecDeque::new();
        for id in parties {
            // Some commands are not for everybody at any time; what is refused must leave nothing either.
            self.step(id, &mut posted, |cx, party| cx.command(party, command));
        }
        while let Some((from, to, channel, bytes)) = posted.pop_front() {
            let hears =
                |(id, seat): (&PartyId, &Seat)| (*id != from && seat.hears(*id, to)).then_some(*id);
            let audience: Vec<_> = self.parties.iter().filter_map(hears).collect();
            for id in audience {
                self.step(id, &mut posted, |cx, party| cx.deliver(party, channel, &bytes));
            }
        }
    }

    fn step(
        &mut self,
        id: PartyId,
        posted: &mut VecDeque<Posted>,
        act: impl FnOnce(&mut Context<'_>, &mut dyn Party) -> Result<(), Error>,
    ) {
        let Some(Seat { party, subsets }) = self.parties.get_mut(&id) else { return };
        if self.asleep.is_some_and(|member| id == member.into()) {
            return;
        }
        let setting = Setting::new(GroupId(0), self.suite);
        let peers = self.credentials.peer_keys(id, self.suite);
        let protection = self.credentials.protection(id);
        let (random, mut meter) = (&mut self.random, ());
        let (outbox, left) = residues(|| {
            let mut outbox = Outbox::new();
            let mut cx = Context::new(setting, id, protection, random, 0, &mut outbox, &mut meter)
                .with_peer_keys(&peers);
            let _ = act(&mut cx, &mut **party);
            outbox
        });
        self.left.extend(left);
        for event in outbox.events() {
            match *event {
                Event::Subscribed(subset) => drop(subsets.insert(subset)),
                Event::Unsubscribed(subset) => drop(subsets.remove(&subset)),
                _ => {}
            }
        }
        self.told.extend(outbox.messages().flat_map(|sent| marks(sent.bytes)));
        let messages = outbox.messages();
        posted.extend(messages.map(|sent| (id, sent.to, sent.channel, sent.bytes.to_vec())));
        let ((), left) = residues(|| drop(outbox));
        self.left.extend(left);
    }
}

impl Seat {
    fn new(party: Box<dyn Party>) -> Self {
        Self { party, subsets: BTreeSet::new() }
    }

    fn hears(&self, id: PartyId, to: Recipient) -> bool {
        to.includes(id, |subset| self.subsets.contains(&subset))
    }
}
