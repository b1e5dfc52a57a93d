//! The tables of `docs/schemes`: what the catalogue says of a scheme, what the header of its file says
//! that it costs, and the index. [`pages`](super::pages) says how they are written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use groupkey::catalogue::{
    self, Adversary, Class, Departures, Law, Parameter, Profile, SCHEMES, Scheme,
};

use super::pages::Page;

#[test]
fn pages_of_schemes_say_what_catalogue_and_code_say() {
    for mut page in Page::of_schemes() {
        page.generate("scheme", |ids, _| {
            let schemes: Vec<_> = ids.split(' ').map(named).collect();
            let file = file_of(schemes[0]);
            format!("{}\n{}", entry(&schemes, &file), costs(&file))
        });
        page.check();
    }
}

#[test]
fn pages_of_schemes_cover_the_catalogue() {
    let described = page_of_each_scheme();
    for scheme in SCHEMES {
        assert!(described.contains_key(scheme.id), "no page describes {}", scheme.id);
    }
    assert_eq!(described.len(), SCHEMES.len());
}

#[test]
fn pages_index_lists_every_scheme() {
    let pages = page_of_each_scheme();
    let mut index = Page::read("schemes/index.md");
    index.generate("schemes", |class, now| {
        let rows = SCHEMES.iter().filter(|scheme| scheme.class().name() == class);
        let rows = rows.map(|scheme| {
            let Scheme { id, provenance, recovery, .. } = scheme;
            let line = summary(now, id);
            let (page, provenance, recovery) = (&pages[id], provenance.name(), recovery.name());
            format!("| [`{id}`]({page}.md) | {line} | {provenance} | {recovery} |\n")
        });
        rows.fold(INDEX_HEAD.to_owned(), |table, row| table + &row)
    });
    for class in [Class::Centralized, Class::Hybrid, Class::Distributed] {
        let marker = format!("<!-- schemes: {} -->", class.name());
        assert!(index.has(&marker), "the index lacks {marker}");
    }
    index.check();
}

const INDEX_HEAD: &str = "| Scheme | In one line | Provenance | Recovery |\n|---|---|---|---|\n";

/// Returns what the index says of a scheme, which is written by hand.
fn summary<'a>(table: &'a str, id: &str) -> &'a str {
    let row = table.lines().find(|line| line.starts_with(&format!("| [`{id}`]")));
    let cell = row.and_then(|row| row.split(" | ").nth(1));
    cell.unwrap_or_else(|| panic!("the index has no line on {id}"))
}

/// Returns the name of the page that describes each scheme.
fn page_of_each_scheme() -> BTreeMap<&'static str, String> {
    let mut described = BTreeMap::new();
    for page in Page::of_schemes() {
        for id in page.argument("scheme").into_iter().flat_map(|ids| ids.split(' ')) {
            let earlier = described.insert(named(id).id, page.name().to_owned());
            assert_eq!(earlier, None, "two pages describe {id}");
        }
    }
    described
}

