//! How a service starts: it founds a group in an empty store, or replays the log.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use groupkey::catalogue;
use groupkey::error::Misuse;
use groupkey::protection::Guard;
use groupkey::{Channel, Epoch, Error, Instance, MemberId, PartyId, Recipient};
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use zeroize::Zeroize;

use super::Service;
use super::allowance::Verifications;
use super::chain::Chain;
use super::checkpoint::{Checkpoint, SavedParty};
use super::continuity::{Founding, Unconfirmed};
use super::error::OpenError;
use super::faults::Faults;
use super::history::{History, Tally};
use super::log::{Entry, Secrets, Versions};
use super::roster::Roster;
use super::welcomes::Welcomes;
use crate::codec::encoded;
use crate::counters::Counters;
use crate::form::Form;
use crate::join::secret_id;
use crate::keyring::{Keyring, Secret};
use crate::parties::{Given, Parties};
use crate::policy::Policy;
use crate::runtime::{Fatal, MILLISECOND, Output, after};
use crate::store::{Change, Saved, Store, StoreError};
use crate::topics::Topics;

/// The parties of a controller's process, new, and their keys.
pub(super) struct Seated {
    pub(super) parties: Parties,
    /// The public keys that a new member learns.
    pub(super) controllers: Vec<(i64, ByteArray<32>)>,
    pub(super) mac: Option<Secret>,
    pub(super) subgroups: Vec<Secret>,
}

