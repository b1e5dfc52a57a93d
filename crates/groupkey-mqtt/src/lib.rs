//! Groups over a real MQTT broker: the parties that the benchmark measures and the simulator runs, live.

#[cfg(target_os = "linux")]
pub mod impairment;
pub mod probe;