/// Returns the schemes' entries in the catalogue as one table.
fn entry(schemes: &[&Scheme], file: &Path) -> String {
    let each = |value: &dyn Fn(&Scheme) -> String| {
        let values: Vec<_> = schemes.iter().map(|scheme| value(scheme)).collect();
        if values.iter().all(|value| *value == values[0]) {
            return values[0].clone();
        }
        let told =
            schemes.iter().zip(values).map(|(scheme, value)| format!("`{}`: {value}", scheme.id));
        told.collect::<Vec<_>>().join("; ")
    };
    let mut table = String::from("| | |\n|---|---|\n");
    let mut row = |name: &str, value: String| table += &format!("| {name} | {value} |\n");
    row("id", listed(schemes.iter().map(|scheme| format!("`{}`", scheme.id))));
    row("class", each(&|scheme| scheme.class().name().to_owned()));
    row("provenance", each(&|scheme| scheme.provenance.name().to_owned()));
    row("source", each(&|scheme| scheme.source.to_owned()));
    row("operations", each(&|scheme| listed(scheme.operations.iter().map(|it| it.name()))));
    row("members", each(&|scheme| format!("{} to {}", scheme.members.0, scheme.members.1)));
    if schemes[0].law != Law::OneKey {
        row("law", each(&|scheme| scheme.law.meaning().to_owned()));
    }
    row("recovery", each(&|scheme| scheme.recovery.meaning().to_owned()));
    if schemes[0].departures != Departures::Forgotten {
        row("departures", each(&|scheme| scheme.departures.meaning().to_owned()));
    }
    row("claims", each(&|scheme| claims(scheme, Profile::Sound)));
    row("claims, `published`", each(&|scheme| claims(scheme, Profile::Published)));
    for Parameter { name, meaning, sound, published, range: (low, high) } in schemes[0].parameters {
        let default = if sound == published {
            sound.to_string()
        } else {
            format!("{sound}, `published` {published}")
        };
        row(&format!("`{name}`"), format!("{meaning}; {default}; from {low} to {high}"));
    }
    row("code", format!("`crates/groupkey/{}`", file.display()));
    table
}

/// Returns what a scheme claims in a profile against the strongest adversary against which it claims
/// anything there: in the published profile, that is the passive one.
fn claims(scheme: &Scheme, profile: Profile) -> String {
    let claims = scheme.claims_against(profile, Adversary::Passive);
    let all = [
        (claims.forward_secrecy, "forward secrecy"),
        (claims.backward_secrecy, "backward secrecy"),
        (claims.collusion_resistance, "collusion resistance"),
        (claims.key_independence, "key independence"),
        (scheme.claims_agreement(profile), "agreement"),
    ];
    let made: Vec<_> = all.into_iter().filter(|(made, _)| *made).map(|(_, name)| name).collect();
    if made.is_empty() { "none".to_owned() } else { listed(made) }
}

/// Returns what the header of a scheme's file says of its costs: the table, the paragraph that
/// introduces it, the one below it, and what the parties hold.
fn costs(file: &Path) -> String {
    let text = fs::read_to_string(root().join(file)).expect("the file is there");
    let header: Vec<_> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let header: Vec<_> = header.iter().map(|line| line.trim_start()).collect();
    let paragraphs: Vec<_> = header.split(|line| line.is_empty()).collect();
    let table = paragraphs.iter().position(|lines| lines[0].starts_with('|'));
    let table = table.unwrap_or_else(|| panic!("{} has no table", file.display()));
    let introduces = paragraphs[table - 1].last().is_some_and(|line| line.ends_with(':'));
    let is_told = |&place: &usize| {
        let first = paragraphs[place][0];
        match place.checked_sub(table) {
            None => introduces && place + 1 == table,
            // The index says what it is.
            Some(1) => !first.starts_with("Resume: "),
            Some(other) => {
                other == 0 || first.starts_with("Keys held: ") || first.starts_with("Held: ")
            }
        }
    };
    let told = (0..paragraphs.len()).filter(is_told).map(|place| paragraphs[place].join("\n"));
    told.collect::<Vec<_>>().join("\n\n")
}

/// Returns the file that has a scheme's entry in the catalogue, relative to the crate.
fn file_of(scheme: &Scheme) -> PathBuf {
    let folder = Path::new("src/schemes").join(scheme.class().name());
    let files = fs::read_dir(root().join(&folder)).expect("the folder is there");
    let names = files.map(|file| folder.join(file.expect("readable").file_name()));
    let has_it = |file: &PathBuf| {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        text.contains(&format!("\"{}\",", scheme.id))
    };
    let mut found = names.filter(has_it);
    found.next().unwrap_or_else(|| panic!("no file has {}", scheme.id))
}

fn named(id: &str) -> &'static Scheme {
    catalogue::scheme(id).unwrap_or_else(|| panic!("no scheme is called {id}"))
}

fn listed(values: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let values: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(", ")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
