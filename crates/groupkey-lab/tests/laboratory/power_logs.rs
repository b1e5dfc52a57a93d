//! Logs of power meters: both kinds are read alike, and no text breaks the reader.

use std::path::Path;

use groupkey_choose::input::InputError;
use groupkey_lab::bench::energy::{OperationMark, PowerLog, PowerMeter, idle_power, marked};
use proptest::prelude::*;

fn read(text: &str, interval: Option<f64>) -> Result<PowerLog, InputError> {
    PowerLog::parse(text, Path::new("log.csv"), interval)
}

fn plainly(text: &str) -> Result<PowerLog, InputError> {
    read(text, None)
}

fn watts(log: &PowerLog) -> Vec<(f64, f64)> {
    log.log.readings().iter().map(|reading| (reading.seconds, reading.watt)).collect()
}

fn close(found: &[(f64, f64)], expected: &[(f64, f64)]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let apart = (found.0 - expected.0).abs().max((found.1 - expected.1).abs());
        assert!(apart < 1e-9, "{found:?}, not {expected:?}");
    }
}

#[test]
fn the_same_power_is_read_from_both_kinds() {
    let expected = [(0.0, 0.2), (0.5, 0.2), (1.0, 0.4)];
    for text in [
        "time_s,watt\n0,0.2\n# a pause\n\n0.5,0.2\n1,0.4\n",
        "time_s, watt\r\n0, 0.2\r\n0.5, 0.2\r\n1, 0.4\r\n",
        "\"Model\",\"WT310\"\n\"Store No.\",\"Date\",\"Time\",\"Millisecond\",\"P-E1\"\n\
         1,2026/11/25,23:59:59,500,0.2\n2,2026/11/26,00:00:00,0,0.2\n3,2026/11/26,00:00:00,500,0.4\n",
        "No.,P[mW]\n7,200\n8,200\n9,400\n",
        "Time,U,I,P\nh,V,A,W\n10:00:00.0,1,1,0.2\n10:00:00.5,1,1,0.2\n10:00:01.0,1,1,0.4\n",
    ] {
        let log = read(text, Some(0.5)).unwrap_or_else(|error| panic!("{text}: {error}"));
        close(&watts(&log), &expected);
    }
}

#[test]
fn marks_are_a_column() {
    let labelled =
        plainly("time_s,watt,marker\n0,1,\n1,1,join\n2,1,join\n3,1,leave\n4,1,\n5,1,cut\n");
    let labels = labelled.expect("a log").marks.into_iter().map(|m| (m.label, m.start, m.end));
    let expected = [("join".to_owned(), 1.0, 3.0), ("leave".to_owned(), 3.0, 4.0)];
    assert_eq!(labels.collect::<Vec<_>>(), expected, "what is cut off at the end is no operation");
}

#[test]
fn mistakes_are_found_where_they_stand() {
    let plain = |lines: &str| format!("time_s,watt\n{lines}");
    for (text, position, told) in [
        (plain("0,0.2\n1;0.2\n"), "log.csv:3:1:", "time \"1;0.2\" is no number"),
        (plain("0,0.2\n1,NaN\n"), "log.csv:3:1:", "no number"),
        (plain("0,0.2\n1, x\n"), "log.csv:3:1:", "power \"x\" is no number"),
        (plain("0,0.2\n0,0.2\n"), "log.csv:3:1:", "later"),
        (plain("0,0.2\n1e999,0.2\n"), "log.csv:3:1:", "no number"),
        (plain("0,0.2\n1,-----\n"), "log.csv:3:1:", "no power here"),
        (plain("0,0.2\n1,\n"), "log.csv:3:1:", "missing"),
        (plain("0,0.2\n"), "log.csv:3:1:", "at least two"),
        (plain(""), "log.csv:2:1:", "at least two"),
        ("seconds,temperature\n".to_owned(), "log.csv:1:1:", "time_s,watt"),
        (String::new(), "log.csv:1:1:", "time_s,watt"),
        ("No.,P\n0,1\n1,1\n".to_owned(), "log.csv:2:1:", "--interval"),
    ] {
        let error = plainly(&text).expect_err("a mistake").to_string();
        assert!(error.starts_with(position) && error.contains(told), "{text}: {error}");
    }
}

