//! Checks requests to join, and admits devices.

use alloc::borrow::ToOwned;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use groupkey::{MemberId, Operation};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::applicant::Applicant;
use super::error::OperationError;
use super::happened::{Happened, Why};
use super::log::{Admission, Entry};
use super::roster::Standing;
use super::{Enrolment, Service, has};
use crate::generator::Generator;
use crate::join::{Body, Place, Request, Welcome};
use crate::keyring::Secret;
use crate::parties::Order;
use crate::runtime::{Fatal, Output, SECOND, after};
use crate::store::StoreError;
use crate::topics::is_name;

impl Service {
    /// Checks a request to join. Cheap checks come first, and the number of proofs and signatures
    /// that are verified in vain is limited.
    pub(super) fn apply(&mut self, request: Request, now: u64) {
        let body = &request.body;
        if body.context != self.policy.prefix || !is_name(&body.name) {
            self.counters.malformed += 1;
            return;
        }
        let record = self.roster.record(&body.name).map(|(_, record)| record);
        if record.is_some_and(|record| record.standing.is_barred()) {
            self.counters.refused += 1;
            self.tell_refusal(&body.name, Why::Barred, now);
            return;
        }
        let waiting = self.waiting.iter().position(|other| other.name() == body.name);
        let stamps = [
            record.map(|record| record.stamp),
            waiting.map(|index| self.waiting[index].request.body.stamp),
            self.stamp_for_the_successor(&body.name),
        ];
        let last = stamps.into_iter().flatten().max();
        if let Some(last) = last.filter(|last| body.stamp <= *last) {
            self.counters.replayed += 1;
            // A repetition of the last request comes from the broker.
            if body.stamp < last {
                self.tell_refusal(&body.name, Why::Replayed, now);
            }
            return;
        }
        let Some((shared, token)) = self.permission(&request) else {
            self.counters.refused += 1;
            self.tell_refusal(&body.name, Why::NoPermission, now);
            return;
        };
        if !self.applications.allow(now) {
            self.counters.overflowed += 1;
            return;
        }
        let proves = shared.as_ref().is_none_or(|shared| request.proves(shared));
        if !proves || !request.is_signed() {
            self.applications.failed();
            match proves {
                true => self.counters.forged += 1,
                false => self.counters.refused += 1,
            }
            self.tell_refusal(&body.name, Why::NoPermission, now);
            return;
        }
        let number = self.number_for(&request.body.name);
        let place = Place::new(number, &self.instance);
        if self.is_for_the_successor(number, request.body.place) {
            self.ask_for_the_successor(number, Applicant { request, shared, token });
            return;
        }
        if request.body.place != Some(place) {
            self.counters.taken += 1;
            if !self.is_answered(&request, now) {
                let offer = request.offer((place, self.epoch().0), &self.identity, shared.as_ref());
                self.publish_unstored(self.topics.welcome(&request.body.name), offer, false);
            }
            return;
        }
        if self.waits_for_its_welcome(&request) {
            self.roster.at(number).into_iter().for_each(|record| record.stamp = request.body.stamp);
            self.welcome_again(number, &request, now);
            return;
        }
        // Whoever asks to join is no longer the member that asked for a place in the successor.
        self.forget_asked(number);
        let applicant = Applicant { request, shared, token };
        match waiting {
            Some(index) => self.waiting[index] = applicant,
            None if self.waiting.len() >= self.policy.limits.waiting => {
                self.counters.overflowed += 1;
                self.tell_refusal(applicant.name(), Why::Full, now);
                return;
            }
            None => {
                let name = applicant.name().to_owned();
                self.waiting.push(applicant);
                if self.group_key().is_none() {
                    let (waiting, founders) = (self.waiting.len(), self.policy.founders.max(2));
                    let waits = Happened::Waits { name, waiting, founders };
                    self.outputs.push_back(Output::Notice(waits));
                }
            }
        }
        self.counters.taken += 1;
        let due = after(now, self.policy.batch);
        self.admission_due = self.admission_due.or(Some(due));
    }

