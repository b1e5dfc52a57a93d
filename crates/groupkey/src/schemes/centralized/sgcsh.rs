//! SGCSH, secure group communication with self-healing. Session keys lie between a chain of hashes
//! that goes with time and one that goes against it. A member that missed sessions takes the next
//! message, and then has the keys of the missed sessions too. **As published, an evicted party and
//! a joining member together read the messages sent between; so does a member that leaves and comes
//! back.**
//!
//! Source: Kausar, Hussain, Park, Masood, "Secure group communication with self-healing and
//! rekeying in wireless sensor networks", MSN 2007. Class: centralized. Provenance: reconstructed:
//! the abstract says what the scheme achieves and that it hashes and XORs; chains, tree and
//! messages are ours.
//!
//! **With a single chain (`single` 1) there is no backward secrecy**: the parameter is there to
//! show this.
//!
//! A generation is m sessions, each an epoch. `f_(j+1) = H(f_j)`; `b_j = H(b_(j+1))`, b_m random.
//! The session key, which is the group key, is `F(f_j XOR b_j, j)`. A member that joins in session
//! s gets f_s and b_s: f leads forwards only. Every session's b_j is sent masked by the root key of
//! a binary key tree, so only members get it. It leads back to all sessions that a member missed.
//! An add hashes the keys of the joining member's path (LKH+). A removal replaces them by random
//! ones, masked by their children's keys.
//! The table has p key nodes above the joining member, or after a removal above the place that was
//! freed. The session is j of m. A forward chain began again r times since the member joined:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts | n wraps of p + 2 keys; 1 derivation, m - 1 hashes | 1 unwrap of p + 2 keys, 1 derivation |
//! | rekey | 1 broadcast | 2 derivations, 1 hash | 2 derivations, 2 hashes |
//! | add | 1 unicast, 1 broadcast | 1 wrap of p + 2 keys; 3 derivations, p hashes | joining member 1 unwrap, 1 derivation; others at most 3 derivations, p + 1 hashes |
//! | remove | 1 broadcast | 2p + 2 derivations, 1 hash | at most p + 2 derivations, 2 hashes |
//! | catch up | 1 request, 1 unicast | p + 1 + c keys wrapped, 40 a call | as many unwraps; 1 derivation, at most m hashes |
//!
//! The table assumes computed chains (`chain` 1, lazy), without the m - j hashes more that each
//! change takes the controller for b_j. With stored chains there are none. But members hash their
//! chains in advance: m - j hashes for a member that joins in session j, and 1 less in every
//! change. In `sound`, every message takes 1 derivation more for its sender and its receivers, which
//! confirms the key. The unicasts of a creation share theirs. A removal takes another one, and 1 hash less; members that store make m - j hashes instead. A member that missed k sessions and takes the next message
//! makes k hashes more for each chain. In the sessions that a request asks for, a forward chain
//! began c times. If these reach into the previous generation, the answer has one key more. Members
//! that store make at most 2m hashes of it.
//!
//! Keys held: the controller holds n individual keys, n - 1 of the tree, 3 + r of the chains, and m
//! if stored, and the group key. A member holds p + 5 + r, and 2(m - j + 1) if it stores and joined
//! in session j. Of the previous generation, both keep r + 1 keys more, and nothing of those before
//! it.
//!
//! With a single chain, b, the session key is `F(b_j, j)`. There is no f: 1 key less is wrapped for
//! a joining member, and c less in an answer. The start of a generation takes 1 derivation less. No
//! f is hashed, and nothing begins again at a removal. The controller holds 1 key of the chain, and
//! m if stored. A member holds p + 3, and m if it stores. For these a joining member makes j - 1
//! hashes instead of m - j. Of the previous generation, both keep 1 key.
//!
//! When all m sessions are used, the next change opens a generation. Its broadcast carries the last
//! b of the old one, and f and b of the new one, each masked by the root key. That costs 2
//! derivations and, for the new backward chain, m - 1 hashes.
//!
//! Healing: a member follows any broadcast that says it can. It computes adds again from the slots
//! of the joining members, of which a broadcast repeats the last 8 since the last removal. A member
//! that missed a removal, more adds, or the message that opened a generation gets `SkippedEpoch`.
//! The answer to its request has the keys that lead to all session keys that it missed, in this
//! generation and the previous one.
//!
//! Profiles: `published` lets the forward chain run on, and stores the chains. `sound` begins it
//! again at each removal, under the new root key, and computes it. What breaks `published`: a
//! member evicted with session t computes f_j for all later j. A joining member in session s has
//! b_s and so all earlier b_j. Together they have sessions t to s - 1. In `sound`, evicted members
//! lack f, and joining members get it for later sessions only. Healing then costs nothing more,
//! because a member could not follow after a removal anyway. Masks hide and do not protect: run
//! neither profile without a MAC or signatures.
//!
//! Bodies. Keys: the session's number, the number of sessions that they are for, whether the
//! previous generation is covered, the levels of the path's nodes, how many epochs ago each f
//! began, and `{b, [b_m before], path keys, f ..}_individual`; in `sound` the confirmation of the
//! session key, because no wrap covers the numbers before them. Broadcasts: the epoch since which a
//! member can follow, the joins since, in a removal the slot that was freed and a packed byte
//! string of `under, target, masked key`, then the masked keys of the chains; in `sound`
//! a confirmation of the session key, 16 bytes.
//!
//! Claims: session keys are independent of each other in both profiles. Each is derived for its
//! session from chains that it does not give. The keys that a member holds give later session keys,
//! up to the next removal. The catalogue's claims are those of the default parameters. With a
//! single chain backward secrecy is not claimed. A member that joins in session s hashes b_s back
//! to the first of its generation, as a member that heals does: [`Party::past_key`] has all those
//! keys.
//!
//! Deviations: creation is unicasts only, which carry b, too. A tree node's first key is derived
//! from its only child's, so that an add carries no key. Healing over adds, generations, and the
//! answer to a request are ours.
//!
//! S003 says that the scheme has no backward secrecy: that holds for a single chain.