impl Seated {
    /// Seats the controllers of a form, which has one.
    pub(super) fn new(form: Form, secrets: &Secrets, prefix: &str) -> Self {
        let identity = Secret::from_bytes(secrets.identity.into());
        let mac = secrets.mac.map(|key| Secret::from_bytes(key.into()));
        let subgroups: Vec<_> =
            secrets.subgroups.iter().map(|secret| Secret::from_bytes((*secret).into())).collect();
        let mut keyring = Keyring::default();
        let mut controllers = vec![(0, identity.public().into())];
        keyring.own(PartyId::Controller, &identity);
        mac.iter().for_each(|key| keyring.share_mac(key));
        let controller = form.configuration.controller();
        let parties = form.configuration.subgroup_controllers();
        for ((subgroup, _), secret) in parties.iter().zip(&subgroups) {
            controllers.push((PartyId::from(*subgroup).number(), secret.public().into()));
            keyring.own((*subgroup).into(), secret);
        }
        let setting = form.setting(prefix, Instance(secrets.instance.into()));
        let mut seats = Parties::new(form, setting, keyring);
        seats.seat(PartyId::Controller, controller.expect("the scheme was checked to have one"));
        for (subgroup, party) in parties {
            seats.seat(subgroup.into(), party);
        }
        Self { parties: seats, controllers, mac, subgroups }
    }
}

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
            let mut change = Change { entries: vec![founded.clone()], ..Change::default() };
            let committed = store.commit(&change).map_err(Fatal::Store);
            change.entries.iter_mut().for_each(Zeroize::zeroize);
            committed?;
            saved.entries.push(founded);
        }
        let publishes: Vec<_> = saved.queue.values().cloned().collect();
        let service = Self::replay(policy, topics, store, &saved).map(|mut service| {
            service.history = History::new(now);
            service.unconfirmed = (!is_first).then(|| Unconfirmed::with(publishes));
            service
        });
        saved.entries.iter_mut().for_each(Zeroize::zeroize);
        service
    }

    fn replay(
        policy: Policy,
        topics: Topics,
        store: Box<dyn Store>,
        saved: &Saved,
    ) -> Result<Self, OpenError> {
        let damaged = || OpenError::Fatal(Fatal::Store(StoreError::Unreadable));
        let (first, entries) = saved.entries.split_first().ok_or_else(damaged)?;
        let (form, secrets, versions, checkpoint) = match minicbor::decode(first) {
            Ok(Entry::Founded(form, secrets, versions)) => (form, secrets, versions, None),
            Ok(Entry::Checkpoint(checkpoint)) => {
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
        let form = Form::read(&form, catalogue::SCHEMES).map_err(OpenError::Form)?;
        form.check(policy.allowed).map_err(OpenError::Form)?;
        let public = Secret::from_bytes(secrets.identity.into()).public();
        if policy.identity.as_ref().is_some_and(|identity| identity.public() != public) {
            return Err(OpenError::IdentityChanged(public));
        }
        let mut service = Self::with(policy, topics, store, form, &secrets);
        if let Some(checkpoint) = &checkpoint {
            service.restore(checkpoint).map_err(|_| damaged())?;
        }
        let mut rekeyed_at = service.rekeyed_at;
        service.chain.extend(first);
        for entry in entries {
            service.chain.extend(entry);
            let entry = minicbor::decode(entry).map_err(|_| damaged())?;
            if let Entry::Checked(expected) = &entry
                && *expected != ByteArray::from(service.fingerprint())
            {
                return Err(damaged());
            }
            service.founding.note(&entry);
            let (epoch, at) = (service.epoch(), time_of(&entry));
            service.redo(entry).map_err(|_| damaged())?;
            if service.epoch() != epoch {
                rekeyed_at = at;
            }
        }
        service.rekeyed_at = rekeyed_at;
        let period = service.policy.period;
        service.rekey_due = rekeyed_at.zip(period).map(|(at, period)| after(at, period));
        service.log_length = saved.entries.len() as u64;
        service.next_publish = saved.next;
        service.announced = service.epoch();
        service.unacknowledged = saved.queue.keys().copied().collect();
        Ok(service)
    }

    /// Takes over the state of a checkpoint.
    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        for SavedParty { number, state } in &checkpoint.parties {
            let party = PartyId::from_number(*number).ok_or(Misuse::WrongRole)?;
            self.parties.restore(party, state)?;
        }
        for record in &checkpoint.records {
            let member = MemberId(record.admission.member).into();
            if record.is_known {
                self.parties.keyring.learn(member, &record.admission.identity);
            }
            self.roster.restore(record);
        }
        self.used_tokens
            .extend(checkpoint.used_tokens.iter().map(|&token| <[u8; 32]>::from(token)));
        self.rekeyed_at = checkpoint.rekeyed_at;
        self.founding = checkpoint.founding;
        self.chain = Chain::restored(checkpoint.entries, &checkpoint.recent);
        if checkpoint.fingerprint == ByteArray::from(self.fingerprint()) {
            Ok(())
        } else {
            Err(Misuse::MalformedState.into())
        }
    }

    fn with(
        policy: Policy,
        topics: Topics,
        store: Box<dyn Store>,
        form: Form,
        secrets: &Secrets,
    ) -> Self {
        let configured = policy.form.write();
        let policy = Policy { form: form.clone(), ..policy };
        let tokens = policy.tokens.iter().map(secret_id).zip(0..).collect();
        let Seated { parties, controllers, mac, subgroups } =
            Seated::new(form, secrets, &policy.prefix);
        let mut outputs = VecDeque::new();
        outputs.push_back(Output::Subscribe(topics.join()));
        outputs.push_back(Output::Subscribe(topics.of(Recipient::Controller)));
        outputs.push_back(Output::Subscribe(topics.state()));
        outputs.push_back(Output::Subscribe(topics.epoch()));
        for (number, _) in &controllers[1..] {
            let subgroup = PartyId::from_number(*number).map(Recipient::from);
            outputs.extend(subgroup.map(|subgroup| Output::Subscribe(topics.of(subgroup))));
        }
        Self {
            policy,
            topics,
            identity: Secret::from_bytes(secrets.identity.into()),
            founded: secrets.founded,
            instance: secrets.instance,
            mac,
            subgroups,
            controllers,
            parties,
            roster: Roster::default(),
            used_tokens: BTreeSet::new(),
            offers: BTreeMap::new(),
            answers: BTreeMap::new(),
            waiting: Vec::new(),
            verifications: Verifications::default(),
            applications: Verifications::default(),
            tokens,
            refusals: BTreeMap::new(),
            welcomes: Welcomes::default(),
            admission_due: None,
            notice_due: None,
            rekeyed_at: None,
            rekey_due: None,
            store,
            log_length: 0,
            chain: Chain::default(),
            unconfirmed: None,
            is_stopping: false,
            succession: None,
            latest_successor: secrets.founded,
            is_succeeding: false,
            configured,
            founding: Founding::Open,
            is_news: false,
            next_publish: 0,
            unacknowledged: BTreeSet::new(),
            acknowledged: Vec::new(),
            forget_due: None,
            change: Change::default(),
            tally: Tally::default(),
            announced: Epoch(0),
            told: Vec::new(),
            outputs,
            counters: Counters::default(),
            history: History::default(),
            faults: Faults::default(),
        }
    }

    /// Becomes a later founding of the group. No device may have been admitted yet.
    pub(super) fn become_later(&mut self, founded: u64, instance: ByteArray<16>) {
        (self.founded, self.instance) = (founded, instance);
        let form = self.parties.form();
        let setting = form.setting(&self.policy.prefix, Instance(instance.into()));
        self.parties.set_setting(setting);
    }

    fn redo(&mut self, entry: Entry) -> Result<(), Error> {
        match entry {
            Entry::Checked(_) | Entry::Opened(_) | Entry::Stopped => {}
            Entry::Checkpoint(_) | Entry::Founded(..) | Entry::Succeeded(..) => {
                return Err(Misuse::MalformedState.into());
            }
            Entry::Admitted(admission) => self.admit_to_roster(&admission),
            Entry::Barred(member, true) => self.roster.bar(member),
            Entry::Barred(member, false) => self.roster.readmit(member),
            Entry::Restamped(member, stamp) => self.roster.restamp(member, stamp),
            Entry::Postdated(founded, instance, _) => self.become_later(founded, instance),
            Entry::Ordered(order, draw, check) => {
                let given = Given::Order(&order);
                self.parties.step(PartyId::Controller, given, draw.now, &mut draw.rng())?;
                self.note(&order);
                if check != ByteArray::from(self.key_check()) {
                    return Err(Misuse::MalformedState.into());
                }
            }
            Entry::Received(party, bytes, draw) => {
                let given = Given::Message(Channel::Open, &bytes);
                let party = PartyId::from_number(party).unwrap_or(PartyId::Controller);
                self.parties.step(party, given, draw.now, &mut draw.rng())?;
            }
        }
        Ok(())
    }
}

