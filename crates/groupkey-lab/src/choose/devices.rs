//! The prices of the built-in devices, for decisions.

use std::collections::BTreeMap;

use groupkey::crypto::meter::Primitive;
use groupkey_choose::device as choose;
use groupkey_choose::device::{DevicePrices as Prices, OnAir, Price, RadioPrices as Air};

use super::variants::SUITES;
use crate::device::{Board, DeviceProfile, PowerFigure, Radio};

/// Returns the built-in devices that have prices of all suites that a choice is among, by ascending
/// name.
pub fn make_devices() -> Vec<Prices> {
    let mut names: Vec<&str> = DeviceProfile::names().collect();
    names.sort_unstable();
    names.into_iter().filter_map(|name| prices(&DeviceProfile::named(name)?)).collect()
}

/// Returns the built-in boards.
pub fn make_boards() -> Vec<choose::BoardCapacity> {
    let boards = Board::names().filter_map(Board::named);
    boards.map(|board| choose_board(&board)).collect()
}

fn choose_board(board: &Board) -> choose::BoardCapacity {
    let counts = DeviceProfile::named(&board.counts.device).expect("checked when it was read");
    let pace = counts.clock.as_ref().map_or(1.0, |own| board.clock.time_ns(1.0) / own.time_ns(1.0));
    choose::BoardCapacity {
        name: board.name.clone(),
        counts: board.counts.device.clone(),
        bearing: board.counts.bearing.name().to_owned(),
        pace,
        memory: board.ram.available() as f64,
        flash: board.flash.available() as f64,
        active: board.power.active.watt,
        radio: air(&board.radio),
    }
}

/// Returns the prices of a device, or `None` if it lacks those of a suite or its power is not
/// known.
pub fn prices(device: &DeviceProfile) -> Option<Prices> {
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
    let Supply { active, radio, source } = supply(device)?;
    Some(Prices {
        name: device.name.clone(),
        prices,
        packets: (device.processing.publish.ns as f64, device.processing.acknowledgement.ns as f64),
        active,
        radio,
        counts: COUNTED.contains(&device.name.as_str()).then(|| device.name.clone()),
        source,
    })
}

/// The devices whose members were counted whole, with their memory.
const COUNTED: [&str; 2] = ["cortex-m4", "rv32imac"];

struct Supply {
    active: f64,
    radio: Option<Air>,
    source: String,
}

/// Returns what a device draws. A profile of counts alone draws what a board with such a core does,
/// and a host is on a cable.
fn supply(device: &DeviceProfile) -> Option<Supply> {
    if let Some(power) = &device.power {
        return Some(Supply::of(&power.active, device.radio.as_ref(), &power.active.source));
    }
    let board = match device.name.as_str() {
        "cortex-m4" => "nrf52840",
        "rv32imac" => "esp32-c3",
        "host" => {
            let source = "assumed: a laptop's processor by its thermal design power, on a cable";
            return Some(Supply { active: 15.0, radio: None, source: source.to_owned() });
        }
        _ => return None,
    };
    let Board { power, radio, .. } = Board::named(board)?;
    let source = format!("assumed: as the board {board}; {}", radio.link);
    Some(Supply::of(&power.active, Some(&radio), &source))
}

impl Supply {
    fn of(active: &PowerFigure, radio: Option<&Radio>, source: &str) -> Self {
        Self { active: active.watt, radio: radio.map(air), source: source.to_owned() }
    }
}

/// Returns what a radio takes for a packet and a byte.
fn air(radio: &Radio) -> Air {
    let on_air = |figure: &PowerFigure| OnAir {
        per_packet: radio.packet_ns as f64 * 1e-9 * figure.watt,
        per_byte: radio.seconds_of_byte() * figure.watt,
    };
    Air {
        packet: f64::from(radio.packet_bytes),
        send: on_air(&radio.send),
        receive: on_air(&radio.receive),
    }
}
