//! The radio of a device: what packets cost on the air, and what it costs to be ready for them.
//!
//! A built-in radio is a TOML file in `radios/`; `docs/devices.md` lists its keys.

use std::fmt::Write;
use std::path::Path;

use groupkey_choose::device::MESSAGE_HEADERS;
use groupkey_choose::input::{InputError, Mistake};
use groupkey_testkit::workbench::Handling;
use serde::Deserialize;

use super::costs::HandledMessages;
use super::file::{DeviceError, check_radio};
use super::power::PowerFigure;
use super::text::{power_figure, quoted};
use crate::statistics::Deviation;

/// A device's radio.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// Its name on the command line and in results: `802.15.4`.
    pub name: String,
    /// The link, in words: `IEEE 802.15.4 at 250 kbit/s`.
    pub link: String,
    /// Bits a second, while a packet's payload is on the air.
    pub bits_per_second: u64,
    /// Time of a packet beside its payload (ns): preamble, headers, and the acknowledgement with
    /// the pause before it.
    pub packet_ns: u64,
    /// The longest payload of a packet (bytes). A longer message takes several packets.
    pub packet_bytes: u32,
    /// Where the link's three figures come from.
    pub source: String,
    /// The device's power while it sends.
    pub send: PowerFigure,
    /// The device's power while it receives.
    pub receive: PowerFigure,
    /// What it takes until the first packet can pass, if the radio sleeps or connects anew.
    pub wake: Option<RadioWake>,
    /// How long it stays awake after the last packet, if it does.
    pub tail: Option<RadioTail>,
}

/// What a radio takes until the first packet can pass.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioWake {
    /// The energy (J).
    pub joule: f64,
    /// Half width of its interval (J).
    pub error_joule: f64,
    /// Where it comes from.
    pub source: String,
}

/// How a radio stays awake after the last packet.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioTail {
    /// How long it does (s).
    pub seconds: f64,
    /// The device's power meanwhile (W).
    pub watt: f64,
    /// Half width of its interval (W).
    pub error_watt: f64,
    /// Where both come from.
    pub source: String,
}