/// The examples of `docs/devices.md`. The WT310's is made after S004's powers.
#[test]
fn the_examples_give_what_they_were_made_of() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/power");
    let load = |name: &str| PowerLog::load(&folder.join(name), None).expect("an example");
    let wt310 = load("wt310.csv");
    let marks = OperationMark::load(&folder.join("wt310-markers.csv")).expect("an example");
    let idle = idle_power(&wt310.log, &marks, PowerMeter::WT310).expect("it idles");
    assert!((idle.value - 0.20504).abs() < 0.0005, "{idle:?}");
    let found = marked(&wt310.log, &marks, PowerMeter::WT310, Some(idle));
    let (gross, net) = (found[0].gross.expect("measured"), found[0].net.expect("measured"));
    assert!((gross.value - 2.9 * 0.21803).abs() < 0.002, "{gross:?}");
    assert!((net.value - 2.9 * 0.01299).abs() < 0.002, "{net:?}");

    let plain = load("plain.csv");
    let idle = idle_power(&plain.log, &plain.marks, PowerMeter::WT310);
    let found = marked(&plain.log, &plain.marks, PowerMeter::WT310, idle);
    assert_eq!((found[0].label.as_str(), found[0].measured), ("rekey", 2));
    // 0.4 s at 98 mW beyond idling; the edges are straight lines.
    let net = found[0].net.expect("measured").value;
    assert!((net - 0.4 * 0.098).abs() < 0.006, "{net}");
}

proptest! {
    /// Energies of parts add up to that of the whole, wherever the log is cut.
    #[test]
    fn parts_add_up(powers in prop::collection::vec(0.0..2.0_f64, 8..40), cut in 0.1..0.9_f64) {
        let lines: String =
            powers.iter().enumerate().map(|(second, watt)| format!("{second},{watt}\n")).collect();
        let log = plainly(&format!("time_s,watt\n{lines}")).expect("a log").log;
        let at = cut * log.duration();
        let meter = PowerMeter::WT310;
        if let (Some(first), Some(second)) = (log.cut(0.0, at), log.cut(at, log.duration())) {
            let sum = first.energy(meter).value + second.energy(meter).value;
            prop_assert!((sum - log.energy(meter).value).abs() < 1e-9);
        }
    }

    /// Any text is read or refused with a place, and what is read is in order.
    #[test]
    fn no_text_breaks_the_reader(
        heading in prop::sample::select(vec![
            "time_s,watt", "time_s,watt,marker", "Store No.,Date,Time,Millisecond,P-E1", "No.,P[mW]", "",
        ]),
        lines in prop::collection::vec("[0-9:;,.\t\"eE+µ\\-a-c#\u{feff} ]{0,24}", 0..12),
    ) {
        let text = format!("{heading}\n{}", lines.join("\n"));
        match read(&text, Some(0.5)) {
            Ok(log) => {
                prop_assert!(log.log.readings().windows(2).all(|two| two[0].seconds < two[1].seconds));
                prop_assert!(log.marks.iter().all(|mark| mark.start < mark.end));
                let found = marked(&log.log, &log.marks, PowerMeter::WT310, None);
                prop_assert!(found.iter().filter_map(|one| one.gross).all(|gross| gross.value.is_finite()));
            }
            Err(error) => prop_assert!(error.position.is_some()),
        }
    }

    #[test]
    fn no_text_breaks_the_markers(lines in prop::collection::vec("[0-9,.eE a-c\\-\"#]{0,16}", 0..12)) {
        let text = format!("time_s,label\n{}", lines.join("\n"));
        if let Ok(marks) = OperationMark::parse(&text, Path::new("marks.csv")) {
            prop_assert!(marks.iter().all(|mark| mark.start < mark.end && !mark.label.is_empty()));
        }
    }
}
