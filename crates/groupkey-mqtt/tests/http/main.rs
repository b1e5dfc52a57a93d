//! The service's HTTP interface over loopback, by clients that behave and clients that do not.

mod browser;
mod client;
mod hostile;
mod house;
mod operations;
mod strangers;
mod watching;
