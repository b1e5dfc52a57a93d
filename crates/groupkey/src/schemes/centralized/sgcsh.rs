//! SGCSH, secure group communication with self-healing: session keys that lie between a chain of
//! hashes that goes with time and one that goes against it. A member that missed sessions takes the
//! next message and has the keys of the missed ones, too. **As published, somebody who was evicted and
//! a newcomer together read what was sent between; so does who leaves and comes back.**
//!
//! Source: Kausar, Hussain, Park, Masood, "Secure group communication with self-healing and rekeying in
//! wireless sensor networks", MSN 2007. Class: centralized. Provenance: reconstructed: the abstract says
//! what the scheme achieves and that it hashes and XORs; chains, tree and messages are ours.
//!
//! A generation is m sessions, each an epoch. `f_(j+1) = H(f_j)`; `b_j = H(b_(j+1))`, b_m random; the
//! session key, which is the group key, is `F(f_j XOR b_j, j)`. Who joins in session s gets f_s and b_s:
//! f leads forwards only. Every session's b_j comes masked by the root key of a binary key tree, so that
//! only members get it, and leads back to all sessions that a member missed. An add hashes the keys of
//! the newcomer's path (LKH+), a removal replaces them by random ones, masked by their children's.
//!
//! With p key nodes above the newcomer, after a removal above the place that was freed; session j of m;
//! r times a forward chain began anew since the member came:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts | n wraps of p + 2 keys; 1 derivation, m - 1 hashes | 1 unwrap of p + 2 keys, 1 derivation |
//! | rekey | 1 broadcast | 2 derivations, 1 hash | 2 derivations, 2 hashes |
//! | add | 1 unicast, 1 broadcast | 1 wrap of p + 2 keys; 3 derivations, p hashes | newcomer 1 unwrap, 1 derivation; others at most 3 derivations, p + 1 hashes |
//! | remove | 1 broadcast | 2p + 2 derivations, 1 hash | at most p + 2 derivations, 2 hashes |
//! | catch up | 1 request, 1 unicast | at most p + 2 + r keys wrapped, 40 a call | as many unwraps; 1 derivation, at most m hashes |
//!
//! Heads: `chain` 1, lazy: m - j hashes more at the controller for b_j. Stored: members hash both chains
//! in advance, m - j hashes for who comes in session j, and one less in every change. `sound`: a removal
//! is 1 derivation more and, lazy, 1 hash less on either side; stored, m - j hashes for each member. A
//! member that missed k sessions and takes the next message: k hashes more for each chain.
//!
//! Keys held: controller n individual, n - 1 of the tree, 3 + r of the chains, and m if stored, and the
//! group key; member p + 5 + r, and 2(m - j + 1) if it stores and came in session j. Of the generation
//! before, both keep r + 1 keys more, and nothing of those before it.
//!
//! When all m sessions are used, the next change opens a generation: its broadcast carries the last b of
//! the old one, and f and b of the new one, each masked by the root key. That costs 2 derivations and, for
//! the new backward chain, m - 1 hashes.
//!
//! What heals: a member follows any broadcast that says it can. Adds are computed again from the slots of
//! the newcomers, of which a broadcast repeats the last 8 since the last removal. Who missed a removal,
//! more adds, or the message that opened a generation has `SkippedEpoch`, and its request's answer brings
//! what leads to all session keys that it missed, in this generation and the one before.
//!
//! Profiles: `published` lets the forward chain run on, and stores the chains. `sound` begins it anew at
//! each removal, under the new root key, and computes it. What breaks the former: who was evicted after
//! session t computes f_j for all later j; who joins in session s has b_s and so all earlier b_j: between
//! them they have all from t to s. In `sound`, the evicted lack f, which newcomers get for later sessions
//! only. Healing then costs nothing more, for a member could not follow after a removal anyway.
//!
//! Bodies: keys: the session's number, whether the generation before is told of, the levels of the path's
//! nodes, how many epochs ago each f began, and `{b, [b_m before], path keys, f ..}_individual`. Broadcasts:
//! the epoch since which a member can follow, the joins since, in a removal the slot that was freed and a
//! packed byte string of `under, target, masked key`, then the masked keys of the chains.
//!
//! Deviations: creation is unicasts only, which carry b, too; a tree node's first key is derived from its
//! only child's, so that an add carries no key; healing over adds; generations; the answer to a request.

