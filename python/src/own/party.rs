//! A party of a scheme in Python. What does not depend on the scheme is checked before Python hears of it: who is a
//! member, who sent a message, in which operation, and whether its epoch is the next one. `Refused` refuses a message.
//! Any other exception is a fault of the scheme: it ends the work, and the program gets it.

use std::collections::BTreeSet;

use groupkey::author::Message;
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{
    Command, Context, Epoch, Error, Event, Footprint, Input, Key, MemberId, Operation, Party,
    PartyId,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::OwnEntry;
use super::context::{OwnKey, OwnMessage, StepContext, lend};

/// A controller, or a member.
pub(super) struct OwnParty {
    entry: &'static OwnEntry,
    /// `None` if it could not be made: such a party refuses everything.
    party: Option<Py<PyAny>>,
    me: PartyId,
    /// At a member, whether it is enrolled itself.
    enrolled: BTreeSet<MemberId>,
    current: BTreeSet<MemberId>,
    epoch: Epoch,
    group_key: Option<Key>,
}

/// What a method of a party gets besides the context.
enum Argument<'a> {
    Member(MemberId),
    Members(&'a [MemberId]),
    Message(&'a Message<'a>),
    Nothing,
}

impl OwnParty {
    pub(super) fn new(entry: &'static OwnEntry, me: PartyId) -> Self {
        let party = Python::attach(|py| {
            let made = match me {
                PartyId::Member(member) => entry.member.call1(py, (member.0,)),
                _ => entry.controller.call0(py),
            };
            made.map_err(|error| entry.keep_fault(py, me, "its making", error)).ok()
        });
        let (enrolled, current) = (BTreeSet::new(), BTreeSet::new());
        Self { entry, party, me, enrolled, current, epoch: Epoch::default(), group_key: None }
    }

    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let mut enrolled = self.enrolled.clone();
        for &member in members {
            if self.current.contains(&member) || !enrolled.insert(member) {
                return Err(Misuse::AlreadyEnrolled(member).into());
            }
        }
        for &member in members {
            self.call(cx, (self.epoch, Operation::Enroll), "enroll", &Argument::Member(member))?;
        }
        self.enrolled = enrolled;
        Ok(())
    }

    /// Has Python change the key, with these members coming or going.
    fn change(
        &mut self,
        cx: &mut Context<'_>,
        operation: Operation,
        members: &[MemberId],
        argument: &Argument<'_>,
    ) -> Result<(), Error> {
        match (operation, &self.group_key) {
            (Operation::Create, Some(_)) => return Err(Misuse::AlreadyCreated.into()),
            (Operation::Create, None) | (_, Some(_)) => {}
            (_, None) => return Err(Misuse::NotCreated.into()),
        }
        let (mut enrolled, mut current) = (self.enrolled.clone(), self.current.clone());
        for &member in members {
            if operation == Operation::Remove {
                current.remove(&member).then_some(()).ok_or(Misuse::NotMember(member))?;
            } else {
                current.insert(member).then_some(()).ok_or(Misuse::AlreadyMember(member))?;
                enrolled.remove(&member).then_some(()).ok_or(Misuse::NotEnrolled(member))?;
            }
        }
        let limit = self.entry.scheme.members.1;
        match current.len() {
            0 | 1 => return Err(Misuse::TooFewMembers.into()),
            many if many > limit as usize => {
                return Err(Unsupported::TooManyMembers { limit }.into());
            }
            _ => {}
        }
        let (epoch, method) = (self.epoch.next(), operation.name());
        let key = self.call(cx, (epoch, operation), method, argument)?.ok_or_else(|| {
            let lack =
                PyTypeError::new_err(format!("{method} returns the new group key, not None"));
            Python::attach(|py| self.entry.keep_fault(py, self.me, method, lack));
            FAULT
        })?;
        (self.enrolled, self.current) = (enrolled, current);
        self.take_key(cx, epoch, key);
        Ok(())
    }

    /// Takes a message of the controller.
    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        me: MemberId,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        message.from_controller()?;
        let header = message.header();
        let (moment, is_enrolled) = ((header.epoch, header.operation), self.enrolled.contains(&me));
        if header.operation == Operation::Enroll && !is_enrolled {
            self.call(cx, moment, "enrolled", &Argument::Message(message))?;
            self.enrolled.insert(me);
            return Ok(());
        }
        if !is_enrolled || !Operation::CHANGES.contains(&header.operation) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        match self.group_key {
            Some(_) => message.require_next_epoch(self.epoch)?,
            None => message.require_later_epoch(self.epoch)?,
        }
        // A scheme may need several messages for a key.
        if let Some(key) = self.call(cx, moment, "receive", &Argument::Message(message))? {
            self.take_key(cx, header.epoch, key);
        }
        Ok(())
    }

    fn take_key(&mut self, cx: &mut Context<'_>, epoch: Epoch, key: Key) {
        (self.group_key, self.epoch) = (Some(key), epoch);
        cx.event(Event::Rekeyed(epoch));
    }

    /// Calls a method of Python's object. Returns the key that it returned.
    fn call(
        &self,
        cx: &mut Context<'_>,
        moment: (Epoch, Operation),
        method: &str,
        argument: &Argument<'_>,
    ) -> Result<Option<Key>, Error> {
        let party = self.party.as_ref().ok_or(FAULT)?;
        let step = StepContext::new(self.me, moment, self.group_key.clone());
        let called = |py: Python<'_>| {
            invoke(party.bind(py), step, method, argument).map_err(|error| {
                // Only a message can be refused: the commands that arrive here make sense.
                let is_message = matches!(argument, Argument::Message(_));
                if let Some(reason) = reason_of(py, &error).filter(|_| is_message) {
                    return reason.into();
                }
                self.entry.keep_fault(py, self.me, method, error);
                FAULT
            })
        };
        lend(cx, || Python::attach(called))
    }
}

