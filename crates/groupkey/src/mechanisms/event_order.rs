//! One order of membership events for all members of a distributed group, whatever its scheme: view
//! synchrony over one topic of a broker.
//!
//! A scheme's party takes commands that all members get in the same order, one at a time.
//! [`Ordered`] wraps such a party and makes that order. Instead of commands it takes requests, from
//! any member at any time, and it continues when members die in the middle of an operation. ADR 7
//! has the reasons for this design, `docs/order.md` says how to use it.
//!
//! It relies on the following. Every member gets all messages to the group in one order, its own
//! included. (A topic of an MQTT broker gives that, at QoS 1 or 2.) Messages to one member may
//! overtake this order. The application says which members are dead, rightly or not, and need not
//! say so to all members at once.
//!
//! 1. *Requests* go to the group: join, leave, evict. Every member keeps them until they are
//!    served.
//! 2. The *chair* is the first member of the roster that is neither dead nor asked to leave. When
//!    the event under way is settled, it chooses the next one and *announces* it: a new epoch, the
//!    operation, and the members that it leads to. Leaving members come first, then joining
//!    members, the smaller id first.
//! 3. Of several announcements for one epoch the first in the group's order counts. The others are
//!    stale. No member acts on an announcement, not even its sender, before it arrives from the
//!    group. A waiting member cannot tell whether an announcement without its ticket is true. So it
//!    remembers that the announcement's epoch is taken, and nothing else.
//! 4. Then all members give their party the command, and the scheme does its work.
//! 5. If a member dies while an event is under way, the chair announces that the remaining members
//!    begin *again*, in the next epoch: no member can know how far the others came. If the chair
//!    dies, the next in line is the chair. Membership is what was announced last, so no evicted
//!    member comes back. The members also begin again if one says that it cannot follow.
//!
//! ```text
//! JOIN,     newcomer or lost member to all:  ticket (a random number, the same when it repeats)
//! LEAVE,    member to all
//! EVICT,    member to all:                   id; by an operator also the epoch that later tickets name
//! ANNOUNCE, chair to all:                    operation, [id, ..], [ticket of each that is taken in, ..],
//!                                            [[evicted id, epoch], ..], latest epoch named
//! HERE,     member to newcomer:              ticket
//! ```
//!
//! A request contains the epoch in which its sender knows the group to be. A request from before
//! the sender's last join or leave meant an earlier membership, and may be a recording: it changes
//! nothing. A joining member that cannot know the epoch is told it (HERE), and asks again. The chair
//! tells it first; each time that it asks again, the next member does.
//!
//! Cost of an event: one announcement and one request. A join takes two requests and HERE if the
//! joining member has been there before or the chair came later than the group. A death during an
//! operation adds a creation. Commands: `Create` begins a group, given to all founders. `Add` and
//! `Remove` of the member itself ask to join and leave; `Remove` of another member asks for its
//! eviction. `Partition` reports members dead. `Rekey` goes to every member, as clocks do.
//! `CatchUp` is for a member that missed a part of the order.

mod announcement;
mod decisions;
mod requests;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

use self::announcement::{ANNOUNCE, Announcement, EVICT, HERE, JOIN, LEAVE, TICKET};
pub use self::announcement::{admits, eviction, evicts, is_word, ticket};
use self::decisions::{EVICTED, EvictionDecision, GroupDecisions};
pub use self::decisions::{Evict, Join, Rules};
use self::requests::{Evictor, Requests};
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId, PartyId};
use crate::mechanisms::membership::early_messages::Early;
use crate::mechanisms::membership::{MEMBERS, Roster};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, EventOrder, Footprint, Input, Operation, Party};
use crate::scheme::{Class, Configuration};
use crate::secret::Key;
use crate::wire::Message;

/// A member of a group with a distributed scheme that brings membership events into one order.
pub struct Ordered {
    configuration: Configuration,
    me: MemberId,
    /// The epoch of the last event that was announced.
    epoch: Epoch,
    /// The members that it leads to; empty if this member is not among them.
    roster: Roster,
    /// The members before others removed this one; empty if nobody has.
    former: Roster,
    /// The epochs of the announcements heard last, whichever members they concerned.
    passed: VecDeque<Epoch>,
    /// The scheme's party; `None` if this member cannot follow.
    party: Option<Box<dyn Party>>,
    /// The last key that the party had.
    held: Option<(Epoch, Key)>,
    requests: Requests,
    decisions: GroupDecisions,
    /// Members for whose eviction this member has asked. It asks again in every epoch.
    wishes: Roster,
    leaves: bool,
    /// The ticket of this member's request to join, until it is served.
    ticket: Option<u64>,
    /// The epoch that the group told this member when it did not take that request.
    told: Option<Epoch>,
    /// Whether the group may have served that request in an announcement that came too late here, or
    /// not at all.
    spent: bool,
    /// Whether an announcement of this member is on its way.
    announced: bool,
    early: Early,
}

