//! Findings, values and charts for a paper in LaTeX: tables with booktabs, charts with pgfplots.
//!
//! Each file is a fragment to `\input`. The preamble needs `booktabs`, `longtable`, `pgfplots` and
//! `\pgfplotsset{compat=1.18}`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::bench::BenchRow;
use crate::reproduce::study::Beside;
use crate::results::NetworkRow;
use crate::verdict::Verdict;

use super::content::PublishedValue;
use super::text::capitalised;

/// A file to write: its name and its text.
pub type LatexFile = (String, String);

/// Returns the table of a study's findings.
pub fn findings(study: &str, verdicts: &[Verdict]) -> LatexFile {
    let lines = verdicts.iter().map(|verdict| {
        [verdict.claim.clone(), capitalised(verdict.outcome.name()), verdict.ground.name()]
    });
    let table = table(
        ["p{0.5\\linewidth}", "l", "p{0.25\\linewidth}"],
        ["Finding", "Outcome", "Decided by"],
        lines,
    );
    (format!("{study}-findings.tex"), table)
}

/// Returns the table of the values that a study of computations prints, beside ours.
pub fn values(study: &str, published: &[Beside]) -> LatexFile {
    let number = |value: Option<f64>| value.map_or_else(|| "--".to_owned(), plain);
    let lines = published.iter().map(|value| {
        let printed = match value.error {
            Some(error) => format!("{} ± {}", plain(value.published), plain(error)),
            None => plain(value.published),
        };
        let unit = value.unit.to_owned();
        [value.what.clone(), printed, number(value.measured), number(value.modelled), unit]
    });
    let heads = ["Value", "Published", "Measured", "Modelled", "Unit"];
    (format!("{study}-values.tex"), table(["l", "r", "r", "r", "l"], heads, lines))
}

/// Returns the table of the values that the network study prints, beside ours.
pub fn network_values(study: &str, published: &[PublishedValue]) -> LatexFile {
    let lines = published.iter().map(|value| {
        let setting = format!(
            "{} {}, {} members, {} % loss, {} ms",
            value.scheme, value.operation, value.members, value.loss_percent, value.delay_ms
        );
        let [printed, ours] = [value.published, value.ours].map(plain);
        [setting, printed, ours, value.unit.clone()]
    });
    let table = table(["l", "r", "r", "l"], ["Setting", "Published", "Ours", "Unit"], lines);
    (format!("{study}-values.tex"), table)
}

/// Returns charts of the time that each role takes over the number of members. Rows that are
/// modelled for a device show that device's time, all others the time measured here.
pub fn bench_charts(study: &str, rows: &[BenchRow]) -> Vec<LatexFile> {
    let mut charts: BTreeMap<String, Chart> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.phase == "operational") {
        let of = row.device.as_deref().unwrap_or("this machine");
        let chart =
            charts.entry(format!("{}-{}", row.operation, row.role)).or_insert_with(|| Chart {
                x: "Members",
                y: format!("Time on {of} (ms)"),
                mode: "loglogaxis",
                lines: BTreeMap::new(),
            });
        let ms = row.device_ns.unwrap_or(row.p50_ns) / 1e6;
        let line = chart.lines.entry(row.scheme.clone()).or_default();
        // Zero has no place on a logarithmic axis.
        if ms > 0.0 {
            line.push((row.members.into(), ms, None));
        }
    }
    files(study, charts)
}

