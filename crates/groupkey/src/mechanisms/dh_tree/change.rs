//! A change of the tree under way: which blinded keys are missing, which members make them, and
//! which have arrived.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use super::climb::Ladder;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::key_tree::DhKeyTree;
use crate::party::Operation;
use crate::secret::Key;

/// What must arrive before there is a key again.
#[derive(Debug)]
pub(crate) struct TreeChange {
    pub(crate) operation: Operation,
    pub(crate) epoch: Epoch,
    pace: Pace,
    pub(crate) stage: CreationStage,
    segments: Vec<SponsorSegment>,
    /// Where each sponsor's segment is. In a creation every member may have one.
    places: BTreeMap<MemberId, usize>,
    /// How many blinded keys of all segments have not arrived.
    missing: usize,
    /// The sponsor of the uppermost nodes. It confirms the key.
    pub(crate) closer: MemberId,
    /// The member that must be sent the tree when it is complete.
    pub(crate) newcomer: Option<MemberId>,
    pub(crate) confirmation: Option<Key>,
    /// This member's secrets in the new tree, as far as they are known.
    pub(crate) ladder: Ladder,
    /// This member's path in the new tree, once it was looked up.
    path: Vec<usize>,
}

/// When a sponsor sends what it has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each blinded key as soon as it is made: fewer rounds, more messages.
    Eager,
    /// All of its own together, once it waits for nothing.
    Patient,
}

/// The stage of a creation, which may take several changes. The number of leaves that a change
/// leads to names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CreationStage {
    /// Another change follows. No member needs a key yet.
    Inner(usize),
    Last(usize),
    Only,
}

/// The nodes that one member makes: a sponsor, or a joining member its leaf.
#[derive(Debug)]
pub(crate) struct SponsorSegment {
    pub(crate) sponsor: MemberId,
    /// Whether this is the leaf of a joining member. Nobody else can tell its blinded key.
    pub(crate) joins: bool,
    /// The nodes, in the order in which they are sent.
    pub(crate) nodes: Vec<usize>,
    /// How many of them have arrived.
    pub(crate) done: usize,
}

/// The state before a message, to return to if the key is wrong.
pub(crate) struct ChangeSavepoint {
    done: Vec<(usize, usize)>,
    confirmation: Option<Key>,
    height: usize,
    has_told_leaf: bool,
}

impl TreeChange {
    /// The change in which these sponsors act. Each makes the unknown nodes of its path, except
    /// those that sponsors before it make.
    pub(crate) fn of_sponsors(
        tree: &DhKeyTree,
        operation: Operation,
        epoch: Epoch,
        sponsors: &[MemberId],
    ) -> Self {
        let mut taken = BTreeSet::from([tree.root()]);
        let mut make = |&sponsor: &MemberId| {
            let mut nodes = tree.path(sponsor);
            nodes.retain(|&node| !tree.is_known(node) && taken.insert(node));
            SponsorSegment { sponsor, joins: false, nodes, done: 0 }
        };
        let mut segments: Vec<_> = sponsors.iter().map(&mut make).collect();
        segments.retain(|segment| !segment.nodes.is_empty());
        // The first segment goes up to the root. If no node is missing, only a confirmation is.
        let closer = segments.first().map_or(sponsors[0], |segment| segment.sponsor);
        let places = segments.iter().enumerate().map(|(place, segment)| (segment.sponsor, place));
        Self {
            operation,
            epoch,
            pace: Pace::Patient,
            stage: CreationStage::Only,
            places: places.collect(),
            missing: segments.iter().map(|segment| segment.nodes.len()).sum(),
            segments,
            closer,
            newcomer: None,
            confirmation: None,
            ladder: Ladder::default(),
            path: Vec::new(),
        }
    }

    /// The change in which a sponsor draws a new secret and renews its path, and joining members
    /// send the blinded keys of their leaves.
    pub(crate) fn of_sponsor(
        tree: &mut DhKeyTree,
        operation: Operation,
        epoch: Epoch,
        sponsor: MemberId,
        joining: &[MemberId],
    ) -> Self {
        tree.renew(sponsor);
        let mut change = Self::of_sponsors(tree, operation, epoch, &[sponsor]);
        for &member in joining {
            let Some(leaf) = tree.leaf(member) else { continue };
            let (joins, nodes) = (true, vec![leaf]);
            change.places.insert(member, change.segments.len());
            change.segments.push(SponsorSegment { sponsor: member, joins, nodes, done: 0 });
            change.missing += 1;
        }
        change
    }

