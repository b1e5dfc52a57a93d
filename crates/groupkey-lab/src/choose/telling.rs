//! A decision in words: sentences, values with units, and the commands that make figures again.

use groupkey::catalogue::Class;
use groupkey_choose::board::Board;
use groupkey_choose::candidate::{Candidate, Variant};
use groupkey_choose::decision::{
    Assessment, Decision, Figure, Ground, Out, Quantity, Reason, Turn,
};
use groupkey_choose::requirements::{Devices, Requirements, Weights};

use crate::device::Device;
use crate::plan::Plan;
use crate::registry;

/// Returns a candidate in words: scheme, name, provenance, parameters, suite, protection, QoS.
pub fn candidate(candidate: &Candidate) -> String {
    let Variant { scheme, parameters, suite, guard } = &candidate.variant;
    let mut words = scheme.clone();
    if let Some(known) = registry::scheme(scheme) {
        words += &format!(" ({}; {})", known.name, known.provenance.name());
    }
    let mut parts: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    parts.push(format!("suite {suite}"));
    parts.push(match &**guard {
        "signature" => "a signature on each message".to_owned(),
        "mac" => "a MAC on each message".to_owned(),
        other => other.to_owned(),
    });
    parts.push(format!("QoS {}", candidate.qos));
    format!("{words} with {}", parts.join(", "))
}

/// Returns a candidate in few words, for tables: `lkh-group degree=8, standard, mac, QoS 1`.
pub fn short(candidate: &Candidate) -> String {
    candidate.to_string()
}

/// Returns the sentences on what is recommended, or on why nothing is.
pub fn recommendation(decision: &Decision, requirements: &Requirements) -> Vec<String> {
    let Some(best) = &decision.recommended else {
        let mut told = vec!["No scheme meets all requirements.".to_owned()];
        told.extend(
            nearest_miss(decision).map(|(scheme, words)| {
                format!("{scheme} comes nearest: it would do with {words}.")
            }),
        );
        return told;
    };
    let others = decision.front.len() + decision.beaten.len();
    let is_simulated = best.figures.iter().any(|figure| figure.ground == Ground::Simulated);
    let mut told = vec![format!("Take {}.", candidate(&best.candidate))];
    let least = match others {
        0 | 1 => "It is the only candidate that meets all requirements".to_owned(),
        others if is_simulated => format!(
            "Of the {others} candidates that were simulated and meet all requirements it costs least"
        ),
        others => format!(
            "Of the {} candidates that meet all requirements it costs least",
            thousands(others as f64)
        ),
    };
    told.push(format!("{least}: {} a day ({}).", number(best.cost), weights(requirements.weights)));
    let figures: Vec<String> = [
        (Quantity::CompletionOf99, "99 % of changes are complete within"),
        (Quantity::Energy, "a member needs"),
        (Quantity::Received, "receives"),
        (Quantity::Keys, "and keeps keys of"),
    ]
    .into_iter()
    .filter_map(|(quantity, words)| {
        let figure = best.figure(quantity)?;
        Some(format!("{words} {}", amount(quantity, figure.value)))
    })
    .collect();
    if !figures.is_empty() {
        told.push(capitalised(&format!("{}.", figures.join(", "))));
    }
    if best.figures.iter().any(|figure| figure.is_extrapolated) {
        told.push("What is extrapolated lies outside of what was counted or simulated.".to_owned());
    }
    told
}

/// Returns the scheme that comes nearest to meeting all requirements, and the fields that would let
/// it in. `None` if no values would let any scheme in.
pub fn nearest_miss(decision: &Decision) -> Option<(&str, String)> {
    let could = decision
        .out
        .iter()
        .filter(|out| !out.reasons.is_empty())
        .filter(|out| out.reasons.iter().all(|reason| reason.nearest.is_some()));
    let out = could.min_by_key(|out| out.reasons.len())?;
    let fields: Vec<String> = out.reasons.iter().filter_map(setting).collect();
    Some((&out.scheme, fields.join(" and ")))
}

