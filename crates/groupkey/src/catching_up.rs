//! How an answer is known to be fresh: a party that asks for what it missed draws a nonce, and
//! takes no answer but one to that.
//!
//! The header of every message of [`Operation::CatchUp`] has a nonce, and no other message has one. A
//! request brings its own. Whatever a party sends of this operation while it takes such a message
//! repeats the nonce: the answer, and what is handed up to a party that can answer, or handed on
//! afterwards. So an answer is younger than the request, and cannot have been made before an eviction
//! that preceded it. All answers to a request go to one asker: nobody else can take them, and nothing
//! of this operation goes to several.
//!
//! Where others can make a party ask, it repeats the request under way, with its nonce: a new one
//! would make the answer stale that is on its way, and a party that could do that again and again
//! would keep the party out. Then there may be several answers, and each that leads on may be
//! taken.

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::operation::Operation;
use crate::outbox::Recipient;
use crate::wire::Message;

pub use crate::nonce::Nonce;

/// The request of a party that missed something, until it is answered.
#[derive(Debug, Default)]
pub struct Asked(Option<Nonce>);

impl Asked {
    /// Begins a request, a message of a kind of the scheme's own: what this step sends of the operation
    /// has a new nonce. An answer to an earlier request is none any longer.
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

    /// Refuses an answer to anything but the request under way. Messages of other operations pass.
    pub fn require_fresh(&self, message: &Message<'_>) -> Result<(), Error> {
        match (message.header().nonce, self.0) {
            (None, _) => Ok(()),
            (_, None) => Err(Misbehaviour::UnexpectedMessage.into()),
            (answered, asked) if answered == asked => Ok(()),
            _ => Err(Misbehaviour::StaleAnswer.into()),
        }
    }

    /// Ends the request, if the message of this step is the answer: it is taken once.
    pub fn settle(&mut self, cx: &Context<'_>) {
        self.0.take_if(|asked| cx.nonce() == Some(*asked));
    }

    /// Goes on with the request that was settled in this step: a repetition may be answered, too.
    pub fn resume(&mut self, cx: &Context<'_>) {
        self.0 = cx.nonce();
    }

    /// Ends the request, whatever came of it.
    pub const fn forget(&mut self) {
        self.0 = None;
    }
}
