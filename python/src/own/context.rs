//! What a step in Python may use: the library's context, for as long as the step takes.
//!
//! Python's objects outlive every borrow, and the library's context is borrowed. So a step lends it to
//! its thread, and the object that Python has finds it there. When the step is over, nothing is.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use groupkey::{Context, Epoch, Error, Key, MemberId, Operation, PartyId, Recipient};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};

use super::body::BodyItem;
use super::key::OwnKey;
use super::label::kept_label;
use super::step::refusal;

/// What a party may use in a step, and what it must know of it. It is worth nothing after the step.
#[pyclass(frozen, module = "groupkey.author", name = "Context")]
pub(crate) struct StepContext {
    me: PartyId,
    moment: Moment,
    thread: ThreadId,
    is_over: AtomicBool,
    /// Bytes that the step has sent, roughly.
    sent: AtomicUsize,
}

/// Where in the group's life a step is.
pub(crate) struct Moment {
    /// The epoch that the step leads to.
    pub(crate) epoch: Epoch,
    pub(crate) operation: Operation,
    /// The group key so far.
    pub(crate) group_key: Option<Key>,
}

impl StepContext {
    /// Begins a step on this thread.
    pub(crate) fn new(me: PartyId, moment: Moment) -> Self {
        let (thread, is_over) = (thread::current().id(), AtomicBool::new(false));
        Self { me, moment, thread, is_over, sent: AtomicUsize::new(0) }
    }

    /// Ends the step: Python may have kept the object.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Uses the library's context.
    fn with<T>(&self, use_it: impl FnOnce(&mut Context<'_>) -> T) -> PyResult<T> {
        let is_here = thread::current().id() == self.thread;
        if !is_here || self.is_over.load(Ordering::Relaxed) || !LENT.is_set() {
            let told = "a context is for its step: it is over, or this is another thread";
            return Err(PyRuntimeError::new_err(told));
        }
        let (mut use_it, mut result) = (Some(use_it), None);
        LENT.with(|lent| {
            lent.cx.lend(&mut |cx| result = use_it.take().map(|use_it| use_it(cx)));
        });
        Ok(result.expect("what is lent is lent once"))
    }

    fn send(
        &self,
        to: Recipient,
        is_confidential: bool,
        body: &Bound<'_, PyTuple>,
        kind: u8,
    ) -> PyResult<()> {
        if self.me != PartyId::Controller {
            return Err(PyRuntimeError::new_err("only the controller sends"));
        }
        let mut length = 0;
        let items = body.iter().map(|item| BodyItem::of(&item, &mut length));
        let items: Vec<BodyItem> = items.collect::<PyResult<_>>()?;
        if self.sent.fetch_add(length + HEADER, Ordering::Relaxed) > STEP {
            return Err(PyValueError::new_err(format!("a step sends at most {STEP} bytes")));
        }
        let Moment { epoch, operation, .. } = self.moment;
        self.with(|cx| {
            let mut draft = match is_confidential {
                true => cx.confidential_draft(to, epoch, operation, kind),
                false => cx.draft(to, epoch, operation, kind),
            };
            items.iter().for_each(|item| item.write(&mut draft));
            draft.send();
        })
    }
}

#[pymethods]
impl StepContext {
    /// The party's number; `None` at the controller.
    #[getter]
    fn me(&self) -> Option<u32> {
        match self.me {
            PartyId::Member(member) => Some(member.0),
            PartyId::Controller | PartyId::SubgroupController(_) => None,
        }
    }

    /// The epoch that this step leads to; the first group key has epoch 1.
    #[getter]
    fn epoch(&self) -> u64 {
        self.moment.epoch.0
    }

    /// The operation: `"enroll"`, `"create"`, `"add"`, `"remove"` or `"rekey"`.
    #[getter]
    fn operation(&self) -> &'static str {
        self.moment.operation.name()
    }

    /// The group key that this party has so far; `None` before the first.
    #[getter]
    fn group_key(&self) -> Option<OwnKey> {
        self.moment.group_key.clone().map(OwnKey)
    }

    /// Draws a key. Counted as 16 random bytes.
    fn random_key(&self) -> PyResult<OwnKey> {
        self.with(|cx| cx.random_key()).map(OwnKey)
    }

    /// Derives a key from another (HKDF or its Ascon counterpart). `label` says what for.
    #[pyo3(signature = (key, label, context = None))]
    fn derive(&self, key: &OwnKey, label: &str, context: Option<&[u8]>) -> PyResult<OwnKey> {
        let (label, context) = (kept_label(label)?, context.unwrap_or_default());
        self.with(|cx| cx.derive(&key.0, label, context)).map(OwnKey)
    }

    /// Hashes a key, as in a one-way chain: an eighth of the cost of `derive`. `label` and `context` have
    /// at most 38 bytes together.
    #[pyo3(signature = (key, label, context = None))]
    fn hash(&self, key: &OwnKey, label: &str, context: Option<&[u8]>) -> PyResult<OwnKey> {
        let context = context.unwrap_or_default();
        if label.len() + context.len() > HASHED {
            let told = format!("label and context of a hash have at most {HASHED} bytes together");
            return Err(PyValueError::new_err(told));
        }
        let label = kept_label(label)?;
        self.with(|cx| cx.hash_with(&key.0, label, context)).map(OwnKey)
    }