/// Returns what a turn says: `above 1,400 members take lkh-group degree=8, ...`.
pub fn turn(turn: &Turn) -> String {
    let side = if turn.is_above { "above" } else { "below" };
    let at = match &*turn.requirement {
        "members.now" => format!("{} members", number(turn.at)),
        "members.leaves" => format!("{} leaves an hour", number(turn.at)),
        "members.joins" => format!("{} joins an hour", number(turn.at)),
        "network.loss" => format!("{} % loss", number(turn.at)),
        "network.delay" => format!("{} ms of delay", number(turn.at)),
        other => format!("{other} = {}", number(turn.at)),
    };
    match &turn.instead {
        Some(other) => format!("{side} {at} take {}", short(other)),
        None => format!("{side} {at} nothing meets the requirements"),
    }
}

/// Returns why a scheme is out, reason by reason.
pub fn reasons(out: &Out) -> Vec<String> {
    out.reasons
        .iter()
        .map(|reason| {
            let needs = match setting(reason) {
                Some(setting) => format!("; it needs {setting}"),
                None => String::new(),
            };
            format!("{}: {}, but {}{needs}", reason.requirement, reason.required, reason.has)
        })
        .collect()
}

/// Returns what would let a scheme in, as it would stand in a file.
fn setting(reason: &Reason) -> Option<String> {
    let value = reason.nearest.as_deref()?;
    Some(match value.strip_prefix("without ") {
        // One name less in a list.
        Some(name) => format!("{} without {name}", reason.requirement),
        None => format!("{} = {value}", reason.requirement),
    })
}

/// Returns what a figure rests on, with the device if one was priced.
pub fn ground(figure: &Figure, requirements: &Requirements) -> String {
    let device = match figure.quantity {
        Quantity::Controller => requirements.devices.controller.as_str(),
        _ => requirements.devices.of_member(),
    };
    let words = match figure.ground {
        Ground::Counted => "counted".to_owned(),
        Ground::Modelled => format!("modelled on {device}"),
        Ground::Fitted => "fitted".to_owned(),
        Ground::Simulated => "simulated".to_owned(),
    };
    match figure.is_extrapolated {
        true => format!("{words}, extrapolated"),
        false => words,
    }
}

/// Returns the grounds of all figures in few letters: `counted modelled fitted`.
pub fn grounds(assessment: &Assessment) -> String {
    let known = [
        (Ground::Counted, "counted"),
        (Ground::Modelled, "modelled"),
        (Ground::Fitted, "fitted"),
        (Ground::Simulated, "simulated"),
    ];
    let is_there = |ground| assessment.figures.iter().any(|figure| figure.ground == ground);
    let mut words: Vec<&str> =
        known.into_iter().filter(|(ground, _)| is_there(*ground)).map(|(_, word)| word).collect();
    if assessment.figures.iter().any(|figure| figure.is_extrapolated) {
        words.push("extrapolated");
    }
    words.join(" ")
}

/// Returns the interval of a figure, or `exact`.
pub fn interval(figure: &Figure) -> String {
    let (low, high) = figure.interval;
    match low == high {
        true => "exact".to_owned(),
        false => format!("{} to {}", number(low), number(high)),
    }
}

/// Returns the commands that make figures of a candidate again, each with what it shows.
pub fn commands(candidate: &Candidate, requirements: &Requirements) -> Vec<(&'static str, String)> {
    let Candidate { variant: Variant { scheme, parameters, suite, guard }, qos } = candidate;
    let members = requirements.members.now.min(Plan::MOST_MEMBERS);
    let mut form =
        format!("--scheme {scheme} --members {members} --suite {suite} --protection {guard}");
    for (name, value) in parameters {
        form += &format!(" --set {name}={value}");
    }
    let has = |operation: &str| {
        registry::scheme(scheme)
            .is_none_or(|known| known.operations.iter().any(|offered| offered.name() == operation))
    };
    let operations: Vec<&str> =
        ["add", "remove", "rekey"].into_iter().filter(|name| has(name)).collect();
    let operations = operations.join(",");
    let network = &requirements.network;
    let mut links =
        format!("--loss {} --delay {} --jitter {}", network.loss, network.delay, network.jitter);
    if let Some(rate) = network.bandwidth {
        links += &format!(" --bandwidth {rate}");
    }
    let Devices { gateway, controller, .. } = &requirements.devices;
    let member = profile_of_member(&requirements.devices);
    let mut devices = format!("--device {member} --controller-device {controller}");
    if registry::scheme(scheme).is_some_and(|known| known.class() == Class::Hybrid) {
        devices += &format!(" --subgroup-device {gateway}");
    }
    vec![
        (
            "what is counted and modelled",
            format!("groupkey bench {form} --operation {operations} --device {member}"),
        ),
        (
            "time to completion, simulated",
            format!("groupkey net {form} --operation {operations} {devices} {links} --qos {qos}"),
        ),
        ("what it withstands", format!("groupkey audit --scheme {scheme} --profile sound")),
    ]
}

