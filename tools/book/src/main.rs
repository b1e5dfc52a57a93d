//! Writes the source of the book to `target/book-source`: the pages of `docs/`, with the parts that
//! follow from code and records. `cargo run --release -p groupkey-book && mdbook build` builds it.
//!
//! A part takes the place of a line of a page: of the link to a scheme's file, whose header it prints
//! below the catalogue's entry, or of a marker.

mod member_costs;
mod scheme_page;
mod sizes;

use std::path::{Path, PathBuf};
use std::{fs, io};

use groupkey_lab::audit::attacks::ATTACKS;
use groupkey_reproduce::expectations::{claims_page, expected};
use groupkey_reproduce::recorded_sensitivity;

fn main() -> io::Result<()> {
    let to = root().join("target/book-source");
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    copy(&root().join("docs"), &to)?;
    println!("{}", to.display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy(&path, &target)?;
        } else if path.extension().is_some_and(|kind| kind == "md") {
            fs::write(target, filled(&fs::read_to_string(path)?))?;
        } else {
            fs::copy(path, target)?;
        }
    }
    Ok(())
}

fn filled(page: &str) -> String {
    page.lines().map(|line| part(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

fn part(line: &str) -> Option<String> {
    if let Some(link) = line.strip_prefix("[Costs, messages and deviations](../../") {
        return Some(scheme_page::part(link.trim_end_matches(')')));
    }
    Some(match line {
        "<!-- attacks -->" => attacks(),
        "<!-- claims -->" => claims(),
        "<!-- evictions -->" => member_costs::evictions(),
        "<!-- large key trees -->" => member_costs::large_key_trees(),
        "<!-- sizes with a controller -->" => sizes::with_a_controller(),
        "<!-- sizes without a controller -->" => sizes::without_a_controller(),
        _ => return None,
    })
}

fn attacks() -> String {
    let mut table = "| attack | succeeds if | reference |\n|---|---|---|\n".to_owned();
    for attack in ATTACKS {
        let condition = attack.condition.map_or("", |condition| condition.name());
        let condition = if condition.is_empty() {
            String::new()
        } else {
            format!(" (condition `{condition}`)")
        };
        table +=
            &format!("| `{}` | {}{condition} | {} |\n", attack.id, attack.shows, attack.reference);
    }
    table
}

/// Returns the recorded outcomes of `groupkey reproduce all --quick`, without the page's title.
fn claims() -> String {
    let page = claims_page(&expected(), &recorded_sensitivity());
    page.split_once("\n\n## ").map_or(page.clone(), |(_, rest)| format!("## {rest}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn a_page_gets_the_entry_the_header_and_the_records() {
    let page = fs::read_to_string(root().join("docs/schemes/lkh.md")).expect("it is there");
    let page = filled(&page);
    for part in [
        "| id | `lkh-user`, `lkh-key`, `lkh-group` |",
        "| add, messages | 1 unicast, 1",
        "Deviations: ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for marker in ["attacks", "claims", "evictions", "large key trees"] {
        let part = filled(&format!("<!-- {marker} -->\n"));
        assert!(part.lines().filter(|line| line.starts_with('|')).count() > 6, "{marker}: {part}");
    }
    assert_eq!(filled("a line\n"), "a line\n");
}
