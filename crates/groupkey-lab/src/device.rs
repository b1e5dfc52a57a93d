//! Devices: how long a primitive operation takes on one and how much energy, and what an MQTT packet
//! costs it.
//!
//! A profile is a TOML file in `devices/`; `docs/devices.md` lists its keys. Every figure in it says where
//! it comes from: `measured`, `published`, `calibrated` (solved so that a published value comes out),
//! `counted` (instructions, which a clock makes a time) or `assumed`.

mod costs;
mod emulated;
mod file;
mod measured;
mod power;
mod profile;
mod text;

pub mod measure;

pub use self::costs::{CallEnergy, Clock, Cost, Costs, Instructions};
pub use self::emulated::{EmulationError, Target};
pub use self::file::DeviceError;
pub use self::power::{Energy, Power, PowerFigure};
pub use self::profile::{Device, PacketTime, PacketTimes};
