//! The table that compares schemes: a line for each row, and the meaning of its columns.

use groupkey_choose::number::{digits, fixed, time};
use minijinja::{Value, context};

use super::super::text::escaped;
use super::content::Entry;
use super::measure::Measure;
use super::series::{Style, Styles};

/// Draws a scheme's mark, for legends and tables.
pub(super) fn glyph(style: Style) -> Value {
    Value::from_safe_string(format!(
        r#"<svg class="glyph s{}" viewBox="-7 -7 14 14" aria-hidden="true"><path class="dot" d="{}"/></svg>"#,
        style.colour,
        escaped(style.mark.path()),
    ))
}

/// Builds the lines of all rows.
pub(super) fn rows(entries: &[Entry], styles: &Styles) -> Vec<Value> {
    entries
        .iter()
        .map(|entry| {
            let row = &entry.row;
            let cell = |text: String, value: f64| context! { text, value };
            let whole = |value: u64| cell(fixed(value as f64, 0), value as f64);
            let optional = |value: Option<(f64, String)>| match value {
                Some((value, text)) => cell(text, value),
                // An absent value sorts before everything else.
                None => cell("–".to_owned(), -1.0),
            };
            let measured = vec![
                cell(time(row.mean_ns), row.mean_ns),
                optional(row.ci95_ns.map(|ci95| (ci95, format!("± {}", time(ci95))))),
                cell(time(row.p99_ns), row.p99_ns),
                cell(time(row.counted_ns), row.counted_ns),
                optional(row.measured_over_counted.map(|ratio| (ratio, fixed(ratio, 2)))),
            ];
            let counted = vec![
                whole(row.permanent_bytes),
                whole(row.temporary_bytes),
                whole(row.messages),
                whole(row.payload_bytes),
                whole(row.wire_bytes),
            ];
            let energy = row.device_joule.map(|joule| {
                let words = |value| Measure::DeviceEnergy.words(value);
                (joule.value, format!("{} ± {}", words(joule.value), words(joule.error)))
            });
            let modelled = vec![optional(row.device_ns.map(|ns| (ns, time(ns)))), optional(energy)];
            context! {
                scheme => &row.scheme,
                glyph => glyph(styles.of_scheme(&row.scheme)),
                provenance => &row.provenance,
                class => &row.class,
                profile => &row.profile,
                suite => &row.suite,
                bits => row.security_bits,
                operation => match row.message_bytes {
                    Some(bytes) => format!("{} {bytes} B", row.operation),
                    None => row.operation.clone(),
                },
                role => row.role.replace('-', " "),
                phase => &row.phase,
                members => row.members,
                measured,
                counted,
                modelled,
                device => row.device.as_deref().unwrap_or("–"),
                source => entry.source + 1,
                warnings => row.warnings.join("; "),
            }
        })
        .collect()
}

/// Lists the counted primitives in words: `3 wrap, 1.5 hash`.
pub(super) fn primitives(entry: &Entry) -> String {
    let counted = entry.row.primitives.iter().filter(|(_, count)| count.calls > 0.0);
    let words: Vec<String> =
        counted.map(|(name, count)| format!("{} {name}", digits_plain(count.calls))).collect();
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}

fn digits_plain(value: f64) -> String {
    if value.fract() == 0.0 { fixed(value, 0) } else { digits(value) }
}
