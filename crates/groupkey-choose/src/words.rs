//! A decision in words: sentences, and values with units.

mod exclusions;
mod figures;

use groupkey::Operation;
use groupkey::catalogue::Departures;

pub use self::exclusions::{nearest_miss, reasons};
use self::figures::device_and_radio;
pub use self::figures::{amount, ground, grounds, interval};
use crate::decision::{
    Assessment, Candidate, Decision, GivenUp, Ground, Quantity, Race, RaceEnd, Standing,
    TippingPoint, Variant,
};
use crate::equals::{rfc, size};
use crate::number::{grouped, rounded};
use crate::periods::ExpectedChanges;
use crate::registry;
use crate::requirements::{Requirements, Weights};

/// Returns a candidate in words: scheme, name, provenance, parameters, suite, protection, QoS.
pub fn candidate(candidate: &Candidate) -> String {
    format!("{} with {}", named(&candidate.variant.scheme), form(candidate))
}

fn named(scheme: &str) -> String {
    match registry::scheme(scheme) {
        Some(known) => format!("{scheme} ({}; {})", known.name, known.provenance.name()),
        None => scheme.to_owned(),
    }
}

/// Returns what was chosen for a scheme: parameters, suite, protection, QoS.
fn form(candidate: &Candidate) -> String {
    let Variant { parameters, suite, guard, .. } = &candidate.variant;
    let mut parts: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    parts.push(format!("suite {suite}"));
    parts.push(match &**guard {
        "signature" => "a signature on each message".to_owned(),
        "mac" => "a MAC on each message".to_owned(),
        "merkle" => "one signature for all messages of a step".to_owned(),
        other => other.to_owned(),
    });
    parts.push(format!("QoS {}", candidate.qos));
    parts.join(", ")
}

/// Returns the sentences on what is recommended, or on why nothing is.
pub fn recommendation(decision: &Decision, requirements: &Requirements) -> Vec<String> {
    let mut told = in_short(decision, requirements);
    told.extend(details(decision, requirements));
    told
}

/// Returns the answer in short. The first sentence says what to take, why, what comes next, and what
/// would decide between the two; the last one, what is not known. Between them is what the
/// requirements give up.
pub fn in_short(decision: &Decision, requirements: &Requirements) -> Vec<String> {
    let Some(best) = &decision.recommended else {
        let mut told = vec!["No scheme meets all requirements.".to_owned()];
        told.extend(
            nearest_miss(decision).map(|(scheme, words)| {
                format!("{scheme} comes nearest: it would do with {words}.")
            }),
        );
        return told;
    };
    let (claims, others): (Vec<_>, Vec<_>) = decision
        .given_up
        .iter()
        .partition(|given_up| given_up.requirement.starts_with("security."));
    let scheme = named(&best.candidate.variant.scheme);
    let grounds = grounds_of(decision, best);
    let mut told = match claims.is_empty() {
        true => vec![format!("Take {scheme}: {grounds}.")],
        false => {
            vec![
                format!("Take {scheme}{}.", without(&claims)),
                format!("{}.", capitalised(&grounds)),
            ]
        }
    };
    told.extend(others.into_iter().map(risk));
    told.push(format!("Not known: {}.", unknown(decision, best, requirements).join("; ")));
    told
}

/// Returns why a candidate is recommended, what comes next, and what would decide for that.
fn grounds_of(decision: &Decision, best: &Assessment) -> String {
    let own = &best.candidate.variant.scheme;
    let all = || decision.front.iter().chain(&decision.beaten);
    let others = all().filter(|one| one.candidate.variant.scheme != *own);
    let is_equal = |one: &&Assessment| decision.equals.contains(&one.candidate);
    let equal = decision.equals.iter().find(|equal| equal.variant.scheme != *own);
    let runner_up = match equal {
        Some(equal) => all().find(|one| one.candidate == *equal),
        None => others.clone().min_by(|one, other| one.cost.total_cmp(&other.cost)),
    };
    let Some(next) = runner_up else {
        return "it is the only scheme that meets your requirements, so nothing comes next"
            .to_owned();
    };
    let why = match is_equal(&next) {
        true => format!(
            "no scheme that meets your requirements costs noticeably less, and {}",
            precedence(best, next)
        ),
        false => {
            let more = 100.0 * (next.cost / best.cost - 1.0);
            format!(
                "it costs least of what meets your requirements, the next scheme {} % more",
                rounded(more)
            )
        }
    };
    let scheme = &next.candidate.variant.scheme;
    format!("{why}; next comes {scheme} ({}), {}", standing(scheme), deciding(decision, best, next))
}

