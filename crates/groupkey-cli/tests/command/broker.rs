//! A Mosquitto on the loopback interface, for tests of live groups.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use groupkey_testbed::impairment::Mosquitto;

use crate::finished::or_skip;

/// Its port, and what keeps it there; nothing where Mosquitto is not installed.
pub(crate) fn mosquitto(test: &str) -> Option<(u16, Mosquitto)> {
    mosquitto_with(test, "")
}

/// The same, with further lines of its configuration.
pub(crate) fn mosquitto_with(test: &str, further: &str) -> Option<(u16, Mosquitto)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let broker = or_skip(test, Mosquitto::start_with(address, address, further))?;
    Some((port, broker))
}
