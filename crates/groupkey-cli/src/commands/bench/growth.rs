//! `groupkey bench --growth`: how costs grow with the group, beside the catalogue's statements.

use std::io::{self, Write};

use groupkey_choose::number::figure;
use groupkey_lab::bench::{BenchRow, growth};

use crate::table::{Column, Table};

pub(super) fn print(rows: &[&BenchRow], json: bool, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<BenchRow> = rows.iter().map(|row| (*row).clone()).collect();
    let lines = growth::table(&rows);
    if json {
        return lines.iter().try_for_each(|line| {
            serde_json::to_writer(&mut *out, line)?;
            writeln!(out)
        });
    }
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("operation"),
        Column::text("role"),
        Column::text("members"),
        Column::text("growth"),
        Column::number("constant"),
        Column::number("factor"),
        Column::number("error %"),
        Column::text("stated"),
        Column::text("agrees"),
    ]);
    for line in &lines {
        let (least, most) = line.members;
        table.row([
            line.scheme.clone(),
            line.operation.clone(),
            line.role.clone(),
            format!("{least}-{most}"),
            line.growth.to_owned(),
            figure(line.constant_ns / 1e3),
            figure(line.factor_ns / 1e3),
            format!("{:.1}", 100.0 * line.error),
            line.stated.unwrap_or("-").to_owned(),
            line.agrees.map_or("-", |agrees| if agrees { "yes" } else { "no" }).to_owned(),
        ]);
    }
    write!(out, "\nGrowth of counted costs: constant + factor x growth(n), in µs\n\n{table}")?;
    writeln!(
        out,
        "\nstated: in the catalogue, for messages without protection. agrees: no other form fits so much \
         better\nthat it speaks against the stated one; few or small sizes may show less than they seem to."
    )
}
