//! Staged changes: a new key is distributed first, and members send under it later, when it has reached
//! them. So no message comes before its key.
//!
//! Joins and new keys for the same members are staged. What takes somebody the key is not: it counts at
//! once, and so does what waits. One change at a time waits, and the next ones wait for it. A service
//! that restarts activates what waited.

use groupkey::{Epoch, Operation};

use super::Service;
use super::event::ServiceEvent;
use super::group::has;
use crate::local_parties::OwnedCommand;
use crate::policy::Activation;
use crate::runtime::{MILLISECOND, after};

/// Which epoch members send under. All times are in ns.
#[derive(Default)]
pub(super) struct Staging {
    settings: Option<Activation>,
    active: Epoch,
    waiting: Option<WaitingEpoch>,
    /// Whether the current change must not wait.
    is_urgent: bool,
}

/// An epoch whose key is distributed.
struct WaitingEpoch {
    epoch: Epoch,
    due: u64,
    /// When to count who has confirmed it.
    count_due: Option<u64>,
}

impl Staging {
    pub(super) fn new(settings: Option<Activation>) -> Self {
        Self { settings, ..Self::default() }
    }

    pub(super) fn restore(&mut self, epoch: Epoch) {
        (self.active, self.waiting, self.is_urgent) = (epoch, None, false);
    }

    pub(super) const fn active(&self) -> Epoch {
        self.active
    }

    pub(super) const fn is_on(&self) -> bool {
        self.settings.is_some()
    }

    /// Returns until when the next change has to wait, if one waits.
    pub(super) fn busy_until(&self) -> Option<u64> {
        self.waiting.as_ref().map(|waiting| waiting.due)
    }

    /// Returns when there is something to do.
    pub(super) fn due(&self) -> Option<u64> {
        let waiting = self.waiting.as_ref()?;
        waiting.count_due.into_iter().chain([waiting.due]).min()
    }

    pub(super) fn note(&mut self, command: &OwnedCommand) {
        let is_urgent = match command {
            OwnedCommand::Create(_) | OwnedCommand::Remove(_) => true,
            OwnedCommand::Batch(_, leaving) => !leaving.is_empty(),
            OwnedCommand::Add(_) | OwnedCommand::Rekey => false,
            OwnedCommand::CatchUp | OwnedCommand::Enroll(_) => return,
        };
        // A command of the operator may come while another change waits.
        if is_urgent || self.waiting.is_some() {
            self.hurry();
        }
    }

    /// Lets the current change not wait.
    pub(super) const fn hurry(&mut self) {
        self.is_urgent = true;
    }

    pub(super) fn changed(&mut self, epoch: Epoch, now: u64) {
        let is_urgent = core::mem::take(&mut self.is_urgent);
        match self.settings.filter(|_| !is_urgent) {
            Some(settings) => {
                let due = after(now, settings.after);
                self.waiting = Some(WaitingEpoch { epoch, due, count_due: None });
            }
            None => (self.active, self.waiting) = (epoch, None),
        }
    }

    pub(super) fn confirmed(&mut self, now: u64) {
        if self.settings.is_some_and(|settings| settings.when.is_some())
            && let Some(waiting) = &mut self.waiting
        {
            waiting.count_due.get_or_insert_with(|| now.saturating_add(COUNT_PAUSE));
        }
    }

    /// Returns whether it is time for the epoch that waits: after its time, or because enough members of
    /// all have it.
    fn is_ready(&mut self, now: u64, count: impl Fn(Epoch) -> (usize, usize)) -> bool {
        let Some(waiting) = &mut self.waiting else { return false };
        if waiting.due <= now {
            return true;
        }
        if waiting.count_due.take_if(|due| *due <= now).is_none() {
            return false;
        }
        let (have, all) = count(waiting.epoch);
        let share = self.settings.and_then(|settings| settings.when);
        share.is_some_and(|share| have as f64 >= share * all as f64)
    }

    /// Lets the epoch that waits count.
    fn activate(&mut self) {
        self.active = self.waiting.take().map_or(self.active, |waiting| waiting.epoch);
    }
}

