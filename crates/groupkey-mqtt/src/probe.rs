//! Does a broker keep the rules that group keys depend on? [`run`] exchanges single packets with
//! it, cuts connections in the worst moments, and says of every rule whether it held.
//!
//! Every [`Check`] names the clause of the standard that it tests. `[MQTT-x.y.z-n]` are the
//! numbered statements of MQTT 3.1.1 (OASIS, 29 October 2014) and MQTT 5.0 (OASIS, 7 March 2019);
//! a bare number is a section. Topics and client identifiers begin with a random prefix; sessions
//! and retained messages are removed afterwards. Every wait has an end.

mod bench;
mod checks;
pub(crate) mod client;
#[cfg(test)]
mod faulty;
mod line;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use crate::packet::{Connack, Connect};
use crate::tls::Tls;
use bench::Bench;
use client::Client;
use serde::Serialize;

pub use crate::login::Login;
pub use crate::version::Version;
pub use checks::CHECKS;

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

/// One rule, and what tests it.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Short, with hyphens.
    pub name: &'static str,
    /// What is done, and what must come of it.
    pub about: &'static str,
    /// Clauses of MQTT 3.1.1; nothing where only version 5 has the rule.
    pub clauses_v3: Option<&'static str>,
    /// Clauses of MQTT 5.
    pub clauses_v5: &'static str,
    run: fn(&Bench<'_>) -> Result<String, Stop>,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The rule held.
    Pass,
    /// It did not.
    Fail,
    /// It could not be tested.
    Skipped,
}

/// A check, run in one version of the protocol.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was checked.
    pub check: &'static Check,
    /// In which version.
    pub version: Version,
    /// How it went.
    pub verdict: Verdict,
    /// What was seen.
    pub seen: String,
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

/// Runs all checks, in 3.1.1 and then in 5, and hands over each finding as it is made.
///
/// Takes some ten seconds with a broker that answers at once; two checks have to wait for
/// something to expire. The checks of a version that the broker does not speak are skipped.
pub fn run(target: &Target, mut found: impl FnMut(&Finding)) -> Result<Vec<Finding>, Error> {
    let v3 = greet(target, Version::V3);
    if let Err(error @ (Error::NoConnection(_) | Error::NoTls(_))) = v3 {
        return Err(error);
    }
    let v5 = greet(target, Version::V5);
    if let (Err(error), Err(_)) = (&v3, &v5) {
        return Err(error.clone());
    }
    let prefix = random_prefix();
    let mut findings = Vec::new();
    for version in Version::ALL {
        for check in CHECKS.iter().filter(|check| check.clauses(version).is_some()) {
            let result = match (version, &v3, &v5) {
                (Version::V3, Err(_), _) | (Version::V5, _, Err(_)) => {
                    Err(Stop::Skipped(format!("the broker does not speak MQTT {version} here")))
                }
                _ => {
                    let prefix = format!("{prefix}/{}/{version}", check.name);
                    let bench = Bench::new(target, version, prefix);
                    let result = (check.run)(&bench);
                    bench.clean_up();
                    result
                }
            };
            let (verdict, seen) = match result {
                Ok(seen) => (Verdict::Pass, seen),
                Err(Stop::Broken(seen)) => (Verdict::Fail, seen),
                Err(Stop::Skipped(seen)) => (Verdict::Skipped, seen),
            };
            let finding = Finding { check, version, verdict, seen };
            found(&finding);
            findings.push(finding);
        }
    }
    Ok(findings)
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

impl Check {
    /// The clauses that it tests in this version.
    pub const fn clauses(&self, version: Version) -> Option<&'static str> {
        match version {
            Version::V3 => self.clauses_v3,
            Version::V5 => Some(self.clauses_v5),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Skipped => "skipped",
        })
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

/// Why a check ends without a pass.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The rule was broken; what was seen.
    Broken(String),
    /// It cannot be tested; why.
    Skipped(String),
}

/// Goes on only if the rule held so far.
fn require(held: bool, seen: impl FnOnce() -> String) -> Result<(), Stop> {
    if held { Ok(()) } else { Err(Stop::Broken(seen())) }
}

/// Makes sure that there is a broker that takes us.
fn greet(target: &Target, version: Version) -> Result<(), Error> {
    let mut client = Client::dial(target, version).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Error::NoTls(error.to_string()),
        _ => Error::NoConnection(error.to_string()),
    })?;
    let bench = Bench::new(target, version, random_prefix());
    let hello: Connect = bench.hello("greeting");
    match client.connect(hello) {
        Ok(Connack { code: 0, .. }) => {
            let _ = client.leave();
            Ok(())
        }
        Ok(Connack { code, .. }) => Err(Error::Refused(code)),
        Err(Stop::Broken(seen) | Stop::Skipped(seen)) => Err(Error::NoBroker(seen)),
    }
}

/// The standard library seeds its hashers from the system's randomness; so little is enough for a
/// name that must only be unlike others.
fn random_prefix() -> String {
    format!("groupkey-probe/{:08x}", RandomState::new().build_hasher().finish() as u32)
}
