//! The schemes that an engineer would compare, side by side: who is ahead, where, and why.
//!
//! A [`PeerPlan`] is one group of one scheme, with a past, in one network. [`run`] runs the groups on
//! simulated networks and counts what each party computes. Counted primitives have the prices of one
//! device, whoever computes them: so a controller and a member that leads a change can be compared. A
//! [`PeerRow`] has what came out. [`leads`] says who is ahead of whom and why, by rules alone.

mod contender;
mod counting_carrier;
mod lead;
mod measured;
mod network;
mod reading;
mod row;
mod run;
mod sample;

pub use self::contender::{GroupPast, LIBRARIES, PeerExtent, contenders};
pub use self::lead::{PeerField, PeerLead, PeerQuantity, PeerRival, leads};
pub use self::measured::measure;
pub use self::network::PeerNetwork;
pub use self::reading::{LeadCount, past_effects, sentence, tallies};
pub use self::row::{MeasuredEffort, PeerEffort, PeerRow};
pub use self::run::{PeerFailure, PeerOptions, PeerOutcome, PeerPlan, plans, run};

/// The device at whose prices all parties compute.
pub const DEVICE: &str = "cortex-m4";

/// The device of the controller and the broker, in the times until all have the key.
pub const CONTROLLER_DEVICE: &str = "host";

/// What the study assumes, one sentence each.
pub fn assumptions() -> Vec<String> {
    let mut told = vec![
        format!(
            "Computing is counted primitives at the prices of {DEVICE}, for every party alike: modelled, \
             not measured."
        ),
        format!(
            "In the time until all have the key members compute on {DEVICE}, and a controller and the \
             broker on {CONTROLLER_DEVICE}."
        ),
        "Schemes have their sound form, the standard suite, and signatures on messages.".to_owned(),
        "Enrolment, by which members of a key server get their first keys, takes no time."
            .to_owned(),
        "Libraries of MLS sign by themselves, and their messages are signed once more here."
            .to_owned(),
        "If the past of a group is of no account to a scheme, its new group stands for all."
            .to_owned(),
    ];
    told.extend(
        PeerNetwork::ALL.map(|network| format!("{}: {}.", network.name(), network.meaning())),
    );
    told.extend(GroupPast::ALL.map(|past| format!("{}: {}.", past.name(), past.meaning())));
    told
}
