//! Joining: the confidential channel of the deployment phase, end to end between device and
//! service.
//!
//! ```text
//! request:  [body, proof, signature]
//! body:     [context, name, identity, ephemeral, stamp, place, attempt, secret, resumes, confirms]
//! place:    [number, founding]
//! confirms: [place, epoch] or null
//! offer:    [place or null, epoch, resumptions, stamp, hash of the request, proof, signature, active epoch]
//! welcome:  [ephemeral, sealed, signature]  sealed: member's number, form, keys, enrolment, epoch,
//!                                           signature of the member's certificate
//! ```
//!
//! - A device proves that it may join in one of two ways. It computes HMAC-SHA-256 over the body
//!   with a secret that it shares with the service: a pre-shared key or a one-time enrolment token.
//!   Or it uses an identity that the service knows, from an earlier join or from its policy. In
//!   both cases it signs body and proof with its identity (Ed25519). `secret` is the beginning of a
//!   hash of the shared secret, so that a service with many tokens tries one of them.
//! - The service encrypts the welcome with ChaCha20-Poly1305. The key is HKDF-SHA-256 of the X25519
//!   secret of both ephemeral keys and of the shared secret, if there is one. The salt is the hash
//!   of the request, so a welcome answers exactly one request. A key encrypts one welcome, so the
//!   nonce is zero.
//! - The service signs hash, ephemeral key and ciphertext. A device that knows the service's public
//!   key verifies the signature. Any other device needs a shared secret, which authenticates the
//!   service too. It then keeps the public key that is in the welcome.
//! - A member's topic has its number, and the member must subscribe to it before the controller
//!   sends. So the service first offers a place: a number in this founding of the group. The device
//!   subscribes, and asks again for this place. The service signs the offer, and proves to know the
//!   shared secret, if there is one. A device checks what it can: the signature, or the proof if it
//!   does not know the service's public key.
//! - An offer has the present epoch. So a member that asks learns whether it has missed something, and
//!   no recording can deceive it, because the offer answers one request.
//! - An offer without a place says that the device is evicted. Nobody else learns it, because the device
//!   proves first that it may know.
//! - A member that asks says at which place it is, and which epoch it has. So each question confirms an
//!   epoch to the service, and no message is added for that.
//! - The welcome has the epoch before the device is admitted. A farewell of that epoch or an earlier one
//!   concerns an earlier membership.
//! - The founding is a hash of the group's instance, which a service draws with a new store. So a
//!   service that lost its store admits nobody because of a recorded request.
//! - `stamp` grows with every request of a name. It can be the time in ms since 1970. The service acts
//!   on each stamp once. Its offer has the device's last stamp. A device whose stamps are earlier goes on
//!   from there, and asks again: it needs no clock, and a clock that was ahead shuts nobody out. A
//!   recording of a request gets an offer, too, and nothing changes.
//! - `attempt` is random. A device draws it when it begins to join, and again after a long time
//!   without an answer. A member that asks with the same attempt still waits for its welcome, and
//!   the service repeats the welcome. A member that asks with another attempt has lost its state:
//!   it must leave and rejoin.
//! - A member that has its welcome, and lost the rest of its state, asks to resume, with the attempt of
//!   that welcome. The offer then has the service's count of resumptions, or none if this membership
//!   has ended.
//!
//! A member of the group asks in the same way for its place in the group that will succeed it
//! (`announcement`). It knows this place without an offer.
//!
//! An attacker that records the exchange and later learns a pre-shared key or an identity cannot
//! decrypt the welcome.

#[cfg(test)]
mod exchanged_parts;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use crate::agreement_key::AgreementKey;
use crate::codec::{decoded, encoded};
use crate::group_form::EncodedForm;
use crate::keyring::{self, Secret};

/// The longest payload that is parsed, in bytes. A rekey message of a group of many thousands of
/// members fits.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// The credentials with which a device asks to join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinCredentials<'a> {
    /// The prefix of the group's topics.
    pub(crate) prefix: &'a str,
    pub(crate) name: &'a str,
    pub(crate) identity: &'a Secret,
    /// A pre-shared key or an enrolment token.
    pub(crate) shared: Option<&'a Secret>,
}

