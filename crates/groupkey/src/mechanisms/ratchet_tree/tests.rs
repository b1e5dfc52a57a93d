use alloc::vec;
use alloc::vec::Vec;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_core::Rng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::GroupId;
use crate::outbox::Outbox;
use crate::protection::Protection;

/// The length of the public keys here, which are no elements.
const KEY: usize = 8;

#[test]
fn resolutions_are_those_of_the_rfc() {
    // RFC 9420 section 4.1.1, figure 10: leaves A to H; C and its parents blank, B unmerged at AB.
    let mut tree = tree_of(8);
    tree.nodes[4] = Node::Blank;
    for (node, unmerged) in [(3, vec![1]), (9, vec![]), (7, vec![])] {
        tree.nodes[node] = parent(node as u8, unmerged);
    }
    assert_eq!(tree.resolution(4), []);
    assert_eq!(tree.resolution(3), [3, 2]);
    assert_eq!(tree.resolution(5), [6]);
    assert_eq!(tree.resolution(11), [9, 12, 14]);
    // The node above C and D has no member beside D, so it is not on D's filtered direct path.
    let path: Vec<_> = tree.filtered_path(6).iter().map(|step| step.node).collect();
    assert_eq!(path, [3, 7]);
}

#[test]
fn a_full_tree_doubles_and_an_empty_half_goes() {
    with_context(|cx| {
        let mut tree = tree_of(4);
        let before = (tree.nodes.clone(), tree.tree_hash(cx));
        tree.begin();
        assert_eq!(tree.add(MemberId(50), &[50; KEY]), 8);
        assert_eq!((tree.nodes.len(), tree.root()), (15, 7));
        assert_ne!(tree.tree_hash(cx), before.1);
        tree.undo();
        assert_eq!((tree.nodes.clone(), tree.tree_hash(cx)), before);
        tree.begin();
        tree.remove(6);
        tree.shrink();
        assert_eq!(tree.nodes.len(), 7, "a member is left in the right half");
        tree.remove(4);
        tree.shrink();
        assert_eq!(tree.nodes.len(), 3);
        tree.undo();
        assert_eq!((tree.nodes.clone(), tree.tree_hash(cx)), before);
    });
}

/// Random histories: parent hashes are valid, the encoding brings the same tree, what is undone
/// never was, and hashes that were kept are those of a new computation.
#[test]
fn trees_stay_consistent() {
    with_context(|cx| {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for size in [2, 3, 8, 13] {
            let mut tree = tree_of(size);
            tree.tree_hash(cx);
            let mut next = 100;
            for step in 0..150_u32 {
                let before = (tree.nodes.clone(), tree.hashes.clone());
                tree.begin();
                let leaves: Vec<_> = tree.leaves().map(|(leaf, _)| leaf).collect();
                let any = leaves[rng.next_u32() as usize % leaves.len()];
                match rng.next_u32() % 4 {
                    0 if leaves.len() > 2 => {
                        tree.remove(any);
                        tree.shrink();
                    }
                    1 if leaves.len() < 20 => {
                        next += 1;
                        tree.add(MemberId(next), &key_of(&mut rng));
                    }
                    _ => {
                        let steps = tree.filtered_path(any);
                        let publics: Vec<_> = steps.iter().flat_map(|_| key_of(&mut rng)).collect();
                        tree.set_path(cx, any, &key_of(&mut rng), &steps, &publics);
                    }
                }
                let hash = tree.tree_hash(cx);
                let mut read = RatchetTree::from_bytes(KEY, &tree.to_bytes()).unwrap();
                assert_eq!(read.tree_hash(cx), hash);
                assert!(read.nodes == tree.nodes);
                assert!(read.has_valid_parent_hashes(cx), "{size} members, step {step}");
                if rng.next_u32().is_multiple_of(3) {
                    tree.undo();
                    assert!(before.0 == tree.nodes);
                    tree.tree_hash(cx);
                    let known = before.1.iter().zip(&tree.hashes);
                    let same = |(before, now): (&Option<_>, &Option<_>)| {
                        before.is_none() || now.is_none() || before == now
                    };
                    assert!(known.into_iter().all(same));
                } else {
                    tree.keep();
                }
            }
        }
    });
}

