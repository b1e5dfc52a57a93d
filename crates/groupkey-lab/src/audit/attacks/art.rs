//! Asynchronous ratcheting trees: who made a leaf vacant knows its secret, and has a second seat.

use groupkey::author::Reader;
use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::crypto::group::{Element, ElementCheck, Exponent};
use groupkey::{Context, Epoch, Key, MemberId, Operation, PartyId, Suite};
use groupkey_testkit::rig::RigError;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, InterceptedMessage, Notebook, ScriptEvent};
use crate::audit::claims::Claim;

/// A remover that is removed itself computes the next key.
pub(super) const DOUBLE_JOIN: Attack = Attack {
    id: "art-double-join",
    name: "A vacant leaf as a second seat",
    reference: "mlswg/mls-protocol issue 7 and pull request 67 (2018)",
    shows: "who evicted a member computes the group key after its own eviction",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run,
};

/// Who makes the vacant leaf: the last of the three members that stay, in epoch 2.
const REMOVER: u32 = 3;

/// What the remover draws from.
const SEED: u64 = 99;

/// How many of the remover's draws are tried for the secret of the vacant leaf.
const DRAWS: usize = 8;

/// The kinds of an update and of a tree.
const UPDATE: u8 = 2;
const TREE: u8 = 3;

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    scheme.id == "art"
}

fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let guard = fixture::guard(configuration);
    let mut rig = fixture::rig(configuration, guard, configuration.suite_or(Suite::Standard), seed);
    let notes = Notebook::default();
    notes.listen(&mut rig);
    let remover = fixture::party(REMOVER);
    fixture::play(&mut rig, ScriptEvent::Create(4))?;
    rig.draw_from(remover, SEED);
    fixture::play(&mut rig, ScriptEvent::Remove(0))?;
    // It sleeps through a change, so that it is told what the chain of stages gave to that one.
    rig.sleep(REMOVER);
    fixture::play(&mut rig, ScriptEvent::Rekey)?;
    notes.take();
    rig.catch_up(REMOVER)?;
    let answer = notes.take().into_iter().find(|sent| {
        let header = sent.header;
        sent.to == remover && (header.operation, header.kind) == (Operation::CatchUp, TREE)
    });
    let Some(answer) = answer else { return Ok(AttackOutcome::Holds) };
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let seat = rig.at_drawing(MemberId(REMOVER), &mut rng, |cx, _| SecondSeat::of(cx, &answer));
    fixture::play(&mut rig, ScriptEvent::Remove(REMOVER))?;
    let update = notes.take().into_iter().find(|sent| sent.header.kind == UPDATE);
    let (Some(seat), Some(update)) = (seat, update) else { return Ok(AttackOutcome::Holds) };
    let Some((_, key)) = fixture::held(&rig, fixture::party(1)) else {
        return Ok(AttackOutcome::Holds);
    };
    let found = rig.forger().compute(|cx| seat.follow(cx, &update));
    if found != Some(key) {
        return Ok(AttackOutcome::Holds);
    }
    let history = [ScriptEvent::Create(4), ScriptEvent::Remove(0), ScriptEvent::Rekey];
    let mut history: Vec<_> = history.iter().map(ToString::to_string).collect();
    history.push(ScriptEvent::Remove(REMOVER).to_string());
    let steps = vec![
        format!("member {REMOVER} evicts member 0, and keeps the secret of the vacant leaf"),
        "it is evicted itself, and hears the public keys of that change".to_owned(),
        "from the vacant leaf it computes the node above it and the root".to_owned(),
        "with what the chain of stages gives, the root's element gives the group key".to_owned(),
    ];
    Ok(AttackOutcome::Broken { history, steps })
}

/// What the adversary has while it is a member.
struct SecondSeat {
    tree: TreeOfFour,
    /// The secret of the leaf in place 0.
    leaf: Exponent,
    /// What the present stage gives to the next one.
    chain: Key,
}

impl SecondSeat {
    /// Computes the stage from the vacant leaf, as the header of the scheme says.
    fn of(cx: &mut Context<'_>, answer: &InterceptedMessage) -> Option<Self> {
        let element = Element::length(cx.suite());
        let mut body = Reader::new(&answer.body);
        let (tree, salt, wrapped) = (body.bytes().ok()?, body.key().ok()?, body.bytes().ok()?);
        let tree = TreeOfFour::read(tree, element)?;
        let leaf = (0..DRAWS).find_map(|_| {
            let (drawn, mut public) = (cx.random_exponent(), Vec::new());
            cx.encode_generator_powers(std::slice::from_ref(&drawn), &mut public);
            (public == tree.leaves[0].public).then_some(drawn)
        })?;
        // What the stage before gave, opened as an honest member does.
        let pair = cx.pair_key(answer.header.sender, "groupkey art pair").ok()?;
        let (sender, epoch) = (sender_of(answer)?, answer.header.epoch);
        let context =
            [&salt.as_bytes()[..], &epoch.0.to_be_bytes(), &sender.to_be_bytes()].concat();
        let key = cx.derive(&pair, "groupkey pair message", &context);
        let joiner = cx.unwrap_key(&key, epoch, 0, wrapped).ok()?;
        let stage = tree.stage_key(cx, epoch, &leaf, |_, _| joiner)?;
        let chain = cx.derive(&stage, "groupkey art chain", &[]);
        Some(Self { tree, leaf, chain })
    }