/// The signed part of a request.
#[derive(Clone, Debug, Encode, Decode)]
#[cbor(array)]
pub(crate) struct JoinRequestBody {
    /// The group's prefix of topics. It binds the request to one group.
    #[n(0)]
    pub(crate) context: String,
    #[n(1)]
    pub(crate) name: String,
    #[n(2)]
    pub(crate) identity: ByteArray<32>,
    #[n(3)]
    pub(crate) ephemeral: ByteArray<32>,
    #[n(4)]
    pub(crate) stamp: u64,
    /// The place that the service offered, once the device knows it.
    #[n(5)]
    pub(crate) place: Option<Place>,
    /// The same in all requests of a device until it loses its state.
    #[n(6)]
    pub(crate) attempt: ByteArray<8>,
    /// Which shared secret the proof is with, if there is one.
    #[n(7)]
    pub(crate) secret: Option<ByteArray<8>>,
    /// Whether the device asks to resume the membership that this attempt began.
    #[n(8)]
    pub(crate) resumes: bool,
    /// What a member has that asks for the present epoch.
    #[n(9)]
    pub(crate) confirms: Option<ConfirmedEpoch>,
}

/// A member's word on the epoch whose key it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct ConfirmedEpoch {
    #[n(0)]
    pub(crate) place: Place,
    #[n(1)]
    pub(crate) epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Place {
    #[n(0)]
    pub(crate) number: u32,
    /// Says which founding of the group it is, to those who do not know its instance.
    #[n(1)]
    founding: ByteArray<16>,
}

impl Offer {
    fn offered(&self) -> Option<OfferedPlace> {
        let &Self { place, epoch, resumptions, stamp, active, .. } = self;
        place.map(|place| OfferedPlace { place, epoch, active, resumptions, stamp })
    }
}

impl OfferedPlace {
    /// Returns the bytes that are signed: number, founding, epoch, active epoch, stamp, and the count of
    /// resumptions with a byte before it, if there is one.
    fn content(&self) -> Vec<u8> {
        let (number, founding) = self.place.parts();
        let count = self.resumptions.map(|count| [&[1], &count.to_be_bytes()[..]].concat());
        let count = count.unwrap_or_else(|| [0].into());
        let numbers = [self.epoch, self.active, self.stamp].map(u64::to_be_bytes);
        [&number[..], founding, numbers.as_flattened(), &count].concat()
    }
}

impl Place {
    pub(crate) fn new(number: u32, instance: &[u8; 16]) -> Self {
        let hash: [u8; 32] =
            Sha256::new().chain_update(FOUNDING).chain_update(instance).finalize().into();
        let mut founding = [0; 16];
        founding.copy_from_slice(&hash[..16]);
        Self::in_founding(number, founding.into())
    }

    /// Creates the place with this number in a founding whose hash is known.
    pub(crate) const fn in_founding(number: u32, founding: ByteArray<16>) -> Self {
        Self { number, founding }
    }

    pub(crate) const fn founding(&self) -> ByteArray<16> {
        self.founding
    }

    pub(crate) fn is_of_one_founding_with(&self, other: &Self) -> bool {
        self.founding == other.founding
    }

    fn parts(&self) -> ([u8; 4], &[u8; 16]) {
        (self.number.to_be_bytes(), &self.founding)
    }
}

/// The place that the service offers to a device, or that it offers none, because the device is barred.
#[derive(Clone, Debug, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Offer {
    #[n(0)]
    pub(crate) place: Option<Place>,
    #[n(1)]
    epoch: u64,
    /// How many resumptions the service has counted, if this one is among them.
    #[n(2)]
    resumptions: Option<u32>,
    /// The last stamp of the device, or 0.
    #[n(3)]
    stamp: u64,
    #[n(4)]
    hash: ByteArray<32>,
    /// HMAC-SHA-256 with the shared secret, or nothing if there is none.
    #[n(5)]
    proof: ByteVec,
    #[n(6)]
    signature: ByteArray<64>,
    /// The epoch under whose key members send.
    #[n(7)]
    active: u64,
}

