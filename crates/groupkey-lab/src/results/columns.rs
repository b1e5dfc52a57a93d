//! Rows as flat columns: those of CSV, and of Arrow in Python.

use std::io::{self, Write};

/// One column of a table of rows `R`: its name, and the function that finds a row's value.
pub struct ResultColumn<R> {
    /// Its name. For a field within a field, both names with `_` between them.
    pub(crate) name: String,
    pub(crate) values: Values<R>,
}

/// The values of a column, in the order of the rows; `None` where a row has none.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Whole numbers.
    Integer(Vec<Option<u64>>),
    /// Any numbers.
    Number(Vec<Option<f64>>),
    /// Text.
    Text(Vec<Option<String>>),
}

/// The values of a column; absent if a row has no value.
pub(crate) enum Values<R> {
    Text(Find<R, String>),
    /// Whole numbers.
    Integer(Find<R, u64>),
    Number(Find<R, f64>),
}

/// A function that finds a row's value.
pub(crate) type Find<R, T> = Box<dyn Fn(&R) -> Option<T>>;

impl<R> ResultColumn<R> {
    /// Creates a column of text.
    pub fn text(name: impl Into<String>, find: impl Fn(&R) -> Option<String> + 'static) -> Self {
        Self { name: name.into(), values: Values::Text(Box::new(find)) }
    }

    /// Creates a column of whole numbers.
    pub fn integer(name: impl Into<String>, find: impl Fn(&R) -> Option<u64> + 'static) -> Self {
        Self { name: name.into(), values: Values::Integer(Box::new(find)) }
    }

    /// Creates a column of any numbers.
    pub fn number(name: impl Into<String>, find: impl Fn(&R) -> Option<f64> + 'static) -> Self {
        Self { name: name.into(), values: Values::Number(Box::new(find)) }
    }

    /// Returns its name. For a field within a field, both names with `_` between them.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the values of these rows, for programs that keep columns.
    pub fn values(&self, rows: &[R]) -> ColumnValues {
        match &self.values {
            Values::Text(find) => ColumnValues::Text(rows.iter().map(find).collect()),
            Values::Integer(find) => ColumnValues::Integer(rows.iter().map(find).collect()),
            Values::Number(find) => ColumnValues::Number(rows.iter().map(find).collect()),
        }
    }

    /// Turns this column into a column of rows that contain `R` as a part.
    pub(super) fn of_part<W>(self, part: fn(&W) -> &R) -> ResultColumn<W>
    where
        R: 'static,
        W: 'static,
    {
        let values = match self.values {
            Values::Text(find) => Values::Text(Box::new(move |row| find(part(row)))),
            Values::Integer(find) => Values::Integer(Box::new(move |row| find(part(row)))),
            Values::Number(find) => Values::Number(Box::new(move |row| find(part(row)))),
        };
        ResultColumn { name: self.name, values }
    }

    /// Checks a row's value: numbers in results are neither negative nor above [`MOST`].
    pub(super) fn check(&self, row: &R) -> Result<(), String> {
        match &self.values {
            Values::Number(find) => match find(row) {
                Some(number) if number < 0.0 => {
                    Err(format!("{} is {number}, which is negative", self.name))
                }
                Some(number) if number > MOST => {
                    Err(format!("{} is {number:e}, which is more than there can be", self.name))
                }
                _ => Ok(()),
            },
            Values::Integer(_) | Values::Text(_) => Ok(()),
        }
    }

    /// Formats a row's value as text; an absent value is empty.
    pub fn plain(&self, row: &R) -> String {
        match &self.values {
            Values::Text(find) => find(row),
            Values::Integer(find) => find(row).map(|number| number.to_string()),
            Values::Number(find) => find(row).map(|number| number.to_string()),
        }
        .unwrap_or_default()
    }
}

impl<R> std::fmt::Debug for ResultColumn<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultColumn").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Columns of one type, named after the fields that they show.
macro_rules! fields {
    (text: $($field:ident),+ $(,)?) => {
        [$(ResultColumn::text(stringify!($field), |row: &Self| Some(row.$field.clone()))),+]
    };
    (optional $type:ident: $($field:ident),+ $(,)?) => {
        [$(ResultColumn::$type(stringify!($field), |row: &Self| row.$field.map(Into::into))),+]
    };
    ($type:ident: $($field:ident),+ $(,)?) => {
        [$(ResultColumn::$type(stringify!($field), |row: &Self| Some(row.$field.into()))),+]
    };
}
pub(crate) use fields;

/// A bound above any number in results: as nanoseconds it is thirty years.
pub(super) const MOST: f64 = 1e18;

/// Writes rows as RFC 4180 CSV (but with plain line feeds), the names of the columns first.
pub(super) fn write<R>(
    out: &mut impl Write,
    columns: &[ResultColumn<R>],
    rows: &[R],
) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(out);
    out.write_record(columns.iter().map(ResultColumn::name))?;
    for row in rows {
        out.write_record(columns.iter().map(|column| column.plain(row)))?;
    }
    out.flush()
}
