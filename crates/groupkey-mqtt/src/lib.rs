//! Groups over a real MQTT broker: the parties that the benchmark measures and the simulator runs, live.
