//! Tests whether a broker keeps the rules on which group keys depend. [`run`] exchanges single
//! packets with the broker, and cuts connections at the worst moments. It reports for every rule
//! whether the rule held.
//!
//! Every [`ProbeCheck`] names the clause of the standard that it tests. `[MQTT-x.y.z-n]` are the
//! numbered statements of MQTT 3.1.1 (OASIS, 29 October 2014) and MQTT 5.0 (OASIS, 7 March 2019). A
//! bare number is a section. Topics and client identifiers begin with a random prefix. The probe
//! removes its sessions and retained messages afterwards. Every wait has an end.

mod bench;
mod check;
mod checks;
pub(crate) mod client;
#[cfg(test)]
mod faulty;
mod target;
mod transport;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;

use groupkey_mqtt::Version;
use groupkey_mqtt::tls::explained;
use serde::Serialize;

use self::bench::Bench;
use self::client::ProbeClient;
use crate::packet::{Abilities, Connack, Connect};

pub use self::check::ProbeCheck;
pub(crate) use self::check::Stop;
pub use self::checks::CHECKS;
pub use self::target::{Error, Login, ProbeTarget};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckResult {
    /// The rule held.
    Pass,
    /// The rule did not hold.
    Fail,
    /// The rule could not be tested.
    Skipped,
}

/// The result of a check in one version of the protocol.
#[derive(Clone, Debug)]
pub struct ProbeFinding {
    /// The check.
    pub check: &'static ProbeCheck,
    /// The version of MQTT.
    pub version: Version,
    /// Whether the rule held.
    pub verdict: CheckResult,
    /// What the probe saw.
    pub seen: String,
}

/// Runs all checks, in 3.1.1 and then in 5. Calls `found` with each finding as it is made.
///
/// Takes some ten seconds with a broker that answers at once. Two checks wait for a session or a
/// message to expire. The checks of a version that the broker does not speak are skipped.
pub fn run(
    target: &ProbeTarget,
    mut found: impl FnMut(&ProbeFinding),
) -> Result<Vec<ProbeFinding>, Error> {
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
                    let abilities = v5.clone().unwrap_or_default();
                    let bench = Bench::new(target, version, abilities, prefix);
                    let result = (check.run)(&bench);
                    bench.clean_up();
                    result
                }
            };
            let (verdict, seen) = match result {
                Ok(seen) => (CheckResult::Pass, seen),
                Err(Stop::Broken(seen)) => (CheckResult::Fail, seen),
                Err(Stop::Skipped(seen)) => (CheckResult::Skipped, seen),
            };
            let finding = ProbeFinding { check, version, verdict, seen };
            found(&finding);
            findings.push(finding);
        }
    }
    Ok(findings)
}

impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Skipped => "skipped",
        })
    }
}

/// Makes sure that a broker answers and accepts us. Returns what it announces.
fn greet(target: &ProbeTarget, version: Version) -> Result<Abilities, Error> {
    let mut client = ProbeClient::dial(target, version).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => {
            Error::NoTls(explained(&error).unwrap_or_else(|| error.to_string()))
        }
        _ => Error::NoConnection(error.to_string()),
    })?;
    let bench = Bench::new(target, version, Abilities::default(), random_prefix());
    let hello: Connect = bench.hello("greeting");
    match client.connect(hello) {
        Ok(Connack { code: 0, abilities, .. }) => {
            let _ = client.leave();
            Ok(abilities)
        }
        Ok(Connack { code, .. }) => Err(Error::Refused(code)),
        Err(Stop::Broken(seen) | Stop::Skipped(seen)) => Err(Error::NoBroker(seen)),
    }
}

/// Returns a random prefix. The standard library seeds its hashers from the system's randomness.
/// That is enough for a name that must only differ from others.
fn random_prefix() -> String {
    format!("groupkey-probe/{:08x}", RandomState::new().build_hasher().finish() as u32)
}
