//! Aligned tables: text to the left, numbers to the right, two spaces between columns.

use std::fmt;
use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, presets};
use groupkey_choose::number::figure;
use terminal_size::{Width, terminal_size_of};

use crate::paragraph::Paragraph;

/// Rows under headings.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    table: comfy_table::Table,
}

/// A column: its heading and the alignment of its cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    side: CellAlignment,
    /// If there is no room, columns with the highest number are dropped first. Columns with 0 stay.
    dispensable: u8,
}

impl Column {
    pub(crate) const fn text(heading: &'static str) -> Self {
        Self { heading, side: CellAlignment::Left, dispensable: 0 }
    }

    pub(crate) const fn number(heading: &'static str) -> Self {
        Self { heading, side: CellAlignment::Right, dispensable: 0 }
    }

    /// Returns the same column, but it may be dropped if there is no room: the higher the
    /// number, the earlier.
    pub(crate) const fn may_go(self, dispensable: u8) -> Self {
        Self { dispensable, ..self }
    }
}

impl Table {
    /// Makes a table without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let columns: Vec<Column> = columns.into_iter().collect();
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).set_header(columns.iter().map(|one| one.heading));
        for (column, drawn) in columns.iter().zip(table.column_iter_mut()) {
            drawn.set_cell_alignment(column.side);
            drawn.set_padding((0, GAP));
        }
        Self { columns, table }
    }

    /// Adds a row: one cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.add_row(cells);
    }

    /// Returns a row as it stands under this table's headings, for a table that is printed as it
    /// grows. Its cells are no wider than the headings.
    #[cfg(feature = "live")]
    pub(crate) fn line(&self, cells: impl IntoIterator<Item = String>) -> String {
        let mut with_it = Self { columns: self.columns.clone(), table: self.table.clone() };
        with_it.row(cells);
        with_it.lines().pop().unwrap_or_default()
    }

    /// Drops columns until a row is at most `width` wide. Returns the headings of the
    /// dropped columns.
    pub(crate) fn fit(&mut self, width: usize) -> Vec<&'static str> {
        let widths = self.table.column_max_content_widths();
        let width_of = |place: usize| usize::from(widths[place]) + usize::from(GAP);
        let is_hidden =
            |place| self.table.column(place).is_some_and(comfy_table::Column::is_hidden);
        let mut shown: Vec<usize> =
            (0..self.columns.len()).filter(|&place| !is_hidden(place)).collect();
        let mut total: usize = shown.iter().map(|&place| width_of(place)).sum();
        shown.retain(|&place| self.columns[place].dispensable > 0);
        // Of columns with the same number, the last is dropped first.
        shown.sort_by_key(|&place| self.columns[place].dispensable);
        let mut gone = Vec::new();
        while total > width
            && let Some(place) = shown.pop()
        {
            total -= width_of(place);
            if let Some(drawn) = self.table.column_mut(place) {
                drawn.set_constraint(ColumnConstraint::Hidden);
            }
            gone.push(self.columns[place].heading);
        }
        gone
    }

    /// Prints the table, without the columns for which the terminal has no room, and names those.
    /// `elsewhere` says where all columns are.
    pub(crate) fn print_fitting(mut self, elsewhere: &str, out: &mut dyn Write) -> io::Result<()> {
        let left_out = self.fit(terminal_width());
        write!(out, "{self}")?;
        if !left_out.is_empty() {
            let text = format!("No room for: {}. {elsewhere} has all.", left_out.join(", "));
            writeln!(out, "\n{}", Paragraph { indent: 0, text: &text })?;
        }
        Ok(())
    }

    fn lines(&self) -> Vec<String> {
        self.table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Where all columns of a table are that a narrow terminal lacks, if the command has `--json`.
pub(crate) const WIDER: &str = "A wider terminal, a pipe or --json";

/// Returns the columns of the terminal on standard output. A file or a pipe takes everything.
pub(crate) fn terminal_width() -> usize {
    terminal_size_of(io::stdout()).map_or(usize::MAX, |(Width(width), _)| width.into())
}

/// Spaces between two columns.
const GAP: u16 = 2;

/// Returns the cell of a number that may be absent.
pub(crate) fn figure_if_any(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_sticks_to_the_left_and_numbers_to_the_right() {
        let mut table = Table::new([Column::text("scheme"), Column::number("ms")]);
        table.row(["g-dh".to_owned(), "1200".to_owned()]);
        table.row(["naïveté".to_owned(), "7".to_owned()]);
        assert_eq!(table.to_string(), "scheme     ms\ng-dh     1200\nnaïveté     7\n");
    }

    #[test]
    fn a_narrow_terminal_keeps_what_matters() {
        let mut table = Table::new([
            Column::text("scheme"),
            Column::number("p50").may_go(2),
            Column::number("mean").may_go(1),
        ]);
        table.row(["g-dh".to_owned(), "7".to_owned(), "8".to_owned()]);
        assert_eq!(table.fit(80), [""; 0]);
        assert_eq!(table.fit(15), ["p50"]);
        assert_eq!(table.to_string(), "scheme  mean\ng-dh       8\n");
        assert_eq!(table.fit(1), ["mean"]);
    }
}
