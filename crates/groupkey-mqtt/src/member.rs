//! A member of a group with a controller: it joins, follows the group key, catches up, and sends
//! and receives messages.
//!
//! A member that keeps its membership ([`Member::remembering`]) resumes it after a restart, and the group key
//! stays. Without that, a member keeps only its identity. After a restart it joins again: the service
//! removes the earlier member and adds it again, with a new group key. A member that was offline
//! without a restart catches up: the retained notice of the epoch says how far it is
//! behind. If it finds no notice, or hears a group message of a later epoch, it asks the service for
//! the epoch. Only the service's signed word makes it stop talking under the key that it has.
//!
//! If the group changes its scheme, a member enters the successor beside its group. It keeps the
//! key that it has until it has the successor's, and reads the former group's messages on for a
//! while.

mod catching_up;
mod freshness;
mod joining;
mod key_status;
#[cfg(feature = "std")]
mod membership_file;
mod membership_flash;
mod resumption;
mod settings;
mod staging;
mod succession;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use groupkey::catalogue::{self, Scheme};
use groupkey::error::{Misbehaviour, Misuse};
use groupkey::messages::MessageSettings;
use groupkey::{Channel, Epoch, Error, GroupContext, Instance, Key, MemberId, PartyId, Recipient};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use zeroize::Zeroizing;

use self::catching_up::CatchingUp;
pub use self::freshness::Freshness;
use self::freshness::{EpochProof, ProofChange};
use self::joining::Joining;
pub use self::key_status::KeyStatus;
#[cfg(feature = "std")]
pub use self::membership_file::MembershipFile;
pub use self::membership_flash::MembershipFlash;
use self::resumption::{KeptMembership, Resuming};
pub use self::settings::{MemberSettings, MemberSettingsError};
use self::succession::MemberSuccession;
use crate::counters::Counters;
use crate::event::{Hint, MemberEvent};
use crate::group_form::GroupForm;
use crate::join::{
    self, ConfirmedEpoch, MAX_PAYLOAD, Offered, OfferedPlace, WaitingRequest, Welcome, ask,
};
use crate::keyring::{Keyring, Secret};
use crate::local_parties::{LocalParties, OwnedCommand};
use crate::notice::{Farewell, Foreign, Notice, ReachedEpoch};
use crate::participant::{OutputQueue, Participant, Staged};
use crate::runtime::{Fatal, Input, MILLISECOND, Output, Runtime, SECOND};
use crate::sender_certificate::{certificate, certified};
use crate::store::{MembershipStore, StoreError};
use crate::topics::{TopicKind, Topics};

/// A member's runtime.
pub struct Member {
    settings: MemberSettings,
    schemes: &'static [Scheme],
    topics: Topics,
    /// The service's public key, once it is known.
    service: Option<[u8; 32]>,
    /// The place in the group that the service offered last.
    place: Option<join::Place>,
    stamp: u64,
    connected: bool,
    state: MemberState,
    /// When our group was founded, ms since 1970.
    founded: u64,
    /// The context of our group, or of the last one in which we were a member.
    context: GroupContext,
    /// The group's epoch before we were admitted.
    admitted_after: u64,
    /// What we may have missed.
    catching_up: CatchingUp,
    /// How often we had to ask for a key that we missed.
    times_behind: u64,
    /// How long ago we knew that we missed nothing.
    proof: EpochProof,
    /// When we change over to a key that waits.
    change_over_due: Option<u64>,
    /// The group that will succeed ours, and the one that ours succeeded.
    succession: MemberSuccession,
    memory: Option<Box<dyn MembershipStore>>,
    /// The membership that was kept, until the device is connected.
    kept: Option<KeptMembership>,
    /// Set while the device has that membership and no key.
    resuming: Option<Resuming>,
    queue: OutputQueue,
}

/// How a device comes to be a member.
#[derive(Clone, Copy)]
enum Entry {
    /// By the answer to a request of this attempt.
    Admitted([u8; 8]),
    /// By the welcome that it kept.
    Resumed,
}

enum MemberState {
    /// The device asks to join, or will do so once it is connected.
    Outside(Joining),
    Inside(Box<Participant>),
    Out,
}

