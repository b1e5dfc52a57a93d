//! What a step in Python works with: keys, messages, and the library's context. That is borrowed, and Python's objects
//! outlive every borrow. So a step lends it to its thread, where Python's object finds it until the step is over.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use groupkey::author::{Draft, Message, Reader};
use groupkey::error::Misbehaviour;
use groupkey::{Channel, Context, Epoch, Error, Key, MemberId, Operation, PartyId, Recipient};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyTuple};
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};
use zeroize::Zeroizing;

use super::party::refusal;

/// A symmetric key of 16 bytes, whose bytes Python never sees. Keys compare in constant time.
#[pyclass(frozen, eq, module = "groupkey.author", name = "Key")]
#[derive(PartialEq)]
pub(crate) struct OwnKey(pub(super) Key);

#[pymethods]
impl OwnKey {
    fn __repr__(&self) -> &'static str {
        "Key(..)"
    }

    /// A key never changes, so a copy is the key.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// A message that arrived, and passed all checks that do not depend on the scheme.
#[pyclass(frozen, module = "groupkey.author", name = "Message")]
pub(crate) struct OwnMessage {
    /// The sender's number for this kind of message.
    #[pyo3(get)]
    kind: u8,
    body: Zeroizing<Vec<u8>>,
}

impl OwnMessage {
    pub(super) fn of(message: &Message<'_>) -> Self {
        Self { kind: message.header().kind, body: Zeroizing::new(message.content().to_vec()) }
    }
}

#[pymethods]
impl OwnMessage {
    /// Returns the items of the body, which must be of these kinds: `int`, `bytes`, `Key`, or a list of kinds for an
    /// array that repeats them: values of one kind, or tuples of several. Raises `Refused` if the body is another.
    #[pyo3(signature = (*kinds))]
    fn body<'py>(&self, kinds: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
        let mut reader = Reader::new(&self.body);
        let values: PyResult<Vec<_>> = kinds.iter().map(|kind| read(&mut reader, &kind)).collect();
        let values = values?;
        reader.finish().map_err(|error| refusal(kinds.py(), &error))?;
        PyTuple::new(kinds.py(), values)
    }
}

fn read<'py>(reader: &mut Reader<'_>, kind: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = kind.py();
    let refused = |error: Error| refusal(py, &error);
    if kind.is(py.get_type::<PyInt>()) {
        return Ok(reader.number().map_err(refused)?.into_pyobject(py)?.into_any());
    }
    if kind.is(py.get_type::<PyBytes>()) {
        return Ok(PyBytes::new(py, reader.bytes().map_err(refused)?).into_any());
    }
    if kind.is(py.get_type::<OwnKey>()) {
        return Ok(Bound::new(py, OwnKey(reader.key().map_err(refused)?))?.into_any());
    }
    let kinds = kind.cast::<PyList>().ok().filter(|kinds| !kinds.is_empty());
    let told = "a kind is int, bytes, Key or a list of kinds";
    let kinds = kinds.ok_or_else(|| PyTypeError::new_err(told))?;
    let (items, each) = (reader.array().map_err(refused)?, kinds.len() as u64);
    if items % each != 0 {
        return Err(refused(Misbehaviour::Malformed.into()));
    }
    let found = PyList::empty(py);
    for _ in 0..items / each {
        let values: PyResult<Vec<_>> = kinds.iter().map(|kind| read(reader, &kind)).collect();
        match &values?[..] {
            [only] => found.append(only)?,
            values => found.append(PyTuple::new(py, values)?)?,
        }
    }
    Ok(found.into_any())
}

/// An item of a body. Keys look like bytes on the wire.
#[derive(FromPyObject)]
enum Item {
    Key(Py<OwnKey>),
    Bytes(Py<PyBytes>),
    Number(u64),
    Array(Vec<Self>),
}

