//! The place of a column in a sample, and its name.

use std::collections::BTreeMap;

use crate::evidence::{DeviceRole, Load, PrimitiveCount, ProtocolTraffic, Sample, Stage, Uses};

/// The place of a column in a sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slot {
    Load(usize, ColumnPart),
    Stage(usize, StagePart),
    Finish(ColumnPart),
    Largest,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ColumnPart {
    Calls(String),
    Amount(String),
    /// Calls and amount, which are equal.
    Both(String),
    /// Messages or bytes that are sent, received, or sent as copies.
    Traffic(usize, bool),
    Keys,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum StagePart {
    Number(usize),
    Uses(ColumnPart),
}

/// The loads of a sample by the first letter of their columns.
const LOADS: [&str; 4] = ["m", "b", "c", "g"];

const TRAFFIC: [[&str; 2]; 3] = [["sm", "sb"], ["rm", "rb"], ["cm", "cb"]];

/// The numbers of a stage.
const ROLE: usize = 7;
const NUMBERS: [&str; 8] = ["n", "s", "m", "b", "d", "a", "r", "role"];

impl Slot {
    pub(super) fn named(name: &str) -> Option<Self> {
        if name == "largest" {
            return Some(Self::Largest);
        }
        let (place, rest) = name.split_once('.')?;
        if let Some(load) = LOADS.iter().position(|load| *load == place) {
            return Some(Self::Load(load, ColumnPart::named(rest)?));
        }
        if place == "f" {
            return Some(Self::Finish(ColumnPart::named(rest)?));
        }
        // More stages would be a mistake, and much memory.
        let stage = place.parse().ok().filter(|stage| *stage < 10_000)?;
        let part = match NUMBERS.iter().position(|number| *number == rest) {
            Some(number) => StagePart::Number(number),
            None => StagePart::Uses(ColumnPart::named(rest)?),
        };
        Some(Self::Stage(stage, part))
    }

    /// Returns the name of the column that says how often this column's stage runs, if it is another one.
    pub(super) fn repeats(&self) -> Option<String> {
        match self {
            Self::Stage(_, StagePart::Number(0)) => None,
            Self::Stage(stage, _) => Some(format!("{stage}.{}", NUMBERS[0])),
            _ => None,
        }
    }

    pub(super) fn set(&self, sample: &mut Sample, value: f64) {
        match self {
            Self::Load(load, part) => {
                let Sample { member, busiest, controller, gateway, .. } = sample;
                part.set([member, busiest, controller, gateway][*load], value);
            }
            Self::Finish(part) => part.set_use(&mut sample.finish, value),
            Self::Largest => sample.largest = value.round() as u32,
            Self::Stage(stage, part) => {
                if sample.stages.len() <= *stage {
                    sample.stages.resize(*stage + 1, Stage::default());
                }
                let stage = &mut sample.stages[*stage];
                match part {
                    StagePart::Uses(part) => part.set_use(&mut stage.uses, value),
                    StagePart::Number(ROLE) => {
                        stage.sender = match value.round() as u32 {
                            1 => DeviceRole::Controller,
                            2 => DeviceRole::Gateway,
                            _ => DeviceRole::Member,
                        }
                    }
                    StagePart::Number(number) => {
                        let Stage {
                            repeats,
                            senders,
                            messages,
                            bytes,
                            deliveries,
                            awaited,
                            receivers,
                            ..
                        } = stage;
                        *[repeats, senders, messages, bytes, deliveries, awaited, receivers]
                            [*number] = value;
                    }
                }
            }
        }
    }
}

impl ColumnPart {
    fn named(name: &str) -> Option<Self> {
        if name == "k" {
            return Some(Self::Keys);
        }
        for (index, [messages, bytes]) in TRAFFIC.into_iter().enumerate() {
            if name == messages || name == bytes {
                return Some(Self::Traffic(index, name == bytes));
            }
        }
        let primitive = name.get(..name.len().checked_sub(1)?)?.to_owned();
        match name.as_bytes()[name.len() - 1] {
            b'+' => Some(Self::Calls(primitive)),
            b'#' => Some(Self::Amount(primitive)),
            b'=' => Some(Self::Both(primitive)),
            _ => None,
        }
    }

    fn set(&self, load: &mut Load, value: f64) {
        match self {
            Self::Keys => load.keys = value,
            Self::Traffic(index, is_bytes) => {
                let Load { sent, received, copies, .. } = load;
                let traffic = [sent, received, copies].into_iter().nth(*index);
                let Some(ProtocolTraffic { messages, bytes }) = traffic else { return };
                *(if *is_bytes { bytes } else { messages }) = value;
            }
            Self::Calls(_) | Self::Amount(_) | Self::Both(_) => {
                self.set_use(&mut load.uses, value);
            }
        }
    }

    fn set_use(&self, uses: &mut Uses, value: f64) {
        if value == 0.0 {
            return;
        }
        match self {
            Self::Calls(primitive) => uses.0.entry(primitive.clone()).or_default().calls = value,
            Self::Amount(primitive) => uses.0.entry(primitive.clone()).or_default().amount = value,
            Self::Both(primitive) => {
                uses.0.insert(primitive.clone(), PrimitiveCount { calls: value, amount: value });
            }
            Self::Traffic(..) | Self::Keys => {}
        }
    }
}

/// Returns the columns of one sample that are not zero.
pub(super) fn flat(sample: &Sample) -> BTreeMap<String, f64> {
    let mut row = BTreeMap::new();
    let loads = [&sample.member, &sample.busiest, &sample.controller, &sample.gateway];
    for (letter, load) in LOADS.into_iter().zip(loads) {
        flat_uses(&mut row, letter, &load.uses);
        let traffic = [load.sent, load.received, load.copies];
        for ([messages, bytes], traffic) in TRAFFIC.into_iter().zip(traffic) {
            row.insert(format!("{letter}.{messages}"), traffic.messages);
            row.insert(format!("{letter}.{bytes}"), traffic.bytes);
        }
        row.insert(format!("{letter}.k"), load.keys);
    }
    flat_uses(&mut row, "f", &sample.finish);
    row.insert("largest".to_owned(), f64::from(sample.largest));
    row.retain(|_, value| *value != 0.0);
    for (index, stage) in sample.stages.iter().enumerate() {
        let Stage { senders, messages, bytes, deliveries, awaited, uses, sender, .. } = stage;
        let Stage { repeats, receivers, .. } = stage;
        let role = match sender {
            DeviceRole::Controller => 1.0,
            DeviceRole::Gateway => 2.0,
            DeviceRole::Member => 3.0,
        };
        let sent = [*repeats, *senders, *messages, *bytes];
        let numbers = sent.into_iter().chain([*deliveries, *awaited, *receivers, role]);
        for (name, value) in NUMBERS.into_iter().zip(numbers) {
            row.insert(format!("{index}.{name}"), value);
        }
        flat_uses(&mut row, &index.to_string(), uses);
    }
    row
}

fn flat_uses(row: &mut BTreeMap<String, f64>, place: &str, uses: &Uses) {
    for (primitive, PrimitiveCount { calls, amount }) in &uses.0 {
        row.insert(format!("{place}.{primitive}+"), *calls);
        row.insert(format!("{place}.{primitive}#"), *amount);
    }
}
