//! Keys and ciphertexts fulfil the paper's equations, checked by pairings with the public key, and no
//! others open.

use alloc::vec::Vec;
use core::array::from_fn;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::attributes::{Attribute, Hashes};
use super::ciphertext::AttributeCiphertext;
use super::issuing::{AttributeIssuer, AttributeMaster};
use super::key::{AttributeKey, PolicyKey};
use crate::Suite;
use crate::context::{Context, Setting};
use crate::crypto::GroupContext;
use crate::crypto::pairing::{ElementCheck, G1, G2, Gt, Scalar};
use crate::identity::{Epoch, GroupId, PartyId};
use crate::outbox::Outbox;
use crate::protection::Protection;
use crate::secret::Key;

const SUITES: [Suite; 2] = [Suite::Standard, Suite::Published];

/// The period of the keys and of most ciphertexts.
const PERIOD: Epoch = Epoch(7);

/// Keys for a group and a period, and whether they opened what was sealed for "group and period 7" by
/// another implementation: rabe 0.4.2. It computes on BN254, so its bytes are of no use here; its
/// `cp_decrypt` and the six pairings of [`PolicyKey::open`], computed of its elements, said the same.
/// Recorded in one run.
const OPENED_BY_RABE: [(GroupId, Epoch, bool); 4] = [
    (GROUP, PERIOD, true),
    (GROUP, Epoch(6), false),
    (GroupId(1), PERIOD, false),
    (GroupId(1), Epoch(6), false),
];

/// Elements of G1 and of G2 in its key, and in its ciphertext.
const RABES_KEY: (usize, usize) = (9, 3);
const RABES_CIPHERTEXT: (usize, usize) = (6, 3);

const GROUP: GroupId = GroupId(0);

/// `h^a1`, `h^a2`, `e(g, h)^(d1 a1 + d3)` and `e(g, h)^(d2 a2 + d3)`: the paper's public key.
struct PublicKey {
    h: [G2; 2],
    t: [Gt; 2],
}

/// For each attribute: e(sk_(y,t), h^a_t) e(sk_(y,3), h) is the product of e(H(y,l,t), sk_(0,l)), and
/// for sk' that times T_t. Two keys by themselves, and a dozen by tables.
#[test]
fn keys_are_those_of_the_paper() {
    for suite in SUITES {
        with_context(suite, |cx, master| {
            let public = PublicKey::of(cx, master);
            let second = cx.g2_generator();
            for count in [2, 12] {
                let rows = [Attribute::Group, Attribute::Period(PERIOD), Attribute::Column(1)];
                let hashes: [Hashes; 3] = rows.map(|attribute| attribute.hashes(cx));
                for key in keys(cx, master, PERIOD, count) {
                    for (row, t) in (0..3).flat_map(|row| [(row, 0), (row, 1)]) {
                        let own = &key.elements[3 * row..];
                        let left = cx.pairings(&[(&own[t], &public.h[t]), (&own[2], &second)]);
                        let of_l = |l: usize| (&hashes[row][l][t], &key.begin[l]);
                        let mut right = cx.pairings(&[of_l(0), of_l(1), of_l(2)]);
                        if row == 2 {
                            right = right.times(&public.t[t]);
                        }
                        assert!(left == right, "row {row}, t {t}");
                    }
                }
            }
        });
    }
}

/// e(C_(i,l), h) is the product of e(B^(1/a_t), C_(0,t)), with B what the matrix says, and K follows from
/// the public key.
#[test]
fn ciphertexts_are_those_of_the_paper() {
    for suite in SUITES {
        with_context(suite, |cx, master| {
            let second = cx.g2_generator();
            let (sealed, shared) = AttributeCiphertext::draw(cx, master, PERIOD);
            let rows = [Attribute::Group, Attribute::Period(PERIOD)];
            let matrix: [&[(u8, bool)]; 2] = [&[(1, true), (2, true)], &[(2, false)]];
            let inverses = [&master.a1, &master.a2].map(|a| a.inverse().unwrap());
            for (place, (attribute, columns)) in rows.into_iter().zip(matrix).enumerate() {
                let own = attribute.hashes(cx);
                for (l, pair) in own.iter().enumerate() {
                    let bases: [G1; 2] = from_fn(|t| {
                        columns.iter().fold(pair[t].clone(), |base, &(column, is_positive)| {
                            let hash = &Attribute::Column(column).hashes(cx)[l][t];
                            let inverse = cx.g1_inverse(hash);
                            cx.g1_product(&base, [if is_positive { hash } else { &inverse }])
                        })
                    });
                    let [x, y]: [G1; 2] = from_fn(|t| cx.g1_power(&bases[t], &inverses[t]));
                    let right = cx.pairings(&[(&x, &sealed.begin[0]), (&y, &sealed.begin[1])]);
                    assert!(cx.pairings(&[(&sealed.rows[place][l], &second)]) == right);
                }
            }
            // T_1^s1 T_2^s2, with g^(d_t + d_3 / a_t) in place of the s_t that nobody keeps.
            let first = cx.g1_generator();
            let generators: [G1; 2] = from_fn(|t| {
                let d: &Scalar = [&master.d1, &master.d2][t];
                let exponent = d.plus(&master.d3.times(&inverses[t]));
                cx.g1_power(&first, &exponent)
            });
            let [x, y] = &generators;
            assert!(cx.pairings(&[(x, &sealed.begin[0]), (y, &sealed.begin[1])]) == shared);
        });
    }
}

