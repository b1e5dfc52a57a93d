//! The built command, run as its users run it.

mod adapts;
mod audit;
mod bad_input;
mod bench;
mod boards;
mod book;
#[cfg(target_os = "linux")]
mod broker;
#[cfg(target_os = "linux")]
mod certificates;
mod choose;
mod compare;
#[cfg(target_os = "linux")]
mod demo;
mod device;
#[cfg(target_os = "linux")]
mod device_run;
mod documented_commands;
mod finished;
mod glossary;
mod help;
#[cfg(target_os = "linux")]
mod killed;
#[cfg(target_os = "linux")]
mod limited_broker;
mod mqtt_probe;
mod net;
#[cfg(target_os = "linux")]
mod net_live;
mod picture;
mod probe;
mod report;
mod reproduce;
mod reproduce_all;
mod schemes;
mod serve;
mod soak;
mod ticket;
#[cfg(target_os = "linux")]
mod validate;
