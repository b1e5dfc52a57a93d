//! The prices of devices and radios, for decisions.

use std::collections::BTreeMap;

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_choose::device::{CountedCore, DevicePrices, OnAir, Price, RadioPrices};

use super::variants::SUITES;
use crate::device::{Board, DeviceProfile, PowerFigure, Radio};

/// Returns the built-in devices that have prices of all suites that a choice is among, by ascending
/// name.
pub fn make_devices() -> Vec<DevicePrices> {
    let mut names: Vec<&str> = DeviceProfile::names().collect();
    names.sort_unstable();
    names.into_iter().filter_map(|name| prices(&DeviceProfile::named(name)?)).collect()
}

/// Returns the built-in radios, in the order of their names.
pub fn make_radios() -> Vec<RadioPrices> {
    Radio::names().filter_map(Radio::named).map(|radio| on_air(&radio)).collect()
}

/// Returns the prices of a device, or `None` if it lacks those of a suite. It may lack those of `pq`.
pub fn prices(device: &DeviceProfile) -> Option<DevicePrices> {
    let pq = device.costs(Suite::Pq).map(|_| Suite::Pq);
    let of_suites = SUITES.into_iter().chain(pq).map(|suite| {
        let costs = device.costs(suite)?;
        let prices = Primitive::ALL.into_iter().map(|primitive| {
            let cost = costs.of(primitive);
            let price = Price { per_call: cost.per_call_ns, per_unit: cost.per_unit_ns };
            (primitive.name().to_owned(), price)
        });
        Some((suite.name().to_owned(), prices.collect::<BTreeMap<_, _>>()))
    });
    let Supply { active, radio, source } = supply(device);
    Some(DevicePrices {
        name: device.name.clone(),
        prices: of_suites.collect::<Option<_>>()?,
        packets: (device.processing.publish.ns as f64, device.processing.acknowledgement.ns as f64),
        active: active.map(|active| (active.watt, active.error_watt)),
        radio: device.radio.as_ref().or(radio.as_ref()).map(on_air),
        counts: core(device),
        capacity: device
            .board
            .as_ref()
            .map(|board| (board.ram.available() as f64, board.flash.available() as f64)),
        source,
    })
}

/// Returns what stands for a device's core where members were counted whole, with their memory.
fn core(device: &DeviceProfile) -> Option<CountedCore> {
    let (name, bearing) = match &device.board {
        Some(board) => (&*board.counts.device, board.counts.bearing.name()),
        None if COUNTED.contains(&&*device.name) => (&*device.name, "own"),
        None => return None,
    };
    Some(CountedCore { device: name.to_owned(), bearing: bearing.to_owned() })
}

/// The devices whose members were counted whole.
const COUNTED: [&str; 2] = ["cortex-m4", "rv32imac"];

/// What a device draws while it computes, its radio if it is that of another device, and where times
/// and power come from.
struct Supply {
    active: Option<PowerFigure>,
    radio: Option<Radio>,
    source: String,
}

/// Returns what a device draws. A profile of counts alone draws what a board with such a core does,
/// and a host is on a cable.
fn supply(device: &DeviceProfile) -> Supply {
    if let Some(power) = &device.power {
        // Only a clock makes times of instructions, and they are as sure as it is.
        let clock = device.clock.as_ref().map(|clock| &clock.source);
        let source = clock.unwrap_or(&power.active.source).clone();
        return Supply { active: Some(power.active.clone()), radio: None, source };
    }
    let board = match device.name.as_str() {
        "cortex-m4" => "nrf52840",
        "rv32imac" => "esp32-c3",
        "host" => {
            let source = "assumed: a laptop's processor by its thermal design power, on a cable";
            let source = source.to_owned();
            let active = PowerFigure { watt: 15.0, error_watt: 0.0, source: source.clone() };
            return Supply { active: Some(active), radio: None, source };
        }
        _ => {
            let source = "measured: its times; its power is not known".to_owned();
            return Supply { active: None, radio: None, source };
        }
    };
    let Board { power, radio, .. } = Board::named(board).expect("it is built in");
    let source = format!("assumed: as the board {board}; {}", radio.link);
    Supply { active: Some(power.active), radio: Some(radio), source }
}

/// Returns what a radio takes for a packet, a byte and a wake-up.
pub(super) fn on_air(radio: &Radio) -> RadioPrices {
    let on_air = |figure: &PowerFigure| OnAir {
        per_packet: radio.packet_ns as f64 * 1e-9 * figure.watt,
        per_byte: radio.seconds_of_byte() * figure.watt,
        error: if figure.watt > 0.0 { figure.error_watt / figure.watt } else { 0.0 },
    };
    RadioPrices {
        name: radio.name.clone(),
        packet: f64::from(radio.packet_bytes),
        send: on_air(&radio.send),
        receive: on_air(&radio.receive),
        wake: radio.wake.as_ref().map(|wake| (wake.joule, wake.error_joule)),
        tail: radio.tail.as_ref().map(|tail| (tail.seconds, tail.watt, tail.error_watt)),
        is_assumed: radio.sources().any(|source| source.starts_with("assumed:")),
    }
}