/// What a service offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfferedPlace {
    pub(crate) place: Place,
    pub(crate) epoch: u64,
    /// The epoch under whose key members send. It is earlier while a later one waits.
    pub(crate) active: u64,
    /// How many resumptions the service has counted, if this one is among them.
    pub(crate) resumptions: Option<u32>,
    /// The last stamp of the device, or 0. Its next one must be later.
    pub(crate) stamp: u64,
}

/// An offer that answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// No place: the device was evicted, and the operator has not readmitted it.
    Barred,
    /// Somebody else than the service made it.
    Forged,
    Place(OfferedPlace),
}

/// A parsed request. Its proofs are not checked yet.
#[derive(Clone, Debug)]
pub(crate) struct JoinRequest {
    pub(crate) body: JoinRequestBody,
    body_bytes: Vec<u8>,
    proof: Option<[u8; 32]>,
    signature: [u8; 64],
    hash: [u8; 32],
}

pub(crate) struct WaitingRequest {
    ephemeral: AgreementKey,
    hash: [u8; 32],
    pub(crate) bytes: Vec<u8>,
}

#[derive(Encode, Decode)]
#[cbor(array)]
pub(crate) struct Welcome {
    #[n(0)]
    pub(crate) member: u32,
    #[n(1)]
    pub(crate) form: EncodedForm,
    /// The key for MACs, if the group uses them.
    #[n(2)]
    pub(crate) mac: Option<ByteArray<32>>,
    /// The public keys of controller and subgroup controllers, by the parties' numbers.
    #[n(3)]
    pub(crate) controllers: Vec<(i64, ByteArray<32>)>,
    /// The enrolment messages of controller and subgroup controllers, in order.
    #[n(4)]
    pub(crate) enrolment: Vec<ByteVec>,
    /// When the group was founded, ms since 1970.
    #[n(5)]
    pub(crate) founded: u64,
    /// Which founding of the group it is.
    #[n(6)]
    pub(crate) instance: ByteArray<16>,
    /// The group's epoch before the member is one.
    #[n(7)]
    pub(crate) epoch: u64,
    /// The service's signature of the member's certificate
    /// ([`sender_certificate`](crate::sender_certificate)), where members sign.
    #[n(8)]
    pub(crate) certificate: Option<ByteArray<64>>,
}

impl Drop for Welcome {
    fn drop(&mut self) {
        self.mac.iter_mut().for_each(|key| key.zeroize());
        self.enrolment.iter_mut().for_each(|message| message.zeroize());
    }
}

/// Makes a request.
pub(crate) fn ask(
    credentials: JoinCredentials<'_>,
    attempt: [u8; 8],
    ephemeral: &[u8; 32],
    stamp: u64,
    place: Option<Place>,
    resumes: bool,
    confirms: Option<ConfirmedEpoch>,
) -> WaitingRequest {
    let JoinCredentials { prefix, name, identity, shared } = credentials;
    let ephemeral = AgreementKey::from_bytes(ephemeral);
    let body = JoinRequestBody {
        context: prefix.to_owned(),
        name: name.to_owned(),
        identity: identity.public().into(),
        ephemeral: ephemeral.public().into(),
        stamp,
        place,
        attempt: attempt.into(),
        secret: shared.map(|shared| secret_id(shared).into()),
        resumes,
        confirms,
    };
    let body = encoded(&body);
    let proof = proof(shared, PROOF, &[&body]);
    let signature = identity.sign(REQUEST, &[&body, &proof]);
    let bytes = encoded(&(ByteVec::from(body), ByteVec::from(proof), ByteArray::from(signature)));
    WaitingRequest { ephemeral, hash: Sha256::digest(&bytes).into(), bytes }
}

/// Returns the name of a shared secret in requests. It says nothing of a secret that nobody can guess.
pub(crate) fn secret_id(shared: &Secret) -> [u8; 8] {
    #[cfg(test)]
    hashed::note();
    let hash: [u8; 32] =
        Sha256::new().chain_update(SECRET_ID).chain_update(shared.as_bytes()).finalize().into();
    let mut id = [0; 8];
    id.copy_from_slice(&hash[..8]);
    id
}

