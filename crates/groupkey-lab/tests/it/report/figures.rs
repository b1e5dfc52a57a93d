//! Figures as files.

use std::collections::BTreeSet;
use std::fs;

use groupkey_lab::report::{FigureFile, Report, figures};

use super::{between, pictures, synthetic};

#[test]
fn every_figure_is_a_file() {
    let all = figures(&synthetic::report());
    assert_eq!(all.len(), 9, "as many as in the page");
    let names: BTreeSet<&str> = all.iter().map(|figure| &*figure.name).collect();
    assert_eq!(names.len(), all.len());
    // All kinds of charts: marks with published values, transmission, and stacked bars.
    for name in [
        "creation-centralized-total",
        "creation-distributed-transmission",
        "creation-gdh2-relay-total",
    ] {
        let path = pictures().join(format!("{name}.svg"));
        fs::write(path, &named(&all, name).svg).expect("writable");
    }
    assert!(all == figures(&synthetic::report()), "the same rows are the same bytes");
}

/// A file must say by itself what its colours mean, and load nothing.
#[test]
fn a_file_stands_alone() {
    let all = figures(&synthetic::report());
    let svg = &*named(&all, "creation-centralized-total").svg;
    for words in [">skdc</text>", ">lkh-key</text>", ">Published</text>", "One-way delay 100 ms"] {
        assert!(svg.contains(words), "{words} is missing");
    }
    assert!(between(svg, "width='", "pt'").parse::<f64>().is_ok_and(|points| points > 504.0));
    let loaded = svg.replace("http://www.w3.org/2000/svg", "");
    assert!(!loaded.contains("http") && !svg.contains("var(") && !svg.contains("<script"));
}

#[test]
fn a_report_without_rows_has_no_figures() {
    assert!(figures(&Report::default()).is_empty());
}

fn named<'a>(figures: &'a [FigureFile], name: &str) -> &'a FigureFile {
    figures.iter().find(|figure| figure.name == name).expect(name)
}
