//! The templates of the pages, compiled into the program.

use minijinja::{Environment, Value};

/// Fills a page's template.
pub(crate) fn fill(page: &str, values: Value) -> String {
    let mut environment = Environment::new();
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).expect("the template parses");
    }
    environment
        .get_template(page)
        .and_then(|template| template.render(values))
        // Tests render every page.
        .expect("the page's template is sound")
}

const TEMPLATES: [(&str, &str); 16] = [
    ("benchmark.css", include_str!("../../templates/benchmark.css")),
    ("benchmark.html", include_str!("../../templates/benchmark.html")),
    ("benchmark.js", include_str!("../../templates/benchmark.js")),
    ("choice.css", include_str!("../../templates/choice.css")),
    ("choice.html", include_str!("../../templates/choice.html")),
    ("figure.html", include_str!("../../templates/figure.html")),
    ("findings.css", include_str!("../../templates/findings.css")),
    ("findings.html", include_str!("../../templates/findings.html")),
    ("matrix.html", include_str!("../../templates/matrix.html")),
    ("network-impact.html", include_str!("../../templates/network-impact.html")),
    ("overview.html", include_str!("../../templates/overview.html")),
    ("page.js", include_str!("../../templates/page.js")),
    ("published.html", include_str!("../../templates/published.html")),
    ("report.css", include_str!("../../templates/report.css")),
    ("report.js", include_str!("../../templates/report.js")),
    ("saving.js", include_str!("../../templates/saving.js")),
];
