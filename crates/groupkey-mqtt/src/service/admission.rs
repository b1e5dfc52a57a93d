//! The devices that ask to join: what permits them, the places that were offered to them, and who
//! waits.
//!
//! What strangers can fill has a limit each, which [`Policy`] has.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::allowance::verifications;
use super::event::RefusalReason;
use super::roster::{DeviceRecord, DeviceRoster, DeviceStanding};
use super::waiting_list::WaitingList;
use super::welcomes::Welcomes;
use crate::join::{JoinRequest, JoinRequestBody, secret_id};
use crate::keyring::Secret;
use crate::policy::Policy;
use crate::rate_limit::RateLimit;
use crate::runtime::SECOND;

/// A device that may join.
pub(super) struct Applicant {
    pub(super) request: JoinRequest,
    /// The secret that the device proved to know.
    pub(super) shared: Option<Secret>,
    pub(super) token: Option<[u8; 32]>,
}

/// What permits a device to join, if the device proves it.
#[derive(Debug)]
pub(super) struct Permission {
    /// The secret that the device must know. Without one, its identity suffices.
    pub(super) shared: Option<Secret>,
    pub(super) token: Option<[u8; 32]>,
}

/// What becomes of a device that wants to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    NoRoom,
    /// It waited before.
    StillWaits,
    Waits,
}

pub(super) struct AdmissionBatch {
    /// Devices that are no members.
    pub(super) fresh: Vec<Applicant>,
    /// Members that lost their state. They leave before they join again.
    pub(super) returning: Vec<Applicant>,
    /// When the next attempt to admit devices takes place, ns.
    pub(super) retry: Option<u64>,
}

/// The devices that ask to join.
pub(super) struct Admission {
    /// The place of each token in the policy, by the name that requests have for it.
    tokens: BTreeMap<[u8; 8], usize>,
    /// Numbers that were offered to devices and are not used yet.
    offers: BTreeMap<String, u32>,
    /// One more than the highest number that was offered.
    next_offer: u32,
    /// The attempt and the time (ns) of the last answer to each device.
    answers: BTreeMap<String, ([u8; 8], u64)>,
    welcomes: Welcomes,
    waiting: WaitingList,
    /// When waiting devices are admitted, ns.
    due: Option<u64>,
    /// Whether a group of two is founded anew: it must not wait for more.
    founds_with_two: bool,
    /// When the operator learned of each refused device and reason, ns.
    refusals: BTreeMap<(String, RefusalReason), u64>,
    /// How many requests may still be verified in vain. A flood of them keeps no member from
    /// catching up.
    verifications: RateLimit,
}

impl Admission {
    pub(super) fn new(policy: &Policy) -> Self {
        Self {
            tokens: policy.tokens.iter().map(secret_id).zip(0..).collect(),
            offers: BTreeMap::new(),
            next_offer: 0,
            answers: BTreeMap::new(),
            welcomes: Welcomes::default(),
            waiting: WaitingList::default(),
            due: None,
            founds_with_two: false,
            refusals: BTreeMap::new(),
            verifications: verifications(),
        }
    }

    /// Returns what permits a device to join, or `None` if nothing does. Costs no verification.
    pub(super) fn permission(
        &self,
        request: &JoinRequest,
        policy: &Policy,
        roster: &DeviceRoster,
    ) -> Option<Permission> {
        let body = &request.body;
        if let Some(key) = policy.keys.get(&body.name) {
            return Some(Permission { shared: Some(key.clone()), token: None });
        }
        let is_its_name = is_its_name(body, policy, roster);
        let Some(id) = request.claims() else {
            let permission = Permission { shared: None, token: None };
            return (is_its_name == Some(true)).then_some(permission);
        };
        let token = policy.tokens.get(*self.tokens.get(&id)?)?;
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        // Only the device that used a token may use it again.
        let returns = roster.record(&body.name).is_some_and(|(_, record)| {
            record.token == Some(hash) && record.identity == *body.identity
        });
        let waits = self.waiting.with_token(&hash);
        let spent = roster.has_used(&hash) && !returns
            || waits.is_some_and(|other| other.name() != body.name);
        let may_have_the_name = is_its_name.unwrap_or_else(|| {
            self.waiting(&body.name).is_none_or(|before| {
                before.token == Some(hash) || before.request.body.identity == body.identity
            })
        });
        let permission = || Permission { shared: Some(token.clone()), token: Some(hash) };
        (may_have_the_name && !spent).then(permission)
    }

    pub(super) const fn may_verify(&mut self, now: u64) -> bool {
        self.verifications.allows(now)
    }

