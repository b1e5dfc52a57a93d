//! How a service starts: it founds a group in an empty store, or replays the log.

use alloc::boxed::Box;
use alloc::vec;

use groupkey::catalogue;
use groupkey::error::Misuse;
use groupkey::{Epoch, Error, PartyId, Recipient};
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroize;

use super::Service;
use super::admission::Admission;
use super::allowance::verifications;
use super::checkpoint::Checkpoint;
use super::continuity::Continuity;
use super::error::OpenError;
use super::evicting::WaitingEvictions;
use super::faults::FaultPoints;
use super::group::{LiveGroup, draw_instance};
use super::history::OperationHistory;
use super::log::Log;
use super::log_entry::{LogEntry, Secrets, Versions};
use super::publisher::Publisher;
use super::resuming::Resumptions;
use super::roster::DeviceRoster;
use super::sightings::Sightings;
use super::staging::Staging;
use super::succession::Succession;
use super::timing::Announcing;
use super::trail::Trail;
use crate::codec::encoded;
use crate::counters::Counters;
use crate::group_form::GroupForm;
use crate::keyring::Secret;
use crate::policy::Policy;
use crate::rekeying::Rekeying;
use crate::runtime::{Fatal, MILLISECOND};
use crate::store::{Store, StoreError, StoredLog, Transaction};
use crate::topics::Topics;