    /// Tells the operator about a refused device, unless it did so recently. A stranger must not be
    /// able to fill logs or memory.
    fn tell_refusal(&mut self, name: &str, why: Why, now: u64) {
        let is_fresh = |at: &u64| now < at.saturating_add(TOLD_AGAIN);
        let key = (name.to_owned(), why);
        if self.refusals.get(&key).is_some_and(is_fresh) {
            return;
        }
        if self.refusals.len() >= REFUSALS_TOLD {
            self.refusals.retain(|_, at| is_fresh(at));
        }
        if self.refusals.len() < REFUSALS_TOLD {
            self.refusals.insert(key, now);
            let refused = Happened::Refused { name: name.to_owned(), why };
            self.outputs.push_back(Output::Notice(refused));
        }
    }

    /// Returns whether the device was admitted in this attempt, and may only have missed its
    /// welcome.
    fn waits_for_its_welcome(&self, request: &Request) -> bool {
        let body = &request.body;
        self.roster.record(&body.name).is_some_and(|(_, record)| {
            record.standing.is_current() && record.attempt == *body.attempt
        })
    }

    /// Publishes the welcome again. The welcome answers an earlier request of the same attempt.
    fn welcome_again(&mut self, member: u32, request: &Request, now: u64) {
        let Some(welcome) = self.welcomes.of(member).map(<[u8]>::to_vec) else {
            self.counters.refused += 1;
            return;
        };
        self.counters.taken += 1;
        if !self.is_answered(request, now) {
            self.publish_unstored(self.topics.welcome(&request.body.name), welcome, false);
        }
    }

    /// Returns whether the last answer may still be on its way. If not, notes that an answer leaves
    /// now. On a slow network, devices ask again before an answer arrives, and more answers would
    /// add to the delay.
    fn is_answered(&mut self, request: &Request, now: u64) -> bool {
        let last = self.answers.get(&request.body.name);
        let is_answered = last.is_some_and(|(attempt, at)| {
            *attempt == *request.body.attempt && now < at.saturating_add(ANSWER_AGAIN)
        });
        if !is_answered {
            self.note_answer(request, now);
        }
        is_answered
    }

    fn note_answer(&mut self, request: &Request, now: u64) {
        if self.answers.len() >= self.policy.limits.waiting {
            // A forgotten device gets one answer more than necessary.
            self.answers.clear();
        }
        let answer = (request.body.attempt.into(), now);
        self.answers.insert(request.body.name.clone(), answer);
    }

    /// Returns what permits a device to join, if it proves it: the secret that it must know, and the
    /// hash of its token. Returns `None` if nothing permits it. Costs no verification.
    fn permission(&self, request: &Request) -> Option<(Option<Secret>, Option<[u8; 32]>)> {
        let body = &request.body;
        if let Some(key) = self.policy.keys.get(&body.name) {
            return Some((Some(key.clone()), None));
        }
        if let Some(id) = request.claims() {
            let token = self.policy.tokens.get(*self.tokens.get(&id)?)?;
            let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
            // Only the device that used a token may use it again.
            let returns = self.roster.record(&body.name).is_some_and(|(_, record)| {
                record.token == Some(hash) && record.identity == *body.identity
            });
            let mut others = self.waiting.iter().filter(|other| other.name() != body.name);
            let spent = self.used_tokens.contains(&hash) && !returns
                || others.any(|other| other.token == Some(hash));
            let may_have_the_name = self.is_its_name(body).unwrap_or_else(|| {
                let before = self.waiting.iter().find(|other| other.name() == body.name);
                before.is_none_or(|before| {
                    before.token == Some(hash) || before.request.body.identity == body.identity
                })
            });
            return (may_have_the_name && !spent).then(|| (Some(token.clone()), Some(hash)));
        }
        (self.is_its_name(body) == Some(true)).then_some((None, None))
    }

