//! A broker in this process, for demonstrations and tests: rumqttd.
//!
//! `tests/brokers.rs` lists the rules that rumqttd 0.20 breaks; nor can it be stopped, so it lives
//! as long as the process. A group that matters wants a broker of its own.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};

use crate::version::Version;

/// Starts a broker of one version of MQTT on a free port of the loopback interface and waits until it
/// answers. It could speak both, on two ports; but what is published in MQTT 5 with properties, such as an
/// expiry, makes rumqttd 0.20 panic when it is to pass it on in 3.1.1.
pub fn start(version: Version) -> io::Result<SocketAddr> {
    // rumqttd cannot say which port it was given, so one is tried out.
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let mut broker = Broker::new(configuration(version, address));
    thread::Builder::new().name("broker".to_owned()).spawn(move || drop(broker.start()))?;
    let begin = Instant::now();
    loop {
        match TcpStream::connect(address) {
            Ok(_) => return Ok(address),
            Err(error) if begin.elapsed() > PATIENCE => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn configuration(version: Version, listen: SocketAddr) -> Config {
    let connections = ConnectionSettings {
        connection_timeout_ms: 5_000,
        max_payload_size: 2 * crate::join::MAX_PAYLOAD,
        max_inflight_count: 200,
        auth: None,
        external_auth: None,
        dynamic_filters: true,
    };
    let server = ServerSettings {
        name: "embedded".to_owned(),
        listen,
        tls: None,
        next_connection_delay_ms: 1,
        connections,
    };
    let server = Some(HashMap::from([("embedded".to_owned(), server)]));
    let (v4, v5) = match version {
        Version::V3 => (server, None),
        Version::V5 => (None, server),
    };
    let router = RouterConfig {
        max_connections: 2_000,
        max_outgoing_packet_count: 200,
        max_segment_size: 4 << 20,
        max_segment_count: 4,
        ..RouterConfig::default()
    };
    Config { router, v4, v5, ..Config::default() }
}

const PATIENCE: Duration = Duration::from_secs(10);
