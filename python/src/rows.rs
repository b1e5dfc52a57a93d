//! Rows of results as Arrow: the columns of the laboratory's CSV files.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use groupkey_lab::audit::Finding;
use groupkey_lab::bench::BenchRow;
use groupkey_lab::bench::trace::ReplayRow;
use groupkey_lab::results::{ColumnValues, FileRow, NetworkRow};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyType};
use serde_json::Value;

use crate::flat::flat;

/// Rows in memory, as Arrow: one batch for each part that they were put together from.
///
/// Text is a UTF-8 string with long offsets, whole numbers are unsigned (64 bits), other numbers
/// are doubles, and an absent value is null.
#[pyclass(frozen, module = "groupkey._groupkey")]
pub(crate) struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Rows {
    /// Makes columns of rows.
    pub(crate) fn of<R: FileRow>(rows: &[R]) -> PyResult<Self> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in R::columns() {
            let array: ArrayRef = match column.values(rows) {
                ColumnValues::Integer(values) => Arc::new(UInt64Array::from(values)),
                ColumnValues::Number(values) => Arc::new(Float64Array::from(values)),
                ColumnValues::Text(values) => Arc::new(LargeStringArray::from(values)),
            };
            fields.push(Field::new(column.name(), array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(fault)?;
        Ok(Self { schema, batches: vec![batch] })
    }

    /// Returns the rows of JSON Lines, unless these are other rows.
    fn parsed<R: FileRow>(lines: &[u8]) -> Option<PyResult<Self>> {
        let rows = serde_json::Deserializer::from_slice(lines).into_iter();
        let rows: Result<Vec<R>, _> = rows.collect();
        Some(Self::of(&rows.ok()?))
    }

    fn batches_of(&self, column: &str) -> PyResult<Vec<&ArrayRef>> {
        let place = self.schema.index_of(column);
        let place = place.map_err(|_| PyKeyError::new_err(format!("no column {column:?}")))?;
        Ok(self.batches.iter().map(|batch| batch.column(place)).collect())
    }
}

#[pymethods]
impl Rows {
    /// Makes columns of what a command printed with `--json`, a row a line. `kind` says which rows
    /// these are; `None` if they are others.
    #[classmethod]
    fn parse(_class: &Bound<'_, PyType>, lines: &[u8], kind: &str) -> PyResult<Option<Self>> {
        let rows = match kind {
            "audit" => Self::parsed::<Finding>(lines),
            "bench" => Self::parsed::<BenchRow>(lines),
            "network" => Self::parsed::<NetworkRow>(lines),
            "trace" => Self::parsed::<ReplayRow>(lines),
            _ => return Err(PyValueError::new_err(format!("no rows are of {kind:?}"))),
        };
        rows.transpose()
    }

    /// Makes columns of an array of JSON objects. See [`flat`].
    #[classmethod]
    #[pyo3(name = "flat")]
    fn of_objects(_class: &Bound<'_, PyType>, objects: &str) -> PyResult<Self> {
        let refused = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let objects: Vec<Value> = serde_json::from_str(objects).map_err(refused)?;
        let (schema, batch) = flat(&objects).map_err(fault)?;
        Ok(Self { schema, batches: vec![batch] })
    }

    /// Returns the values of a column, as Python's objects.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let found = PyList::empty(py);
        for array in self.batches_of(name)? {
            for place in 0..array.len() {
                if array.is_null(place) {
                    found.append(py.None())?;
                } else if let Some(numbers) = array.as_any().downcast_ref::<UInt64Array>() {
                    found.append(numbers.value(place))?;
                } else if let Some(numbers) = array.as_any().downcast_ref::<Float64Array>() {
                    found.append(numbers.value(place))?;
                } else if let Some(texts) = array.as_any().downcast_ref::<LargeStringArray>() {
                    found.append(texts.value(place))?;
                } else if let Some(truths) = array.as_any().downcast_ref::<BooleanArray>() {
                    found.append(truths.value(place))?;
                }
            }
        }
        Ok(found)
    }

    /// Puts rows with the same columns one after the other, without copying them.
    #[classmethod]
    fn together(_class: &Bound<'_, PyType>, parts: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let Some(first) = parts.first() else {
            return Err(PyValueError::new_err("there are no rows to put together"));
        };
        let schema = Arc::clone(&first.schema);
        if parts.iter().any(|part| part.schema != schema) {
            return Err(PyValueError::new_err("the rows have different columns"));
        }
        let batches = parts.iter().flat_map(|part| part.batches.iter().cloned()).collect();
        Ok(Self { schema, batches })
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The schema, by the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(fault)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, by the Arrow PyCapsule interface. The reader shares our memory. It gets our
    /// types, whatever `requested_schema` says: the interface leaves it to us.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// A failure that no rows cause.
fn fault(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
