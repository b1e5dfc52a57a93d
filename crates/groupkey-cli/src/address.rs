//! The address of a broker: `HOST:PORT` on the command line.

use std::fmt;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use crate::failure::Failure;

/// A host, by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostAndPort {
    /// An IPv6 address is in brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl HostAndPort {
    /// Returns the first of the host's addresses that accepts a connection.
    pub(crate) fn reach(&self) -> Result<SocketAddr, Failure> {
        let unreachable = |reason: String| {
            Failure::running(format!("{self}: no connection: {reason}"))
                .with_help("is the broker running, and is this its host and port?")
        };
        let addresses = self.to_string().to_socket_addrs();
        let mut reason = "the host has no address".to_owned();
        for address in addresses.map_err(|error| unreachable(error.to_string()))? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(_) => return Ok(address),
                Err(error) => reason = error.to_string(),
            }
        }
        Err(unreachable(reason))
    }
}

impl FromStr for HostAndPort {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let (host, port) = parts.ok_or(EXPECTED)?;
        let port = port.parse().map_err(|_| EXPECTED)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for HostAndPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

const EXPECTED: &str =
    "expected HOST:PORT; brokers usually listen on port 1883, as in localhost:1883";

const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_as_it_is_written() {
        for text in ["localhost:1883", "10.0.0.7:1", "[::1]:65535"] {
            assert_eq!(text.parse::<HostAndPort>().map(|it| it.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn all_else_is_refused() {
        for text in ["", "localhost", ":1883", "localhost:", "localhost:x", "localhost:65536"] {
            assert!(text.parse::<HostAndPort>().is_err(), "{text:?}");
        }
    }
}