/// Number of epochs that are remembered. A party that hears the topic so late that it announces an
/// older one is considered dead long before.
const PASSED: usize = 16;

impl Ordered {
    /// A member that is in no group yet. The scheme must be a distributed one.
    pub fn new(configuration: Configuration, me: MemberId) -> Result<Self, Error> {
        if configuration.scheme().class() != Class::Distributed {
            return Err(Unsupported::Operation.into());
        }
        Ok(Self {
            configuration,
            me,
            epoch: Epoch::default(),
            roster: Roster::default(),
            former: Roster::default(),
            passed: VecDeque::new(),
            party: None,
            held: None,
            requests: Requests::default(),
            decisions: GroupDecisions::default(),
            wishes: Roster::default(),
            leaves: false,
            ticket: None,
            told: None,
            spent: false,
            announced: false,
            early: Early::default(),
        })
    }

    /// The same member, in a group with these rules. All members must have the same.
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.decisions.follow(rules);
        self
    }

    /// The same member, which remembers what the group decided before a restart: the
    /// [latest epoch](EventOrder::latest_epoch), and the [evicted members](EventOrder::evicted), of which the
    /// first 4,096 count.
    pub fn remembering(mut self, latest: Epoch, evicted: &[(MemberId, Epoch)]) -> Self {
        self.decisions.remember(latest, evicted);
        self
    }

    /// The members that were announced last, in their order; none if this member is not among them.
    pub fn members(&self) -> impl Iterator<Item = MemberId> {
        self.roster.iter()
    }

    /// Whether the last event that was announced is complete here.
    pub fn is_settled(&self) -> bool {
        self.party.is_some() && self.held.as_ref().is_some_and(|&(epoch, _)| epoch == self.epoch)
    }

    fn is_member(&self) -> bool {
        !self.roster.is_empty()
    }

    fn found(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        if self.epoch != Epoch::default() {
            return Err(Misuse::AlreadyCreated.into());
        }
        if self.ticket.is_some() {
            return Err(Misuse::OperationUnderWay.into());
        }
        if members.len() > MEMBERS.1 as usize {
            return Err(Unsupported::TooManyMembers { limit: MEMBERS.1 }.into());
        }
        if let Some(&evicted) = members.iter().find(|&&member| self.decisions.is_evicted(member)) {
            return Err(Misuse::NotMember(evicted).into());
        }
        let mut party = self.configuration.member(self.me);
        cx.command(&mut *party, Command::Create(members))?;
        self.epoch = self.epoch.next();
        self.roster = Roster::of(members);
        self.decisions.advance(self.epoch);
        self.party = Some(party);
        self.go_on(cx);
        Ok(())
    }

    fn join(&mut self, cx: &mut Context<'_>) {
        self.ticket.take_if(|_| core::mem::take(&mut self.spent));
        let ticket = *self.ticket.get_or_insert_with(|| draw_ticket(cx));
        // The epoch that it was told is right, even if its own, of an earlier group, is later.
        let known = self.told.unwrap_or(self.epoch);
        cx.draft(Recipient::Group, known, Operation::Order, JOIN).number(ticket).send();
    }

    fn evict(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        if !self.is_member() {
            return Err(Misuse::NotCreated.into());
        }
        self.roster.place(member).ok_or(Misuse::NotMember(member))?;
        if member == self.me {
            self.leaves = true;
            cx.draft(Recipient::Group, self.epoch, Operation::Order, LEAVE).send();
            return Ok(());
        }
        match self.decisions.rules().evict {
            Evict::One => {}
            Evict::Members(_) => self.wishes.want(member),
            Evict::Operators => return Err(Misuse::WrongRole.into()),
        }
        self.ask_to_evict(cx, member);
        Ok(())
    }

    fn ask_to_evict(&self, cx: &mut Context<'_>, MemberId(member): MemberId) {
        let mut draft = cx.draft(Recipient::Group, self.epoch, Operation::Order, EVICT);
        draft.number(u64::from(member)).send();
    }

    fn report_dead(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        if members.contains(&self.me) {
            return Err(Misuse::WrongRole.into());
        }
        let is_repeated = members.iter().any(|&member| self.requests.waits(member));
        self.doubt_announcement(is_repeated);
        members.iter().for_each(|&member| self.requests.report_dead(member));
        self.announce(cx);
        Ok(())
    }

    /// Asks to begin again.
    fn get_back(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if !self.is_member() && self.ticket.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        self.ticket = None;
        self.join(cx);
        Ok(())
    }

    fn receive_request(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let (known, mut body) = (message.header().epoch, message.body());
        if message.header().kind == JOIN {
            let sender = message.from_member()?;
            let ticket = body.number()?;
            body.finish()?;
            if !self.is_member() {
                return Ok(());
            }
            if self.roster.place(sender).is_none() && !self.decisions.may_join(sender) {
                return Err(Misbehaviour::UnexpectedSender.into());
            }
            let is_repeated = self.requests.waits(sender);
            let is_taken = self.requests.join(sender, ticket, known, self.epoch, &self.roster);
            if !is_taken || self.requests.has_served(sender, &self.roster) {
                // This may be a recording. A member that asks now learns the epoch to ask in. If its
                // request was served, the announcement was lost on the way to it.
                if self.requests.teller(&self.roster, sender) == Some(self.me) {
                    let to = Recipient::Member(sender);
                    cx.draft(to, self.epoch, Operation::Order, HERE).number(ticket).send();
                }
                return Ok(());
            }
            self.doubt_announcement(is_repeated);
        } else {
            let is_eviction = message.header().kind == EVICT;
            let sender = match message.header().sender {
                PartyId::SubgroupController(_) if is_eviction => None,
                _ => Some(message.from_member()?),
            };
            let subject = if is_eviction { Some(MemberId(body.number32()?)) } else { sender };
            let evictor = match sender {
                Some(member) => Evictor::Member(member),
                None => Evictor::Operator { since: Epoch(body.number()?) },
            };
            body.finish()?;
            if let (Some(subject), Evictor::Operator { since }) = (subject, evictor) {
                self.decisions.require_last_word(subject, since)?;
                if self.is_strange(subject) {
                    self.decisions.hear_word(subject, since, &self.roster);
                    return Ok(());
                }
            }
            if !self.is_member() {
                return Ok(());
            }
            let (got, current) = (known, self.epoch);
            let is_present = |member: &Option<MemberId>| {
                member.is_none_or(|member| self.roster.place(member).is_some())
            };
            let subject = subject.filter(|_| [sender, subject].iter().all(is_present));
            let is_repeated = subject.is_some_and(|subject| self.requests.waits(subject));
            let is_taken = subject.is_some_and(|subject| match is_eviction {
                false => self.requests.leave(subject, got, current),
                true => {
                    let rule = self.decisions.rules().evict;
                    self.decisions.has_room()
                        && self.requests.evict((evictor, subject), got, current, rule)
                }
            });
            if !is_taken {
                return Err(Misbehaviour::StaleEpoch { got, current }.into());
            }
            self.doubt_announcement(is_repeated);
        }
        self.announce(cx);
        Ok(())
    }

    /// Whether another party is not there, and was evicted, or this one was not there when the other
    /// one joined or left last.
    fn is_strange(&self, party: MemberId) -> bool {
        let may_be_out = self.decisions.is_evicted(party) || !self.requests.knows(party);
        party != self.me && self.roster.place(party).is_none() && may_be_out
    }

    /// Announces again if a request is repeated: the announcement may have been lost. Of two
    /// announcements the first counts.
    fn doubt_announcement(&mut self, is_repeated: bool) {
        self.announced &= !is_repeated;
    }

    /// Takes an operator's ticket, whoever shows it.
    fn receive_ticket(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let (sender, named) = (message.header().sender, message.header().epoch);
        if !matches!(sender, PartyId::SubgroupController(_)) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let mut body = message.body();
        let party = MemberId(body.number32()?);
        let count = body.array()?;
        if count > EVICTED as u64 {
            return Err(Misbehaviour::Malformed.into());
        }
        let others = (0..count).map(|_| body.number32().map(MemberId));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        body.finish()?;
        if party == self.me && !self.is_member() {
            self.decisions.show_own(self.me, named, &others);
            return Ok(());
        }
        self.decisions.show(party, named)?;
        self.announce(cx);
        Ok(())
    }

    /// Takes HERE: asks again, in the epoch that the group is in.
    fn receive_epoch(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.decisions.is_evicted(message.from_member()?) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        if self.is_member() {
            self.require_member(message)?;
        }
        let mut body = message.body();
        let ticket = body.number()?;
        body.finish()?;
        // The message may answer a recording of an earlier request.
        if self.ticket != Some(ticket) {
            return Ok(());
        }
        let known = message.header().epoch;
        if self.told.is_some_and(|told| known <= told) {
            // It has asked in that epoch. The group may have served the request already.
            (self.spent, self.told) = (true, None);
            return Ok(());
        }
        self.told = Some(known);
        self.join(cx);
        Ok(())
    }

    /// Follows an announcement that counts, leaves the group if it says so, or ignores it.
    fn receive_announcement(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let (got, current) = (message.header().epoch, self.epoch);
        let announcement = Announcement::read(message)?;
        let admitted = self.admits_me(&announcement);
        // Of several announcements for one epoch the first counts, and no epoch comes again.
        let is_over = got <= current || self.passed.contains(&got);
        if is_over && admitted && !self.is_member() {
            // This member heard another announcement first, and the others may count on it: the
            // ticket may be spent.
            self.spent = true;
            return Ok(());
        }
        if is_over {
            return Err(Misbehaviour::StaleEpoch { got, current }.into());
        }
        if self.decisions.is_evicted(announcement.roster.at(0)) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        match (admitted, self.is_member()) {
            // A joining member does not know which members there are, nor their epoch. The ticket is
            // younger than any old announcement.
            (true, false) => {}
            // A member that asked to begin again still knows whom to believe. It may have missed how
            // others were evicted.
            (true, true) => self.require_member(message)?,
            (false, true) if got == current.next() => {
                announcement.require_successor_of(&self.roster)?;
                let decided = |member| self.verdict(member, &announcement);
                self.decisions.require_decided(got, &self.roster, &announcement, decided)?;
            }
            (false, true) => return Err(self.skipped(message)),
            (false, false) => {
                // The announcement concerns others, or is a lie: a party that waits cannot tell.
                self.pass(got);
                return Ok(());
            }
        }
        let known = if self.is_member() { &self.roster } else { &self.former };
        let horizon = self.decisions.horizon(current, self.is_member());
        self.decisions.require_admissible((got, horizon), (self.me, known), &announcement)?;
        if announcement.roster.place(self.me).is_none() {
            self.adopt(got, &announcement);
            self.leave(got);
            cx.event(Event::Removed);
            return Ok(());
        }
        self.follow(cx, got, announcement)
    }

    /// How the group has decided to evict a member, if it has. By one rule the announcement is itself
    /// a member's word.
    fn verdict(&self, member: MemberId, announcement: &Announcement) -> Option<EvictionDecision> {
        let one_suffices = self.decisions.rules().evict == Evict::One;
        let is_named = announcement.evicted.iter().any(|&(evicted, _)| evicted == member);
        let decided = self.requests.verdict(member);
        if !(one_suffices && is_named) {
            return decided;
        }
        Some(EvictionDecision { by_members: true, ..decided.unwrap_or_default() })
    }

    fn adopt(&mut self, epoch: Epoch, announcement: &Announcement) {
        let verdicts =
            self.roster.iter().map(|member| (member, self.verdict(member, announcement)));
        let verdicts: BTreeMap<_, _> = verdicts.collect();
        let before = (self.me, &self.roster);
        self.decisions.adopt(epoch, before, announcement, |member| *verdicts.get(&member)?);
    }

    /// Whether the announcement serves this member's request to join.
    fn admits_me(&self, announcement: &Announcement) -> bool {
        self.ticket.is_some_and(|ticket| announcement.admits(self.me, ticket))
    }

    /// Gives the party the command that was announced.
    fn follow(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        announcement: Announcement,
    ) -> Result<(), Error> {
        let Announcement { operation, roster, .. } = &announcement;
        // A member that asked is treated as a joining member, even if it counts itself among the
        // members: it missed its eviction.
        let newcomer = !self.is_member() || self.admits_me(&announcement);
        let settled = self.is_settled();
        let members: Vec<_> = roster.iter().collect();
        if newcomer || *operation == Operation::Create {
            let before = Epoch(epoch.0 - 1);
            let configuration = self.configuration.after(before).announced(&members);
            let mut party = configuration.member(self.me);
            let command = match operation {
                Operation::Add => Command::Add(self.me),
                _ => Command::Create(&members),
            };
            cx.command(&mut *party, command)?;
            self.party = Some(party);
            self.ticket = None;
            self.spent = false;
        } else if let Some(party) = self.party.as_mut().filter(|_| settled) {
            let left = self.roster.without(|member| roster.place(member).is_some());
            let left: Vec<_> = left.iter().collect();
            let command = match (operation, &members[..], &left[..]) {
                (Operation::Add, [.., newcomer], _) => Command::Add(*newcomer),
                (Operation::Remove, _, [leaver]) => Command::Remove(*leaver),
                (Operation::Partition, ..) => Command::Partition(&left),
                _ => Command::Rekey,
            };
            if cx.command(&mut **party, command).is_err() {
                // The party cannot follow because of others' messages: the group must begin again.
                self.party = None;
            }
        } else {
            self.party = None;
        }
        self.adopt(epoch, &announcement);
        if epoch != self.epoch.next() {
            // A member that missed announcements does not know which requests they served.
            self.roster = Roster::default();
            self.requests = Requests::default();
        }
        self.requests.served(&self.roster, &announcement, epoch);
        self.epoch = epoch;
        self.told = None;
        // While it waits, a member believes announcements of any epoch.
        self.passed.retain(|&passed| passed < epoch);
        self.pass(epoch);
        self.announced = false;
        if self.party.is_none() {
            self.join(cx);
        }
        self.roster = announcement.roster;
        self.former = Roster::default();
        self.wishes = self.wishes.without(|member| self.roster.place(member).is_none());
        self.wishes.iter().for_each(|member| self.ask_to_evict(cx, member));
        for (header, content) in self.early.take(epoch) {
            let message = Message::new(header, &content);
            if self.require_member(&message).is_ok()
                && let Some(party) = &mut self.party
            {
                // A message that the party refuses is its sender's fault, not the announcer's.
                let _ = cx.message(&mut **party, message);
            }
        }
        self.go_on(cx);
        Ok(())
    }

    /// Leaves the group, because a member announced that it continues without this one.
    fn leave(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        self.told = None;
        self.pass(epoch);
        self.former = core::mem::take(&mut self.roster);
        self.party = None;
        self.held = None;
        self.requests = Requests::default();
        self.wishes = Roster::default();
        self.ticket = None;
        self.spent = false;
        self.announced = false;
        self.early.clear();
    }

    /// Records that another announcement for this epoch comes too late.
    fn pass(&mut self, epoch: Epoch) {
        if self.passed.len() == PASSED {
            self.passed.pop_front();
        }
        self.passed.push_back(epoch);
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: Message<'_>) -> Result<(), Error> {
        let header = *message.header();
        let (got, current) = (header.epoch, self.epoch);
        if message.from_member()? == self.me {
            // The group's order includes this member's own messages.
            return Ok(());
        }
        if matches!(header.operation, Operation::CatchUp | Operation::Enroll) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if got < current {
            return Err(Misbehaviour::StaleEpoch { got, current }.into());
        }
        let for_me_alone = header.to == Recipient::Member(self.me);
        if got > current && for_me_alone && (self.is_member() || self.ticket.is_some()) {
            self.early.keep(&message);
            return Ok(());
        }
        if got > current && self.is_member() {
            return Err(self.skipped(&message));
        }
        let is_member = self.is_member();
        if is_member {
            // The scheme's party believes what a message says about its sender's place.
            self.require_member(&message)?;
        }
        match &mut self.party {
            Some(party) if got == current => cx.message(&mut **party, message)?,
            // A member that said it cannot follow ignores what the others do meanwhile.
            None if got == current && is_member => return Ok(()),
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        self.go_on(cx);
        Ok(())
    }

    /// Returns the refusal of a message from a later epoch. Only a message of a member proves that
    /// this party missed something: an evicted party can still sign, and would have the group begin
    /// again as often as it likes.
    fn skipped(&self, message: &Message<'_>) -> Error {
        let (got, current) = (message.header().epoch, self.epoch);
        match self.require_member(message) {
            Ok(()) => Misbehaviour::SkippedEpoch { got, current }.into(),
            Err(refusal) => refusal,
        }
    }

    /// Refuses a message whose sender is not a member of the group that this party knows.
    fn require_member(&self, message: &Message<'_>) -> Result<(), Error> {
        match self.roster.place(message.from_member()?) {
            Some(_) => Ok(()),
            None => Err(Misbehaviour::UnexpectedSender.into()),
        }
    }

    /// Continues after the party's step. It may have a new key, and then another event may be due.
    fn go_on(&mut self, cx: &mut Context<'_>) {
        let key = self.party.as_ref().and_then(|party| party.group_key());
        if let Some((epoch, key)) = key.filter(|&(epoch, _)| epoch == self.epoch) {
            if self.held.as_ref().is_none_or(|&(held, _)| held < epoch) {
                // It could follow after all. The others may count on it to announce.
                self.requests.follows(self.me);
            }
            self.held = Some((epoch, key.clone()));
        }
        self.announce(cx);
    }

    /// Announces the next event, if this member must do so.
    fn announce(&mut self, cx: &mut Context<'_>) {
        if self.announced || !self.is_member() {
            return;
        }
        let scheme = self.configuration.scheme();
        let (epoch, settled) = (self.epoch.next(), self.is_settled());
        let decisions = &self.decisions;
        let next = self.requests.next(self.me, &self.roster, settled, scheme, decisions, epoch);
        if let Some(next) = next {
            next.send(cx, epoch);
            self.announced = true;
        }
    }
}

