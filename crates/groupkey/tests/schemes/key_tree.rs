//! Key trees as parties show them: leaves are the members, and an operation changes what it must.

use std::collections::BTreeSet;

use groupkey::catalogue::{SCHEMES, Scheme};
use groupkey::{KeyFingerprint, KeyNode, MemberId, PartyId};
use groupkey_testkit::rig::{Rig, Settings};

const MEMBERS: u32 = 9;

const WITH_TREES: &[&str] = &[
    "lkh-user",
    "lkh-key",
    "lkh-group",
    "lkh-plus",
    "oft",
    "ofct",
    "elk",
    "s2rp",
    "tgdh",
    "str",
    "dh-lkh",
    "d-lkh",
    "d-oft",
    "treekem",
];

#[test]
fn trees_hold_the_members_and_a_removal_changes_the_path() {
    let mut with_trees = BTreeSet::new();
    for scheme in SCHEMES {
        let mut rig = Rig::new(scheme, Settings::default());
        if rig.create(MEMBERS).is_err() {
            continue;
        }
        let who = observer(scheme);
        let before = rig.key_tree_of(who);
        if before.is_empty() {
            continue;
        }
        with_trees.insert(scheme.id);
        assert_sound(scheme, &before, &(0..MEMBERS).collect());
        let known = fingerprints(&before);
        rig.remove(4).unwrap_or_else(|error| panic!("{}: {error}", scheme.id));
        let after = rig.key_tree_of(who);
        assert_sound(scheme, &after, &(0..MEMBERS).filter(|&member| member != 4).collect());
        assert!(!known.contains(&after[0].fingerprint.expect("the root's")), "{}", scheme.id);
        let kept = fingerprints(&after);
        assert!(kept.intersection(&known).count() > 0, "{}: nothing was kept", scheme.id);
        let had = above(&before, 4);
        assert_eq!(kept.intersection(&had).count(), 0, "{}: who is out has a key", scheme.id);
        rig.add(20).unwrap_or_else(|error| panic!("{}: {error}", scheme.id));
        // In TreeKEM a new leaf is unmerged: nodes above it keep keys that are not told to it.
        if scheme.id == "treekem" {
            continue;
        }
        let has = above(&rig.key_tree_of(who), 20);
        assert_eq!(kept.intersection(&has).count(), 0, "{}: who is new has a key", scheme.id);
    }
    assert_eq!(with_trees, WITH_TREES.iter().copied().collect::<BTreeSet<_>>());
}

/// Who shows the tree: the controller, or the first member.
const fn observer(scheme: &Scheme) -> PartyId {
    if scheme.has_controller() { PartyId::Controller } else { PartyId::Member(MemberId(0)) }
}

fn fingerprints(tree: &[KeyNode]) -> BTreeSet<KeyFingerprint> {
    tree.iter().filter_map(|node| node.fingerprint).collect()
}

fn above(tree: &[KeyNode], member: u32) -> BTreeSet<KeyFingerprint> {
    let leaf = tree.iter().find(|node| node.member == Some(MemberId(member)));
    let parent = |node: &&KeyNode| node.parent.map(|parent| &tree[parent]);
    let path = std::iter::successors(leaf.as_ref().and_then(parent), parent);
    path.filter_map(|node| node.fingerprint).collect()
}

fn assert_sound(scheme: &Scheme, tree: &[KeyNode], members: &BTreeSet<u32>) {
    let id = scheme.id;
    assert_eq!(tree[0].parent, None, "{id}");
    for (place, node) in tree.iter().enumerate().skip(1) {
        assert!(node.parent.is_some_and(|parent| parent < place), "{id}: {place}");
    }
    let leaves: Vec<_> = tree.iter().filter_map(|node| node.member).collect();
    assert_eq!(leaves.len(), members.len(), "{id}");
    assert_eq!(&leaves.iter().map(|member| member.0).collect::<BTreeSet<_>>(), members, "{id}");
    for (place, node) in tree.iter().enumerate() {
        let children = tree.iter().filter(|child| child.parent == Some(place)).count();
        assert_eq!(children == 0, node.member.is_some(), "{id}: {place}");
    }
}
