//! Freshness of answers: a party that asks for missed changes draws a nonce. It accepts only an
//! answer with that nonce.
//!
//! The header of every message of [`Operation::CatchUp`] has a nonce, and no other message has one.
//! A request brings its own. While a party processes such a message, every message of this
//! operation that it sends repeats the nonce. This holds for the answer, for a request handed up to
//! a party that can answer, and for a message handed on afterwards. So an answer is younger than
//! the request, and cannot have been made before an eviction that preceded the request. All answers
//! to a request go to one asker: no other party can accept them, and no message of this operation
//! goes to several parties.
//!
//! If others can make a party ask, it repeats the request under way, with its nonce. A new request
//! would make an answer that is on its way stale. A party that could cause new requests again and
//! again would keep the asker out. In this case several answers may arrive, and the asker may
//! accept each one that advances its state.

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::operation::Operation;
use crate::outbox::Recipient;
use crate::saved_state::saved;
use crate::wire::Message;

/// The request of a party that missed something, until it is answered.
#[derive(Debug, Default)]
pub struct CatchUpRequest(Option<Nonce>);

saved!(CatchUpRequest { 0 });

impl CatchUpRequest {
    /// Begins a request, a message of a kind of the scheme's own. All messages of the operation
    /// that this step sends have a new nonce. Answers to earlier requests are no longer accepted.
    pub fn request<'d, 'a>(
        &mut self,
        cx: &'d mut Context<'a>,
        to: Recipient,
        epoch: Epoch,
        kind: u8,
    ) -> Draft<'d, 'a> {
        self.0 = None;
        self.repeat(cx, to, epoch, kind)
    }

    /// Sends the request under way once more, or begins one if there is none.
    pub fn repeat<'d, 'a>(
        &mut self,
        cx: &'d mut Context<'a>,
        to: Recipient,
        epoch: Epoch,
        kind: u8,
    ) -> Draft<'d, 'a> {
        match self.0 {
            Some(_) => cx.set_nonce(self.0),
            None => self.0 = Some(cx.draw_nonce()),
        }
        cx.draft(to, epoch, Operation::CatchUp, kind)
    }

    /// Refuses a message that does not answer the request under way. Messages of other operations
    /// pass.
    pub fn require_fresh(&self, message: &Message<'_>) -> Result<(), Error> {
        match (message.header().nonce, self.0) {
            (None, _) => Ok(()),
            (_, None) => Err(Misbehaviour::UnexpectedMessage.into()),
            (answered, asked) if answered == asked => Ok(()),
            _ => Err(Misbehaviour::StaleAnswer.into()),
        }
    }

    /// Ends the request if the message of this step is the answer. An answer is accepted once.
    pub fn settle(&mut self, cx: &Context<'_>) {
        self.0.take_if(|asked| cx.nonce() == Some(*asked));
    }

    /// Resumes the request that was settled in this step: a repetition may be answered, too.
    pub fn resume(&mut self, cx: &Context<'_>) {
        self.0 = cx.nonce();
    }

    /// Ends the request, with or without an answer.
    pub const fn forget(&mut self) {
        self.0 = None;
    }
}

/// Tells one request from all others. A nonce is not secret, but it is drawn at random. Suppose
/// that all parties share a MAC key: a party that could guess the nonce could have a member's
/// request answered ahead of time. Eight bytes suffice, because each guess takes an answer of an
/// honest party, and 2^64 answers are out of reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonce(pub [u8; Self::BYTES]);

impl Nonce {
    /// The length of every nonce.
    pub const BYTES: usize = 8;
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::context::Setting;
    use crate::crypto::Suite;
    use crate::identity::{GroupId, MemberId, PartyId};
    use crate::outbox::Outbox;
    use crate::protection::Protection;
    use crate::wire::Header;

    #[test]
    fn an_answer_is_fresh_once_and_to_the_last_request_only() {
        let (mut rng, mut outbox, mut probe) = (ChaCha20Rng::seed_from_u64(1), Outbox::new(), ());
        let (setting, me, none) =
            (Setting::new(GroupId(0), Suite::Standard), MemberId(1).into(), Protection::None);
        let mut cx = Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe);
        let mut asked = CatchUpRequest::default();
        let ask = |asked: &mut CatchUpRequest, cx: &mut Context<'_>| {
            asked.request(cx, Recipient::Controller, Epoch(1), 0).send();
            let header = Header {
                group: GroupId(0),
                epoch: Epoch(2),
                operation: Operation::CatchUp,
                kind: 1,
                sender: PartyId::Controller,
                to: Recipient::Member(MemberId(1)),
                nonce: cx.nonce(),
            };
            Message::new(header, &[])
        };
        let (earlier, answer) = (ask(&mut asked, &mut cx), ask(&mut asked, &mut cx));
        assert_eq!(asked.require_fresh(&earlier), Err(Misbehaviour::StaleAnswer.into()));
        assert_eq!(asked.require_fresh(&answer), Ok(()));
        // What is processed beside it does not end the request.
        cx.set_nonce(None);
        asked.settle(&cx);
        assert_eq!(asked.require_fresh(&answer), Ok(()));
        cx.set_nonce(answer.header().nonce);
        asked.settle(&cx);
        assert_eq!(asked.require_fresh(&answer), Err(Misbehaviour::UnexpectedMessage.into()));
    }
}
