//! A table of rows of any kind: a column is a name, and a function from a row to a cell.

use std::borrow::Cow;

use minijinja::Value;
use serde::Serialize;

use super::text::escaped;

#[derive(Clone, Debug, Serialize)]
pub(super) struct PageTable {
    label: String,
    columns: Vec<Head>,
    lines: Vec<Vec<PageCell>>,
    /// Whether readers sort it, and filter it by its keys.
    is_sortable: bool,
    /// Names, and what is shown of them, by which readers choose lines.
    choices: Vec<(String, Value)>,
}

#[derive(Clone, Debug, Serialize)]
struct Head {
    name: Cow<'static, str>,
    unit: &'static str,
    /// Name in links to the page, if any.
    key: &'static str,
    is_filter: bool,
    is_number: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct PageCell {
    content: Value,
    /// By which it is sorted, if not by its text.
    value: Option<String>,
    /// How strongly it is shaded (%).
    shade: Option<f64>,
}

pub(super) struct PageColumn<'a, R> {
    head: Head,
    cell: Box<dyn Fn(&R) -> PageCell + 'a>,
}

impl<'a, R> PageColumn<'a, R> {
    pub(super) fn text<C: Into<PageCell>>(
        name: impl Into<Cow<'static, str>>,
        cell: impl Fn(&R) -> C + 'a,
    ) -> Self {
        let head =
            Head { name: name.into(), unit: "", key: "", is_filter: false, is_number: false };
        Self { head, cell: Box::new(move |row| cell(row).into()) }
    }

    pub(super) fn number<C: Into<PageCell>>(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        cell: impl Fn(&R) -> C + 'a,
    ) -> Self {
        let mut column = Self::text(name, cell);
        (column.head.unit, column.head.is_number) = (unit, true);
        column
    }

    pub(super) fn key(mut self, key: &'static str) -> Self {
        self.head.key = key;
        self
    }

    pub(super) fn filter(mut self, key: &'static str) -> Self {
        self.head.is_filter = true;
        self.key(key)
    }
}

impl PageTable {
    /// Makes a line of each row. The first cell of a line is its name.
    pub(super) fn of<'r, R: 'r>(
        label: impl Into<String>,
        rows: impl IntoIterator<Item = &'r R>,
        columns: Vec<PageColumn<'_, R>>,
    ) -> Self {
        let line = |row: &R| columns.iter().map(|column| (column.cell)(row)).collect();
        let lines = rows.into_iter().map(line).collect();
        let heads = columns.iter().map(|column| column.head.clone()).collect();
        let (is_sortable, choices) = (false, Vec::new());
        Self { label: label.into(), columns: heads, lines, is_sortable, choices }
    }

    /// Lets readers sort and filter the table, and choose lines by name.
    pub(super) fn sortable(mut self, choices: Vec<(String, Value)>) -> Self {
        (self.is_sortable, self.choices) = (true, choices);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Drops the columns without any value.
    pub(super) fn without_empty(mut self) -> Self {
        self.drop_columns(|cells| cells.iter().all(|cell| cell.is_empty()));
        self
    }

    /// Drops the columns in which all lines agree. Returns what they agree in: `suite standard,
    /// QoS 2`.
    pub(super) fn without_shared(&mut self) -> String {
        if self.lines.len() < 2 {
            return String::new();
        }
        let shared = self
            .drop_columns(|cells| cells.windows(2).all(|pair| pair[0].content == pair[1].content));
        let shared = shared.iter().filter(|(_, cell)| !cell.is_empty()).map(|(head, cell)| {
            let is_word = head.name.chars().skip(1).all(|letter| !letter.is_uppercase());
            let name = if is_word { head.name.to_lowercase() } else { head.name.to_string() };
            format!("{name} {} {}", cell.content, head.unit).trim_end().to_owned()
        });
        shared.collect::<Vec<_>>().join(", ")
    }

    /// Drops columns to which no link leads. Returns their heads and first cells.
    fn drop_columns(&mut self, is_dropped: fn(&[&PageCell]) -> bool) -> Vec<(Head, PageCell)> {
        let mut dropped = Vec::new();
        for place in (0..self.columns.len()).rev().filter(|&place| place > 0) {
            let cells: Vec<&PageCell> = self.lines.iter().map(|line| &line[place]).collect();
            if self.columns[place].key.is_empty() && is_dropped(&cells) {
                let cells = self.lines.iter_mut().map(|line| line.remove(place));
                let first = cells.fold(None, |first, cell| first.or(Some(cell)));
                dropped.push((self.columns.remove(place), first.unwrap_or_default()));
            }
        }
        dropped.reverse();
        dropped
    }
}

impl PageCell {
    /// Creates a number that is sorted by its value.
    pub(super) fn of(value: f64, text: impl Into<String>) -> Self {
        Self { content: text.into().into(), value: Some(value.to_string()), shade: None }
    }

    /// Creates a cell of markup. It is sorted and filtered by `value`.
    pub(super) fn markup(markup: String, value: impl Into<String>) -> Self {
        let content = Value::from_safe_string(markup);
        Self { content, value: Some(value.into()), shade: None }
    }

    pub(super) fn link(address: &str, words: &str) -> Self {
        let link = format!("<a href=\"{}\">{}</a>", escaped(address), escaped(words));
        Self::markup(link, words)
    }

    pub(super) fn followed_by(self, markup: &str) -> Self {
        Self { content: Value::from_safe_string(format!("{}{markup}", self.content)), ..self }
    }

    pub(super) fn shaded(self, percent: f64) -> Self {
        Self { shade: Some(percent), ..self }
    }

    fn is_empty(&self) -> bool {
        matches!(self.content.as_str(), Some("" | NOTHING))
    }
}

/// What a cell without a value says. It sorts before everything else.
const NOTHING: &str = "–";

impl<T: Into<Self>> From<Option<T>> for PageCell {
    fn from(cell: Option<T>) -> Self {
        let nothing = || Self { value: Some("-1".to_owned()), ..NOTHING.into() };
        cell.map_or_else(nothing, Into::into)
    }
}

impl From<&str> for PageCell {
    fn from(text: &str) -> Self {
        Self { content: text.into(), ..Self::default() }
    }
}

impl From<String> for PageCell {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_lines_share_is_told_once() {
        let columns = || {
            vec![
                PageColumn::text("Scheme", |row: &(&str, u32)| row.0).filter("scheme"),
                PageColumn::number("QoS", "", |row: &(&str, u32)| row.1.to_string()),
                PageColumn::text("Suite", |_: &(&str, u32)| "standard"),
                PageColumn::text("Device", |_: &(&str, u32)| None::<&str>),
            ]
        };
        let mut table = PageTable::of("", &[("skdc", 2), ("lkh", 2)], columns());
        assert_eq!(table.without_shared(), "QoS 2, suite standard");
        assert_eq!((table.columns.len(), table.lines[1].len()), (1, 1));
        let table = PageTable::of("", &[("skdc", 2), ("lkh", 0)], columns()).without_empty();
        assert_eq!(table.columns.len(), 3);
    }
}