/// Returns when a party took the step of an entry.
const fn time_of(entry: &Entry) -> Option<u64> {
    match entry {
        Entry::Ordered(_, draw, _) | Entry::Received(_, _, draw) => Some(draw.now),
        Entry::Admitted(_) | Entry::Barred(..) | Entry::Founded(..) => None,
        Entry::Opened(_) | Entry::Postdated(..) | Entry::Restamped(..) | Entry::Stopped => None,
        Entry::Checked(_) | Entry::Checkpoint(_) | Entry::Succeeded(..) => None,
    }
}

fn found(policy: &Policy, now: u64, rng: &mut ChaCha20Rng) -> Entry {
    let mut instance = [0; Instance::BYTES];
    rng.fill_bytes(&mut instance);
    let (identity, founded) = (policy.identity.as_ref(), now / MILLISECOND);
    let secrets = secrets(&policy.form, identity, founded, instance.into(), rng);
    Entry::Founded(policy.form.write(), secrets, Some(Versions::ours()))
}

/// Draws the secrets of a group, and an identity unless there is one.
pub(super) fn secrets(
    form: &Form,
    identity: Option<&Secret>,
    founded: u64,
    instance: ByteArray<16>,
    rng: &mut ChaCha20Rng,
) -> Secrets {
    let mut secret = || {
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        ByteArray::from(secret)
    };
    Secrets {
        identity: match identity {
            Some(identity) => (*identity.as_bytes()).into(),
            None => secret(),
        },
        mac: (form.guard == Guard::Mac).then(&mut secret),
        subgroups: form.configuration.subgroup_controllers().iter().map(|_| secret()).collect(),
        founded,
        instance,
    }
}
