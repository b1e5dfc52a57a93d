//! The built command, run as its users run it.

mod bad_input;
mod bench;
mod device;
mod documented_commands;
mod finished;
mod net;
mod picture;
mod probe;
mod reproduce;
mod reproduce_all;
mod schemes;
mod tour;