impl Item {
    fn write<'d, 'c, 'a>(
        &self,
        py: Python<'_>,
        draft: &'d mut Draft<'c, 'a>,
    ) -> &'d mut Draft<'c, 'a> {
        match self {
            Self::Key(key) => draft.bytes(key.get().0.as_bytes()),
            Self::Bytes(bytes) => draft.bytes(bytes.as_bytes(py)),
            Self::Number(number) => draft.number(*number),
            Self::Array(items) => {
                items.iter().fold(draft.array(items.len()), |draft, item| item.write(py, draft))
            }
        }
    }
}

/// What a party may use in a step, and what it must know of it. It is worth nothing after the step.
#[pyclass(frozen, module = "groupkey.author", name = "Context")]
pub(crate) struct StepContext {
    /// The party's number; `None` at the controller.
    #[pyo3(get)]
    me: Option<u32>,
    /// The epoch that this step leads to; the first group key has epoch 1.
    #[pyo3(get)]
    epoch: u64,
    /// The operation: `"enroll"`, `"create"`, `"add"`, `"remove"` or `"rekey"`.
    #[pyo3(get)]
    operation: &'static str,
    moment: (Epoch, Operation),
    key: Option<Key>,
    is_over: AtomicBool,
}

impl StepContext {
    /// Begins a step on this thread, which leads to this epoch by this operation, with the group key so far.
    pub(super) fn new(me: PartyId, moment: (Epoch, Operation), key: Option<Key>) -> Self {
        let me = if let PartyId::Member(member) = me { Some(member.0) } else { None };
        let (epoch, operation) = (moment.0.0, moment.1.name());
        Self { me, epoch, operation, moment, key, is_over: AtomicBool::new(false) }
    }

    /// Ends the step: Python may have kept the object.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Uses the library's context.
    fn with<T>(&self, use_it: impl FnOnce(&mut Context<'_>) -> T) -> PyResult<T> {
        if self.is_over.load(Ordering::Relaxed) || !LENT.is_set() {
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
        py: Python<'_>,
        to: Recipient,
        channel: Channel,
        body: &[Item],
        kind: u8,
    ) -> PyResult<()> {
        if self.me.is_some() {
            return Err(PyRuntimeError::new_err("only the controller sends"));
        }
        let (epoch, operation) = self.moment;
        self.with(|cx| {
            let mut draft = match channel {
                Channel::Confidential => cx.confidential_draft(to, epoch, operation, kind),
                Channel::Open => cx.draft(to, epoch, operation, kind),
            };
            body.iter().fold(&mut draft, |draft, item| item.write(py, draft)).send();
        })
    }
}

#[pymethods]
impl StepContext {
    /// The group key that this party has so far; `None` before the first.
    #[getter]
    fn group_key(&self) -> Option<OwnKey> {
        self.key.clone().map(OwnKey)
    }

    /// Draws a key. Counted as 16 random bytes.
    fn random_key(&self) -> PyResult<OwnKey> {
        self.with(|cx| cx.random_key()).map(OwnKey)
    }

    /// Derives a key from another (HKDF or its Ascon counterpart). `label` says what for.
    #[pyo3(signature = (key, label, context = b"".as_slice()))]
    fn derive(&self, key: &OwnKey, label: &str, context: &[u8]) -> PyResult<OwnKey> {
        let label = kept_label(label)?;
        self.with(|cx| cx.derive(&key.0, label, context)).map(OwnKey)
    }

    /// Hashes a key, as in a one-way chain: an eighth of the cost of `derive`.
    #[pyo3(signature = (key, label, context = b"".as_slice()))]
    fn hash(&self, key: &OwnKey, label: &str, context: &[u8]) -> PyResult<OwnKey> {
        if label.len() + context.len() > 38 {
            let told = "label and context of a hash have at most 38 bytes together";
            return Err(PyValueError::new_err(told));
        }
        let label = kept_label(label)?;
        self.with(|cx| cx.hash_with(&key.0, label, context)).map(OwnKey)
    }

    /// Masks a key with another bit by bit, or removes the mask. Not counted: it costs next to nothing.
    fn xor(&self, key: &OwnKey, mask: &OwnKey) -> PyResult<OwnKey> {
        self.with(|cx| cx.xor(&key.0, &mask.0)).map(OwnKey)
    }

    /// Wraps keys under another in one call, for this epoch. `label` is a number that distinguishes what is wrapped:
    /// no two different sets of keys may be wrapped under one key with the same epoch and label.
    #[pyo3(signature = (key, *keys, label = 0))]
    fn wrap<'py>(
        &self,
        py: Python<'py>,
        key: &OwnKey,
        keys: Vec<Py<OwnKey>>,
        label: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if keys.is_empty() {
            return Err(PyValueError::new_err("there is no key to wrap"));
        }
        let (mut wrapped, epoch) = (Vec::new(), self.moment.0);
        let keys = keys.iter().map(|key| &key.get().0);
        self.with(|cx| cx.wrap_keys(&key.0, epoch, label, keys, &mut wrapped))?;
        Ok(PyBytes::new(py, &wrapped))
    }

    /// Opens a key that was wrapped for this epoch with this label. Raises `Refused` if it does not open.
    #[pyo3(signature = (key, wrapped, label = 0))]
    fn unwrap(&self, py: Python<'_>, key: &OwnKey, wrapped: &[u8], label: u64) -> PyResult<OwnKey> {
        Ok(self.unwrap_all(py, key, wrapped, 1, label)?.remove(0))
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
        // A wrapped key is longer than a byte: more than these cannot be in it.
        let mut keys = vec![Key::default(); count.min(wrapped.len() + 1)];
        let epoch = self.moment.0;
        let opened = self.with(|cx| cx.unwrap_keys(&key.0, epoch, label, wrapped, &mut keys))?;
        opened.map_err(|error| refusal(py, &error))?;
        Ok(keys.into_iter().map(OwnKey).collect())
    }

    /// Returns the hash of public data, 32 bytes.
    fn digest<'py>(
        &self,
        py: Python<'py>,
        label: &str,
        data: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let label = kept_label(label)?;
        Ok(PyBytes::new(py, &self.with(|cx| cx.digest(label, &[data]))?))
    }