/// Returns the name by which commands know what a member runs on. Where a profile has a board's name,
/// it is that of the counts that stand for the board.
fn profile_of_member(devices: &Devices) -> &str {
    match devices.board.as_deref().and_then(Board::named) {
        Some(board) if Device::named(&board.name).is_some() => &board.counts,
        Some(board) => &board.name,
        None => &devices.member,
    }
}

/// Returns a value with its unit, in a unit that keeps it short.
pub fn amount(quantity: Quantity, value: f64) -> String {
    let (_, unit) = quantity.name_and_unit();
    let (base, day) = unit.split_once("/day").map_or((unit, ""), |(base, _)| (base, " a day"));
    let scaled = match base {
        "ms" if value >= 1_000.0 => format!("{} s", number(value / 1_000.0)),
        "J" if value < 0.1 => format!("{} mJ", number(value * 1_000.0)),
        "B" if value >= 10_000_000.0 => format!("{} MB", number(value / 1_000_000.0)),
        "B" if value >= 10_000.0 => format!("{} kB", number(value / 1_000.0)),
        base => format!("{} {base}", number(value)),
    };
    scaled + day
}

/// Returns a number with three significant digits, and commas between thousands.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    let rounded = match digits {
        ..=0 => {
            let unit = 10_f64.powi(-digits);
            return thousands((value / unit).round() * unit);
        }
        digits => format!("{value:.0$}", digits.min(9) as usize),
    };
    let shorter = rounded.trim_end_matches('0').trim_end_matches('.');
    shorter.to_owned()
}

/// Returns a whole number with commas between thousands.
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut grouped = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns what a cost is made of.
fn weights(weights: Weights) -> String {
    let Weights { joule, second, kilobyte } = weights;
    let parts: Vec<String> =
        [(joule, "a joule"), (second, "a second of waiting"), (kilobyte, "a kilobyte")]
            .into_iter()
            .filter(|(weight, _)| *weight != 0.0)
            .map(|(weight, of)| format!("{} {of}", number(weight)))
            .collect();
    match parts.is_empty() {
        true => "all weights are 0".to_owned(),
        false => parts.join(", "),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_are_grouped() {
        let shown = [0.0, 0.012_34, 0.5, 1.0, 14.26, 430.4, 1_400.0, 12_345.0, 1.5e6].map(number);
        let expected = ["0", "0.0123", "0.5", "1", "14.3", "430", "1,400", "12,300", "1,500,000"];
        assert_eq!(shown, expected);
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }

    #[test]
    fn amounts_have_a_unit_that_keeps_them_short() {
        for (quantity, value, expected) in [
            (Quantity::CompletionOf99, 430.0, "430 ms"),
            (Quantity::CompletionOf99, 1_430.0, "1.43 s"),
            (Quantity::Energy, 0.004, "4 mJ a day"),
            (Quantity::Energy, 2.5, "2.5 J a day"),
            (Quantity::Received, 123_456.0, "123 kB a day"),
            (Quantity::Keys, 208.0, "208 B"),
        ] {
            assert_eq!(amount(quantity, value), expected);
        }
    }

    #[test]
    fn turns_say_on_which_side() {
        let candidate = Candidate {
            variant: Variant {
                scheme: "lkh-group".into(),
                parameters: [("degree".to_owned(), 8)].into(),
                suite: "standard".into(),
                guard: "mac".into(),
            },
            qos: 1,
        };
        let above = Turn {
            requirement: "members.now".into(),
            at: 1_400.0,
            is_above: true,
            instead: Some(candidate),
        };
        assert_eq!(
            turn(&above),
            "above 1,400 members take lkh-group degree=8, standard, mac, QoS 1"
        );
        let below =
            Turn { requirement: "network.loss".into(), at: 0.5, is_above: false, instead: None };
        assert_eq!(turn(&below), "below 0.5 % loss nothing meets the requirements");
    }
}
