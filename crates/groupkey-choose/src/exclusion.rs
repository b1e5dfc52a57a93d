//! What rules a scheme or a candidate out, and what is given up with the requirements.

use std::collections::BTreeSet;

use groupkey::catalogue::{Assumption, Class, Law, Provenance, Recovery, Scheme};
use groupkey::{Operation, Suite};

use crate::decision::{Assessment, GivenUp, Quantity, Reason};
use crate::device::DevicePrices;
use crate::evidence::{POST_QUANTUM, VariantFacts};
use crate::number::grouped;
use crate::registry;
use crate::requirements::{Devices, Requirements, Security, Sleep};

/// Returns why a variant is out, whatever it costs.
pub(crate) fn by_nature(
    requirements: &Requirements,
    scheme: &Scheme,
    known: &VariantFacts,
) -> Vec<Reason> {
    let Requirements { members, trust, security, presence, .. } = requirements;
    let mut reasons = Vec::new();
    let mut rule =
        |holds: bool, requirement: &str, required: &str, has: String, nearest: Option<String>| {
            if !holds {
                reasons.push(Reason {
                    requirement: requirement.to_owned(),
                    required: required.to_owned(),
                    has,
                    nearest,
                });
            }
        };
    let class = scheme.class();
    let (least, most) = scheme.members;
    rule(
        scheme.law == Law::OneKey,
        "members",
        "a group key that changes when members do",
        scheme.law.meaning().to_owned(),
        None,
    );
    rule(
        (least..=most).contains(&members.at_most()),
        "members.most",
        &format!("{} members", members.at_most()),
        format!("{least} to {most} members"),
        Some(most.to_string()),
    );
    let capacity = scheme.enrolments(|name| known.variant.parameters.get(name).copied());
    let enrolments = members.enrolments();
    let limit = capacity.unwrap_or(u64::MAX) as f64;
    let lasts = ((limit - f64::from(members.at_most())) / (24.0 * members.joins)).floor();
    rule(
        enrolments <= limit,
        "members.lifetime",
        &format!("{} members that are ever enrolled", grouped(enrolments.ceil())),
        format!("at most {} until the group is created anew", grouped(limit)),
        (lasts >= 1.0 && lasts.is_finite()).then(|| lasts.to_string()),
    );
    rule(
        trust.controller || class == Class::Distributed,
        "trust.controller",
        "no server that draws the keys",
        format!("it is {}", class.name()),
        Some("true".to_owned()),
    );
    if class == Class::Hybrid {
        let subgroups = known.variant.parameters.get("subgroups").copied().or_else(|| {
            let parameter =
                scheme.parameters.iter().find(|parameter| parameter.name == "subgroups");
            parameter.map(|parameter| parameter.sound)
        });
        let subgroups = subgroups.unwrap_or(1);
        rule(
            trust.gateways >= subgroups,
            "trust.gateways",
            &format!("at most {} gateways", trust.gateways),
            format!("{subgroups} subgroups, each with a gateway"),
            Some(subgroups.to_string()),
        );
        rule(
            trust.gateways_know_the_key
                || known.confirmed.contains("passive/secrecy-from-subgroup-controller"),
            "trust.gateways-know-the-key",
            "gateways that do not learn the group key",
            "its gateways learn it, or the audit did not confirm that they do not".to_owned(),
            Some("true".to_owned()),
        );
    }
    let needed = [
        (members.joins > 0.0, Operation::Add, "members.joins"),
        (members.leaves > 0.0, Operation::Remove, "members.leaves"),
        (members.rekeys > 0.0, Operation::Rekey, "members.rekeys"),
        (presence.splits, Operation::Partition, "presence.splits"),
        (presence.splits, Operation::Merge, "presence.splits"),
    ];
    for (is_needed, operation, requirement) in needed {
        rule(
            !is_needed || scheme.operations.contains(&operation),
            requirement,
            &format!("the operation {}", operation.name()),
            "it has none".to_owned(),
            Some(if presence.splits { "false" } else { "0" }.to_owned()),
        );
    }
    rule(
        security.stand_ins || scheme.provenance != Provenance::StandIn,
        "security.stand-ins",
        "a scheme of the literature",
        "a stand-in: the published protocol could not be identified".to_owned(),
        Some("true".to_owned()),
    );
    let is_own = registry::own_schemes().any(|own| own.id == scheme.id);
    let unaudited = (is_own && known.confirmed.is_empty()).then(|| not_audited(scheme.id));
    for (adversary, claims) in [("passive", &security.passive), ("active", &security.active)] {
        for claim in claims {
            rule(
                known.confirmed.contains(&format!("{adversary}/{claim}")),
                &format!("security.{adversary}"),
                &format!("{claim}, confirmed by the audit"),
                unaudited.clone().unwrap_or_else(|| not_confirmed(scheme).to_owned()),
                unaudited.is_none().then(|| format!("without {claim}")),
            );
        }
    }
    rule(
        security.guard.as_ref().is_none_or(|guard| *guard == known.variant.guard),
        "security.guard",
        security.guard.as_deref().unwrap_or_default(),
        known.variant.guard.clone(),
        Some(known.variant.guard.clone()),
    );
    rule(
        known.bits >= security.bits,
        "security.bits",
        &format!("{} bits", security.bits),
        format!("{} bits", known.bits),
        Some(known.bits.to_string()),
    );
    rule(
        !security.post_quantum || known.post_quantum,
        "security.post-quantum",
        "nothing that a quantum computer breaks",
        breakable(scheme),
        Some("false".to_owned()),
    );
    let wakes = match presence.sleep {
        Sleep::Rejoin => true,
        Sleep::CatchUp => scheme.recovery != Recovery::Rejoin,
        Sleep::Heal => scheme.recovery == Recovery::SelfHealing,
    };
    rule(
        wakes,
        "presence.sleep",
        match presence.sleep {
            Sleep::Rejoin => "rejoin",
            Sleep::CatchUp => "one request that brings the key",
            Sleep::Heal => "the keys that a member missed, too",
        },
        scheme.recovery.meaning().to_owned(),
        Some(if scheme.recovery == Recovery::Rejoin { "rejoin" } else { "catch-up" }.to_owned()),
    );
    reasons
}

