//! Programs that are not ours read the results: pandas and DuckDB find the same sums in JSON Lines and
//! CSV, and jsonschema finds every line as `docs/results.schema.json` says.
//!
//! It needs a Python with pandas, duckdb and jsonschema: `GROUPKEY_PYTHON`, or `python3`. Where
//! there is none, the test says so and passes, unless `GROUPKEY_REQUIRE_ALL` is set.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use groupkey_lab::bench::{
    BenchHeader, BenchRow, CountedPrimitive, Deviation, MeasuredPrice, MessageTraffic, PriceSource,
};
use groupkey_lab::results::{
    FileHeader, NetworkRow, ResultsHeader, RowSetting, RunSample, write_csv, write_jsonl,
};
use serde_json::Value;

#[test]
fn pandas_and_duckdb_find_the_sums_that_we_find() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let rows: Vec<_> = (0..40).map(bench_row).collect();
    write(folder.path(), &bench_header(), &rows);
    let found = ask(&python, folder.path());
    for reader in ["pandas", "duckdb"] {
        for format in ["jsonl", "csv"] {
            let sum = |column: &str| {
                found[reader][format][column]
                    .as_f64()
                    .unwrap_or_else(|| panic!("{reader} finds no {column} in {format}: {found:#}"))
            };
            let close = |column: &str, expected: f64| {
                let found = sum(column);
                assert!(
                    (found - expected).abs() <= 1e-12 * expected.abs(),
                    "{reader} finds {found} for {column} in {format}, not {expected}"
                );
            };
            close("rows", rows.len() as f64);
            close("members", rows.iter().map(|row| f64::from(row.members)).sum());
            close("mean_ns", rows.iter().map(|row| row.mean_ns).sum());
            close("wire_bytes", rows.iter().map(|row| row.wire_bytes as f64).sum());
            let unicast = rows.iter().map(|row| row.unicast.payload_bytes as f64);
            close("unicast_payload_bytes", unicast.sum());
            let energy = rows.iter().filter_map(|row| row.device_joule);
            close("device_joule_value", energy.map(|energy| energy.value).sum());
            let wraps = rows.iter().map(|row| row.primitives["wrap"].calls);
            close("primitives_wrap_calls", wraps.sum());
        }
    }
}

#[test]
fn pandas_and_duckdb_read_results_of_networks_too() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let rows: Vec<_> = (1..9).map(network_row).collect();
    write(folder.path(), &network_header(), &rows);
    let found = ask(&python, folder.path());
    let mean: f64 = rows.iter().map(|row| row.mean_ms).sum();
    for reader in ["pandas", "duckdb"] {
        for format in ["jsonl", "csv"] {
            let found = found[reader][format]["mean_ms"].as_f64().expect("a sum");
            assert!((found - mean).abs() <= 1e-9, "{reader} {format}: {found}, not {mean}");
        }
    }
}

fn write<H: FileHeader>(folder: &Path, header: &H, rows: &[H::Row]) {
    let (mut jsonl, mut csv) = (Vec::new(), Vec::new());
    write_jsonl(&mut jsonl, header, rows).expect("writing to memory");
    write_csv(&mut csv, rows).expect("writing to memory");
    for (name, content) in [("jsonl", jsonl), ("csv", csv)] {
        fs::write(folder.join(format!("rows.{name}")), content).expect("the folder is ours");
    }
}

/// What the script finds in a folder's files.
fn ask(python: &str, folder: &Path) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers/readers.py");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.schema.json");
    let output =
        Command::new(python).arg(script).arg(folder).arg(schema).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

/// A Python that has what the script needs.
fn python() -> Option<String> {
    let python = env::var("GROUPKEY_PYTHON").unwrap_or_else(|_| "python3".into());
    let import = "import duckdb, jsonschema, pandas";
    let has = Command::new(&python).args(["-c", import]).stderr(Stdio::null()).status();
    if has.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let missing = format!(
        "{python} lacks one of pandas, duckdb and jsonschema: install them with pip, or set \
         GROUPKEY_PYTHON"
    );
    assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
    eprintln!("SKIPPED, not tested: {missing}");
    None
}

