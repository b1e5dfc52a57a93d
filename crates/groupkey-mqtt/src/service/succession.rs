//! A group that changes its scheme or parameters while it lives: another founding succeeds it.
//!
//! The service announces the successor to the members of the present group. Each asks for its place
//! in the successor, by the request with which devices join. When all have asked, or time is up, the
//! service founds the successor with those who have: enrolments, creation, welcomes and the devices'
//! records are one transaction, whose one entry is a checkpoint of the successor. Until then nothing
//! of the present group has changed, and a crash forgets the change. From then on the successor is
//! in force. Members keep the key of the present group until they have the successor's.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use groupkey::protection::Guard;
use groupkey::{Error, Operation};
use minicbor::bytes::ByteArray;

use super::admission::Applicant;
use super::group::{LiveGroup, has};
use super::roster::DeviceRoster;
use crate::group_form::{EncodedForm, FormError, GroupForm};
use crate::join::Place;
use crate::policy::Policy;
use crate::runtime::{MILLISECOND, SECOND, after};
use crate::successor_announcement::SuccessorAnnouncement;

/// A change of scheme that waits for members.
#[derive(Debug)]
pub struct UnderWay<'a> {
    /// The successor's form.
    pub form: &'a GroupForm,
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
    /// The scheme refuses to create the group with these members.
    Refused(Error),
    /// The group has this form already.
    Same,
    /// Another change is under way.
    UnderWay,
    /// Messages without protection would not show to which of the two groups they belong.
    Unprotected,
}

/// Changes of the group's scheme: the one that is under way, and what earlier ones left.
pub(super) struct Succession {
    /// The form in the service's file, which had been the group's.
    configured: EncodedForm,
    /// When the last announced successor was to be founded, ms since 1970.
    latest: u64,
    next: Option<Successor>,
}

/// The group that will succeed the present one.
pub(super) struct Successor {
    pub(super) form: GroupForm,
    /// When it is founded, ms since 1970.
    pub(super) founded: u64,
    pub(super) instance: ByteArray<16>,
    /// The members that asked for their places, with their last requests.
    pub(super) asked: BTreeMap<u32, Applicant>,
    /// Whether all members have asked.
    is_complete: bool,
    /// When it is announced again, ns.
    announced_due: u64,
    /// When the service stops waiting, ns.
    until: u64,
}

/// What is due for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SuccessionAction {
    Announcement,
    Nothing,
    Takeover,
}

impl Succession {
    /// Begins with the form in the service's file, and the founding of the group, ms since 1970.
    pub(super) const fn new(configured: EncodedForm, founded: u64) -> Self {
        Self { configured, latest: founded, next: None }
    }

    /// Returns the form in the service's file, if a change made it another one than the group's.
    pub(super) fn configured(&self, present: &GroupForm) -> Option<&EncodedForm> {
        Some(&self.configured).filter(|configured| **configured != present.write())
    }

    /// Checks that the group can change its form to this one.
    pub(super) fn check(
        &self,
        form: &GroupForm,
        group: &LiveGroup,
        policy: &Policy,
        members: usize,
    ) -> Result<(), ChangeError> {
        let scheme = form.configuration.scheme();
        if self.next.is_some() {
            return Err(ChangeError::UnderWay);
        }
        if group.key().is_none() {
            return Err(ChangeError::NoGroup);
        }
        if !scheme.has_controller() {
            return Err(ChangeError::NoController(scheme.id));
        }
        form.check(policy.allowed).map_err(ChangeError::Form)?;
        let present = group.form();
        if [present, form].iter().any(|form| form.guard == Guard::None) {
            return Err(ChangeError::Unprotected);
        }
        if form.write() == present.write() {
            return Err(ChangeError::Same);
        }
        if !has(form, Operation::Add) || !has(form, Operation::Remove) {
            return Err(ChangeError::NoComingAndGoing(scheme.id));
        }
        check_members(form, members)
    }

    /// Begins to change the form. `founded` is the present group's founding, ms since 1970.
    pub(super) fn begin(
        &mut self,
        form: GroupForm,
        instance: ByteArray<16>,
        founded: u64,
        (now, wait): (u64, Duration),
    ) {
        self.latest = self.latest.max(founded).saturating_add(1).max(now / MILLISECOND);
        self.next = Some(Successor {
            form,
            founded: self.latest,
            instance,
            asked: BTreeMap::new(),
            is_complete: false,
            announced_due: now.saturating_add(ANNOUNCED_AGAIN),
            until: after(now, wait),
        });
    }

    /// Gives up the change. Returns whether there was one.
    pub(super) fn cancel(&mut self) -> bool {
        self.next.take().is_some()
    }