impl Service {
    /// Returns the epoch under whose key members send. It is earlier than that of
    /// [`Self::group_key`] while a change waits.
    pub fn active_epoch(&self) -> Epoch {
        self.staging.active()
    }

    /// Tells the members to change over, if it is time.
    pub(super) fn stage(&mut self, now: u64) {
        let (roster, sightings) = (&self.roster, &self.sightings);
        let count = |epoch| {
            let members = roster.members().filter(|(_, record)| !record.standing.is_barred());
            members.fold((0, 0), |(have, all), (member, _)| {
                let confirmed = sightings.of(member).and_then(|sighting| sighting.epoch);
                (have + usize::from(confirmed >= Some(epoch)), all + 1)
            })
        };
        if !self.staging.is_ready(now, count) {
            return;
        }
        self.staging.activate();
        let notice = self.notice();
        self.publisher.publish_unstored(self.topics.epoch(), notice, true);
        self.publisher.report_now(ServiceEvent::Activated { epoch: self.staging.active() });
        // What waited for it.
        if self.admission.due().is_some() {
            self.admission.put_off(now);
        }
    }

    /// Returns how many devices one admission adds at most. While a change waits, members can keep the
    /// key of one epoch before it.
    pub(super) fn at_once(&self, most: usize) -> usize {
        let in_one_epoch = has(self.group.form(), Operation::Batch);
        if self.staging.is_on() && !in_one_epoch { 1 } else { most }
    }
}

/// How long confirmations are collected before they are counted, ns.
const COUNT_PAUSE: u64 = 50 * MILLISECOND;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;
    use crate::runtime::SECOND;

    fn staging(when: Option<f64>) -> Staging {
        let mut staging = Staging::new(Some(Activation { after: Duration::from_secs(10), when }));
        staging.restore(Epoch(1));
        staging
    }

    #[test]
    fn a_join_waits_for_its_time_or_for_its_members() {
        let mut timed = staging(None);
        timed.note(&OwnedCommand::Add(7));
        timed.changed(Epoch(2), 0);
        timed.confirmed(SECOND);
        assert_eq!((timed.active(), timed.due()), (Epoch(1), Some(10 * SECOND)));
        assert!(!timed.is_ready(10 * SECOND - 1, |_| (3, 3)));
        assert!(timed.is_ready(10 * SECOND, |_| (0, 3)));
        timed.activate();
        assert_eq!((timed.active(), timed.busy_until()), (Epoch(2), None));

        let mut shared = staging(Some(0.5));
        shared.note(&OwnedCommand::Rekey);
        shared.changed(Epoch(2), 0);
        assert!(!shared.is_ready(SECOND, |_| (3, 3)), "nobody has confirmed anything");
        shared.confirmed(SECOND);
        let counted = shared.due().unwrap();
        assert!(!shared.is_ready(counted, |_| (1, 3)));
        shared.confirmed(2 * SECOND);
        let counted = shared.due().unwrap();
        assert!(shared.is_ready(counted, |_| (2, 3)));
    }

    #[test]
    fn nothing_waits_that_takes_somebody_the_key() {
        for command in [
            OwnedCommand::Remove(3),
            OwnedCommand::Create([1, 2].into()),
            OwnedCommand::Batch([4].into(), [3].into()),
        ] {
            let mut staging = staging(None);
            staging.note(&OwnedCommand::Add(9));
            staging.note(&command);
            staging.changed(Epoch(3), 0);
            assert_eq!((staging.active(), staging.busy_until()), (Epoch(3), None));
        }
        let mut busy = staging(None);
        busy.note(&OwnedCommand::Batch([4].into(), Vec::new()));
        busy.changed(Epoch(2), 0);
        busy.note(&OwnedCommand::Remove(3));
        busy.changed(Epoch(3), SECOND);
        assert_eq!((busy.active(), busy.due()), (Epoch(3), None), "what waited counts, too");
        let mut off = Staging::new(None);
        off.changed(Epoch(1), 0);
        assert_eq!(off.active(), Epoch(1));
    }
}