mod chains;
mod update;

use alloc::boxed::Box;
use alloc::vec::Vec;

use chains::{Chains, History, Keep};
use update::{DEGREE, News, RECORD, REPEATED};

use crate::context::Context;
use crate::crypto::wrap::MAX_KEYS;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{Continuation, KeyServer, ServedGroup, ServedMembership};
use crate::mechanisms::key_tree::LEVELS;
use crate::mechanisms::key_tree::Node;
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Knowledge, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, Configuration, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery, Scheme,
};
use crate::schemes::centralized::lkh::{self, Strategy};
use crate::secret::{Key, List};
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "sgcsh",
    "SGCSH, secure group communication with self-healing",
    Provenance::Reconstructed,
    "Kausar, Hussain, Park and Masood 2007",
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::configured(configuration)),
        member: |configuration, _| Box::new(Member::configured(configuration)),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::SelfHealing)
.with_claims(Claims::ALL)
.with_published_claims(PUBLISHED_CLAIMS)
.with_parameters(&[SESSIONS, CHAIN, SINGLE])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linearithmic, &[Operation::Create]),
    Growth::of(Role::Controller, Form::Constant, &[Operation::Add]).only_sound(),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Add]).only_published(),
    Growth::of(Role::Controller, Form::Logarithmic, &[Operation::Remove]),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Create]).only_sound(),
    Growth::of(Role::Member, Form::Constant, &[Operation::Create]).only_published(),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]).only_sound(),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]).only_published(),
]);

/// An evicted member reads all messages until an accomplice joins or until it comes back itself.
const PUBLISHED_CLAIMS: Claims =
    Claims { backward_secrecy: false, collusion_resistance: false, ..Claims::ALL };

/// The length of the chains.
const SESSIONS: Parameter = Parameter {
    name: "sessions",
    meaning: "sessions of a generation; then the chains begin again",
    sound: 3250,
    published: 3250,
    range: (4, 10_000),
};

