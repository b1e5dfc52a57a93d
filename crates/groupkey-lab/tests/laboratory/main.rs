//! The laboratory where it needs nothing but itself: benchmarks, campaigns, studies, devices. What needs
//! other programs, or the machine for itself, is in programs of its own.

mod bench;
mod campaign;
mod devices;
mod growth;
mod power_logs;
mod requirements;
mod workloads;
