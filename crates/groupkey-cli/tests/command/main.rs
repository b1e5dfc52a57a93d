//! The built command, run as its users run it.

mod audit;
mod bad_input;
mod bench;
mod boards;
mod book;
#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod bridge_groups;
#[cfg(target_os = "linux")]
mod broker;
#[cfg(target_os = "linux")]
mod certificates;
#[cfg(target_os = "linux")]
mod check;
mod choose;
mod choose_live;
mod compare;
#[cfg(target_os = "linux")]
mod demo;
mod device;
#[cfg(target_os = "linux")]
mod device_run;
mod documented_commands;
mod finished;
mod help;
#[cfg(target_os = "linux")]
mod installed_files;
mod killed;
#[cfg(target_os = "linux")]
mod limited_broker;
#[cfg(feature = "mls")]
mod mls;
mod net;
mod packages;
mod picture;
mod probe;
mod report;
mod reproduce;
mod reproduce_all;
mod schemes;
mod serve;
mod soak;
mod ticket;
mod type_names;
