//! Logs of power meters: what is read, what is refused, and what the examples have.

use std::path::Path;

use groupkey_choose::input::InputError;
use groupkey_lab::bench::energy::{PowerLog, PowerMeter};
use proptest::prelude::*;

fn read(lines: &str) -> Result<PowerLog, InputError> {
    PowerLog::parse(&format!("seconds,watts,marker\n{lines}"), Path::new("log.csv"))
}

#[test]
fn marks_are_a_column() {
    let text = "# one\nseconds, watts, marker\r\n0,1,\n# two\n\n1,1,join\n2, 1, join\n3,1,leave\n\
                4,1,\n5,1,cut\n";
    let read = PowerLog::parse(text, Path::new("log.csv")).expect("a log");
    let readings = read.log.readings().iter().map(|reading| (reading.seconds, reading.watt));
    assert!(readings.eq((0..6).map(|second| (f64::from(second), 1.0))));
    let labels = read.marks.into_iter().map(|mark| (mark.label, mark.start, mark.end));
    let expected = [("join".to_owned(), 1.0, 3.0), ("leave".to_owned(), 3.0, 4.0)];
    assert_eq!(labels.collect::<Vec<_>>(), expected, "what is cut off at the end is no operation");
}

#[test]
fn mistakes_are_found_where_they_stand() {
    for (lines, position, told) in [
        ("0,0.2,\n1;0.2\n", "log.csv:3:1:", "a time in seconds"),
        ("0,0.2,\n1,NaN,\n", "log.csv:3:1:", "a power in watts"),
        ("0,0.2,\n1, x,\n", "log.csv:3:1:", "a power in watts"),
        ("0,0.2,\n1e999,0.2,\n", "log.csv:3:1:", "a time in seconds"),
        ("0,0.2,\n1,0.2\n", "log.csv:3:1:", "the operation that runs"),
        ("0,0.2,\n0,0.2,\n", "log.csv:3:1:", "later"),
        ("0,0.2,\n", "log.csv:3:1:", "at least two"),
    ] {
        let error = read(lines).expect_err("a mistake").to_string();
        assert!(error.starts_with(position) && error.contains(told), "{lines}: {error}");
    }
    for text in ["", "time_s,watt\n0,1\n1,1\n"] {
        let error =
            PowerLog::parse(text, Path::new("log.csv")).expect_err("no heading").to_string();
        assert!(error.contains("the first line must be seconds,watts,marker"), "{error}");
    }
}

/// The examples of `docs/devices.md`. One is made after S004's powers.
#[test]
fn the_examples_give_what_they_were_made_of() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/power");
    let measured = |name: &str| {
        let read = PowerLog::load(&folder.join(name)).expect("an example");
        let idle = read.idle_power(PowerMeter::WT310).expect("it idles");
        (idle.value, read.marked(PowerMeter::WT310, Some(idle)).remove(0))
    };
    let (idle, found) = measured("s004.csv");
    assert!((idle - 0.20504).abs() < 0.0005, "{idle}");
    let (gross, net) = (found.gross, found.net.expect("it idles"));
    assert!((gross.value - 2.9 * 0.21803).abs() < 0.002, "{gross:?}");
    assert!((net.value - 2.9 * 0.01299).abs() < 0.002, "{net:?}");

    let (_, found) = measured("rekey.csv");
    assert_eq!((found.label.as_str(), found.count), ("rekey", 2));
    // 0.4 s at 98 mW beyond idling; the edges are straight lines.
    let net = found.net.expect("it idles").value;
    assert!((net - 0.4 * 0.098).abs() < 0.006, "{net}");
}

proptest! {
    /// Energies of parts add up to that of the whole, wherever the log is cut.
    #[test]
    fn parts_add_up(powers in prop::collection::vec(0.0..2.0_f64, 8..40), cut in 1..7_u32) {
        let line = |(second, watt): (usize, &f64)| format!("{second},{watt},\n");
        let lines: String = powers.iter().enumerate().map(line).collect();
        let log = read(&lines).expect("a log").log;
        let energy = |from, to| log.between(from, to).expect("two").energy(PowerMeter::WT310).value;
        let (cut, end) = (f64::from(cut), log.duration());
        prop_assert!((energy(0.0, cut) + energy(cut, end) - energy(0.0, end)).abs() < 1e-9);
    }

    /// Any text is read or refused with a place, and what is read is in order.
    #[test]
    fn no_text_breaks_the_reader(
        lines in prop::collection::vec("[0-9:;,.\t\"eE+µ\\-a-c#\u{feff} ]{0,24}", 0..12),
    ) {
        match read(&lines.join("\n")) {
            Ok(found) => {
                let readings = found.log.readings();
                prop_assert!(readings.windows(2).all(|two| two[0].seconds < two[1].seconds));
                prop_assert!(found.marks.iter().all(|mark| mark.start < mark.end));
                let found = found.marked(PowerMeter::WT310, None);
                prop_assert!(found.iter().all(|one| one.gross.value.is_finite()));
            }
            Err(error) => prop_assert!(error.position.is_some()),
        }
    }
}
