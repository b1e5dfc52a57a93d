//! Pages of the book with parts that a test generates, so that they cannot be wrong:
//!
//! ```text
//! <!-- KIND: ARGUMENT -->
//! what the test writes
//! <!-- end -->
//! ```
//!
//! `GROUPKEY_WRITE_PAGES=1 cargo test -p groupkey --test laws pages` writes them.

use std::path::{Path, PathBuf};
use std::{env, fs};

const WRITE: &str = "GROUPKEY_WRITE_PAGES";
const END: &str = "<!-- end -->";

/// A page of the book.
pub(super) struct Page {
    path: PathBuf,
    text: String,
    generated: String,
}

impl Page {
    /// Reads a page; the path is relative to `docs`.
    pub(super) fn read(path: impl AsRef<Path>) -> Self {
        let path = docs().join(path);
        let text = fs::read_to_string(&path).expect("a page is text");
        Self { path, generated: text.clone(), text }
    }

    /// Reads all pages of schemes.
    pub(super) fn of_schemes() -> Vec<Self> {
        let files = fs::read_dir(docs().join("schemes")).expect("the folder is there");
        let files = files.map(|file| file.expect("readable").path());
        let mut pages: Vec<_> =
            files.filter(|file| file.extension().is_some_and(|kind| kind == "md")).collect();
        pages.sort();
        pages.into_iter().map(Self::read).collect()
    }

    /// Returns the page's name, without its ending.
    pub(super) fn name(&self) -> &str {
        self.path.file_stem().and_then(|name| name.to_str()).expect("ASCII")
    }

    /// Returns the argument of the page's part of this kind, if it has one.
    pub(super) fn argument(&self, kind: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once(&format!("<!-- {kind}: "))?;
        rest.split_once(" -->").map(|(argument, _)| argument)
    }

    /// Returns whether the page has this text.
    pub(super) fn has(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// Generates the parts of this kind: `part` takes the argument and what is there now.
    pub(super) fn generate(&mut self, kind: &str, part: impl Fn(&str, &str) -> String) {
        let begin = format!("<!-- {kind}: ");
        let mut parts = self.generated.split(&begin);
        let mut generated = parts.next().unwrap_or_default().to_owned();
        for rest in parts {
            let (argument, rest) = rest.split_once(" -->\n").expect("the marker ends");
            let (now, rest) = rest.split_once(END).expect("the part ends");
            generated +=
                &format!("{begin}{argument} -->\n{}\n{END}{rest}", part(argument, now).trim_end());
        }
        self.generated = generated;
    }

    /// Writes the page if that was asked for; otherwise fails if it is out of date.
    pub(super) fn check(self) {
        if env::var_os(WRITE).is_some() {
            // Other tests read the page meanwhile: it is whole at every moment.
            if self.text == self.generated {
                return;
            }
            let draft = self.path.with_extension("unfinished");
            let written = fs::write(&draft, self.generated);
            written.and_then(|()| fs::rename(draft, &self.path)).expect("the page is writable");
            return;
        }
        let differs = self.text.lines().zip(self.generated.lines()).find(|(a, b)| a != b);
        let path = self.path.display();
        assert!(
            self.text == self.generated,
            "{path} is out of date; run this test with {WRITE}=1: {differs:#?}"
        );
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}