/// Returns charts of the mean time over the packet loss, of the largest group of each scheme.
pub fn network_charts(study: &str, rows: &[NetworkRow]) -> Vec<LatexFile> {
    let largest = |scheme: &str| {
        rows.iter().filter(|row| row.setting.scheme == scheme).map(|row| row.setting.members).max()
    };
    let mut charts: BTreeMap<String, Chart> = BTreeMap::new();
    for row in rows {
        let setting = &row.setting;
        if largest(&setting.scheme) != Some(setting.members) {
            continue;
        }
        let name = format!("{}-{}ms", setting.operation, setting.delay_ms);
        let chart = charts.entry(name).or_insert_with(|| Chart {
            x: "Packet loss (%)",
            y: "Time (ms)".to_owned(),
            mode: "semilogyaxis",
            lines: BTreeMap::new(),
        });
        let label = format!("{}, {} members", setting.scheme, setting.members);
        let point = (setting.loss_percent, row.mean_ms, row.ci95_ms);
        chart.lines.entry(label).or_default().push(point);
    }
    files(study, charts)
}

/// A chart of lines: x, y and the half width of y's interval.
struct Chart {
    x: &'static str,
    y: String,
    /// The pgfplots environment.
    mode: &'static str,
    lines: BTreeMap<String, Vec<(f64, f64, Option<f64>)>>,
}

fn files(study: &str, charts: BTreeMap<String, Chart>) -> Vec<LatexFile> {
    let file = |(name, chart): (String, Chart)| (format!("{study}-{name}.tex"), chart.draw());
    charts.into_iter().map(file).collect()
}

impl Chart {
    fn draw(&self) -> String {
        let Self { x, y, mode, lines } = self;
        let mut text = format!(
            "\\begin{{tikzpicture}}\n\\begin{{{mode}}}[xlabel={{{}}}, ylabel={{{}}}, width=\\linewidth, \
             legend style={{font=\\scriptsize}}, legend pos=outer north east]\n",
            escaped(x),
            escaped(y),
        );
        for (label, points) in lines {
            let mut points = points.clone();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            text += "\\addplot+[error bars/.cd, y dir=both, y explicit] coordinates {";
            for (x, y, error) in points {
                let _ = write!(text, " ({x},{y})");
                if let Some(error) = error {
                    let _ = write!(text, " +- (0,{error})");
                }
            }
            let _ = writeln!(text, " }};\n\\addlegendentry{{{}}}", escaped(label));
        }
        let _ = write!(text, "\\end{{{mode}}}\n\\end{{tikzpicture}}\n");
        text
    }
}

fn table<const N: usize>(
    columns: [&str; N],
    heads: [&str; N],
    lines: impl Iterator<Item = [String; N]>,
) -> String {
    let mut text = format!(
        "\\begin{{longtable}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n\\endhead\n",
        columns.join(""),
        heads.join(" & ")
    );
    for line in lines {
        let _ = writeln!(text, "{} \\\\", line.map(|cell| escaped(&cell)).join(" & "));
    }
    text + "\\bottomrule\n\\end{longtable}\n"
}

/// Formats a value with four digits.
fn plain(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => "--".to_owned(),
        1_000.0.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Escapes a text for LaTeX.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(letter);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            'µ' => out.push_str("$\\mu$"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            '“' => out.push_str("``"),
            '”' => out.push_str("''"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_escapes_what_latex_would_read() {
        let lines = [["10 % & more_of {it}".to_owned(), "±".to_owned()]];
        let text = table(["l", "r"], ["A", "B"], lines.into_iter());
        assert!(text.contains("10 \\% \\& more\\_of \\{it\\} & $\\pm$ \\\\"), "{text}");
        assert!(text.starts_with("\\begin{longtable}{lr}\n\\toprule"), "{text}");
    }

    #[test]
    fn a_chart_has_a_line_for_each_scheme_in_the_order_of_its_sizes() {
        let points = vec![(10.0, 2.0, None), (1.0, 1.0, Some(0.5))];
        let chart = Chart {
            x: "Members",
            y: "Time".to_owned(),
            mode: "loglogaxis",
            lines: BTreeMap::from([("lkh_plus".to_owned(), points)]),
        };
        let text = chart.draw();
        assert!(text.contains("coordinates { (1,1) +- (0,0.5) (10,2) };"), "{text}");
        assert!(text.contains("\\addlegendentry{lkh\\_plus}"), "{text}");
    }
}
