//! Rows as flat columns: what CSV and Parquet have in common.

use std::io::{self, Write};

/// One column of a table of rows `R`: its name, and how a row's value is found.
pub struct Column<R> {
    /// Its name; of a field within a field, both names with `_` between them.
    pub(crate) name: String,
    /// Its values.
    pub(crate) values: Values<R>,
}

/// The values of a column; absent where a row has none.
pub(crate) enum Values<R> {
    /// Words.
    Text(Find<R, String>),
    /// Whole numbers.
    Integer(Find<R, u64>),
    /// Any numbers.
    Number(Find<R, f64>),
}

/// Finds a row's value.
pub(crate) type Find<R, T> = Box<dyn Fn(&R) -> Option<T>>;

impl<R> Column<R> {
    /// A column of words.
    pub fn text(name: impl Into<String>, find: impl Fn(&R) -> Option<String> + 'static) -> Self {
        Self { name: name.into(), values: Values::Text(Box::new(find)) }
    }

    /// A column of whole numbers.
    pub fn integer(name: impl Into<String>, find: impl Fn(&R) -> Option<u64> + 'static) -> Self {
        Self { name: name.into(), values: Values::Integer(Box::new(find)) }
    }

    /// A column of any numbers.
    pub fn number(name: impl Into<String>, find: impl Fn(&R) -> Option<f64> + 'static) -> Self {
        Self { name: name.into(), values: Values::Number(Box::new(find)) }
    }

    /// The same column, of rows of which `R` is a part.
    pub(super) fn of_part<W>(self, part: fn(&W) -> &R) -> Column<W>
    where
        R: 'static,
        W: 'static,
    {
        let values = match self.values {
            Values::Text(find) => Values::Text(Box::new(move |row| find(part(row)))),
            Values::Integer(find) => Values::Integer(Box::new(move |row| find(part(row)))),
            Values::Number(find) => Values::Number(Box::new(move |row| find(part(row)))),
        };
        Column { name: self.name, values }
    }

    /// What is wrong with a row's value: nothing in results can be negative, or more than
    /// there is time for.
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

    /// A row's value in words; nothing where it is absent.
    pub(crate) fn plain(&self, row: &R) -> String {
        match &self.values {
            Values::Text(find) => find(row),
            Values::Integer(find) => find(row).map(|number| number.to_string()),
            Values::Number(find) => find(row).map(|number| number.to_string()),
        }
        .unwrap_or_default()
    }
}

impl<R> std::fmt::Debug for Column<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Column").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Columns of one type that are called as the fields that they show.
macro_rules! fields {
    (text: $($field:ident),+ $(,)?) => {
        [$(Column::text(stringify!($field), |row: &Self| Some(row.$field.clone()))),+]
    };
    (optional $type:ident: $($field:ident),+ $(,)?) => {
        [$(Column::$type(stringify!($field), |row: &Self| row.$field.map(Into::into))),+]
    };
    ($type:ident: $($field:ident),+ $(,)?) => {
        [$(Column::$type(stringify!($field), |row: &Self| Some(row.$field.into()))),+]
    };
}
pub(crate) use fields;

/// More than any number in results: in nanoseconds these are thirty years.
pub(super) const MOST: f64 = 1e18;

/// Writes rows as RFC 4180 CSV (but with plain line feeds), the names of the columns first.
pub(super) fn write<R>(out: &mut impl Write, columns: &[Column<R>], rows: &[R]) -> io::Result<()> {
    let names = columns.iter().map(|column| quoted(&column.name));
    writeln!(out, "{}", names.collect::<Vec<_>>().join(","))?;
    for row in rows {
        let fields = columns.iter().map(|column| quoted(&column.plain(row)));
        writeln!(out, "{}", fields.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
