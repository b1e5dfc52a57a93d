//! Says in sentences who is ahead and why. The sentences follow from rows, by rules.

use std::collections::BTreeMap;

use groupkey_choose::number::{grouped, scaled, time};
use serde::Serialize;

use super::contender::GroupPast;
use super::lead::{PeerField, PeerLead, PeerQuantity, PeerRival};
use super::row::{PeerEffort, PeerRow};

/// How often a scheme is ahead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeadCount {
    /// The scheme.
    pub scheme: String,
    /// Comparisons in which it is ahead, alone or with others: one for each quantity, operation, past,
    /// network and size.
    pub ahead: usize,
    /// All comparisons of the field.
    pub of: usize,
}

/// Counts how often each scheme of a field is ahead, the most often first.
pub fn tallies(leads: &[PeerLead], field: PeerField) -> Vec<LeadCount> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let of_field = || leads.iter().filter(|lead| lead.field == field);
    for lead in of_field() {
        for scheme in &lead.ahead {
            *counts.entry(scheme).or_default() += lead.sizes;
        }
    }
    let of = of_field().map(|lead| lead.sizes).sum();
    let tally = |(scheme, ahead): (&str, usize)| LeadCount { scheme: scheme.to_owned(), ahead, of };
    let mut tallies: Vec<LeadCount> = counts.into_iter().map(tally).collect();
    tallies.sort_by(|a, b| b.ahead.cmp(&a.ahead).then_with(|| a.scheme.cmp(&b.scheme)));
    tallies
}

/// Says who is ahead in a quantity of an operation, where, and why.
pub fn sentence(lead: &PeerLead) -> String {
    let PeerLead { operation, quantity, network, ahead, members, next, last, reason, .. } = lead;
    let (least, most) = (grouped(members.0.into()), grouped(members.1.into()));
    let place = match members.0 == members.1 {
        true => format!("with {most} members"),
        false => format!("from {least} to {most} members"),
    };
    let be = if ahead.len() == 1 { "is" } else { "are" };
    let network = network.map_or_else(String::new, |network| format!(" in {network}"));
    let mut told = format!(
        "{} of {operation}{network}, {place}: {} {be} ahead; {} with {most}.",
        capitalised(quantity.words()),
        listed(ahead),
        amount(*quantity, lead.value),
    );
    if let Some(PeerRival { scheme, times }) = next {
        told += &format!(" Next is {scheme}{}", behind(*times));
        if let Some(PeerRival { scheme, times }) =
            last.as_ref().filter(|last| last.scheme != *scheme)
        {
            told += &format!(", last {scheme}{}", behind(*times));
        }
        told += ".";
    }
    if !reason.is_empty() {
        told += &format!(" {reason}");
    }
    told
}

/// Says what a past changes for each scheme that feels it: at the largest size of which there are both,
/// in a local network, if it changes a quantity of the removal by half or more.
pub fn past_effects(rows: &[PeerRow]) -> Vec<String> {
    let mut told = Vec::new();
    let is_removal = |row: &&PeerRow| row.operation == "remove" && row.network == "lan";
    let new: Vec<_> =
        rows.iter().filter(is_removal).filter(|row| row.past == GroupPast::New.name()).collect();
    for past in [GroupPast::Populated, GroupPast::Departed] {
        let mut largest: BTreeMap<&str, &PeerRow> = BTreeMap::new();
        for row in rows.iter().filter(is_removal).filter(|row| row.past == past.name()) {
            let known = largest.entry(&row.scheme).or_insert(row);
            if row.members > known.members {
                *known = row;
            }
        }
        for (scheme, row) in largest {
            let is_same =
                |other: &&&PeerRow| other.scheme == scheme && other.members == row.members;
            let Some(before) = new.iter().find(is_same) else { continue };
            let changes = [PeerQuantity::Sender, PeerQuantity::Member, PeerQuantity::Payload];
            let changed = changes.into_iter().filter_map(|quantity| {
                let (a, b) = (quantity.of(before)?, quantity.of(row)?);
                let is_much = a > 0.0 && b > 0.0 && !(1.0 / MUCH..MUCH).contains(&(b / a));
                is_much.then(|| {
                    let (a, b) = (amount(quantity, a), amount(quantity, b));
                    format!("{} {b} in place of {a}", quantity.words())
                })
            });
            let changed: Vec<String> = changed.collect();
            if !changed.is_empty() {
                told.push(format!(
                    "{scheme}, remove with {} members, {}: {}.",
                    grouped(row.members.into()),
                    past.name(),
                    changed.join("; ")
                ));
            }
        }
    }
    told
}