fn breakable(scheme: &Scheme) -> String {
    let unsuited = Suite::named(POST_QUANTUM).and_then(|suite| scheme.unsuited_to(suite));
    match (unsuited, scheme.assumption) {
        (Some(unsuited), _) => unsuited.to_string(),
        (None, Assumption::Encapsulation) => {
            "it was counted over Diffie-Hellman alone: groupkey bench --suite pq counts it"
                .to_owned()
        }
        (None, _) => "it signs with Ed25519".to_owned(),
    }
}

/// Returns why no finding of an audit confirms a claim.
const fn not_confirmed(scheme: &Scheme) -> &'static str {
    match scheme.provenance {
        Provenance::Foreign => "foreign: the audit cannot look inside",
        _ => "the audit did not confirm it",
    }
}

/// Returns what is missing for a scheme that the program registered, and the commands that make it.
fn not_audited(scheme: &str) -> String {
    format!(
        "{scheme} was not audited: run audit --scheme {scheme} --profile sound --out {scheme}.jsonl, \
         then choose --audit {scheme}.jsonl"
    )
}

/// Returns which limits a candidate exceeds. A figure that is not exact must keep its limit with
/// the upper end of its interval.
pub(crate) fn by_limits(requirements: &Requirements, assessment: &Assessment) -> Vec<Reason> {
    let limits = &requirements.limits;
    let upper = |quantity: Quantity| assessment.figure(quantity).map(|figure| figure.interval.1);
    let energy = match limits.energy {
        Some(_) => "limits.energy",
        None => "limits.battery",
    };
    let checks = [
        ("limits.complete", limits.complete, upper(Quantity::CompletionOf99), "ms"),
        ("limits.sent", limits.sent, upper(Quantity::Sent), "bytes a day"),
        ("limits.received", limits.received, upper(Quantity::Received), "bytes a day"),
        (energy, requirements.energy_limit(), upper(Quantity::Energy), "J a day"),
        ("limits.keys", limits.keys, upper(Quantity::Keys), "bytes"),
        ("limits.memory", limits.memory, working_memory(assessment), "bytes"),
        ("limits.flash", limits.flash, upper(Quantity::Flash), "bytes of flash"),
        ("limits.message", limits.message, upper(Quantity::LargestMessage), "bytes"),
    ];
    let exceeded = checks.into_iter().filter_map(|(requirement, limit, value, unit)| {
        let (limit, value) = (limit?, value?);
        (value > limit).then(|| Reason {
            requirement: requirement.to_owned(),
            required: format!("at most {} {unit}", rounded(limit)),
            has: format!("{} {unit}", rounded(value)),
            nearest: Some(rounded_up(value)),
        })
    });
    let mut reasons: Vec<Reason> = exceeded.collect();
    if limits.flash.is_some() && upper(Quantity::Flash).is_none() {
        reasons.push(Reason {
            requirement: "limits.flash".to_owned(),
            required: "a program that was weighed".to_owned(),
            has: "nobody weighed it with this suite and protection".to_owned(),
            nearest: None,
        });
    }
    reasons.extend(by_board(requirements, assessment));
    reasons
}

/// Returns what of its board's memory a candidate exceeds. What was not counted exceeds nothing
/// that is known.
fn by_board(requirements: &Requirements, assessment: &Assessment) -> Vec<Reason> {
    let Devices { member, .. } = &requirements.devices;
    let device = requirements.devices.prices(member);
    let Some((memory, flash)) = device.and_then(|device| device.capacity) else {
        return Vec::new();
    };
    let needed = assessment.figure(Quantity::Flash).map(|figure| figure.interval.1);
    let working = working_memory(assessment);
    let is_held = |(memory, flash): (f64, f64)| {
        working.is_none_or(|working| working <= memory)
            && needed.is_none_or(|needed| needed <= flash)
    };
    let boards = DevicePrices::shipped().iter();
    let nearest = boards
        .filter_map(|board| Some((board, board.capacity?)))
        .filter(|(_, capacity)| is_held(*capacity))
        .min_by(|(_, (one, _)), (_, (other, _))| one.total_cmp(other))
        .map(|(board, _)| board.name.clone());
    let parts = [(working, memory, "working memory"), (needed, flash, "flash")];
    let short = parts.into_iter().filter_map(|(needed, available, memory)| {
        let needed = needed.filter(|needed| *needed > available)?;
        Some(Reason {
            requirement: "devices.member".to_owned(),
            required: format!("at most {} bytes of {memory}", rounded(available)),
            has: format!("{} bytes", rounded(needed)),
            nearest: nearest.clone(),
        })
    });
    short.collect()
}

