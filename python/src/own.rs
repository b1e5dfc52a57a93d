//! Schemes that are written in Python: entries like those of the catalogue, whose parties are Python's objects. The
//! laboratory runs them by the library's contract, as it runs a scheme in Rust.

mod context;
mod party;

use std::ptr;
use std::sync::{Mutex, PoisonError, RwLock};

use groupkey::catalogue::{self, Claims, Configuration, Parties, Provenance, Scheme};
use groupkey::{Operation, PartyId};
use groupkey_cli::Host;
use groupkey_testkit::law;
use pyo3::prelude::*;

pub(crate) use self::context::{OwnKey, OwnMessage, StepContext};
use self::party::OwnParty;
use crate::work::{apart, input_error};

/// The entry of a scheme that is written in Python.
#[pyclass(frozen, module = "groupkey._groupkey")]
pub(crate) struct OwnScheme(pub(crate) &'static OwnEntry);

/// What the catalogue's entry cannot hold: how Python makes the parties, and what went wrong. It lives as long as
/// the process, because the library's entries are static.
pub(crate) struct OwnEntry {
    pub(crate) scheme: &'static Scheme,
    controller: Py<PyAny>,
    member: Py<PyAny>,
    /// The first exception that was no refusal, as the program gets it.
    fault: Mutex<Option<PyErr>>,
}

#[pymethods]
impl OwnScheme {
    /// Makes the entry of a centralized scheme. `controller` and `member` make the parties. Python's class has checked
    /// the rest.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "Python's class has names for them")]
    fn new(
        py: Python<'_>,
        id: &str,
        name: &str,
        source: &str,
        is_specified: bool,
        claims: Vec<String>,
        members: (u32, u32),
        rekeys: bool,
        controller: Py<PyAny>,
        member: Py<PyAny>,
    ) -> PyResult<Self> {
        if catalogue::scheme(id).is_some() {
            let told = format!("the catalogue has a scheme {id} already: give yours another id");
            return Err(input_error(py, told, None));
        }
        let provenance = match is_specified {
            true => Provenance::Specified,
            false => Provenance::Reconstructed,
        };
        let has = |claim: &str| claims.iter().any(|known| known == claim);
        let claims = Claims {
            agreement: has("agreement"),
            backward_secrecy: has("backward-secrecy"),
            collusion_resistance: has("collusion-resistance"),
            forward_secrecy: has("forward-secrecy"),
            key_independence: has("key-independence"),
            ..Claims::NONE
        };
        let kept = |text: &str| -> &'static str { Box::leak(Box::<str>::from(text)) };
        let parties = Parties::Centralized {
            controller: |configuration| Box::new(made(configuration, PartyId::Controller)),
            member: |configuration, id| Box::new(made(configuration, PartyId::Member(id))),
        };
        let operations: &[_] = if rekeys { &Operation::CHANGES } else { &Operation::MEASURED };
        let scheme = Scheme::new(kept(id), kept(name), provenance, kept(source), parties)
            .with_operations(operations)
            .with_claims(claims)
            .with_members(members);
        let scheme: &'static Scheme = Box::leak(Box::new(scheme));
        let entry = OwnEntry { scheme, controller, member, fault: Mutex::default() };
        let entry: &'static OwnEntry = Box::leak(Box::new(entry));
        ENTRIES.write().unwrap_or_else(PoisonError::into_inner).push(entry);
        Ok(Self(entry))
    }
}

impl OwnEntry {
    /// Raises what a party raised, once.
    pub(crate) fn raise(&self) -> PyResult<()> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Keeps what a party raised as the cause of what the program will get.
    fn keep_fault(&self, py: Python<'_>, party: PartyId, doing: &str, cause: PyErr) {
        let kind = cause
            .get_type(py)
            .name()
            .map_or_else(|_| "an exception".into(), |name| name.to_string());
        let id = self.scheme.id;
        let told = format!("{id}: {party} raised {kind} in {doing}: {}", cause.value(py));
        let fault = scheme_error(py, told);
        fault.set_cause(py, Some(cause));
        let mut kept = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        // What is not kept is freed when the lock is: to free an exception may run Python.
        let _freed_later = if kept.is_some() { Some(fault) } else { kept.replace(fault) };
        drop(kept);
    }
}

/// Holds a scheme to its law, as the test kit holds schemes in Rust to it. Returns how many operations passed.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    scheme: PyRef<'_, OwnScheme>,
    members: u32,
    changes: u32,
    seed: u64,
) -> PyResult<u32> {
    let entry = scheme.0;
    let (least, most) = entry.scheme.members;
    if members < least || members >= most.min(10_000) {
        let told = format!("members must be from {least} on, and leave room for one that joins");
        return Err(input_error(py, told, None));
    }
    let work =
        |host: &Host| law::check(entry.scheme, [members, changes], seed, &|| host.is_stopping());
    let (outcome, _) = apart(py, None, &|| entry.raise(), work)?;
    outcome.map_err(|broken| scheme_error(py, format!("{}: {broken}", entry.scheme.id)))
}

/// Makes a party. An id can name one scheme now and another one later, as in a notebook. An address cannot.
fn made(configuration: &Configuration, me: PartyId) -> OwnParty {
    let entries = ENTRIES.read().unwrap_or_else(PoisonError::into_inner);
    let found = entries.iter().find(|entry| ptr::eq(entry.scheme, configuration.scheme()));
    let entry = *found.expect("the scheme and its entry are made together");
    // To make it runs Python, which may make a scheme.
    drop(entries);
    OwnParty::new(entry, me)
}

/// Returns the exception for a scheme that does not keep to the contract.
fn scheme_error(py: Python<'_>, message: String) -> PyErr {
    let made = py
        .import("groupkey.errors")
        .and_then(|errors| errors.getattr("SchemeError")?.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

static ENTRIES: RwLock<Vec<&'static OwnEntry>> = RwLock::new(Vec::new());
