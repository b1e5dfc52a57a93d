//! Messages by a scheme's own encryption, if it has one ([`Encapsulation`](crate::party::Encapsulation)). Each message has
//! a key of its own, which the scheme's ciphertext in the protected header carries.
//!
//! Everything else is as with messages under the group key: the form, source, counter and window.
//! The message key is derived from the carried key, for group, epoch, sender and session. The
//! ciphertext is in the protected header, so that the message's tag covers it and there is one
//! encoding.

use alloc::vec::Vec;

use super::object::Object;
use super::{Extras, LABEL, Messenger, Received, SendingKey, no_key, seal};
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::party::Party;

impl Messenger {
    /// Encrypts a message with the scheme's own encryption, to all present members. Lengths are as
    /// with [`Self::seal`]. Fails with [`Operation`](crate::error::Unsupported::Operation) if the
    /// scheme has no encryption.
    pub fn encrypt(
        &mut self,
        cx: &mut Context<'_>,
        party: &dyn Party,
        content: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let header = self.next_header(cx, self.current.as_ref().ok_or(Misuse::NotCreated)?)?;
        let shown = self.shown_credential(cx.suite().signing(), &header, cx.now(), content)?;
        let period = self.current.as_mut().ok_or(Misuse::NotCreated)?;
        let (carried, ciphertext) = party.messages().encryption()?.encapsulate(cx)?;
        let key = cx.derive(&carried, LABEL, &header.circumstances());
        let extras = Extras { credential: shown.as_deref(), carried: Some(&ciphertext) };
        let sealed = seal(cx, &key, header, extras, content)?;
        let key = match period.own.take() {
            Some(own) => own.key,
            None => period.key_of(cx, &header),
        };
        period.own = Some(SendingKey { key, counter: header.nonce.counter() + 1 });
        if shown.is_some() {
            self.shown_at = Some(cx.now());
        }
        Ok(sealed)
    }

    /// Decrypts a message that [`Self::encrypt`] made in the present epoch. There is no grace
    /// period, because a party opens ciphertexts of its epoch only. On an error nothing has
    /// changed.
    pub fn decrypt(
        &mut self,
        cx: &mut Context<'_>,
        party: &dyn Party,
        bytes: &[u8],
    ) -> Result<Received, Error> {
        self.end_grace(cx.now());
        let object = Object::decode(cx.suite(), bytes)?;
        self.require_ours(cx, &object.header)?;
        let ciphertext = object.carried.ok_or(Misbehaviour::UnexpectedMessage)?;
        let known = self.known(object.header.source.sender);
        let period = self.current.as_mut().ok_or(Misuse::NotCreated)?;
        let present = party.group_key().map(|(epoch, _)| epoch).ok_or(Misuse::NotCreated)?;
        if object.header.epoch != present || period.epoch != present {
            return Err(no_key(object.header.epoch, present));
        }
        let carried = party.messages().encryption()?.decapsulate(cx, ciphertext)?;
        let key = cx.derive(&carried, LABEL, &object.header.circumstances());
        let opened = period.open(cx, &object, Some(&key), &known)?;
        self.answer_impostor(cx, &object.header);
        Ok(self.note_introduction(opened))
    }
}
