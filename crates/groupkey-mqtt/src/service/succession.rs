//! A group that changes its scheme or parameters while it lives: another founding succeeds it.
//!
//! The service announces the successor to the members of the present group. Each asks for its place
//! in the successor, by the request with which devices join. When all have asked, or time is up, the
//! service founds the successor with those who have: enrolments, creation, welcomes and the devices'
//! records are one transaction, whose one entry is a checkpoint of the successor. Until then nothing
//! of the present group has changed, and a crash forgets the change. From then on the successor is
//! in force. Members keep the key of the present group until they have the successor's.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use groupkey::{Epoch, Error, Instance, MemberId, Operation, PartyId, Recipient};
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use zeroize::Zeroizing;

use super::applicant::Applicant;
use super::continuity::{Founding, Unconfirmed};
use super::error::OperationError;
use super::happened::Happened;
use super::log::{Admission, Entry};
use super::recovery::{Seated, secrets};
use super::welcomes::Welcomes;
use super::{Enrolment, Service, has};
use crate::announcement::Announcement;
use crate::form::{Form, FormError};
use crate::generator::Generator;
use crate::join::Place;
use crate::parties::{Given, Left, Order};
use crate::runtime::{Fatal, MILLISECOND, Output, SECOND, after};

/// A change of scheme that waits for members.
#[derive(Debug)]
pub struct UnderWay<'a> {
    /// The successor's form.
    pub form: &'a Form,
    /// How many members have asked for their places.
    pub asked: usize,
    /// How many members the group has.
    pub members: usize,
    /// When the service stops waiting for the others, ns since 1970.
    pub until: u64,
}

