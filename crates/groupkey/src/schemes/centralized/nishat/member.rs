//! A member: it takes its secret key once, and every change from a broadcast.

use alloc::vec::Vec;

use super::encryption::{DecryptionKey, PublicKey, SecretKey};
use super::lock::{mask, open, seeded_exponent, unmask_own};
use super::messages::{
    CAPACITY, GAMMA, LOCK, REQUEST, SECRET_KEY, confirmation, group_key, key_of,
};
use crate::context::Context;
use crate::crypto::Suite;
use crate::crypto::group::ElementCheck;
use crate::crypto::integer::Prime;
use crate::crypto::pairing::{Gt, Scalar};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::Epoch;
use crate::mechanisms::key_server::ServedMembership;
use crate::party::{Encapsulation, Footprint, Input, Messages, Operation, Party};
use crate::scheme::{Configuration, Profile};
use crate::secret::Key;
use crate::wire::Message;

/// A member. Beside its group key it has the scheme's own encryption.
#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    capacity: u32,
    check: ElementCheck,
    pub(super) membership: ServedMembership,
    pub(super) secret: Option<Secret>,
    current: Option<Current>,
    /// Bytes of the last gamma or lock.
    temporary: usize,
}

/// The key and the prime that a member keeps from its enrolment.
#[derive(Debug)]
pub(super) struct Secret {
    pub(super) key: SecretKey,
    suite: Suite,
    /// Only in the published form.
    pub(super) prime: Option<Prime>,
}

/// A member's keys of the scheme's own encryption in one epoch.
#[derive(Debug)]
struct Current {
    public_key: PublicKey,
    decryption_key: DecryptionKey,
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(configuration: &Configuration) -> Self {
        Self {
            profile: configuration.profile(),
            capacity: configuration.value(&CAPACITY),
            check: configuration.check(),
            membership: ServedMembership::default(),
            secret: None,
            current: None,
            temporary: 0,
        }
    }

    fn keys(&self) -> Result<(&SecretKey, &Current), Error> {
        let keys = self.secret.as_ref().zip(self.current.as_ref());
        keys.map(|(secret, current)| (&secret.key, current))
            .ok_or_else(|| Misuse::NotCreated.into())
    }

    /// Derives the key of a message. In `sound` it depends on the group key, too, so that secrecy
    /// does not rest on the encryption alone.
    fn message_key(&self, cx: &mut Context<'_>, element: Gt) -> Result<Key, Error> {
        let (epoch, group_key) = self.group_key().ok_or(Misuse::NotCreated)?;
        let bound = if self.profile.is_published() { None } else { Some(group_key) };
        Ok(key_of(cx, epoch, element, "groupkey nishat message", bound))
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        if (header.operation, header.kind) == (Operation::Enroll, SECRET_KEY) {
            return self.take_secret_key(cx, message);
        }
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let expected = if self.profile.is_published() { GAMMA } else { LOCK };
        if header.kind != expected {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.membership.admit(message)?;
        let secret = self.secret.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mut body = message.body();
        let lock = body.bytes()?;
        let keys = (body.bytes()?, body.bytes()?);
        let confirmed = match &secret.prime {
            Some(_) => None,
            None => Some(body.key()?),
        };
        body.finish()?;
        let (k, seed) = match (&secret.prime, &confirmed) {
            (Some(prime), _) => (open(cx, lock, prime, self.capacity)?, None),
            (None, confirmed) => {
                let confirmed = confirmed.as_ref().ok_or(Misbehaviour::Malformed)?;
                let seed = self.unmask(cx, message, lock, confirmed)?;
                (seeded_exponent(cx, &seed), Some((seed, confirmed)))
            }
        };
        let seed = seed.as_ref().map(|(seed, confirmed)| (seed, *confirmed));
        let (current, group_key) = self.decrypt_group_key(cx, header.epoch, keys, &k, seed)?;
        self.temporary = lock.len();
        self.current = Some(current);
        self.membership.enter(cx, header.epoch, group_key);
        Ok(())
    }

    fn take_secret_key(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        message.from_controller()?;
        if self.secret.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let (elements, h) = (body.bytes()?, body.bytes()?);
        let prime = if self.profile.is_published() { Some(cx.prime(body.bytes()?)?) } else { None };
        body.finish()?;
        let key = SecretKey::receive(cx, elements, h, self.check)?;
        self.secret = Some(Secret { key, suite: cx.suite(), prime });
        Ok(())
    }

    /// Returns the seed, from the lock of a broadcast or from the answer to a request.
    fn unmask(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        lock: &[u8],
        confirmed: &Key,
    ) -> Result<Key, Error> {
        let enrolment = self.membership.enrolment()?;
        let key = &enrolment.key;
        match message.header().operation {
            Operation::CatchUp => {
                let own = lock.try_into().map_err(|_| Misbehaviour::Malformed)?;
                Ok(mask(cx, key, confirmed, &Key::from_bytes(own)))
            }
            _ => unmask_own(cx, key, confirmed, lock, enrolment.slot, self.capacity),
        }
    }

    /// Returns the keys of the new epoch, from PK and c. In `sound` they must fit the seed's
    /// confirmation.
    fn decrypt_group_key(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        (public_key, ciphertext): (&[u8], &[u8]),
        k: &Scalar,
        seed: Option<(&Key, &Key)>,
    ) -> Result<(Current, Key), Error> {
        let secret = self.secret.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let public_key = PublicKey::receive(cx, public_key, self.check)?;
        let decryption_key = secret.key.decryption_key(cx, k).ok_or(Misbehaviour::WrongKey)?;
        let element = secret.key.decrypt(cx, &decryption_key, ciphertext, self.check)?;
        let group_key = group_key(cx, epoch, element, seed.map(|(seed, _)| seed));
        if let Some((_, confirmed)) = seed
            && confirmation(cx, epoch, &group_key) != *confirmed
        {
            return Err(Misbehaviour::WrongKey.into());
        }
        Ok((Current { public_key, decryption_key }, group_key))
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn messages(&self) -> Messages<'_> {
        Messages::Encapsulated(self)
    }

    fn footprint(&self) -> Footprint {
        let of_scheme = self.secret.as_ref().map_or(0, |&Secret { suite, ref prime, .. }| {
            let prime = prime.as_ref().map_or(0, |_| Prime::length(suite));
            let current = self
                .current
                .as_ref()
                .map_or(0, |_| PublicKey::key_bytes(suite) + DecryptionKey::key_bytes(suite));
            SecretKey::key_bytes(suite) + prime + current
        });
        let permanent = self.membership.key_bytes() + of_scheme;
        Footprint { permanent, temporary: self.temporary }
    }
}

impl Encapsulation for Member {
    /// Encrypts by equation 11.
    fn encapsulate(&self, cx: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        let (secret, current) = self.keys()?;
        let (element, ciphertext) = secret.encrypt(cx, &current.public_key);
        Ok((self.message_key(cx, element)?, ciphertext))
    }

    /// Decrypts by equation 12.
    fn decapsulate(&self, cx: &mut Context<'_>, ciphertext: &[u8]) -> Result<Key, Error> {
        let (secret, current) = self.keys()?;
        let element = secret.decrypt(cx, &current.decryption_key, ciphertext, self.check)?;
        self.message_key(cx, element)
    }
}