mod chains;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use chains::{Chains, History, Keep};

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::schemes::catalogue::{
    Claims, Class, Configuration, Law, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery,
    Scheme,
};
use crate::schemes::centralized::enrolment::Enrolment;
use crate::schemes::centralized::key_server::{
    self, Admission, KeyServer, Membership, ServedGroup,
};
use crate::schemes::centralized::key_tree::Node;
use crate::schemes::centralized::lkh::{self, Strategy};
use crate::schemes::centralized::path_update::LEVELS;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    id: "sgcsh",
    name: "SGCSH, secure group communication with self-healing",
    class: Class::Centralized,
    provenance: Provenance::Reconstructed,
    source: "Kausar, Hussain, Park and Masood 2007",
    operations: &[Operation::Create, Operation::Add, Operation::Remove, Operation::Rekey],
    law: Law::OneKey,
    recovery: Recovery::SelfHealing,
    claims: CLAIMS,
    published_claims: PUBLISHED_CLAIMS,
    parameters: &[SESSIONS, CHAIN],
    members: MEMBERS,
    parties: Parties::KeyServer {
        controller: |configuration| Box::new(Controller::configured(configuration)),
        member: |configuration, _| Box::new(Member::configured(configuration)),
    },
};

/// A member's keys of one epoch lead to those of later ones, up to the next removal.
const CLAIMS: Claims = Claims { key_independence: false, ..Claims::ALL };

/// Who was evicted reads what was sent up to the coming of a newcomer, if that is a friend or itself.
const PUBLISHED_CLAIMS: Claims =
    Claims { backward_secrecy: false, collusion_resistance: false, ..CLAIMS };

/// The length of the chains.
const SESSIONS: Parameter = Parameter {
    name: "sessions",
    meaning: "sessions of a generation; then the chains begin anew",
    sound: 3250,
    published: 3250,
    range: (4, 10_000),
};

/// What is kept of the chains.
const CHAIN: Parameter = Parameter {
    name: "chain",
    meaning: "0 stored: all of a generation's chains is kept; 1 lazy: computed when needed",
    sound: 1,
    published: 0,
    range: (0, 1),
};

/// The controller.
#[derive(Debug)]
pub struct Controller {
    profile: Profile,
    /// For its roster and its tree.
    lkh: lkh::Controller,
    chains: Chains,
    /// The epochs and slots of all joins in the generations that the chains know of.
    joins: Vec<(u64, u32)>,
    /// The epoch of the last removal, or of the creation.
    since: u64,
}

/// A member.
#[derive(Debug)]
pub struct Member {
    profile: Profile,
    membership: Membership,
    /// The keys above the member's slot, lowest first.
    path: Vec<(Node, Key)>,
    chains: Chains,
}

/// Carries a member's keys under its individual key.
const KEYS: u8 = 0;
/// Begins a session that who was a member before can follow with its own keys.
const SESSION: u8 = 1;
/// Begins a session after a removal.
const REFRESH: u8 = 2;
/// Asks for what was missed.
const REQUEST: u8 = 3;

const DEGREE: u32 = 2;

/// Joins that a broadcast repeats for those who missed them, at most.
const REPEATED: usize = 8;

/// Keys that one call wraps, at most.
const WRAPPED: usize = 40;

/// A record: the node under whose key another is masked, that node, and its key.
const RECORD: usize = 8 + Key::BYTES;

impl Controller {
    /// A controller without members, for generations of so many sessions. `stored` says whether it
    /// keeps the backward chain.
    pub fn new(profile: Profile, sessions: u32, stored: bool) -> Self {
        let keep = if stored { Keep::Backward } else { Keep::Ends };
        Self {
            profile,
            lkh: lkh::Controller::new(Strategy::Group, profile, DEGREE),
            chains: Chains::new(sessions, keep),
            joins: Vec::new(),
            since: 0,
        }
    }

