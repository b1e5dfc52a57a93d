//! What is said between the device and the service: the messages of `join.rs` and `notice.rs` in
//! `crates/groupkey-mqtt/src`, and the key.

use std::collections::BTreeMap;
use std::fmt;

/// A device's name.
pub type DeviceName = u8;

/// An epoch, a member's number, the count of a founding, of an attempt, or of an admission.
pub type Count = u8;

/// A place in a founding of the group: `Place` in `join.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelPlace {
    /// The member's number.
    pub number: Count,
    /// The founding.
    pub founding: Count,
}

/// A signed request to join: `JoinRequestBody`. Its hash is the request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelRequest {
    /// Who asks.
    pub name: DeviceName,
    /// Later in each request.
    pub stamp: Count,
    /// The same until the device loses its state.
    pub attempt: Count,
    /// The place that was offered.
    pub place: Option<ModelPlace>,
}

/// What was said, and can be heard again. The service signs all but requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelMessage {
    /// A device asks to join.
    Request(ModelRequest),
    /// The service offers this place, in answer to this request.
    Offer(ModelPlace, ModelRequest),
    /// The service admits whoever made this request.
    Welcome(ModelWelcome),
    /// The change that led to this epoch removed the member at this place.
    Farewell(ModelPlace, Count),
    /// The key of this epoch of a founding, for these numbers with the keys of these admissions.
    Rekey((Count, Count), BTreeMap<Count, Count>),
}

/// A welcome: `Welcome` in `join.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelWelcome {
    /// Where the member is.
    pub place: ModelPlace,
    /// The epoch before the admission.
    pub epoch: Count,
    /// The admission, which has individual keys of its own.
    pub admission: Count,
    /// The request that it answers.
    pub answers: ModelRequest,
}

impl fmt::Display for ModelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, stamp, attempt, place } = self;
        write!(f, "request {stamp} of {name}, attempt {attempt}")?;
        place.map_or(Ok(()), |place| write!(f, ", for number {}", place.number))
    }
}

impl fmt::Display for ModelMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(request) => write!(f, "{request}"),
            Self::Offer(place, answers) => {
                write!(f, "number {} is offered to {answers}", place.number)
            }
            Self::Welcome(ModelWelcome { epoch, answers, .. }) => {
                write!(f, "welcome after epoch {epoch} to {answers}")
            }
            Self::Farewell(place, epoch) => {
                write!(f, "farewell of epoch {epoch} to number {}", place.number)
            }
            Self::Rekey((_, epoch), to) => {
                write!(f, "key of epoch {epoch} for numbers {:?}", to.keys())
            }
        }
    }
}
