//! The prices of the built-in devices, for decisions.

use std::collections::BTreeMap;

use groupkey::crypto::meter::Primitive;
use groupkey_choose::device::{Device as Prices, Price};

use super::variants::SUITES;
use crate::device::Device;

/// Returns the built-in devices that have prices of all suites that a choice is among, by ascending
/// name.
pub fn make_devices() -> Vec<Prices> {
    let mut names: Vec<&str> = Device::names().collect();
    names.sort_unstable();
    names.into_iter().filter_map(|name| prices(&Device::named(name)?)).collect()
}

/// Returns the prices of a device, or `None` if it lacks those of a suite or its power is not
/// known here.
pub fn prices(device: &Device) -> Option<Prices> {
    let of_suites = SUITES.into_iter().map(|suite| {
        let costs = device.costs(suite)?;
        let prices = Primitive::ALL.into_iter().map(|primitive| {
            let cost = costs.of(primitive);
            let price = Price { per_call: cost.per_call_ns, per_unit: cost.per_unit_ns };
            (primitive.name().to_owned(), price)
        });
        Some((suite.name().to_owned(), prices.collect::<BTreeMap<_, _>>()))
    });
    let prices = of_suites.collect::<Option<_>>()?;
    let Supply { active, joule_sent, joule_received, source } = supply(device)?;
    Some(Prices {
        name: device.name.clone(),
        prices,
        packets: (device.processing.publish.ns as f64, device.processing.acknowledgement.ns as f64),
        active,
        joule_sent,
        joule_received,
        source,
    })
}

struct Supply {
    active: f64,
    joule_sent: f64,
    joule_received: f64,
    source: String,
}

/// Returns what a device draws. Profiles have no radio, so it is assumed.
fn supply(device: &Device) -> Option<Supply> {
    let (active, joule_sent, joule_received, radio) = match device.name.as_str() {
        // 52 µA/MHz at 64 MHz and 3 V. 6.4 mA to send at 0 dBm and 6.5 mA to receive, at 250 kbit/s
        // 32 µs a byte; a third more for preambles, headers and acknowledgements.
        "cortex-m4" => (
            0.010,
            0.82e-6,
            0.83e-6,
            "assumed: an nRF52840 at 3 V by its data sheet, 52 µA/MHz; IEEE 802.15.4 at 250 kbit/s \
             and 0 dBm with a third of overhead",
        ),
        // At 3.3 V. 0.73 µs a byte, twice as much with headers and acknowledgements.
        "rv32imac" => (
            0.083,
            1.7e-6,
            0.39e-6,
            "assumed: typical of an ESP32-C6 at 160 MHz and 3.3 V, 25 mA; Wi-Fi at 11 Mbit/s, 350 mA \
             to send and 80 mA to receive, with as much again for headers and acknowledgements",
        ),
        "host" => (
            15.0,
            0.0,
            0.0,
            "assumed: a laptop's processor by its thermal design power, on a cable",
        ),
        _ => return None,
    };
    let (active, source) = match &device.power {
        Some(power) => (power.active.watt, power.active.source.clone()),
        None => (active, radio.to_owned()),
    };
    Some(Supply { active, joule_sent, joule_received, source })
}