/// Returns what goes before what of two that are equal.
fn precedence(best: &Assessment, next: &Assessment) -> String {
    let provenance = |one: &Assessment| {
        let scheme = registry::scheme(&one.candidate.variant.scheme);
        (scheme.map(|scheme| scheme.provenance), scheme.and_then(rfc))
    };
    let ((ours, our_rfc), (theirs, their_rfc)) = (provenance(best), provenance(next));
    match (ours, our_rfc) {
        (Some(ours), _) if theirs != Some(ours) => {
            format!("this one is {}", ours.name())
        }
        (_, Some(rfc)) if their_rfc.is_none() => format!("this one has {rfc}"),
        _ if size(best) < size(next) => "this one takes less room on a member".to_owned(),
        _ => "this one costs least".to_owned(),
    }
}

fn deciding(decision: &Decision, best: &Assessment, next: &Assessment) -> String {
    let scheme = &next.candidate.variant.scheme;
    let is_theirs = |turn: &&TippingPoint| {
        turn.instead.as_ref().is_some_and(|instead| instead.variant.scheme == *scheme)
    };
    if let Some(turn) = decision.turns.iter().find(is_theirs) {
        return format!("which is first {}", side(turn));
    }
    let better = |quantity: Quantity| {
        let (ours, theirs) = (best.figure(quantity)?, next.figure(quantity)?);
        let share = theirs.value / ours.value;
        (share < MUCH_LESS).then_some((share, quantity, ours.value, theirs.value))
    };
    let most =
        DECIDING.into_iter().filter_map(better).min_by(|one, other| one.0.total_cmp(&other.0));
    match most {
        Some((_, quantity, ours, theirs)) => {
            let (name, _) = quantity.name_and_unit();
            let [ours, theirs] = [ours, theirs].map(|value| amount(quantity, value));
            format!("better if one figure decides: {name}, {theirs} in place of {ours}")
        }
        None => "which is clearly better in no figure".to_owned(),
    }
}

/// What a group may decide by, if its cost does not decide.
const DECIDING: [Quantity; 8] = [
    Quantity::Completion,
    Quantity::Energy,
    Quantity::Sent,
    Quantity::Received,
    Quantity::Keys,
    Quantity::Memory,
    Quantity::Flash,
    Quantity::LargestMessage,
];
/// A figure of at most this share of another one is clearly less.
const MUCH_LESS: f64 = 0.9;

/// Returns what an answer does not know, the most important first.
fn unknown(decision: &Decision, best: &Assessment, requirements: &Requirements) -> Vec<String> {
    let mut told = Vec::new();
    let ground = |quantity| best.figure(quantity).map(|figure| figure.ground);
    let race = decision.race.as_ref();
    if race.is_some_and(|race| race.end == RaceEnd::Interrupted) {
        told.push(
            "what the rest of the simulation would have shown, for it was interrupted".to_owned(),
        );
    }
    let open = race.into_iter().flat_map(|race| &race.finalists);
    let open: Vec<String> = open
        .filter(|one| one.standing == Standing::Open && one.candidate != best.candidate)
        .map(|one| one.candidate.variant.scheme.clone())
        .collect();
    if !open.is_empty() && race.is_some_and(|race| race.end == RaceEnd::Open) {
        told.push(format!("whether {} cost as little", listed(&distinct(open))));
    }
    let is_fitted = |quantity| ground(quantity) == Some(Ground::Fitted);
    match (is_fitted(Quantity::Completion), is_fitted(Quantity::CompletionOf99)) {
        (true, _) => told.push("how long changes take but for a model's errors".to_owned()),
        (_, true) => {
            told.push("how long the slowest changes take but for a model's errors".to_owned())
        }
        _ => {}
    }
    if best.figures.iter().any(|figure| figure.is_extrapolated && figure.ground != Ground::Fitted) {
        told.push("counts in so large a group, which are extrapolated".to_owned());
    }
    if requirements.network.outages.is_some() {
        told.push("what outages cost in energy and bytes".to_owned());
    }
    let (priced, is_assumed) = device_and_radio(&requirements.devices);
    if is_assumed {
        told.push(format!(
            "the energy of your own device and radio, for that of {priced} is modelled by assumed \
             prices"
        ));
    }
    told.push("how members delay each other on one radio channel".to_owned());
    told
}