impl Service {
    /// Founds a group in an empty store, or continues the group in the store. Unless the identity is
    /// new, the service first waits for the broker's notice of its group
    /// ([`Self::is_confirmed`]). `now` is in ns since 1970.
    pub fn open(
        policy: Policy,
        mut store: Box<dyn Store>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Self, OpenError> {
        let topics = Topics::new(&policy.prefix).map_err(OpenError::Prefix)?;
        if !policy.form.configuration.scheme().has_controller() {
            return Err(OpenError::NoController);
        }
        policy.form.check(policy.allowed).map_err(OpenError::Form)?;
        let mut saved = store.load().map_err(Fatal::Store)?;
        let is_new = saved.entries.is_empty();
        let is_first = is_new && (policy.identity.is_none() || policy.is_identity_new);
        if is_new {
            let founded = encoded(&found(&policy, now, rng));
            let mut change =
                Transaction { entries: vec![founded.clone()], ..Transaction::default() };
            let committed = store.commit(&change).map_err(Fatal::Store);
            change.entries.iter_mut().for_each(Zeroize::zeroize);
            committed?;
            saved.entries.push(founded);
        }
        let publishes = || saved.queue.values().cloned().collect();
        let continuity = Continuity::new((!is_first).then(publishes));
        let service = Self::replay(policy, topics, store, &saved, continuity, now);
        saved.entries.iter_mut().for_each(Zeroize::zeroize);
        service
    }

    fn replay(
        policy: Policy,
        topics: Topics,
        store: Box<dyn Store>,
        saved: &StoredLog,
        continuity: Continuity,
        now: u64,
    ) -> Result<Self, OpenError> {
        let damaged = || OpenError::Fatal(Fatal::Store(StoreError::Unreadable));
        let (first, entries) = saved.entries.split_first().ok_or_else(damaged)?;
        let (form, secrets, versions, checkpoint) = match minicbor::decode(first) {
            Ok(LogEntry::Founded(form, secrets, versions)) => (form, secrets, versions, None),
            Ok(LogEntry::Checkpoint(checkpoint)) => {
                let Checkpoint { form, secrets, versions, .. } = &*checkpoint;
                let (form, secrets) = (form.clone(), secrets.clone());
                (form, secrets, Some(versions.clone()), Some(checkpoint))
            }
            _ => return Err(damaged()),
        };
        let Some(versions) = versions else { return Err(OpenError::OtherVersion(None)) };
        let steps = checkpoint.is_none() || !entries.is_empty();
        let ours = Versions::ours();
        if versions.format != ours.format || steps && versions != ours {
            return Err(OpenError::OtherVersion(Some(versions.groupkey)));
        }
        // A change of scheme that the store has made may have left an earlier form in the file.
        let configured = policy.form.write();
        let was_changed = checkpoint.as_ref().and_then(|saved| saved.configured.as_ref());
        if form != configured && was_changed != Some(&configured) {
            return Err(OpenError::FormChanged);
        }
        let form = GroupForm::read(&form, catalogue::SCHEMES).map_err(OpenError::Form)?;
        form.check(policy.allowed).map_err(OpenError::Form)?;
        let public = Secret::from_bytes(secrets.identity.into()).public();
        if policy.identity.as_ref().is_some_and(|identity| identity.public() != public) {
            return Err(OpenError::IdentityChanged(public));
        }
        let group = LiveGroup::new(form.clone(), &secrets, &policy.prefix);
        let mut service = Self {
            succession: Succession::new(configured, secrets.founded),
            admission: Admission::new(&policy),
            evictions: WaitingEvictions::default(),
            staging: Staging::new(policy.activate),
            sightings: Sightings::new(policy.confirm_window(), policy.evict_silent_after),
            resumptions: Resumptions::default(),
            rekeying: Rekeying::new(policy.period),
            policy: Policy { form, ..policy },
            topics,
            group,
            roster: DeviceRoster::default(),
            log: Log::new(store),
            publisher: Publisher::new(),
            announcing: Announcing::default(),
            continuity,
            verifications: verifications(),
            counters: Counters::default(),
            history: OperationHistory::new(now),
            trail: Trail::default(),
            faults: FaultPoints::default(),
        };
        service.subscribe();
        if let Some(checkpoint) = &checkpoint {
            service.restore(checkpoint).map_err(|_| damaged())?;
        }
        service.log.replay(first);
        for entry in entries {
            service.log.replay(entry);
            let entry = minicbor::decode(entry).map_err(|_| damaged())?;
            service.redo(entry).map_err(|_| damaged())?;
        }
        service.announcing.restore(service.group.epoch());
        service.staging.restore(service.group.epoch());
        service.publisher.restore(saved.queue.keys().copied(), saved.next);
        Ok(service)
    }

    fn subscribe(&mut self) {
        let topics = &self.topics;
        let controller = topics.of(Recipient::Controller);
        let subgroups = self.group.topics(topics);
        let subgroups = subgroups.into_iter().filter(|topic| *topic != controller);
        let own = [topics.join(), controller.clone(), topics.state(), topics.epoch()];
        for topic in own.into_iter().chain(subgroups) {
            self.publisher.subscribe(topic, true);
        }
    }

    /// Returns the present state as an entry, or `None` if a party cannot be saved.
    pub(super) fn checkpoint(&self) -> Option<LogEntry> {
        let parties = self.group.saved().ok()?;
        let (entries, recent) = self.log.last_states();
        Some(LogEntry::Checkpoint(Box::new(Checkpoint {
            versions: Versions::ours(),
            form: self.group.form().write(),
            secrets: self.group.secrets(),
            parties,
            records: self.roster.saved(|member| self.group.knows(member)),
            used_tokens: self.roster.used_tokens(),
            rekeyed_at: self.rekeying.at(),
            entries,
            recent,
            founding: self.continuity.founding(),
            fingerprint: self.group.fingerprint(&self.roster).into(),
            configured: self.succession.configured(self.group.form()).cloned(),
            resumptions: self.resumptions.count(),
            valid_from: self.group.valid_from().0,
            trail: self.trail.saved(),
        })))
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.group.restore(&checkpoint.parties)?;
        for record in &checkpoint.records {
            if record.is_known {
                self.group.learn(record.admission.member, &record.admission.identity);
            }
            self.roster.restore(record);
        }
        self.roster.restore_tokens(&checkpoint.used_tokens);
        self.rekeying.restore(checkpoint.rekeyed_at);
        self.continuity.restore(checkpoint.founding);
        self.resumptions.restore(checkpoint.resumptions);
        self.group.refuse_before(Epoch(checkpoint.valid_from));
        self.log.restore(checkpoint.entries, &checkpoint.recent);
        require(self.trail.restore(&checkpoint.trail))?;
        require(checkpoint.fingerprint == ByteArray::from(self.group.fingerprint(&self.roster)))
    }

    fn redo(&mut self, entry: LogEntry) -> Result<(), Error> {
        self.continuity.note(&entry);
        let (epoch, at) = (self.group.epoch(), time_of(&entry));
        match entry {
            LogEntry::Opened(_) | LogEntry::Stopped => {}
            LogEntry::Resumed => self.resumptions.note(),
            LogEntry::Hardened => self.group.refuse_before(epoch),
            LogEntry::Operated(record, hash) => {
                require(self.trail.replay(*record, hash.into()))?;
            }
            LogEntry::Checkpoint(_) | LogEntry::Founded(..) | LogEntry::Succeeded(..) => {
                return Err(Misuse::MalformedState.into());
            }
            LogEntry::Checked(expected) => {
                let fingerprint = self.group.fingerprint(&self.roster);
                require(expected == ByteArray::from(fingerprint))?;
            }
            LogEntry::Admitted(admission) => self.admit_to_roster(&admission),
            LogEntry::Barred(member, true) => self.roster.bar(member),
            LogEntry::Barred(member, false) => self.roster.readmit(member),
            LogEntry::Postdated(founded, instance, _) => {
                self.group.postdate(founded, instance, &self.policy.prefix);
            }
            LogEntry::Command(command, draw, check) => {
                self.group.command(&command, draw.now, &mut draw.rng())?;
                self.note(&command);
                require(check == ByteArray::from(self.group.key_check()))?;
            }
            LogEntry::Received(party, bytes, draw) => {
                let party = PartyId::from_number(party).unwrap_or(PartyId::Controller);
                self.group.receive(party, &bytes, draw.now, &mut draw.rng())?;
            }
        }
        if self.group.epoch() != epoch {
            self.rekeying.restore(at);
        }
        Ok(())
    }
}

/// Refuses a store whose replay does not lead to the state that it was made from.
fn require(leads_there: bool) -> Result<(), Error> {
    if leads_there { Ok(()) } else { Err(Misuse::MalformedState.into()) }
}

/// Returns when a party took the step of an entry.
const fn time_of(entry: &LogEntry) -> Option<u64> {
    match entry {
        LogEntry::Command(_, draw, _) | LogEntry::Received(_, _, draw) => Some(draw.now),
        LogEntry::Admitted(_) | LogEntry::Barred(..) | LogEntry::Founded(..) => None,
        LogEntry::Hardened
        | LogEntry::Opened(_)
        | LogEntry::Postdated(..)
        | LogEntry::Resumed
        | LogEntry::Stopped => None,
        LogEntry::Checked(_)
        | LogEntry::Checkpoint(_)
        | LogEntry::Operated(..)
        | LogEntry::Succeeded(..) => None,
    }
}

fn found(policy: &Policy, now: u64, rng: &mut ChaCha20Rng) -> LogEntry {
    let founding = (now / MILLISECOND, draw_instance(rng));
    let secrets = Secrets::draw(&policy.form, policy.identity.as_ref(), founding, rng);
    LogEntry::Founded(policy.form.write(), secrets, Some(Versions::ours()))
}
