//! Boards: what a program has of a named device's memory, and how it compares with a counted
//! processor.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::device::{Device, Radio};

/// A named device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Board {
    /// Its name.
    pub name: String,
    /// The device whose counts stand for it.
    pub counts: String,
    /// How closely they do: `own`, `lower-bound` or `stand-in`.
    pub bearing: String,
    /// Time of an instruction, as a multiple of that of the counts' device.
    pub pace: f64,
    /// Working memory that a program has (bytes).
    pub memory: f64,
    /// Program memory that a program has (bytes).
    pub flash: f64,
    /// Power while it computes (W).
    pub active: f64,
    /// Its radio.
    pub radio: Radio,
}

impl Board {
    /// Returns the boards that come with the program.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<Board>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("shipped/boards.jsonl").lines();
            lines.map(|line| serde_json::from_str(line).expect("a test reads it")).collect()
        })
    }

    /// Returns the board of this name among those that come with the program.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::shipped().iter().find(|board| board.name == name)
    }

    /// Returns the prices of a board of this name.
    pub fn device(name: &str) -> Option<&'static Device> {
        static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
        let devices = DEVICES.get_or_init(|| {
            Self::shipped()
                .iter()
                .filter_map(|board| Some(board.price(Device::named(&board.counts)?)))
                .collect()
        });
        devices.iter().find(|device| device.name == name)
    }

    fn price(&self, counts: &Device) -> Device {
        let mut device = counts.clone();
        for price in device.prices.values_mut().flat_map(|prices| prices.values_mut()) {
            price.per_call *= self.pace;
            price.per_unit *= self.pace;
        }
        device.packets = (device.packets.0 * self.pace, device.packets.1 * self.pace);
        device.name.clone_from(&self.name);
        device.active = self.active;
        device.radio = Some(self.radio);
        device.source =
            format!("assumed: counts of {} ({}) at the board's clock", self.counts, self.bearing);
        device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_has_prices_at_its_own_pace() {
        for board in Board::shipped() {
            let device = Board::device(&board.name).expect("its counts are shipped");
            let counts = Device::named(&board.counts).expect("shipped");
            let sign = |device: &Device| device.prices["standard"]["sign"].per_call;
            assert!((sign(device) / sign(counts) - board.pace).abs() < 1e-9, "{}", board.name);
            assert_eq!(device.counts, counts.counts);
            assert!(board.memory > 0.0 && board.flash > 0.0 && board.active > 0.0);
        }
        assert!(Board::device("toaster").is_none() && Board::named("toaster").is_none());
    }
}