impl JoinRequest {
    /// Reads a request. Returns `None` if it is malformed.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (body, proof, signature): (ByteVec, ByteVec, ByteArray<64>) = decoded(bytes)?;
        let proof = match proof.len() {
            0 => None,
            _ => Some(proof.as_slice().try_into().ok()?),
        };
        Some(Self {
            body: decoded(&body)?,
            body_bytes: body.to_vec(),
            proof,
            signature: signature.into(),
            hash: Sha256::digest(bytes).into(),
        })
    }

    /// Returns which shared secret the sender claims to know, if any ([`secret_id`]).
    pub(crate) fn claims(&self) -> Option<[u8; 8]> {
        self.body.secret.map(Into::into)
    }

    pub(crate) fn proves(&self, shared: &Secret) -> bool {
        let mac = || mac(shared, PROOF, &[&self.body_bytes]);
        self.proof.is_some_and(|proof| mac().verify_slice(&proof).is_ok())
    }

    pub(crate) fn is_signed(&self) -> bool {
        let proof = self.proof.as_ref().map_or(&[][..], |proof| proof);
        let parts = [&self.body_bytes[..], proof];
        keyring::verifies(&self.body.identity, REQUEST, &parts, &self.signature)
    }

    /// Offers a place. `shared` is the secret that the device proved to know.
    pub(crate) fn offer(
        &self,
        offered: OfferedPlace,
        service: &Secret,
        shared: Option<&Secret>,
    ) -> Vec<u8> {
        self.answer_with(Some(offered), service, shared)
    }

    /// Answers that the device is barred. `shared` is the secret that the device proved to know.
    pub(crate) fn bar(&self, service: &Secret, shared: Option<&Secret>) -> Vec<u8> {
        self.answer_with(None, service, shared)
    }

    fn answer_with(
        &self,
        offered: Option<OfferedPlace>,
        service: &Secret,
        shared: Option<&Secret>,
    ) -> Vec<u8> {
        let content = content(offered.as_ref());
        let parts: [&[u8]; 2] = [&self.hash, &content];
        encoded(&Offer {
            place: offered.map(|offered| offered.place),
            epoch: offered.map_or(0, |offered| offered.epoch),
            active: offered.map_or(0, |offered| offered.active),
            resumptions: offered.and_then(|offered| offered.resumptions),
            stamp: offered.map_or(0, |offered| offered.stamp),
            hash: self.hash.into(),
            proof: proof(shared, OFFER_PROOF, &parts).into(),
            signature: service.sign(OFFER, &parts).into(),
        })
    }

    /// Derives the service's ephemeral key for the welcome that answers this request. No two
    /// requests give the same.
    pub(crate) fn ephemeral(&self, secret: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        let mut ephemeral = Zeroizing::new([0; 32]);
        // 32 bytes are far below HKDF's limit.
        let _ = Hkdf::<Sha256>::new(Some(&self.hash), secret).expand(EPHEMERAL, &mut *ephemeral);
        ephemeral
    }

    /// Encrypts a welcome that only the sender of the request can decrypt.
    pub(crate) fn answer(
        &self,
        welcome: &Welcome,
        service: &Secret,
        shared: Option<&Secret>,
        ephemeral: &[u8; 32],
    ) -> Option<Vec<u8>> {
        let ephemeral = AgreementKey::from_bytes(ephemeral);
        let public = ephemeral.public();
        let key = seal_key(&ephemeral, &self.body.ephemeral, shared, &self.hash)?;
        let content = Zeroizing::new(encoded(welcome));
        let payload = Payload { msg: &content, aad: &public };
        let sealed =
            ChaCha20Poly1305::new((&*key).into()).encrypt(&Nonce::default(), payload).ok()?;
        let signature = service.sign(WELCOME, &[&self.hash, &public, &sealed]);
        Some(encoded(&(ByteArray::from(public), ByteVec::from(sealed), ByteArray::from(signature))))
    }
}

