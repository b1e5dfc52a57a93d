//! The pages of the foreign schemes say what their entries say. The library's own tests do not know them.

use std::fs;
use std::path::Path;

use groupkey_mls::SCHEMES;

#[test]
fn the_pages_say_what_the_entries_say() {
    for scheme in SCHEMES {
        let page = docs(&format!("schemes/{}.md", scheme.id));
        let operations: Vec<_> = scheme.operations.iter().map(|one| one.name()).collect();
        let (least, most) = scheme.members;
        for (field, value) in [
            ("id", format!("`{}`", scheme.id)),
            ("class", scheme.class().name().to_owned()),
            ("provenance", scheme.provenance.name().to_owned()),
            ("source", scheme.source.to_owned()),
            ("operations", operations.join(", ")),
            ("members", format!("{least} to {most}")),
            ("recovery", scheme.recovery.meaning().to_owned()),
        ] {
            let row = format!("| {field} | {value} |");
            assert!(page.contains(&row), "{} lacks: {row}", scheme.id);
        }
        let index = docs("schemes/index.md");
        let row = format!("[`{0}`]({0}.md)", scheme.id);
        assert!(index.contains(&row), "the index lacks {row}");
    }
}

fn docs(path: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::read_to_string(docs.join(path)).expect("the page is there")
}