const CHAIN: Parameter = Parameter {
    name: "chain",
    meaning: "0 stored: all of a generation's chains is kept; 1 lazy: computed when needed",
    sound: 1,
    published: 0,
    range: (0, 1),
};

/// With one chain the scheme shows the purpose of the other.
const SINGLE: Parameter = Parameter {
    name: "single",
    meaning: "0: session keys lie between two chains; 1: on one, which gives up backward secrecy",
    sound: 0,
    published: 0,
    range: (0, 1),
};

#[derive(Debug)]
pub(crate) struct Controller {
    profile: Profile,
    /// Used for its roster and its tree.
    lkh: lkh::Controller,
    chains: Chains,
    /// The epochs and slots of all joins in the generations that the chains cover.
    joins: Vec<(u64, u32)>,
    /// The epoch of the last removal, or of the creation.
    since: u64,
}

state!(Controller { lkh, chains, joins, since } if is_whole);

#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    membership: ServedMembership,
    /// The keys above the member's slot, lowest first.
    path: List<(Node, Key)>,
    chains: Chains,
}

/// Carries a member's keys under its individual key.
const KEYS: u8 = 0;
/// Begins a session that continuing members can follow with their own keys.
const SESSION: u8 = 1;
/// Begins a session after a removal.
const REFRESH: u8 = 2;
/// Asks for the keys that lead to the missed sessions.
const REQUEST: u8 = 3;

impl Controller {
    /// Creates a controller without members, for generations of this many sessions. `stored` says
    /// whether it keeps the backward chain, `single` whether that is the only chain.
    pub(crate) fn new(profile: Profile, sessions: u32, stored: bool, single: bool) -> Self {
        let keep = if stored { Keep::Backward } else { Keep::Ends };
        Self {
            profile,
            lkh: lkh::Controller::new(Strategy::Group, profile, DEGREE),
            chains: Chains::new(sessions, keep, single),
            joins: Vec::new(),
            since: 0,
        }
    }

    /// Returns whether the chains lead to the present epoch, and no join comes after it.
    fn is_whole(&self) -> bool {
        let epoch = self.lkh.group.epoch.0;
        self.chains.lead_to(epoch)
            && self.since <= epoch
            && self.joins.iter().all(|&(at, _)| at <= epoch)
            && self.joins.windows(2).all(|pair| pair[0].0 <= pair[1].0)
    }

    /// Returns the key of a key node, or the individual key of the member in a slot.
    fn key(&self, node: Node) -> &Key {
        self.lkh.tree.key(node, &self.lkh.group.roster)
    }

    fn configured(configuration: &Configuration) -> Self {
        let [sessions, chain, single] =
            [&SESSIONS, &CHAIN, &SINGLE].map(|parameter| configuration.value(parameter));
        Self::new(configuration.profile(), sessions, chain == 0, single == 1)
    }

    /// Enters the next session. Returns the keys that its broadcast must carry.
    fn begin_session(&mut self, cx: &mut Context<'_>, operation: Operation) -> Begun {
        let epoch = self.lkh.group.epoch.next().0;
        let opens = epoch > self.chains.last();
        let closing = opens.then(|| self.chains.end().clone());
        let begins = begins_forward(&self.chains, opens, self.profile, operation);
        let forward = begins.then(|| cx.random_key());
        match forward.clone() {
            forward if opens => {
                let end = (self.chains.last_from(epoch), cx.random_key());
                self.chains.open(cx, epoch, forward.unwrap_or_default(), end);
                let first = self.chains.first();
                self.joins.retain(|&(at, _)| at >= first);
            }
            Some(forward) => self.chains.begin_forward(cx, epoch, forward),
            None => self.chains.advance(cx, epoch),
        }
        let backward = self.chains.backward(cx);
        let group_key = self.chains.present_key(cx, &backward);
        self.lkh.group.enter_next(cx, group_key);
        Begun { closing, forward, backward }
    }

    /// Confirms the session key, for all messages of the session.
    fn confirmation(&self, cx: &mut Context<'_>) -> Confirmation {
        Confirmation::of_held(cx, self.profile, self.lkh.group.group_key())
    }

