//! LKH+: LKH in which an add replaces each key of the joining member's path by the output of a
//! one-way function of it. A party that holds a key computes the next one, so hardly any key is
//! sent.
//!
//! Source: the idea is VersaKey's (Waldvogel, Caronni, Sun, Weiler, Plattner, JSAC 17(9), 1999),
//! the name is Rafaeli and Hutchison's, 2003; everything else is LKH. Class: centralized.
//! Provenance: reconstructed: the add from a description of the idea, because the papers were not
//! at hand.
//!
//! For every key node v above the joining member that had a key, `K_v' = F(K_v)`. A node that gets
//! its second child had no key before (see `key_tree`). It gets a random key, wrapped for its only
//! child so far. At most one node is of this kind, the lowest on the path.
//!
//! The table counts wrapped keys. p is the number of key nodes above the joining member after the
//! add; h = log_d n in a complete tree. s is 1 if the lowest of these nodes gets its second child,
//! otherwise 0. s is 1 in a complete tree of degree 2, and where the tree grows by a level on top:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | 1 broadcast | edges of the tree, 2n - 2 for d = 2 | at most h unwraps |
//! | create, incremental | n unicasts | n·h wraps in n calls, n·h(d - 1)/d - (n - 1)/(d - 1) derivations | at most h unwraps in one call |
//! | add | 1 unicast, 1 broadcast | p + s wraps, p - s derivations | at most p - s derivations and s unwraps; joining member p unwraps in one call |
//! | remove | 1 broadcast | d·h - 1 wraps, 2(h - 1) for d = 2 | at most h unwraps |
//! | rekey | 1 broadcast | c wraps, d in a complete tree | 1 unwrap |
//! | batch | as in `lkh-group` | as in `lkh-group`, no derivations | as in `lkh-group` |
//! | catch up | 1 request, 1 unicast | at most h wraps in one call | as many unwraps |
//!
//! c is the number of the root's children.
//!
//! With parameter `creation` 1 (incremental) the controller takes in its n members one after the
//! other and hashes a path for each. In the end it sends every member its path. Member i, counted
//! from 0, joins below one key node for each digit of i to the base d that is not 0. The lowest of
//! these nodes had no key before if its digit is 1. The formula is the sum of this over a complete
//! tree.
//!
//! In `sound` the group key takes one more derivation on either side. In an add its confirmation
//! takes another one, except at the joining member. Keys held: as in LKH, a
//! controller holds n individual keys and one per key node, a member at most h + 2. Profiles: as in
//! `lkh-group`, `sound` has degree 4 and derives the group key from the root key; `published` has
//! degree 2 and uses the root key.
//!
//! Bodies: those of `lkh-group`, except the broadcast of an add. It has the joining member's slot
//! and a packed byte string of `child, node, {node's key}_child`, which is empty where s = 0.
//! Receivers know from the slot which keys to replace: those of the joining member's ancestors. In
//! `sound` a confirmation of the group key follows, 16 bytes. The joining member hears the broadcast
//! but does not need it.
//!
//! The confirmation is there because hashing forward needs nothing from the message. Without it, who
//! can make a valid tag but does not have the group's keys gives a notice that the controller never
//! sent, and whoever takes it is alone with its key.
//!
//! Claims: `published` does not claim key independence. The group key is the root key, and F of it
//! is the next root key after a join. In `sound` group keys are independent of each other. Each is
//! derived for its epoch from a root key, which it does not reveal. A member holds the root key
//! itself, which gives the group key of every later epoch up to the next removal.
//!
//! Deviations: there are no revision numbers, because epochs do their work. A member that missed
//! changes asks for its path. The creation is LKH's in one go, unless incremental creation is set.
//! S002 seems to have measured n single adds; their messages are left out here, except the last. A
//! batch is LKH's, its joins too, because a member that leaves in it may have known any key. There
//! is no derived store (see `lkh`), because a key follows from the previous key, not from a master
//! key. A removal draws random keys, as in LKH (LKH+2 would derive some of them).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::mechanisms::key_tree::Node;
use crate::mechanisms::key_tree::path_update::{NewKeys, Records, Update, record_length};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, DEGREE, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery, Scheme,
};
use crate::schemes::centralized::lkh::{self, Strategy};
use crate::secret::{Key, List};
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "lkh-plus",
    "LKH+, logical key hierarchy, joins by a one-way function",
    Provenance::Reconstructed,
    "Waldvogel, Caronni, Sun, Weiler and Plattner 1999",
    Parties::Centralized {
        controller: |configuration| {
            let degree = configuration.value(&DEGREE);
            let creation = match configuration.value(&CREATION) {
                0 => Creation::Bulk,
                _ => Creation::Incremental,
            };
            Box::new(Controller::new(configuration.profile(), degree, creation))
        },
        member: |configuration, _| {
            let degree = configuration.value(&DEGREE);
            Box::new(Member::new(configuration.profile(), degree))
        },
    },
)
.with_operations(&Operation::BATCHED_CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(PUBLISHED_CLAIMS)
.with_parameters(&[DEGREE, CREATION])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
]);

/// Until a removal, the group key of one epoch gives the group keys of the later epochs.
const PUBLISHED_CLAIMS: Claims = Claims { key_independence: false, ..Claims::ALL };

/// How a group is created. That S002 made its groups by single joins is only the likeliest
/// explanation of the time that it took.
const CREATION: Parameter = Parameter {
    name: "creation",
    meaning: "0: all keys are drawn at once, 1: as if the members joined one after the other",
    sound: 0,
    published: 0,
    range: (0, 1),
};

#[derive(Debug)]
pub(crate) struct Controller {
    creation: Creation,
    pub(super) lkh: lkh::Controller,
}

