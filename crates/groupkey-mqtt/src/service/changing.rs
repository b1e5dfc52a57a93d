//! How another founding takes the place of the present one: after a change of scheme, or because the
//! operator orders it.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use groupkey::{Epoch, Recipient};
use rand_chacha::ChaCha20Rng;

use super::Service;
use super::error::OperationError;
use super::event::ServiceEvent;
use super::group::{EnrolmentMessage, LiveGroup, draw_instance};
use super::joining::channel_secret;
use super::log_entry::{LogEntry, Secrets};
use super::succession::{ChangeError, SuccessionAction, Successor, UnderWay, check_members};
use super::trail::{Actor, TrailOperation};
use crate::group_form::GroupForm;
use crate::local_parties::{OwnedCommand, StepOutput};
use crate::runtime::{Fatal, MILLISECOND};

/// A group that was created and is not in force yet.
struct Created {
    group: LiveGroup,
    commands: [OwnedCommand; 2],
    enrolment: Vec<EnrolmentMessage>,
    left: StepOutput,
}

impl Service {
    /// Begins to change the group's scheme, parameters, algorithms or protection. The group keeps
    /// its number, members and evicted devices. The change takes place when all members have asked
    /// for their places, or after [`Policy::change`](crate::Policy::change) with those who have, at
    /// least two. The others join again by themselves.
    pub fn change_scheme(
        &mut self,
        form: GroupForm,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), OperationError> {
        let scheme = form.configuration.scheme().id;
        self.trail.begin(TrailOperation::BeginChange, Some(scheme));
        let done = self.begin_change(form, now, rng);
        self.settled(done, now)
    }

    fn begin_change(
        &mut self,
        form: GroupForm,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), OperationError> {
        self.require_ready()?;
        let form = GroupForm { group: self.group.form().group, ..form };
        let members = self.roster.current() - self.roster.barred_members().len();
        self.succession.check(&form, &self.group, &self.policy, members)?;
        let scheme = form.configuration.scheme().id;
        let (instance, founded) = (draw_instance(rng), self.group.founded());
        self.succession.begin(form, instance, founded, (now, self.policy.change));
        self.publisher.report_now(ServiceEvent::ChangeBegun { scheme });
        self.announce(now, true);
        Ok(())
    }

    /// Gives up the change that is under way. Returns whether there was one. Members forget it.
    pub fn cancel_change(&mut self) -> bool {
        self.trail.begin(TrailOperation::CancelChange, None);
        let is_cancelled = self.succession.cancel();
        if !is_cancelled {
            self.trail.withdraw();
        }
        is_cancelled
    }

