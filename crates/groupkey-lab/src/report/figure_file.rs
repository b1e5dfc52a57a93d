//! Figures as files of their own, at the size of a paper: SVG.
//!
//! A file has the panels of a figure, two in a row, under its legend. A panel is as wide as a column
//! of a paper. The same rows give the same bytes on every machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::content::Report;
use super::page::{CHART_STYLE, LegendEntry, PAGE_STYLE, PATTERNS, PageBlock, PageFigure};
use super::sections::{figure_parts, shown_entries};
use super::style::Styles;
use super::text::escaped;

/// A figure that stands in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureFile {
    /// A name for the file, without an extension. No two figures of a report have the same.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The drawing.
    pub svg: String,
}

/// Returns all figures of a report, in the order of its page.
pub fn figures(report: &Report) -> Vec<FigureFile> {
    let styles = Styles::of(report);
    let mut names = BTreeSet::new();
    let parts = figure_parts(report, &shown_entries(report), &styles);
    let figures = parts.iter().flat_map(|part| &part.figures).filter_map(|block| match block {
        PageBlock::Figure(figure) => Some(figure),
        _ => None,
    });
    let file = |figure: &PageFigure| {
        let plain = plain_name(&figure.file);
        let mut name = plain.clone();
        for number in 2.. {
            if names.insert(name.clone()) {
                break;
            }
            name = format!("{plain}-{number}");
        }
        FigureFile { name, title: figure.title.clone(), svg: drawn(figure) }
    };
    figures.map(file).collect()
}

/// Width of a panel in the units of charts, and in points: a column of a paper in two columns.
const PANEL_WIDTH: f64 = 460.0;
const COLUMN_POINTS: f64 = 252.0;
/// Between panels, and around everything.
const GAP: f64 = 22.0;
const MARGIN: f64 = 4.0;
/// Height of a line of the legend, and of a heading.
const LINE: f64 = 22.0;
const TEXT: f64 = 13.0;

/// Returns a name that every file system takes: rows are read from files of others.
fn plain_name(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    name.chars().take(LONGEST_NAME).map(plain).collect()
}

const LONGEST_NAME: usize = 120;

/// Draws a figure: the legend, then the panels.
fn drawn(figure: &PageFigure) -> String {
    let columns = figure.panels.len().clamp(1, 2);
    let width = columns as f64 * PANEL_WIDTH + (columns - 1) as f64 * GAP;
    let (mut body, mut top) = legend(&figure.legend, width);
    for row in figure.panels.chunks(columns) {
        let has_heading = row.iter().any(|(heading, _)| !heading.is_empty());
        if has_heading {
            for (column, (heading, _)) in row.iter().enumerate() {
                let x = column as f64 * (PANEL_WIDTH + GAP) + 2.0;
                body += &format!(
                    "<text class='heading' x='{x}' y='{:.1}'>{}</text>",
                    top + 14.0,
                    escaped(&shortened(heading))
                );
            }
            top += LINE;
        }
        let mut height: f64 = 0.0;
        for (column, (_, panel)) in row.iter().enumerate() {
            let panel = panel.to_string();
            let own = view_box_height(&panel);
            let x = column as f64 * (PANEL_WIDTH + GAP);
            let place = format!("<svg x='{x}' y='{top:.1}' width='{PANEL_WIDTH}' height='{own}' ");
            body += &panel.replacen("<svg ", &place, 1);
            height = height.max(own);
        }
        top += height + GAP / 2.0;
    }
    let (width, height) = (width + 2.0 * MARGIN, top - GAP / 2.0 + 2.0 * MARGIN);
    let points = |units: f64| units * COLUMN_POINTS / PANEL_WIDTH;
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{:.2}pt' height='{:.2}pt' viewBox='0 0 {width} {height:.1}'>\
         <title>{}</title><desc>{}</desc><style>{}</style>{PATTERNS}\
         <rect class='paper' width='{width}' height='{height:.1}'/>\
         <g transform='translate({MARGIN} {MARGIN})'>{body}</g></svg>\n",
        points(width),
        points(height),
        escaped(&figure.title),
        escaped(&figure.caption),
        style(),
    )
}

