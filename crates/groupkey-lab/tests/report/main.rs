//! The report over a synthetic campaign: what the file holds, and how a browser shows it.

mod benchmark;
mod browser;
mod choice;
mod synthetic;

use std::path::{Path, PathBuf};
use std::{env, fs};

use groupkey_choose::number::grouped;
use groupkey_lab::report::render;

use crate::browser::Browser;

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = render(&synthetic::report());
    for loader in
        ["src=", "<link", "@import", "url(http", "fetch(", "XMLHttpRequest", "http://", "https://"]
    {
        assert!(!page.contains(loader), "the page contains {loader}");
    }
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
}

#[test]
fn every_figure_is_there_with_both_panels() {
    let page = render(&synthetic::report());
    for operation in ["creation", "join", "leave"] {
        for kind in ["centralized", "contributory-transmission", "contributory-total"] {
            let figure = format!("<figure id=\"{operation}-{kind}\"");
            let start = page.find(&figure).unwrap_or_else(|| panic!("no {figure}"));
            let end = start + page[start..].find("</figure>").expect("figures end");
            assert_eq!(page[start..end].matches("<svg class='chart'").count(), 2, "{figure}");
            assert!(page[start..end].contains("<p class=\"reading\">"), "{figure} says nothing");
        }
    }
    assert_eq!(page.matches("class='mark published'").count(), 7, "one ring a published time");
}

#[test]
fn a_finding_is_a_card_that_the_matrix_leads_to() {
    let report = synthetic::report();
    let page = render(&report);
    for verdict in &report.verdicts {
        let anchor = format!("finding-{}", verdict.id);
        assert!(page.contains(&format!("href=\"#{anchor}\"")), "{anchor} is not in the matrix");
        let card = between(&page, &format!("id=\"{anchor}\""), "</article>");
        assert!(card.contains(&verdict.sentence), "{card}");
        assert_eq!(card.matches("<circle class='dot ").count(), 3, "a dot for each setting");
        assert_eq!(card.matches("class=\"ruling ").count(), 3, "a line for each setting");
        assert_eq!(card.contains("class=\"dissent\""), verdict.dissent.is_some());
    }
}

#[test]
fn no_table_cell_is_a_page_of_text() {
    let page = render(&synthetic::report());
    for (words, cell) in cells(&page) {
        assert!(words <= 60, "{words} words in a cell: {cell}");
    }
}

#[test]
fn every_row_is_in_the_table_and_in_the_data() {
    let report = synthetic::report();
    let page = render(&report);
    let table = between(&page, "<table class=\"rows\">", "</table>");
    assert_eq!(table.matches("<tr data-row=").count(), synthetic::ROWS);
    for row in &report.rows {
        assert!(
            table.contains(&format!("--seed {}<", row.setting.seed)),
            "row {} is missing",
            row.setting.seed
        );
    }

    let data = between(&page, "<script type=\"application/json\" id=\"data\">", "</script>");
    let data: serde_json::Value = serde_json::from_str(data).expect("the data is JSON");
    assert_eq!(data["rows"].as_array().map(Vec::len), Some(synthetic::ROWS));
    assert_eq!(data["rows"][0]["mean_ms"], report.rows[0].mean_ms);
    assert_eq!(data["header"]["seed"], 2024);
}

#[test]
fn a_run_counts_once_for_all_its_operations() {
    let report = synthetic::report();
    let page = render(&report);
    let settings = synthetic::ROWS / 3;
    let runs = grouped((settings * report.rows[0].runs as usize) as f64);
    let lead = between(&page, "<p class=\"lead\">", "</p>");
    assert!(lead.contains(&format!(" {settings} settings, {runs} runs ")), "{lead}");
}

#[test]
fn text_is_escaped() {
    let page = render(&synthetic::report());
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("&lt;script&gt;alert"));
}

#[test]
fn sentences_follow_the_data() {
    let mut report = synthetic::report();
    let before = between(&render(&report), "id=\"creation-centralized\"", "<ul").to_owned();
    for row in report.rows.iter_mut().filter(|row| row.setting.delay_ms > 0.0) {
        row.mean_ms *= 3.0;
    }
    let after = between(&render(&report), "id=\"creation-centralized\"", "<ul").to_owned();
    assert_ne!(before, after);
}

#[test]
fn the_same_report_is_the_same_page() {
    assert_eq!(render(&synthetic::report()), render(&synthetic::report()));
}

#[test]
fn a_report_without_rows_still_renders() {
    let mut report = synthetic::report();
    report.rows.clear();
    report.published.clear();
    report.verdicts.clear();
    assert!(render(&report).contains("</html>"));
}