/// Returns the working memory of a member (bytes): known, and at least its keys and the largest message.
fn working_memory(assessment: &Assessment) -> Option<f64> {
    let of = |quantity| assessment.figure(quantity).map(|figure| figure.interval.1);
    let least = Some(of(Quantity::Keys)? + of(Quantity::LargestMessage)?);
    [of(Quantity::Memory), least].into_iter().flatten().reduce(f64::max)
}

/// Returns what the requirements give up. `confirmed` are the claims that the audit confirmed of the
/// recommended candidate, as in [`VariantFacts`](crate::evidence::VariantFacts::confirmed).
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
            let (what, risk) = claim_and_risk(adversary, claim);
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
fn claim_and_risk(adversary: &str, claim: &str) -> (String, String) {
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

/// How far a candidate is from meeting the requirements, for comparison: a limit is more easily
/// relaxed than anything else, if a value is known that would do.
pub(crate) fn distance(reasons: &[Reason]) -> usize {
    let is_limit = |reason: &Reason| {
        reason.requirement.starts_with("limits.") || reason.requirement == "devices.member"
    };
    let weight = |reason: &Reason| match (is_limit(reason), &reason.nearest) {
        (true, Some(_)) => 1,
        (true, None) => 2,
        (false, _) => 4,
    };
    reasons.iter().map(weight).sum()
}

/// Writes a number with three significant digits.
fn rounded(value: f64) -> String {
    let digits = digits(value);
    format!("{value:.digits$}")
}

/// The same, not below the value: as a limit it lets the value pass.
fn rounded_up(value: f64) -> String {
    let digits = digits(value);
    let scale = 10f64.powi(digits as i32);
    format!("{:.digits$}", (value * scale).ceil() / scale)
}

fn digits(value: f64) -> usize {
    let before = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    usize::try_from(2 - before).unwrap_or(0).min(12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose;
    use crate::decision::Variant;

    /// The answer is among schemes of symmetric algorithms with signatures of suite `pq`. Others are out
    /// with the reason, and a board without the memory for such a signature is no member.
    #[test]
    fn a_post_quantum_group_signs_by_its_suite() {
        let mut requirements = Requirements::default();
        requirements.security.post_quantum = true;
        let decision = choose(&requirements).expect("there are grounds");
        let best = decision.recommended.expect("some scheme is symmetric");
        let Variant { suite, guard, .. } = &best.candidate.variant;
        assert_eq!((&**suite, guard != "mac"), (POST_QUANTUM, true));
        let usual = choose(&Requirements::default()).expect("there are grounds").recommended;
        assert!(best.cost > usual.expect("some scheme fits").cost);
        for (scheme, reason) in [
            ("tgdh", "built on Diffie-Hellman"),
            ("nishat", "built on a pairing"),
            ("treekem", "counted over Diffie-Hellman"),
        ] {
            let out = decision.out.iter().find(|out| out.scheme == scheme).expect(scheme);
            let mut reasons = out.reasons.iter();
            let of_it = reasons.find(|reason| reason.requirement == "security.post-quantum");
            assert!(of_it.is_some_and(|of_it| of_it.has.contains(reason)), "{:?}", out.reasons);
        }
        requirements.devices.member = "stm32l4".to_owned();
        let decision = choose(&requirements).expect("there are grounds");
        assert_eq!(decision.recommended, None, "96 KiB are too few");
        // A member that only listens checks, and acknowledgements are not signed.
        requirements.devices.member = "nrf52840".to_owned();
        let decision = choose(&requirements).expect("there are grounds");
        let best = decision.recommended.expect("160 KiB are enough for a check");
        assert!(best.figure(Quantity::Sent).is_some_and(|sent| sent.value > 0.0), "QoS 1");
        assert!(best.figure(Quantity::Memory).is_some_and(|memory| memory.value > 100_000.0));
        requirements.presence.sleep = Sleep::CatchUp;
        let decision = choose(&requirements).expect("there are grounds");
        assert_eq!(decision.recommended, None, "who asks for what it missed signs");
    }

    #[test]
    fn limits_are_written_so_that_they_let_the_value_pass() {
        for value in [0.001_234_5, 0.5, 1.0, 12.341, 999.6, 12_345.6] {
            let limit: f64 = rounded_up(value).parse().expect("a number");
            assert!(limit >= value && limit <= value * 1.01, "{value}: {limit}");
        }
        assert_eq!(rounded(12_345.6), "12346");
        assert_eq!(rounded(0.012_345), "0.0123");
    }
}