impl Radio {
    /// Returns the built-in radio of this name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        Some(Self::from_toml(text).expect("a test reads every built-in radio"))
    }

    /// Returns the names of the built-in radios.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the text of a built-in radio's file, with its comments.
    pub fn text(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text)
    }

    /// Reads a radio from a file; errors name the file.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::of_file(&InputError::read(path)?, path)
    }

    /// Reads a radio from the text of this file.
    pub fn of_file(text: &str, path: &Path) -> Result<Self, InputError> {
        Self::from_toml(text).map_err(|error| match toml::from_str::<Self>(text) {
            Err(error) => InputError::in_text(path, text, Mistake::from(error)),
            // The form is right; the message names the figure.
            Ok(_) => {
                InputError { path: path.to_owned(), position: None, problem: error.to_string() }
            }
        })
    }

    /// Reads a radio from the text of its file.
    pub fn from_toml(text: &str) -> Result<Self, DeviceError> {
        let radio: Self =
            toml::from_str(text).map_err(|error| DeviceError::Malformed(error.to_string()))?;
        check_radio(&radio)?;
        Ok(radio)
    }

    /// Writes the radio as tables of a file: `[radio]` and `[radio.send]` below a section, `[send]`
    /// and no heading without one.
    pub(super) fn write_toml(&self, section: Option<&str>, text: &mut String) {
        let Self { name, link, bits_per_second, packet_ns, packet_bytes, source, .. } = self;
        let heading = |table: &str| match section {
            Some(section) => format!("\n[{section}.{table}]\n"),
            None => format!("\n[{table}]\n"),
        };
        let mut write = |part: String| {
            writeln!(text, "{part}").expect("a string takes everything");
        };
        if let Some(section) = section {
            write(format!("\n[{section}]"));
        }
        write(format!("name = {}\nlink = {}", quoted(name), quoted(link)));
        write(format!("bits_per_second = {bits_per_second}\npacket_ns = {packet_ns}"));
        write(format!("packet_bytes = {packet_bytes}\nsource = {}", quoted(source)));
        for (table, figure) in [("send", &self.send), ("receive", &self.receive)] {
            write(heading(table) + &power_figure(figure));
        }
        if let Some(RadioWake { joule, error_joule, source }) = &self.wake {
            let figures = format!("joule = {joule}\nerror_joule = {error_joule}");
            write(format!("{}{figures}\nsource = {}", heading("wake"), quoted(source)));
        }
        if let Some(RadioTail { seconds, watt, error_watt, source }) = &self.tail {
            let figures = format!("seconds = {seconds}\nwatt = {watt}\nerror_watt = {error_watt}");
            write(format!("{}{figures}\nsource = {}", heading("tail"), quoted(source)));
        }
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        let own = [&self.source, &self.send.source, &self.receive.source];
        let wake = self.wake.iter().map(|wake| &wake.source);
        let tail = self.tail.iter().map(|tail| &tail.source);
        own.into_iter().chain(wake).chain(tail).map(String::as_str)
    }

    /// Returns the energy of the messages of one step that were sent and received, with the headers
    /// above the link, and of waking up for them once (J).
    pub fn energy(&self, handled: &HandledMessages) -> Deviation {
        let with_headers = |handling| {
            let (messages, bytes) = handled.of(handling);
            let messages = messages as f64;
            (messages, messages.mul_add(MESSAGE_HEADERS, bytes as f64))
        };
        let (sent, received) = (with_headers(Handling::Send), with_headers(Handling::Receive));
        let waking = match sent.0 + received.0 > 0.0 {
            true => self.waking(),
            false => Deviation { value: 0.0, error: 0.0 },
        };
        let parts = [self.sending(sent.0, sent.1), self.receiving(received.0, received.1), waking];
        Deviation {
            value: parts.iter().map(|part| part.value).sum(),
            error: parts.iter().map(|part| part.error.powi(2)).sum::<f64>().sqrt(),
        }
    }

    /// Returns the energy to wake up once, and to stay awake to the end of the tail (J).
    pub fn waking(&self) -> Deviation {
        let wake = self.wake.as_ref().map_or((0.0, 0.0), |wake| (wake.joule, wake.error_joule));
        let tail = self
            .tail
            .as_ref()
            .map_or((0.0, 0.0), |tail| (tail.seconds * tail.watt, tail.seconds * tail.error_watt));
        Deviation { value: wake.0 + tail.0, error: wake.1.hypot(tail.1) }
    }

    /// Returns the time on the air of this many messages with this many bytes in all (s). Messages
    /// are of one length; headers above the link are part of their bytes.
    pub fn seconds(&self, messages: f64, bytes: f64) -> f64 {
        self.packets(messages, bytes) * self.packet_ns as f64 * 1e-9
            + bytes * self.seconds_of_byte()
    }

    /// Returns the energy to send these messages (J), all that the device draws meanwhile.
    pub fn sending(&self, messages: f64, bytes: f64) -> Deviation {
        at(&self.send, self.seconds(messages, bytes))
    }

    /// Returns the energy to receive these messages (J), all that the device draws meanwhile.
    /// Listening before a message arrives is not in it: that is part of idling.
    pub fn receiving(&self, messages: f64, bytes: f64) -> Deviation {
        at(&self.receive, self.seconds(messages, bytes))
    }

    /// Returns the packets of messages of one length: at least one for each.
    fn packets(&self, messages: f64, bytes: f64) -> f64 {
        if messages <= 0.0 {
            return 0.0;
        }
        messages * (bytes / messages / f64::from(self.packet_bytes)).ceil().max(1.0)
    }

    /// Returns the time of a byte on the air (s).
    pub(crate) fn seconds_of_byte(&self) -> f64 {
        8.0 / self.bits_per_second as f64
    }
}

