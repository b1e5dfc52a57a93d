//! A member of a group with a controller: it joins, follows the group key, catches up, and sends
//! and receives messages.
//!
//! A member keeps only its identity on disk. After a restart it joins again with this identity. The
//! service removes the earlier member and adds it again, with a new group key. A member that was
//! offline without a restart catches up: the retained notice of the epoch says how far it is
//! behind. If it finds no notice, or hears a group message of a later epoch, it asks the service for
//! the epoch. Only the service's signed word makes it stop talking under the key that it has.
//!
//! If the group changes its scheme, a member enters the successor beside its group. It keeps the
//! key that it has until it has the successor's, and reads the former group's messages on for a
//! while.

mod settings;
mod succession;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use groupkey::catalogue::{self, Scheme};
use groupkey::error::{Misbehaviour, Misuse};
use groupkey::{Channel, Epoch, Error, GroupContext, Instance, Key, MemberId, PartyId, Recipient};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use zeroize::Zeroizing;

pub use self::settings::{Settings, SettingsError};
use self::succession::{Former, Successor};
use crate::counters::Counters;
use crate::early_messages::EarlyMessages;
use crate::event::{Hint, MemberEvent};
use crate::group_form::Form;
use crate::join::{self, Asking, MAX_PAYLOAD, Offered, Welcome, ask};
use crate::keyring::{Keyring, Secret};
use crate::local_parties::{Command, Parties};
use crate::notice::{Farewell, Foreign, Notice, Reached};
use crate::participant::{Desk, Participant};
use crate::runtime::{Fatal, Input, MILLISECOND, Output, Runtime, SECOND};
use crate::topics::{Place, Topics};

/// A member's runtime.
pub struct Member {
    settings: Settings,
    /// The schemes that this device has.
    schemes: &'static [Scheme],
    topics: Topics,
    /// The service's public key, once it is known.
    service: Option<[u8; 32]>,
    /// The place in the group that the service offered last.
    place: Option<join::Place>,
    stamp: u64,
    connected: bool,
    standing: Standing,
    /// When our group was founded, ms since 1970.
    founded: u64,
    /// The context of our group, or of the last one in which we were a member.
    context: GroupContext,
    /// The latest epochs that the service announced, by the group's number and founding time. The
    /// welcome says which group is ours.
    announced: BTreeMap<(u64, u64), u64>,
    /// The group's epoch before we were admitted.
    admitted_after: u64,
    behind: Option<Behind>,
    /// When we ask the service for its epoch, because no notice came since we connected, ns.
    notice_due: Option<u64>,
    /// The same, because a group message of a later epoch waits for its key.
    unread_due: Option<u64>,
    /// Set while the service may be in another founding than ours.
    doubt: Option<Doubt>,
    /// The earliest time of the next doubt, and how long it was put off last, ns.
    doubts_from: u64,
    doubts_wait: u64,
    /// The group that will succeed ours.
    successor: Option<Successor>,
    /// The last announced successor for which we asked: when it is founded, ms since 1970, and our
    /// place.
    latest_successor: (u64, Option<join::Place>),
    /// The group that ours succeeded.
    former: Option<Former>,
    /// Group messages under a key that we may get.
    unread: EarlyMessages<UNREAD>,
    /// What was tried last to read them: founding time, epoch, and whether we expected another key.
    unread_in: (u64, u64, bool),
    desk: Desk,
}

enum Standing {
    /// The device asks to join, or will do so once it is connected.
    Outside {
        attempt: [u8; 8],
        /// The requests of this attempt: a welcome may answer any of them.
        asked: Vec<Asking>,
        due: u64,
        tries: u32,
        /// How often another place was offered in this attempt.
        replaced: u32,
        hint: Hint,
        early: EarlyMessages<EARLY>,
    },
    Inside(Box<Participant>),
    Out,
}

/// A member that has missed a message.
struct Behind {
    due: u64,
    tries: u32,
}

/// A question to the service: in which founding and epoch of the group is it? A notice does not say
/// so. It may be missing, or a recording, and of two foundings the later one may have the earlier
/// time, because the clock was behind. An offer answers one request.
struct Doubt {
    asked: Vec<Asking>,
    attempt: [u8; 8],
    due: u64,
}