    /// Broadcasts the chains' keys of the session that began.
    fn announce(
        &self,
        cx: &mut Context<'_>,
        operation: Operation,
        removal: Option<(u32, &[u8])>,
        begun: Begun,
        confirmation: &Confirmation,
    ) {
        let Begun { closing, forward, backward } = begun;
        let epoch = self.lkh.group.epoch;
        let root = self.key(self.lkh.tree.root(&self.lkh.group.roster));
        let mut masked = Vec::with_capacity(3 * Key::BYTES);
        for (label, key) in [(CLOSING, closing), (FORWARD, forward), (BACKWARD, Some(backward))] {
            if let Some(key) = key {
                let change = (epoch, confirmation);
                let masked_key = update::mask(cx, root, label, change, [0; 2], &key);
                masked.extend_from_slice(masked_key.as_bytes());
            }
        }
        let (since, joins) = self.recent_joins();
        let kind = if removal.is_some() { REFRESH } else { SESSION };
        let mut draft = cx.draft(Recipient::Group, epoch, operation, kind);
        draft.number(since).array(2 * joins.len());
        for &(at, slot) in joins {
            draft.number(epoch.0 - at).number(u64::from(slot));
        }
        if let Some((freed, records)) = removal {
            draft.number(u64::from(freed)).bytes(records);
        }
        draft.bytes(&masked);
        confirmation.write(&mut draft);
        draft.send();
    }

    /// Returns the epoch since which a member can follow, and the joins since then.
    fn recent_joins(&self) -> (u64, &[(u64, u32)]) {
        let removal = self.joins.partition_point(|&(at, _)| at <= self.since);
        match self.joins.len().saturating_sub(REPEATED) {
            forgotten if forgotten > removal => {
                (self.joins[forgotten - 1].0, &self.joins[forgotten..])
            }
            _ => (self.since, &self.joins[removal..]),
        }
    }

    /// Returns the keys of the chains that the member in a slot needs when it is in epoch `from`.
    fn history(&self, cx: &mut Context<'_>, backward: &Key, slot: u32, from: Epoch) -> History {
        let joined = self.joins.iter().rfind(|&&(_, newcomer)| newcomer == slot);
        let joined = joined.map_or_else(|| self.chains.first(), |&(at, _)| at);
        let wanted = from.next().min(self.lkh.group.epoch.next()).0.max(joined);
        self.chains.history(cx, backward.clone(), joined, wanted)
    }