    fn configured(configuration: &Configuration) -> Self {
        let stored = configuration.value(CHAIN.name) == 0;
        Self::new(configuration.profile(), configuration.value(SESSIONS.name), stored)
    }

    /// Enters the next session. Returns the last backward key of the generation that this closes, and
    /// the forward key if its chain begins anew.
    fn begin_session(&mut self, cx: &mut Context<'_>, operation: Operation) -> [Option<Key>; 2] {
        let epoch = self.lkh.group.epoch.next().0;
        let opens = epoch > self.chains.last();
        let closing = opens.then(|| self.chains.end().clone());
        let forward = (opens || begins_forward(self.profile, operation)).then(|| cx.random_key());
        match forward.clone() {
            None => self.chains.advance(cx, epoch),
            Some(forward) if opens => {
                let end = (self.chains.last_from(epoch), cx.random_key());
                self.chains.open(cx, epoch, forward, end);
                let first = self.chains.first();
                self.joins.retain(|&(at, _)| at >= first);
            }
            Some(forward) => self.chains.begin_forward(cx, epoch, forward),
        }
        let group_key = self.chains.present_key(cx);
        self.lkh.group.enter_next(cx, group_key);
        [closing, forward]
    }

    /// Broadcasts the chains' keys of the session that began.
    fn announce(
        &self,
        cx: &mut Context<'_>,
        operation: Operation,
        removal: Option<(u32, &[u8])>,
        [closing, forward]: [Option<Key>; 2],
    ) {
        let epoch = self.lkh.group.epoch;
        let root = self.lkh.key(self.lkh.tree.root(&self.lkh.group.roster));
        let backward = self.chains.backward(cx);
        let mut masked = Vec::with_capacity(3 * Key::BYTES);
        for (label, key) in [(CLOSING, closing), (FORWARD, forward), (BACKWARD, Some(backward))] {
            if let Some(key) = key {
                let masked_key = mask(cx, root, label, epoch, [0; 2], &key);
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
        draft.bytes(&masked).send();
    }

    /// The epoch since which a member can follow, and the joins since then.
    fn recent_joins(&self) -> (u64, &[(u64, u32)]) {
        let removal = self.joins.partition_point(|&(at, _)| at <= self.since);
        match self.joins.len().saturating_sub(REPEATED) {
            forgotten if forgotten > removal => {
                (self.joins[forgotten - 1].0, &self.joins[forgotten..])
            }
            _ => (self.since, &self.joins[removal..]),
        }
    }

    /// What the member in a slot needs that is in epoch `from`.
    fn history(&self, cx: &mut Context<'_>, slot: u32, from: Epoch) -> History {
        let joined = self.joins.iter().rfind(|&&(_, newcomer)| newcomer == slot);
        let joined = joined.map_or(self.chains.first(), |&(at, _)| at);
        let wanted = from.next().min(self.lkh.group.epoch.next()).0.max(joined);
        self.chains.history(cx, joined, wanted)
    }

    /// Sends a member its keys and what leads to those that it missed.
    fn send_keys(&self, cx: &mut Context<'_>, slot: u32, operation: Operation, history: &History) {
        let group = &self.lkh.group;
        let mut keys = Vec::with_capacity(2 + LEVELS + history.starts.len());
        keys.push(&history.backward);
        keys.extend(&history.end);
        let mut levels = Vec::with_capacity(LEVELS);
        for node in self.lkh.tree.path(slot) {
            levels.push(node.level);
            keys.push(self.lkh.key(node));
        }
        keys.extend(history.starts.iter().map(|(_, key)| key));
        let calls = || keys.chunks(WRAPPED);
        let length = calls().map(|keys| cx.wrapped_length(keys.len())).sum();
        let to = Recipient::Member(group.roster.member(slot));
        let mut draft = cx.draft(to, group.epoch, operation, KEYS);
        draft.number(history.session).number(history.sessions);
        draft.number(u64::from(history.end.is_some())).bytes(&levels);
        draft.array(history.starts.len());
        for (at, _) in &history.starts {
            draft.number(group.epoch.0 - at);
        }
        draft.packed(length);
        for (call, keys) in (0..).zip(calls()) {
            let (label, keys) = (label(history.sessions, call), keys.iter().copied());
            draft.packed_wrapped(group.roster.key(slot), group.epoch, label, keys);
        }
        draft.send();
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;
    const REKEYS: bool = true;

    fn group(&self) -> &ServedGroup {
        &self.lkh.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.lkh.group
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.lkh.tree.fill(&self.lkh.group.roster);
        self.lkh.tree.draw_keys(|| cx.random_key());
        self.begin_session(cx, Operation::Create);
        self.since = self.lkh.group.epoch.0;
        let roster = &self.lkh.group.roster;
        let height = usize::from(self.lkh.tree.height());
        cx.reserve(roster.len(), cx.wrapped_length(height + 2) + height + 8);
        let history = self.history(cx, 0, Epoch::default());
        for slot in (0..roster.slots() as u32).filter(|&slot| roster.is_joined(slot)) {
            self.send_keys(cx, slot, Operation::Create, &history);
        }
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let epoch = self.lkh.group.epoch.next();
        let mut only_child = self.lkh.occupy(slot);
        let path: Vec<_> = self.lkh.tree.path(slot).collect();
        for node in path {
            let key = match only_child.take() {
                Some(child) => first_key(cx, self.lkh.key(child), node, epoch),
                None => cx.hash(self.lkh.key(node), JOINED),
            };
            self.lkh.tree.set_key(node, key);
        }
        let begun = self.begin_session(cx, Operation::Add);
        self.joins.push((epoch.0, slot));
        let history = self.history(cx, slot, Epoch::default());
        self.send_keys(cx, slot, Operation::Add, &history);
        self.announce(cx, Operation::Add, None, begun);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let path = self.lkh.vacate(slot);
        for &node in &path {
            self.lkh.tree.set_key(node, cx.random_key());
        }
        let begun = self.begin_session(cx, Operation::Remove);
        let epoch = self.lkh.group.epoch;
        let mut records = Vec::with_capacity(2 * path.len() * RECORD);
        for &target in &path {
            for under in self.lkh.tree.children(target, &self.lkh.group.roster) {
                let (kek, key) = (self.lkh.key(under), self.lkh.key(target));
                let place = [under.id(), target.id()];
                let masked = mask(cx, kek, NODE, epoch, place, key);
                place.iter().for_each(|id| records.extend_from_slice(&id.to_be_bytes()));
                records.extend_from_slice(masked.as_bytes());
            }
        }
        self.announce(cx, Operation::Remove, Some((slot, &records)), begun);
        self.since = epoch.0;
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        let begun = self.begin_session(cx, Operation::Rekey);
        self.announce(cx, Operation::Rekey, None, begun);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.bring_up_to_date_from(cx, slot, Epoch::default());
    }

    fn bring_up_to_date_from(&self, cx: &mut Context<'_>, slot: u32, from: Epoch) {
        let history = self.history(cx, slot, from);
        self.send_keys(cx, slot, Operation::CatchUp, &history);
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        key_server::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.lkh.group.group_key()
    }

    fn past_key(&self, cx: &mut Context<'_>, epoch: Epoch) -> Option<Key> {
        self.chains.session_key(cx, epoch.0)
    }

    fn footprint(&self) -> Footprint {
        let Footprint { permanent, temporary } = self.lkh.footprint();
        Footprint { permanent: permanent + self.chains.key_count() * Key::BYTES, temporary }
    }
}

impl Member {
    /// A member that is not enrolled yet, for generations of so many sessions. `stored` says whether
    /// it keeps the chains.
    pub fn new(profile: Profile, sessions: u32, stored: bool) -> Self {
        let keep = if stored { Keep::Both } else { Keep::Ends };
        Self {
            profile,
            membership: Membership::default(),
            path: Vec::new(),
            chains: Chains::new(sessions, keep),
        }
    }

    fn configured(configuration: &Configuration) -> Self {
        let stored = configuration.value(CHAIN.name) == 0;
        Self::new(configuration.profile(), configuration.value(SESSIONS.name), stored)
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
        body.finish()?;
        let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
        let within = |&level: &u8| (1..LEVELS).contains(&usize::from(level));
        if previous > 1 || levels.is_empty() || !ascending || !levels.iter().all(within) {
            return Err(Misbehaviour::Malformed.into());
        }
        if self.membership.admit(message)? == Admission::Continues {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let count = 1 + previous as usize + levels.len() + ages.len();
        let mut keys = vec![Key::default(); count];
        unwrap(cx, &enrolment.key, epoch, sessions, wrapped, &mut keys)?;
        let mut keys = keys.into_iter();
        let mut next = || keys.next().ok_or(Misbehaviour::Malformed);
        let backward = next()?;
        let end = if previous == 1 { Some(next()?) } else { None };
        let mut path = Vec::with_capacity(levels.len());
        for &level in levels {
            path.push((Node::above(enrolment.slot, level, DEGREE), next()?));
        }
        let mut starts = Vec::with_capacity(ages.len());
        for age in ages {
            let at = epoch.0.checked_sub(age).ok_or(Misbehaviour::Malformed)?;
            starts.push((at, next()?));
        }
        let history = History { epoch: epoch.0, session, sessions, end, backward, starts };
        self.chains = self.chains.with(cx, history).ok_or(Misbehaviour::Malformed)?;
        self.path = path;
        self.enter(cx, epoch);
        Ok(())
    }

    /// Begins a session with what the member holds, and takes in the sessions that it missed.
    fn follow(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let enrolment = self.membership.enrolment()?;
        let news = News::parse(message)?;
        if let Some(newcomer) = news.newcomer
            && self.membership.is_own_joining(message, newcomer)?
        {
            return Ok(());
        }
        let Some((current, _)) = self.membership.group_key() else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        message.is_later_than(current)?;
        let (epoch, last) = (header.epoch.0, self.chains.last());
        if current.0 < news.since || epoch > last.saturating_add(1) {
            return Err(Misbehaviour::SkippedEpoch { got: header.epoch, current }.into());
        }
        let opens = epoch > last;
        let begins = opens || begins_forward(self.profile, header.operation);
        if news.masked.len() != Key::BYTES * (1 + usize::from(opens) + usize::from(begins)) {
            return Err(Misbehaviour::Malformed.into());
        }
        let mut path = self.path.clone();
        for &(at, slot) in news.joins.iter().filter(|&&(at, _)| at > current.0) {
            follow_join(cx, &mut path, enrolment, Epoch(at), slot)?;
        }
        if let Some((freed, records)) = news.removal {
            path = follow_removal(cx, path, enrolment, header.epoch, freed, records)?;
        }
        let (_, root) = path.last().ok_or(Misbehaviour::NothingForUs)?;
        let (masked, _) = news.masked.as_chunks();
        let mut masked = masked.iter().map(|&bytes| Key::from_bytes(bytes));
        let mut take = |cx: &mut Context<'_>, label| {
            let masked = masked.next().ok_or(Misbehaviour::Malformed)?;
            Ok::<_, Error>(mask(cx, root, label, header.epoch, [0; 2], &masked))
        };
        let closing = if opens { Some(take(cx, CLOSING)?) } else { None };
        let forward = if begins { Some(take(cx, FORWARD)?) } else { None };
        let backward = take(cx, BACKWARD)?;
        // The one of these keys that must lead to what the member holds shows that all are genuine,
        // and so are the keys of the path.
        let (at, linked) = closing.map_or((epoch, backward.clone()), |closing| (last, closing));
        let passed = self.chains.link(cx, at, &linked).ok_or(Misbehaviour::WrongKey)?;
        self.chains.reach(at, linked, passed);
        match forward {
            Some(forward) if opens => self.chains.open(cx, epoch, forward, (epoch, backward)),
            Some(forward) => self.chains.begin_forward(cx, epoch, forward),
            None => self.chains.advance(cx, epoch),
        }
        self.path = path;
        self.enter(cx, header.epoch);
        Ok(())
    }

    fn enter(&mut self, cx: &mut Context<'_>, epoch: Epoch) {
        let group_key = self.chains.present_key(cx);
        self.membership.enter(cx, epoch, group_key);
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

    fn past_key(&self, cx: &mut Context<'_>, epoch: Epoch) -> Option<Key> {
        self.chains.session_key(cx, epoch.0)
    }

    fn footprint(&self) -> Footprint {
        let path = self.path.len() * Key::BYTES;
        let permanent = self.membership.key_bytes() + path + self.chains.key_count() * Key::BYTES;
        Footprint { permanent, temporary: path + 3 * Key::BYTES }
    }
}

/// What a broadcast says, parsed and not yet opened.
struct News<'a> {
    /// The epoch since which a member can follow.
    since: u64,
    /// The joins since then, by epoch and slot.
    joins: Vec<(u64, u32)>,
    /// The slot of who joins with this message.
    newcomer: Option<u32>,
    /// The slot that is freed, and the records.
    removal: Option<(u32, &'a [u8])>,
    masked: &'a [u8],
}

impl<'a> News<'a> {
    fn parse(message: &Message<'a>) -> Result<Self, Error> {
        let (operation, epoch) = (message.header().operation, message.header().epoch.0);
        let mut body = message.body();
        let since = body.number()?;
        let joins = Self::parse_joins(&mut body, since, epoch)?;
        let removal = match operation {
            Operation::Remove => Some((body.number32()?, body.bytes()?)),
            _ => None,
        };
        let masked = body.bytes()?;
        body.finish()?;
        let newcomer = joins.last().filter(|&&(at, _)| at == epoch).map(|&(_, slot)| slot);
        let records = removal.map_or(0, |(_, records)| records.len());
        let joins_now = operation == Operation::Add;
        if since >= epoch || newcomer.is_some() != joins_now || !records.is_multiple_of(RECORD) {
            return Err(Misbehaviour::Malformed.into());
        }
        Ok(Self { since, joins, newcomer, removal, masked })
    }

    fn parse_joins(
        body: &mut Reader<'_>,
        since: u64,
        epoch: u64,
    ) -> Result<Vec<(u64, u32)>, Error> {
        let numbers = body.array()?;
        if numbers > 2 * REPEATED as u64 || !numbers.is_multiple_of(2) {
            return Err(Misbehaviour::Malformed.into());
        }
        let mut joins: Vec<(u64, u32)> = Vec::with_capacity(REPEATED);
        for _ in 0..numbers / 2 {
            let (age, slot) = (body.number()?, body.number32()?);
            let latest = joins.last().map_or(since, |&(at, _)| at);
            let at = epoch.checked_sub(age).filter(|&at| at > latest);
            joins.push((at.ok_or(Misbehaviour::Malformed)?, slot));
        }
        Ok(joins)
    }
}

/// Replaces the keys above a newcomer's slot. The node at which its path meets the member's has two
/// children now: if it had no key before, it gets its first one.
fn follow_join(
    cx: &mut Context<'_>,
    path: &mut Vec<(Node, Key)>,
    enrolment: &Enrolment,
    epoch: Epoch,
    newcomer: u32,
) -> Result<(), Error> {
    let level = u32::BITS - (enrolment.slot ^ newcomer).leading_zeros();
    if !(1..LEVELS as u32).contains(&level) {
        return Err(Misbehaviour::Malformed.into());
    }
    let meeting = Node::above(enrolment.slot, level as u8, DEGREE);
    let mut place = path.partition_point(|&(node, _)| node < meeting);
    if path.get(place).is_none_or(|&(node, _)| node != meeting) {
        let child = place.checked_sub(1).map_or(&enrolment.key, |below| &path[below].1);
        let key = first_key(cx, child, meeting, epoch);
        path.insert(place, (meeting, key));
        place += 1;
    }
    for (_, key) in &mut path[place..] {
        *key = cx.hash(key, JOINED);
    }
    Ok(())
}

/// The path without what an evicted member knew, and with the keys that the records bring instead.
fn follow_removal(
    cx: &mut Context<'_>,
    mut path: Vec<(Node, Key)>,
    enrolment: &Enrolment,
    epoch: Epoch,
    freed: u32,
    records: &[u8],
) -> Result<Vec<(Node, Key)>, Error> {
    if freed == enrolment.slot {
        return Err(Misbehaviour::NothingForUs.into());
    }
    path.retain(|&(node, _)| !node.is_above(freed, DEGREE));
    for level in 0..LEVELS as u8 {
        let under = Node::above(enrolment.slot, level, DEGREE);
        let Some((target, masked)) = find(records, under) else { continue };
        let held = path.iter().find(|&&(node, _)| node == under).map(|(_, key)| key);
        let kek = if level == 0 { Some(&enrolment.key) } else { held };
        let Some(kek) = kek else { continue };
        let is_new = path.iter().all(|&(node, _)| node < target);
        if target <= under || !target.is_above(enrolment.slot, DEGREE) || !is_new {
            return Err(Misbehaviour::Malformed.into());
        }
        let key = mask(cx, kek, NODE, epoch, [under.id(), target.id()], &masked);
        path.push((target, key));
    }
    Ok(path)
}

/// The target and the masked key of the record under a node.
fn find(records: &[u8], under: Node) -> Option<(Node, Key)> {
    let (records, _) = records.as_chunks::<RECORD>();
    records.iter().find_map(|record| {
        let (id, rest) = record.split_first_chunk::<4>()?;
        let (target, masked) = rest.split_first_chunk::<4>()?;
        let masked = Key::from_bytes(masked.try_into().ok()?);
        let target = Node::from_id(u32::from_be_bytes(*target));
        (u32::from_be_bytes(*id) == under.id()).then_some((target, masked))
    })
}

/// Opens keys that were wrapped in as few calls as they take.
fn unwrap(
    cx: &mut Context<'_>,
    kek: &Key,
    epoch: Epoch,
    sessions: u64,
    mut wrapped: &[u8],
    keys: &mut [Key],
) -> Result<(), Error> {
    for (call, keys) in (0..).zip(keys.chunks_mut(WRAPPED)) {
        let (these, rest) = wrapped
            .split_at_checked(cx.wrapped_length(keys.len()))
            .ok_or(Misbehaviour::Malformed)?;
        wrapped = rest;
        cx.unwrap_keys(kek, epoch, label(sessions, call), these, keys)?;
    }
    if wrapped.is_empty() { Ok(()) } else { Err(Misbehaviour::Malformed.into()) }
}

/// What a call wraps for a member: in one epoch it is decided by the sessions that the member misses.
const fn label(sessions: u64, call: u64) -> u64 {
    sessions << 16 | call
}

/// Whether the forward chain begins anew within a generation.
fn begins_forward(profile: Profile, operation: Operation) -> bool {
    profile == Profile::Sound && operation == Operation::Remove
}

/// Masks a key, or takes the mask off. No mask is used for two keys: its derivation knows the epoch,
/// what for, and in the tree from which node to which.
fn mask(
    cx: &mut Context<'_>,
    kek: &Key,
    label: &'static str,
    epoch: Epoch,
    place: [u32; 2],
    key: &Key,
) -> Key {
    let place = (u64::from(place[0]) << 32 | u64::from(place[1])).to_be_bytes();
    let context = [cx.group().0.to_be_bytes(), epoch.0.to_be_bytes(), place];
    let mask = cx.derive(kek, label, context.as_flattened());
    cx.xor(key, &mask)
}

/// The key of a node that gets its second child, from that of its only child so far.
fn first_key(cx: &mut Context<'_>, child: &Key, node: Node, epoch: Epoch) -> Key {
    let node = u64::from(node.id()).to_be_bytes();
    let context = [cx.group().0.to_be_bytes(), epoch.0.to_be_bytes(), node];
    cx.derive(child, "groupkey sgcsh first", context.as_flattened())
}

const JOINED: &str = "groupkey sgcsh joined";
const NODE: &str = "groupkey sgcsh node";
const FORWARD: &str = "groupkey sgcsh forward";
const BACKWARD: &str = "groupkey sgcsh backward";
const CLOSING: &str = "groupkey sgcsh closing";

#[cfg(test)]
mod tests;
