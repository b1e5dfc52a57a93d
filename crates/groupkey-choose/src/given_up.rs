//! What requirements give up that is required by default.

use std::collections::BTreeSet;

use crate::decision::GivenUp;
use crate::requirements::{Requirements, Security};

/// Returns what the requirements give up. `confirmed` are the claims that the audit confirmed of the
/// recommended candidate, as in [`Known`](crate::evidence::Known::confirmed).
pub(crate) fn given_up(requirements: &Requirements, confirmed: &BTreeSet<String>) -> Vec<GivenUp> {
    let Requirements { security, network, .. } = requirements;
    let usual = Security::default();
    let claims = [
        ("passive", &usual.passive, &security.passive),
        ("active", &usual.active, &security.active),
    ];
    let mut given_up = Vec::new();
    for (adversary, usual, required) in claims {
        for claim in usual.iter().filter(|claim| !required.contains(claim)) {
            let (what, risk) = words(adversary, claim);
            given_up.push(GivenUp {
                requirement: format!("security.{adversary}"),
                what,
                risk,
                is_held: confirmed.contains(&format!("{adversary}/{claim}")),
            });
        }
    }
    if network.qos == Some(0) {
        given_up.push(GivenUp::at_least_once());
    }
    given_up
}

impl GivenUp {
    /// Returns what a group gives up whose messages have QoS 0.
    pub fn at_least_once() -> Self {
        Self {
            requirement: "network.qos".to_owned(),
            what: "delivery at least once".to_owned(),
            risk: "a QoS 0 message that is lost with a broken connection is never sent again; the \
                   member stays behind until it notices and catches up"
                .to_owned(),
            is_held: false,
        }
    }
}

/// Returns a claim in words, and what may happen without it.
fn words(adversary: &str, claim: &str) -> (String, String) {
    let (name, who, what) = match claim {
        "forward-secrecy" => ("forward secrecy", "an evicted member", "may get later keys"),
        "backward-secrecy" => ("backward secrecy", "a joining member", "may get earlier keys"),
        "collusion-resistance" => {
            ("collusion resistance", "evicted members", "who collude may get back in")
        }
        "secrecy-from-outsiders" => {
            ("secrecy from outsiders", "a party that never was a member", "may get the key")
        }
        _ => (claim, "a party", "may break it"),
    };
    match adversary {
        "active" => {
            (format!("{name} against forged messages"), format!("{who} {what} by forging messages"))
        }
        _ => (name.to_owned(), format!("{who} {what}")),
    }
}
