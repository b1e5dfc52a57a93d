//! Compares the scalar shortcuts with the products that they replace, in the exponents. Tests sets.

use alloc::vec::Vec;

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::index_set::IndexSet;
use super::setup::Setup;
use crate::Suite;
use crate::context::{Context, Setting};
use crate::identity::{Epoch, GroupId, PartyId};
use crate::outbox::{Outbox, Recipient};
use crate::party::Operation;
use crate::protection::Protection;
use crate::wire::Reader;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    /// For any members, all products are as in the equations, and every member's K is the
    /// controller's. The growing design is included.
    #[test]
    fn shortcuts_are_the_products(
        growing: bool,
        first in 2u32..9,
        changes in proptest::collection::vec(any::<(bool, u8)>(), 0..20),
        seed: u64,
        published: bool,
    ) {
        let suite = if published { Suite::Published } else { Suite::Standard };
        with_context(suite, seed, |cx| {
            let mut setup = Setup::new(cx, if growing { first + 1 } else { 64 });
            let mut members: Vec<u32> = (1..=first).collect();
            members.iter().for_each(|&member| setup.insert(member));
            let mut next = first + 1;
            check(cx, &setup, &members);
            for (add, place) in changes {
                if add || members.len() == 2 {
                    if growing {
                        setup.move_hole(next + 1);
                    }
                    setup.insert(next);
                    members.push(next);
                    next += 1;
                } else {
                    let gone = members.remove(usize::from(place) % members.len());
                    setup.remove(gone);
                }
                check(cx, &setup, &members);
            }
        });
    }

    #[test]
    fn sets_survive_the_wire(indices in proptest::collection::btree_set(1u32..300, 0..200)) {
        let mut set = IndexSet::default();
        indices.iter().for_each(|&index| set.insert(index));
        prop_assert!(set.iter().eq(indices.iter().copied()));
        prop_assert_eq!(set.len() as usize, indices.len());
        let bytes = with_outbox(Suite::Standard, 1, |cx| {
            let mut draft = cx.draft(Recipient::Group, Epoch(1), Operation::Create, 0);
            set.write(&mut draft);
            draft.send();
        });
        let mut reader = Reader::new(&bytes);
        let read = IndexSet::read(&mut reader, 299).unwrap();
        reader.finish().unwrap();
        prop_assert!(read.iter().eq(indices.iter().copied()));
        if let Some(&last) = indices.last() {
            prop_assert!(IndexSet::read(&mut Reader::new(&bytes), last - 1).is_err());
        }
    }
}

#[test]
fn sets_that_are_too_large_or_not_canonical_are_refused() {
    for bytes in [
        &[0x81, 1][..],
        &[0x82, 0, 0],
        &[0x84, 0, 1, 0, 1],
        &[0x82, 0, 0x1a, 0xff, 0xff, 0xff, 0xff],
        &[0x82, 0x1a, 0xff, 0xff, 0xff, 0xff, 1],
        &[0x82, 0, 11],
        &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
    ] {
        assert!(IndexSet::read(&mut Reader::new(bytes), 10).is_err(), "{bytes:?}");
    }
}

/// Checks the equations in the exponents, where a pairing is a product.
fn check(cx: &mut Context<'_>, setup: &Setup, members: &[u32]) {
    let zero = cx.scalar(&[]);
    let power = |k| setup.power(k);
    let total = |indices: &mut dyn Iterator<Item = u32>| {
        indices.fold(zero.clone(), |sum, k| sum.plus(&power(k)))
    };
    let hole = setup.hole;
    let seal = total(&mut members.iter().map(|m| hole - m));
    assert!(setup.seal() == seal.plus(setup.gamma()));
    let t = cx.random_scalar();
    let shared = power(hole).times(&t);
    let mut stranger = hole - 1;
    while members.contains(&stranger) && stranger > 1 {
        stranger -= 1;
    }
    for &i in members.iter().chain([&stranger]) {
        let others = members.iter().filter(|&&m| m != i);
        let share = total(&mut others.map(|m| hole - m + i));
        let combined = share.plus(&setup.secret_key(i));
        let key = power(i).times(&setup.seal()).times(&t).minus(&combined.times(&t));
        assert!((key == shared) == members.contains(&i));
        assert!(!members.contains(&i) || setup.share(i) == share);
    }
    assert!(setup.published().all(|k| k != hole && k <= 2 * (hole - 1)));
    assert_eq!(setup.published().count() as u32, 2 * (hole - 1) - 1);
}

fn with_context(suite: Suite, seed: u64, work: impl FnOnce(&mut Context<'_>)) {
    with_outbox(suite, seed, work);
}

/// Runs `work` and returns the body of the last message.
fn with_outbox(suite: Suite, seed: u64, work: impl FnOnce(&mut Context<'_>)) -> Vec<u8> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut outbox = Outbox::new();
    work(&mut Context::new(
        Setting::new(GroupId(0), suite),
        PartyId::Controller,
        Protection::None,
        &mut rng,
        0,
        &mut outbox,
        &mut (),
    ));
    let last = outbox.messages().last();
    last.map(|last| last.bytes[last.bytes.len() - last.body_bytes..].to_vec()).unwrap_or_default()
}