    /// Returns the change that is under way.
    pub fn change_under_way(&self) -> Option<UnderWay<'_>> {
        self.succession.under_way(self.roster.current())
    }

    /// Returns whether the scheme was changed since it was taken from the service's file, and the
    /// file has the earlier one.
    pub fn was_changed(&self) -> bool {
        self.succession.configured(self.group.form()).is_some()
    }

    pub(super) fn change_tick(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        match self.succession.tick(now) {
            SuccessionAction::Announcement => self.announce(now, false),
            SuccessionAction::Nothing => {}
            SuccessionAction::Takeover => return self.succeed(now, rng),
        }
        Ok(())
    }

    /// Announces the successor: to all at first and while many are missing, then to each one that
    /// is missing.
    fn announce(&mut self, now: u64, to_all: bool) {
        let Some(announcement) = self.succession.announcement(&self.group, now) else { return };
        let few = self.succession.few_missing(&self.roster).filter(|_| !to_all);
        let topics: Vec<_> = match few {
            Some(names) => names.into_iter().map(|name| self.topics.welcome(name)).collect(),
            None => [self.topics.epoch()].into(),
        };
        for topic in topics {
            self.publisher.publish_unstored(topic, announcement.clone(), false);
        }
    }

    /// Founds the successor with the members that asked, or gives up the change.
    fn succeed(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let Some(successor) = self.succession.take(&self.roster) else { return Ok(()) };
        let scheme = successor.form.configuration.scheme().id;
        self.faults.pass()?;
        match self.create(&successor, now, rng) {
            Ok(created) => self.take_over(successor, created, now, rng),
            Err(why) => {
                self.publisher.report_now(ServiceEvent::ChangeFailed { scheme, why });
                Ok(())
            }
        }
    }

    /// Makes the successor's parties, with keys of their own, and creates its group. Changes nothing
    /// of the present group.
    fn create(
        &self,
        successor: &Successor,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Created, ChangeError> {
        let Successor { form, founded, instance, asked, .. } = successor;
        check_members(form, asked.len())?;
        let secrets = Secrets::draw(form, Some(self.group.identity()), (*founded, *instance), rng);
        let mut group = LiveGroup::new(form.clone(), &secrets, &self.policy.prefix);
        for (&member, applicant) in asked {
            group.learn(member, &applicant.request.body.identity);
        }
        let members: Vec<_> = asked.keys().copied().collect();
        let commands = [OwnedCommand::Enroll(members.clone()), OwnedCommand::Create(members)];
        let enrolled = group.command(&commands[0], now, rng).map_err(ChangeError::Refused)?;
        let left = group.command(&commands[1], now, rng).map_err(ChangeError::Refused)?;
        // Without a saved form there is no checkpoint, and so no transaction.
        group.saved().map_err(ChangeError::Refused)?;
        let enrolment = enrolled.sent.into_iter().filter_map(|sent| match sent.to {
            Recipient::Member(member) => Some((member, sent.bytes)),
            _ => None,
        });
        Ok(Created { enrolment: enrolment.collect(), left, commands, group })
    }

    /// Becomes the successor's controller, in one transaction.
    fn take_over(
        &mut self,
        successor: Successor,
        created: Created,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let Successor { form, founded, instance, asked, .. } = successor;
        let Created { group, commands, enrolment, left } = created;
        let scheme = form.configuration.scheme().id;
        self.replace_group(group);
        self.trail.begin_by(Actor::Service, TrailOperation::Change, Some(scheme));
        let members = self.roster.members().map(|(number, _)| number);
        let missing: Vec<_> = members.filter(|number| !asked.contains_key(number)).collect();
        missing.iter().for_each(|&member| self.roster.leave(member));
        for (&member, applicant) in &asked {
            self.admit_to_roster(&applicant.as_member(member));
            self.sightings.admit(member, now);
        }
        for command in &commands {
            self.roster.note(command);
            self.history.command(command);
        }
        self.log(&LogEntry::Succeeded(founded, instance));
        self.log.cut();
        let (members, applicants): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        self.welcome(&applicants, &members, &enrolment, &channel_secret(rng), now);
        let _ = self.post(left);
        let (members, left_behind) = (members.len(), missing.len());
        self.publisher.report(ServiceEvent::Changed { scheme, members, left_behind, founded });
        self.commit(now)
    }

    /// Founds the group anew, later than the founding `than`: with the devices that the store knows,
    /// and without members and keys. Evicted devices stay barred.
    pub(super) fn found_again(&mut self, than: u64, now: u64, rng: &mut ChaCha20Rng) {
        let (instance, founded) = (draw_instance(rng), self.later_than(than, now));
        let form = self.group.form().clone();
        let secrets = Secrets::draw(&form, Some(self.group.identity()), (founded, instance), rng);
        self.replace_group(LiveGroup::new(form, &secrets, &self.policy.prefix));
        let members: Vec<_> = self.roster.members().map(|(number, _)| number).collect();
        members.iter().for_each(|&member| self.roster.leave(member));
        // They are of the group that is given up.
        self.publisher.abandon();
        self.rekeying.reset();
        self.log(&LogEntry::Succeeded(founded, instance));
        self.continuity.begin_anew();
        self.log.cut();
        self.publisher.report(ServiceEvent::Founding { founded });
    }

    /// Becomes a later founding than `than`, which this service made with another store.
    pub(super) fn postdate(&mut self, than: u64, now: u64, rng: &mut ChaCha20Rng) {
        let (instance, founded) = (draw_instance(rng), self.later_than(than, now));
        self.group.postdate(founded, instance, &self.policy.prefix);
        self.log(&LogEntry::Postdated(founded, instance, self.continuity.is_ordered()));
        self.publisher.report(ServiceEvent::Founding { founded });
    }

    /// Returns the time of a founding after that one and the present one, ms since 1970.
    fn later_than(&self, founded: u64, now: u64) -> u64 {
        founded.max(self.group.founded()).saturating_add(1).max(now / MILLISECOND)
    }

    /// Puts another founding in the place of the group.
    fn replace_group(&mut self, group: LiveGroup) {
        let (before, after) = (self.group.topics(&self.topics), group.topics(&self.topics));
        for topic in before.difference(&after) {
            self.publisher.subscribe(topic.to_owned(), false);
        }
        for topic in after.difference(&before) {
            self.publisher.subscribe(topic.to_owned(), true);
        }
        self.policy.form = group.form().clone();
        self.group = group;
        self.admission.forget_welcomes();
        self.sightings.forget_all();
        self.staging.restore(Epoch(0));
        self.staging.hurry();
        // Epochs begin anew.
        self.announcing.restore(Epoch(0));
    }
}
