//! The JSON Schema of the results files, generated from the types that write them, and programs that
//! are not ours: pandas and DuckDB find the sums that we find, and jsonschema finds every line as the
//! schema says.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::example::{samples, setting};
use super::{
    FileHeader, NetworkRow, ResultsHeader, RowSetting, RunHeader, RunSample, write_csv, write_jsonl,
};
use crate::audit::Finding;
use crate::bench::trace::ReplayRow;
use crate::bench::{self, BenchHeader, BenchRow, Deviation};
use crate::choose::ChoiceRow;

/// `GROUPKEY_WRITE_SCHEMA=FILE cargo test -p groupkey-lab the_schema_is_written` makes the file for
/// the book.
#[test]
fn the_schema_is_written() {
    if let Some(path) = env::var_os("GROUPKEY_WRITE_SCHEMA") {
        fs::write(path, format!("{:#}\n", schema())).expect("the file can be written");
    }
    let definitions = schema()["$defs"].as_object().map_or(0, serde_json::Map::len);
    assert!(definitions > 10, "{definitions}");
}

#[test]
fn pandas_and_duckdb_find_the_sums_that_we_find() {
    let Some(python) = python() else { return };
    let rows: Vec<_> = (0..40).map(bench_row).collect();
    let found = ask(&python, &bench_header(), &rows);
    for (reader, format) in formats() {
        let close = |column: &str, expected: f64| {
            let found = &found[reader][format][column];
            let found = found.as_f64().unwrap_or_else(|| panic!("{reader} {format}: no {column}"));
            let apart = (found - expected).abs();
            assert!(apart <= 1e-12 * expected.abs(), "{reader} {format} {column}: {found}");
        };
        close("rows", rows.len() as f64);
        close("members", rows.iter().map(|row| f64::from(row.members)).sum());
        close("mean_ns", rows.iter().map(|row| row.mean_ns).sum());
        close("wire_bytes", rows.iter().map(|row| row.wire_bytes as f64).sum());
        let unicast = rows.iter().map(|row| row.unicast.payload_bytes as f64);
        close("unicast_payload_bytes", unicast.sum());
        let energy = rows.iter().filter_map(|row| row.device_joule);
        close("device_joule_value", energy.map(|energy| energy.value).sum());
        close("primitives_wrap_calls", rows.iter().map(|row| row.primitives["wrap"].calls).sum());
    }

    let rows: Vec<_> = (1..9).map(network_row).collect();
    let header = ResultsHeader::of_printed(&rows).expect("a header");
    let found = ask(&python, &header, &rows);
    let mean: f64 = rows.iter().map(|row| row.mean_ms).sum();
    for (reader, format) in formats() {
        let found = found[reader][format]["mean_ms"].as_f64().expect("a sum");
        assert!((found - mean).abs() <= 1e-9, "{reader} {format}: {found}, not {mean}");
    }
}

fn formats() -> impl Iterator<Item = (&'static str, &'static str)> {
    ["pandas", "duckdb"].into_iter().flat_map(|reader| [(reader, "jsonl"), (reader, "csv")])
}

/// What the script finds in the rows, as JSON Lines and as CSV.
fn ask<H: FileHeader>(python: &str, header: &H, rows: &[H::Row]) -> Value {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (mut jsonl, mut csv) = (Vec::new(), Vec::new());
    write_jsonl(&mut jsonl, header, rows).expect("writing to memory");
    write_csv(&mut csv, rows).expect("writing to memory");
    let schema = schema().to_string().into_bytes();
    for (name, content) in [("rows.jsonl", jsonl), ("rows.csv", csv), ("schema.json", schema)] {
        fs::write(folder.path().join(name), content).expect("the folder is ours");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers.py");
    let output = Command::new(python).arg(script).arg(folder.path()).output();
    let output = output.expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

/// A Python that has what the script needs: `GROUPKEY_PYTHON`, or `python3`. Where there is none, the
/// test passes, unless `GROUPKEY_REQUIRE_ALL` is set.
fn python() -> Option<String> {
    let python = env::var("GROUPKEY_PYTHON").unwrap_or_else(|_| "python3".into());
    let import = "import duckdb, jsonschema, pandas";
    let has = Command::new(&python).args(["-c", import]).stderr(Stdio::null()).status();
    if has.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let missing =
        format!("{python} lacks one of pandas, duckdb and jsonschema: install them with pip");
    assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
    eprintln!("SKIPPED, not tested: {missing}");
    None
}

fn bench_header() -> BenchHeader {
    let source = bench::PriceSource::Library;
    let price = bench::MeasuredPrice { per_call_ns: 210.5, per_unit_ns: 31.25, source };
    let header =
        BenchHeader::new(7, "0123abc".into(), "a processor, 2 cores".into(), "platoon".into());
    BenchHeader {
        prices: [("standard".into(), [("wrap".into(), price)].into())].into(),
        assumptions: vec!["Inputs are prepared beforehand.".into()],
        ..header
    }
}

/// Rows as different as they can be: with a device and without, seeds up to the largest.
fn bench_row(number: u32) -> BenchRow {
    let n = u64::from(number);
    let device = number.is_multiple_of(3).then(|| "esp32, \"240 MHz\"".to_owned());
    BenchRow {
        seed: u64::MAX - n,
        mean_ns: 1_234.567 * f64::from(number + 1),
        measured_over_counted: (number != 5).then_some(1.1),
        device_ns: device.is_some().then_some(1e6),
        device_joule: device.is_some().then_some(Deviation { value: 0.125 * n as f64, error: 0.5 }),
        device,
        warnings: if number == 7 { vec!["The machine is busy.".into()] } else { Vec::new() },
        ..bench::example::row("skdc", number + 2)
    }
}

fn network_row(number: u32) -> NetworkRow {
    let setting = RowSetting { members: number, seed: u64::MAX, ..setting() };
    let scaled = |run: RunSample| RunSample { total_ms: run.total_ms * f64::from(number), ..run };
    NetworkRow::from_samples(setting, samples().into_iter().map(scaled).collect())
}

fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let lines = [
        generator.subschema_for::<BenchHeader>(),
        generator.subschema_for::<BenchRow>(),
        generator.subschema_for::<ResultsHeader>(),
        generator.subschema_for::<NetworkRow>(),
        generator.subschema_for::<RunHeader<Finding>>(),
        generator.subschema_for::<Finding>(),
        generator.subschema_for::<RunHeader<ReplayRow>>(),
        generator.subschema_for::<ReplayRow>(),
        generator.subschema_for::<RunHeader<ChoiceRow>>(),
        generator.subschema_for::<ChoiceRow>(),
    ];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a results file of groupkey",
        "description": "Results are JSON Lines. The first line is a header: BenchHeader, and BenchRow \
            in all others; ResultsHeader, and NetworkRow in all others; or RunHeader of an audit, a \
            trace or a choice, and its rows.",
        "anyOf": lines,
        "$defs": generator.take_definitions(true),
    })
}
