//! The service's HTTP interface over loopback, with correct and with hostile clients.

mod browser;
mod client;
mod hostile;
mod house;
mod operations;
mod strangers;
mod watching;