impl Member {
    /// Creates a device that asks to join once it is connected. It has all schemes of the catalogue.
    pub fn new(settings: MemberSettings) -> Result<Self, MemberSettingsError> {
        Self::with_schemes(settings, catalogue::SCHEMES)
    }

    /// Creates a device that has these schemes alone, so that its program links no other. A group
    /// with another scheme does not take it in ([`Hint::OtherScheme`]).
    pub fn with_schemes(
        settings: MemberSettings,
        schemes: &'static [Scheme],
    ) -> Result<Self, MemberSettingsError> {
        let topics = settings.topics()?;
        let mut queue = OutputQueue::default();
        let listen = [
            topics.welcome(&settings.name),
            topics.of(Recipient::Group),
            topics.talk(),
            topics.epoch(),
        ];
        queue.outputs.extend(listen.map(Output::Subscribe));
        Ok(Self {
            service: settings.service,
            topics,
            proof: EpochProof::new(settings.freshness),
            settings,
            schemes,
            place: None,
            stamp: 0,
            connected: false,
            state: MemberState::Outside(Joining::new()),
            founded: 0,
            context: GroupContext::default(),
            admitted_after: 0,
            catching_up: CatchingUp::new(),
            times_behind: 0,
            change_over_due: None,
            succession: MemberSuccession::new(),
            memory: None,
            kept: None,
            resuming: None,
            queue,
        })
    }

    /// Keeps the membership here, and resumes the one that is there. A membership that cannot be read
    /// or has ended is no obstacle: the device joins.
    #[must_use]
    pub fn remembering(mut self, mut memory: Box<dyn MembershipStore>) -> Self {
        let loaded = memory.load().and_then(|kept| {
            let open = |bytes: Vec<u8>| {
                let opened = KeptMembership::open(&bytes, self.settings.credentials());
                opened.ok_or(StoreError::Unreadable)
            };
            kept.map(open).transpose()
        });
        match loaded {
            Ok(kept) => self.kept = kept,
            Err(error) => self.queue.report(MemberEvent::Unkept(error)),
        }
        self.memory = Some(memory);
        self
    }

    /// Begins with this stamp. Each request to join has a later stamp than the one before, also after a
    /// restart: the service refuses others as replayed. By default the stamps are times. A device
    /// whose clock begins anew with each start counts its starts, and gives a number that no earlier
    /// start has reached.
    #[must_use]
    pub fn stamped_from(mut self, stamp: u64) -> Self {
        self.stamp = stamp;
        self
    }