    /// Counts a request that was worthless.
    pub(super) const fn failed(&mut self) {
        self.verifications.failed();
    }

    /// Returns the number of a device: its former number, the offered number, or the next free number.
    /// Other hardware under its name has another one.
    pub(super) fn number_for(
        &mut self,
        body: &JoinRequestBody,
        roster: &DeviceRoster,
        limit: usize,
    ) -> u32 {
        let name = &body.name;
        let record = roster.record(name);
        if let Some((number, _)) = record.filter(|(_, record)| record.identity == *body.identity) {
            return number;
        }
        if let Some(&offered) = self.offers.get(name) {
            return offered;
        }
        if self.offers.len() >= limit {
            // A device that has not used its offer gets another one.
            self.offers.clear();
        }
        let number = roster.next_number().max(self.next_offer);
        self.next_offer = number + 1;
        self.offers.insert(name.to_owned(), number);
        number
    }

    /// Forgets the number that was offered to a device: the device uses it.
    pub(super) fn use_offer(&mut self, name: &str) {
        self.offers.remove(name);
    }

    /// Returns whether the last answer may still be on its way. If not, notes that an answer leaves
    /// now. On a slow network, devices ask again before an answer arrives, and more answers would
    /// add to the delay.
    pub(super) fn is_answered(&mut self, request: &JoinRequest, limit: usize, now: u64) -> bool {
        let last = self.answers.get(&request.body.name);
        let is_answered = last.is_some_and(|(attempt, at)| {
            *attempt == *request.body.attempt && now < at.saturating_add(ANSWER_AGAIN)
        });
        if !is_answered {
            self.note_answer(request, limit, now);
        }
        is_answered
    }

    /// Returns whether a barred device may be told so now, and notes that it is: an evicted device that
    /// asks in ever new attempts costs the service one check in a while.
    pub(super) fn may_tell_barred(
        &mut self,
        request: &JoinRequest,
        limit: usize,
        now: u64,
    ) -> bool {
        let last = self.answers.get(&request.body.name);
        let may = last.is_none_or(|(_, at)| now >= at.saturating_add(ANSWER_AGAIN));
        if may {
            self.note_answer(request, limit, now);
        }
        may
    }

    /// Keeps a member's welcome, which leaves now.
    pub(super) fn answer(
        &mut self,
        request: &JoinRequest,
        (member, welcome): (u32, Vec<u8>),
        limit: usize,
        now: u64,
    ) {
        self.welcomes.keep(member, welcome);
        self.note_answer(request, limit, now);
    }

    /// Returns a member's last welcome, if it is still kept.
    pub(super) fn welcome_of(&self, member: u32) -> Option<Vec<u8>> {
        self.welcomes.of(member).map(<[u8]>::to_vec)
    }

    /// Forgets all welcomes: they are to another group.
    pub(super) fn forget_welcomes(&mut self) {
        self.welcomes = Welcomes::default();
    }

    /// Returns whether the operator hears of a refused device: not if that was so recently. A
    /// stranger must not be able to fill logs or memory.
    pub(super) fn is_worth_reporting(&mut self, name: &str, why: RefusalReason, now: u64) -> bool {
        let is_fresh = |at: &u64| now < at.saturating_add(REPORTED_AGAIN);
        let key = (name.to_owned(), why);
        if self.refusals.get(&key).is_some_and(is_fresh) {
            return false;
        }
        if self.refusals.len() >= REFUSALS {
            self.refusals.retain(|_, at| is_fresh(at));
        }
        let has_room = self.refusals.len() < REFUSALS;
        if has_room {
            self.refusals.insert(key, now);
        }
        has_room
    }

    /// Lets a device wait, in place of its earlier request.
    pub(super) fn wait(&mut self, applicant: Applicant, limit: usize) -> Waiting {
        let waited = self.waiting.of(applicant.name()).is_some();
        if !waited && self.waiting.len() >= limit {
            return Waiting::NoRoom;
        }
        self.waiting.put(applicant);
        if waited { Waiting::StillWaits } else { Waiting::Waits }
    }

    pub(super) fn waiting(&self, name: &str) -> Option<&Applicant> {
        self.waiting.of(name)
    }

    /// Returns how many devices wait.
    pub(super) const fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Lets a device wait no longer.
    pub(super) fn dismiss(&mut self, name: &str) {
        self.waiting.remove(name);
    }

    /// Lets no device wait any longer. Returns how many did.
    pub(super) fn dismiss_all(&mut self) -> usize {
        self.waiting.take().len()
    }

