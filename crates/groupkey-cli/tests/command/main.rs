//! The built command, run as its users run it.

mod bad_input;
mod compare;
mod documented_commands;
mod finished;
mod net;
mod picture;
mod probe;
mod reproduce;
mod schemes;
mod tour;
