//! One step of a party in Python: the call, what it may return, and what an exception means.
//!
//! `Refused` refuses a message, as the contract has it. Any other exception is a fault of the scheme: it
//! ends the work, and the program gets it.

use std::cell::Cell;

use groupkey::author::Message;
use groupkey::error::{Misbehaviour, Unsupported};
use groupkey::{Context, Error, Footprint, Key, MemberId, PartyId};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::SchemeParts;
use super::body::BodyMessage;
use super::context::{Moment, StepContext, lend};
use super::key::OwnKey;

/// What a method of a party gets besides the context.
pub(super) enum Argument<'a> {
    Member(MemberId),
    Members(&'a [MemberId]),
    Message(&'a Message<'a>),
    Nothing,
}

impl SchemeParts {
    /// Makes a party. `None` if that failed: such a party refuses everything.
    pub(super) fn make(&self, me: PartyId) -> Option<Py<PyAny>> {
        Python::attach(|py| {
            let made = match me {
                PartyId::Member(member) => self.member.call1(py, (member.0,)),
                _ => self.controller.call0(py),
            };
            made.map_err(|error| self.keep_fault(py, &me.to_string(), "its making", error)).ok()
        })
    }

    /// Calls a method of a party. Returns the key that it returned.
    pub(super) fn call(
        &self,
        party: Option<&Py<PyAny>>,
        cx: &mut Context<'_>,
        moment: Moment,
        method: &str,
        argument: Argument<'_>,
    ) -> Result<Option<Key>, Error> {
        let party = party.ok_or(FAULT)?;
        let message = match &argument {
            Argument::Message(message) => Some(BodyMessage::of(message)?),
            _ => None,
        };
        let me = cx.me();
        lend(cx, || {
            Python::attach(|py| {
                let before = match argument {
                    Argument::Message(_) if WATCHED.get() => state_of(py, party),
                    _ => None,
                };
                let called =
                    invoke(py, party, StepContext::new(me, moment), method, &argument, message);
                called.map_err(|error| {
                    // Only a message can be refused: the commands that arrive here make sense.
                    let reason = match argument {
                        Argument::Message(_) => reason_of(py, &error),
                        _ => None,
                    };
                    let fault = match reason {
                        Some(reason) if is_as_before(py, party, before.as_ref()) => {
                            return reason.into();
                        }
                        Some(_) => PyRuntimeError::new_err("it refused a message, and changed"),
                        None => error,
                    };
                    self.keep_fault(py, &me.to_string(), method, fault);
                    FAULT
                })
            })
        })
    }

    /// Asks a party how much key material it holds besides the group key.
    pub(super) fn storage(&self, party: Option<&Py<PyAny>>, me: PartyId) -> Footprint {
        let Some(party) = party else { return Footprint::default() };
        Python::attach(|py| {
            let told = party.call_method0(py, "storage").and_then(|told| {
                let told = told.bind(py);
                let (permanent, temporary) = match told.extract::<usize>() {
                    Ok(permanent) => (permanent, 0),
                    Err(_) => told.extract::<(usize, usize)>().map_err(|_| {
                        PyTypeError::new_err("it returns bytes, or permanent and temporary bytes")
                    })?,
                };
                match permanent.max(temporary) <= MOST_STORED {
                    true => Ok(Footprint { permanent, temporary }),
                    false => Err(PyValueError::new_err("no party stores that much")),
                }
            });
            told.unwrap_or_else(|error| {
                self.keep_fault(py, &me.to_string(), "storage", error);
                Footprint::default()
            })
        })
    }
}

/// Calls a method, and returns the key that it returned.
fn invoke(
    py: Python<'_>,
    party: &Py<PyAny>,
    step: StepContext,
    method: &str,
    argument: &Argument<'_>,
    message: Option<BodyMessage>,
) -> PyResult<Option<Key>> {
    let (party, step) = (party.bind(py), Bound::new(py, step)?);
    let returned = match *argument {
        Argument::Member(member) => party.call_method1(method, (&step, member.0)),
        Argument::Members(members) => {
            let members = PyList::new(py, members.iter().map(|member| member.0))?;
            party.call_method1(method, (&step, members))
        }
        Argument::Message(_) => party.call_method1(method, (&step, message)),
        Argument::Nothing => party.call_method1(method, (&step,)),
    };
    step.get().end();
    key_of(method, &returned?)
}

/// Does some work on this thread, in which a party that refuses a message is compared with what it was
/// before. That takes a copy of each party's state for each message.
pub(super) fn watching<T>(work: impl FnOnce() -> T) -> T {
    let before = WATCHED.replace(true);
    let done = work();
    WATCHED.set(before);
    done
}

fn state_of<'py>(py: Python<'py>, party: &Py<PyAny>) -> Option<Bound<'py, PyAny>> {
    let attributes = party.bind(py).getattr("__dict__").ok()?;
    py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (attributes,))).ok()
}

fn is_as_before(py: Python<'_>, party: &Py<PyAny>, before: Option<&Bound<'_, PyAny>>) -> bool {
    let now = party.bind(py).getattr("__dict__");
    before.is_none_or(|before| now.and_then(|now| now.eq(before)).unwrap_or(true))
}

/// Returns the exception by which Python hears that something is refused.
pub(super) fn refusal(py: Python<'_>, error: &Error) -> PyErr {
    let reason = REASONS.into_iter().find(|(_, reason)| *error == Error::Misbehaved(*reason));
    let name = reason.map_or("UnexpectedMessage", |(name, _)| name);
    let made =
        py.import("groupkey.author").and_then(|author| author.getattr("Refused")?.call1((name,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Returns why a message is refused, if the exception says so.
fn reason_of(py: Python<'_>, error: &PyErr) -> Option<Misbehaviour> {
    let refused = py.import("groupkey.author").and_then(|author| author.getattr("Refused")).ok()?;
    if !error.is_instance(py, &refused) {
        return None;
    }
    let name: String = error.value(py).getattr("reason").and_then(|name| name.extract()).ok()?;
    REASONS.into_iter().find(|(known, _)| *known == name).map(|(_, reason)| reason)
}

fn key_of(method: &str, returned: &Bound<'_, PyAny>) -> PyResult<Option<Key>> {
    if returned.is_none() {
        return Ok(None);
    }
    let key = returned.cast::<OwnKey>().map_err(|_| {
        let kind = returned.get_type();
        let kind = kind.name().map_or_else(|_| "something".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("{method} returns a Key, not {kind}"))
    })?;
    Ok(Some(key.get().0.clone()))
}

/// What the library hears of a fault. The program hears more.
pub(super) const FAULT: Error = Error::Unsupported(Unsupported::Operation);

/// Why a party refuses a message, as `groupkey.author.Refused` names it.
const REASONS: [(&str, Misbehaviour); 5] = [
    ("InvalidRoster", Misbehaviour::InvalidRoster),
    ("Malformed", Misbehaviour::Malformed),
    ("NothingForUs", Misbehaviour::NothingForUs),
    ("UnexpectedMessage", Misbehaviour::UnexpectedMessage),
    ("WrongKey", Misbehaviour::WrongKey),
];

/// More than any device has, and far from what sums of it could overflow.
const MOST_STORED: usize = 1 << 40;

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}
