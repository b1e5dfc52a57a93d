//! A real run of a scheme with a handful of members: the messages of each operation, and the
//! changes in the key tree.

use std::collections::BTreeSet;

use groupkey::catalogue::{Profile, Scheme};
use groupkey::{Channel, KeyFingerprint, KeyNode, MemberId, Operation, PartyId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};

/// What an operation did in a small group.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    pub(super) title: String,
    /// The members of the group after the operation.
    pub(super) members: Vec<u32>,
    /// In the order in which they were sent; messages of the deployment phase come first.
    pub(super) messages: Vec<Sent>,
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) from: PartyId,
    pub(super) to: Recipient,
    pub(super) channel: Channel,
    pub(super) bytes: usize,
    pub(super) body_bytes: usize,
}

/// The key tree after an operation.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) title: String,
    pub(super) nodes: Vec<KeyNode>,
    /// For each node, whether its key was nowhere in the tree before.
    pub(super) changed: Vec<bool>,
}

/// A function that changes the members of a group.
type Change = fn(&mut Rig) -> Result<OperationReport, RigError>;

/// Number of members of the group whose messages are drawn.
const FEW: u32 = 4;

/// Number of members of the group whose tree is drawn.
const SOME: u32 = 8;

/// Runs the operations that every study has, as far as the scheme has them.
pub(super) fn episodes(scheme: &'static Scheme, profile: Profile) -> Vec<Episode> {
    let (mut rig, mut episodes) = (rig(scheme, profile), Vec::new());
    let mut note = |title: String, rig: &Rig, report: Result<OperationReport, RigError>| {
        let Ok(report) = report else { return false };
        let messages = report.deployment.iter().chain(&report.messages).map(|message| Sent {
            from: message.from,
            to: message.to,
            channel: message.channel,
            bytes: message.bytes.len(),
            body_bytes: message.body_bytes,
        });
        let messages = messages.collect();
        episodes.push(Episode { title, members: rig.members().collect(), messages });
        true
    };
    let created = rig.create(FEW);
    if !note(format!("Creation with {FEW} members"), &rig, created) {
        return episodes;
    }
    if scheme.operations.contains(&Operation::Add) {
        let added = rig.add(FEW);
        if !note(format!("Member {FEW} joins"), &rig, added) {
            return episodes;
        }
    }
    if scheme.operations.contains(&Operation::Remove) {
        let removed = rig.remove(1);
        note("Member 1 leaves".to_owned(), &rig, removed);
    }
    episodes
}

/// Returns the key tree after a member has joined, and after a member has left. The list is empty
/// if the scheme has no tree.
pub(super) fn trees(scheme: &'static Scheme, profile: Profile) -> Vec<Tree> {
    let (mut rig, mut trees) = (rig(scheme, profile), Vec::new());
    if rig.create(SOME).is_err() {
        return trees;
    }
    let mut before = shown(scheme, &mut rig);
    if before.is_empty() {
        return trees;
    }
    let changes: [(String, Change); 2] = [
        (format!("After member {SOME} has joined"), |rig| rig.add(SOME)),
        ("After member 2 has left".to_owned(), |rig| rig.remove(2)),
    ];
    for (title, change) in changes {
        if change(&mut rig).is_err() {
            break;
        }
        let known: BTreeSet<KeyFingerprint> =
            before.iter().filter_map(|node| node.fingerprint).collect();
        let nodes = shown(scheme, &mut rig);
        let is_new = |node: &KeyNode| node.fingerprint.is_some_and(|key| !known.contains(&key));
        let changed = nodes.iter().map(is_new).collect();
        before.clone_from(&nodes);
        trees.push(Tree { title, nodes, changed });
    }
    trees
}

fn rig(scheme: &'static Scheme, profile: Profile) -> Rig {
    let subgroups = scheme.parameters.iter().find(|parameter| parameter.name == "subgroups");
    let parameters = subgroups
        .filter(|parameter| (parameter.range.0..=parameter.range.1).contains(&2))
        .map(|parameter| (parameter.name, 2));
    let parameters = parameters.into_iter().collect();
    Rig::new(scheme, Settings { profile, parameters, ..Settings::default() })
}

/// Returns the controller's tree, or the tree that all members know together.
fn shown(scheme: &Scheme, rig: &mut Rig) -> Vec<KeyNode> {
    if scheme.has_controller() {
        return rig.key_tree_of(PartyId::Controller);
    }
    let members: Vec<u32> = rig.members().collect();
    let mut whole: Vec<KeyNode> = Vec::new();
    for member in members {
        let own = rig.key_tree_of(MemberId(member).into());
        if whole.is_empty() {
            whole = own;
            continue;
        }
        for (node, own) in whole.iter_mut().zip(own) {
            node.fingerprint = node.fingerprint.or(own.fingerprint);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_changes_the_keys_above_the_one_who_left() {
        let scheme = groupkey::catalogue::scheme("lkh-group").expect("it is in the catalogue");
        let trees = trees(scheme, Profile::Sound);
        assert_eq!(trees.len(), 2);
        let removed = &trees[1];
        assert!(removed.changed[0], "the root's key is new");
        let leaves = removed.nodes.iter().filter(|node| node.member.is_some());
        assert_eq!(leaves.count(), 8, "eight and one, less one");
        let places = removed.nodes.iter().zip(&removed.changed);
        assert!(places.clone().all(|(node, changed)| node.member.is_none() || !changed));
    }

    #[test]
    fn a_removal_from_skdc_is_one_message_to_each() {
        let scheme = groupkey::catalogue::scheme("skdc").expect("it is in the catalogue");
        let episodes = episodes(scheme, Profile::Sound);
        assert_eq!(episodes.len(), 3);
        assert_eq!(episodes[2].members, [0, 2, 3, 4]);
        assert_eq!(episodes[2].messages.len(), 4);
        assert!(trees(scheme, Profile::Sound).is_empty());
    }
}