impl Party for OwnParty {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        let rekeys = self.entry.scheme.operations.contains(&Operation::Rekey);
        match (self.me, input) {
            (PartyId::Member(me), Input::Message(message)) => self.receive(cx, me, &message),
            (_, Input::Message(_)) => Err(Misbehaviour::UnexpectedMessage.into()),
            (_, Input::Command(Command::CatchUp)) => Err(Unsupported::Operation.into()),
            (PartyId::Member(_), Input::Command(_)) => Err(Misuse::WrongRole.into()),
            (_, Input::Command(command)) => match command {
                Command::Enroll(members) => self.enroll(cx, members),
                Command::Create(members) => {
                    self.change(cx, Operation::Create, members, &Argument::Members(members))
                }
                Command::Add(member) => {
                    self.change(cx, Operation::Add, &[member], &Argument::Member(member))
                }
                Command::Remove(member) => {
                    self.change(cx, Operation::Remove, &[member], &Argument::Member(member))
                }
                Command::Rekey if rekeys => {
                    self.change(cx, Operation::Rekey, &[], &Argument::Nothing)
                }
                _ => Err(Unsupported::Operation.into()),
            },
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let Some(party) = &self.party else { return Footprint::default() };
        let group_key = self.group_key.as_ref().map_or(0, |_| Key::BYTES);
        let told = Python::attach(|py| {
            let told = party.call_method0(py, "storage").and_then(|told| {
                told.extract::<(u32, u32)>(py).or_else(|_| Ok((told.extract::<u32>(py)?, 0)))
            });
            told.map_err(|error: PyErr| self.entry.keep_fault(py, self.me, "storage", error))
        });
        let (permanent, temporary) = told.unwrap_or_default();
        Footprint { permanent: permanent as usize + group_key, temporary: temporary as usize }
    }
}

fn invoke(
    party: &Bound<'_, PyAny>,
    step: StepContext,
    method: &str,
    argument: &Argument<'_>,
) -> PyResult<Option<Key>> {
    let step = Bound::new(party.py(), step)?;
    let returned = match argument {
        Argument::Member(member) => party.call_method1(method, (&step, member.0)),
        Argument::Members(members) => {
            let members = PyList::new(party.py(), members.iter().map(|member| member.0))?;
            party.call_method1(method, (&step, members))
        }
        Argument::Message(message) => party.call_method1(method, (&step, OwnMessage::of(message))),
        Argument::Nothing => party.call_method1(method, (&step,)),
    };
    step.get().end();
    let returned = returned?;
    if returned.is_none() {
        return Ok(None);
    }
    match returned.cast::<OwnKey>() {
        Ok(key) => Ok(Some(key.get().0.clone())),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{method} returns a Key, not {}",
            returned.get_type().name()?
        ))),
    }
}

/// Returns the exception by which Python hears that something is refused.
pub(super) fn refusal(py: Python<'_>, error: &Error) -> PyErr {
    let is_it = |reason: &Misbehaviour| *error == Error::Misbehaved(*reason);
    let reason = REASONS.into_iter().find(is_it).unwrap_or(Misbehaviour::UnexpectedMessage);
    let made = py
        .import("groupkey.author")
        .and_then(|author| author.getattr("Refused")?.call1((format!("{reason:?}"),)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Returns why a message is refused, if the exception says so.
fn reason_of(py: Python<'_>, error: &PyErr) -> Option<Misbehaviour> {
    let refused = py.import("groupkey.author").and_then(|author| author.getattr("Refused")).ok()?;
    let exception = error.value(py);
    let name: String = exception.getattr("reason").and_then(|name| name.extract()).ok()?;
    let is_refusal = exception.is_instance(&refused).unwrap_or(false);
    REASONS.into_iter().find(|reason| is_refusal && format!("{reason:?}") == name)
}

/// What the library hears of a fault. The program hears more.
const FAULT: Error = Error::Unsupported(Unsupported::Operation);

/// Why a party refuses a message: `groupkey.author.Refused` has the same names.
const REASONS: [Misbehaviour; 5] = [
    Misbehaviour::InvalidRoster,
    Misbehaviour::Malformed,
    Misbehaviour::NothingForUs,
    Misbehaviour::UnexpectedMessage,
    Misbehaviour::WrongKey,
];
