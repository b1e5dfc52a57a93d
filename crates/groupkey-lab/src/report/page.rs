//! A page: sections of blocks, and the template that writes them.

use std::collections::BTreeMap;

use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use super::table::PageTable;

#[derive(Debug, Default, Serialize)]
pub(super) struct Page {
    /// What the page is about, in a word or two.
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) lead: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// Numbers and what they count.
    pub(super) tiles: Vec<(String, String)>,
    pub(super) sections: Vec<Section>,
    pub(super) footer: &'static str,
    /// What is shown, as JSON, for the script and for other readers.
    pub(super) data: Data,
}

/// Data as JSON, for use inside `<script>`.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Data(Value);

/// A section, which the contents list.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    id: String,
    title: String,
    parts: Vec<(String, String)>,
    blocks: Vec<PageBlock>,
}

/// A part of a section.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum PageBlock {
    Paragraph {
        class: &'static str,
        topic: &'static str,
        words: String,
    },
    Heading {
        id: &'static str,
        words: String,
    },
    List {
        items: Vec<String>,
    },
    Code {
        words: String,
    },
    Table(PageTable),
    Figure(PageFigure),
    /// Figures in parts, and the properties by which a reader chooses among them.
    Figures {
        filters: [(&'static str, &'static str); 4],
        parts: Vec<Part>,
    },
    /// Titles and SVG.
    Drawings {
        title: &'static str,
        drawings: Vec<(String, Value)>,
    },
    /// Steps that a link leads to.
    Trace {
        id: String,
        title: String,
        steps: Vec<String>,
    },
    /// Blocks that a reader opens.
    Fold {
        id: String,
        name: String,
        title: Value,
        remark: String,
        is_open: bool,
        blocks: Vec<Self>,
    },
    /// A line of squares for each study.
    Matrix {
        rows: Vec<(String, Vec<Value>)>,
        legend: Vec<Value>,
    },
    /// Findings.
    Cards {
        cards: Vec<Value>,
    },
}

/// Figures of one kind.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) figures: Vec<PageBlock>,
}

/// Charts with a title, a legend, and words about them.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageFigure {
    pub(super) id: String,
    pub(super) title: String,
    /// Name of the files of the figure, without an extension.
    pub(super) file: String,
    /// `measured` or `modelled`, or empty if neither word applies.
    pub(super) nature: &'static str,
    /// What a reader sees in the figure: topics and sentences.
    pub(super) reading: Vec<(&'static str, String)>,
    pub(super) legend: Vec<LegendEntry>,
    pub(super) is_long: bool,
    pub(super) panels: Vec<(String, Value)>,
    pub(super) caption: String,
    /// The properties by which a reader chooses the figure.
    pub(super) filter: BTreeMap<&'static str, String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct LegendEntry {
    /// The class of the marks that it shows and hides, if any.
    pub(super) series: String,
    pub(super) glyph: Value,
    pub(super) label: String,
    pub(super) remark: String,
}

impl Page {
    /// Writes the page: complete HTML, with styles, script, charts and data inside.
    pub(super) fn render(&self) -> String {
        let mut environment = Environment::new();
        for (name, source) in TEMPLATES {
            environment.add_template(name, source).expect("the template parses");
        }
        environment
            .get_template("page.html")
            .and_then(|template| template.render(Serde(self)))
            // Tests render every page.
            .expect("the page's template is sound")
    }
}

impl Data {
    /// Markup in the data must not end the element.
    pub(super) fn of(data: &serde_json::Value) -> Self {
        let text = data.to_string();
        let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        Self(Value::from_safe_string(text))
    }
}

impl Section {
    /// Creates a section. Parts of figures and folds are in the contents too.
    pub(super) fn new(id: &str, title: &str, blocks: Vec<PageBlock>) -> Self {
        let parts = blocks.iter().flat_map(PageBlock::anchors).collect();
        Self { id: id.to_owned(), title: title.to_owned(), parts, blocks }
    }
}

impl PageBlock {
    pub(super) fn text(words: impl Into<String>) -> Self {
        Self::Paragraph { class: "reading", topic: "", words: words.into() }
    }

    pub(super) fn note(words: impl Into<String>) -> Self {
        Self::Paragraph { class: "note", topic: "", words: words.into() }
    }

    pub(super) fn heading(words: impl Into<String>) -> Self {
        Self::Heading { id: "", words: words.into() }
    }

    pub(super) fn code(words: impl Into<String>) -> Self {
        Self::Code { words: words.into() }
    }

    fn anchors(&self) -> Vec<(String, String)> {
        match self {
            Self::Figures { parts, .. } => {
                parts.iter().map(|part| (part.id.clone(), part.title.clone())).collect()
            }
            Self::Fold { id, name, .. } => vec![(id.clone(), name.clone())],
            _ => Vec::new(),
        }
    }
}

/// What charts look like.
pub(super) const CHART_STYLE: &str = include_str!("../../templates/chart.css");
/// What the page looks like, with the colours of both.
pub(super) const PAGE_STYLE: &str = include_str!("../../templates/page.css");
/// The patterns that charts are filled with.
pub(super) const PATTERNS: &str = include_str!("../../templates/patterns.svg");

const TEMPLATES: [(&str, &str); 6] = [
    ("block.html", include_str!("../../templates/block.html")),
    ("chart.css", CHART_STYLE),
    ("page.css", PAGE_STYLE),
    ("page.html", include_str!("../../templates/page.html")),
    ("page.js", include_str!("../../templates/page.js")),
    ("patterns.svg", PATTERNS),
];
