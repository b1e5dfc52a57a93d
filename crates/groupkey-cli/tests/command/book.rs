//! The book in `docs/`: every page is in its table of contents and links to what is there, and every
//! scheme has a page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use groupkey::catalogue::SCHEMES;

#[test]
fn the_table_of_contents_has_every_page() {
    let summary = read(Path::new("docs/SUMMARY.md"));
    let listed: BTreeSet<PathBuf> =
        links(&summary).into_iter().map(|link| Path::new("docs").join(link)).collect();
    let there: BTreeSet<PathBuf> =
        pages().into_iter().filter(|page| page != Path::new("docs/SUMMARY.md")).collect();
    assert_eq!(listed, there);
}

/// A page ends with a link to the scheme's file, whose header the book prints there.
#[test]
fn every_scheme_has_a_page_with_a_drawing() {
    let mut described = BTreeSet::new();
    for page in pages().into_iter().filter(|page| page.starts_with("docs/schemes")) {
        let text = read(&page);
        let file = text.rsplit("[Costs, messages and deviations](../../").next();
        let file = file.and_then(|rest| rest.strip_suffix(".rs)\n"));
        let Some(file) = file else { continue };
        assert!(text.contains("```text\n"), "{}: a drawing", page.display());
        let code = read(Path::new(&format!("{file}.rs")));
        let is_in_it = |id: &&str| code.contains(&format!("\"{id}\","));
        described.extend(SCHEMES.iter().map(|scheme| scheme.id).filter(is_in_it));
    }
    for scheme in SCHEMES {
        assert!(described.contains(scheme.id), "no page describes {}", scheme.id);
    }
}

#[test]
fn every_row_of_the_threat_page_names_tests_that_exist() {
    let mut tests = BTreeSet::new();
    for file in ["crates", "tools"].iter().flat_map(|room| sources(&repository().join(room))) {
        let text = fs::read_to_string(file).expect("readable");
        let attributes = ["#[test]", "#[tokio::test"];
        for after in attributes.iter().flat_map(|attribute| text.split(attribute).skip(1)) {
            // Between the attribute and the function there may be others, and macros name the test
            // after the attribute, too.
            let name = after.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
            tests.extend(name.map(|(name, _)| name.to_owned()));
        }
    }
    let page = read(Path::new("docs/threats.md"));
    let mut named = 0;
    for table in page.split("| adversary | condition | holds | test |\n|---|---|---|---|\n").skip(1)
    {
        for row in table.lines().take_while(|line| line.starts_with('|')) {
            let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 4, "adversary, condition, holds, test: {row}");
            let names: Vec<_> = cells[3].split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "no test: {row}");
            for name in names {
                assert!(tests.contains(name), "no test is called {name}: {row}");
                named += 1;
            }
        }
    }
    assert!(named > 80, "only {named} tests were found on the page");
}

#[test]
fn the_walks_of_the_architecture_lead_past_files() {
    let page = read(Path::new("docs/architecture.md"));
    let (_, walks) = page.split_once("## Three walks").expect("a heading");
    let (walks, _) = walks.split_once("\n## ").expect("another heading");
    let drawings: Vec<&str> = walks.split("```").skip(1).step_by(2).collect();
    assert_eq!(drawings.len(), 3);
    for (drawing, most) in drawings.into_iter().zip([14, 25, 16]) {
        let mut crates = BTreeSet::new();
        let mut files = BTreeSet::new();
        for line in drawing.lines() {
            crates.extend(line.split_whitespace().find(|word| word.starts_with("groupkey")));
            let words = line.split(|letter: char| letter.is_whitespace() || ",;:".contains(letter));
            files.extend(words.filter(|word| word.ends_with(".rs")));
        }
        for file in &files {
            let is_there = |name: &&str| {
                repository().join("crates").join(name).join("src").join(file).is_file()
            };
            assert!(crates.iter().any(is_there), "docs/architecture.md: there is no {file}");
        }
        assert!(files.len() <= most, "{} files: {files:?}", files.len());
    }
}

#[test]
fn every_link_leads_to_something() {
    let mut broken = Vec::new();
    let mut headings = BTreeMap::new();
    let outside = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/own-scheme/README.md"];
    for page in pages().into_iter().chain(outside.map(PathBuf::from)) {
        for link in links(&read(&page)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => normal(&page.parent().expect("it has one").join(file)),
            };
            if !repository().join(&target).exists() {
                broken.push(format!("{}: {link}", page.display()));
            } else if !anchor.is_empty() && target.extension().is_some_and(|kind| kind == "md") {
                let known = headings.entry(target).or_insert_with_key(|file| anchors(&read(file)));
                if !known.contains(anchor) {
                    broken.push(format!("{}: {link}: no such heading", page.display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The targets of a text's links, but for those in blocks of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for prose in text.split("```").step_by(2) {
        for link in prose.split("](").skip(1) {
            if let Some(end) = link.find(')') {
                found.push(link[..end].replace('\n', " "));
            }
        }
    }
    found
}

/// What links to a text's headings end with, as mdBook and GitHub make it.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.split("```").step_by(2).flat_map(str::lines);
    let headings = headings.filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    let anchor = |heading: &str| -> String {
        let kept = |&letter: &char| letter.is_alphanumeric() || " -_".contains(letter);
        heading
            .to_lowercase()
            .chars()
            .filter(kept)
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(anchor).collect()
}

fn pages() -> Vec<PathBuf> {
    let folders = ["docs", "docs/schemes"];
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(repository().join(folder)).expect("the folder is there");
        entries.map(move |entry| Path::new(folder).join(entry.expect("readable").file_name()))
    });
    files.filter(|file| file.extension().is_some_and(|kind| kind == "md")).collect()
}

pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            files.push(path);
        }
    }
    files
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            component => normal.push(component),
        }
    }
    normal
}

pub(crate) fn read(page: &Path) -> String {
    fs::read_to_string(repository().join(page)).expect("the page is there")
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
