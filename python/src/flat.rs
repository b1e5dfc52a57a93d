//! Objects of JSON as flat columns, for what the laboratory keeps as objects: the catalogue of
//! schemes.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, LargeStringArray, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use serde_json::Value;

/// Makes columns of objects. A field within a field has both names with `_` between them; a list
/// of texts is one text with spaces; other lists are left out. A column has the type of its first
/// value: truth values, whole numbers, or text.
pub(crate) fn flat(objects: &[Value]) -> Result<(SchemaRef, RecordBatch), ArrowError> {
    let rows: Vec<Vec<(String, Value)>> = objects.iter().map(plain).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for name in names {
        let of = |row: &'_ [(String, Value)]| {
            row.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone())
        };
        let values: Vec<Option<Value>> = rows.iter().map(|row| of(row)).collect();
        let array: ArrayRef = match values.iter().flatten().next() {
            Some(Value::Bool(_)) => Arc::new(BooleanArray::from_iter(
                values.iter().map(|value| value.as_ref().and_then(Value::as_bool)),
            )),
            Some(Value::Number(_)) => Arc::new(UInt64Array::from_iter(
                values.iter().map(|value| value.as_ref().and_then(Value::as_u64)),
            )),
            _ => Arc::new(LargeStringArray::from_iter(
                values.iter().map(|value| value.as_ref().and_then(Value::as_str)),
            )),
        };
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    Ok((schema, batch))
}

/// Returns the plain values of an object with their names.
fn plain(object: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        match value {
            Value::Object(_) => {
                let inner = plain(value).into_iter();
                found.extend(inner.map(|(field, value)| (format!("{name}_{field}"), value)));
            }
            Value::Array(items) => {
                let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                found.extend(texts.map(|texts| (name.clone(), texts.join(" ").into())));
            }
            value => found.push((name.clone(), value.clone())),
        }
    }
    found
}
