//! Devices: the time and energy of primitive operations, and the cost of MQTT packets.
//!
//! A profile is a TOML file in `devices/`; `docs/devices.md` lists its keys. Every figure in a
//! profile names its source: `measured`, `published`, `calibrated`, `counted` or `assumed`. A
//! calibrated figure is solved so that a published value comes out. A counted figure is a number of
//! instructions, which a clock converts to a time.

mod board;
mod costs;
mod emulated;
mod figures;
mod file;
pub mod flash;
mod measured;
pub mod member_costs;
mod on_board;
mod power;
mod profile;
mod radio;
mod text;

pub mod emulated_board;
pub mod measure;

pub use self::board::{Bearing, Board, BoardError, BoardMemory, CoreCounts};
pub use self::costs::{
    CallEnergy, Costs, HandledMessages, HandlingCosts, InstructionClock, Instructions,
    PrimitiveCost,
};
pub use self::emulated::{EmulationError, Target};
pub use self::file::DeviceError;
pub use self::on_board::BoardPrintError;
pub use self::power::{DevicePower, Energy, PowerFigure};
pub use self::profile::{DeviceProfile, PacketTime, PacketTimes};
pub use self::radio::{Radio, RadioTail, RadioWake};
