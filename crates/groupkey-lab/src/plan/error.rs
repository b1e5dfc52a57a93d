//! Why a plan cannot be run.

use std::fmt;

use groupkey::catalogue::Unsuited;
use groupkey::{Operation, Suite};

use crate::conditions::ConditionsError;

/// Why a plan cannot be run, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanError {
    /// Conditions that no link can have.
    Conditions(ConditionsError),
    /// A device without figures for the suite.
    Device {
        /// The device.
        device: String,
        /// The suite it has no figures for.
        suite: Suite,
        /// The suites it has figures for.
        suites: Vec<&'static str>,
    },
    /// A limit of zero exchanges in flight.
    InFlight,
    /// Fewer than two members, or a number of members that the scheme does not take.
    Members {
        /// The number asked for.
        members: u32,
        /// The least and the most members that the scheme takes.
        range: (u32, u32),
    },
    /// Requests to join or leave that no member sends.
    NoRequest {
        /// The scheme, if it has no controller to ask; otherwise no member joins or leaves.
        without_controller: Option<&'static str>,
    },
    /// A parameter that the scheme does not have, or a value that it does not allow.
    Parameter {
        /// Its name.
        name: String,
        /// What is wrong, and the parameters of the scheme.
        problem: String,
    },
    /// A quality of service that MQTT does not have.
    Qos(u8),
    /// No runs.
    Runs,
    /// Steps that cannot happen in this order.
    Steps {
        /// The place of the first step that cannot happen, from 0.
        index: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// An operation that the scheme does not have.
    Unsupported {
        /// The scheme.
        scheme: &'static str,
        /// The operation.
        operation: Operation,
        /// The operations that the scheme has.
        operations: &'static [Operation],
    },
    /// A suite in which the scheme does not run.
    Unsuited(Unsuited),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conditions(error) => error.fmt(f),
            Self::Device { device, suite, suites } => write!(
                f,
                "the device {device} has no figures for the suite {}; choose the suite {}, or \
                 another device",
                suite.name(),
                suites.join(" or "),
            ),
            Self::InFlight => write!(f, "no message may be in flight; give at least 1"),
            Self::Members { members, range: (least, most) } => {
                write!(f, "a group of {members} members cannot be; give {least} to {most}")
            }
            Self::NoRequest { without_controller: Some(scheme) } => {
                write!(f, "{scheme} has no controller to ask; leave the request out")
            }
            Self::NoRequest { without_controller: None } => {
                write!(
                    f,
                    "no member joins or leaves, so none sends a request; leave the request out"
                )
            }
            Self::Parameter { name, problem } => write!(f, "parameter {name}: {problem}"),
            Self::Qos(qos) => {
                write!(f, "MQTT has no quality of service {qos}; give 0, 1 or 2")
            }
            Self::Runs => write!(f, "nothing would be run; give at least 1 run"),
            Self::Steps { index, problem } => write!(f, "step {}: {problem}", index + 1),
            Self::Unsupported { scheme, operation, operations } => {
                let known: Vec<&str> = operations.iter().map(|known| known.name()).collect();
                write!(
                    f,
                    "{scheme} has no operation {}; it has {}",
                    operation.name(),
                    known.join(", ")
                )
            }
            Self::Unsuited(unsuited) => unsuited.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}
