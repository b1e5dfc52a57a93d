//! What a joining member has heard from members that may be the sponsor: a welcome for it alone, and
//! the change that all hear. The two count together.
//!
//! Anybody may claim to be the sponsor, so the last claims are kept, each with its sender.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};

/// The last offers.
#[derive(Debug, Default)]
pub(super) struct WelcomeOffers(Vec<WelcomeOffer>);

/// What a member that may be the sponsor has sent.
#[derive(Clone, Debug)]
pub(super) struct WelcomeOffer {
    pub(super) sender: MemberId,
    pub(super) epoch: Epoch,
    pub(super) welcome: Option<Box<[u8]>>,
    /// The tag that confirms the welcome, as the change has it.
    pub(super) confirmation: Option<[u8; 32]>,
}

impl WelcomeOffers {
    /// Takes a welcome, or the confirmation of a change, and keeps nothing. Returns the offer if it
    /// is complete.
    pub(super) fn hear(
        &self,
        claim: (MemberId, Epoch),
        welcome: Option<&[u8]>,
        confirmation: Option<[u8; 32]>,
    ) -> Result<Option<WelcomeOffer>, Error> {
        let mut offer = self.of(claim).cloned().unwrap_or_else(|| WelcomeOffer::new(claim));
        if welcome.is_some() && offer.welcome.is_some()
            || confirmation.is_some() && offer.confirmation.is_some()
        {
            return Err(Misbehaviour::Replayed.into());
        }
        offer.welcome = welcome.map(Into::into).or(offer.welcome);
        offer.confirmation = confirmation.or(offer.confirmation);
        let is_complete = offer.welcome.is_some() && offer.confirmation.is_some();
        Ok(is_complete.then_some(offer))
    }

    /// Keeps what was heard until the rest comes.
    pub(super) fn keep(
        &mut self,
        claim: (MemberId, Epoch),
        welcome: Option<&[u8]>,
        confirmation: Option<[u8; 32]>,
    ) {
        let place = self.0.iter().position(|offer| (offer.sender, offer.epoch) == claim);
        let place = place.unwrap_or_else(|| {
            if self.0.len() == MOST {
                self.0.remove(0);
            }
            self.0.push(WelcomeOffer::new(claim));
            self.0.len() - 1
        });
        let offer = &mut self.0[place];
        if let Some(welcome) = welcome {
            offer.welcome = Some(welcome.into());
        }
        offer.confirmation = confirmation.or(offer.confirmation);
    }

    pub(super) fn complete(&self) -> impl Iterator<Item = (&WelcomeOffer, &[u8], &[u8; 32])> {
        self.0.iter().filter_map(|offer| {
            Some((offer, offer.welcome.as_deref()?, offer.confirmation.as_ref()?))
        })
    }

    fn of(&self, claim: (MemberId, Epoch)) -> Option<&WelcomeOffer> {
        self.0.iter().find(|offer| (offer.sender, offer.epoch) == claim)
    }
}

impl WelcomeOffer {
    const fn new((sender, epoch): (MemberId, Epoch)) -> Self {
        Self { sender, epoch, welcome: None, confirmation: None }
    }
}

/// How many claims to be the sponsor a joining member keeps.
const MOST: usize = 4;