impl Member {
    /// Creates a device that asks to join once it is connected. It has all schemes of the catalogue.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        Self::with_schemes(settings, catalogue::SCHEMES)
    }

    /// Creates a device that has these schemes alone, so that its program links no other. A group
    /// with another scheme does not take it in ([`Hint::OtherScheme`]).
    pub fn with_schemes(
        settings: Settings,
        schemes: &'static [Scheme],
    ) -> Result<Self, SettingsError> {
        let topics = settings.topics()?;
        let mut desk = Desk::default();
        let listen = [
            topics.welcome(&settings.name),
            topics.of(Recipient::Group),
            topics.talk(),
            topics.epoch(),
        ];
        desk.outputs.extend(listen.map(Output::Subscribe));
        Ok(Self {
            service: settings.service,
            topics,
            settings,
            schemes,
            place: None,
            stamp: 0,
            connected: false,
            standing: Standing::outside(),
            founded: 0,
            context: GroupContext::default(),
            announced: BTreeMap::new(),
            admitted_after: 0,
            behind: None,
            notice_due: None,
            unread_due: None,
            doubt: None,
            doubts_from: 0,
            doubts_wait: FIRST_DOUBT,
            successor: None,
            latest_successor: (0, None),
            former: None,
            unread: EarlyMessages::new(),
            unread_in: (0, 0, false),
            desk,
        })
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

    /// Returns when the group of [`Self::group_key`] was founded, ms since 1970.
    pub fn founded(&self) -> Option<u64> {
        self.in_force().map(|(_, founded)| founded)
    }

    /// Returns the member's number, once it is admitted.
    pub fn number(&self) -> Option<MemberId> {
        match &self.standing {
            Standing::Inside(participant) => Some(participant.me()),
            Standing::Outside { .. } | Standing::Out => None,
        }
    }

    /// Returns whether the device was evicted.
    pub const fn is_out(&self) -> bool {
        matches!(self.standing, Standing::Out)
    }

    /// Returns the counters of accepted and refused messages.
    pub const fn counters(&self) -> Counters {
        self.desk.counters
    }

    /// Returns the number of publishes that the broker has not acknowledged.
    pub const fn unacknowledged(&self) -> u64 {
        self.desk.unacknowledged()
    }

    /// Encrypts a message of at most 65,535 bytes to the group. Fails with
    /// [`SkippedEpoch`](Misbehaviour::SkippedEpoch) after [`MemberEvent::Behind`]: whoever was evicted
    /// meanwhile could read the message.
    pub fn say(&mut self, content: &[u8], now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        let missed = self.missed().filter(|_| self.is_catching_up());
        let participant = match (&mut self.standing, &mut self.former) {
            (Standing::Inside(participant), Some(former))
                if former.is_in_force
                    && !participant.is_out()
                    && participant.group_key().is_none() =>
            {
                &mut former.participant
            }
            (Standing::Inside(participant), _) => match missed {
                Some(got) => {
                    let current = participant.epoch();
                    return Err(Misbehaviour::SkippedEpoch { got, current }.into());
                }
                None => participant,
            },
            _ => return Err(Misuse::NotCreated.into()),
        };
        participant.say(&mut self.desk, content, now, rng)
    }

    /// Returns the participant whose key is in force, and when its group was founded.
    fn in_force(&self) -> Option<(&Participant, u64)> {
        let Standing::Inside(participant) = &self.standing else { return None };
        let waits = !participant.is_out() && participant.group_key().is_none();
        let former = self.former.as_ref().filter(|former| waits && former.is_in_force);
        Some(
            former.map_or((participant, self.founded), |former| {
                (&former.participant, former.founded)
            }),
        )
    }

    fn ask(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Standing::Outside { attempt, asked, due, tries, replaced, hint, .. } =
            &mut self.standing
        else {
            return;
        };
        if (*tries).is_multiple_of(TRIES) {
            rng.fill_bytes(attempt);
            asked.clear();
            *replaced = 0;
        }
        if *tries % TRIES == HINT_AFTER {
            self.desk.report(MemberEvent::NotIn(*hint));
        }
        *tries += 1;
        *due = now.saturating_add(pause_after(*tries, rng));
        let attempt = *attempt;
        let request = self.request(attempt, self.place, now, rng);
        if let Standing::Outside { asked, .. } = &mut self.standing {
            asked.push(request);
        }
    }

    /// Sends a request to join at this place, or to be offered one.
    fn request(
        &mut self,
        attempt: [u8; 8],
        place: Option<join::Place>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Asking {
        let mut ephemeral = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *ephemeral);
        self.stamp = (self.stamp + 1).max(now / MILLISECOND);
        let request = ask(self.settings.credentials(), attempt, &ephemeral, self.stamp, place);
        self.desk.request(self.topics.join(), request.bytes.clone());
        request
    }

    /// Asks the service in which founding of the group it is, not too often.
    fn doubt(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if self.doubt.is_none() {
            let mut attempt = [0; 8];
            rng.fill_bytes(&mut attempt);
            let due = now.max(self.doubts_from);
            self.doubt = Some(Doubt { asked: Vec::new(), attempt, due });
            if due == now {
                self.ask_of_foundings(now, rng);
            }
        }
    }

    /// Asks again until the service answers, but not for ever: a recording may be the only reason,
    /// and the service may be away.
    fn ask_of_foundings(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Some(mut doubt) = self.doubt.take() else { return };
        let tries = doubt.asked.len() as u32;
        if tries == TRIES {
            self.put_off_doubts(now);
            return;
        }
        doubt.asked.push(self.request(doubt.attempt, None, now, rng));
        doubt.due = now.saturating_add(pause_after(tries + 1, rng));
        self.doubt = Some(doubt);
    }

    fn put_off_doubts(&mut self, now: u64) {
        self.doubts_from = now.saturating_add(self.doubts_wait);
        self.doubts_wait = self.doubts_wait.saturating_mul(2).min(LAST_DOUBT);
    }

    /// Takes an offer as the answer to the question in which founding the service is. Returns whether
    /// it is one.
    fn learn_founding(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) -> bool {
        let (service, shared) = (self.service.as_ref(), self.settings.shared.as_ref());
        let Some(doubt) = &self.doubt else { return false };
        let offered = doubt.asked.iter().find_map(|asked| asked.offered(bytes, service, shared));
        let Some(Offered::Place(offered, epoch)) = offered else { return false };
        self.doubt = None;
        self.put_off_doubts(now);
        self.follow_founding(&offered, now, rng);
        if let Standing::Inside(participant) = &self.standing
            && self.place.is_some_and(|place| place.is_of_one_founding_with(&offered))
        {
            if epoch > participant.epoch().0 {
                // The question was not in vain.
                self.doubts_wait = FIRST_DOUBT;
            }
            self.announce((participant.group(), self.founded), epoch);
            self.compare(now, rng);
        }
        true
    }

    fn join_again(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        self.standing = Standing::outside();
        self.desk.report(MemberEvent::JoinsAgain);
        self.forget_questions();
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
        if matches!(self.standing, Standing::Inside(_)) && self.admitted(bytes, now, rng) {
            return;
        }
        let Standing::Outside { asked, replaced, hint, early, .. } = &mut self.standing else {
            if !self.learn_founding(bytes, now, rng) {
                self.desk.counters.refused += 1;
            }
            return;
        };
        let (service, shared) = (self.service.as_ref(), self.settings.shared.as_ref());
        let offered = asked.iter().find_map(|asking| asking.offered(bytes, service, shared));
        if offered == Some(Offered::Forged) {
            self.desk.counters.forged += 1;
            *hint = Hint::Unopened;
            return;
        }
        if let Some(Offered::Place(place, _)) = offered {
            *hint = Hint::Known;
            // Recorded offers come again, so the number of offers that we follow is limited.
            if self.place != Some(place) && *replaced < OFFERS {
                *replaced += 1;
                let old = self.place.replace(place);
                let topic =
                    |place: join::Place| self.topics.of(Recipient::Member(MemberId(place.number)));
                let old = old.filter(|old| old.number != place.number);
                self.desk.outputs.extend(old.map(|old| Output::Unsubscribe(topic(old))));
                self.desk.outputs.push_back(Output::Subscribe(topic(place)));
                self.ask(now, rng);
            }
            return;
        }
        let welcome = asked.iter().find_map(|asking| asking.open(bytes, service, shared));
        let place = self.place;
        let is_ours = |welcome: &Welcome| place.is_some_and(|place| place.number == welcome.member);
        let Some(welcome) = welcome.filter(is_ours) else {
            self.desk.counters.forged += 1;
            *hint = Hint::Unopened;
            return;
        };
        let Ok(form) = Form::read(&welcome.form, self.schemes) else {
            self.desk.counters.refused += 1;
            *hint = Hint::OtherScheme;
            return;
        };
        let early = early.take();
        if self.enter(&welcome, form, now, rng).is_none() {
            self.desk.counters.malformed += 1;
            return;
        }
        for bytes in early {
            self.receive(&bytes, now, rng);
        }
        self.compare(now, rng);
    }

    fn enter(
        &mut self,
        welcome: &Welcome,
        form: Form,
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
        let (context, parties) = (setting.context, Parties::new(form, setting, keyring));
        let mut messages = self.settings.messages;
        // A member does not know the other members' public keys.
        messages.signed.get_or_insert(false);
        let mut participant = Participant::new(me, topics, parties, party, messages);
        for bytes in &welcome.enrolment {
            participant.deliver(&mut self.desk, Channel::Confidential, bytes, now, rng).ok()?;
        }
        let scheme = participant.scheme();
        match core::mem::replace(&mut self.standing, Standing::Inside(Box::new(participant))) {
            Standing::Inside(participant) => {
                // If the former group has no key yet, the one before it is still in force.
                if participant.group_key().is_some() {
                    self.drop_former();
                    self.former = Some(Former::new(participant, self.founded, now));
                }
                self.forget_questions();
                self.desk.report(MemberEvent::Changed { scheme, founded: welcome.founded });
            }
            Standing::Outside { .. } | Standing::Out => {
                self.desk.report(MemberEvent::Joined { member: me, founded: welcome.founded });
            }
        }
        self.founded = welcome.founded;
        self.admitted_after = welcome.epoch;
        self.context = context;
        self.doubts_wait = FIRST_DOUBT;
        // Announcements are for the members of one founding.
        self.latest_successor = (0, None);
        Some(())
    }

    /// Handles a farewell that the service signed: we are not a member since this epoch.
    fn dismissed(&mut self, farewell: &Farewell) {
        let is_ours = farewell.founded == self.founded;
        match &self.standing {
            Standing::Inside(participant)
                if is_ours && farewell.epoch > participant.epoch().0.max(self.admitted_after) =>
            {
                self.standing = Standing::Out;
                self.forget_questions();
                self.drop_former();
                self.forget_successor();
                self.desk.report(MemberEvent::Evicted);
            }
            // The farewell concerns an earlier membership, or a membership that we gave up to join
            // again.
            _ => self.desk.counters.replayed += 1,
        }
    }

    fn noticed(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        // Without the service's public key, a notice cannot be verified.
        let Some(service) = self.service else { return };
        let reached = match &self.standing {
            Standing::Inside(participant) => {
                let (group, epoch) = (participant.group(), participant.epoch().0);
                Some(Reached { group, founded: self.founded, epoch })
            }
            Standing::Outside { .. } | Standing::Out => None,
        };
        let known = reached.filter(|_| self.notice_due.is_none());
        match Notice::read(bytes, &self.settings.prefix, known, &service) {
            Ok(Some(notice)) if reached.is_none_or(|ours| ours.group == notice.group) => {
                // An earlier notice than that of our epoch does not show that we missed nothing.
                let is_of_ours = |ours: &Reached| ours.founded == notice.founded;
                if reached.filter(is_of_ours).is_none_or(|ours| ours.epoch <= notice.epoch) {
                    self.notice_due = None;
                }
                self.announce((notice.group, notice.founded), notice.epoch);
                // The group may have changed its scheme, or the service have lost its store and founded
                // another group.
                if reached.is_some_and(|ours| ours.founded != notice.founded) {
                    self.succeeded(notice.founded, now, rng);
                }
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(Foreign) => self.desk.counters.forged += 1,
        }
        self.compare(now, rng);
    }

    /// Asks the service for its epoch if something suggests that we missed one. Neither a missing
    /// notice nor a message that nobody can read is evidence.
    fn ask_for_the_epoch(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let is_due = |due: Option<u64>| due.is_some_and(|due| due <= now);
        let (lacks_notice, has_unread) = (is_due(self.notice_due), is_due(self.unread_due));
        if lacks_notice {
            self.notice_due = None;
        }
        if has_unread {
            self.unread_due = None;
        }
        let Standing::Inside(participant) = &self.standing else { return };
        if self.behind.is_none() && (lacks_notice || has_unread && participant.has_early()) {
            self.doubt(now, rng);
        }
    }

    fn forget_questions(&mut self) {
        (self.behind, self.doubt) = (None, None);
        (self.notice_due, self.unread_due) = (None, None);
    }

    /// Returns the epoch that the service has announced, if it is later than ours.
    fn missed(&self) -> Option<Epoch> {
        let Standing::Inside(participant) = &self.standing else { return None };
        let announced = *self.announced.get(&(participant.group(), self.founded))?;
        (announced > participant.epoch().0).then_some(Epoch(announced))
    }

    /// Returns whether the missed message did not arrive in time, so that we asked for it.
    fn is_catching_up(&self) -> bool {
        self.behind.as_ref().is_some_and(|behind| behind.tries > 0)
    }

    fn announce(&mut self, group: (u64, u64), epoch: u64) {
        let announced = self.announced.entry(group).or_default();
        *announced = epoch.max(*announced);
    }

    /// Begins to catch up if the message shows that this member missed an epoch.
    fn consider(&mut self, result: Result<(), Error>, now: u64, rng: &mut ChaCha20Rng) {
        if let Err(Error::Misbehaved(Misbehaviour::SkippedEpoch { got, .. })) = result
            && let Standing::Inside(participant) = &self.standing
        {
            self.announce((participant.group(), self.founded), got.0);
        }
        self.compare(now, rng);
    }

    /// Sets the time to catch up if the service is ahead, and clears it if not.
    fn compare(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Standing::Inside(participant) = &self.standing else { return };
        let patience = match participant.group_key() {
            _ if self.missed().is_some() => PATIENCE,
            // The message with the first key may be lost, and so may the notice.
            None => PATIENCE_WITHOUT_KEY,
            Some(_) => {
                self.behind = None;
                return;
            }
        };
        // The missed message may still arrive, and members must not all ask at once.
        let due = now.saturating_add(patience + rng.next_u64() % patience);
        let behind = self.behind.get_or_insert(Behind { due, tries: 0 });
        if behind.tries == 0 {
            behind.due = behind.due.min(due);
        }
    }

    fn catch_up(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let missed = self.missed().filter(|_| !self.is_catching_up());
        let (Standing::Inside(participant), Some(behind)) = (&mut self.standing, &mut self.behind)
        else {
            return;
        };
        if let Some(epoch) = missed.filter(|_| participant.group_key().is_some()) {
            self.desk.report(MemberEvent::Behind(epoch));
        }
        behind.tries += 1;
        behind.due = now.saturating_add(SECOND << behind.tries.min(4));
        let asked = participant.command(&mut self.desk, &Command::CatchUp, now, rng);
        if asked.is_err() || behind.tries > CATCH_UPS {
            self.join_again(now, rng);
        }
    }
}

impl Runtime for Member {
    type Event = MemberEvent;

    /// The notice of the epoch tells a member what it has missed.
    fn relies_on_retained_messages(&self) -> bool {
        true
    }

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        match input {
            Input::Acknowledged(_) => self.desk.acknowledged(),
            Input::Arrived { payload, .. } if payload.len() > MAX_PAYLOAD => {
                self.desk.counters.oversized += 1;
            }
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(Place::Epoch) => {
                    if !self.announced(payload, now, rng) {
                        self.noticed(payload, now, rng);
                    }
                }
                Some(Place::Talk) => self.hear(payload, now, rng),
                Some(Place::To(_)) => match &mut self.standing {
                    Standing::Outside { early, .. } => {
                        early.keep(payload, &mut self.desk.counters);
                    }
                    Standing::Inside(_) => self.receive(payload, now, rng),
                    Standing::Out => {}
                },
                Some(Place::Welcome(_)) => self.answered(payload, now, rng),
                Some(Place::Join | Place::State) | None => self.desk.counters.malformed += 1,
            },
            Input::Connected => {
                self.connected = true;
                if matches!(self.standing, Standing::Outside { tries: 0, .. }) {
                    self.ask(now, rng);
                }
                if matches!(self.standing, Standing::Inside(_)) {
                    let wait = NOTICE_PATIENCE + rng.next_u64() % NOTICE_PATIENCE;
                    self.notice_due = Some(now.saturating_add(wait));
                }
            }
            Input::Tick => {
                self.ask_for_the_epoch(now, rng);
                if self.behind.as_ref().is_some_and(|behind| behind.due <= now) {
                    self.catch_up(now, rng);
                }
                if matches!(self.standing, Standing::Outside { due, .. } if due <= now) {
                    self.ask(now, rng);
                }
                if self.doubt.as_ref().is_some_and(|doubt| doubt.due <= now) {
                    self.ask_of_foundings(now, rng);
                }
                self.succession_tick(now, rng);
            }
        }
        self.note_key(now);
        self.reread(now, rng);
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<MemberEvent>>, Fatal> {
        Ok(self.desk.outputs.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        let due = match &self.standing {
            Standing::Outside { tries: 1.., due, .. } => Some(*due),
            _ => {
                let doubt = self.doubt.as_ref().map(|doubt| doubt.due);
                let behind = self.behind.as_ref().map(|behind| behind.due);
                [behind, doubt, self.notice_due, self.unread_due].into_iter().flatten().min()
            }
        };
        due.into_iter().chain(self.succession_due()).min()
    }
}

impl Standing {
    const fn outside() -> Self {
        Self::Outside {
            attempt: [0; 8],
            asked: Vec::new(),
            due: u64::MAX,
            tries: 0,
            replaced: 0,
            hint: Hint::NoAnswer,
            early: EarlyMessages::new(),
        }
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

/// After this many requests of an attempt, some 14 s, the application is told.
const HINT_AFTER: u32 = 3;

/// How many offers of another place an attempt follows: one, and another if the service restarts.
const OFFERS: u32 = 2;

/// How long a member that asked for the service's founding does not ask again, at first and at most,
/// ns. Recorded notices come as often as an attacker likes.
const FIRST_DOUBT: u64 = 15 * SECOND;
const LAST_DOUBT: u64 = 240 * SECOND;

/// How long a missed message may still be on its way, ns.
const PATIENCE: u64 = 200 * MILLISECOND;

/// How long the retained notice may be on its way after a connection, ns. The wait is up to twice as
/// long, because a broker that has lost the notice has lost it for all members.
const NOTICE_PATIENCE: u64 = 5 * SECOND;

/// How long the key of a group message may be on its way, ns.
const UNREAD_PATIENCE: u64 = 3 * SECOND;

/// How long the message with the first key may still be on its way if no notice was seen, ns.
const PATIENCE_WITHOUT_KEY: u64 = 20 * SECOND;

/// The number of requests to catch up before the member joins again, which take some 100 s. An
/// overloaded service would only have more work if all members joined again at once.
const CATCH_UPS: u32 = 8;

/// The maximum number of messages to keep until the welcome arrives.
const EARLY: usize = 64;

/// The maximum number of group messages to keep until their key arrives.
const UNREAD: usize = 256;

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.settings.name)
            .field("place", &self.place)
            .field("epoch", &self.group_key().map(|(epoch, _)| epoch))
            .finish_non_exhaustive()
    }
}
