//! Energy: the equations of S003 (20 to 29) and S004 (16 to 24), as functions.
//!
//! An error is the half width of an interval. Errors propagate by Gauss's formula for independent
//! errors. There are two ways to an energy. A meter's log is read ([`PowerLog`]) and integrated where it is marked ([`PowerLog::marked`]), or a device profile
//! prices counted primitives ([`Device::energy`](crate::device::DeviceProfile::energy)).

mod equations;
mod marked_operations;
mod meter_log;
mod power_log;

pub use self::equations::{
    CR123A_JOULE, PowerMeter, battery_actions, efficiency, gross_energy, mean_time, net_energy,
    throughput,
};
pub use self::marked_operations::MarkedOperations;
pub use self::meter_log::{MeterLog, Reading};
pub use self::power_log::{OperationMark, PowerLog};
