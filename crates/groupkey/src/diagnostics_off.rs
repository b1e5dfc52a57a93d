//! Without the feature `tracing` nobody sees anything, and the compiler removes the calls.

use crate::error::Error;
use crate::identity::{Epoch, PartyId};
use crate::messages::Received;
use crate::party::Input;

pub(crate) const fn step(_: PartyId, _: &Input<'_>, _: usize, _: &Result<(), Error>) {}

pub(crate) const fn refused(_: PartyId, _: usize, _: &Error) {}

pub(crate) const fn sealed(_: PartyId, _: Epoch, _: usize, _: Result<usize, &Error>) {}

pub(crate) const fn opened(_: PartyId, _: usize, _: &Result<Received, Error>) {}