/// Members that put the parts of their keys together are no better off: that is what the randomness of
/// a key is for.
#[test]
fn a_key_opens_its_period_alone_and_parts_of_two_keys_open_nothing() {
    for suite in SUITES {
        with_context(suite, |cx, master| {
            let (sealed, shared) = AttributeCiphertext::draw(cx, master, PERIOD);
            let old = keys(cx, master, Epoch(6), 1).remove(0);
            let [one, two] = <[AttributeKey; 2]>::try_from(keys(cx, master, PERIOD, 2)).unwrap();
            for key in [&one, &two] {
                assert!(opened(cx, key, &sealed) == shared);
            }
            assert!(opened(cx, &old, &sealed) != shared);
            for (giver, place) in [(&two, 0), (&two, 3), (&two, 6), (&old, 6)] {
                let mut mixed =
                    AttributeKey { begin: one.begin.clone(), elements: one.elements.clone() };
                mixed.elements[place..place + 3]
                    .clone_from_slice(&giver.elements[place..place + 3]);
                assert!(opened(cx, &mixed, &sealed) != shared, "{place}");
            }
            // A removed member with the part for the period of one who stays.
            let mut mixed =
                AttributeKey { begin: old.begin.clone(), elements: old.elements.clone() };
            mixed.elements[3..6].clone_from_slice(&one.elements[3..6]);
            assert!(opened(cx, &mixed, &sealed) != shared);
        });
    }
}

/// All groups here have one master key, for it is of one seed: so a key for another group is one
/// for another attribute.
#[test]
fn keys_open_what_those_of_another_implementation_opened() {
    for suite in SUITES {
        let draw = |cx: &mut Context<'_>, master: &AttributeMaster| {
            AttributeCiphertext::draw(cx, master, PERIOD)
        };
        let (sealed, shared) = in_group(GROUP, suite, draw);
        assert_eq!((sealed.rows.as_flattened().len(), sealed.begin.len()), RABES_CIPHERTEXT);
        for (group, period, opens) in OPENED_BY_RABE {
            in_group(group, suite, |cx, master| {
                let key = keys(cx, master, period, 1).remove(0);
                assert_eq!((key.elements.len(), key.begin.len()), RABES_KEY);
                assert_eq!(opened(cx, &key, &sealed) == shared, opens, "{group:?}, {period:?}");
            });
        }
    }
}

fn opened(cx: &mut Context<'_>, key: &AttributeKey, sealed: &AttributeCiphertext) -> Gt {
    let (kek, link) = (Key::from_bytes([1; 16]), Key::from_bytes([2; 16]));
    let wrapped = key.wrap(cx, &kek, Epoch(9), Some(&link));
    let check = ElementCheck::Subgroup;
    let mut unwrap =
        |wrapped: &[u8], has_link| PolicyKey::unwrap(cx, &kek, Epoch(9), has_link, wrapped, check);
    assert!(unwrap(&wrapped, false).is_err());
    assert!(unwrap(&wrapped[..wrapped.len() - 1], true).is_err());
    assert!(unwrap(&[&wrapped[..], &[0]].concat(), true).is_err());
    let (own, found) = unwrap(&wrapped, true).unwrap();
    assert_eq!(found, Some(link));
    own.open(cx, sealed)
}

fn keys(
    cx: &mut Context<'_>,
    master: &AttributeMaster,
    period: Epoch,
    count: usize,
) -> Vec<AttributeKey> {
    AttributeIssuer::new(cx, master, period, count).keys(cx, count)
}

impl PublicKey {
    fn of(cx: &mut Context<'_>, master: &AttributeMaster) -> Self {
        let (first, second) = (cx.g1_generator(), cx.g2_generator());
        let base = cx.pairings(&[(&first, &second)]);
        let [a, d] = [[&master.a1, &master.a2], [&master.d1, &master.d2]];
        let h = from_fn(|t| cx.g2_power(&second, a[t]));
        let t = from_fn(|t| base.power(&d[t].times(a[t]).plus(&master.d3)));
        Self { h, t }
    }
}

fn with_context(suite: Suite, work: impl FnOnce(&mut Context<'_>, &AttributeMaster)) {
    in_group(GROUP, suite, work);
}

fn in_group<T>(
    group: GroupId,
    suite: Suite,
    work: impl FnOnce(&mut Context<'_>, &AttributeMaster) -> T,
) -> T {
    let mut rng = ChaCha20Rng::seed_from_u64(41);
    let (mut outbox, mut probe) = (Outbox::new(), ());
    let context = GroupContext::of(&[&group.0.to_be_bytes()]);
    let setting = Setting::new(group, suite).with_context(context);
    let (me, none) = (PartyId::Controller, Protection::None);
    let mut cx = Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe);
    let master = AttributeMaster::new(&mut cx);
    work(&mut cx, &master)
}
