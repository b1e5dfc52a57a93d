//! Pages over content that was made up: what the file holds, and how a browser shows it.

mod benchmark;
mod browser;
mod choice;
mod figures;
mod network;
mod synthetic;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use self::browser::Browser;

/// What nobody should call a scheme.
const HOSTILE: &str = "</script><script>alert('x')</script>\"'&<b>";

fn checked(page: &str) -> Value {
    for loader in
        ["src=", "<link", "@import", "url(http", "fetch(", "XMLHttpRequest", "http://", "https://"]
    {
        assert!(!page.contains(loader), "the page contains {loader}");
    }
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(!page.contains("<script>alert") && !page.contains("&<b>"), "markup got through");
    let shown = between(page, "<body>", "<script");
    for nonsense in ["NaN", ">inf", " inf"] {
        assert!(!shown.contains(nonsense), "the page says {nonsense}");
    }
    for element in ["div", "section", "table", "tbody", "tr", "svg", "g", "details", "figure", "ul"]
    {
        let opened = page.matches(&format!("<{element} ")).count()
            + page.matches(&format!("<{element}>")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}");
    }
    let mut ids = BTreeSet::new();
    for quote in ['"', '\''] {
        for rest in page.split(&format!(" id={quote}")).skip(1) {
            let id = rest.split(quote).next().expect("it ends");
            assert!(ids.insert(id), "{id} is there twice");
        }
    }
    for target in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(target), "nothing is at #{target}");
    }
    for (words, cell) in cells(page) {
        assert!(words <= 60, "{words} words in a cell: {cell}");
    }
    let data = between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
    serde_json::from_str(data).expect("the data is JSON")
}

const DESKTOP: (u32, u32) = (1280, 900);
const TABLET: (u32, u32) = (820, 1180);
const PHONE: (u32, u32) = (390, 844);

/// Shows the page in a browser: its script runs, it fits, and light and dark differ. Returns the
/// browser, the page's file, and the start tag of the document on a desktop. The pictures are to be
/// looked at.
fn shown(name: &str, page: &str) -> Option<(Browser, PathBuf, String)> {
    let Some(browser) = Browser::find() else {
        assert!(
            env::var("GROUPKEY_REQUIRE_ALL").as_deref() != Ok("1"),
            "no Chromium found, and GROUPKEY_REQUIRE_ALL=1 asks for one"
        );
        eprintln!("SKIPPED: no Chromium found; the page {name} was not looked at in a browser");
        return None;
    };
    let folder = pictures();
    let file = folder.join(format!("{name}.html"));
    fs::write(&file, page).expect("target is writable");
    let mut first = None;
    for (size, of) in [(DESKTOP, "desktop"), (TABLET, "tablet"), (PHONE, "phone")] {
        let html = document(&browser, &file, "", size);
        assert!(html.contains("data-ready=\"true\""), "{of}: the script did not finish: {html}");
        assert!(!html.contains("data-error"), "{of}: {html}");
        assert_eq!(number(&html, "data-inner-width"), size.0, "the browser ignored --screen-info");
        let width = number(&html, "data-scroll-width");
        assert!(width <= size.0, "{of}: the page is {width} pixels wide, the screen {}", size.0);
        first.get_or_insert(html);
    }
    let picture = |of: &str, theme: &str, size| {
        picture(&browser, &file, theme, size, &folder.join(format!("{name}-{of}.png")))
    };
    let light = picture("light", "#theme=light", DESKTOP);
    let dark = picture("dark", "#theme=dark", DESKTOP);
    assert_ne!(light, dark, "light and dark look the same");
    picture("phone", "#theme=light", PHONE);
    // All of it.
    picture("long-light", "#theme=light", (1280, 9000));
    picture("long-dark", "#theme=dark", (1280, 9000));
    picture("long-phone", "#theme=dark", (390, 9000));
    Some((browser, file, first.expect("there are sizes")))
}

/// Returns the start tag of the document after its script ran.
fn document(browser: &Browser, page: &Path, fragment: &str, size: (u32, u32)) -> String {
    let dom = browser.dom(page, fragment, size);
    dom.lines().find(|line| line.contains("<html")).expect("a document").to_owned()
}

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

fn cells(page: &str) -> Vec<(usize, String)> {
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
