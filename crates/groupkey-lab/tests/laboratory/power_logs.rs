//! Logs of power meters: each make is read as its maker writes it, and no text breaks the reader.

use std::fs;
use std::path::Path;

use groupkey_lab::bench::energy::{
    Format, Mark, PowerLog, PowerMeter, Supplement, idle_power, marked,
};
use groupkey_lab::input::InputError;
use proptest::prelude::*;

fn read(text: &str, supplement: &Supplement) -> Result<PowerLog, InputError> {
    PowerLog::parse(text, Path::new("log.csv"), supplement)
}

fn plainly(text: &str) -> Result<PowerLog, InputError> {
    read(text, &Supplement::default())
}

/// Volts for a log of currents, and seconds for one of numbers.
const FULL: Supplement =
    Supplement { format: None, volts: Some(3.0), interval: Some(0.5), channel: 0 };

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
fn the_same_power_is_read_from_every_make() {
    let expected = [(0.0, 0.2), (0.5, 0.2), (1.0, 0.4)];
    for (format, text) in [
        (Format::Plain, "time_s,watt\n0,0.2\n# a pause\n\n0.5,0.2\n1,0.4\n"),
        (Format::Plain, "\u{feff}time_s;watt\r\n0;0,2\r\n0,5;0,2\r\n1;0,4\r\n"),
        (
            Format::Ppk2,
            "Timestamp(ms),Current(uA),D0-D7\n0,66666.666667,00000000\n500,66666.666667,10000000\n\
             1000,133333.333333,00000000\n",
        ),
        (
            Format::Ina219,
            "time_ms,bus_V,shunt_mV,current_mA,power_mW\n0,3.2,1,62.5,200\n500,3.2,1,62.5,200\n\
             1000,3.2,1,125,400\n",
        ),
        (Format::Ina219, "Millis,Bus Voltage (V),Current (mA)\n0,4,50\n500,4,50\n1000,4,100\n"),
        (
            Format::Wt310,
            "\"Model\",\"WT310\"\n\"Store No.\",\"Date\",\"Time\",\"Millisecond\",\"P-E1\"\n\
             1,2026/11/25,23:59:59,500,0.2\n2,2026/11/26,00:00:00,0,0.2\n3,2026/11/26,00:00:00,500,0.4\n",
        ),
        (Format::Wt310, "No.,P[mW]\n7,200\n8,200\n9,400\n"),
        (
            Format::Wt310,
            "Time,U,I,P\nh,V,A,W\n10:00:00.0,1,1,0.2\n10:00:00.5,1,1,0.2\n10:00:01.0,1,1,0.4\n",
        ),
    ] {
        let log = read(text, &FULL).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(log.format, format, "{text}");
        close(&watts(&log), &expected);
    }
}

#[test]
fn marks_are_columns_or_a_digital_channel() {
    let digital = "Timestamp(ms),Current(uA),D0-D7\n0,1,00000000\n1,9,01000000\n2,9,01000000\n\
                   3,1,00000000\n4,9,01000000\n";
    let on_channel = |channel| read(digital, &Supplement { channel, ..FULL }).expect("a log").marks;
    let mark = Mark { label: "D1".to_owned(), start: 0.001, end: 0.003 };
    assert_eq!(
        on_channel(1),
        std::slice::from_ref(&mark),
        "what is cut off at the end is no operation"
    );
    assert_eq!(on_channel(0), []);
    let apart =
        digital.replace("D0-D7", "D0,D1").replace("00000000", "0,0").replace("01000000", "0,1");
    assert_eq!(read(&apart, &Supplement { channel: 1, ..FULL }).expect("a log").marks, [mark]);

    let labelled = plainly("time_s,watt,marker\n0,1,\n1,1,join\n2,1,join\n3,1,leave\n4,1,\n");
    let labels = labelled.expect("a log").marks.into_iter().map(|m| (m.label, m.start, m.end));
    let expected = [("join".to_owned(), 1.0, 3.0), ("leave".to_owned(), 3.0, 4.0)];
    assert_eq!(labels.collect::<Vec<_>>(), expected);
}