    /// Sends a member its keys, and the keys that lead to those that it missed.
    fn send_keys(
        &self,
        cx: &mut Context<'_>,
        slot: u32,
        operation: Operation,
        history: &History,
        confirmation: &Confirmation,
    ) {
        let group = &self.lkh.group;
        let mut nodes = [Node::leaf(slot); LEVELS];
        let mut levels = [0; LEVELS];
        let mut height = 0;
        for node in self.lkh.tree.path(slot) {
            nodes[height] = node;
            levels[height] = node.level;
            height += 1;
        }
        let ends = [Some(&history.backward), history.end.as_ref()];
        let below = 1 + usize::from(history.end.is_some());
        let above = below + height;
        let key = |place: usize| match ends.get(place).copied().flatten() {
            Some(end) => end,
            None if place < above => self.key(nodes[place - below]),
            None => &history.starts[place - above].1,
        };
        let count = above + history.starts.len();
        let calls = || (0..count).step_by(MAX_KEYS).map(|from| from..count.min(from + MAX_KEYS));
        let length = calls().map(|places| cx.wrapped_length(places.len())).sum();
        let to = Recipient::Member(group.roster.member(slot));
        let mut draft = cx.draft(to, group.epoch, operation, KEYS);
        draft.number(history.session).number(history.sessions);
        draft.number(u64::from(history.end.is_some())).bytes(&levels[..height]);
        draft.array(history.starts.len());
        for (at, _) in &history.starts {
            draft.number(group.epoch.0 - at);
        }
        draft.packed(length);
        for (call, places) in (0..).zip(calls()) {
            let (kek, label) = (group.roster.key(slot), label(history.sessions, call));
            draft.packed_wrapped(kek, group.epoch, label, places.map(key));
        }
        confirmation.write(&mut draft);
        draft.send();
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;

    fn group(&self) -> &ServedGroup {
        &self.lkh.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.lkh.group
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.lkh.tree.fill(&self.lkh.group.roster);
        self.lkh.tree.draw_keys(|| cx.random_key());
        let begun = self.begin_session(cx, Operation::Create);
        self.since = self.lkh.group.epoch.0;
        let roster = &self.lkh.group.roster;
        let height = usize::from(self.lkh.tree.height());
        cx.reserve(roster.len(), cx.wrapped_length(height + 2) + height + 25);
        let history = self.history(cx, &begun.backward, 0, Epoch::default());
        let confirmation = self.confirmation(cx);
        for slot in (0..roster.slots() as u32).filter(|&slot| roster.is_joined(slot)) {
            self.send_keys(cx, slot, Operation::Create, &history, &confirmation);
        }
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let epoch = self.lkh.group.epoch.next();
        let mut only_child = self.lkh.occupy(slot);
        let path: Vec<_> = self.lkh.tree.path(slot).collect();
        for node in path {
            let key = match only_child.take() {
                Some(child) => update::first_key(cx, self.key(child), node, epoch),
                None => update::next_key(cx, self.key(node)),
            };
            self.lkh.tree.set_key(node, key);
        }
        let begun = self.begin_session(cx, Operation::Add);
        self.joins.push((epoch.0, slot));
        let history = self.history(cx, &begun.backward, slot, Epoch::default());
        let confirmation = self.confirmation(cx);
        self.send_keys(cx, slot, Operation::Add, &history, &confirmation);
        self.announce(cx, Operation::Add, None, begun, &confirmation);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let path = self.lkh.vacate(slot);
        for &node in &path {
            self.lkh.tree.set_key(node, cx.random_key());
        }
        let begun = self.begin_session(cx, Operation::Remove);
        let epoch = self.lkh.group.epoch;
        let confirmation = self.confirmation(cx);
        let mut records = Vec::with_capacity(2 * path.len() * RECORD);
        for &target in &path {
            for under in self.lkh.tree.children(target, &self.lkh.group.roster) {
                let keys = [self.key(under), self.key(target)];
                update::record(cx, (epoch, &confirmation), [under, target], keys, &mut records);
            }
        }
        self.announce(cx, Operation::Remove, Some((slot, &records)), begun, &confirmation);
        self.since = epoch.0;
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        let begun = self.begin_session(cx, Operation::Rekey);
        let confirmation = self.confirmation(cx);
        self.announce(cx, Operation::Rekey, None, begun, &confirmation);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.bring_up_to_date_from(cx, slot, Epoch::default());
    }

    fn bring_up_to_date_from(&self, cx: &mut Context<'_>, slot: u32, from: Epoch) {
        let backward = self.chains.backward(cx);
        let history = self.history(cx, &backward, slot, from);
        let confirmation = self.confirmation(cx);
        self.send_keys(cx, slot, Operation::CatchUp, &history, &confirmation);
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn held(&self) -> Footprint {
        let Footprint { permanent, temporary } = self.lkh.footprint();
        Footprint { permanent: permanent + self.chains.key_count() * Key::BYTES, temporary }
    }
}

impl Knowledge for Controller {
    fn past_key(&self, cx: &mut Context<'_>, epoch: Epoch) -> Option<Key> {
        self.chains.session_key(cx, epoch.0)
    }
}

impl Member {
    /// Creates a member that is not enrolled yet, for generations of this many sessions. `stored`
    /// says whether it keeps the chains, `single` whether there is only the backward one.
    pub(crate) fn new(profile: Profile, sessions: u32, stored: bool, single: bool) -> Self {
        let keep = if stored { Keep::Both } else { Keep::Ends };
        Self {
            profile,
            membership: ServedMembership::default(),
            path: List::new(),
            chains: Chains::new(sessions, keep, single),
        }
    }

    fn configured(configuration: &Configuration) -> Self {
        let [sessions, chain, single] =
            [&SESSIONS, &CHAIN, &SINGLE].map(|parameter| configuration.value(parameter));
        Self::new(configuration.profile(), sessions, chain == 0, single == 1)
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        match (message.header().operation, message.header().kind) {
            (Operation::Create | Operation::Add | Operation::CatchUp, KEYS) => {
                self.take_keys(cx, message)
            }
            (Operation::Add | Operation::Rekey, SESSION) | (Operation::Remove, REFRESH) => {
                self.follow(cx, message)
            }
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn take_keys(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let enrolment = self.membership.enrolment()?;
        let epoch = message.header().epoch;
        let mut body = message.body();
        let (session, sessions) = (body.number()?, body.number()?);
        let previous = body.number()?;
        let levels = body.bytes()?;
        let ages = (0..body.array()?).map(|_| body.number()).collect::<Result<Vec<_>, _>>()?;
        let wrapped = body.bytes()?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        body.finish()?;
        let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
        let within = |&level: &u8| (1..LEVELS).contains(&usize::from(level));
        if previous > 1 || levels.is_empty() || !ascending || !levels.iter().all(within) {
            return Err(Misbehaviour::Malformed.into());
        }
        if self.membership.admit(message)? == Continuation::Continues {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let count = 1 + previous as usize + levels.len() + ages.len();
        let mut keys = List::zeros(count);
        unwrap(cx, &enrolment.key, epoch, sessions, wrapped, &mut keys)?;
        let mut keys = keys.iter();
        let mut next = || keys.next().cloned().ok_or(Misbehaviour::Malformed);
        let backward = next()?;
        let end = if previous == 1 { Some(next()?) } else { None };
        let mut path = List::with_capacity(levels.len());
        for &level in levels {
            path.push((Node::above(enrolment.slot, level, DEGREE), next()?));
        }
        let mut starts = List::with_capacity(ages.len());
        for age in ages {
            let at = epoch.0.checked_sub(age).ok_or(Misbehaviour::Malformed)?;
            starts.push((at, next()?));
        }
        let history = History { epoch: epoch.0, session, sessions, end, backward, starts };
        let chains = self.chains.with(cx, history).ok_or(Misbehaviour::Malformed)?;
        let group_key = chains.present_key(cx, chains.end());
        confirmation.verify(cx, self.profile, epoch, &group_key)?;
        self.chains = chains;
        self.path = path;
        self.membership.enter(cx, epoch, group_key);
        Ok(())
    }

    /// Begins a session with the keys that the member holds, and takes in the sessions that it
    /// missed.
    fn follow(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let enrolment = self.membership.enrolment()?;
        let news = News::parse(message, self.profile)?;
        if let Some(newcomer) = news.newcomer
            && self.membership.is_own_joining(message, newcomer)?
        {
            return Ok(());
        }
        let Some((current, _)) = self.membership.group_key() else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        message.require_later_epoch(current)?;
        let (epoch, last) = (header.epoch.0, self.chains.last());
        if current.0 < news.since || epoch > last.saturating_add(1) {
            return Err(Misbehaviour::SkippedEpoch { got: header.epoch, current }.into());
        }
        let opens = epoch > last;
        let begins = begins_forward(&self.chains, opens, self.profile, header.operation);
        if news.masked.len() != Key::BYTES * (1 + usize::from(opens) + usize::from(begins)) {
            return Err(Misbehaviour::Malformed.into());
        }
        let change = (header.epoch, &news.confirmation);
        let mut path = self.path.clone();
        for &(at, slot) in news.joins.iter().filter(|&&(at, _)| at > current.0) {
            update::follow_join(cx, &mut path, enrolment, Epoch(at), slot)?;
        }
        if let Some((freed, records)) = news.removal {
            path = update::follow_removal(cx, path, enrolment, change, freed, records)?;
        }
        let (_, root) = path.last().ok_or(Misbehaviour::NothingForUs)?;
        let (masked, _) = news.masked.as_chunks();
        let mut masked = masked.iter().map(|&bytes| Key::from_bytes(bytes));
        let mut take = |cx: &mut Context<'_>, label| {
            let masked = masked.next().ok_or(Misbehaviour::Malformed)?;
            Ok::<_, Error>(update::mask(cx, root, label, change, [0; 2], &masked))
        };
        let closing = if opens { Some(take(cx, CLOSING)?) } else { None };
        let forward = if begins { Some(take(cx, FORWARD)?) } else { None };
        let backward = take(cx, BACKWARD)?;
        // One of these keys must lead to a key that the member holds, which shows that the keys of
        // the path are genuine. The others are masked singly: in `sound` the session key's
        // confirmation shows that they are genuine, otherwise the message's protection vouches for
        // them.
        let (at, linked) = match closing {
            None => (epoch, backward.clone()),
            Some(closing) => (last, closing),
        };
        let passed = self.chains.link(cx, at, &linked).ok_or(Misbehaviour::WrongKey)?;
        let before = (self.profile == Profile::Sound).then(|| self.chains.clone());
        self.chains.reach(at, linked, &passed);
        match forward {
            forward if opens => {
                self.chains.open(cx, epoch, forward.unwrap_or_default(), (epoch, backward));
            }
            Some(forward) => self.chains.begin_forward(cx, epoch, forward),
            None => self.chains.advance(cx, epoch),
        }
        let group_key = self.chains.present_key(cx, self.chains.end());
        let confirmed = news.confirmation.verify(cx, self.profile, header.epoch, &group_key);
        if let (Err(_), Some(before)) = (&confirmed, before) {
            self.chains = before;
        }
        confirmed?;
        self.path = path;
        self.membership.enter(cx, header.epoch, group_key);
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn footprint(&self) -> Footprint {
        let path = self.path.len() * Key::BYTES;
        let permanent = self.membership.key_bytes() + path + self.chains.key_count() * Key::BYTES;
        // In `sound` the chains are kept as they were until the session key is confirmed.
        let kept =
            if self.profile.is_published() { 0 } else { self.chains.key_count() * Key::BYTES };
        Footprint { permanent, temporary: path + 3 * Key::BYTES + kept }
    }
}

impl Knowledge for Member {
    fn past_key(&self, cx: &mut Context<'_>, epoch: Epoch) -> Option<Key> {
        self.chains.session_key(cx, epoch.0)
    }
}

/// The keys of a session that began.
struct Begun {
    /// The last backward key of the generation that it closes.
    closing: Option<Key>,
    /// The forward key, if its chain begins again.
    forward: Option<Key>,
    backward: Key,
}

/// Opens keys that were wrapped in as few calls as possible.
fn unwrap(
    cx: &mut Context<'_>,
    kek: &Key,
    epoch: Epoch,
    sessions: u64,
    mut wrapped: &[u8],
    keys: &mut [Key],
) -> Result<(), Error> {
    for (call, keys) in (0..).zip(keys.chunks_mut(MAX_KEYS)) {
        let (these, rest) = wrapped
            .split_at_checked(cx.wrapped_length(keys.len()))
            .ok_or(Misbehaviour::Malformed)?;
        wrapped = rest;
        cx.unwrap_keys(kek, epoch, label(sessions, call), these, keys)?;
    }
    if wrapped.is_empty() { Ok(()) } else { Err(Misbehaviour::Malformed.into()) }
}

/// Returns the label of the keys that a call wraps for a member. In one epoch, these depend on the
/// number of sessions that they are for.
const fn label(sessions: u64, call: u64) -> u64 {
    sessions << 16 | call
}

/// Returns whether a forward chain begins, with a generation or again within it.
fn begins_forward(chains: &Chains, opens: bool, profile: Profile, operation: Operation) -> bool {
    let anew = profile == Profile::Sound && operation == Operation::Remove;
    chains.has_forward() && (opens || anew)
}

const FORWARD: &str = "groupkey sgcsh forward";
const BACKWARD: &str = "groupkey sgcsh backward";
const CLOSING: &str = "groupkey sgcsh closing";

#[cfg(test)]
mod tests;
