//! The colour and mark of each scheme, the same in every figure.

use minijinja::Value;

use super::content::Report;
use super::page::LegendEntry;
use super::table::PageCell;
use super::text::escaped;
use crate::registry;

/// A scheme as the figures show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// Its id in the catalogue.
    pub(super) scheme: String,
    /// Number of the scheme in the report. The page's CSS class is `k` and this number.
    pub(super) number: usize,
    /// CSS class `s0` to `s6`.
    pub(super) colour: usize,
    pub(super) mark: Mark,
}

/// The schemes of the report, in the order of their first rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Styles(Vec<Style>);

impl Styles {
    /// Gives each scheme a style, in the order of the rows.
    pub(super) fn of(report: &Report) -> Self {
        let mut styles: Vec<Style> = Vec::new();
        for scheme in report.schemes() {
            if !styles.iter().any(|known| known.scheme == scheme) {
                styles.push(Style::new(scheme, styles.len()));
            }
        }
        Self(styles)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Style> {
        self.0.iter()
    }

    pub(super) fn of_scheme(&self, scheme: &str) -> Style {
        let known = self.0.iter().find(|style| style.scheme == scheme);
        known.cloned().unwrap_or_else(|| Style::new(scheme, self.0.len()))
    }
}

impl Style {
    /// With six marks and seven colours, 42 schemes look different.
    pub(super) fn new(scheme: &str, number: usize) -> Self {
        let (colour, mark) = (number % COLOURS, Mark::ALL[number % Mark::ALL.len()]);
        Self { scheme: scheme.to_owned(), number, colour, mark }
    }

    /// Returns the CSS classes of its marks.
    pub(super) fn series(&self) -> String {
        format!("series k{} s{}", self.number, self.colour)
    }

    /// Draws the mark, for legends and tables.
    pub(super) fn glyph(&self) -> String {
        format!(
            r#"<svg class="glyph s{}" viewBox="-7 -7 14 14" aria-hidden="true"><path class="dot" d="{}"/></svg>"#,
            self.colour,
            self.mark.path(),
        )
    }

    pub(super) fn cell(&self) -> PageCell {
        PageCell::markup(format!("{} {}", self.glyph(), escaped(&self.scheme)), &*self.scheme)
    }

    /// Returns its entry among the schemes from which a reader chooses.
    pub(super) fn choice(&self) -> (String, Value) {
        let shown = format!("{}{}", self.glyph(), escaped(&self.scheme));
        (self.scheme.clone(), Value::from_safe_string(shown))
    }

    pub(super) fn entry(&self) -> LegendEntry {
        LegendEntry {
            series: format!("k{}", self.number),
            glyph: Value::from_safe_string(self.glyph()),
            label: self.scheme.clone(),
            ..LegendEntry::default()
        }
    }

    pub(super) fn class(&self) -> &'static str {
        registry::scheme(&self.scheme).map_or("centralized", |scheme| scheme.class().name())
    }
}

/// Colours of the style sheet.
pub(super) const COLOURS: usize = 7;

pub(super) fn published_entry(label: &str) -> LegendEntry {
    let glyph = r#"<svg class="glyph" viewBox="-9 -9 18 18" aria-hidden="true"><circle class="ring" r="7"/></svg>"#;
    LegendEntry {
        glyph: Value::from_safe_string(glyph.to_owned()),
        label: label.to_owned(),
        ..LegendEntry::default()
    }
}

/// Shapes that a reader can tell apart without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Circle,
    Diamond,
    Hexagon,
    Pennant,
    Square,
    Triangle,
}

impl Mark {
    pub(super) const ALL: [Self; 6] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Hexagon, Self::Pennant];

    /// Returns the SVG path around the origin, about 9 units wide.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Circle => "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z",
            Self::Diamond => "M0-5.4 5 0 0 5.4-5 0z",
            Self::Hexagon => "M-2.6-4.5h5.2L5.2 0 2.6 4.5h-5.2L-5.2 0z",
            Self::Pennant => "M-4.8-3.7h9.6L0 4.9z",
            Self::Square => "M-3.9-3.9h7.8v7.8h-7.8z",
            Self::Triangle => "M0-4.9 4.8 3.7h-9.6z",
        }
    }
}