/// Says why `last` needs more of a quantity than `best`.
pub(super) fn reason(quantity: PeerQuantity, best: &PeerRow, last: &PeerRow) -> String {
    match quantity {
        PeerQuantity::Completion => reason_of_completion(best, last),
        PeerQuantity::Keys => String::new(),
        PeerQuantity::Member | PeerQuantity::Newcomer | PeerQuantity::Sender => {
            match (quantity.effort(best), quantity.effort(last)) {
                (Some(a), Some(b)) => reason_of_effort((&best.scheme, a), (&last.scheme, b)),
                _ => String::new(),
            }
        }
        PeerQuantity::Payload | PeerQuantity::Received => reason_of_messages(best, last),
    }
}

/// The larger part of the difference is what it is about.
fn reason_of_completion(best: &PeerRow, last: &PeerRow) -> String {
    let whole = last.completion_ms - best.completion_ms;
    if whole <= 0.0 {
        return String::new();
    }
    let computed = last.computation_ms - best.computation_ms;
    let share = |part: f64| format!("{:.0} %", (100.0 * part / whole).clamp(0.0, 100.0));
    if computed >= whole / 2.0 {
        let party = match &last.member {
            Some(member) if member.ms > last.sender.ms => ("a member", member),
            _ => ("who makes the change", &last.sender),
        };
        let mut told =
            format!("Computing is {} of what {} takes longer", share(computed), last.scheme);
        if !party.1.mostly.is_empty() {
            told += &format!(": {} computes {}", party.0, uses(party.1));
        }
        return told + ".";
    }
    let told =
        format!("The network is {} of what {} takes longer", share(whole - computed), last.scheme);
    let more = match () {
        () if last.messages as f64 >= MUCH * best.messages as f64 => counted(best, last),
        () if last.payload_bytes as f64 >= MUCH * best.payload_bytes as f64 => weighed(best, last),
        () => "its messages wait for each other".to_owned(),
    };
    format!("{told}: {more}.")
}

fn reason_of_effort((best, a): (&str, &PeerEffort), (last, b): (&str, &PeerEffort)) -> String {
    match (a.mostly.is_empty(), b.mostly.is_empty()) {
        (_, true) => String::new(),
        (true, false) => format!("{best} computes nothing there, and {last} {}.", uses(b)),
        (false, false) => format!("{best} computes {}, and {last} {}.", uses(a), uses(b)),
    }
}

fn reason_of_messages(best: &PeerRow, last: &PeerRow) -> String {
    let is_count = last.messages as f64 >= MUCH * best.messages as f64;
    let told = if is_count { counted(best, last) } else { weighed(best, last) };
    format!("{}.", capitalised(&told))
}

fn counted(best: &PeerRow, last: &PeerRow) -> String {
    let messages = |count: u64| match count {
        1 => "1 message".to_owned(),
        _ => format!("{} messages", grouped(count as f64)),
    };
    format!(
        "{} takes {}, and {} {}",
        best.scheme,
        messages(best.messages),
        last.scheme,
        messages(last.messages)
    )
}

fn weighed(best: &PeerRow, last: &PeerRow) -> String {
    let each = |row: &PeerRow| bytes(row.payload_bytes as f64 / row.messages.max(1) as f64);
    format!(
        "a message of {} has {}, and one of {} {}",
        best.scheme,
        each(best),
        last.scheme,
        each(last)
    )
}

