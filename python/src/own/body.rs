//! Bodies of messages: what Python gives to be sent, and what it gets to read. The form is the library's
//! strict CBOR: numbers, byte strings and arrays.

use groupkey::author::{Draft, Message, Reader};
use groupkey::error::Misbehaviour;
use groupkey::{Error, Key};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyTuple, PyType};
use zeroize::Zeroizing;

use super::key::OwnKey;
use super::step::refusal;

/// An item of a body.
pub(crate) enum BodyItem {
    Array(Vec<Self>),
    /// Keys look the same on the wire.
    Bytes(Zeroizing<Vec<u8>>),
    Number(u64),
}

impl BodyItem {
    /// Takes a value of Python. Adds the bytes that it takes, roughly, to `length`.
    pub(crate) fn of(value: &Bound<'_, PyAny>, length: &mut usize) -> PyResult<Self> {
        Self::nested(value, length, DEPTH)
    }

    fn nested(value: &Bound<'_, PyAny>, length: &mut usize, depth: usize) -> PyResult<Self> {
        let mut take = |bytes: &[u8]| {
            *length += HEAD + bytes.len();
            match *length <= BODY {
                true => Ok(Zeroizing::new(bytes.to_vec())),
                false => Err(PyValueError::new_err(format!("a message has at most {BODY} bytes"))),
            }
        };
        if let Ok(key) = value.cast::<OwnKey>() {
            return take(key.get().0.as_bytes()).map(Self::Bytes);
        }
        if let Ok(content) = value.cast::<PyBytes>() {
            return take(content.as_bytes()).map(Self::Bytes);
        }
        take(&[])?;
        if value.is_instance_of::<PyInt>() {
            let number = value.extract();
            let number =
                number.map_err(|_| PyValueError::new_err("a number is from 0 to 2^64 - 1"));
            return number.map(Self::Number);
        }
        if !value.is_instance_of::<PyList>() && !value.is_instance_of::<PyTuple>() {
            let kind = value.get_type();
            let told =
                format!("a message has int, bytes, Key and lists of them, no {}", kind.name()?);
            return Err(PyTypeError::new_err(told));
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Err(PyValueError::new_err(format!("lists are nested {DEPTH} deep at most")));
        };
        let items = value.try_iter()?.map(|item| Self::nested(&item?, length, depth));
        items.collect::<PyResult<_>>().map(Self::Array)
    }

    /// Appends the item to a message.
    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        match self {
            Self::Array(items) => {
                draft.array(items.len());
                items.iter().for_each(|item| item.write(draft));
            }
            Self::Bytes(bytes) => {
                draft.bytes(bytes);
            }
            Self::Number(number) => {
                draft.number(*number);
            }
        }
    }

    fn read(reader: &mut Reader<'_>, depth: usize) -> Result<Self, Error> {
        let mut ahead = reader.clone();
        if let Ok(number) = ahead.number() {
            *reader = ahead;
            return Ok(Self::Number(number));
        }
        let mut ahead = reader.clone();
        if let Ok(bytes) = ahead.bytes() {
            *reader = ahead;
            return Ok(Self::Bytes(Zeroizing::new(bytes.to_vec())));
        }
        let count = reader.array()?;
        let depth = depth.checked_sub(1).ok_or(Misbehaviour::Malformed)?;
        // The head may promise more than there is: nothing is reserved for it.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(Self::read(reader, depth)?);
        }
        Ok(Self::Array(items))
    }

    /// Gives the item to Python as what `kind` says: `int`, `bytes`, `Key`, or a list of kinds, which
    /// are those of an array's items in turn. `None` if the item is something else.
    fn to_python<'py>(
        &self,
        py: Python<'py>,
        kind: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Ok(kinds) = kind.cast::<PyList>() {
            let Self::Array(items) = self else { return Ok(None) };
            let kinds: Vec<Bound<'_, PyAny>> = kinds.iter().collect();
            if kinds.is_empty() {
                return Err(PyTypeError::new_err("a list of kinds has at least one"));
            }
            if items.len() % kinds.len() != 0 {
                return Ok(None);
            }
            let found = PyList::empty(py);
            for group in items.chunks(kinds.len()) {
                let mut values = Vec::with_capacity(kinds.len());
                for (item, kind) in group.iter().zip(&kinds) {
                    let Some(value) = item.to_python(py, kind)? else { return Ok(None) };
                    values.push(value);
                }
                match &values[..] {
                    [only] => found.append(only)?,
                    _ => found.append(PyTuple::new(py, values)?)?,
                }
            }
            return Ok(Some(found.into_any()));
        }
        let is = |class: &Bound<'_, PyType>| kind.is(class);
        Ok(match self {
            Self::Number(number) if is(&py.get_type::<PyInt>()) => {
                Some(number.into_pyobject(py)?.into_any())
            }
            Self::Bytes(bytes) if is(&py.get_type::<PyBytes>()) => {
                Some(PyBytes::new(py, bytes).into_any())
            }
            Self::Bytes(bytes) if is(&py.get_type::<OwnKey>()) => {
                match <[u8; Key::BYTES]>::try_from(&bytes[..]) {
                    Ok(key) => Some(Bound::new(py, OwnKey(Key::from_bytes(key)))?.into_any()),
                    Err(_) => None,
                }
            }
            _ if [py.get_type::<PyInt>(), py.get_type::<PyBytes>(), py.get_type::<OwnKey>()]
                .iter()
                .any(is) =>
            {
                None
            }
            _ => return Err(PyTypeError::new_err("a kind is int, bytes, Key or a list of kinds")),
        })
    }
}

/// A message that arrived, and passed all checks that do not depend on the scheme.
#[pyclass(frozen, module = "groupkey.author", name = "Message")]
pub(crate) struct BodyMessage {
    kind: u8,
    items: Vec<BodyItem>,
}

impl BodyMessage {
    /// Reads a message. Refuses what is no sequence of items.
    pub(crate) fn of(message: &Message<'_>) -> Result<Self, Error> {
        let (mut reader, mut items) = (message.body(), Vec::new());
        while reader.remaining() > 0 {
            items.push(BodyItem::read(&mut reader, DEPTH)?);
        }
        Ok(Self { kind: message.header().kind, items })
    }
}

#[pymethods]
impl BodyMessage {
    /// The sender's number for this kind of message.
    #[getter]
    fn kind(&self) -> u8 {
        self.kind
    }

    /// Returns the items of the body, which must be of these kinds, and no more: `int`, `bytes`, `Key`,
    /// or a list of kinds for an array that repeats them. An array of one kind becomes a list of values;
    /// one of several, a list of tuples. Raises `Refused` if the body is another.
    #[pyo3(signature = (*kinds))]
    fn body<'py>(
        &self,
        py: Python<'py>,
        kinds: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let malformed = || refusal(py, &Misbehaviour::Malformed.into());
        let mut values = Vec::with_capacity(self.items.len());
        for (item, kind) in self.items.iter().zip(kinds) {
            values.push(item.to_python(py, &kind)?.ok_or_else(malformed)?);
        }
        if self.items.len() != kinds.len() {
            return Err(malformed());
        }
        PyTuple::new(py, values)
    }
}

/// The most bytes of a message's body: a broker's limit is of this order.
const BODY: usize = 16 << 20;

/// The most bytes of an item's head.
const HEAD: usize = 9;

/// How deep arrays may be nested.
const DEPTH: usize = 8;
