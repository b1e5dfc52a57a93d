//! One party of a group on a transport of the program's own, step by step.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use getrandom::SysRng;
use groupkey::catalogue::{self, Profile};
use groupkey::device::{Device, DeviceOutput, Group, Keys};
use groupkey::protection::{Identity, PublicIdentity};
use groupkey::{
    Command, Epoch, Error, Event, GroupId, Instance, MemberId, PartyId, Recipient, Suite,
};
use groupkey_mqtt::keyring::Secret;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use rand_chacha::rand_core::UnwrapErr;
use zeroize::Zeroizing;

use crate::work::input_error;

/// A party with everything that it needs between two messages.
#[pyclass(frozen, module = "groupkey._groupkey", name = "NativeDevice")]
pub(crate) struct NativeDevice(Mutex<Device>);

/// What happened: a word for it, an epoch, a number (a sender's, or a subset's), and a content.
type Happened = (&'static str, Option<u64>, Option<u32>, Option<Py<PyBytes>>);

/// A recipient: its kind, and its number if it has one; and the bytes.
type Addressed = (&'static str, Option<u32>, Py<PyBytes>);

#[pymethods]
impl NativeDevice {
    /// Makes the device of member `me`, or of the controller if that is `None`.
    ///
    /// Messages are protected by a MAC under `mac_key`, or by signatures of `identity`;
    /// `directory` has the public keys of the others, the controller's under `None`.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "Python's function has names for them")]
    fn new(
        py: Python<'_>,
        scheme: &str,
        parameters: BTreeMap<String, u32>,
        suite: &str,
        group: u64,
        instance: [u8; 16],
        me: Option<u32>,
        mac_key: Option<[u8; 32]>,
        identity: Option<[u8; 32]>,
        directory: BTreeMap<Option<u32>, Vec<u8>>,
        messages: bool,
    ) -> PyResult<Self> {
        let wrong = |problem: String| input_error(py, problem, None);
        let known = catalogue::scheme(scheme);
        let known = known.ok_or_else(|| wrong(format!("there is no scheme {scheme:?}")))?;
        let mut configuration = known.configuration(Profile::Sound);
        for (name, value) in &parameters {
            let set = configuration.set(name, *value);
            set.map_err(|error| wrong(format!("parameter {name}: {error}")))?;
        }
        let suite =
            Suite::named(suite).ok_or_else(|| wrong(format!("there is no suite {suite:?}")))?;
        let keys = match (mac_key, identity) {
            (Some(key), None) => Keys::mac(key),
            (None, Some(secret)) => Keys::Signature {
                identity: Identity::from_secret(&secret),
                directory: read_directory(directory)
                    .ok_or_else(|| wrong("the directory has a key that is none".to_owned()))?,
            },
            _ => return Err(wrong("give mac_key, or identity and directory".to_owned())),
        };
        let group =
            Group { configuration, suite, id: GroupId(group), instance: Instance(instance) };
        // Asked for each value: a process that forks has no generator that both copies would go on
        // with. Python itself does not start on a system without randomness.
        let rng = UnwrapErr(SysRng);
        let device = match me {
            Some(me) => Device::member(&group, MemberId(me), keys, rng),
            None => Device::controller(&group, keys, rng)
                .ok_or_else(|| wrong(format!("{scheme} has no controller")))?,
        };
        let device = if messages { device.with_messages(Default::default()) } else { device };
        Ok(Self(Mutex::new(device)))
    }

    /// Returns the public key of an identity.
    #[classmethod]
    fn public_key(_class: &Bound<'_, PyType>, py: Python<'_>, identity: [u8; 32]) -> Py<PyBytes> {
        PyBytes::new(py, &Secret::from_bytes(identity).public()).unbind()
    }

    /// Gives the party a command: its name, the members that it is about, and those that leave.
    fn command(
        &self,
        py: Python<'_>,
        name: &str,
        members: Vec<u32>,
        leaving: Vec<u32>,
        now: u64,
    ) -> PyResult<Vec<Happened>> {
        let members: Vec<MemberId> = members.into_iter().map(MemberId).collect();
        let leaving: Vec<MemberId> = leaving.into_iter().map(MemberId).collect();
        let command = match (name, &members[..]) {
            ("add", &[member]) => Command::Add(member),
            ("batch", joining) => Command::Batch { joining, leaving: &leaving },
            ("catch_up", []) => Command::CatchUp,
            ("create", members) => Command::Create(members),
            ("enroll", members) => Command::Enroll(members),
            ("partition", members) => Command::Partition(members),
            ("rekey", []) => Command::Rekey,
            ("remove", &[member]) => Command::Remove(member),
            _ => return Err(input_error(py, format!("no command is {name} of these"), None)),
        };
        let happened = py.detach(|| self.device().command(command, now));
        outputs(py, happened)
    }

    /// Merges our part of the group with another part.
    fn merge(
        &self,
        py: Python<'_>,
        members: Vec<u32>,
        epoch: u64,
        now: u64,
    ) -> PyResult<Vec<Happened>> {
        let members: Vec<MemberId> = members.into_iter().map(MemberId).collect();
        let command = Command::Merge { members: &members, epoch: Epoch(epoch) };
        let happened = py.detach(|| self.device().command(command, now));
        outputs(py, happened)
    }

    /// Processes a message as it came over the transport.
    fn receive(&self, py: Python<'_>, bytes: &[u8], now: u64) -> PyResult<Vec<Happened>> {
        let happened = py.detach(|| self.device().receive(bytes, now));
        outputs(py, happened)
    }

    /// Processes a message that came over the confidential channel.
    fn receive_confidential(
        &self,
        py: Python<'_>,
        bytes: &[u8],
        now: u64,
    ) -> PyResult<Vec<Happened>> {
        let happened = py.detach(|| self.device().receive_confidential(bytes, now));
        outputs(py, happened)
    }

    /// Encrypts a message to the group.
    fn send(&self, py: Python<'_>, content: &[u8], now: u64) -> PyResult<()> {
        py.detach(|| self.device().send(content, now)).map_err(|error| refused(py, error))
    }

    /// Refuses all that a party says from now on.
    fn forget(&self, py: Python<'_>, party: Option<u32>) -> PyResult<()> {
        self.device().forget(party_of(party)).map_err(|error| refused(py, error))
    }

    /// Takes the messages to transmit.
    fn outgoing(&self, py: Python<'_>) -> Vec<Addressed> {
        self.device().outgoing().map(|(to, bytes)| addressed(py, to, &bytes)).collect()
    }

    /// Takes the messages that need a confidential and authentic channel.
    fn confidential(&self, py: Python<'_>) -> Vec<Addressed> {
        self.device().confidential().map(|(to, bytes)| addressed(py, to, &bytes)).collect()
    }

    /// Returns the epoch of the group key, and the key.
    fn group_key(&self, py: Python<'_>) -> Option<(u64, Py<PyBytes>)> {
        let device = self.device();
        let (epoch, key) = device.group_key()?;
        Some((epoch.0, PyBytes::new(py, key.as_bytes()).unbind()))
    }

    /// Returns the epoch, and bytes that follow from the group key, for another protocol.
    fn export(
        &self,
        py: Python<'_>,
        label: &str,
        context: &[u8],
        length: usize,
    ) -> PyResult<(u64, Py<PyBytes>)> {
        let mut output = Zeroizing::new(vec![0; length]);
        let epoch = self.device().export(label, context, &mut output);
        let epoch = epoch.map_err(|error| refused(py, error))?;
        Ok((epoch.0, PyBytes::new(py, &output).unbind()))
    }
}

impl NativeDevice {
    fn device(&self) -> MutexGuard<'_, Device> {
        // A step is whole or not at all, so a device is whole whatever a thread did with it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_directory(
    directory: BTreeMap<Option<u32>, Vec<u8>>,
) -> Option<BTreeMap<PartyId, PublicIdentity>> {
    let read = |(party, bytes): (Option<u32>, Vec<u8>)| {
        Some((party_of(party), PublicIdentity::from_bytes(&bytes)?))
    };
    directory.into_iter().map(read).collect()
}

fn party_of(number: Option<u32>) -> PartyId {
    number.map_or(PartyId::Controller, |member| MemberId(member).into())
}

fn outputs(py: Python<'_>, happened: Result<Vec<DeviceOutput>, Error>) -> PyResult<Vec<Happened>> {
    let happened = happened.map_err(|error| refused(py, error))?;
    let told = happened.into_iter().filter_map(|happened| match happened {
        DeviceOutput::Message(received) => {
            let content = PyBytes::new(py, &received.content).unbind();
            Some(("message", Some(received.epoch.0), Some(received.sender.0), Some(content)))
        }
        DeviceOutput::Event(event) => match event {
            Event::MessageKey => Some(("message key", None, None, None)),
            Event::Rekeyed(epoch) => Some(("epoch", Some(epoch.0), None, None)),
            Event::Removed => Some(("removed", None, None, None)),
            Event::Subscribed(subset) => Some(("subscribed", None, Some(subset.0), None)),
            Event::Unsubscribed(subset) => Some(("unsubscribed", None, Some(subset.0), None)),
            // What later versions may report.
            _ => None,
        },
    });
    Ok(told.collect())
}

fn addressed(py: Python<'_>, to: Recipient, bytes: &[u8]) -> Addressed {
    let (kind, number) = match to {
        Recipient::Controller => ("controller", None),
        Recipient::Group => ("group", None),
        Recipient::Member(member) => ("member", Some(member.0)),
        Recipient::SubgroupController(subgroup) => ("subgroup controller", Some(subgroup.0)),
        Recipient::Subset(subset) => ("subset", Some(subset.0)),
    };
    (kind, number, PyBytes::new(py, bytes).unbind())
}

/// Returns the exception for an error of a party. The party has not changed.
fn refused(py: Python<'_>, error: Error) -> PyErr {
    let raised = py.import("groupkey.errors").and_then(|errors| match error {
        Error::Misbehaved(why) => {
            errors.getattr("MessageError")?.call1((error.to_string(), format!("{why:?}")))
        }
        Error::Misuse(_) | Error::Unsupported(_) => {
            errors.getattr("InputError")?.call1((error.to_string(),))
        }
    });
    raised.map_or_else(|error| error, PyErr::from_value)
}