/// Returns items, each once, in the order in which they come first.
fn distinct(items: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    items.into_iter().for_each(|item| {
        if !once.contains(&item) {
            once.push(item);
        }
    });
    once
}

/// Returns a scheme's provenance and its RFC, if it has one.
fn standing(id: &str) -> String {
    match registry::scheme(id) {
        Some(scheme) => match rfc(scheme) {
            Some(rfc) => format!("{}, {rfc}", scheme.provenance.name()),
            None => scheme.provenance.name().to_owned(),
        },
        None => "unknown".to_owned(),
    }
}

/// Returns the sentences on form, equals, simulation, cost and figures.
pub fn details(decision: &Decision, requirements: &Requirements) -> Vec<String> {
    let Some(best) = &decision.recommended else { return Vec::new() };
    let mut told = vec![format!("Run it with {}.", form(&best.candidate))];
    told.extend(decision.race.as_ref().map(raced));
    told.extend(equals(decision));
    told.push(cost(decision, best, requirements));
    told.extend(after_departures(best, requirements));
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
    told.extend(ExpectedChanges::of(&requirements.members).map(|expected| waits(best, &expected)));
    if best.figures.iter().any(|figure| figure.is_extrapolated) {
        told.push("What is extrapolated lies outside of what was counted or simulated.".to_owned());
    }
    told
}

/// Returns the sentence on the departures after which a scheme's costs were taken, if they matter to
/// it.
fn after_departures(best: &Assessment, requirements: &Requirements) -> Option<String> {
    let scheme = registry::scheme(&best.candidate.variant.scheme)?;
    if scheme.departures == Departures::Forgotten {
        return None;
    }
    let members = &requirements.members;
    let departures = |share: f64| grouped((share * members.departures()).round());
    Some(format!(
        "Its messages grow with the members that have left: its figures are those after {} \
         departures, in the middle of a life of {} days, and limits hold after {}. Nothing makes \
         the group anew by itself.",
        departures(0.5),
        rounded(members.lifetime),
        departures(1.0)
    ))
}

/// Returns the sentences on joins and evictions that wait to become one change.
fn waits(best: &Assessment, expected: &ExpectedChanges) -> String {
    let ExpectedChanges { changes, members, eviction_wait, .. } = *expected;
    let [longest, longest_join] = [expected.longest_eviction_wait, expected.longest_join_wait];
    let has_batches = registry::scheme(&best.candidate.variant.scheme)
        .is_some_and(|scheme| scheme.operations.contains(&Operation::Batch));
    let told = match has_batches {
        true => format!(
            "{} joins and evictions an hour wait, and become {} changes of the key",
            rounded(changes * members),
            rounded(changes)
        ),
        false => {
            "Joins and evictions wait, but the scheme has no batches, and changes the key for \
                  each"
                .to_owned()
        }
    };
    format!(
        "{told}. An eviction waits {} ms before its change, {} at most, and a join at most {}; \
         limits.complete begins with the change.",
        rounded(eviction_wait),
        rounded(longest),
        rounded(longest_join)
    )
}

