//! Figures in words: a value with its unit, what it rests on, how exact it is.

use crate::decision::{Assessment, Figure, Ground, Quantity};
use crate::device::CountedCore;
use crate::number::rounded;
use crate::requirements::{Devices, Requirements};

/// Returns what a figure rests on, with the device, and the radio, if they were priced.
pub fn ground(figure: &Figure, requirements: &Requirements) -> String {
    let devices = &requirements.devices;
    let mut words = match figure.ground {
        Ground::Counted => "counted".to_owned(),
        Ground::Modelled if figure.quantity == Quantity::Memory => {
            "modelled by its signatures on cortex-m4".to_owned()
        }
        Ground::Modelled => format!("modelled on {}", priced(figure.quantity, devices)),
        Ground::Fitted => "fitted".to_owned(),
        Ground::Simulated => "simulated".to_owned(),
    };
    if let Some(core) = other_core(figure, devices) {
        let bearing = if core.bearing == "lower-bound" { "lower bound" } else { "stand-in" };
        words += &format!(" on {}, a {bearing}", core.device);
    }
    if figure.is_extrapolated {
        words += ", extrapolated";
    }
    words
}

/// Returns what was priced: `cortex-m4 with lte-m, assumed`.
pub(super) fn priced(quantity: Quantity, devices: &Devices) -> String {
    if quantity == Quantity::Controller {
        return devices.controller.clone();
    }
    let (mut words, is_assumed) = device_and_radio(devices);
    if is_assumed {
        words += ", assumed";
    }
    words
}

/// Returns a member's device and radio, and whether a price of theirs is assumed.
pub(super) fn device_and_radio(devices: &Devices) -> (String, bool) {
    let device = devices.prices(&devices.member);
    let mut words = devices.member.clone();
    let mut is_assumed = device.is_some_and(|device| device.source.starts_with("assumed"));
    if let Some(radio) = devices.radio_of_member() {
        words += &format!(" with {}", radio.name);
        is_assumed |= radio.is_assumed;
    }
    (words, is_assumed)
}

/// Returns the processor on which a member's memory was counted, if that is not the device's own.
fn other_core<'d>(figure: &Figure, devices: &'d Devices) -> Option<&'d CountedCore> {
    let is_memory = matches!(figure.quantity, Quantity::Memory | Quantity::Flash)
        && figure.ground == Ground::Counted;
    let counts = devices.prices(&devices.member)?.counts.as_ref()?;
    (is_memory && counts.bearing != "own").then_some(counts)
}

/// Returns the grounds of all figures in few letters: `counted modelled fitted`.
pub fn grounds(assessment: &Assessment) -> String {
    let known = [
        (Ground::Counted, "counted"),
        (Ground::Modelled, "modelled"),
        (Ground::Fitted, "fitted"),
        (Ground::Simulated, "simulated"),
    ];
    let is_there = |ground| assessment.figures.iter().any(|figure| figure.ground == ground);
    let mut words: Vec<&str> =
        known.into_iter().filter(|(ground, _)| is_there(*ground)).map(|(_, word)| word).collect();
    if assessment.figures.iter().any(|figure| figure.is_extrapolated) {
        words.push("extrapolated");
    }
    words.join(" ")
}

/// Returns the interval of a figure; `exact` for a count on the device that was asked for, and
/// `unknown` where no source gives an error.
pub fn interval(figure: &Figure, requirements: &Requirements) -> String {
    let (low, high) = figure.interval;
    let is_exact =
        figure.ground == Ground::Counted && other_core(figure, &requirements.devices).is_none();
    match (low == high, is_exact) {
        (false, _) => format!("{} to {}", rounded(low), rounded(high)),
        (true, true) => "exact".to_owned(),
        (true, false) => "unknown".to_owned(),
    }
}

/// Returns a value with its unit, in a unit that keeps it short.
pub fn amount(quantity: Quantity, value: f64) -> String {
    let (_, unit) = quantity.name_and_unit();
    let (base, day) = unit.split_once("/day").map_or((unit, ""), |(base, _)| (base, " a day"));
    let scaled = match base {
        "ms" if value >= 1_000.0 => format!("{} s", rounded(value / 1_000.0)),
        "J" if value < 0.1 => format!("{} mJ", rounded(value * 1_000.0)),
        "B" if value >= 10_000_000.0 => format!("{} MB", rounded(value / 1_000_000.0)),
        "B" if value >= 10_000.0 => format!("{} kB", rounded(value / 1_000.0)),
        base => format!("{} {base}", rounded(value)),
    };
    scaled + day
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_unit_that_keeps_them_short() {
        for (quantity, value, expected) in [
            (Quantity::CompletionOf99, 430.0, "430 ms"),
            (Quantity::CompletionOf99, 1_430.0, "1.43 s"),
            (Quantity::Energy, 0.004, "4 mJ a day"),
            (Quantity::Energy, 2.5, "2.5 J a day"),
            (Quantity::Received, 123_456.0, "123 kB a day"),
            (Quantity::Keys, 208.0, "208 B"),
        ] {
            assert_eq!(amount(quantity, value), expected);
        }
    }
}
