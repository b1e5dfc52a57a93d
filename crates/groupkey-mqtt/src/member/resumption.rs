//! Resuming: a member that starts again continues its membership, without a change of the group's
//! key.
//!
//! What a member keeps is its welcome, which has its individual keys, and never the group key. So it
//! is written once for each membership. A member that starts again with it asks the service to
//! resume. The service answers if the welcome is that of the present membership, and counts the
//! resumption. Then the member asks its controller for the present key, as one that was offline
//! does. An old welcome opens nothing: its membership has ended, and the member joins anew.
//!
//! Two recordings could deceive a member without memory:
//!
//! - The message that made it a member leads to an old epoch. Until the member has a key, its party
//!   takes only answers to its own request, which are fresh.
//! - Messages to the group that it has heard would be heard twice. The service's notice has the count
//!   of resumptions, and senders then begin another session. The member takes no older session of the
//!   epoch in which it resumed.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use groupkey::{MemberId, Operation, Recipient};
use hkdf::Hkdf;
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{EARLY, Entry, Member, MemberState, TRIES, pause_after};
use crate::codec::{decoded, encoded};
use crate::counters::Counters;
use crate::early_messages::EarlyMessages;
use crate::event::{Hint, MemberEvent};
use crate::generator::Generator;
use crate::join::{JoinCredentials, Offered, Place, WaitingRequest, Welcome};
use crate::keyring::Secret;
use crate::local_parties::OwnedCommand;
use crate::runtime::{Output, head};
use crate::store::StoreError;

/// A membership as it is kept: the attempt in which the device joined, and its welcome.
pub(super) struct KeptMembership {
    pub(super) attempt: [u8; 8],
    pub(super) welcome: Welcome,
}

/// A member that has its welcome, and not yet a key.
pub(super) struct Resuming {
    attempt: [u8; 8],
    asked: VecDeque<WaitingRequest>,
    /// When to ask again, ns.
    due: u64,
    tries: u32,
    /// Whether the service has answered, so that the member asks its controller for the key.
    is_granted: bool,
    /// Messages that only count once there is a key.
    early: EarlyMessages<EARLY>,
}

impl KeptMembership {
    /// Encrypts a membership under a key of the device's identity.
    pub(super) fn seal(
        attempt: &[u8; 8],
        welcome: &Welcome,
        credentials: JoinCredentials<'_>,
        rng: &mut ChaCha20Rng,
    ) -> Option<Vec<u8>> {
        let content = Zeroizing::new(encoded(&(VERSION, ByteArray::from(*attempt), welcome)));
        let mut nonce = Nonce::default();
        rng.fill_bytes(&mut nonce);
        let covered = covered(credentials);
        let payload = Payload { msg: &content, aad: &covered };
        let sealed = cipher(credentials.identity)?.encrypt(&nonce, payload).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// Decrypts what [`Self::seal`] made for the same device and group.
    pub(super) fn open(bytes: &[u8], credentials: JoinCredentials<'_>) -> Option<Self> {
        let (nonce, sealed) = bytes.split_first_chunk::<12>()?;
        let covered = covered(credentials);
        let payload = Payload { msg: sealed, aad: &covered };
        let content = cipher(credentials.identity)?.decrypt(nonce.into(), payload).ok()?;
        let content = Zeroizing::new(content);
        let (version, attempt, welcome): (u8, ByteArray<8>, Welcome) = decoded(&content)?;
        (version == VERSION).then_some(Self { attempt: attempt.into(), welcome })
    }
}

impl Resuming {
    pub(super) const fn new(attempt: [u8; 8]) -> Self {
        Self {
            attempt,
            asked: VecDeque::new(),
            due: 0,
            tries: 0,
            is_granted: false,
            early: EarlyMessages::new(),
        }
    }

    /// Begins the next request. Returns its attempt, and whether many were in vain.
    pub(super) fn next(&mut self, now: u64, rng: &mut ChaCha20Rng) -> ([u8; 8], bool) {
        self.tries = self.tries.saturating_add(1);
        self.due = now.saturating_add(pause_after(self.tries, rng));
        (self.attempt, self.tries.is_multiple_of(TRIES))
    }