    pub(super) const fn found_with_two(&mut self) {
        self.founds_with_two = true;
    }

    /// Returns whether two devices found the group, whatever the policy says.
    pub(super) const fn founds_with_two(&self) -> bool {
        self.founds_with_two
    }

    /// Returns when waiting devices are admitted, ns.
    pub(super) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// Admits waiting devices at this time, or earlier if that is due.
    pub(super) fn schedule(&mut self, at: u64) {
        self.due.get_or_insert(at);
    }

    pub(super) const fn put_off(&mut self, until: u64) {
        self.due = Some(until);
    }

    /// Forgets that an admission is due, because it takes place.
    pub(super) const fn begin(&mut self) {
        self.due = None;
    }

    /// Takes the devices that can join now: `at_once` at most, and no more than there is room for.
    ///
    /// A member that asks to join has lost its state, and is removed first. Such members come last,
    /// because a member of a group of two can leave only after another device has joined.
    pub(super) fn take(
        &mut self,
        roster: &DeviceRoster,
        (at_once, room): (usize, usize),
        (now, retry): (u64, u64),
    ) -> AdmissionBatch {
        let member = |applicant: &Applicant| {
            let record = roster.record(applicant.name()).map(|(_, record)| record);
            record.filter(|record| record.standing.is_current())
        };
        let may_come_at = |applicant: &Applicant| {
            member(applicant).map_or(0, |it: &DeviceRecord| it.may_return_at(now))
        };
        let waiting = self.waiting.take();
        let (mut waiting, patient): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|applicant| may_come_at(applicant) <= now);
        waiting.sort_by_key(|applicant| member(applicant).is_some());
        let later = waiting.split_off(waiting.len().min(at_once).min(room.max(1)));
        let (returning, mut fresh): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|applicant| member(applicant).is_some());
        if room == 0 {
            fresh.clear();
        }
        let returns = patient.iter().map(may_come_at).min();
        let retry = (!later.is_empty()).then_some(retry).into_iter().chain(returns).min();
        self.waiting.extend(later.into_iter().chain(patient));
        AdmissionBatch { fresh, returning, retry }
    }

    /// Takes the devices that are no members, `at_once` at most. The others wait until `later`.
    pub(super) fn take_fresh(
        &mut self,
        roster: &DeviceRoster,
        at_once: usize,
        later: u64,
    ) -> Vec<Applicant> {
        let is_fresh = |applicant: &Applicant| {
            let record = roster.record(applicant.name());
            record.is_none_or(|(_, record)| !record.standing.is_current())
        };
        let (mut fresh, mut others): (Vec<_>, Vec<_>) =
            self.waiting.take().into_iter().partition(is_fresh);
        others.extend(fresh.split_off(fresh.len().min(at_once)));
        self.due = self.due.filter(|_| !others.is_empty()).map(|due| due.max(later));
        self.waiting.extend(others);
        fresh
    }

    /// Ends an admission. The members `stuck` can leave only when another device joins.
    pub(super) fn end(&mut self, retry: Option<u64>, stuck: Vec<Applicant>) {
        self.waiting.extend(stuck);
        self.due = retry;
    }

    fn note_answer(&mut self, request: &JoinRequest, limit: usize, now: u64) {
        if self.answers.len() >= limit {
            // A forgotten device gets one answer more than necessary.
            self.answers.clear();
        }
        let answer = (request.body.attempt.into(), now);
        self.answers.insert(request.body.name.clone(), answer);
    }
}

impl Applicant {
    pub(super) fn name(&self) -> &str {
        &self.request.body.name
    }
}

/// Returns whether the name belongs to the identity that asks for it, or `None` if the name is free.
fn is_its_name(body: &JoinRequestBody, policy: &Policy, roster: &DeviceRoster) -> Option<bool> {
    let record = roster.record(&body.name).map(|(_, record)| record);
    let is_free = record.is_none_or(|record| record.standing == DeviceStanding::Readmitted);
    let listed = policy.identities.get(&body.name).filter(|_| is_free);
    let owner = listed.or_else(|| record.map(|record| &record.identity))?;
    let is_owner = bool::from(owner.ct_eq(&*body.identity));
    (is_owner || listed.is_some() || !is_free).then_some(is_owner)
}

/// How long an answer may be on its way, ns. Devices ask after 2 s, 6 s, 14 s, and then every 16 s.
const ANSWER_AGAIN: u64 = 10_000_000_000;