impl Party for Ordered {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) if member != self.me => {
                Err(Misuse::WrongRole.into())
            }
            Input::Command(Command::Add(member)) if self.is_member() => {
                Err(Misuse::AlreadyMember(member).into())
            }
            Input::Command(Command::Add(member)) if self.decisions.is_evicted(member) => {
                Err(Misuse::NotMember(member).into())
            }
            Input::Command(Command::Add(_)) => {
                self.leaves = false;
                self.join(cx);
                Ok(())
            }
            Input::Command(Command::CatchUp) => self.get_back(cx),
            Input::Command(Command::Create(members)) => self.found(cx, members),
            Input::Command(Command::Partition(members)) => self.report_dead(cx, members),
            Input::Command(Command::Rekey) => {
                self.requests.refresh();
                self.announce(cx);
                Ok(())
            }
            Input::Command(Command::Remove(member)) => self.evict(cx, member),
            Input::Command(
                Command::Batch { .. }
                | Command::Enroll(_)
                | Command::Grant { .. }
                | Command::Merge { .. }
                | Command::Send,
            ) => Err(Unsupported::Operation.into()),
            Input::Message(message) => match (message.header().operation, message.header().kind) {
                (Operation::Order, ANNOUNCE) => self.receive_announcement(cx, &message),
                (Operation::Order, JOIN | LEAVE | EVICT) => self.receive_request(cx, &message),
                (Operation::Order, TICKET) => self.receive_ticket(cx, &message),
                (Operation::Order, HERE) => self.receive_epoch(cx, &message),
                (Operation::Order, _) => Err(Misbehaviour::UnexpectedMessage.into()),
                _ => self.receive(cx, message),
            },
        }
    }

    /// The key of the last event that is complete here.
    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.held.as_ref().map(|(epoch, key)| (*epoch, key))
    }

    fn ordering(&self) -> Option<&dyn EventOrder> {
        Some(self)
    }

    fn ordering_mut(&mut self) -> Option<&mut dyn EventOrder> {
        Some(self)
    }

    /// What the scheme's party holds; nothing while there is no party.
    fn footprint(&self) -> Footprint {
        self.party.as_ref().map(|party| party.footprint()).unwrap_or_default()
    }
}