/// Returns the sentence on how the finalists were simulated.
fn raced(race: &Race) -> String {
    let runs = race.finalists.iter().map(|one| one.runs);
    let (least, most) = (runs.clone().min().unwrap_or_default(), runs.max().unwrap_or_default());
    let runs = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    let end = match race.end {
        RaceEnd::Settled => {
            format!(
                "what is equal and what is dearer is settled with {} % confidence",
                100.0 * race.confidence
            )
        }
        RaceEnd::Open => "which could not settle all of them".to_owned(),
        RaceEnd::Interrupted => "until it was interrupted".to_owned(),
    };
    format!(
        "{} of the {} candidates that could cost least were simulated, {runs} times each: {end}.",
        race.finalists.len(),
        race.could_win
    )
}

/// Returns what a first sentence says of claims that are given up.
fn without(claims: &[&GivenUp]) -> String {
    let (held, lost): (Vec<&GivenUp>, Vec<&GivenUp>) =
        claims.iter().copied().partition(|claim| claim.is_held);
    let list = |claims: &[&GivenUp], words: fn(&GivenUp) -> &String| {
        listed(&claims.iter().map(|claim| words(claim).clone()).collect::<Vec<_>>())
    };
    let mut told = String::new();
    if !held.is_empty() {
        told +=
            &format!(", which has {} although you gave it up", list(&held, |claim| &claim.what));
    }
    if !lost.is_empty() {
        let (what, risks) = (list(&lost, |claim| &claim.what), list(&lost, |claim| &claim.risk));
        told += &format!(", but you gave up {what}: {risks}");
    }
    told
}

/// Returns a sentence on what is given up, and what may happen without it.
fn risk(given_up: &GivenUp) -> String {
    let GivenUp { requirement, what, risk, .. } = given_up;
    format!("{requirement} gives up {what}: {risk}.")
}

/// Returns the sentences on the schemes that are equal, if there are several.
fn equals(decision: &Decision) -> Vec<String> {
    let schemes = decision.equals.iter().map(|equal| equal.variant.scheme.clone());
    let schemes = distinct(schemes.collect());
    if schemes.len() < 2 {
        return Vec::new();
    }
    let described: Vec<String> =
        schemes.iter().map(|scheme| format!("{scheme} ({})", standing(scheme))).collect();
    let knows = match decision.race {
        Some(_) => "as far as the simulation can tell",
        None => "as far as the model knows",
    };
    vec![
        format!("These {} are equal {knows}: {}.", schemes.len(), listed(&described)),
        "Of equals, a specified scheme goes first, then one with an RFC, then the smaller one."
            .to_owned(),
    ]
}

fn cost(decision: &Decision, best: &Assessment, requirements: &Requirements) -> String {
    let all = || decision.front.iter().chain(&decision.beaten);
    let is_simulated = best.figures.iter().any(|figure| figure.ground == Ground::Simulated);
    let meet = if is_simulated { "were simulated and meet" } else { "meet" };
    let amount = format!("{} a day ({})", rounded(best.cost), weights(requirements.weights));
    let others = grouped(all().count() as f64);
    let least = all().map(|one| one.cost).fold(best.cost, f64::min);
    match all().count() {
        0 | 1 => format!("It is the only candidate that meets all requirements: {amount}."),
        _ if least < best.cost => format!(
            "It costs {amount}; the cheapest of the {others} candidates that {meet} all \
             requirements costs {}.",
            rounded(least)
        ),
        _ => format!(
            "Of the {others} candidates that {meet} all requirements it costs least: {amount}."
        ),
    }
}

/// Returns what a turn says: `above 1,400 members take lkh-group degree=8, ...`.
pub fn turn(turn: &TippingPoint) -> String {
    match &turn.instead {
        Some(other) => format!("{} take {other}", side(turn)),
        None => format!("{} nothing meets the requirements", side(turn)),
    }
}

