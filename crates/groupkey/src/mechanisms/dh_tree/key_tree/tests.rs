use super::*;

const SHAPES: [Shape; 3] = [Shape::Balanced, Shape::Leafwise, Shape::Skinny];

fn tree(shape: Shape, members: u32) -> DhKeyTree {
    DhKeyTree::of_all(shape, 1, &(1..=members).map(MemberId).collect::<Vec<_>>())
}

fn filled(shape: Shape, members: core::ops::RangeInclusive<u32>) -> DhKeyTree {
    let members: Vec<_> = members.map(MemberId).collect();
    let mut tree = DhKeyTree::of_all(shape, 1, &members);
    let nodes: Vec<_> = tree.preorder().collect();
    let blinded: Vec<_> = nodes.iter().map(|&node| node as u8 ^ members[0].0 as u8).collect();
    tree.fill(&nodes, &blinded);
    tree
}

fn same(one: &DhKeyTree, other: &DhKeyTree) -> bool {
    one.agrees_with(other) && other.agrees_with(one)
}

fn copy(tree: &DhKeyTree) -> DhKeyTree {
    let members: Vec<_> = tree.members().collect();
    DhKeyTree::of(tree.shape, 1, &members, &tree.depths()).expect("it is a tree")
}

/// Asserts that what each node knows about the part below it is correct.
fn assert_sound(tree: &DhKeyTree) {
    let mut again = tree.clone();
    let below: Vec<_> = tree.preorder().collect();
    below.iter().rev().for_each(|&node| again.survey(node));
    for node in below {
        let (ours, theirs) = (&tree.nodes[node], &again.nodes[node]);
        assert_eq!((ours.leaves, ours.height), (theirs.leaves, theirs.height));
        assert_eq!(ours.room, theirs.room);
        if let Content::Halves(halves) = ours.content {
            assert_eq!(halves.map(|half| tree.nodes[half].parent), [Some(node); 2]);
        }
    }
    assert_eq!(tree.nodes[tree.root].parent, None);
    for (place, member) in tree.members().enumerate() {
        assert_eq!(tree.member_in_place(place), member);
        let leaf = tree.leaf(member).unwrap();
        assert_eq!(tree.place_and_depth(leaf), (place, tree.depths()[place]));
    }
}

#[test]
fn a_balanced_tree_is_as_high_as_it_must_be() {
    for n in 2..=130_u32 {
        let height = tree(Shape::Balanced, n).height();
        assert_eq!(height, n.next_power_of_two().ilog2() as usize, "{n} members");
    }
}

#[test]
fn sponsors_are_those_of_the_paper() {
    let mut tree = DhKeyTree::of_one(Shape::Balanced, 1, MemberId(1));
    let join = |member| {
        let beside = tree.insert(MemberId(member));
        tree.rightmost(beside).0
    };
    let sponsors: Vec<_> = (2..=30).map(join).collect();
    assert_eq!(sponsors[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(sponsors.last(), Some(&23));
}

#[test]
fn a_tree_is_known_by_its_leaves() {
    for shape in SHAPES {
        for n in 2..=40 {
            let mut tree = tree(shape, n);
            for leaver in [1, n / 2, n - 1] {
                assert_sound(&tree);
                assert!(same(&tree, &copy(&tree)), "{shape:?}, {n} members");
                if tree.len() > 2 {
                    let sponsor = tree.sponsor_beside(MemberId(leaver));
                    let sibling = tree.remove(MemberId(leaver)).map(|removal| removal.sibling);
                    assert_eq!(sibling.map(|node| tree.rightmost(node)), sponsor);
                }
            }
            let height = tree.height();
            tree.insert(MemberId(99));
            assert_sound(&tree);
            // The tree grows only when it is full.
            assert!(
                shape != Shape::Balanced || tree.height() == height || tree.len() > 1 << height
            );
        }
    }
}

#[test]
fn what_was_taken_out_can_be_put_back() {
    for shape in SHAPES {
        for n in 3..=20 {
            let mut tree = filled(shape, 1..=n);
            tree.nodes[tree.root].known = false;
            let before = tree.clone();
            let leavers = [2, 1, 3].into_iter().take(n as usize - 2).map(MemberId);
            let removals: Vec<_> = leavers.filter_map(|leaver| tree.remove(leaver)).collect();
            tree.renew(MemberId(n));
            assert!(!same(&tree, &before));
            tree.restore(&removals);
            assert!(same(&tree, &before), "{shape:?}, {n} members");
            assert_sound(&tree);
        }
    }
}

#[test]
fn two_trees_become_one() {
    for shape in SHAPES {
        for (n, m) in [(2, 2), (2, 3), (3, 2), (5, 2), (2, 9), (8, 8), (9, 2), (16, 3), (6, 5)] {
            let (one, other) = (filled(shape, 1..=n), filled(shape, 51..=50 + m));
            let (tree, sponsor) = DhKeyTree::merged(&one, &other);
            let (again, same_sponsor) = DhKeyTree::merged(&other, &one);
            assert!(same(&tree, &again) && sponsor == same_sponsor, "{shape:?}, {n} and {m}");
            assert_sound(&tree);
            assert_eq!(tree.len(), (n + m) as usize);
            // The missing nodes are on the sponsor's path.
            let path = tree.path(sponsor);
            let missing = tree.preorder().filter(|&node| !tree.is_known(node));
            assert!(missing.into_iter().all(|node| path.contains(&node)));
            let heights = [one.height(), other.height()];
            let highest = heights.into_iter().max().unwrap();
            assert!(shape == Shape::Skinny || tree.height() <= highest + 1);
            for (tree, part) in [(&tree, &one), (&tree, &other)] {
                for member in part.members() {
                    let [ours, theirs] = [tree, part].map(|tree| tree.leaf(member).unwrap());
                    assert_eq!(tree.blinded(ours), part.blinded(theirs));
                }
            }
        }
    }
}

#[test]
fn depths_that_make_no_tree_are_refused() {
    let members = [1, 2, 3].map(MemberId);
    for depths in [&[1, 2, 2][..], &[2, 2, 1]] {
        assert!(DhKeyTree::of(Shape::Balanced, 1, &members, depths).is_some());
    }
    for depths in [
        &[1, 1, 1][..],
        &[1, 1],
        &[2, 2, 2],
        &[2, 1, 2],
        &[0, 1, 1],
        &[0, 0, 0],
        &[1, 2, 3],
        &[255, 255, 254],
        &[1, 2, 2, 1],
        &[],
    ] {
        assert!(DhKeyTree::of(Shape::Balanced, 1, &members, depths).is_none(), "{depths:?}");
    }
    assert!(DhKeyTree::of(Shape::Balanced, 1, &[1, 1].map(MemberId), &[1, 1]).is_none());
}