    /// Returns the group key and its epoch, if the member has one. During a change of scheme it is
    /// the former group's until the member has the successor's.
    pub fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.in_force().and_then(|(participant, _)| participant.group_key())
    }

    /// Fills `output` with bytes that follow from the group key, for another protocol
    /// ([`groupkey::exporter`]). Returns the epoch. Fails with [`Misuse::NotCreated`] if the member has
    /// no key.
    pub fn export(&self, label: &str, context: &[u8], output: &mut [u8]) -> Result<Epoch, Error> {
        let (participant, _) = self.in_force().ok_or(Misuse::NotCreated)?;
        participant.export(label, context, output)
    }

    /// Returns when the group of [`Self::group_key`] was founded, ms since 1970.
    pub fn founded(&self) -> Option<u64> {
        self.in_force().map(|(_, founded)| founded)
    }

    /// Returns the context of the group of [`Self::group_key`].
    pub fn context(&self) -> Option<&GroupContext> {
        self.in_force().map(|(participant, _)| participant.context())
    }

    /// Returns the member's number, once it is admitted.
    pub fn number(&self) -> Option<MemberId> {
        match &self.state {
            MemberState::Inside(participant) => Some(participant.me()),
            MemberState::Outside(_) | MemberState::Out => None,
        }
    }

    /// Returns whether the device was evicted.
    pub const fn is_out(&self) -> bool {
        matches!(self.state, MemberState::Out)
    }

    /// Returns the counters of accepted and refused messages.
    pub const fn counters(&self) -> Counters {
        self.queue.counters
    }

    /// Returns the number of publishes that the broker has not acknowledged.
    pub const fn unacknowledged(&self) -> u64 {
        self.queue.unacknowledged()
    }

    /// Encrypts a message of at most 65,535 bytes to the group. Fails with
    /// [`SkippedEpoch`](Misbehaviour::SkippedEpoch) after [`MemberEvent::Behind`]: whoever was evicted
    /// meanwhile could read the message. It fails earlier if the service has changed the key without
    /// grace. Fails with [`UnprovenEpoch`](Misuse::UnprovenEpoch) after [`MemberEvent::Unproven`].
    pub fn say(&mut self, content: &[u8], now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        if self.proof.is_expired(now) {
            return Err(Misuse::UnprovenEpoch.into());
        }
        let missed = self.missed();
        let refused = missed.filter(|_| self.is_refused());
        let missed = missed.filter(|_| self.catching_up.has_asked());
        let participant = match (&mut self.state, self.succession.in_force_mut()) {
            (MemberState::Inside(participant), Some(former))
                if !participant.is_out() && participant.group_key().is_none() =>
            {
                former
            }
            (MemberState::Inside(participant), _) => match missed.or(refused) {
                Some(got) => {
                    let current = participant.epoch();
                    return Err(Misbehaviour::SkippedEpoch { got, current }.into());
                }
                None => participant,
            },
            _ => return Err(Misuse::NotCreated.into()),
        };
        participant.say(&mut self.queue, content, now, rng)
    }

    /// Returns the participant whose key is in force, and when its group was founded.
    fn in_force(&self) -> Option<(&Participant, u64)> {
        let MemberState::Inside(participant) = &self.state else { return None };
        let waits = !participant.is_out() && participant.group_key().is_none();
        let former = self.succession.in_force().filter(|_| waits);
        Some(former.unwrap_or((participant, self.founded)))
    }

    fn ask(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let MemberState::Outside(joining) = &mut self.state else { return };
        let (attempt, hint) = joining.next(now, rng);
        hint.into_iter().for_each(|hint| self.queue.report(MemberEvent::NotIn(hint)));
        let request = self.request(attempt, self.place, false, None, now, rng);
        if let MemberState::Outside(joining) = &mut self.state {
            joining.asked(request);
        }
    }

    /// Sends a request to join or resume at this place, or to be offered one.
    fn request(
        &mut self,
        attempt: [u8; 8],
        place: Option<join::Place>,
        resumes: bool,
        confirms: Option<ConfirmedEpoch>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> WaitingRequest {
        let mut ephemeral = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *ephemeral);
        self.stamp = (self.stamp + 1).max(now / MILLISECOND);
        let credentials = self.settings.credentials();
        let request = ask(credentials, attempt, &ephemeral, self.stamp, place, resumes, confirms);
        self.queue.request(self.topics.join(), request.bytes.clone());
        request
    }

    /// Asks the service in which founding of the group it is, not too often.
    fn doubt(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if self.catching_up.doubt(now, rng) {
            self.ask_of_foundings(now, rng);
        }
    }

    /// Asks again until the service answers.
    fn ask_of_foundings(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Some(attempt) = self.catching_up.question(now) else { return };
        let confirms = self.confirmation();
        self.proof.asked(confirms.map(|confirms| confirms.epoch));
        let question = self.request(attempt, None, false, confirms, now, rng);
        self.catching_up.asked(question, now, rng);
    }

    fn confirmation(&self) -> Option<ConfirmedEpoch> {
        let MemberState::Inside(participant) = &self.state else { return None };
        let (Epoch(epoch), _) = participant.group_key()?;
        Some(ConfirmedEpoch { place: self.place?, epoch })
    }

    /// Takes an offer as the answer to the question in which founding the service is. Returns whether
    /// it is one.
    fn learn_founding(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) -> bool {
        let (service, shared) = (self.service.as_ref(), self.settings.shared.as_ref());
        let answer = self.catching_up.answer(bytes, service, shared);
        let (OfferedPlace { place: offered, epoch, active, stamp, .. }, asked) = match answer {
            Some((Offered::Place(offered), asked)) => (offered, asked),
            Some((Offered::Barred, _)) => {
                self.end_membership();
                return true;
            }
            Some((Offered::Forged, _)) | None => return false,
        };
        self.catching_up.end_doubt(now);
        self.stamp = self.stamp.max(stamp);
        self.follow_founding(&offered, now, rng);
        if let MemberState::Inside(participant) = &self.state
            && self.place.is_some_and(|place| place.is_of_one_founding_with(&offered))
        {
            self.proof.heard(epoch, asked);
            if epoch > participant.epoch().0 {
                // The question was not in vain.
                self.catching_up.may_doubt_soon();
            }
            let group = (participant.group(), self.founded);
            self.catching_up.announce(group, epoch);
            let (epoch, active) = (Epoch(epoch), Epoch(active));
            self.catching_up.note_staged(group, Staged { epoch, active });
            self.compare(now, rng);
        }
        true
    }

    fn join_again(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        self.state = MemberState::Outside(Joining::new());
        self.resuming = None;
        self.queue.report(MemberEvent::JoinsAgain);
        self.catching_up.forget();
        self.proof.forget();
        self.forget_successor();
        if self.connected {
            self.ask(now, rng);
        }
    }

    fn answered(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        if self.announced(bytes, now, rng) {
            return;
        }
        let farewell = self.service.and_then(|service| {
            Farewell::read(bytes, &self.context, &service)
                .filter(|farewell| self.place.is_some_and(|place| place.number == farewell.member))
        });
        if let Some(farewell) = farewell {
            self.dismissed(&farewell);
            return;
        }
        if self.resumed(bytes, now, rng) {
            return;
        }
        if matches!(self.state, MemberState::Inside(_)) && self.admitted(bytes, now, rng) {
            return;
        }
        let MemberState::Outside(joining) = &mut self.state else {
            if !self.learn_founding(bytes, now, rng) {
                self.queue.counters.refused += 1;
            }
            return;
        };
        let (service, shared) = (self.service.as_ref(), self.settings.shared.as_ref());
        let offered = joining.offered(bytes, service, shared);
        match offered {
            Some(Offered::Barred) => return self.end_membership(),
            Some(Offered::Forged) => {
                self.queue.counters.forged += 1;
                joining.note(Hint::Unopened);
                return;
            }
            Some(Offered::Place(OfferedPlace { place, stamp, .. })) => {
                joining.note(Hint::Known);
                let is_late = self.stamp < stamp;
                if (is_late || self.place != Some(place)) && joining.follows_offer() {
                    self.stamp = self.stamp.max(stamp);
                    self.ask_for(place, now, rng);
                }
                return;
            }
            None => {}
        }
        let welcome = joining.open(bytes, service, shared);
        let place = self.place;
        let is_ours = |welcome: &Welcome| place.is_some_and(|place| place.number == welcome.member);
        let Some(welcome) = welcome.filter(is_ours) else {
            self.queue.counters.forged += 1;
            joining.note(Hint::Unopened);
            return;
        };
        let form = match self.settings.form(&welcome.form, self.schemes) {
            Ok(form) => form,
            Err(hint) => {
                self.queue.counters.refused += 1;
                joining.note(hint);
                return;
            }
        };
        let (early, entry) = (joining.take_early(), Entry::Admitted(joining.attempt()));
        if self.enter(&welcome, form, entry, now, rng).is_none() {
            self.queue.counters.malformed += 1;
            return;
        }
        for bytes in early {
            self.receive(&bytes, now, rng);
        }
        self.compare(now, rng);
    }

    /// Asks to join at the place that was offered, after it subscribed to that place's topic.
    fn ask_for(&mut self, place: join::Place, now: u64, rng: &mut ChaCha20Rng) {
        let old = self.place.replace(place);
        let topic = |place: join::Place| self.topics.of(Recipient::Member(MemberId(place.number)));
        let old = old.filter(|old| old.number != place.number);
        self.queue.outputs.extend(old.map(|old| Output::Unsubscribe(topic(old))));
        self.queue.outputs.push_back(Output::Subscribe(topic(place)));
        self.ask(now, rng);
    }

    fn enter(
        &mut self,
        welcome: &Welcome,
        form: GroupForm,
        entry: Entry,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Option<()> {
        let me = MemberId(welcome.member);
        let mut keyring = Keyring::default();
        keyring.own(me.into(), &self.settings.identity);
        if let Some(key) = welcome.mac {
            keyring.share_mac(&Secret::from_bytes(key.into()));
        }
        for (number, public) in &welcome.controllers {
            keyring.learn(PartyId::from_number(*number)?, public).then_some(())?;
            if *number == 0 {
                self.service = Some((*public).into());
            }
        }
        let party = form.configuration.member(me);
        let topics = self.topics.clone();
        let setting = form.setting(&self.settings.prefix, Instance(welcome.instance.into()));
        let messages =
            MessageSettings { signed: Some(form.has_signed_senders()), ..self.settings.messages };
        let credential = self.credential(welcome, &form, &setting.context)?;
        let (context, parties) = (setting.context, LocalParties::new(form, setting, keyring));
        let mut participant = Participant::new(me, topics, parties, party, messages);
        if let Some(credential) = credential {
            participant = participant.introduced_by(credential);
        }
        for bytes in &welcome.enrolment {
            participant.deliver(&mut self.queue, Channel::Confidential, bytes, now, rng).ok()?;
        }
        self.proof.forget();
        if let Entry::Admitted(attempt) = entry {
            // It answers one of our last requests.
            self.proof.heard(welcome.epoch, now);
            self.keep(&attempt, welcome, rng);
        }
        let scheme = participant.scheme();
        let (member, founded) = (me, welcome.founded);
        match core::mem::replace(&mut self.state, MemberState::Inside(Box::new(participant))) {
            MemberState::Inside(participant) => {
                // If the former group has no key yet, the one before it is still in force.
                if participant.group_key().is_some() {
                    self.put_aside(participant, now);
                }
                self.catching_up.forget();
                self.queue.report(MemberEvent::Changed { scheme, founded });
            }
            MemberState::Outside(_) | MemberState::Out => self.queue.report(match entry {
                Entry::Admitted(_) => MemberEvent::Joined { member, founded },
                Entry::Resumed => MemberEvent::Resumed { member, founded },
            }),
        }
        self.founded = welcome.founded;
        self.admitted_after = welcome.epoch;
        self.context = context;
        self.catching_up.may_doubt_soon();
        // The welcome may be so late that the service has founded another group meanwhile.
        self.catching_up.expect_notice(now, rng);
        self.succession.forget_announcements();
        Some(())
    }

    /// Returns the certificate for our messages, if members sign. Returns `None` if it is missing or not
    /// ours.
    fn credential(
        &self,
        welcome: &Welcome,
        form: &GroupForm,
        group: &GroupContext,
    ) -> Option<Option<Vec<u8>>> {
        if !form.has_signed_senders() {
            return Some(None);
        }
        let public = self.settings.identity.public();
        let credential = certificate(&public, welcome.certificate.as_deref()?);
        let member = MemberId(welcome.member);
        let named = certified(&credential, group, member, self.service.as_ref()?)?;
        (named == public).then_some(Some(credential))
    }

    /// Handles a farewell that the service signed: we are not a member since this epoch.
    fn dismissed(&mut self, farewell: &Farewell) {
        let is_ours = farewell.founded == self.founded;
        match &self.state {
            MemberState::Inside(participant)
                if is_ours && farewell.epoch > participant.epoch().0.max(self.admitted_after) =>
            {
                self.end_membership();
            }
            // The farewell concerns an earlier membership, or a membership that we gave up to join
            // again.
            _ => self.queue.counters.replayed += 1,
        }
    }

    /// Drops all keys, and asks for nothing any more: the service has said that we are out.
    fn end_membership(&mut self) {
        self.state = MemberState::Out;
        self.resuming = None;
        self.catching_up.forget();
        self.proof.forget();
        self.drop_former();
        self.forget_successor();
        self.forget_membership();
        self.queue.report(MemberEvent::Evicted);
    }

    fn noticed(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        // Without the service's public key, a notice cannot be verified.
        let Some(service) = self.service else { return };
        let reached = match &self.state {
            MemberState::Inside(participant) => {
                let (group, epoch) = (participant.group(), participant.epoch().0);
                let (founded, resumptions) = (self.founded, participant.resumptions());
                let valid_from = participant.valid_from().0;
                let expectations = self.proof.expectations();
                let active = self.catching_up.staged((group, founded)).unwrap_or_default().active.0;
                Some(ReachedEpoch {
                    group,
                    founded,
                    epoch,
                    resumptions,
                    valid_from,
                    active,
                    expectations,
                })
            }
            MemberState::Outside(_) | MemberState::Out => None,
        };
        let known = reached.filter(|_| !self.catching_up.expects_notice());
        match Notice::read(bytes, &self.settings.prefix, known, &service) {
            Ok(Some(notice)) if reached.is_none_or(|ours| ours.group == notice.group) => {
                // An earlier notice than that of our epoch does not show that we missed nothing.
                let is_of_ours = |ours: &ReachedEpoch| ours.founded == notice.founded;
                if reached.filter(is_of_ours).is_none_or(|ours| ours.epoch <= notice.epoch) {
                    self.catching_up.had_notice();
                    self.proof.expect(notice.expectations, now, rng);
                }
                let group = (notice.group, notice.founded);
                self.catching_up.announce(group, notice.epoch);
                self.catching_up.note_resumptions(group, notice.resumptions);
                self.catching_up.note_validity(group, Epoch(notice.valid_from));
                let (epoch, active) = (Epoch(notice.epoch), Epoch(notice.active));
                self.catching_up.note_staged(group, Staged { epoch, active });
                // The group may have changed its scheme, or the service have lost its store and founded
                // another group.
                if reached.is_some_and(|ours| ours.founded != notice.founded) {
                    self.succeeded(notice.founded, now, rng);
                }
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(Foreign) => self.queue.counters.forged += 1,
        }
        self.compare(now, rng);
    }

    /// Asks the service for its epoch if something suggests that we missed one. Neither a missing
    /// notice nor a message that nobody can read is evidence.
    fn ask_for_the_epoch(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let has_unread = match &self.state {
            MemberState::Inside(participant) => participant.has_early(),
            MemberState::Outside(_) | MemberState::Out => false,
        };
        let is_suspicious = self.catching_up.is_suspicious(has_unread, now);
        if is_suspicious && matches!(self.state, MemberState::Inside(_)) {
            self.doubt(now, rng);
        }
    }

    /// Asks the service for its epoch if there was no proof of ours for long, and reports if there was
    /// none for too long.
    fn follow_proof(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let MemberState::Inside(participant) = &self.state else { return };
        if participant.group_key().is_none() {
            return;
        }
        let event = match self.proof.follow(participant.epoch(), now, rng) {
            Some(ProofChange::Expired) => Some(MemberEvent::Unproven),
            Some(ProofChange::Renewed) => Some(MemberEvent::Proven),
            None => None,
        };
        event.into_iter().for_each(|event| self.queue.report(event));
        if self.proof.asks(now, rng) {
            self.catching_up.ask_anyway(now, rng);
            self.ask_of_foundings(now, rng);
        }
    }

    /// Returns whether our key does not count any more.
    fn is_refused(&self) -> bool {
        let MemberState::Inside(participant) = &self.state else { return false };
        participant.epoch() < participant.valid_from()
    }

    /// Returns the epoch that the service has announced, if it is later than ours.
    fn missed(&self) -> Option<Epoch> {
        let MemberState::Inside(participant) = &self.state else { return None };
        self.catching_up.missed((participant.group(), self.founded), participant.epoch())
    }

    /// Begins to catch up if the message shows that this member missed an epoch.
    fn consider(&mut self, result: Result<(), Error>, now: u64, rng: &mut ChaCha20Rng) {
        if let Err(Error::Misbehaved(Misbehaviour::SkippedEpoch { got, .. })) = result
            && let MemberState::Inside(participant) = &self.state
        {
            self.catching_up.announce((participant.group(), self.founded), got.0);
        }
        self.compare(now, rng);
    }

    /// Sets the time to catch up if the service is ahead, and clears it if not.
    fn compare(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let MemberState::Inside(participant) = &self.state else { return };
        if self.resuming.as_ref().is_some_and(|resuming| !resuming.is_granted()) {
            return;
        }
        let has_missed = self.missed().is_some();
        // The message with the first key may be lost, and so may the notice.
        if has_missed || participant.group_key().is_none() {
            self.catching_up.wait(has_missed, now, rng);
        } else {
            self.catching_up.settle();
        }
    }

    fn catch_up(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let missed = self.missed().filter(|_| !self.catching_up.has_asked());
        let MemberState::Inside(participant) = &mut self.state else { return };
        let Some(may_go_on) = self.catching_up.ask_again(now) else { return };
        if let Some(epoch) = missed.filter(|_| participant.group_key().is_some()) {
            self.times_behind += 1;
            self.queue.report(MemberEvent::Behind(epoch));
        }
        let asked = participant.command(&mut self.queue, &OwnedCommand::CatchUp, now, rng);
        if asked.is_err() || !may_go_on {
            self.join_again(now, rng);
        }
    }
}

impl Runtime for Member {
    type Event = MemberEvent;

    fn relies_on_retained_messages(&self) -> bool {
        true
    }

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        match input {
            Input::Acknowledged(_) => self.queue.acknowledged(),
            Input::Arrived { payload, .. } if payload.len() > MAX_PAYLOAD => {
                self.queue.counters.oversized += 1;
            }
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(TopicKind::Epoch) => {
                    if !self.announced(payload, now, rng) {
                        self.noticed(payload, now, rng);
                    }
                }
                Some(TopicKind::Talk) => self.hear(payload, now, rng),
                Some(TopicKind::To(_)) => match &mut self.state {
                    MemberState::Outside(joining) => {
                        joining.keep(payload, &mut self.queue.counters);
                    }
                    MemberState::Inside(_) => self.receive(payload, now, rng),
                    MemberState::Out => {}
                },
                Some(TopicKind::Welcome(_)) => self.answered(payload, now, rng),
                Some(TopicKind::Join | TopicKind::State) | None => {
                    self.queue.counters.malformed += 1
                }
            },
            Input::Connected => {
                self.connected = true;
                self.resume(now, rng);
                if matches!(&self.state, MemberState::Outside(joining) if joining.due().is_none()) {
                    self.ask(now, rng);
                }
                if let MemberState::Inside(participant) = &mut self.state {
                    participant.reconnected();
                    self.catching_up.expect_notice(now, rng);
                }
            }
            Input::Tick => {
                self.ask_for_the_epoch(now, rng);
                if self.resuming_due().is_some_and(|due| due <= now) {
                    self.ask_to_resume(now, rng);
                }
                if self.catching_up.is_due(now) {
                    self.catch_up(now, rng);
                }
                if matches!(&self.state, MemberState::Outside(joining) if joining.due().is_some_and(|due| due <= now))
                {
                    self.ask(now, rng);
                }
                if self.catching_up.doubts(now) {
                    self.ask_of_foundings(now, rng);
                }
                self.succession_tick(now, rng);
            }
        }
        self.note_key(now);
        self.follow_resumptions(now, rng);
        self.follow_staging(now);
        self.follow_proof(now, rng);
        self.reread(now, rng);
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<MemberEvent>>, Fatal> {
        Ok(self.queue.outputs.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        let due = match &self.state {
            MemberState::Outside(joining) if joining.due().is_some() => joining.due(),
            _ => self.catching_up.due(),
        };
        [due, self.proof.due(), self.resuming_due(), self.change_over_due, self.succession_due()]
            .into_iter()
            .flatten()
            .min()
    }
}

/// Returns how long a member waits for the answer to its request of this number, from 1, ns.
fn pause_after(tries: u32, rng: &mut ChaCha20Rng) -> u64 {
    (FIRST_PAUSE << tries.min(4)) + rng.next_u64() % FIRST_PAUSE
}

/// The base of the waits for an answer, ns. A wait is 2, 4, 8 and then 16 times as long, plus a
/// random part of the base.
const FIRST_PAUSE: u64 = SECOND;

/// The number of requests of one attempt, which takes some 100 s. If the service restarts before
/// the broker has the welcome, the welcome is lost. The next attempt succeeds.
const TRIES: u32 = 8;

/// The maximum number of messages to keep until the welcome arrives.
const EARLY: usize = 64;

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.settings.name)
            .field("place", &self.place)
            .field("epoch", &self.group_key().map(|(epoch, _)| epoch))
            .finish_non_exhaustive()
    }
}