fn legend(entries: &[LegendEntry], width: f64) -> (String, f64) {
    let (mut drawn, mut x, mut y) = (String::new(), 0.0, 0.0);
    for entry in entries {
        let remark =
            if entry.remark.is_empty() { String::new() } else { format!(" {}", entry.remark) };
        let label = format!("{}{remark}", entry.label);
        let taken = 20.0 + length(&label, TEXT) + 16.0;
        if x > 0.0 && x + taken > width {
            (x, y) = (0.0, y + LINE);
        }
        let glyph = entry.glyph.to_string();
        let place = format!("<svg x='{x:.1}' y='{:.1}' width='14' height='14' ", y + 2.0);
        drawn += &glyph.replacen("<svg ", &place, 1);
        drawn += &format!(
            "<text class='entry' x='{:.1}' y='{:.1}'>{}</text>",
            x + 20.0,
            y + 13.5,
            escaped(&label)
        );
        x += taken;
    }
    (drawn, if entries.is_empty() { 0.0 } else { y + LINE + 4.0 })
}

/// Returns the style of charts with the light colours of the page in place of its variables.
fn style() -> String {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let mut style = CHART_STYLE.to_owned();
        for (name, colour) in light_colours() {
            style = style.replace(&format!("var({name})"), colour);
        }
        style = style.replace("var(--sans)", FONTS);
        format!(
            "text {{ font-family: {FONTS}; }}\n{style}\
             .chart text {{ fill: #1b1f23; font-size: {TEXT}px; }}\n\
             .entry, .heading {{ fill: #1b1f23; font-size: {TEXT}px; }}\n\
             .chart .facet, .heading {{ font-weight: 400; stroke: #1b1f23; stroke-width: .3px; }}\n.paper {{ fill: #ffffff; }}\n"
        )
    });
    STYLE.clone()
}

/// All have the widths of Arial, by which [`length`] counts.
const FONTS: &str = "Arial, Helvetica, 'Liberation Sans', Arimo, sans-serif";

/// Returns the page's variables that are colours, each with its light one.
fn light_colours() -> BTreeMap<&'static str, &'static str> {
    let colours = PAGE_STYLE.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once(": light-dark(")?;
        Some((name, value.split_once(',')?.0))
    });
    colours.collect()
}

fn view_box_height(svg: &str) -> f64 {
    let view_box = svg.split_once("viewBox='").and_then(|(_, rest)| rest.split_once('\''));
    let height = view_box.and_then(|(view_box, _)| view_box.rsplit(' ').next()?.parse().ok());
    height.unwrap_or_default()
}

fn shortened(heading: &str) -> String {
    if length(heading, TEXT) <= PANEL_WIDTH {
        return heading.to_owned();
    }
    let mut kept = String::new();
    for letter in heading.chars() {
        if length(&kept, TEXT) > PANEL_WIDTH - 20.0 {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

fn length(text: &str, size: f64) -> f64 {
    let width = |letter| match letter {
        'f' | 'i' | 'j' | 'l' | 't' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.28,
        '(' | ')' | '-' | 'r' => 0.34,
        'm' | 'M' | 'w' | 'W' | '%' | '@' | '±' => 0.86,
        'A'..='Z' => 0.68,
        _ => 0.56,
    };
    size * text.chars().map(width).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_of_the_page_is_left_in_a_file() {
        let style = style();
        assert!(light_colours().len() > 12);
        for foreign in ["var(", "light-dark", "color-mix"] {
            assert!(!style.contains(foreign), "{foreign} in {style}");
        }
    }

    #[test]
    fn a_legend_breaks_where_the_width_ends() {
        let entry = |label: &str| LegendEntry { label: label.to_owned(), ..LegendEntry::default() };
        let entries: Vec<LegendEntry> = (0..9).map(|_| entry("a scheme of a name")).collect();
        let (_, one) = legend(&entries[..2], 460.0);
        let (_, all) = legend(&entries, 460.0);
        assert!(all >= one + 2.0 * LINE, "{one} and {all}");
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(plain_name("creation-../../etc"), "creation-------etc");
    }

    #[test]
    fn long_headings_are_shortened() {
        assert_eq!(shortened("One-way delay 20 ms"), "One-way delay 20 ms");
        assert!(shortened(&"word ".repeat(60)).ends_with('…'));
    }
}