    /// Sends a message to all members: `int`, `bytes`, `Key` (in clear), and lists of them. `kind` is your number for
    /// this kind of message, 0 to 255.
    #[pyo3(signature = (*body, kind = 0))]
    fn broadcast(&self, py: Python<'_>, body: Vec<Item>, kind: u8) -> PyResult<()> {
        self.send(py, Recipient::Group, Channel::Open, &body, kind)
    }

    /// Sends a message to one member. Anybody can hear it.
    #[pyo3(signature = (member, *body, kind = 0))]
    fn unicast(&self, py: Python<'_>, member: u32, body: Vec<Item>, kind: u8) -> PyResult<()> {
        self.send(py, Recipient::Member(MemberId(member)), Channel::Open, &body, kind)
    }

    /// Hands something to one member when it is enrolled, over a confidential and authentic channel: a cable.
    #[pyo3(signature = (member, *body, kind = 0))]
    fn confidential(&self, py: Python<'_>, member: u32, body: Vec<Item>, kind: u8) -> PyResult<()> {
        if self.moment.1 != Operation::Enroll {
            let told = "the confidential channel is there for enrolments alone";
            return Err(PyRuntimeError::new_err(told));
        }
        self.send(py, Recipient::Member(MemberId(member)), Channel::Confidential, &body, kind)
    }
}

/// Returns a label for as long as the process lives, as the library wants it. A scheme has a few.
fn kept_label(label: &str) -> PyResult<&'static str> {
    if label.len() > 64 || label.contains('\0') {
        return Err(PyValueError::new_err("a label has at most 64 bytes, and no zero byte"));
    }
    let mut known = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(label) {
        return Ok(known);
    }
    let kept: &'static str = Box::leak(Box::<str>::from(label));
    known.insert(kept);
    Ok(kept)
}

static LABELS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Lends a context to this thread while some work is done.
pub(super) fn lend<T>(cx: &mut Context<'_>, work: impl FnOnce() -> T) -> T {
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
