//! The laboratory from outside: benchmarks, campaigns, studies, devices, reports and the audit.

mod audit;
mod bench;
mod campaign;
mod devices;
mod emulated;
mod flash;
mod growth;
mod member_costs;
mod power_logs;
mod report;
mod requirements;
mod scenarios;
mod workloads;