/// `mostly 12 × exponentiate (93 %)`.
fn uses(effort: &PeerEffort) -> String {
    let PeerEffort { mostly, calls, share, .. } = effort;
    format!("mostly {} × {mostly} ({:.0} %)", grouped(*calls as f64), 100.0 * share)
}

/// Returns a value of a quantity with its unit.
pub(crate) fn amount(quantity: PeerQuantity, value: f64) -> String {
    if quantity.is_time() { time(1e6 * value) } else { bytes(value) }
}

fn bytes(value: f64) -> String {
    scaled(value, &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")])
}

fn behind(times: Option<f64>) -> String {
    times.map_or_else(String::new, |times| match times {
        ..10.0 => format!(" with {times:.1} times as much"),
        _ => format!(" with {} times as much", grouped(times)),
    })
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn capitalised(text: &str) -> String {
    crate::report::capitalised(text)
}

/// What differs by less needs no word.
const MUCH: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::super::lead::leads;
    use super::*;

    #[test]
    fn a_lead_is_told_with_its_reason() {
        let best = PeerRow::example("lkh-group", 100, 4.0);
        let many = PeerRow { messages: 100, ..PeerRow::example("skdc", 100, 20.0) };
        let found = leads(&[best, many]);
        let of = |quantity| {
            let is_it =
                |lead: &&PeerLead| lead.quantity == quantity && lead.field == PeerField::All;
            sentence(found.iter().find(is_it).expect("they are compared"))
        };
        assert_eq!(
            of(PeerQuantity::Completion),
            "Time until all have the key of remove in lan, with 100 members: lkh-group is ahead; 4.00 ms \
             with 100. Next is skdc with 5.0 times as much. The network is 80 % of what skdc takes \
             longer: lkh-group takes 1 message, and skdc 100 messages."
        );
        assert_eq!(
            of(PeerQuantity::Sender),
            "Computing of who makes the change of remove, with 100 members: lkh-group is ahead; 2.00 ms \
             with 100. Next is skdc with 5.0 times as much. lkh-group computes mostly 1 × sign (90 %), \
             and skdc mostly 1 × sign (90 %)."
        );
        assert!(of(PeerQuantity::Keys).contains("lkh-group and skdc are ahead; 32.0 B"));
    }

    #[test]
    fn computing_is_the_reason_where_it_makes_the_difference() {
        let best = PeerRow::example("lkh-group", 10, 1.0);
        let slow = PeerRow {
            computation_ms: 90.0,
            transmission_ms: 10.0,
            ..PeerRow::example("gdh3", 10, 100.0)
        };
        let told = reason(PeerQuantity::Completion, &best, &slow);
        assert!(told.starts_with("Computing is 91 % of what gdh3 takes longer: "), "{told}");
    }

    #[test]
    fn a_past_that_changes_little_is_not_told() {
        let new = PeerRow::example("treekem", 100, 10.0);
        let of = |past: &str, payload_bytes| PeerRow {
            past: past.to_owned(),
            payload_bytes,
            ..PeerRow::example("treekem", 100, 10.0)
        };
        assert_eq!(past_effects(&[new.clone(), of("departed", 320)]), Vec::<String>::new());
        let told = past_effects(&[new, of("populated", 90)]);
        assert_eq!(
            told,
            [
                "treekem, remove with 100 members, populated: bytes of all messages 90.0 B in place of 300 B."
            ]
        );
    }

    #[test]
    fn a_tally_counts_sizes() {
        let rows = [
            PeerRow::example("skdc", 2, 1.0),
            PeerRow::example("oft", 2, 2.0),
            PeerRow::example("skdc", 10, 1.0),
            PeerRow::example("oft", 10, 2.0),
        ];
        let found = tallies(&leads(&rows), PeerField::All);
        let ahead = |id: &str| found.iter().find(|one| one.scheme == id).map_or(0, |one| one.ahead);
        assert_eq!(found[0].scheme, "skdc");
        // Messages, bytes and keys are the same; three times differ, at two sizes.
        assert_eq!((ahead("skdc") - ahead("oft"), found[0].of), (6, ahead("skdc")));
    }
}