impl WaitingRequest {
    /// Reads an offer. Returns `None` unless it is meant for this request. `service` is the
    /// service's public key. Without it, there must be a shared secret.
    pub(crate) fn offered(
        &self,
        bytes: &[u8],
        service: Option<&[u8; 32]>,
        shared: Option<&Secret>,
    ) -> Option<Offered> {
        let offer: Offer = decoded(bytes)?;
        if *offer.hash != self.hash {
            return None;
        }
        let offered = offer.offered();
        let content = content(offered.as_ref());
        let parts: [&[u8]; 2] = [&self.hash, &content];
        let is_genuine = match (service, shared) {
            (Some(service), _) => keyring::verifies(service, OFFER, &parts, &offer.signature),
            (None, Some(shared)) => {
                mac(shared, OFFER_PROOF, &parts).verify_slice(&offer.proof).is_ok()
            }
            (None, None) => false,
        };
        Some(match offered {
            _ if !is_genuine => Offered::Forged,
            Some(offered) => Offered::Place(offered),
            None => Offered::Barred,
        })
    }

    /// Decrypts a welcome. Returns `None` unless it is valid and answers this request. `service` is
    /// the service's public key. Without it, there must be a shared secret.
    pub(crate) fn open(
        &self,
        bytes: &[u8],
        service: Option<&[u8; 32]>,
        shared: Option<&Secret>,
    ) -> Option<Welcome> {
        let (public, sealed, signature): (ByteArray<32>, ByteVec, ByteArray<64>) = decoded(bytes)?;
        let signed = |key: &[u8; 32]| {
            keyring::verifies(key, WELCOME, &[&self.hash, &*public, &sealed], &signature)
        };
        match (service, shared) {
            (Some(service), _) if !signed(service) => return None,
            (None, None) => return None,
            _ => {}
        }
        let key = seal_key(&self.ephemeral, &public, shared, &self.hash)?;
        let payload = Payload { msg: &sealed, aad: &*public };
        let content =
            ChaCha20Poly1305::new((&*key).into()).decrypt(&Nonce::default(), payload).ok()?;
        let content = Zeroizing::new(content);
        let welcome: Welcome = decoded(&content)?;
        let (_, named) = welcome.controllers.iter().find(|(number, _)| *number == 0)?;
        let consistent = service.is_none_or(|service| **named == *service);
        (consistent && signed(named)).then_some(welcome)
    }
}

const EPHEMERAL: &[u8] = b"groupkey welcome ephemeral 1";
const SECRET_ID: &[u8] = b"groupkey join secret 1";
const FOUNDING: &[u8] = b"groupkey join founding 1";
const REQUEST: &str = "groupkey join request 4";
const PROOF: &str = "groupkey join proof 2";
const OFFER: &str = "groupkey join offer 6";
const OFFER_PROOF: &str = "groupkey join offer proof 5";
const WELCOME: &str = "groupkey welcome 4";

/// Returns what of an offer is signed. Where no place is offered, that is nothing.
fn content(offered: Option<&OfferedPlace>) -> Vec<u8> {
    offered.map(OfferedPlace::content).unwrap_or_default()
}

/// Proves to know a secret. Returns nothing if there is none.
fn proof(shared: Option<&Secret>, purpose: &str, parts: &[&[u8]]) -> Vec<u8> {
    let proof = shared.map(|shared| mac(shared, purpose, parts).finalize().into_bytes().to_vec());
    proof.unwrap_or_default()
}

/// Returns the MAC of `parts`, all but the last of which have a fixed length. Each purpose has a key
/// of its own.
fn mac(shared: &Secret, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
    #[cfg(test)]
    hashed::note();
    let mut key = Zeroizing::new([0; 32]);
    // 32 bytes are far below HKDF's limit.
    let _ = Hkdf::<Sha256>::new(None, shared.as_bytes()).expand(purpose.as_bytes(), &mut *key);
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&*key)
        .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    parts.iter().for_each(|part| mac.update(part));
    mac
}

/// Counts what is computed with shared secrets, for tests.
#[cfg(test)]
pub(crate) mod hashed {
    use core::cell::Cell;

