//! Rows of benchmarks: figures, and the table that compares schemes.

mod figures;
mod measure;
mod series;

use groupkey_choose::number::{digits, fixed, time};

pub(super) use self::figures::parts;
pub(super) use self::measure::Measure;
pub(super) use self::series::{thinned, variant};
use super::content::Entry;
use super::style::Styles;
use super::table::{PageCell, PageColumn, PageTable};
use super::text::{capitalised, escaped};

pub(super) fn table(entries: &[Entry], styles: &Styles) -> PageTable {
    type Own = PageColumn<'static, Entry>;
    let bytes = |name: &'static str, unit, of: fn(&Entry) -> u64| {
        Own::number(name, unit, move |entry| {
            let value = of(entry) as f64;
            PageCell::of(value, fixed(value, 0))
        })
    };
    let ns = |value: f64| PageCell::of(value, time(value));
    let columns = vec![
        PageColumn::text("Scheme", |entry: &Entry| scheme(entry, styles)).key("scheme"),
        Own::text("Class", |entry| entry.row.class.clone()).filter("class"),
        Own::text("Operation", |entry| match entry.row.message_bytes {
            Some(bytes) => format!("{} {bytes} B", entry.row.operation),
            None => entry.row.operation.clone(),
        })
        .filter("operation"),
        Own::text("Role", |entry| entry.row.role.replace('-', " ")).filter("role"),
        Own::text("Phase", |entry| entry.row.phase.clone()).filter("phase"),
        Own::number("Members", "", |entry| entry.row.members.to_string()).filter("members"),
        Own::number("Mean", "measured", move |entry| ns(entry.row.mean_ns)).key("mean"),
        Own::number("CI 95 %", "measured", |entry| {
            entry.row.ci95_ns.map(|ci95| PageCell::of(ci95, format!("± {}", time(ci95))))
        }),
        Own::number("p99", "measured", move |entry| ns(entry.row.p99_ns)),
        Own::number("Counted", "", move |entry| ns(entry.row.counted_ns)),
        Own::number("Measured / counted", "", |entry| {
            entry.row.measured_over_counted.map(|ratio| PageCell::of(ratio, fixed(ratio, 2)))
        }),
        bytes("Permanent", "B", |entry| entry.row.permanent_bytes),
        bytes("Temporary", "B", |entry| entry.row.temporary_bytes),
        bytes("Messages", "", |entry| entry.row.messages),
        bytes("Payload", "B", |entry| entry.row.payload_bytes),
        bytes("Whole", "B", |entry| entry.row.wire_bytes),
        Own::text("Device", |entry| entry.row.device.clone()).filter("device"),
        Own::number("Time", "modelled", move |entry| entry.row.device_ns.map(ns)),
        Own::number("Energy", "modelled", |entry| {
            let words = |value| Measure::DeviceEnergy.words(value);
            entry.row.device_joule.map(|joule| {
                PageCell::of(
                    joule.value,
                    format!("{} ± {}", words(joule.value), words(joule.error)),
                )
            })
        }),
        Own::text("Profile", |entry| entry.row.profile.clone()).filter("profile"),
        Own::text("Suite", |entry| entry.row.suite.clone()).filter("suite"),
        Own::number("Security", "bit", |entry| entry.row.security_bits.to_string()).filter("bits"),
        Own::text("Parameters", |entry| entry.row.parameters.clone()),
        Own::text("Protection", |entry| entry.row.protection.clone()),
        Own::text("Workload", |entry| entry.row.workload.clone()),
        Own::text("Provenance", |entry| entry.row.provenance.clone()),
        Own::text("Primitives", primitives),
        Own::number("File", "", |entry| (entry.source + 1).to_string()),
    ];
    PageTable::of("Rows of benchmarks", entries, columns)
}

/// Shows the scheme of a row, and the warnings about the row.
fn scheme(entry: &Entry, styles: &Styles) -> PageCell {
    let cell = styles.of_scheme(&entry.row.scheme).cell();
    if entry.row.warnings.is_empty() {
        return cell;
    }
    let words = escaped(&entry.row.warnings.join("; "));
    let sign = r#"<span class="warned" role="img""#;
    cell.followed_by(&format!(" {sign} title=\"{words}\" aria-label=\"{words}\">⚠</span>"))
}

pub(super) fn role_words(role: &str) -> String {
    capitalised(&role.replace('-', " "))
}

/// Lists the counted primitives in words: `3 wrap, 1.5 hash`.
fn primitives(entry: &Entry) -> Option<String> {
    let plain = |value: f64| if value.fract() == 0.0 { fixed(value, 0) } else { digits(value) };
    let counted = entry.row.primitives.iter().filter(|(_, count)| count.calls > 0.0);
    let words: Vec<String> =
        counted.map(|(name, count)| format!("{} {name}", plain(count.calls))).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