/// The reason why a group cannot change its scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The successor's form must not run live.
    Form(FormError),
    /// The group has another number of members than the scheme can have.
    Members {
        /// The number of members that would come along.
        members: usize,
        /// The smallest and the largest number of members of the scheme.
        range: (u32, u32),
    },
    /// The scheme has no controller.
    NoController(&'static str),
    /// There is no group yet: its form is the one in the service's file.
    NoGroup,
    /// The scheme has no operation to add a member, or none to remove one.
    NoComingAndGoing(&'static str),
    /// The policy has a period, and the scheme cannot change the key without a join or leave.
    NoPeriod(&'static str),
    /// The scheme refuses to create the group with these members.
    Refused(Error),
    /// The group has this form already.
    Same,
    /// Another change is under way.
    UnderWay,
    /// Messages without protection would not show to which of the two groups they belong.
    Unprotected,
}

/// The group that will succeed the present one.
pub(super) struct Succession {
    form: Form,
    /// When it is founded, ms since 1970.
    founded: u64,
    instance: ByteArray<16>,
    /// The members that asked for their places, with their last requests.
    asked: BTreeMap<u32, Applicant>,
    /// Whether all members have asked.
    is_complete: bool,
    /// When it is announced again, ns.
    announced_due: u64,
    /// When the service stops waiting, ns.
    until: u64,
}

/// The successor's parties, and what they left.
struct Successor {
    seated: Seated,
    enrolment: Vec<Enrolment>,
    created: Left,
    orders: [Order; 2],
}

impl Service {
    /// Begins to change the group's scheme, parameters, algorithms or protection. The group keeps
    /// its number, members and evicted devices. The change takes place when all members have asked
    /// for their places, or after [`Policy::change`](crate::Policy::change) with those who have, at
    /// least two. The others join again by themselves.
    pub fn change_scheme(
        &mut self,
        form: Form,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), OperationError> {
        self.require_confirmed()?;
        self.ready_for_the_operator()?;
        let form = Form { group: self.parties.form().group, ..form };
        self.check_change(&form).map_err(OperationError::CannotChange)?;
        let mut instance = [0; Instance::BYTES];
        rng.fill_bytes(&mut instance);
        let founded =
            (self.latest_successor.max(self.founded).saturating_add(1)).max(now / MILLISECOND);
        self.latest_successor = founded;
        let scheme = form.configuration.scheme().id;
        self.succession = Some(Succession {
            form,
            founded,
            instance: instance.into(),
            asked: BTreeMap::new(),
            is_complete: false,
            announced_due: now.saturating_add(ANNOUNCED_AGAIN),
            until: after(now, self.policy.change),
        });
        self.outputs.push_back(Output::Notice(Happened::ChangeBegun { scheme }));
        self.announce(now, true);
        Ok(())
    }

    /// Gives up the change that is under way. Returns whether there was one. Members forget it.
    pub fn cancel_change(&mut self) -> bool {
        self.succession.take().is_some()
    }

    /// Returns the change that is under way.
    pub fn change_under_way(&self) -> Option<UnderWay<'_>> {
        self.succession.as_ref().map(|succession| UnderWay {
            form: &succession.form,
            asked: succession.asked.len(),
            members: self.roster.current(),
            until: succession.until,
        })
    }

    /// Returns whether the scheme was changed since it was taken from the service's file, and the
    /// file has the earlier one.
    pub fn was_changed(&self) -> bool {
        self.configured != self.parties.form().write()
    }

    fn check_change(&self, form: &Form) -> Result<(), ChangeError> {
        let scheme = form.configuration.scheme();
        if self.succession.is_some() {
            return Err(ChangeError::UnderWay);
        }
        if self.group_key().is_none() {
            return Err(ChangeError::NoGroup);
        }
        if !scheme.has_controller() {
            return Err(ChangeError::NoController(scheme.id));
        }
        form.check(self.policy.allowed).map_err(ChangeError::Form)?;
        let present = self.parties.form();
        if [present, form].iter().any(|form| form.guard == groupkey::protection::Guard::None) {
            return Err(ChangeError::Unprotected);
        }
        if form.write() == present.write() {
            return Err(ChangeError::Same);
        }
        if !has(form, Operation::Add) || !has(form, Operation::Remove) {
            return Err(ChangeError::NoComingAndGoing(scheme.id));
        }
        let rekeys = self.policy.period.is_some() && has(present, Operation::Rekey);
        if rekeys && !has(form, Operation::Rekey) {
            return Err(ChangeError::NoPeriod(scheme.id));
        }
        self.check_members(form, self.roster.current() - self.roster.barred_members().len())
    }

    fn check_members(&self, form: &Form, members: usize) -> Result<(), ChangeError> {
        let (least, most) = form.configuration.scheme().members;
        let range = (least.max(2), most);
        let fits = members >= range.0 as usize && members <= most as usize;
        if fits { Ok(()) } else { Err(ChangeError::Members { members, range }) }
    }

    /// Returns whether a request is for a place in the successor.
    pub(super) fn is_for_the_successor(&self, number: u32, place: Option<Place>) -> bool {
        self.succession
            .as_ref()
            .is_some_and(|succession| place == Some(Place::new(number, &succession.instance)))
    }

    /// Returns the stamp with which a member asked for its place in the successor.
    pub(super) fn stamp_for_the_successor(&self, name: &str) -> Option<u64> {
        let (number, _) = self.roster.record(name)?;
        let asked = self.succession.as_ref()?.asked.get(&number)?;
        Some(asked.request.body.stamp)
    }

    /// Takes the request of a member for its place in the successor. The request was checked like
    /// one to join.
    pub(super) fn ask_for_the_successor(&mut self, member: u32, applicant: Applicant) {
        let body = &applicant.request.body;
        let is_present = self.roster.at(member).is_some_and(|record| {
            record.standing.is_current() && record.identity == *body.identity
        });
        match &mut self.succession {
            Some(succession) if is_present => {
                succession.asked.insert(member, applicant);
                self.counters.taken += 1;
                self.note_asked();
            }
            _ => self.counters.refused += 1,
        }
    }

    /// Forgets that a member asked for its place: it has left, or has lost its state.
    pub(super) fn forget_asked(&mut self, member: u32) {
        if let Some(succession) = &mut self.succession {
            succession.asked.remove(&member);
        }
    }

    /// Notes whether all members have asked for their places.
    pub(super) fn note_asked(&mut self) {
        if self.succession.is_none() {
            return;
        }
        let is_missing = self.missing().next().is_some();
        if let Some(succession) = &mut self.succession {
            succession.is_complete = !is_missing && succession.asked.len() >= 2;
        }
    }

    /// Returns when the change needs the service, ns.
    pub(super) fn change_due(&self) -> Option<u64> {
        self.succession.as_ref().map(|succession| match succession.is_complete {
            true => 0,
            false => succession.announced_due.min(succession.until),
        })
    }

    pub(super) fn change_tick(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let Some(succession) = &mut self.succession else { return Ok(()) };
        if succession.is_complete || succession.until <= now {
            return self.succeed(now, rng);
        }
        if succession.announced_due <= now {
            succession.announced_due = now.saturating_add(ANNOUNCED_AGAIN);
            self.announce(now, false);
        }
        Ok(())
    }

    /// Returns the numbers and names of the members that have not asked for their places yet.
    fn missing(&self) -> impl Iterator<Item = (u32, &str)> {
        let succession = self.succession.as_ref();
        self.roster
            .members()
            .filter(move |(number, record)| {
                let asked =
                    succession.is_some_and(|succession| succession.asked.contains_key(number));
                !asked && !record.standing.is_barred()
            })
            .map(|(number, record)| (number, record.name.as_str()))
    }

    /// Announces the successor: to all at first and while many are missing, then to each one that
    /// is missing.
    fn announce(&mut self, now: u64, to_all: bool) {
        let Some(succession) = &self.succession else { return };
        let left = Duration::from_nanos(succession.until.saturating_sub(now)).as_secs();
        let announcement = Announcement {
            epoch: self.epoch().0,
            form: succession.form.write(),
            founded: succession.founded,
            founding: Place::new(0, &succession.instance).founding(),
            seconds: u32::try_from(left).unwrap_or(u32::MAX),
        };
        let announcement = announcement.write(self.context(), &self.identity);
        let names: Vec<_> =
            self.missing().take(TOLD_ONE_BY_ONE + 1).map(|(_, name)| name.to_owned()).collect();
        if to_all || names.len() > TOLD_ONE_BY_ONE {
            self.publish_unstored(self.topics.epoch(), announcement, false);
            return;
        }
        for name in names {
            self.publish_unstored(self.topics.welcome(&name), announcement.clone(), false);
        }
    }

    /// Founds the successor with the members that asked, or gives up the change.
    fn succeed(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let Some(Succession { form, founded, instance, mut asked, .. }) = self.succession.take()
        else {
            return Ok(());
        };
        let present: BTreeSet<_> = self
            .roster
            .members()
            .filter(|(_, record)| !record.standing.is_barred())
            .map(|(number, _)| number)
            .collect();
        asked.retain(|number, _| present.contains(number));
        let scheme = form.configuration.scheme().id;
        self.faults.pass()?;
        let successor = self
            .check_members(&form, asked.len())
            .and_then(|()| self.found_successor(&form, (founded, instance), &asked, now, rng));
        match successor {
            Ok(successor) => self.take_over(form, (founded, instance), asked, successor, now, rng),
            Err(why) => {
                self.outputs.push_back(Output::Notice(Happened::ChangeFailed { scheme, why }));
                Ok(())
            }
        }
    }

    /// Makes the successor's parties, with keys of their own, and creates its group. Changes nothing
    /// of the present group.
    fn found_successor(
        &self,
        form: &Form,
        (founded, instance): (u64, ByteArray<16>),
        asked: &BTreeMap<u32, Applicant>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Successor, ChangeError> {
        let secrets = secrets(form, Some(&self.identity), founded, instance, rng);
        let mut seated = Seated::new(form.clone(), &secrets, &self.policy.prefix);
        for (&member, applicant) in asked {
            let identity = &applicant.request.body.identity;
            seated.parties.keyring.learn(MemberId(member).into(), identity);
        }
        let members: Vec<_> = asked.keys().copied().collect();
        let orders = [Order::Enroll(members.clone()), Order::Create(members)];
        let mut step = |order| {
            let given = Given::Order(order);
            seated.parties.step(PartyId::Controller, given, now, rng).map_err(ChangeError::Refused)
        };
        let enrolled = step(&orders[0])?;
        let created = step(&orders[1])?;
        // Without a saved form there is no checkpoint, and so no transaction.
        seated.parties.saved().map_err(ChangeError::Refused)?;
        let enrolment = enrolled.sent.into_iter().filter_map(|sent| match sent.to {
            Recipient::Member(member) => Some((member, sent.bytes)),
            _ => None,
        });
        Ok(Successor { enrolment: enrolment.collect(), created, orders, seated })
    }

    /// Becomes the successor's controller, in one transaction.
    fn take_over(
        &mut self,
        form: Form,
        (founded, instance): (u64, ByteArray<16>),
        asked: BTreeMap<u32, Applicant>,
        successor: Successor,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let Successor { seated, enrolment, created, orders } = successor;
        let scheme = form.configuration.scheme().id;
        self.seat(form, (founded, instance), seated);
        let missing: Vec<_> = (self.roster.members().map(|(number, _)| number))
            .filter(|number| !asked.contains_key(number))
            .collect();
        missing.iter().for_each(|&member| self.roster.leave(member));
        for (&member, Applicant { request, token, .. }) in &asked {
            let body = &request.body;
            self.admit_to_roster(&Admission {
                member,
                name: body.name.clone(),
                identity: body.identity,
                stamp: body.stamp,
                token: token.map(Into::into),
                attempt: body.attempt,
            });
        }
        for order in &orders {
            self.roster.note(order);
            self.tally.order(order);
        }
        self.log(&Entry::Succeeded(founded, instance));
        self.is_succeeding = true;
        let (members, applicants): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        let mut channel_secret = Zeroizing::new([0; 32]);
        Generator::stream(rng, super::admission::CHANNEL_STREAM).fill_bytes(&mut *channel_secret);
        self.welcome(&applicants, &members, &enrolment, &channel_secret, now);
        let _ = self.post(created);
        let (members, left_behind) = (members.len(), missing.len());
        self.told.push(Happened::Changed { scheme, members, left_behind, founded });
        self.commit(now)
    }

    /// Founds the group anew, later than the founding `than`: with the devices that the store knows,
    /// and without members and keys. Evicted devices stay barred.
    pub(super) fn found_again(&mut self, than: u64, now: u64, rng: &mut ChaCha20Rng) {
        let mut instance = [0; Instance::BYTES];
        rng.fill_bytes(&mut instance);
        let founding = (self.later_than(than, now), ByteArray::from(instance));
        let form = self.parties.form().clone();
        let secrets = secrets(&form, Some(&self.identity), founding.0, founding.1, rng);
        let seated = Seated::new(form.clone(), &secrets, &self.policy.prefix);
        self.seat(form, founding, seated);
        let members: Vec<_> = self.roster.members().map(|(number, _)| number).collect();
        members.iter().for_each(|&member| self.roster.leave(member));
        // They are of the group that is given up.
        self.acknowledged.extend(core::mem::take(&mut self.unacknowledged));
        self.unconfirmed.iter_mut().for_each(Unconfirmed::forget_publishes);
        (self.rekeyed_at, self.rekey_due) = (None, None);
        self.log(&Entry::Succeeded(founding.0, founding.1));
        self.founding = Founding::Ordered;
        self.is_succeeding = true;
        self.told.push(Happened::Founding { founded: founding.0 });
    }

    /// Takes the seats of another founding's controllers.
    fn seat(&mut self, form: Form, (founded, instance): (u64, ByteArray<16>), seated: Seated) {
        let topics = |subgroups: &[(i64, ByteArray<32>)]| -> BTreeSet<String> {
            let parties = subgroups.iter().filter_map(|(number, _)| PartyId::from_number(*number));
            parties.map(|party| self.topics.of(party.into())).collect()
        };
        let (before, after) = (topics(&self.controllers), topics(&seated.controllers));
        let gone = before.difference(&after).cloned().map(Output::Unsubscribe);
        let new = after.difference(&before).cloned().map(Output::Subscribe);
        self.outputs.extend(gone.chain(new));
        (self.founded, self.instance, self.policy.form) = (founded, instance, form);
        self.controllers = seated.controllers;
        self.parties = seated.parties;
        self.mac = seated.mac;
        self.subgroups = seated.subgroups;
        self.welcomes = Welcomes::default();
        // Epochs begin anew.
        self.announced = Epoch(0);
    }
}

/// How long the service waits before it announces a successor again, ns.
const ANNOUNCED_AGAIN: u64 = 5 * SECOND;

/// The maximum number of missing members that are told one by one.
const TOLD_ONE_BY_ONE: usize = 64;

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(error) => write!(f, "{error}"),
            Self::Members { members, range: (least, most) } => write!(
                f,
                "the scheme is for {least} to {most} members, and {members} would come along"
            ),
            Self::NoController(scheme) => {
                write!(f, "{scheme} has no controller: its members need no service")
            }
            Self::NoGroup => write!(
                f,
                "there is no group yet: stop the service, change its file, and give it an empty store"
            ),
            Self::NoComingAndGoing(scheme) => {
                write!(f, "{scheme} cannot add or remove members while the group lives")
            }
            Self::NoPeriod(scheme) => write!(
                f,
                "the key changes periodically (period_s), and {scheme} cannot do that without a join or \
                 leave"
            ),
            Self::Refused(error) => write!(f, "the scheme refuses these members: {error}"),
            Self::Same => write!(f, "the group has this scheme and these parameters already"),
            Self::UnderWay => write!(f, "another change is under way: cancel it first"),
            Self::Unprotected => {
                write!(f, "a group without protection cannot change its scheme while it lives")
            }
        }
    }
}

impl core::error::Error for ChangeError {}