state!(Controller { lkh });

/// How a group is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    /// All keys are drawn at once, and broadcast.
    Bulk,
    /// Members join one after the other, and each join replaces the keys on the path. The
    /// controller sends the members their keys in the end.
    Incremental,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(super) lkh: lkh::Member,
}

/// Announces a joining member. LKH does not use this kind.
const NOTICE: u8 = 3;

impl Controller {
    /// Creates a controller without members. The degree of the tree is at least 2.
    pub(crate) fn new(profile: Profile, degree: u32, creation: Creation) -> Self {
        Self { creation, lkh: lkh::Controller::new(Strategy::Group, profile, degree) }
    }

    /// Puts a joining member into the tree and replaces the keys above it. Returns the nodes of
    /// these keys, lowest first, and whether the lowest had no key before.
    fn take_in(&mut self, cx: &mut Context<'_>, slot: u32) -> (Vec<Node>, bool) {
        let lkh = &mut self.lkh;
        lkh.tree.occupy(slot);
        let path: Vec<_> = lkh.tree.path(slot).collect();
        let newly_keyed = path.first().is_some_and(|&node| lkh.tree.occupied_children(node) == 2);
        for (place, &node) in path.iter().enumerate() {
            let key = if place == 0 && newly_keyed {
                cx.random_key()
            } else {
                let old = lkh.key(cx, node);
                next(cx, &old)
            };
            lkh.tree.set_key(node, key);
        }
        (path, newly_keyed)
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = lkh::Controller::REQUEST;
    const BATCHES: bool = true;

    fn group(&self) -> &ServedGroup {
        self.lkh.group()
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        self.lkh.group_mut()
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        if self.creation == Creation::Bulk {
            self.lkh.create(cx);
            return;
        }
        for slot in 0..self.lkh.group.roster.slots() as u32 {
            if self.lkh.group.roster.is_joined(slot) {
                self.take_in(cx, slot);
            }
        }
        self.lkh.begin_epoch(cx);
        self.lkh.send_paths(cx);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let (path, newly_keyed) = self.take_in(cx, slot);
        let lkh = &mut self.lkh;
        lkh.begin_epoch(cx);
        lkh.welcome(cx, slot, Operation::Add);
        let confirmation = Confirmation::of_held(cx, lkh.profile, lkh.group.group_key());
        let length = usize::from(newly_keyed) * record_length(cx);
        let mut draft = lkh.draft(cx, Recipient::Group, Operation::Add, NOTICE, slot);
        draft.packed(length);
        if newly_keyed {
            for only_child in lkh.siblings(path[0], slot) {
                lkh.packed_record(&mut draft, only_child, path[0]);
            }
        }
        confirmation.write(&mut draft);
        draft.send();
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.lkh.remove(cx, slot);
    }

    fn batch(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) {
        self.lkh.batch(cx, joined, left);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.lkh.rekey(cx);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.lkh.bring_up_to_date(cx, slot);
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn held(&self) -> Footprint {
        self.lkh.held()
    }
}

impl Knowledge for Controller {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.lkh.key_tree(cx)
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile, degree: u32) -> Self {
        Self { lkh: lkh::Member::new(Strategy::Group, profile, degree) }
    }

    /// Follows an add: replaces the keys of this member that are above the joining member's slot
    /// too.
    fn follow_add(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.from_controller()?;
        let header = message.header();
        if header.kind != NOTICE {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let enrolment = self.lkh.membership.enrolment()?;
        let mut body = message.body();
        let newcomer = body.number32()?;
        let record = body.bytes()?;
        let confirmation = Confirmation::read(self.lkh.profile, &mut body)?;
        body.finish()?;
        if record.len() > record_length(cx) {
            return Err(Misbehaviour::Malformed.into());
        }
        // Usually there is no record: the byte string is empty.
        let records = match record.is_empty() {
            true => None,
            false => Some(NewKeys::Records(Records::parse(cx, 1, record)?)),
        };
        if self.lkh.membership.is_own_joining(message, newcomer)? {
            return Ok(());
        }
        self.lkh.membership.require_continuation(message)?;
        let (kept, degree) = (&self.lkh.path[..], self.lkh.degree);
        let update = Update { degree, enrolment, kept, epoch: header.epoch };
        let mut new = match records {
            None => List::new(),
            Some(records) => update.open(cx, &records)?,
        };
        // A member that has a key computes its successor. It is sent a key only of a node whose key
        // it did not have.
        let is_due = |node: Node| {
            node.is_above(newcomer, degree) && kept.iter().all(|&(held, _)| held != node)
        };
        if new.len() > 1 || !new.iter().all(|&(node, _)| is_due(node)) {
            return Err(Misbehaviour::Malformed.into());
        }
        new.reserve(kept.len());
        let shared = kept.iter().filter(|(node, _)| node.is_above(newcomer, degree));
        new.extend(shared.map(|(node, key)| (*node, next(cx, key))));
        let path = update.merge(header.operation, newcomer, &new);
        self.lkh.enter(cx, header.epoch, path, Some(&confirmation))
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Message(message) if is_broadcast_of_add(&message) => {
                self.follow_add(cx, &message)
            }
            _ => self.lkh.step(cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.lkh.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.lkh.footprint()
    }
}

/// Returns whether a message is the broadcast of an add. The joining member's own message is that
/// of LKH.
const fn is_broadcast_of_add(message: &Message<'_>) -> bool {
    let header = message.header();
    matches!(header.operation, Operation::Add) && !matches!(header.to, Recipient::Member(_))
}

/// Returns the key that follows a node's key when a member joins below the node.
fn next(cx: &mut Context<'_>, key: &Key) -> Key {
    cx.derive(key, "groupkey lkh+ add", &[])
}
