//! One word, one thing: no two public types have one name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::book::{repository, sources};

/// Names that several public types have by design, and the reason.
const SHARED: [(&str, &str); 4] = [
    ("Error", "the error of a module"),
    ("Identity", "with signatures and in a build without them"),
    ("Input", "the input of a state machine: of a party, and of a runtime around parties"),
    ("PublicIdentity", "with signatures and in a build without them"),
];

/// In the files of schemes the roles have the same names by design: each file has the same shape.
#[test]
fn no_two_public_types_have_one_name() {
    let outside = |file: &&PathBuf| !file.iter().any(|part| part == "schemes");
    let shared: Vec<_> = public_types()
        .into_iter()
        .map(|(name, files)| (name, files.iter().filter(outside).cloned().collect::<Vec<_>>()))
        .filter(|(name, files)| files.len() > 1 && SHARED.iter().all(|(known, _)| known != name))
        .collect();
    assert!(shared.is_empty(), "give each a name of its own: {shared:#?}");
}

/// The types that are visible outside of their module, and the files that define them, as paths
/// from the repository's root.
fn public_types() -> BTreeMap<String, BTreeSet<PathBuf>> {
    let mut types: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for room in ["crates", "tools"] {
        for member in fs::read_dir(repository().join(room)).expect("readable") {
            let folder = member.expect("readable").path().join("src");
            let files = if folder.is_dir() { sources(&folder) } else { Vec::new() };
            for file in files {
                let text = fs::read_to_string(&file).expect("readable");
                let file = file.strip_prefix(repository()).expect("below the root");
                for name in text.lines().filter_map(public_type) {
                    types.entry(name.to_owned()).or_default().insert(file.to_owned());
                }
            }
        }
    }
    types
}

fn public_type(line: &str) -> Option<&str> {
    let after = line.trim_start().strip_prefix("pub")?;
    let after = match after.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => after,
    };
    let (kind, rest) = after.trim_start().split_once(' ')?;
    let is_type = ["enum", "struct", "trait", "type", "union"].contains(&kind);
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|_| is_type)
}
