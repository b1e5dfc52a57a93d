//! Schemes that are written in Python: entries like those of the catalogue, whose parties are Python's
//! objects. The laboratory runs them by the library's contract, as it runs a scheme in Rust.
//!
//! An entry lives as long as the process, because the library's catalogue is static. A program makes
//! one for each scheme that it defines, and lends it to the work that names it.

mod body;
mod context;
mod controller;
mod key;
mod label;
mod law;
mod member;
mod step;

use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use groupkey::catalogue::{self, Claims, Configuration, Parties, Provenance, Scheme};
use groupkey::{MemberId, Operation, Party, PartyId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

pub(crate) use self::body::BodyMessage;
pub(crate) use self::context::StepContext;
use self::controller::OwnController;
pub(crate) use self::key::OwnKey;
pub(crate) use self::law::check;
use self::member::OwnMember;
use crate::work::input_error;

/// The entry of a scheme that is written in Python.
#[pyclass(frozen, module = "groupkey._groupkey")]
pub(crate) struct OwnScheme {
    entry: &'static Scheme,
    parts: Arc<SchemeParts>,
}

/// What an entry's function pointers cannot hold: how Python makes the parties, and what went wrong.
pub(crate) struct SchemeParts {
    id: &'static str,
    controller: Py<PyAny>,
    member: Py<PyAny>,
    /// Whether the controller changes the key also if nobody joins or leaves.
    rekeys: bool,
    /// The first exception that was no refusal, as the program gets it.
    fault: Mutex<Option<PyErr>>,
}

#[pymethods]
impl OwnScheme {
    /// Makes the entry of a centralized scheme. `controller` and `member` make the parties.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "Python's class has names for them")]
    fn new(
        py: Python<'_>,
        id: &str,
        name: &str,
        source: &str,
        provenance: &str,
        claims: Vec<String>,
        members: (u32, u32),
        rekeys: bool,
        controller: Py<PyAny>,
        member: Py<PyAny>,
    ) -> PyResult<Self> {
        let wrong = |problem: String| input_error(py, problem, None);
        let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !id.bytes().all(is_id)
            || !id.starts_with(|c: char| c.is_ascii_lowercase())
            || id.len() > 40
        {
            return Err(wrong(format!(
                "{id:?} is no id: it has up to 40 small letters, digits and dashes, a letter first"
            )));
        }
        if catalogue::scheme(id).is_some() {
            return Err(wrong(format!(
                "the catalogue has a scheme {id} already: give yours another id"
            )));
        }
        let provenance = match provenance {
            "specified" => Provenance::Specified,
            "reconstructed" => Provenance::Reconstructed,
            other => {
                return Err(wrong(format!(
                    "provenance is specified or reconstructed, not {other:?}"
                )));
            }
        };
        if members.0 < 2 || members.0 > members.1 {
            return Err(wrong(
                "members are the smallest number, from 2 on, and the largest".to_owned(),
            ));
        }
        let claims = read_claims(&claims).map_err(wrong)?;
        let operations: &[_] = if rekeys { &Operation::CHANGES } else { &Operation::MEASURED };
        let (id, name, source) = (kept(id), kept(name), kept(source));
        let parties = Parties::Centralized { controller: make_controller, member: make_member };
        let entry = Scheme::new(id, name, provenance, source, parties)
            .with_operations(operations)
            .with_claims(claims)
            .with_members(members);
        let entry: &'static Scheme = Box::leak(Box::new(entry));
        let parts = SchemeParts { id, controller, member, rekeys, fault: Mutex::default() };
        let parts = Arc::new(parts);
        let mut all = PARTS.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(place(entry), Arc::clone(&parts));
        Ok(Self { entry, parts })
    }
}

impl OwnScheme {
    /// Returns the entry.
    pub(crate) const fn entry(&self) -> &'static Scheme {
        self.entry
    }

    /// Returns what the parties share.
    pub(crate) fn parts(&self) -> Arc<SchemeParts> {
        Arc::clone(&self.parts)
    }
}

impl SchemeParts {
    /// Raises what a party raised, once.
    pub(crate) fn raise(&self) -> PyResult<()> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Keeps that a party returned no key where it must.
    fn keep_lack(&self, party: PartyId, doing: &str) {
        Python::attach(|py| {
            let lack = PyTypeError::new_err(format!("{doing} returns the new group key, not None"));
            self.keep_fault(py, &party.to_string(), doing, lack);
        });
    }

    /// Keeps what a party raised as the cause of what the program will get.
    fn keep_fault(&self, py: Python<'_>, party: &str, doing: &str, cause: PyErr) {
        let kind = cause.get_type(py);
        let kind = kind.name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
        let message = format!("{}: {party} raised {kind} in {doing}: {}", self.id, cause.value(py));
        let fault = scheme_error(py, message);
        fault.set_cause(py, Some(cause));
        let mut kept = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        // What is not kept is freed when the lock is: to free an exception may run Python.
        let _freed_later = if kept.is_some() { Some(fault) } else { kept.replace(fault) };
        drop(kept);
    }
}

/// Returns the exception for a scheme that does not keep to the contract.
fn scheme_error(py: Python<'_>, message: String) -> PyErr {
    let error = py
        .import("groupkey.errors")
        .and_then(|errors| errors.getattr("SchemeError")?.call1((message,)));
    error.map_or_else(|error| error, PyErr::from_value)
}

fn make_controller(configuration: &Configuration) -> Box<dyn Party> {
    let scheme = configuration.scheme();
    Box::new(OwnController::new(parts_of(scheme), scheme.members.1))
}

fn make_member(configuration: &Configuration, id: MemberId) -> Box<dyn Party> {
    Box::new(OwnMember::new(parts_of(configuration.scheme()), id))
}

fn parts_of(entry: &'static Scheme) -> Arc<SchemeParts> {
    let all = PARTS.read().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(all.get(&place(entry)).expect("the entry and its parts are made together"))
}

/// An id can name one scheme now and another one later, as in a notebook. An address cannot: entries
/// are never freed.
fn place(entry: &'static Scheme) -> usize {
    ptr::from_ref(entry).addr()
}

fn read_claims(names: &[String]) -> Result<Claims, String> {
    let mut claims = Claims::NONE;
    for name in names {
        *match name.as_str() {
            "agreement" => &mut claims.agreement,
            "backward-secrecy" => &mut claims.backward_secrecy,
            "collusion-resistance" => &mut claims.collusion_resistance,
            "forward-secrecy" => &mut claims.forward_secrecy,
            "key-independence" => &mut claims.key_independence,
            other => return Err(format!("no scheme claims {other:?}")),
        } = true;
    }
    Ok(claims)
}

fn kept(text: &str) -> &'static str {
    Box::leak(Box::<str>::from(text))
}

static PARTS: LazyLock<RwLock<HashMap<usize, Arc<SchemeParts>>>> = LazyLock::new(RwLock::default);