/// The operator hears of each device and reason once in this time, ns. `REFUSALS` is the maximum
/// number of these reports.
const REPORTED_AGAIN: u64 = 60 * SECOND;
const REFUSALS: usize = 100;

#[cfg(test)]
pub(super) mod tests {
    use groupkey::catalogue;

    use super::super::log_entry;
    use super::*;
    use crate::GroupForm;
    use crate::join::{JoinCredentials, ask, hashed};
    use crate::local_parties::OwnedCommand;

    fn policy() -> Policy {
        Policy::of(GroupForm::of(catalogue::scheme("skdc").unwrap()))
    }

    fn request(name: &str, identity: u8, shared: Option<&Secret>) -> JoinRequest {
        let identity = Secret::from_bytes([identity; 32]);
        let credentials = JoinCredentials { prefix: "p", name, identity: &identity, shared };
        JoinRequest::read(&ask(credentials, [1; 8], &[2; 32], 3, None, false, None).bytes).unwrap()
    }

    pub(in super::super) fn applicant(name: &str) -> Applicant {
        Applicant { request: request(name, 1, None), shared: None, token: None }
    }

    fn members(names: &[&str]) -> DeviceRoster {
        let mut roster = DeviceRoster::default();
        for (member, name) in (0..).zip(names) {
            roster.admit(&log_entry::AdmissionEntry {
                member,
                name: (*name).to_owned(),
                identity: Secret::from_bytes([1; 32]).public().into(),
                stamp: 0,
                token: None,
                attempt: [0; 8].into(),
            });
            roster.note(&OwnedCommand::Add(member));
        }
        roster
    }

    fn names(applicants: &[Applicant]) -> Vec<&str> {
        applicants.iter().map(Applicant::name).collect()
    }

    #[test]
    fn a_token_is_for_one_device() {
        let token = Secret::from_bytes([9; 32]);
        let policy = Policy { tokens: vec![token.clone()], ..policy() };
        let mut admission = Admission::new(&policy);
        let roster = DeviceRoster::default();
        let permission = |admission: &Admission, name, identity| {
            admission.permission(&request(name, identity, Some(&token)), &policy, &roster)
        };
        let first = permission(&admission, "a", 1).unwrap();
        let request_of_a = request("a", 1, Some(&token));
        let Permission { shared, token: hash } = first;
        let waiting = Applicant { request: request_of_a, shared, token: hash };
        assert_eq!(admission.wait(waiting, 10), Waiting::Waits);
        assert!(permission(&admission, "b", 2).is_none(), "another device waits with it");
        assert!(permission(&admission, "a", 2).is_some(), "who has the token has the name");
        let unknown = request("a", 1, Some(&Secret::from_bytes([8; 32])));
        assert!(admission.permission(&unknown, &policy, &roster).is_none());
        assert!(admission.permission(&request("a", 1, None), &policy, &roster).is_none());
    }

    #[test]
    fn numbers_are_offered_once_and_members_keep_theirs() {
        let mut admission = Admission::new(&policy());
        let roster = members(&["a", "b"]);
        let mut number = |name| admission.number_for(&request(name, 1, None).body, &roster, 3);
        assert_eq!([number("b"), number("c"), number("d"), number("c")], [1, 2, 3, 2]);
        // With three offers there is no more room: all are forgotten, and no number comes twice.
        assert_eq!([number("e"), number("f"), number("c")], [4, 5, 6]);
    }

    /// A certificate of the number says which key speaks for it.
    #[test]
    fn other_hardware_under_a_name_has_another_number() {
        let mut admission = Admission::new(&policy());
        let mut roster = members(&["a", "b"]);
        let mut number = |roster: &DeviceRoster, identity| {
            admission.number_for(&request("b", identity, None).body, roster, 3)
        };
        assert_eq!([number(&roster, 1), number(&roster, 2)], [1, 2]);
        let admission = Applicant { request: request("b", 2, None), shared: None, token: None };
        assert_eq!(roster.admit(&admission.as_member(2)), Some(1));
        assert_eq!((number(&roster, 2), roster.next_number(), roster.current()), (2, 3, 1));
        assert!(roster.records(1).all(|(number, _)| number == 2), "the former one is forgotten");
    }