const BUILT_IN: [(&str, &str); 6] = [
    ("802.15.4", include_str!("../radios/802.15.4.toml")),
    ("ble", include_str!("../radios/ble.toml")),
    ("lorawan", include_str!("../radios/lorawan.toml")),
    ("lte-m", include_str!("../radios/lte-m.toml")),
    ("nb-iot", include_str!("../radios/nb-iot.toml")),
    ("wifi", include_str!("../radios/wifi.toml")),
];

fn at(power: &PowerFigure, seconds: f64) -> Deviation {
    Deviation { value: seconds * power.watt, error: seconds * power.error_watt }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radio() -> Radio {
        let power = |watt, error_watt| PowerFigure {
            watt,
            error_watt,
            source: "assumed: a test".to_owned(),
        };
        Radio {
            name: "test".to_owned(),
            link: "a test".to_owned(),
            bits_per_second: 8_000,
            packet_ns: 5_000_000,
            packet_bytes: 100,
            source: "assumed: a test".to_owned(),
            send: power(0.2, 0.02),
            receive: power(0.1, 0.0),
            wake: None,
            tail: None,
        }
    }

    #[test]
    fn every_built_in_radio_is_read_and_survives_being_written() {
        for (name, text) in BUILT_IN {
            let radio = Radio::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(radio.name, name);
            let mut written = String::new();
            radio.write_toml(None, &mut written);
            assert_eq!(Radio::from_toml(&written), Ok(radio), "{written}");
        }
        assert_eq!(Radio::named("carrier-pigeon"), None);
    }

    /// A wake-up of a cellular modem takes more than all that a change of the key sends.
    #[test]
    fn a_cellular_radio_takes_most_for_waking() {
        for name in ["lte-m", "nb-iot"] {
            let radio = Radio::named(name).expect("built in");
            let (waking, sending) = (radio.waking(), radio.sending(1.0, 600.0));
            assert!((0.3..2.0).contains(&waking.value), "{name}: {waking:?}");
            assert!(waking.value > 10.0 * sending.value && waking.error > 0.0, "{name}");
        }
        assert_eq!(Radio::named("802.15.4").expect("built in").waking().value, 0.0);
    }

    #[test]
    fn radios_that_cannot_be_are_refused() {
        let told = |from: &str, to: &str| {
            let text = Radio::text("lte-m").expect("built in");
            assert!(text.contains(from), "{from}");
            Radio::from_toml(&text.replacen(from, to, 1)).expect_err("a mistake").to_string()
        };
        assert!(told("packet_bytes = 1_358", "packet_bytes = 0").contains("packet_bytes"));
        assert!(told("seconds = 10", "seconds = -1").contains("not negative"));
        assert!(told("joule = 0.36", "joule = nan").contains("not negative"));
        assert!(told("source = \"published: zephyr", "source = \"heard: zephyr").contains("begin"));
        assert!(told("[tail]", "[tall]").contains("tall"));
    }

    #[test]
    fn a_byte_takes_its_bits_and_a_packet_its_head() {
        // 50 bytes take 50 ms, and their packet 5 ms.
        assert!((radio().seconds(1.0, 50.0) - 0.055).abs() < 1e-12);
        let sent = radio().sending(1.0, 50.0);
        assert!((sent.value - 0.011).abs() < 1e-12 && (sent.error - 0.0011).abs() < 1e-12);
        assert!((radio().receiving(1.0, 50.0).value - 0.0055).abs() < 1e-12);
    }

    #[test]
    fn long_messages_take_several_packets_and_no_message_takes_none() {
        assert!((radio().seconds(2.0, 402.0) - (0.402 + 6.0 * 0.005)).abs() < 1e-12);
        assert!((radio().seconds(3.0, 0.0) - 3.0 * 0.005).abs() < 1e-12);
        assert_eq!(radio().seconds(0.0, 0.0), 0.0);
    }
}