    pub(super) fn under_way(&self, members: usize) -> Option<UnderWay<'_>> {
        self.next.as_ref().map(|next| UnderWay {
            form: &next.form,
            asked: next.asked.len(),
            members,
            until: next.until,
        })
    }

    pub(super) fn is_for(&self, number: u32, place: Option<Place>) -> bool {
        let own = |next: &Successor| place == Some(Place::new(number, &next.instance));
        self.next.as_ref().is_some_and(own)
    }

    pub(super) fn stamp_of(&self, member: u32) -> Option<u64> {
        let asked = self.next.as_ref()?.asked.get(&member)?;
        Some(asked.request.body.stamp)
    }

    /// Takes the request of a member for its place. The request was checked like one to join.
    /// Returns whether the device is the member.
    pub(super) fn ask(&mut self, member: u32, applicant: Applicant, roster: &DeviceRoster) -> bool {
        let body = &applicant.request.body;
        let is_present = roster.record(&body.name).is_some_and(|(number, record)| {
            number == member && record.standing.is_current() && record.identity == *body.identity
        });
        match &mut self.next {
            Some(next) if is_present => {
                next.asked.insert(member, applicant);
                self.update(roster);
                true
            }
            _ => false,
        }
    }

    /// Forgets that a member asked for its place: it has left, or has lost its state.
    pub(super) fn forget(&mut self, member: u32) {
        if let Some(next) = &mut self.next {
            next.asked.remove(&member);
        }
    }

    /// Notes whether all members have asked for their places.
    pub(super) fn update(&mut self, roster: &DeviceRoster) {
        if self.next.is_none() {
            return;
        }
        let is_missing = self.missing(roster).next().is_some();
        if let Some(next) = &mut self.next {
            next.is_complete = !is_missing && next.asked.len() >= 2;
        }
    }

    /// Returns when the change needs the service, ns.
    pub(super) fn due(&self) -> Option<u64> {
        self.next.as_ref().map(|next| match next.is_complete {
            true => 0,
            false => next.announced_due.min(next.until),
        })
    }

    /// Returns what is due now.
    pub(super) const fn tick(&mut self, now: u64) -> SuccessionAction {
        match &mut self.next {
            Some(next) if next.is_complete || next.until <= now => SuccessionAction::Takeover,
            Some(next) if next.announced_due <= now => {
                next.announced_due = now.saturating_add(ANNOUNCED_AGAIN);
                SuccessionAction::Announcement
            }
            _ => SuccessionAction::Nothing,
        }
    }

    /// Returns the announcement, signed by the present group's service.
    pub(super) fn announcement(&self, group: &LiveGroup, now: u64) -> Option<Vec<u8>> {
        let next = self.next.as_ref()?;
        let left = Duration::from_nanos(next.until.saturating_sub(now)).as_secs();
        let announcement = SuccessorAnnouncement {
            epoch: group.epoch().0,
            form: next.form.write(),
            founded: next.founded,
            founding: Place::new(0, &next.instance).founding(),
            seconds: u32::try_from(left).unwrap_or(u32::MAX),
        };
        Some(announcement.write(group.context(), group.identity()))
    }

    /// Returns the names of the members to which the announcement is published one by one: all that
    /// are missing, unless they are many.
    pub(super) fn few_missing<'a>(&self, roster: &'a DeviceRoster) -> Option<Vec<&'a str>> {
        let names: Vec<_> = self.missing(roster).take(ONE_BY_ONE + 1).collect();
        (names.len() <= ONE_BY_ONE).then_some(names)
    }

    /// Ends the wait. Returns the successor with the members that asked and are still there.
    pub(super) fn take(&mut self, roster: &DeviceRoster) -> Option<Successor> {
        let mut next = self.next.take()?;
        let present = roster.members().filter(|(_, record)| !record.standing.is_barred());
        let present: BTreeSet<_> = present.map(|(number, _)| number).collect();
        next.asked.retain(|number, _| present.contains(number));
        Some(next)
    }

    /// Returns the names of the members that have not asked for their places yet.
    fn missing<'a>(&self, roster: &'a DeviceRoster) -> impl Iterator<Item = &'a str> + use<'a, '_> {
        let has_asked =
            |number| self.next.as_ref().is_some_and(|next| next.asked.contains_key(&number));
        roster
            .members()
            .filter(move |(number, record)| !has_asked(*number) && !record.standing.is_barred())
            .map(|(_, record)| record.name.as_str())
    }
}

pub(super) fn check_members(form: &GroupForm, members: usize) -> Result<(), ChangeError> {
    let (least, most) = form.configuration.scheme().members;
    let range = (least.max(2), most);
    let fits = members >= range.0 as usize && members <= most as usize;
    if fits { Ok(()) } else { Err(ChangeError::Members { members, range }) }
}

/// How long the service waits before it announces a successor again, ns.
const ANNOUNCED_AGAIN: u64 = 5 * SECOND;

/// The maximum number of missing members that get the announcement one by one.
const ONE_BY_ONE: usize = 64;

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
