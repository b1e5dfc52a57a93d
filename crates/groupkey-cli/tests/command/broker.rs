//! A Mosquitto on the loopback interface, for tests of live groups.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::process::Command;

use groupkey_testbed::mosquitto::Mosquitto;

use crate::finished::or_skip;

/// Its port, and what keeps it there; nothing where Mosquitto is not installed.
pub(crate) fn mosquitto(test: &str) -> Option<(u16, Mosquitto)> {
    mosquitto_with(test, "")
}

/// Three of them, for a group and two places that bridges connect, and programs to talk to them.
pub(crate) fn three_mosquittos(test: &str) -> Option<[(u16, Mosquitto); 3]> {
    let programs = Command::new("mosquitto_pub").arg("--help").output();
    or_skip(test, programs.map_err(|error| format!("mosquitto_pub: {error}")))?;
    Some([mosquitto(test)?, mosquitto(test)?, mosquitto(test)?])
}

/// A Mosquitto at this port: it knows nothing of the one before.
pub(crate) fn mosquitto_at(test: &str, port: u16, further: &str) -> Option<Mosquitto> {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    or_skip(test, Mosquitto::start_with(address, address, further))
}

pub(crate) fn mosquitto_with(test: &str, further: &str) -> Option<(u16, Mosquitto)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    Some((port, mosquitto_at(test, port, further)?))
}
