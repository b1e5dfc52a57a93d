//! Which broker is probed, and why that may fail.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use crate::login::Login;
use crate::tls::Tls;

/// Which broker, and how patiently.
#[derive(Clone, Debug)]
pub struct Target {
    /// The broker's name or address: with TLS, its certificate must be for it.
    pub host: String,
    /// Tried one after the other.
    pub addresses: Vec<SocketAddr>,
    /// Sent with every CONNECT, in the clear without TLS.
    pub login: Option<Login>,
    /// Whose certificates are trusted, and which one is shown, if TLS is spoken.
    pub tls: Option<Tls>,
    /// The longest wait for any one answer.
    pub timeout: Duration,
}

/// Why there are no findings at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nothing that takes connections is there; the reason in the system's words.
    NoConnection(String),
    /// There is no TLS with it; why.
    NoTls(String),
    /// It answers, but not as a broker does; what happened instead.
    NoBroker(String),
    /// It refuses us, with this code of CONNACK.
    Refused(u8),
}

impl Target {
    /// The broker at `HOST:PORT`; asks the system for the host's addresses.
    pub fn resolve(host_and_port: &str, timeout: Duration) -> Result<Self, Error> {
        let addresses: Vec<SocketAddr> = host_and_port
            .to_socket_addrs()
            .map_err(|error| Error::NoConnection(error.to_string()))?
            .collect();
        let &first = addresses
            .first()
            .ok_or_else(|| Error::NoConnection("the host has no address".to_owned()))?;
        let host = host_and_port.rsplit_once(':').map_or(host_and_port, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, addresses, ..Self::at(first, timeout) })
    }

    /// The broker at this address, without login and TLS.
    pub fn at(address: SocketAddr, timeout: Duration) -> Self {
        let (host, addresses) = (address.ip().to_string(), vec![address]);
        Self { host, addresses, login: None, tls: None, timeout }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnection(reason) => write!(f, "no connection: {reason}"),
            Self::NoTls(reason) => write!(f, "no TLS: {reason}"),
            Self::NoBroker(seen) => write!(f, "no MQTT broker: {seen}"),
            Self::Refused(code) => write!(f, "the broker refused the connection with code {code}"),
        }
    }
}

impl std::error::Error for Error {}
