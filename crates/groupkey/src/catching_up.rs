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

pub use crate::nonce::Nonce;

/// The request of a party that missed something, until it is answered.
#[derive(Debug, Default)]
pub struct Asked(Option<Nonce>);

saved!(Asked { 0 });

impl Asked {
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