/// Returns on which side of which value a turn is: `above 1,400 members`.
fn side(turn: &TippingPoint) -> String {
    let side = if turn.is_above { "above" } else { "below" };
    let at = match &*turn.requirement {
        "members.now" => format!("{} members", rounded(turn.at)),
        "members.leaves" => format!("{} leaves an hour", rounded(turn.at)),
        "members.joins" => format!("{} joins an hour", rounded(turn.at)),
        "network.loss" => format!("{} % loss", rounded(turn.at)),
        "network.delay" => format!("{} ms of delay", rounded(turn.at)),
        other => format!("{other} = {}", rounded(turn.at)),
    };
    format!("{side} {at}")
}

/// Returns what a cost is made of.
fn weights(weights: Weights) -> String {
    let Weights { joule, second, kilobyte } = weights;
    let parts: Vec<String> =
        [(joule, "a joule"), (second, "a second of waiting"), (kilobyte, "a kilobyte")]
            .into_iter()
            .filter(|(weight, _)| *weight != 0.0)
            .map(|(weight, of)| format!("{} {of}", rounded(weight)))
            .collect();
    match parts.is_empty() {
        true => "all weights are 0".to_owned(),
        false => parts.join(", "),
    }
}

/// Returns items as one would say them: `one, another and a third`.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Figure, Finalist};

    fn assessment(scheme: &str, cost: f64) -> Assessment {
        let variant = Variant {
            scheme: scheme.into(),
            parameters: Default::default(),
            suite: "standard".into(),
            guard: "signature".into(),
        };
        let candidate = Candidate { variant, qos: 1 };
        Assessment { candidate, cost, error: 0.04, figures: Vec::new() }
    }

    fn given_up(is_held: bool) -> GivenUp {
        GivenUp {
            requirement: "security.passive".into(),
            what: "collusion resistance".into(),
            risk: "evicted members who collude may get back in".into(),
            is_held,
        }
    }

    #[test]
    fn what_is_given_up_is_in_the_first_sentence() {
        let first = |given_up: Vec<GivenUp>| {
            let best = assessment("cfkm", 1.0);
            let front = vec![best.clone()];
            let decision =
                Decision { recommended: Some(best), front, given_up, ..Decision::default() };
            recommendation(&decision, &Requirements::default())[..2].to_vec()
        };
        let cfkm = "cfkm (CFKM, centralized flat key management; reconstructed)";
        let alone = "It is the only scheme that meets your requirements, so nothing comes next.";
        let lost = first(vec![given_up(false)]);
        let told = format!(
            "Take {cfkm}, but you gave up collusion resistance: evicted members who collude may get \
             back in."
        );
        assert_eq!(lost, [told, alone.to_owned()]);
        let held = first(vec![given_up(true)]);
        let told = format!("Take {cfkm}, which has collusion resistance although you gave it up.");
        assert_eq!(held, [told, alone.to_owned()]);
        let unreliable = first(vec![GivenUp::at_least_once()]);
        assert!(unreliable[0].starts_with(&format!("Take {cfkm}: it is the only scheme")));
        assert_eq!(
            unreliable[1],
            "network.qos gives up delivery at least once: a QoS 0 message that is lost with a broken \
             connection is never sent again; the member stays behind until it notices and catches up."
        );
    }

    #[test]
    fn equals_are_listed_with_what_decides_among_them() {
        let [best, other] = [assessment("lkh-user", 1.02), assessment("ofct", 1.0)];
        let mut decision = Decision {
            recommended: Some(best.clone()),
            equals: vec![best.candidate.clone(), other.candidate.clone()],
            front: vec![best.clone(), other],
            ..Decision::default()
        };
        let told = recommendation(&decision, &Requirements::default()).join(" ");
        for sentence in [
            "These 2 are equal as far as the model knows: lkh-user (specified, RFC 2627) and ofct \
             (reconstructed).",
            "Of equals, a specified scheme goes first, then one with an RFC, then the smaller one.",
            "It costs 1.02 a day (1 a joule, 0.01 a second of waiting); the cheapest of the 2 \
             candidates that meet all requirements costs 1.",
        ] {
            assert!(told.contains(sentence), "{sentence} is not in {told}");
        }
        decision.equals.pop();
        let told = recommendation(&decision, &Requirements::default()).join(" ");
        assert!(!told.contains("equal"), "{told}");
    }

    #[test]
    fn the_first_sentence_has_the_reason_the_runner_up_and_what_decides_and_the_last_what_is_unknown()
     {
        let figure = |quantity, value, ground| Figure {
            quantity,
            value,
            interval: (value, value),
            ground,
            is_extrapolated: false,
        };
        let with = |scheme: &str, cost: f64, largest: f64, ground: Ground| {
            let figures = vec![
                figure(Quantity::Completion, 100.0, ground),
                figure(Quantity::LargestMessage, largest, Ground::Counted),
            ];
            Assessment { figures, ..assessment(scheme, cost) }
        };
        let [best, other] = [
            with("lkh-user", 1.02, 900.0, Ground::Simulated),
            with("ofct", 1.0, 300.0, Ground::Simulated),
        ];
        let finalist = |of: &Assessment, standing| Finalist {
            candidate: of.candidate.clone(),
            standing,
            above: (0.0, Some(0.03)),
            runs: 200,
        };
        let mut decision = Decision {
            recommended: Some(best.clone()),
            equals: vec![best.candidate.clone(), other.candidate.clone()],
            front: vec![best.clone(), other.clone()],
            race: Some(Race {
                procedure: "a procedure".into(),
                confidence: 0.95,
                equal_within: 0.05,
                dearer_from: 0.01,
                end: RaceEnd::Settled,
                could_win: 40,
                finalists: vec![
                    finalist(&best, Standing::Equal),
                    finalist(&other, Standing::Equal),
                ],
            }),
            ..Decision::default()
        };
        let requirements = Requirements::default();
        let told = in_short(&decision, &requirements);
        assert_eq!(
            told[0],
            "Take lkh-user (LKH, logical key hierarchy, user-oriented; specified): no scheme that \
             meets your requirements costs noticeably less, and this one is specified; next comes \
             ofct (reconstructed), better if one figure decides: largest message, 300 B in place of 900 B."
        );
        assert_eq!(
            told[1],
            "Not known: the energy of your own device and radio, for that of cortex-m4 with 802.15.4 \
             is modelled by assumed prices; how members delay each other on one radio channel."
        );
        let told = details(&decision, &requirements).join(" ");
        let raced = "2 of the 40 candidates that could cost least were simulated, 200 times each: \
                     what is equal and what is dearer is settled with 95 % confidence.";
        assert!(told.contains(raced), "{told}");
        // What was left open, or interrupted, is said.
        let race = decision.race.as_mut().expect("it is there");
        (race.end, race.finalists[1].standing) = (RaceEnd::Open, Standing::Open);
        let told = in_short(&decision, &requirements);
        assert!(told[1].starts_with("Not known: whether ofct cost as little; "), "{}", told[1]);
        decision.race.as_mut().expect("it is there").end = RaceEnd::Interrupted;
        let told = in_short(&decision, &requirements);
        assert!(told[1].contains("it was interrupted"), "{}", told[1]);
        // Without a simulation, times are a model's.
        let fitted = with("lkh-user", 1.0, 900.0, Ground::Fitted);
        let decision = Decision {
            recommended: Some(fitted.clone()),
            equals: vec![fitted.candidate.clone()],
            front: vec![fitted, with("ofct", 1.5, 300.0, Ground::Fitted)],
            ..Decision::default()
        };
        let told = in_short(&decision, &requirements);
        assert!(told[0].contains("the next scheme 50 % more; next comes ofct"), "{}", told[0]);
        assert!(told[1].contains("but for a model's errors"), "{}", told[1]);
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
        let above = TippingPoint {
            requirement: "members.now".into(),
            at: 1_400.0,
            is_above: true,
            instead: Some(candidate),
        };
        assert_eq!(
            turn(&above),
            "above 1,400 members take lkh-group degree=8, standard, mac, QoS 1"
        );
        let below = TippingPoint {
            requirement: "network.loss".into(),
            at: 0.5,
            is_above: false,
            instead: None,
        };
        assert_eq!(turn(&below), "below 0.5 % loss nothing meets the requirements");
    }
}