fn bench_header() -> BenchHeader {
    let price =
        MeasuredPrice { per_call_ns: 210.5, per_unit_ns: 31.25, source: PriceSource::Library };
    let mut header =
        BenchHeader::new(7, "0123abc".into(), "a processor, 2 cores".into(), "platoon".into());
    header.prices = [("standard".into(), [("wrap".into(), price)].into())].into();
    header.assumptions = vec!["Inputs are prepared beforehand.".into()];
    header
}

/// Rows as different as they can be: with a device and without, seeds up to the largest.
fn bench_row(number: u32) -> BenchRow {
    let n = u64::from(number);
    let unicast = MessageTraffic { messages: n, payload_bytes: 26 * n, wire_bytes: 51 * n };
    let mean_ns = 1_234.567 * f64::from(number + 1);
    let device = number.is_multiple_of(3).then(|| "esp32, \"240 MHz\"".to_owned());
    BenchRow {
        scheme: "skdc".into(),
        profile: "sound".into(),
        parameters: String::new(),
        suite: "standard".into(),
        security_bits: 128,
        class: "centralized".into(),
        provenance: "specified".into(),
        protection: "mac".into(),
        workload: "platoon".into(),
        operation: "create".into(),
        role: "controller".into(),
        phase: "operational".into(),
        members: number + 2,
        subgroups: 0,
        message_bytes: None,
        nonces: None,
        repetitions: 2,
        seed: u64::MAX - n,
        clock: "processor".into(),
        mean_ns,
        ci95_ns: Some(0.1),
        sd_ns: Some(0.05),
        p50_ns: mean_ns,
        p90_ns: mean_ns,
        p99_ns: mean_ns,
        counted_ns: mean_ns / 1.1,
        measured_over_counted: (number != 5).then_some(1.1),
        primitives: [("wrap".into(), CountedPrimitive { calls: n as f64 / 2.0, amount: n as f64 })]
            .into(),
        permanent_bytes: 16 * n,
        temporary_bytes: 16,
        messages: unicast.messages,
        payload_bytes: unicast.payload_bytes,
        wire_bytes: unicast.wire_bytes,
        unicast,
        multicast: MessageTraffic::default(),
        broadcast: MessageTraffic::default(),
        device_ns: device.is_some().then_some(1e6),
        device_joule: device.is_some().then_some(Deviation { value: 0.125 * n as f64, error: 0.5 }),
        radio: None,
        radio_joule: None,
        device,
        samples_ns: vec![1, 2],
        warnings: if number == 7 { vec!["The machine is busy.".into()] } else { Vec::new() },
    }
}

fn network_header() -> ResultsHeader {
    ResultsHeader {
        format: ResultsHeader::FORMAT.into(),
        version: ResultsHeader::VERSION,
        study: "network".into(),
        seed: 1,
        runs: 2,
        commit: "0123abc".into(),
        machine: "a processor, 2 cores".into(),
        suite: "standard".into(),
        assumptions: Vec::new(),
    }
}

fn network_row(number: u32) -> NetworkRow {
    let setting = RowSetting {
        scheme: "skdc".into(),
        profile: "sound".into(),
        parameters: String::new(),
        suite: "standard".into(),
        protection: "mac".to_owned(),
        provenance: "specified".into(),
        operation: "create".into(),
        members: number,
        loss_percent: 2.5,
        delay_ms: 10.0,
        qos: 1,
        device: "host".into(),
        seed: u64::MAX,
        ..RowSetting::default()
    };
    let sample = |part: f64| RunSample {
        total_ms: part * f64::from(number),
        transmission_ms: 0.5,
        computation_ms: 0.25,
        member_mean_ms: 0.75,
        messages: 3,
        payload_bytes: 60,
        wire_bytes: 100,
        retransmissions: 0,
        member_joule: None,
        behind: 0,
        catch_ups: 0,
    };
    NetworkRow::from_samples(setting, vec![sample(1.5), sample(2.75)])
}