#[test]
fn part_of_a_campaign_still_renders() {
    let mut report = synthetic::report();
    report.rows.retain(|row| row.setting.loss_percent == 5.0 && row.setting.delay_ms == 100.0);
    for row in &mut report.rows {
        row.setting.scheme = row.setting.scheme.replace("skdc", "a stranger");
    }
    for value in &mut report.published {
        value.ours = f64::NAN;
    }
    let page = render(&report);
    assert!(page.contains("</html>") && page.contains("not run") && page.contains("a stranger"));
    let shown = between(&page, "<body>", "<script");
    for nonsense in ["NaN", "inf"] {
        assert!(!shown.contains(nonsense), "the page says {nonsense}");
    }
}

#[test]
fn a_browser_shows_it() {
    let Some(browser) = Browser::find() else {
        assert!(
            env::var("GROUPKEY_REQUIRE_ALL").as_deref() != Ok("1"),
            "no Chromium found, and GROUPKEY_REQUIRE_ALL=1 asks for one"
        );
        eprintln!("SKIPPED: no Chromium found; the report was not looked at in a browser");
        return;
    };
    let folder = pictures();
    let page = folder.join("report.html");
    fs::write(&page, render(&synthetic::report())).expect("target is writable");

    for (name, size) in [("desktop", DESKTOP), ("tablet", TABLET), ("phone", PHONE)] {
        let dom = browser.dom(&page, "", size);
        let html = dom.lines().find(|line| line.contains("<html")).expect("a document");
        assert!(html.contains("data-ready=\"true\""), "{name}: the script did not finish: {html}");
        assert!(!html.contains("data-error"), "{name}: {html}");
        assert_eq!(number(html, "data-rows"), synthetic::ROWS as u32);
        assert_eq!(number(html, "data-inner-width"), size.0, "the browser ignored --screen-info");
        // Each finding and each figure can be saved.
        assert_eq!(number(html, "data-saves"), 3 + 9, "{name}");
        let width = number(html, "data-scroll-width");
        assert!(width <= size.0, "{name}: the page is {width} pixels wide, the screen {}", size.0);
    }

    let light =
        picture(&browser, &page, "#theme=light", DESKTOP, &folder.join("desktop-light.png"));
    let dark = picture(&browser, &page, "#theme=dark", DESKTOP, &folder.join("desktop-dark.png"));
    assert_ne!(light, dark, "light and dark look the same");
    picture(&browser, &page, "#theme=light", PHONE, &folder.join("phone-light.png"));
    picture(&browser, &page, "#theme=dark", PHONE, &folder.join("phone-dark.png"));
}

const DESKTOP: (u32, u32) = (1280, 900);
const TABLET: (u32, u32) = (820, 1180);
const PHONE: (u32, u32) = (390, 844);

/// Takes a picture and checks that it is a PNG of the right size with something on it.
fn picture(browser: &Browser, page: &Path, theme: &str, size: (u32, u32), to: &Path) -> Vec<u8> {
    browser.screenshot(page, theme, size, to);
    let png = fs::read(to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{} is no PNG", to.display());
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((side(16), side(20)), size);
    // An empty page of this size compresses to a few kilobytes.
    assert!(png.len() > 20_000, "{} has only {} bytes", to.display(), png.len());
    png
}

/// Where the pictures go, to be looked at: `report-screenshots` in the target directory.
fn pictures() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("tmp lies in target");
    let folder = target.join("report-screenshots");
    fs::create_dir_all(&folder).expect("target is writable");
    folder
}

fn number(html: &str, attribute: &str) -> u32 {
    let value = between(html, &format!("{attribute}=\""), "\"");
    value.parse().unwrap_or_else(|_| panic!("{attribute} is {value:?}"))
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len();
    let length = text[start..].find(to).unwrap_or_else(|| panic!("no {to} after {from}"));
    &text[start..start + length]
}

/// Counts the words of each cell of the page's tables.
pub(crate) fn cells(page: &str) -> Vec<(usize, String)> {
    let starts = ["<td", "<th"].into_iter().flat_map(|tag| page.match_indices(tag));
    let texts = starts.filter_map(|(start, tag)| {
        let rest = &page[start..];
        // `<thead` is no cell.
        rest[tag.len()..].starts_with([' ', '>']).then_some(())?;
        let end = rest.find(&tag.replace('<', "</"))?;
        let mut text = String::new();
        let mut in_tag = false;
        for letter in rest[..end].chars() {
            match letter {
                '<' => in_tag = true,
                '>' => {
                    in_tag = false;
                    text.push(' ');
                }
                _ if !in_tag => text.push(letter),
                _ => {}
            }
        }
        Some((text.split_whitespace().count(), text))
    });
    texts.collect()
}
