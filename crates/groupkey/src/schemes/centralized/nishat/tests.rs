//! Attacks by evicted and joining members, which break the published form and not the sound one.
//! Also the sizes that S004 reports, and the scheme's own encryption.

use alloc::collections::BTreeMap;

use dashu_base::BitTest;
use dashu_int::UBig;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::lock::{open, unmask_own};
use super::*;
use crate::context::Setting;
use crate::crypto::group::ElementCheck;
use crate::crypto::integer::{Integer, Prime};
use crate::crypto::meter::Probe;
use crate::crypto::pairing::G1;
use crate::error::Misbehaviour;
use crate::identity::{GroupId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::party::{Command, Encapsulation, Party};
use crate::protection::Protection;
use crate::scheme::Profile;
use crate::wire::{Reader, parse_header};

/// The attacker's arithmetic, which the audit has too.
#[allow(unreachable_pub)]
#[path = "../../../../../../tools/testkit/src/rig/fractions.rs"]
mod fractions;

/// Members of a group that is large enough for an evicted member's attack by continued fractions.
const ENOUGH: u32 = 6;

#[test]
fn a_removed_member_finds_the_next_key_of_the_published_form() {
    for suite in [Suite::Standard, Suite::Published] {
        for members in [ENOUGH, 11] {
            let mut group = Group::new(Profile::Published, suite, members);
            let before = group.broadcast.clone();
            let removed = group.evict(2);
            let known = known_product(&removed, &before);
            let found = keys_by_fractions(&group, &removed, &known, &group.broadcast);
            assert_eq!(found, [group.key()], "{suite:?}, {members} members");
        }
    }
}

#[test]
fn a_newcomer_finds_the_last_key_of_the_published_form() {
    for suite in [Suite::Standard, Suite::Published] {
        for members in [ENOUGH, 11] {
            let mut group = Group::new(Profile::Published, suite, members);
            let (before, key) = (group.broadcast.clone(), group.key());
            group.add(members);
            let newcomer = &group.members[&members];
            let product = known_product(newcomer, &group.broadcast);
            let known = fractions::quotient(&product, prime_of(newcomer).as_bytes());
            assert_eq!(keys_by_fractions(&group, newcomer, &known, &before), [key], "{suite:?}");
        }
    }
}

/// This attack works however few members are left. It needs no fraction, because the evicted member
/// has another member's prime.
#[test]
fn a_member_finds_anothers_prime_in_the_published_form_and_cannot_be_removed() {
    for suite in [Suite::Standard, Suite::Published] {
        let mut group = Group::new(Profile::Published, suite, 2);
        let mut known = Vec::new();
        for newcomer in [2, 3, 4] {
            known.push(known_product(&group.members[&1], &group.broadcast));
            group.add(newcomer);
        }
        let [first, second, third] = &known[..] else { unreachable!("three epochs") };
        let prime = fractions::newcomers_prime([first, second, third]);
        let of_another = prime_of(&group.members[&2]).clone();
        assert_eq!(prime, of_another.encoded(suite), "{suite:?}");

        group.evict(3);
        group.evict(4);
        let removed = group.evict(1);
        let k = Integer::from_bytes(lock_of(&group.broadcast)).short_of_multiple(&of_another);
        let found = group.decrypt(&removed, &group.broadcast, &k.to_bytes(), None);
        assert_eq!(found, Some(group.key()));
    }
}

#[test]
fn neither_finds_a_key_of_the_sound_form() {
    for suite in [Suite::Standard, Suite::Published] {
        let mut group = Group::new(Profile::Sound, suite, ENOUGH);
        let before = group.broadcast.clone();
        let seed = group.seed(&before, 2);
        let removed = group.evict(2);
        let (after, key) = (group.broadcast.clone(), group.key());
        assert!(!group.finds(&removed, 2, &key, &after, &before, &seed), "{suite:?}, removed");
        // The evicted member's attack works in an epoch in which it was a member.
        let old = removed.group_key().map(|(_, key)| key.clone()).expect("it was a member");
        assert!(group.finds(&removed, 2, &old, &before, &before, &seed));

        // The joining member gets the slot of the evicted member.
        group.add(ENOUGH);
        let seed = group.seed(&group.broadcast, ENOUGH);
        let newcomer = &group.members[&ENOUGH];
        let slot = newcomer.membership.enrolment().unwrap().slot;
        assert_eq!(slot, 2);
        for (message, key) in [(&before, &old), (&after, &key)] {
            let found = group.finds(newcomer, slot, key, message, &group.broadcast, &seed);
            assert!(!found, "{suite:?}, newcomer");
        }
    }
}

/// S004 section V: 2048 bits of PK, 3072 of a ciphertext, 159 (rounded up) of gamma for each
/// member. Primes of 159 bits with the highest bit set are 2^158.56 on geometric average. S004
/// gives the secret key and z1, z2 as 6302 ± 2 bits, which are six elements and a prime. A member
/// holds eight elements.
#[test]
fn the_published_sizes_come_out() {
    let bits = |bytes: &[u8]| 8 * bytes.len();
    let of_gamma = |members| {
        let group = Group::new(Profile::Published, Suite::Published, members);
        let [gamma, public_key, ciphertext, ..] = &items(&group.broadcast)[..] else {
            unreachable!("three items")
        };
        assert_eq!((bits(public_key), bits(ciphertext)), (2_048, 3_072));
        UBig::from_be_bytes(gamma).bit_len() as f64
    };
    let each = (of_gamma(550) - of_gamma(50)) / 500.0;
    assert_eq!(each.ceil(), 159.0, "{each}");
    let elements = 6 * 8 * G1::length(Suite::Published);
    let secret = elements + Prime::bits(Suite::Published) as usize;
    assert!((6_300..=6_304).contains(&secret), "{secret}");
}

#[test]
fn current_members_read_what_one_of_them_encrypts() {
    for profile in Profile::ALL {
        for suite in Suite::ALL.into_iter().filter(|suite| suite.has_pairing()) {
            let mut group = Group::new(profile, suite, 4);
            let removed = group.evict(3);
            let writer = &group.members[&1];
            let (key, ciphertext) = group.with(|cx| writer.encapsulate(cx)).unwrap();
            assert_eq!(ciphertext.len(), encryption::ciphertext_length(suite));
            for reader in group.members.values() {
                assert_eq!(group.with(|cx| reader.decapsulate(cx, &ciphertext)), Ok(key.clone()));
            }
            assert_ne!(group.with(|cx| removed.decapsulate(cx, &ciphertext)), Ok(key.clone()));
            let short = &ciphertext[1..];
            let refused = group.with(|cx| writer.decapsulate(cx, short));
            assert_eq!(refused, Err(Misbehaviour::Malformed.into()));
            let mut other = ciphertext.clone();
            *other.last_mut().unwrap() ^= 1;
            assert_ne!(group.with(|cx| writer.decapsulate(cx, &other)), Ok(key));
        }
    }
}

#[test]
fn more_members_than_the_capacity_are_refused() {
    let mut configuration = SCHEME_FOR_TESTS.configuration(Profile::Sound);
    configuration.set(CAPACITY.name, CAPACITY.range.0).unwrap();
    let mut controller = Controller::new(&configuration);
    let everybody: Vec<_> = (0..=CAPACITY.range.0).map(MemberId).collect();
    let (fitting, one_more) = everybody.split_at(CAPACITY.range.0 as usize);
    let mut step = |members| {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (mut outbox, mut probe) = (Outbox::new(), ());
        context(Suite::Standard, PartyId::Controller, &mut rng, &mut outbox, &mut probe)
            .command(&mut controller, Command::Enroll(members))
    };
    let refused = Err(Unsupported::TooManyMembers { limit: CAPACITY.range.0 }.into());
    assert_eq!(step(&everybody), refused);
    step(fitting).unwrap();
    assert_eq!(step(one_more), refused);
}

/// Members refuse a lock that is too long, and a lock that is not the only encoding of its number.
#[test]
fn impossible_locks_are_refused() {
    let mut configuration = SCHEME_FOR_TESTS.configuration(Profile::Published);
    configuration.set(CAPACITY.name, CAPACITY.range.0).unwrap();
    let group = Group::new(Profile::Published, Suite::Published, 3);
    let prime = prime_of(&group.members[&0]);
    let longest = (CAPACITY.range.0 as usize + 1) * Prime::length(Suite::Published);
    for (gamma, refused) in [
        (alloc::vec![1; longest + 1], true),
        (alloc::vec![], true),
        ([&[0], lock_of(&group.broadcast)].concat(), true),
        (Integer::product([prime]).to_bytes(), true),
        (lock_of(&group.broadcast).to_vec(), false),
    ] {
        let opened = group.with(|cx| open(cx, &gamma, prime, CAPACITY.range.0));
        assert_eq!(opened.is_err(), refused, "{} bytes", gamma.len());
    }
}

static SCHEME_FOR_TESTS: Scheme = SCHEME;

/// A controller, its members, and its last broadcast.
struct Group {
    suite: Suite,
    configuration: Configuration,
    controller: Controller,
    members: BTreeMap<u32, Member>,
    rng: ChaCha20Rng,
    broadcast: Vec<u8>,
}

impl Group {
    fn new(profile: Profile, suite: Suite, members: u32) -> Self {
        let configuration = SCHEME_FOR_TESTS.configuration(profile);
        let everybody: Vec<_> = (0..members).map(MemberId).collect();
        let mut group = Self {
            suite,
            controller: Controller::new(&configuration),
            members: BTreeMap::new(),
            rng: ChaCha20Rng::seed_from_u64(members.into()),
            broadcast: Vec::new(),
            configuration,
        };
        // The tests have only the first members of large groups.
        for id in (0..members).take(12) {
            group.members.insert(id, Member::new(&group.configuration));
        }
        group.command(Command::Enroll(&everybody));
        group.command(Command::Create(&everybody));
        group
    }

    fn add(&mut self, id: u32) {
        self.members.insert(id, Member::new(&self.configuration));
        self.command(Command::Enroll(&[MemberId(id)]));
        self.command(Command::Add(MemberId(id)));
    }

    /// Removes a member. Returns the member as it was before its removal.
    fn evict(&mut self, id: u32) -> Member {
        let removed = self.members.remove(&id).expect("it is a member");
        self.command(Command::Remove(MemberId(id)));
        removed
    }

    fn command(&mut self, command: Command<'_>) {
        let Self { suite, controller, members, rng, broadcast, .. } = self;
        let mut outbox = Outbox::new();
        context(*suite, PartyId::Controller, rng, &mut outbox, &mut ())
            .command(controller, command)
            .unwrap();
        for message in outbox.messages() {
            for (&id, member) in &mut *members {
                let addressed = match message.to {
                    Recipient::Member(to) => to.0 == id,
                    _ => true,
                };
                if addressed {
                    let me = MemberId(id).into();
                    context(*suite, me, rng, &mut Outbox::new(), &mut ())
                        .deliver(member, message.channel, message.bytes)
                        .unwrap();
                }
            }
            if message.channel == Channel::Open {
                *broadcast = message.bytes.to_vec();
            }
        }
        let key = controller.group_key();
        let changed = !matches!(command, Command::Enroll(_));
        assert!(!changed || members.values().all(|member| member.group_key() == key));
    }

    fn key(&self) -> Key {
        self.controller.group_key().expect("there is a group").1.clone()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let mut outbox = Outbox::new();
        act(&mut context(self.suite, PartyId::Controller, &mut rng, &mut outbox, &mut ()))
    }

    /// Returns the group key that a broadcast carries for a party with a secret key, k and, in
    /// `sound`, a seed.
    fn decrypt(&self, who: &Member, broadcast: &[u8], k: &[u8], seed: Option<&Key>) -> Option<Key> {
        let (header, _) = parse_header(broadcast).unwrap();
        let ciphertext = items(broadcast)[2];
        self.with(|cx| {
            let key = &who.secret.as_ref()?.key;
            let k = match seed {
                Some(seed) => seeded_exponent(cx, seed),
                None => cx.scalar(k),
            };
            let decryption_key = key.decryption_key(cx, &k)?;
            let element = key.decrypt(cx, &decryption_key, ciphertext, ElementCheck::Range).ok()?;
            Some(group_key(cx, header.epoch, element, seed))
        })
    }

    fn seed(&self, broadcast: &[u8], id: u32) -> Key {
        let enrolment = self.members[&id].membership.enrolment().unwrap();
        let (lock, slot) = (lock_of(broadcast), enrolment.slot);
        let (key, confirmation) = (&enrolment.key, confirmation_of(broadcast));
        self.with(|cx| unmask_own(cx, key, &confirmation, lock, slot, 1 << 16)).unwrap()
    }

    /// Returns whether a party finds the key of a broadcast that is not for it. The party knows a
    /// broadcast that is for it, and the seed of that broadcast.
    fn finds(
        &self,
        who: &Member,
        slot: u32,
        key: &Key,
        broadcast: &[u8],
        own: &[u8],
        own_seed: &Key,
    ) -> bool {
        let individual = &who.membership.enrolment().unwrap().key;
        let entries = |message| {
            lock_of(message)
                .chunks_exact(Key::BYTES)
                .map(|e| Key::from_bytes(e.try_into().unwrap()))
        };
        let mut seeds = alloc::vec![own_seed.clone()];
        for entry in entries(broadcast) {
            for message in [broadcast, own] {
                let confirmation = confirmation_of(message);
                seeds.push(self.with(|cx| mask(cx, individual, &confirmation, &entry)));
            }
        }
        // A mask that was used twice would cancel out.
        for (theirs, ours) in entries(broadcast).zip(entries(own)) {
            seeds.push(self.with(|cx| {
                let masks = cx.xor(&theirs, &ours);
                cx.xor(&masks, own_seed)
            }));
        }
        // The lock as a number, and the number that the party knows of its own lock.
        let known = fractions::sum(lock_of(own), own_seed.as_bytes());
        let by_fractions = keys_by_fractions(self, who, &known, broadcast);
        debug_assert!(slot < self.controller.group.roster.slots() as u32);
        by_fractions.contains(key)
            || seeds
                .iter()
                .any(|seed| self.decrypt(who, broadcast, &[], Some(seed)).as_ref() == Some(key))
    }
}

/// Returns the keys that continued fractions lead to. The party is not a receiver of the broadcast.
/// It knows a multiple of the product of the primes behind the broadcast's gamma, and that gamma is
/// a small number below a multiple.
fn keys_by_fractions(group: &Group, who: &Member, known: &[u8], broadcast: &[u8]) -> Vec<Key> {
    let longest = Prime::bits(group.suite);
    let candidates = fractions::lacking_by_fractions(lock_of(broadcast), known, longest);
    candidates.iter().filter_map(|k| group.decrypt(who, broadcast, k, None)).collect()
}

/// Returns gamma + k of an epoch in which the party is a member.
fn known_product(who: &Member, broadcast: &[u8]) -> Vec<u8> {
    let gamma = lock_of(broadcast);
    fractions::sum(gamma, &fractions::lacking(gamma, prime_of(who).as_bytes()))
}

fn prime_of(member: &Member) -> &Prime {
    member.secret.as_ref().and_then(|secret| secret.prime.as_ref()).expect("the form has primes")
}

fn confirmation_of(broadcast: &[u8]) -> Key {
    Key::from_bytes(items(broadcast)[3].try_into().unwrap())
}

fn lock_of(broadcast: &[u8]) -> &[u8] {
    items(broadcast)[0]
}

/// Returns the byte strings of a message's body.
fn items(message: &[u8]) -> Vec<&[u8]> {
    let (_, body) = parse_header(message).unwrap();
    let mut reader = Reader::new(body);
    core::iter::from_fn(|| reader.bytes().ok()).collect()
}

fn context<'c>(
    suite: Suite,
    me: PartyId,
    rng: &'c mut ChaCha20Rng,
    outbox: &'c mut Outbox,
    probe: &'c mut dyn Probe,
) -> Context<'c> {
    let setting = Setting::new(GroupId(0), suite);
    Context::new(setting, me, Protection::None, rng, 0, outbox, probe)
}
