//! Keys that two members have in common, and keys that a member encrypts to another.

use groupkey::crypto::Wrapping;
use groupkey::crypto::group::{Element, ElementCheck};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::error::{Misbehaviour, Misuse};
use groupkey::protection::{Guard, Protection};
use groupkey::{Context, Epoch, GroupId, Key, MemberId, Outbox, PartyId, Setting, Suite};
use groupkey_testkit::credentials::Credentials;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

const ANN: PartyId = PartyId::Member(MemberId(4));
const BOB: PartyId = PartyId::Member(MemberId(9));
const EVE: PartyId = PartyId::Member(MemberId(5));
const EPOCH: Epoch = Epoch(3);

fn act<T>(suite: Suite, group: u64, me: PartyId, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let credentials = Credentials::new(Guard::None, 1);
    let keys = credentials.peer_keys(me, suite);
    let setting = Setting::new(GroupId(group), suite);
    let (mut rng, mut outbox, none) = (rng(), Outbox::new(), Protection::None);
    let mut probe = ();
    let cx = Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe);
    act(&mut cx.with_peer_keys(&keys))
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([7; 32])
}

#[test]
fn both_of_a_pair_have_its_key_and_nobody_else() {
    for suite in Suite::ALL.into_iter().filter(|suite| suite.group().is_some()) {
        let key = |group, me, other, label| act(suite, group, me, |cx| cx.pair_key(other, label));
        let shared = key(1, ANN, BOB, "a").unwrap();
        assert_eq!(Ok(&shared), key(1, BOB, ANN, "a").as_ref());
        for other in [key(1, EVE, BOB, "a"), key(2, ANN, BOB, "a"), key(1, ANN, BOB, "b")] {
            assert_ne!(Ok(&shared), other.as_ref());
        }
    }
}

#[test]
fn only_the_receiver_opens_an_encrypted_key_and_only_for_what_it_was_made() {
    for suite in Suite::ALL.into_iter().filter(|suite| suite.group().is_some()) {
        let (key, mut encrypted) = (Key::from_bytes([5; 16]), Vec::new());
        act(suite, 1, ANN, |cx| cx.encrypt_key(BOB, EPOCH, b"x", &key, &mut encrypted)).unwrap();
        let open = |group, me, info: &[u8], bytes: &[u8]| {
            act(suite, group, me, |cx| cx.decrypt_key(EPOCH, info, bytes, ElementCheck::Subgroup))
        };
        assert_eq!(open(1, BOB, b"x", &encrypted), Ok(key.clone()));
        // CBC has no integrity: a wrong key opens it and gets another key.
        for opened in [
            open(1, EVE, b"x", &encrypted),
            open(1, BOB, b"y", &encrypted),
            open(2, BOB, b"x", &encrypted),
        ] {
            assert_ne!(opened.as_ref(), Ok(&key));
            assert_eq!(opened.is_ok(), suite.wrapping() == Wrapping::AesCbc);
        }
        let length = Element::length(suite);
        let mut changed = encrypted.clone();
        changed[..length].fill(0);
        let refused = open(1, BOB, b"x", &changed);
        assert_eq!(refused, Err(Misbehaviour::InvalidElement.into()));
        let refused = open(1, BOB, b"x", &encrypted[1..]);
        assert_eq!(refused, Err(Misbehaviour::Malformed.into()));
    }
}

#[test]
fn who_has_no_keys_is_told() {
    let missing = Err(Misuse::NoPeerKeys.into());
    let (mut rng, mut outbox, mut probe) = (rng(), Outbox::new(), ());
    let (setting, none) = (Setting::new(GroupId(0), Suite::Standard), Protection::None);
    let mut cx = Context::new(setting, ANN, none, &mut rng, 0, &mut outbox, &mut probe);
    assert_eq!(cx.pair_key(BOB, "a"), missing);
    let mut out = Vec::new();
    let refused = cx.encrypt_key(BOB, EPOCH, b"", &Key::default(), &mut out);
    assert_eq!(refused, Err(Misuse::NoPeerKeys.into()));
    assert_eq!(cx.decrypt_key(EPOCH, b"", &[0; 56], ElementCheck::Subgroup), missing);
}

/// Checks the costs in the header.
#[test]
fn every_primitive_is_counted() {
    let credentials = Credentials::new(Guard::None, 1);
    let keys = credentials.peer_keys(ANN, Suite::Standard);
    let (mut rng, mut outbox, setting) =
        (rng(), Outbox::new(), Setting::new(GroupId(0), Suite::Standard));
    let mut out = Vec::new();
    let mut count = |act: &mut dyn FnMut(&mut Context<'_>)| {
        let mut meter = Meter::new();
        let none = Protection::None;
        let cx = Context::new(setting, ANN, none, &mut rng, 0, &mut outbox, &mut meter);
        act(&mut cx.with_peer_keys(&keys));
        let calls = Primitive::ALL.into_iter().map(|used| (used, meter.tally(used).calls));
        calls.filter(|&(_, calls)| calls > 0).collect::<Vec<_>>()
    };
    use Primitive::*;
    let pairing = count(&mut |cx| drop(cx.pair_key(BOB, "a").unwrap()));
    assert_eq!(pairing, [(Derive, 1), (Exponentiate, 1), (EncodeElement, 1)]);
    let encrypting = count(&mut |cx| {
        cx.encrypt_key(ANN, EPOCH, b"", &Key::default(), &mut out).unwrap();
    });
    let once = [Random, Wrap, Derive, ExponentiateGenerator, Exponentiate].map(|used| (used, 1));
    assert_eq!(encrypting, [&once[..], &[(EncodeElement, 3)]].concat());
    let opening = count(&mut |cx| {
        cx.decrypt_key(EPOCH, b"", &out, ElementCheck::Subgroup).unwrap();
    });
    let once = [Unwrap, Derive, Exponentiate, CheckElement].map(|used| (used, 1));
    assert_eq!(opening, [&once[..], &[(EncodeElement, 2)]].concat());
}