    /// Computes the group key after the change that evicts the adversary: its leaf becomes vacant.
    fn follow(mut self, cx: &mut Context<'_>, update: &InterceptedMessage) -> Option<Key> {
        let element = Element::length(cx.suite());
        let mut body = Reader::new(&update.body);
        let (setup, publics) = (body.bytes().ok()?, body.bytes().ok()?);
        if !setup.is_empty() || publics.len() != 2 * element {
            // More leaves than the adversary's are made anew.
            return None;
        }
        let (of_leaf, of_node) = publics.split_at(element);
        self.tree.leaves[3] = LeafOfFour::vacant(sender_of(update)?, of_leaf);
        self.tree.nodes[1] = of_node.to_vec();
        let (tree, chain) = (&self.tree, &self.chain);
        let stage = tree.stage_key(cx, update.header.epoch, &self.leaf, |cx, context| {
            cx.derive(chain, "groupkey art joiner", context)
        })?;
        Some(cx.derive(&stage, "groupkey art group", &[]))
    }
}

fn sender_of(message: &InterceptedMessage) -> Option<u32> {
    match message.header.sender {
        PartyId::Member(member) => Some(member.0),
        _ => None,
    }
}

/// A tree of four leaves, and the public keys of the two nodes above them.
struct TreeOfFour {
    leaves: Vec<LeafOfFour>,
    nodes: Vec<Vec<u8>>,
}

struct LeafOfFour {
    /// 0, a member's own; 1, set up; 2, vacant.
    kind: u8,
    /// Whose it is, and who knows it.
    ids: [u32; 2],
    public: Vec<u8>,
    /// The setup key and the prekey, one after the other.
    keys: Vec<u8>,
}

impl LeafOfFour {
    fn vacant(by: u32, public: &[u8]) -> Self {
        Self { kind: 2, ids: [by, by], public: public.to_vec(), keys: Vec::new() }
    }
}

impl TreeOfFour {
    fn read(bytes: &[u8], element: usize) -> Option<Self> {
        let mut rest = bytes;
        let mut take = |length| {
            let (taken, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(taken)
        };
        let number = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.try_into().ok()?));
        if number(take(4)?)? != 4 {
            return None;
        }
        let mut last = (0, Vec::new());
        let mut leaves = Vec::new();
        for _ in 0..4 {
            let kind = take(1)?[0];
            let member = number(take(4)?)?;
            let public = take(element)?.to_vec();
            leaves.push(match kind {
                0 => LeafOfFour { kind, ids: [member; 2], public, keys: Vec::new() },
                1 | 2 => {
                    let prekey = take(element)?.to_vec();
                    if kind == 1 {
                        last = (number(take(4)?)?, take(element)?.to_vec());
                    }
                    let keys = [&last.1[..], &prekey].concat();
                    LeafOfFour { kind: 1, ids: [member, last.0], public, keys }
                }
                _ => LeafOfFour::vacant(member, &public),
            });
        }
        let nodes = (0..2).map(|_| take(element).map(<[u8]>::to_vec)).collect::<Option<_>>()?;
        Some(Self { leaves, nodes })
    }

    fn hash(&self, cx: &mut Context<'_>) -> [u8; 32] {
        let mut hashes = Vec::new();
        for LeafOfFour { kind, ids, public, keys } in &self.leaves {
            let ids = ids.map(u32::to_be_bytes).concat();
            let (setup, prekey) = keys.split_at(keys.len() / 2);
            let parts = [&[*kind][..], &ids, public, setup, prekey];
            hashes.push(cx.digest("groupkey art leaf", &parts));
        }
        let mut above = |left: [u8; 32], right: [u8; 32], public: &[u8]| {
            cx.digest("groupkey art node", &[&left, &right, public])
        };
        let left = above(hashes[0], hashes[1], &self.nodes[0]);
        let right = above(hashes[2], hashes[3], &self.nodes[1]);
        above(left, right, &[])
    }

    /// The stage key, from the secret of the leaf in place 0 and from what the stage before gives.
    fn stage_key(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        leaf: &Exponent,
        given: impl FnOnce(&mut Context<'_>, &[u8]) -> Key,
    ) -> Option<Key> {
        let beside = cx.element(&self.leaves[1].public, ElementCheck::Subgroup).ok()?;
        let shared = cx.power(&beside, leaf);
        let node = cx.exponent_from_element(&shared, "groupkey art node");
        let beside = cx.element(&self.nodes[1], ElementCheck::Subgroup).ok()?;
        let root = cx.power(&beside, &node);
        let hash = self.hash(cx);
        let context = [&cx.group_context().as_bytes()[..], &epoch.0.to_be_bytes(), &hash].concat();
        let tree_key = cx.derive_from_element(&root, "groupkey art tree key", &context);
        let joiner = given(cx, &context);
        Some(cx.derive_from_both([&joiner, &tree_key], "groupkey art stage", &context))
    }
}