    pub(crate) fn at(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// The same change, with the secrets that this member keeps from the old tree.
    pub(crate) fn keeping(mut self, tree: &DhKeyTree, me: MemberId, ladder: &Ladder) -> Self {
        let unchanged = tree.path(me).iter().take_while(|&&node| tree.is_known(node)).count();
        self.ladder = ladder.up_to(unchanged);
        self
    }

    pub(crate) fn is_eager(&self) -> bool {
        self.pace == Pace::Eager
    }

    /// What a member must still make.
    pub(crate) fn segment_of(&self, sponsor: MemberId) -> Option<&SponsorSegment> {
        self.place_of(sponsor).map(|place| &self.segments[place])
    }

    pub(crate) fn told_by(&self, sponsor: MemberId) -> Option<usize> {
        self.places.get(&sponsor).map(|&place| self.segments[place].done)
    }

    /// Whether nothing is missing except what this member makes.
    pub(crate) fn waits_only_for(&self, sponsor: MemberId) -> bool {
        self.segment_of(sponsor).map_or(0, |own| own.left().len()) == self.missing
    }

    /// Whether this member joins, and its blinded key has not arrived.
    pub(crate) fn awaits_newcomer(&self, member: MemberId) -> bool {
        self.segment_of(member).is_some_and(|segment| segment.joins)
    }

    /// Whether the blinded key of a joining member has not arrived. There is one sponsor then.
    pub(crate) fn awaits_newcomers(&self) -> bool {
        let brings_newcomers = self.segments.last().is_some_and(|segment| segment.joins);
        brings_newcomers && !self.waits_only_for(self.closer)
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.nodes.len()).sum()
    }

    /// Whether all blinded keys have arrived.
    pub(crate) const fn has_all(&self) -> bool {
        self.missing == 0
    }

    /// The next nodes of a sponsor, for which it sent this many bytes.
    pub(crate) fn expect(
        &self,
        sponsor: MemberId,
        bytes: usize,
        width: usize,
    ) -> Result<Vec<usize>, Error> {
        let Some(segment) = self.segment_of(sponsor) else {
            // The only thing left for it is to confirm the key.
            let confirms = bytes == 0 && sponsor == self.closer;
            return if confirms { Ok(vec![]) } else { Err(Misbehaviour::UnexpectedSender.into()) };
        };
        let count = bytes / width;
        let most = segment.left().len();
        let fits = if self.is_eager() { (1..=most).contains(&count) } else { count == most };
        if fits && bytes.is_multiple_of(width) {
            Ok(segment.left()[..count].to_vec())
        } else {
            Err(Misbehaviour::InvalidRoster.into())
        }
    }

    pub(crate) fn proceed(&mut self, sponsor: MemberId, count: usize) {
        if let Some(place) = self.place_of(sponsor) {
            self.segments[place].done += count;
            self.missing -= count;
        }
    }

    /// The state of the change, before a message from one sponsor lets another one act.
    pub(crate) fn mark(&self, sponsors: [MemberId; 2]) -> ChangeSavepoint {
        let places = sponsors.into_iter().filter_map(|sponsor| self.place_of(sponsor));
        ChangeSavepoint {
            done: places.map(|place| (place, self.segments[place].done)).collect(),
            confirmation: self.confirmation.clone(),
            height: self.ladder.height(),
            has_told_leaf: !self.ladder.leaf.is_empty(),
        }
    }

    /// Takes back everything since the mark, also from the tree.
    pub(crate) fn roll_back(&mut self, mark: ChangeSavepoint, tree: &mut DhKeyTree) {
        for (place, done) in mark.done {
            let segment = &mut self.segments[place];
            tree.empty(&segment.nodes[done..segment.done.max(done)]);
            self.missing += segment.done - done;
            segment.done = done;
        }
        self.confirmation = mark.confirmation;
        self.ladder.go_down(mark.height, mark.has_told_leaf);
    }

    /// Lends this member's path in the new tree, whose form must not change.
    pub(crate) fn lend_path(&mut self, tree: &DhKeyTree, me: MemberId) -> Vec<usize> {
        let path = core::mem::take(&mut self.path);
        let path = if path.is_empty() { tree.path(me) } else { path };
        debug_assert_eq!(path, tree.path(me));
        path
    }

    /// Takes back what [`Self::lend_path`] gave.
    pub(crate) fn keep_path(&mut self, path: Vec<usize>) {
        self.path = path;
    }

    fn place_of(&self, sponsor: MemberId) -> Option<usize> {
        let place = self.places.get(&sponsor).copied()?;
        (!self.segments[place].left().is_empty()).then_some(place)
    }
}

impl SponsorSegment {
    /// The nodes that have not arrived yet.
    pub(crate) fn left(&self) -> &[usize] {
        &self.nodes[self.done..]
    }
}
