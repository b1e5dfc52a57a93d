//! An evicted member that speaks to members of a group without a controller who have an order of
//! events ([`Ordered`]).

use std::collections::{BTreeMap, VecDeque};

use groupkey::catalogue::{Adversary, Configuration};
use groupkey::error::{Error, Misbehaviour};
use groupkey::{
    Channel, Command, Context, Epoch, GroupId, Instance, Key, MemberId, Operation, Ordered, Outbox,
    Party, PartyId, Recipient, Suite,
};
use groupkey_testkit::credentials::Credentials;
use groupkey_testkit::rig::RigError;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture;
use crate::audit::claims::Claim;

/// It gives the commands of a member, and sends a message of an epoch that is far ahead.
pub(super) const SPEAKS: Attack = Attack {
    id: "evicted-speaks",
    name: "An evicted member speaks, where events have an order",
    reference: OWN_ANALYSIS,
    shows: "members act on what an evicted one says, or begin again because of it",
    applies_to: |scheme, _| fixture::is_distributed(scheme) && fixture::is_dynamic(scheme),
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: |configuration, seed| speak(configuration, seed),
};

/// It asks to join again.
pub(super) const RETURNS: Attack = Attack {
    id: "evicted-returns",
    name: "An evicted member asks to join again, where events have an order",
    shows: "who was evicted need only ask, and is a member again",
    run: |configuration, seed| ask_back(configuration, seed),
    ..SPEAKS
};

/// The member that is evicted: the first, which announces events.
const EVICTED: u32 = 0;

