//! The broker to probe, and the reasons why that may fail.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use groupkey_mqtt::tls::Tls;
use zeroize::Zeroizing;

/// The broker to probe, and how long to wait for it.
#[derive(Clone, Debug)]
pub struct ProbeTarget {
    /// The broker's name or address. With TLS, the broker's certificate must be for it.
    pub host: String,
    /// The addresses, which are tried one after the other.
    pub addresses: Vec<SocketAddr>,
    /// The login for every CONNECT. Without TLS, it is sent in the clear.
    pub login: Option<Login>,
    /// The trusted authorities and the client's certificate, if TLS is used.
    pub tls: Option<Tls>,
    /// The longest wait for one answer.
    pub timeout: Duration,
}

/// A user name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user name.
    pub name: String,
    /// The password: any bytes.
    pub password: Zeroizing<Vec<u8>>,
}

/// The reason why there are no findings at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No connection could be made, for the reason that the system gave.
    NoConnection(String),
    /// TLS could not be used, for this reason.
    NoTls(String),
    /// The server answers, but not like a broker. The text says what happened instead.
    NoBroker(String),
    /// The broker refuses us, with this code of CONNACK.
    Refused(u8),
}

impl ProbeTarget {
    /// Returns the broker at `HOST:PORT`. Asks the system for the host's addresses.
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

    /// Returns the broker at this address, without login and TLS.
    pub fn at(address: SocketAddr, timeout: Duration) -> Self {
        let (host, addresses) = (address.ip().to_string(), vec![address]);
        Self { host, addresses, login: None, tls: None, timeout }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("name", &self.name).finish_non_exhaustive()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_does_not_print_its_password() {
        let login = Login { name: "u".to_owned(), password: Zeroizing::new(b"hidden".to_vec()) };
        assert_eq!(format!("{login:?}"), r#"Login { name: "u", .. }"#);
    }
}