    /// Masks a key with another bit by bit, or removes the mask. Not counted: it costs next to nothing.
    fn xor(&self, key: &OwnKey, mask: &OwnKey) -> PyResult<OwnKey> {
        self.with(|cx| cx.xor(&key.0, &mask.0)).map(OwnKey)
    }

    /// Wraps keys under another in one call, for this epoch. `label` is a number that distinguishes what
    /// is wrapped: no two different sets of keys may be wrapped under one key with the same epoch and
    /// label.
    #[pyo3(signature = (key, *keys, label = 0))]
    fn wrap(
        &self,
        py: Python<'_>,
        key: &OwnKey,
        keys: Vec<Py<OwnKey>>,
        label: u64,
    ) -> PyResult<Py<PyBytes>> {
        if keys.is_empty() {
            return Err(PyValueError::new_err("there is no key to wrap"));
        }
        let (mut wrapped, epoch) = (Vec::new(), self.moment.epoch);
        let keys: Vec<&Key> = keys.iter().map(|key| &key.get().0).collect();
        self.with(|cx| cx.wrap_keys(&key.0, epoch, label, keys.iter().copied(), &mut wrapped))?;
        Ok(PyBytes::new(py, &wrapped).unbind())
    }

    /// Opens a key that was wrapped for this epoch with this label. Raises `Refused` if it does not open.
    #[pyo3(signature = (key, wrapped, label = 0))]
    fn unwrap(&self, py: Python<'_>, key: &OwnKey, wrapped: &[u8], label: u64) -> PyResult<OwnKey> {
        let epoch = self.moment.epoch;
        let opened = self.with(|cx| cx.unwrap_key(&key.0, epoch, label, wrapped))?;
        opened.map(OwnKey).map_err(|error| refusal(py, &error))
    }

    /// Opens this many keys that were wrapped in one call. Raises `Refused` if they do not open.
    #[pyo3(signature = (key, wrapped, count, label = 0))]
    fn unwrap_all(
        &self,
        py: Python<'_>,
        key: &OwnKey,
        wrapped: &[u8],
        count: usize,
        label: u64,
    ) -> PyResult<Vec<OwnKey>> {
        // A wrapped key is longer than a byte, so this is a bound for the memory alone.
        let mut keys = vec![Key::default(); count.min(wrapped.len())];
        let epoch = self.moment.epoch;
        let opened = self.with(|cx| match keys.len() == count {
            true => cx.unwrap_keys(&key.0, epoch, label, wrapped, &mut keys),
            false => Err(Error::Misbehaved(groupkey::error::Misbehaviour::WrongKey)),
        })?;
        opened.map_err(|error| refusal(py, &error))?;
        Ok(keys.into_iter().map(OwnKey).collect())
    }

    /// Returns the hash of public data, 32 bytes.
    fn digest(&self, py: Python<'_>, label: &str, data: &[u8]) -> PyResult<Py<PyBytes>> {
        let label = kept_label(label)?;
        let digest = self.with(|cx| cx.digest(label, &[data]))?;
        Ok(PyBytes::new(py, &digest).unbind())
    }

    /// Sends a message to all members. Its items are `int`, `bytes`, `Key`, and lists of them. A key in
    /// an item is sent in clear. `kind` is your number for this kind of message, 0 to 255.
    #[pyo3(signature = (*body, kind = 0))]
    fn broadcast(&self, body: &Bound<'_, PyTuple>, kind: u8) -> PyResult<()> {
        self.send(Recipient::Group, false, body, kind)
    }

    /// Sends a message to one member. Anybody can hear it.
    #[pyo3(signature = (member, *body, kind = 0))]
    fn unicast(&self, member: u32, body: &Bound<'_, PyTuple>, kind: u8) -> PyResult<()> {
        self.send(Recipient::Member(MemberId(member)), false, body, kind)
    }

    /// Hands something to one member when it is enrolled, over a confidential and authentic channel: a
    /// cable. There is none later.
    #[pyo3(signature = (member, *body, kind = 0))]
    fn confidential(&self, member: u32, body: &Bound<'_, PyTuple>, kind: u8) -> PyResult<()> {
        if self.moment.operation != Operation::Enroll {
            let told = "the confidential channel is there for enrolments alone";
            return Err(PyRuntimeError::new_err(told));
        }
        self.send(Recipient::Member(MemberId(member)), true, body, kind)
    }
}

/// Lends a context to this thread while some work is done.
pub(crate) fn lend<T>(cx: &mut Context<'_>, work: impl FnOnce() -> T) -> T {
    LENT.set(Lent { cx }, work)
}

/// A context of any lifetime.
trait Lender {
    fn lend(&mut self, use_it: &mut dyn FnMut(&mut Context<'_>));
}

impl Lender for Context<'_> {
    fn lend(&mut self, use_it: &mut dyn FnMut(&mut Context<'_>)) {
        use_it(self);
    }
}

struct Lent<'a> {
    cx: &'a mut (dyn Lender + 'a),
}

impl<'a> ReborrowMut<'a> for Lent<'_> {
    type Result = Lent<'a>;

    fn reborrow_mut(&'a mut self) -> Lent<'a> {
        Lent { cx: self.cx }
    }
}

scoped_thread_local!(static mut LENT: for<'a> Lent<'a>);

/// What a hash takes in one block ([`Context::hash_with`]).
const HASHED: usize = 38;

/// About the bytes of a message besides its body.
const HEADER: usize = 100;

/// The most bytes that a step sends: more than any group of 65,536 members needs.
const STEP: usize = 32 << 20;