/// What the evicted member says: a command that it gives or, without one, a message of an epoch far
/// ahead.
pub(super) static WORDS: [(&str, Option<Command<'static>>); 6] = [
    ("begins a new period", Some(Command::Rekey)),
    ("evicts member 2", Some(Command::Remove(MemberId(2)))),
    ("reports member 2 dead", Some(Command::Partition(&[MemberId(2)]))),
    ("asks to begin again", Some(Command::CatchUp)),
    ("leaves", Some(Command::Remove(MemberId(EVICTED)))),
    ("sends a message of an epoch far ahead", None),
];

fn speak(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    for (place, (what, _)) in WORDS.iter().enumerate() {
        if is_heard(configuration, seed, place, true) {
            let steps = vec![
                format!("member {EVICTED} {what}"),
                "the others act on it, or believe that they fell behind and begin again".to_owned(),
            ];
            return Ok(AttackOutcome::Broken { history: history(), steps });
        }
    }
    Ok(AttackOutcome::Holds)
}

/// Whether the others act on what the member says, which was evicted or is present. It does not
/// know of its eviction, or does not care.
pub(super) fn is_heard(
    configuration: &AttackTarget<'_>,
    seed: u64,
    place: usize,
    evicted: bool,
) -> bool {
    let mut circle = Circle::new(configuration, seed);
    if evicted {
        circle.evict();
    }
    let before = circle.states();
    circle.refusals.clear();
    match WORDS[place].1 {
        Some(command) => circle.command(EVICTED, command),
        None => drop(circle.step(EVICTED, |cx, _| {
            cx.draft(Recipient::Group, Epoch(1_000_000), Operation::Rekey, 0).send();
            Ok(())
        })),
    }
    circle.settle();
    let begins_anew = circle
        .refusals
        .iter()
        .any(|error| matches!(error, Error::Misbehaved(Misbehaviour::SkippedEpoch { .. })));
    circle.states() != before || begins_anew
}

fn ask_back(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let mut circle = Circle::new(configuration, seed);
    circle.evict();
    circle.sit(EVICTED);
    circle.command(EVICTED, Command::Add(MemberId(EVICTED)));
    circle.settle();
    let states = circle.states();
    let own = key_of(&circle.seats[&EVICTED].party);
    let is_back = own.is_some() && states.values().any(|state| state.key == own);
    if !is_back {
        return Ok(AttackOutcome::Holds);
    }
    let steps = vec![
        format!("member {EVICTED} asks to join, signed with its long-term key"),
        "the first member announces it: nobody asks who may join".to_owned(),
        format!("member {EVICTED} has the group's key"),
    ];
    Ok(AttackOutcome::Broken { history: history(), steps })
}

fn history() -> Vec<String> {
    vec![
        "members 0 to 3 make a group, with an order of events".to_owned(),
        format!("member 1 evicts member {EVICTED}"),
    ]
}

/// Members around a topic with one order.
struct Circle {
    configuration: Configuration,
    suite: Suite,
    credentials: Credentials,
    seats: BTreeMap<u32, OrderedParty>,
    queue: VecDeque<(u32, Recipient, Vec<u8>)>,
    refusals: Vec<Error>,
    seed: u64,
}

struct OrderedParty {
    party: Ordered,
    rng: ChaCha20Rng,
    hears: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct MemberKnowledge {
    members: Vec<MemberId>,
    key: Option<(Epoch, Key)>,
    is_settled: bool,
}

/// Deliveries before a circle counts as settled. A creation of four takes fewer than a hundred.
const LIMIT: usize = 2_000;

impl Circle {
    /// A group of members 0 to 3.
    fn new(configuration: &AttackTarget<'_>, seed: u64) -> Self {
        let guard = fixture::guard(configuration);
        let suite = configuration.suite_or(Suite::Standard);
        let mut circle = Self {
            configuration: Configuration::clone(configuration),
            suite,
            credentials: Credentials::for_suite(suite, guard, seed),
            seats: BTreeMap::new(),
            queue: VecDeque::new(),
            refusals: Vec::new(),
            seed,
        };
        let members = [EVICTED, 1, 2, 3].map(MemberId);
        members.iter().for_each(|member| circle.sit(member.0));
        for member in members {
            circle.command(member.0, Command::Create(&members));
        }
        circle.settle();
        circle
    }

    /// Evicts the first member. It does not hear of that.
    fn evict(&mut self) {
        if let Some(seat) = self.seats.get_mut(&EVICTED) {
            seat.hears = false;
        }
        self.command(1, Command::Remove(MemberId(EVICTED)));
        self.settle();
    }

    fn sit(&mut self, member: u32) {
        let Ok(party) = Ordered::new(self.configuration.clone(), MemberId(member)) else { return };
        self.credentials.issue(fixture::party(member));
        let rng = ChaCha20Rng::seed_from_u64(self.seed ^ u64::from(member) << 32);
        self.seats.insert(member, OrderedParty { party, rng, hears: true });
    }

    fn command(&mut self, member: u32, command: Command<'_>) {
        let given = self.step(member, |cx, party| cx.command(party, command));
        self.refusals.extend(given.err());
    }

    /// Delivers until nothing is on its way.
    fn settle(&mut self) {
        for _ in 0..LIMIT {
            let Some((from, to, bytes)) = self.queue.pop_front() else { return };
            let listening = self.seats.iter().filter(|(_, seat)| seat.hears);
            let hears = |member: u32| match to {
                Recipient::Member(MemberId(one)) => one == member,
                // A topic also gives a sender its own messages.
                _ => true,
            };
            let listening: Vec<_> = listening.map(|(&id, _)| id).filter(|&id| hears(id)).collect();
            for member in listening {
                let given = self.step(member, |cx, party| cx.deliver(party, Channel::Open, &bytes));
                if member != from {
                    self.refusals.extend(given.err());
                }
            }
        }
    }

    /// Returns what the members have that were not evicted.
    fn states(&self) -> BTreeMap<u32, MemberKnowledge> {
        let others = self.seats.iter().filter(|(member, _)| **member != EVICTED);
        let state = |(&member, seat): (&u32, &OrderedParty)| {
            let state = MemberKnowledge {
                members: seat.party.members().collect(),
                key: key_of(&seat.party),
                is_settled: seat.party.is_settled(),
            };
            (member, state)
        };
        others.map(state).collect()
    }

    fn step(
        &mut self,
        member: u32,
        act: impl FnOnce(&mut Context<'_>, &mut Ordered) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (suite, guard) = (self.suite, fixture::guard(&self.configuration));
        let setting = self.configuration.setting(GroupId(7), suite, guard, "", Instance::default());
        let me: PartyId = fixture::party(member);
        let Some(seat) = self.seats.get_mut(&member) else { return Ok(()) };
        let (mut outbox, mut probe) = (Outbox::new(), ());
        let peer_keys = self.credentials.peer_keys(me, setting.suite);
        let protection = self.credentials.protection(me);
        let mut cx =
            Context::new(setting, me, protection, &mut seat.rng, 0, &mut outbox, &mut probe)
                .with_peer_keys(&peer_keys);
        act(&mut cx, &mut seat.party)?;
        let sent = outbox.messages().map(|sent| (member, sent.to, sent.bytes.to_vec()));
        self.queue.extend(sent);
        Ok(())
    }
}

fn key_of(party: &Ordered) -> Option<(Epoch, Key)> {
    party.group_key().map(|(epoch, key)| (epoch, key.clone()))
}
