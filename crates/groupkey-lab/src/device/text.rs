//! A profile as text, in the form that people write: a line for each primitive.

use std::fmt::Write;

use groupkey::crypto::meter::Primitive;
use groupkey_testkit::workbench::Handling;

use super::costs::{CallEnergy, InstructionClock, Instructions, PrimitiveCost};
use super::power::PowerFigure;
use super::profile::DeviceProfile;

impl DeviceProfile {
    /// Writes the profile as the text of a file, which [`DeviceProfile::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        profile(self)
    }
}

fn profile(device: &DeviceProfile) -> String {
    let DeviceProfile { name, description, processing, clock, power, radio, .. } = device;
    let mut text = format!("name = {}\ndescription = {}\n", quoted(name), quoted(description));
    for (key, time) in [
        ("publish", &processing.publish),
        ("acknowledgement", &processing.acknowledgement),
        ("payload_handling", &processing.payload_handling),
    ] {
        let line = format!("ns = {}\nsource = {}", time.ns, quoted(&time.source));
        write(&mut text, &format!("\n[processing.{key}]\n{line}"));
    }
    if let Some(InstructionClock { hertz, instructions_per_cycle, source }) = clock {
        let figures = format!("hertz = {hertz}\ninstructions_per_cycle = {instructions_per_cycle}");
        write(&mut text, &format!("\n[clock]\n{figures}\nsource = {}", quoted(source)));
    }
    if let Some(power) = power {
        for (key, figure) in [("idle", &power.idle), ("active", &power.active)] {
            write(&mut text, &format!("\n[power.{key}]\n{}", power_figure(figure)));
        }
    }
    if let Some(radio) = radio {
        radio.write_toml(Some("radio"), &mut text);
    }
    if let Some(costs) = &device.messages {
        write(&mut text, "\n[messages]");
        for handling in Handling::ALL {
            write(&mut text, &format!("{} = {}", handling.name(), cost(costs.of(handling))));
        }
    }
    for suite in device.suites() {
        let costs = device.costs(suite).expect("it is among its suites");
        write(&mut text, &format!("\n[{}]", suite.name()));
        for primitive in Primitive::ALL {
            write(&mut text, &format!("{} = {}", primitive.name(), cost(costs.of(primitive))));
        }
    }
    text
}

pub(super) fn power_figure(figure: &PowerFigure) -> String {
    let PowerFigure { watt, error_watt, source } = figure;
    format!("watt = {watt}\nerror_watt = {error_watt}\nsource = {}", quoted(source))
}

fn cost(cost: &PrimitiveCost) -> String {
    let PrimitiveCost { per_call_ns, per_unit_ns, instructions, error_percent, energy, source } =
        cost;
    let (unit, per_call, per_unit) = match *instructions {
        None => ("ns", *per_call_ns, *per_unit_ns),
        Some(Instructions { per_call, per_unit }) => ("instructions", per_call, per_unit),
    };
    let mut figures = format!("per_call_{unit} = {per_call}");
    if per_unit != 0.0 {
        figures += &format!(", per_unit_{unit} = {per_unit}");
    }
    if let Some(percent) = error_percent {
        figures += &format!(", error_percent = {percent}");
    }
    if let Some(CallEnergy { per_call_joule, per_unit_joule, error_percent }) = energy {
        figures += &format!(
            ", energy = {{ per_call_joule = {per_call_joule:?}, per_unit_joule = {per_unit_joule:?}, \
             error_percent = {error_percent} }}"
        );
    }
    format!("{{ {figures}, source = {} }}", quoted(source))
}

/// Quotes a text as a basic string of TOML, which escapes as JSON does.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn write(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes everything");
}
