//! Aligned tables: text to the left, numbers to the right, two spaces between columns.

use std::fmt;

/// Rows under headings.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// A column: its heading and the side to which its cells stick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    side: Side,
    /// Columns of the highest number go first where there is no room; those of 0 never go.
    dispensable: u8,
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Left,
    Right,
}

impl Column {
    /// A column of words.
    pub(crate) const fn text(heading: &'static str) -> Self {
        Self { heading, side: Side::Left, dispensable: 0 }
    }

    /// A column of numbers.
    pub(crate) const fn number(heading: &'static str) -> Self {
        Self { heading, side: Side::Right, dispensable: 0 }
    }

    /// The same column, which goes where there is no room: the higher the number, the earlier.
    pub(crate) const fn may_go(self, dispensable: u8) -> Self {
        Self { dispensable, ..self }
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row: one cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// A row as it stands under the headings of this table, for one that is printed as it grows. Its cells
    /// are no wider than the headings.
    pub(crate) fn line(&self, cells: impl IntoIterator<Item = String>) -> String {
        let cells: Vec<String> = cells.into_iter().collect();
        self.aligned(&self.widths(), cells.iter().map(String::as_str))
    }

    /// Drops columns until a row is at most so wide; returns the headings of those that went.
    pub(crate) fn fit(&mut self, width: usize) -> Vec<&'static str> {
        let mut gone = Vec::new();
        while self.widths().iter().map(|width| width + GAP.len()).sum::<usize>() > width {
            let Some((place, column)) =
                self.columns.iter().enumerate().max_by_key(|(_, c)| c.dispensable)
            else {
                break;
            };
            if column.dispensable == 0 {
                break;
            }
            gone.push(column.heading);
            self.columns.remove(place);
            for row in &mut self.rows {
                row.remove(place);
            }
        }
        gone
    }

    fn widths(&self) -> Vec<usize> {
        let width = |text: &str| text.chars().count();
        let mut widths: Vec<usize> = self.columns.iter().map(|c| width(c.heading)).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(cell));
            }
        }
        widths
    }

    fn aligned<'a>(&self, widths: &[usize], cells: impl Iterator<Item = &'a str>) -> String {
        let mut line = String::new();
        for ((column, &width), cell) in self.columns.iter().zip(widths).zip(cells) {
            line += &match column.side {
                Side::Left => format!("{cell:<width$}{GAP}"),
                Side::Right => format!("{cell:>width$}{GAP}"),
            };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        writeln!(f, "{}", self.aligned(&widths, self.columns.iter().map(|column| column.heading)))?;
        self.rows.iter().try_for_each(|row| {
            writeln!(f, "{}", self.aligned(&widths, row.iter().map(String::as_str)))
        })
    }
}

/// What separates two columns.
const GAP: &str = "  ";

/// A number for people: three significant digits, and three decimals at most.
pub(crate) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 | 1000.0.. => 0,
        100.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// The same where little is no nothing: what three decimals do not show has an exponent.
pub(crate) fn figure_however_small(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.01 { figure(value) } else { format!("{value:.2e}") }
}

/// The same, where there may be no number.
pub(crate) fn figure_if_any(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_show_what_there_is() {
        let shown = [0.0, 22_804.18, 123.45, 1.234, 0.0583, 0.000_4].map(figure);
        assert_eq!(shown, ["0", "22804", "123.5", "1.23", "0.058", "0.000"]);
        let shown = [0.0, 1.234, 0.0583, 0.001_46, 2.3e-9].map(figure_however_small);
        assert_eq!(shown, ["0", "1.23", "0.058", "1.46e-3", "2.30e-9"]);
    }

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

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(
            [0.0, 0.1234, 1.234, 12.345, 123.45, 12345.6].map(figure),
            ["0", "0.123", "1.23", "12.35", "123.5", "12346"]
        );
    }
}