    /// Returns whether the name belongs to the identity that asks for it, or `None` if the name is
    /// free.
    fn is_its_name(&self, body: &Body) -> Option<bool> {
        let record = self.roster.record(&body.name).map(|(_, record)| record);
        let is_free = record.is_none_or(|record| record.standing == Standing::Readmitted);
        let listed = self.policy.identities.get(&body.name).filter(|_| is_free);
        let owner = listed.or_else(|| record.map(|record| &record.identity))?;
        let is_owner = bool::from(owner.ct_eq(&*body.identity));
        (is_owner || listed.is_some() || !is_free).then_some(is_owner)
    }

    /// Admits the waiting devices, as far as that is possible now.
    pub(super) fn admit(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        match self.ready() {
            Err(Fatal::Store(StoreError::Full { .. })) => {
                self.counters.overflowed += self.waiting.len() as u64;
                self.waiting.clear();
                return Ok(());
            }
            ready => ready?,
        }
        let founding = self.group_key().is_none();
        if founding && self.waiting.len() < self.policy.founders.max(2) {
            return Ok(());
        }
        let (_, most) = self.parties.form().configuration.scheme().members;
        let room = (most as usize).saturating_sub(self.roster.current());
        let at_once = if founding { self.waiting.len() } else { AT_ONCE };
        let is_current = |service: &Self, applicant: &Applicant| {
            let record = service.roster.record(applicant.name());
            record.is_some_and(|(_, record)| record.standing.is_current())
        };
        // A member that asks to join has lost its state, and is removed first. Such members are
        // handled last, because a member of a group of two can leave only after another device has
        // joined.
        let may_come_at = |service: &Self, applicant: &Applicant| {
            let record = service.roster.record(applicant.name()).map(|(_, record)| record);
            let member = record.filter(|record| record.standing.is_current());
            member.map_or(0, |member| member.may_return_at(now))
        };
        let waiting = core::mem::take(&mut self.waiting);
        let (mut waiting, patient): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|applicant| may_come_at(self, applicant) <= now);
        waiting.sort_by_key(|applicant| is_current(self, applicant));
        let later = waiting.split_off(waiting.len().min(at_once).min(room.max(1)));
        let (returning, fresh): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|applicant| is_current(self, applicant));
        let (mut left_over, mut stuck) = (later, Vec::new());
        if !fresh.is_empty() && room > 0 {
            self.take_in(fresh, now, rng)?;
        }
        for applicant in returning {
            let Some((member, _)) = self.roster.record(applicant.name()) else { continue };
            match self.order(Order::Remove(member), now, rng) {
                Ok(_) => {
                    self.roster.note_return(member, now);
                    self.take_in(vec![applicant], now, rng)?;
                }
                Err(OperationError::Fatal(fatal)) => return Err(fatal),
                Err(_) => {
                    self.tell_refusal(applicant.name(), Why::TooFew, now);
                    stuck.push(applicant);
                }
            }
        }
        for member in self.roster.barred_members() {
            if let Err(OperationError::Fatal(fatal)) = self.remove(member, now, rng) {
                return Err(fatal);
            }
        }
        let retry = after(now, self.policy.batch.max(RETRY));
        let returns = patient.iter().map(|applicant| may_come_at(self, applicant)).min();
        self.admission_due =
            (!left_over.is_empty()).then_some(retry).into_iter().chain(returns).min();
        left_over.extend(patient);
        // These members can leave only when another device joins.
        left_over.extend(stuck);
        self.waiting = left_over;
        self.commit(now)
    }

    /// Returns the number of a name: its former number, the offered number, or the next free
    /// number.
    fn number_for(&mut self, name: &str) -> u32 {
        if let Some((number, _)) = self.roster.record(name) {
            return number;
        }
        let highest = self.offers.values().copied().max();
        let next = self.roster.next_number().max(highest.map_or(0, |number| number + 1));
        if self.offers.len() >= self.policy.limits.waiting {
            // A device that has not used its offer gets another one.
            self.offers.clear();
        }
        *self.offers.entry(name.to_owned()).or_insert(next)
    }

    pub(super) fn admit_to_roster(&mut self, admission: &Admission) {
        self.parties.keyring.learn(MemberId(admission.member).into(), &admission.identity);
        self.used_tokens.extend(admission.token.map(<[u8; 32]>::from));
        self.roster.admit(admission);
    }

    /// Enrols devices, sends their welcomes, and makes them members.
    fn take_in(
        &mut self,
        applicants: Vec<Applicant>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let mut members = Vec::new();
        for applicant in &applicants {
            let body = &applicant.request.body;
            let number = self.number_for(&body.name);
            self.offers.remove(&body.name);
            let admission = Admission {
                member: number,
                name: body.name.clone(),
                identity: body.identity,
                stamp: body.stamp,
                token: applicant.token.map(Into::into),
                attempt: body.attempt,
            };
            self.admit_to_roster(&admission);
            self.log(&Entry::Admitted(admission));
            members.push(number);
        }
        // From a stream of its own: what the controller draws is what a simulated one would draw.
        let mut channel_secret = Zeroizing::new([0; 32]);
        Generator::stream(rng, CHANNEL_STREAM).fill_bytes(&mut *channel_secret);
        let enrolment = match self.order(Order::Enroll(members.clone()), now, rng) {
            Ok(enrolment) => enrolment,
            Err(OperationError::Fatal(fatal)) => return Err(fatal),
            Err(_) => {
                self.counters.refused += 1;
                return Ok(());
            }
        };
        self.welcome(&applicants, &members, &enrolment, &channel_secret, now);
        for (applicant, &member) in applicants.iter().zip(&members) {
            let name = applicant.name().to_owned();
            self.told.push(Happened::Admitted { name, member: MemberId(member) });
        }
        self.make_members(members, now, rng)
    }

    /// Publishes the welcomes of devices that were enrolled.
    pub(super) fn welcome(
        &mut self,
        applicants: &[Applicant],
        members: &[u32],
        enrolment: &[Enrolment],
        channel_secret: &[u8; 32],
        now: u64,
    ) {
        for (applicant, &member) in applicants.iter().zip(members) {
            let own = enrolment.iter().filter(|(to, _)| to.0 == member);
            let welcome = Welcome {
                member,
                form: self.parties.form().write(),
                mac: self.mac.as_ref().map(|key| (*key.as_bytes()).into()),
                controllers: self.controllers.clone(),
                enrolment: own.map(|(_, bytes)| bytes.to_vec().into()).collect(),
                founded: self.founded,
                instance: self.instance,
                epoch: self.epoch().0,
            };
            let ephemeral = applicant.request.ephemeral(channel_secret);
            let shared = applicant.shared.as_ref();
            let answer = applicant.request.answer(&welcome, &self.identity, shared, &ephemeral);
            if let Some(answer) = answer {
                self.welcomes.keep(member, answer.clone());
                self.note_answer(&applicant.request, now);
                self.publish(self.topics.welcome(applicant.name()), answer, false);
            }
        }
    }

    fn make_members(
        &mut self,
        members: Vec<u32>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let orders = if self.group_key().is_none() {
            vec![Order::Create(members)]
        } else if members.len() > 1 && has(self.parties.form(), Operation::Batch) {
            vec![Order::Batch(members, Vec::new())]
        } else {
            members.into_iter().map(Order::Add).collect()
        };
        for order in orders {
            match self.order(order, now, rng) {
                Ok(_) => {}
                Err(OperationError::Fatal(fatal)) => return Err(fatal),
                Err(_) => self.counters.refused += 1,
            }
        }
        Ok(())
    }
}

/// The maximum number of devices that one admission adds to a running group. It keeps an operation
/// short.
const AT_ONCE: usize = 16;

/// How long an answer may be on its way, ns. Devices ask after 2 s, 6 s, 14 s, and then every 16 s.
const ANSWER_AGAIN: u64 = 10_000_000_000;

/// The operator is told of each device and reason once in this time, ns. `REFUSALS_TOLD` is the
/// maximum number of these reports.
const TOLD_AGAIN: u64 = 60 * SECOND;
const REFUSALS_TOLD: usize = 100;

/// How long to wait before the next attempt to admit devices.
const RETRY: Duration = Duration::from_millis(500);

/// The stream of randomness for the ephemeral keys of welcomes.
pub(super) const CHANNEL_STREAM: u64 = 1 << 62;