    thread_local! {
        static COUNT: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn note() {
        COUNT.set(COUNT.get() + 1);
    }

    /// Returns how many secrets this thread has hashed, and how many MACs it has computed, together.
    pub(crate) fn count() -> usize {
        COUNT.get()
    }
}

/// Derives the key of a welcome. Returns `None` if the other public key has small order (RFC 7748
/// section 6.1).
fn seal_key(
    own: &AgreementKey,
    other: &[u8; 32],
    shared: Option<&Secret>,
    hash: &[u8; 32],
) -> Option<Zeroizing<[u8; 32]>> {
    let agreed = own.agree(other)?;
    // A buffer that grows would leave a copy that nobody wipes.
    let mut input = Zeroizing::new(Vec::with_capacity(64));
    input.extend_from_slice(&*agreed);
    if let Some(shared) = shared {
        input.extend_from_slice(shared.as_bytes());
    }
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(hash), &input).expand(b"groupkey welcome 4", &mut *key).ok()?;
    Some(key)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use groupkey::catalogue;

    use super::*;
    use crate::group_form::GroupForm;

    /// The thief has the device's identity and shared secret, and has recorded request and answer.
    #[test]
    fn who_learns_the_identity_later_opens_no_recorded_welcome() {
        let [service, identity, shared] = [1, 3, 4].map(|byte| Secret::from_bytes([byte; 32]));
        let (public, shared) = (service.public(), Some(&shared));
        let credentials = JoinCredentials { prefix: "a", name: "b", identity: &identity, shared };
        let asking = ask(credentials, [5; 8], &[6; 32], 7, None, false, None);
        let request = JoinRequest::read(&asking.bytes).unwrap();
        let welcome = Welcome {
            member: 0,
            form: GroupForm::of(catalogue::scheme("skdc").unwrap()).write(),
            mac: None,
            controllers: vec![(0, public.into())],
            enrolment: Vec::new(),
            founded: 8,
            instance: [9; 16].into(),
            epoch: 0,
            certificate: None,
        };
        let answer = request.answer(&welcome, &service, shared, &[10; 32]).unwrap();
        // Everybody knows what is agreed with a point of small order.
        let mut weak = request.clone();
        weak.body.ephemeral = [0; 32].into();
        assert!(weak.answer(&welcome, &service, shared, &[10; 32]).is_none());
        let thief = ask(credentials, [5; 8], &[7; 32], 7, None, false, None);
        let thief = WaitingRequest { hash: asking.hash, ..thief };
        for known in [None, Some(&public)] {
            assert!(asking.open(&answer, known, shared).is_some());
            assert!(thief.open(&answer, known, shared).is_none());
        }
    }

    /// Who knows the shared secret cannot make a device take another's signature for the service's.
    #[test]
    fn the_service_that_a_welcome_names_has_signed_it() {
        let [service, other, identity, shared] =
            [1, 2, 3, 4].map(|byte| Secret::from_bytes([byte; 32]));
        let (identity, shared) = (&identity, Some(&shared));
        let credentials = JoinCredentials { prefix: "a", name: "b", identity, shared };
        let asking = ask(credentials, [5; 8], &[6; 32], 7, None, false, None);
        let request = JoinRequest::read(&asking.bytes).unwrap();
        let answer = |named: &Secret, signer: &Secret| {
            let welcome = Welcome {
                member: 0,
                form: GroupForm::of(catalogue::scheme("skdc").unwrap()).write(),
                mac: None,
                controllers: vec![(0, named.public().into())],
                enrolment: Vec::new(),
                founded: 8,
                instance: [9; 16].into(),
                epoch: 0,
                certificate: None,
            };
            request.answer(&welcome, signer, shared, &[10; 32]).unwrap()
        };
        for known in [None, Some(service.public())] {
            let opens = |named, signer| {
                asking.open(&answer(named, signer), known.as_ref(), shared).is_some()
            };
            assert!(opens(&service, &service));
            assert!(!opens(&service, &other) && !opens(&other, &service));
            assert_eq!(opens(&other, &other), known.is_none());
        }
    }
}
