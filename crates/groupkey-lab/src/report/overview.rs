//! The overview of the report: the factors by which each network multiplies an operation's time.

use minijinja::{Value, context};

use super::conditions::distinct;
use super::scheme::Scheme;
use super::text::{capitalised, factor, operation, time};
use crate::results::NetworkRow;

/// Builds a table of factors. It has a line for each operation and scheme at its largest size, and
/// a column for each network, by delay and then loss. Returns `None` if there is only one network.
pub(super) fn factors(rows: &[NetworkRow], schemes: &[Scheme]) -> Option<Value> {
    let losses = distinct(rows.iter().map(|row| row.setting.loss_percent));
    let delays = distinct(rows.iter().map(|row| row.setting.delay_ms));
    let networks: Vec<(f64, f64)> =
        delays.iter().flat_map(|&delay| losses.iter().map(move |&loss| (loss, delay))).collect();
    let (&best, others) = networks.split_first()?;
    if others.is_empty() {
        return None;
    }

    let lines: Vec<Line<'_>> = ["create", "add", "remove"]
        .iter()
        .flat_map(|operation| {
            schemes.iter().filter_map(|s| Line::of(rows, s, operation, best, others))
        })
        .collect();
    let strongest = lines.iter().flat_map(Line::known).fold(1.0, f64::max);
    let sentence = strongest_words(&lines, others)?;
    let groups = lines.chunk_by(|a, b| a.operation == b.operation).map(|group| {
        context! {
            operation => capitalised(operation(group[0].operation)),
            lines => group.iter().map(|line| line.cells(strongest)).collect::<Vec<Value>>(),
        }
    });

    Some(context! {
        best => network_words(best),
        delays => delays.iter().map(ToString::to_string).collect::<Vec<_>>(),
        losses => losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        sentence,
        groups => groups.collect::<Vec<Value>>(),
    })
}

/// An operation of a scheme: the time in the best network, and the factors in the other networks.
struct Line<'a> {
    operation: &'a str,
    scheme: &'a Scheme,
    members: u32,
    base_ms: f64,
    factors: Vec<Option<f64>>,
}

impl<'a> Line<'a> {
    fn of(
        rows: &[NetworkRow],
        scheme: &'a Scheme,
        operation: &'a str,
        best: (f64, f64),
        others: &[(f64, f64)],
    ) -> Option<Self> {
        let mine = || {
            rows.iter()
                .filter(|r| r.setting.scheme == scheme.id && r.setting.operation == operation)
        };
        let members = mine().map(|row| row.setting.members).max()?;
        let mean = |network: (f64, f64)| {
            mine()
                .find(|r| {
                    r.setting.members == members
                        && (r.setting.loss_percent, r.setting.delay_ms) == network
                })
                .map(|row| row.mean_ms)
        };
        let base_ms = mean(best).filter(|&ms| ms > 0.0)?;
        let factors = others.iter().map(|&network| Some(mean(network)? / base_ms)).collect();
        Some(Self { operation, scheme, members, base_ms, factors })
    }

    fn known(&self) -> impl Iterator<Item = f64> {
        self.factors.iter().copied().flatten()
    }

    fn cells(&self, strongest: f64) -> Value {
        // The shade follows the factor's logarithm: a factor of 2 is as far from 1 as from 4.
        let shade = |f: f64| (100.0 * f.max(1.0).ln() / strongest.ln().max(1e-9)).round();
        let cells = self.factors.iter().map(|known| match known {
            Some(f) => context! { text => format!("×\u{2009}{}", factor(*f)), shade => shade(*f) },
            None => context! { text => "not run", shade => 0.0 },
        });
        context! {
            scheme => &self.scheme.label,
            glyph => glyph(self.scheme),
            members => self.members,
            base => time(self.base_ms),
            cells => cells.collect::<Vec<Value>>(),
        }
    }
}

/// Draws a scheme's mark as a small picture beside its name.
pub(super) fn glyph(scheme: &Scheme) -> Value {
    Value::from_safe_string(format!(
        r#"<svg class="glyph s{}" viewBox="-7 -7 14 14" aria-hidden="true"><path class="dot" d="{}"/></svg>"#,
        scheme.colour,
        scheme.mark.path(),
    ))
}

fn strongest_words(lines: &[Line<'_>], networks: &[(f64, f64)]) -> Option<String> {
    let cells = lines.iter().flat_map(|line| {
        line.factors
            .iter()
            .zip(networks)
            .filter_map(move |(f, &network)| Some((line, (*f)?, network)))
    });
    let words = |(line, f, network): (&Line<'_>, f64, (f64, f64))| {
        format!(
            "{} times ({}, {}, {} members; {})",
            factor(f),
            line.scheme.label,
            operation(line.operation),
            line.members,
            network_words(network),
        )
    };
    let most = cells.clone().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let least = cells.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "The network stretches an operation by anything from {} to {}.",
        words(least),
        words(most)
    ))
}

fn network_words((loss, delay): (f64, f64)) -> String {
    format!("{loss} % loss, {delay} ms")
}