#[test]
fn mistakes_are_found_where_they_stand() {
    let plain = |lines: &str| format!("time_s,watt\n{lines}");
    for (text, position, told) in [
        (plain("0,0.2\n1;0.2\n"), "log.csv:3:6:", "columns"),
        (plain("0,0.2\n1,NaN\n"), "log.csv:3:3:", "no number"),
        (plain("0,0.2\n1, x\n"), "log.csv:3:4:", "no number"),
        (plain("0,0.2\n0,0.2\n"), "log.csv:3:1:", "later"),
        (plain("0,0.2\n1e999,0.2\n"), "log.csv:3:1:", "no number"),
        (plain("0,0.2\n1,-----\n"), "log.csv:3:3:", "no reading"),
        (plain("0,0.2\n1,\n"), "log.csv:3:3:", "missing"),
        (plain("0,0.2\n"), "log.csv:3:1:", "at least two"),
        (plain(""), "log.csv:2:1:", "at least two"),
        ("seconds,temperature\n".to_owned(), "log.csv:1:1:", "time_s,watt"),
        (String::new(), "log.csv:1:1:", "time_s,watt"),
        ("Timestamp(ms),Current(uA)\n0,1\n1,1\n".to_owned(), "log.csv:1:1:", "--volts"),
        ("No.,P\n0,1\n1,1\n".to_owned(), "log.csv:1:1:", "--interval"),
        ("time_s,watt,D0-D7\n0,1,2\n".to_owned(), "log.csv:2:5:", "eight digits"),
        ("time_s,watt,D0\n0,1,high\n".to_owned(), "log.csv:2:5:", "0 or 1"),
    ] {
        let error = plainly(&text).expect_err("a mistake").to_string();
        assert!(error.starts_with(position) && error.contains(told), "{text}: {error}");
    }
}

/// The examples of `docs/energy.md`. The WT310's is made after S004's powers.
#[test]
fn the_examples_give_what_they_were_made_of() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/power");
    let load = |name: &str| PowerLog::load(&folder.join(name), &FULL).expect("an example");
    let wt310 = load("wt310.csv");
    let marks = Mark::load(&folder.join("wt310-markers.csv")).expect("an example");
    let idle = idle_power(&wt310.log, &marks, PowerMeter::WT310).expect("it idles");
    assert!((idle.value - 0.20504).abs() < 0.0005, "{idle:?}");
    let found = marked(&wt310.log, &marks, PowerMeter::WT310, Some(idle));
    let (gross, net) = (found[0].gross.expect("measured"), found[0].net.expect("measured"));
    assert!((gross.value - 2.9 * 0.21803).abs() < 0.002, "{gross:?}");
    assert!((net.value - 2.9 * 0.01299).abs() < 0.002, "{net:?}");

    let ppk2 = load("ppk2.csv");
    let found = marked(&ppk2.log, &ppk2.marks, Format::Ppk2.meter(), None);
    // 40 ms at 6 mA and 3 V.
    assert_eq!((found[0].label.as_str(), found[0].measured), ("D0", 3));
    assert!((found[0].gross.expect("measured").value - 0.72e-3).abs() < 0.02e-3, "{found:?}");

    let ina219 = load("ina219.csv");
    let found = marked(&ina219.log, &ina219.marks, Format::Ina219.meter(), None);
    assert_eq!((found[0].label.as_str(), found[0].measured), ("rekey", 2));
    assert!(fs::read_dir(folder).expect("it is there").count() >= 4);
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
            "time_s,watt", "Timestamp(ms),Current(uA),D0-D7", "time_ms;bus_V;current_mA",
            "Store No.,Date,Time,Millisecond,P-E1", "No.\tP[mW]\tmarker", "",
        ]),
        lines in prop::collection::vec("[0-9:;,.\t\"eE+µ\\-a-c#\u{feff} ]{0,24}", 0..12),
    ) {
        let text = format!("{heading}\n{}", lines.join("\n"));
        match read(&text, &FULL) {
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
        if let Ok(marks) = Mark::parse(&text, Path::new("marks.csv")) {
            prop_assert!(marks.iter().all(|mark| mark.start < mark.end && !mark.label.is_empty()));
        }
    }
}