impl EventOrder for Ordered {
    fn under_way(&self) -> Option<Epoch> {
        (self.is_member() && !self.is_settled()).then_some(self.epoch)
    }

    fn counts_as_member(&self, member: MemberId) -> bool {
        !self.is_member() || self.roster.place(member).is_some()
    }

    fn evicted(&self) -> &[(MemberId, Epoch)] {
        self.decisions.evicted()
    }

    fn hear_evicted(&mut self, reporter: MemberId, evicted: &[(MemberId, Epoch)]) -> bool {
        self.decisions.hear(reporter, evicted, self.me, self.epoch, &self.roster)
    }

    fn latest_epoch(&self) -> Epoch {
        self.decisions.latest()
    }

    fn may_return(&self) -> bool {
        !self.leaves && !self.decisions.is_evicted(self.me)
    }
}

impl fmt::Debug for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered")
            .field("scheme", &self.configuration.scheme().id)
            .field("me", &self.me)
            .field("epoch", &self.epoch)
            .field("roster", &self.roster)
            .field("settled", &self.is_settled())
            .finish_non_exhaustive()
    }
}

/// Draws a ticket. It is not secret. Two tickets of one member differ.
fn draw_ticket(cx: &mut Context<'_>) -> u64 {
    let key = cx.random_key();
    let (first, _) = key.as_bytes().split_at(8);
    first.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
