//! Figures as files.

use std::collections::BTreeSet;
use std::fs;

use groupkey_lab::report::{FigureFile, Report, figures};

use crate::{between, pictures, synthetic};

#[test]
fn every_figure_is_a_file_in_three_forms() {
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
        let figure = named(&all, name);
        fs::write(pictures().join(format!("{name}.svg")), figure.svg()).expect("writable");
        let pdf = figure.pdf();
        fs::write(pictures().join(format!("{name}.pdf")), &pdf).expect("writable");
        assert!(pdf.starts_with(b"%PDF-"), "{name}");
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.contains("Arimo") && text.contains("/FontFile2"), "its font is inside");
        assert!(!text.contains("/Subtype /Image"), "{name} is drawn, not painted");
        let png = figure.png();
        assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{name}");
        // Two panels, each as wide as a column of 3.5 inches, at 300 dots an inch.
        let width = u32::from_be_bytes(png[16..20].try_into().expect("four bytes"));
        assert!((2_100..2_250).contains(&width), "{width}");
    }
}

#[test]
fn the_same_rows_are_the_same_bytes() {
    let [one, other] = [(), ()].map(|()| {
        let all = figures(&synthetic::report());
        let figure = named(&all, "creation-gdh2-relay-total").clone();
        (figure.svg().to_owned(), figure.pdf(), figure.png())
    });
    assert!(one == other);
}

/// A file must say by itself what its colours mean, and load nothing.
#[test]
fn a_file_stands_alone() {
    let all = figures(&synthetic::report());
    let svg = named(&all, "creation-centralized-total").svg();
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