/// A node that a member did not make: with another key, or moved from elsewhere.
#[test]
fn a_node_that_nobody_below_it_made_is_found() {
    with_context(|cx| {
        let mut tree = tree_of(8);
        for leaf in [0, 4, 8, 12, 2] {
            let steps = tree.filtered_path(leaf);
            let publics: Vec<_> = (0..steps.len() as u8)
                .flat_map(|step| [leaf as u8, step, 9, 9, 9, 9, 9, 9])
                .collect();
            tree.set_path(cx, leaf, &[leaf as u8 + 100; KEY], &steps, &publics);
        }
        assert!(tree.clone().has_valid_parent_hashes(cx));
        for node in (1..15).step_by(2) {
            let Node::Parent(genuine) = tree.nodes[node].clone() else { continue };
            let mut forged = tree.clone();
            forged.hashes.fill(None);
            forged.nodes[node] =
                Node::Parent(Parent { public: [77; KEY].into(), ..genuine.clone() });
            assert!(!forged.has_valid_parent_hashes(cx), "key of {node}");
            // A leaf that is said to be unmerged would not be sent secrets under the node's key.
            if genuine.unmerged.is_empty() {
                let unmerged = vec![math::subtree(node).start as u32 / 2];
                forged.nodes[node] = Node::Parent(Parent { unmerged, ..genuine });
                assert!(!forged.has_valid_parent_hashes(cx), "unmerged at {node}");
            }
        }
    });
}

#[test]
fn other_bytes_are_no_tree() {
    let mut tree = tree_of(5);
    tree.nodes[3] = parent(33, vec![1, 2]);
    tree.nodes[5] = parent(55, vec![2]);
    let bytes = tree.to_bytes();
    assert!(RatchetTree::from_bytes(KEY, &bytes).is_ok());
    for length in 0..bytes.len() {
        assert!(RatchetTree::from_bytes(KEY, &bytes[..length]).is_err(), "{length} bytes");
    }
    let refused = |alter: &dyn Fn(&mut RatchetTree)| {
        let mut altered = tree.clone();
        alter(&mut altered);
        RatchetTree::from_bytes(KEY, &altered.to_bytes()).is_err()
    };
    assert!(refused(&|tree| tree.nodes[2] = tree.nodes[0].clone()), "a member twice");
    assert!(refused(&|tree| tree.nodes[3] = parent(2, vec![])), "a key twice");
    assert!(refused(&|tree| tree.nodes[3] = parent(33, vec![4])), "not below the node");
    assert!(refused(&|tree| tree.nodes[3] = parent(33, vec![2, 1])), "not ascending");
    assert!(refused(&|tree| tree.nodes[5] = parent(55, vec![])), "merged between");
    assert!(refused(&|tree| tree.nodes[2] = Node::Blank), "unmerged, but not there");
    assert!(refused(&|tree| tree.nodes[8] = Node::Blank), "wider than it must be");
    let mut wide = bytes.clone();
    wide[0] = 4;
    assert!(RatchetTree::from_bytes(KEY, &wide).is_err());
    wide[0] = 200;
    assert!(RatchetTree::from_bytes(KEY, &wide).is_err());
}

fn tree_of(size: u32) -> RatchetTree {
    let keys: Vec<_> = (0..size).map(|id| (MemberId(id), [id as u8 + 1; KEY])).collect();
    RatchetTree::of_leaves(KEY, keys.iter().map(|(id, key)| (*id, &key[..])))
}

fn parent(key: u8, unmerged: Vec<u32>) -> Node {
    Node::Parent(Parent { public: [key; KEY].into(), parent_hash: None, unmerged })
}

fn key_of(rng: &mut ChaCha20Rng) -> [u8; KEY] {
    let mut key = [0; KEY];
    rng.fill_bytes(&mut key);
    key
}

fn with_context(run: impl FnOnce(&mut Context<'_>)) {
    let (mut rng, mut outbox, mut probe) = (ChaCha20Rng::seed_from_u64(1), Outbox::new(), ());
    let setting = Setting::new(GroupId(0), Suite::Standard);
    let (me, none) = (MemberId(1).into(), Protection::None);
    run(&mut Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe));
}