    #[test]
    fn members_that_lost_their_state_come_after_the_others_and_full_groups_take_none() {
        let roster = members(&["a", "b"]);
        let mut admission = Admission::new(&policy());
        for name in ["a", "c", "d", "e"] {
            assert_eq!(admission.wait(applicant(name), 4), Waiting::Waits);
        }
        assert_eq!(admission.wait(applicant("f"), 4), Waiting::NoRoom);
        assert_eq!(admission.wait(applicant("a"), 4), Waiting::StillWaits);
        let batch = admission.take(&roster, (2, 9), (0, 77));
        assert_eq!((names(&batch.fresh), names(&batch.returning)), (vec!["c", "d"], vec![]));
        assert_eq!((batch.retry, admission.count()), (Some(77), 2));
        let batch = admission.take(&roster, (9, 9), (0, 77));
        assert_eq!((names(&batch.fresh), names(&batch.returning)), (vec!["e"], vec!["a"]));
        assert_eq!(batch.retry, None);
        admission.end(Some(88), batch.returning);
        assert_eq!((admission.due(), admission.count()), (Some(88), 1));
        assert_eq!(admission.wait(applicant("c"), 4), Waiting::Waits);
        assert!(admission.take(&roster, (9, 0), (0, 0)).fresh.is_empty(), "there is no room");
    }

    #[test]
    fn the_operator_hears_of_a_refusal_once_a_minute_and_of_a_hundred_at_most() {
        let mut admission = Admission::new(&policy());
        assert!(admission.is_worth_reporting("a", RefusalReason::Full, 0));
        assert!(!admission.is_worth_reporting("a", RefusalReason::Full, REPORTED_AGAIN - 1));
        assert!(admission.is_worth_reporting("a", RefusalReason::Barred, 0));
        assert!(admission.is_worth_reporting("a", RefusalReason::Full, REPORTED_AGAIN));
        let worth = |number: usize| {
            admission.is_worth_reporting(&format!("{number}"), RefusalReason::Full, 1)
        };
        assert_eq!((0..200).map(worth).filter(|it| *it).count(), REFUSALS - 2);
    }

    #[test]
    fn an_answer_on_its_way_is_not_repeated() {
        let mut admission = Admission::new(&policy());
        let request = request("a", 1, None);
        assert!(!admission.is_answered(&request, 9, 0));
        assert!(admission.is_answered(&request, 9, ANSWER_AGAIN - 1));
        assert!(!admission.is_answered(&request, 9, ANSWER_AGAIN));
    }

    #[test]
    fn a_number_that_was_used_is_offered_to_nobody_else_and_all_that_wait_are_counted() {
        let mut admission = Admission::new(&policy());
        let none = DeviceRoster::default();
        let number = |admission: &mut Admission, name| {
            admission.number_for(&request(name, 1, None).body, &none, 9)
        };
        assert_eq!(number(&mut admission, "a"), 0);
        assert_eq!(number(&mut admission, "b"), 1);
        admission.use_offer("a");
        assert_eq!(number(&mut admission, "a"), 2, "its place in the group is gone");
        for name in ["a", "b"] {
            admission.wait(applicant(name), 9);
        }
        assert_eq!((admission.dismiss_all(), admission.count()), (2, 0));
    }

    #[test]
    fn a_used_token_is_for_the_device_that_used_it() {
        let token = Secret::from_bytes([9; 32]);
        let policy = Policy { tokens: vec![token.clone()], ..policy() };
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let (admission, mut roster) = (Admission::new(&policy), members(&["a"]));
        roster.admit(&log_entry::AdmissionEntry {
            member: 1,
            name: "b".to_owned(),
            identity: Secret::from_bytes([1; 32]).public().into(),
            stamp: 0,
            token: Some(hash.into()),
            attempt: [0; 8].into(),
        });
        for (name, is_permitted) in [("a", false), ("b", true), ("c", false)] {
            let permission =
                admission.permission(&request(name, 1, Some(&token)), &policy, &roster);
            assert_eq!(permission.is_some(), is_permitted, "{name}");
        }
    }

    /// The request names its token, so the service computes the same for it among 1 and among 4,000.
    #[test]
    fn unused_tokens_cost_a_request_nothing() {
        let roster = DeviceRoster::default();
        let token = |number: u16| {
            let mut bytes = [9; 32];
            bytes[..2].copy_from_slice(&number.to_be_bytes());
            Secret::from_bytes(bytes)
        };
        let [cost, among_many] = [1, 4_000].map(|count| {
            let policy = Policy { tokens: (0..count).map(token).collect(), ..policy() };
            let admission = Admission::new(&policy);
            let request = request("a", 1, Some(&token(count - 1)));
            let before = hashed::count();
            let permission = admission.permission(&request, &policy, &roster).unwrap();
            assert!(request.proves(&permission.shared.unwrap()));
            hashed::count() - before
        });
        assert_eq!((cost, among_many), (1, 1));
    }
}