    pub(super) fn asked(&mut self, request: WaitingRequest) {
        self.asked.truncate(TRIES as usize - 1);
        self.asked.push_front(request);
    }

    /// Returns when to ask the service again, ns.
    pub(super) fn due(&self) -> Option<u64> {
        (!self.is_granted && self.tries > 0).then_some(self.due)
    }

    /// Reads the service's answer.
    pub(super) fn offered(
        &self,
        bytes: &[u8],
        service: Option<&[u8; 32]>,
        shared: Option<&Secret>,
    ) -> Option<Offered> {
        self.asked.iter().find_map(|asking| asking.offered(bytes, service, shared))
    }

    pub(super) fn grant(&mut self) {
        self.is_granted = true;
        self.asked.clear();
    }

    pub(super) const fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Returns whether the party may take a message of this operation before it has a key. If not, keeps
    /// the message.
    pub(super) fn takes(&mut self, bytes: &[u8], counters: &mut Counters) -> bool {
        let is_answer =
            head(bytes).is_some_and(|(operation, _)| operation == Operation::CatchUp as u8);
        if !is_answer {
            self.early.keep(bytes, counters);
        }
        is_answer
    }
}

impl Member {
    /// Continues the membership that was kept, and asks the service to resume it.
    pub(super) fn resume(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Some(KeptMembership { attempt, welcome }) = self.kept.take() else { return };
        let service = welcome.controllers.iter().find(|(number, _)| *number == 0);
        let is_trusted = match (self.service, service) {
            (Some(trusted), Some((_, named))) => trusted == **named,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let form = self.settings.form(&welcome.form, self.schemes);
        let (true, Ok(form)) = (is_trusted, form) else { return };
        if self.enter(&welcome, form, Entry::Resumed, now, rng).is_some() {
            let place = Place::new(welcome.member, &welcome.instance);
            self.place = Some(place);
            let topic = self.topics.of(Recipient::Member(MemberId(place.number)));
            self.queue.outputs.push_back(Output::Subscribe(topic));
            self.resuming = Some(Resuming::new(attempt));
            self.ask_to_resume(now, rng);
        }
    }

    /// Asks the service to resume. It may be away for long.
    pub(super) fn ask_to_resume(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Some(resuming) = &mut self.resuming else { return };
        let (attempt, is_in_vain) = resuming.next(now, rng);
        if is_in_vain {
            self.queue.report(MemberEvent::NotIn(Hint::NoAnswer));
        }
        let request = self.request(attempt, self.place, true, None, now, rng);
        if let Some(resuming) = &mut self.resuming {
            resuming.asked(request);
        }
    }

    /// Returns when to ask again, ns.
    pub(super) fn resuming_due(&self) -> Option<u64> {
        self.resuming.as_ref().and_then(Resuming::due).filter(|_| self.connected)
    }

    /// Takes the service's answer to a request to resume. Returns whether it is one.
    pub(super) fn resumed(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) -> bool {
        let Some(resuming) = &mut self.resuming else { return false };
        let (service, shared) = (self.service.as_ref(), self.settings.shared.as_ref());
        let offered = match resuming.offered(bytes, service, shared) {
            Some(Offered::Place(offered)) => offered,
            Some(Offered::Barred) => {
                self.end_membership();
                return true;
            }
            Some(Offered::Forged) => {
                self.queue.counters.forged += 1;
                return true;
            }
            None => return false,
        };
        if self.stamp < offered.stamp {
            // An earlier start of this device used later ones.
            self.stamp = offered.stamp;
            self.ask_to_resume(now, rng);
            return true;
        }
        let count = offered.resumptions.filter(|_| self.place == Some(offered.place));
        let (Some(count), MemberState::Inside(participant)) = (count, &mut self.state) else {
            // The membership has ended.
            self.join_again(now, rng);
            return true;
        };
        resuming.grant();
        participant.resume(count);
        self.catching_up.announce((participant.group(), self.founded), offered.epoch);
        // It answers one of our last requests.
        self.proof.heard(offered.epoch, now);
        self.catching_up.asks(now);
        let asked = participant.command(&mut self.queue, &OwnedCommand::CatchUp, now, rng);
        if asked.is_err() {
            self.join_again(now, rng);
        }
        true
    }

    /// Begins another session if the service counts more resumptions, and takes what waited for the first
    /// key since this member resumed.
    pub(super) fn follow_resumptions(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let MemberState::Inside(participant) = &mut self.state else { return };
        let group = (participant.group(), self.founded);
        participant.note_resumptions(self.catching_up.resumptions(group));
        participant.refuse_before(self.catching_up.valid_from(group));
        if participant.group_key().is_some()
            && let Some(mut resuming) = self.resuming.take()
        {
            for bytes in resuming.early.take() {
                self.receive(&bytes, now, rng);
            }
        }
    }

    pub(super) fn keep(&mut self, attempt: &[u8; 8], welcome: &Welcome, rng: &mut ChaCha20Rng) {
        let Some(memory) = &mut self.memory else { return };
        // From a stream of its own: what is kept changes nothing that the party draws.
        let mut rng = Generator::stream(rng, MEMORY_STREAM);
        let credentials = self.settings.credentials();
        let sealed = KeptMembership::seal(attempt, welcome, credentials, &mut rng);
        let kept = sealed.map_or(Err(StoreError::Unreadable), |sealed| memory.keep(&sealed));
        if let Err(error) = kept {
            self.queue.report(MemberEvent::Unkept(error));
        }
    }

    /// Forgets the membership that was kept: it has ended.
    pub(super) fn forget_membership(&mut self) {
        if let Some(Err(error)) = self.memory.as_mut().map(|memory| memory.forget()) {
            self.queue.report(MemberEvent::Unkept(error));
        }
    }
}

const MEMORY_STREAM: u64 = 1 << 61;

const VERSION: u8 = 2;

const SEALED: &[u8] = b"groupkey membership at rest 1";

fn cipher(identity: &Secret) -> Option<ChaCha20Poly1305> {
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(None, identity.as_bytes()).expand(SEALED, &mut *key).ok()?;
    Some(ChaCha20Poly1305::new((&*key).into()))
}

/// Returns what the ciphertext is bound to. A name has no zero byte.
fn covered(credentials: JoinCredentials<'_>) -> Vec<u8> {
    [credentials.name.as_bytes(), &[0], credentials.prefix.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use groupkey::catalogue;
    use rand_core::SeedableRng;

    use super::*;
    use crate::group_form::GroupForm;

    #[test]
    fn a_kept_membership_opens_for_its_device_and_group_alone() {
        let (identity, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let credentials =
            |name, prefix, identity| JoinCredentials { prefix, name, identity, shared: None };
        let welcome = Welcome {
            member: 7,
            form: GroupForm::of(catalogue::scheme("lkh-group").unwrap()).write(),
            mac: None,
            controllers: vec![(0, [9; 32].into())],
            enrolment: vec![vec![1, 2, 3].into()],
            founded: 5,
            instance: [6; 16].into(),
            epoch: 4,
            certificate: None,
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let ours = credentials("a", "p", &identity);
        let sealed = KeptMembership::seal(&[3; 8], &welcome, ours, &mut rng).unwrap();
        let opened = KeptMembership::open(&sealed, ours).unwrap();
        assert_eq!((opened.attempt, opened.welcome.member), ([3; 8], 7));
        assert_eq!(opened.welcome.enrolment, welcome.enrolment);
        for foreign in [
            credentials("b", "p", &identity),
            credentials("a", "q", &identity),
            credentials("a", "p", &other),
        ] {
            assert!(KeptMembership::open(&sealed, foreign).is_none());
        }
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(KeptMembership::open(&changed, ours).is_none(), "{place}");
            assert!(KeptMembership::open(&sealed[..place], ours).is_none(), "{place}");
        }
    }
}
