//! The service's HTTP interface over loopback, with correct and with hostile clients.

mod audit;
mod browser;
mod client;
mod fixture;
mod hostile;
mod operations;
mod third_party;
mod watching;
