//! `groupkey audit --replay`: one attack, message by message.

use std::io::{self, Write};

use groupkey::Key;
use groupkey_lab::audit::{
    self, AttackCondition, AuditOptions, AuditedScheme, Finding, Found, Replay, ReplaySubject,
    ReplayedGroup,
};
use groupkey_lab::results;
use groupkey_testkit::rig::JournalEntry;
use serde::Serialize;

use crate::failure::Failure;
use crate::paragraph::{self, Paragraph};

/// Tells how an attack on these subjects goes, one after the other. Returns the findings.
pub(super) fn run(
    subjects: &[AuditedScheme],
    told: ReplaySubject,
    options: &AuditOptions<'_>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for (place, subject) in subjects.iter().enumerate() {
        let replay = audit::replay(subject, told, options)
            .ok_or_else(|| Failure::interrupted("what was told is complete"))?;
        if as_json {
            write_rows(&replay, out)?;
        } else {
            if place > 0 {
                writeln!(out)?;
            }
            print(told, &replay, out)?;
        }
        findings.push(replay.finding);
    }
    Ok(findings)
}

fn print(told: ReplaySubject, replay: &Replay, out: &mut dyn Write) -> io::Result<()> {
    let Finding { scheme, profile, .. } = &replay.finding;
    let heading = format!("{} on {scheme}, {profile} profile: {}", told.name(), told.shows());
    writeln!(out, "{}", Paragraph { indent: 0, text: &heading })?;
    if replay.in_vain > 0 {
        let tried = format!("Before this, other tries came to nothing: {}.", replay.in_vain);
        writeln!(out, "{}", Paragraph { indent: 0, text: &tried })?;
    }
    for (number, group) in replay.groups.iter().enumerate() {
        match (number + 1, replay.groups.len()) {
            (1, 2) => writeln!(out, "\nThe group before, whose messages the adversary keeps:")?,
            (2, 2) => writeln!(out, "\nThe group that is attacked:")?,
            _ => writeln!(out)?,
        }
        print_group(group, out)?;
    }
    let finding = &replay.finding;
    if !finding.history.is_empty() {
        writeln!(out, "\nWhat happened:")?;
        finding.history.iter().try_for_each(|event| tell(event, out))?;
    }
    if !finding.derivation.is_empty() {
        writeln!(out, "\nWhat the adversary does:")?;
        finding.derivation.iter().try_for_each(|step| tell(step, out))?;
    }
    writeln!(out, "\n{}", Paragraph { indent: 0, text: &verdict(told, finding) })
}

/// Prints a step. A long value at its end has lines of its own.
fn tell(line: &str, out: &mut dyn Write) -> io::Result<()> {
    let is_long = |value: &&str| {
        value.len() > 2 * Key::BYTES && value.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let value = line.rsplit(' ').next().filter(is_long);
    let text = line.strip_suffix(value.unwrap_or_default()).unwrap_or(line);
    writeln!(out, "{}", Paragraph { indent: 2, text })?;
    value.map_or(Ok(()), |value| print_digits(value, out))
}

/// Prints what happened in a group, with a number for each step. What several parties do alike is one
/// step.
fn print_group(ReplayedGroup(entries): &ReplayedGroup, out: &mut dyn Write) -> io::Result<()> {
    let (mut number, mut rest) = (0, &entries[..]);
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|entry| same(entry) == same(first)).count();
        let (now, later) = rest.split_at(alike);
        let who: Vec<&str> = now.iter().map(party).collect();
        number += 1;
        let text = format!("{number}. {}", step(first, &each(&who)));
        tell(&text, out)?;
        if let JournalEntry::Sent { bytes, .. } | JournalEntry::Planted { bytes, .. } = first {
            print_bytes(bytes, out)?;
        }
        rest = later;
    }
    Ok(())
}

/// Prints bytes in hexadecimal digits, as many in a line as fit.
fn print_bytes(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    print_digits(&hex(bytes), out)
}

fn print_digits(digits: &str, out: &mut dyn Write) -> io::Result<()> {
    const INDENT: usize = 6;
    let in_line = (paragraph::width() - INDENT) / 16 * 16;
    let mut rest = digits;
    while !rest.is_empty() {
        let (line, later) = rest.split_at(rest.len().min(in_line));
        writeln!(out, "{:INDENT$}{line}", "")?;
        rest = later;
    }
    Ok(())
}

/// Returns the party that an entry is about.
fn party(entry: &JournalEntry) -> &str {
    match entry {
        JournalEntry::Told { who, .. }
        | JournalEntry::Refused { who, .. }
        | JournalEntry::Learned { who, .. } => who,
        JournalEntry::Sent { from, .. } => from,
        JournalEntry::Withheld { to, .. } | JournalEntry::Planted { to, .. } => to,
    }
}

/// Returns an entry without its party. Parties with equal ones are told together.
fn same(entry: &JournalEntry) -> JournalEntry {
    let mut entry = entry.clone();
    match &mut entry {
        JournalEntry::Told { who, .. }
        | JournalEntry::Refused { who, .. }
        | JournalEntry::Learned { who, .. } => who.clear(),
        JournalEntry::Withheld { to, .. } | JournalEntry::Planted { to, .. } => to.clear(),
        JournalEntry::Sent { .. } => {}
    }
    entry
}

/// Joins the names of parties, each once: "member 0, member 2 and controller".
fn each(who: &[&str]) -> String {
    let mut once: Vec<&str> = Vec::new();
    who.iter().for_each(|name| {
        if !once.contains(name) {
            once.push(name);
        }
    });
    match &once[..] {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => once.concat(),
    }
}

fn step(entry: &JournalEntry, who: &str) -> String {
    match entry {
        JournalEntry::Told { command, .. } => format!("{who}: the command to {command}"),
        JournalEntry::Sent { from, to, what, bytes } => {
            format!("{from} sends to {to}: {what}, {} bytes", bytes.len())
        }
        JournalEntry::Withheld { what, .. } => {
            format!("The adversary holds back, from {who}: {what}")
        }
        JournalEntry::Planted { what, instead_of: None, bytes, .. } => {
            format!("The adversary gives {who}: {what}, {} bytes", bytes.len())
        }
        JournalEntry::Planted { what, instead_of: Some(before), bytes, .. } => {
            let size = bytes.len();
            format!("The adversary gives {who}, instead of {before}: {what}, {size} bytes")
        }
        JournalEntry::Refused { why, .. } => format!("Refused by {who}: {why}"),
        JournalEntry::Learned { epoch, key, .. } => {
            format!("Key of epoch {epoch} at {who}: {}", hex(key))
        }
    }
}

/// Says in one sentence how it ended.
fn verdict(told: ReplaySubject, finding: &Finding) -> String {
    let Finding { scheme, profile, found, .. } = finding;
    let what = format!("{} on {scheme}, {profile} profile", told.name());
    let ended = match (found, told) {
        (Found::Broken, ReplaySubject::Attack(attack)) => {
            format!("broken: {}", attack.shows)
        }
        (Found::Broken, ReplaySubject::Claim(_)) => "broken, by the steps above".to_owned(),
        (Found::NotModelled, _) => {
            "not modelled: the scheme is foreign, and no derivation sees what its library computes"
                .to_owned()
        }
        (Found::NotApplicable, _) => "not applicable: the attack cannot begin".to_owned(),
        (_, ReplaySubject::Attack(_)) => {
            "holds: the attack is refused, is noticed or does not work".to_owned()
        }
        (_, ReplaySubject::Claim(claim)) => {
            let scripts = audit::attacks::ATTACKS.iter().filter(|attack| attack.breaks == claim);
            let scripts: Vec<_> = scripts.map(|attack| attack.id).collect();
            let told = match &scripts[..] {
                [] => String::new(),
                _ => format!("; scripts attack it, too: {}", scripts.join(", ")),
            };
            format!("holds: no history that was tried breaks it{told}")
        }
    };
    let why_not = match (finding.claimed, finding.condition, &finding.inherent) {
        (Some(true), ..) => " The scheme claims it in this form.".to_owned(),
        (_, Some(AttackCondition::Mac), _) => {
            " It breaks no claim: it needs a MAC that all share.".to_owned()
        }
        (_, Some(AttackCondition::Bare), _) => {
            " It breaks no claim: it needs members without an order of events.".to_owned()
        }
        (_, _, Some(why)) => format!(" No scheme of the class can promise more: {why}."),
        _ => " The scheme does not claim it in this form.".to_owned(),
    };
    format!("{what}: {ended}.{why_not}")
}

/// A row of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct EntryRow<'a> {
    /// The number of the group: 1 is the one before, if there are two.
    group: usize,
    event: &'static str,
    party: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

fn write_rows(replay: &Replay, out: &mut dyn Write) -> Result<(), Failure> {
    for (number, ReplayedGroup(entries)) in (1..).zip(&replay.groups) {
        for entry in entries {
            results::write_line(&mut &mut *out, &EntryRow::of(number, entry))?;
        }
    }
    results::write_line(&mut &mut *out, &replay.finding)?;
    Ok(())
}

impl<'a> EntryRow<'a> {
    fn of(group: usize, entry: &'a JournalEntry) -> Self {
        let row = Self {
            group,
            event: "",
            party: party(entry),
            to: None,
            what: None,
            instead_of: None,
            epoch: None,
            hex: None,
        };
        match entry {
            JournalEntry::Told { command, .. } => {
                Self { event: "command", what: Some(command), ..row }
            }
            JournalEntry::Sent { to, what, bytes, .. } => {
                let (to, what, hex) = (Some(&**to), Some(&**what), Some(hex(bytes)));
                Self { event: "sent", to, what, hex, ..row }
            }
            JournalEntry::Withheld { what, .. } => {
                Self { event: "withheld", what: Some(what), ..row }
            }
            JournalEntry::Planted { what, instead_of, bytes, .. } => {
                let (what, hex) = (Some(&**what), Some(hex(bytes)));
                Self { event: "planted", what, instead_of: instead_of.as_deref(), hex, ..row }
            }
            JournalEntry::Refused { why, .. } => Self { event: "refused", what: Some(why), ..row },
            JournalEntry::Learned { epoch, key, .. } => {
                Self { event: "key", epoch: Some(*epoch), hex: Some(hex(key)), ..row }
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_that_do_the_same_are_told_together() {
        let learned =
            |who: &str| JournalEntry::Learned { who: who.to_owned(), epoch: 2, key: [7; 16] };
        let group = ReplayedGroup(vec![
            learned("member 0"),
            learned("member 2"),
            learned("controller"),
            JournalEntry::Refused { who: "member 3".to_owned(), why: "no".to_owned() },
        ]);
        let mut out = Vec::new();
        print_group(&group, &mut out).expect("it is memory");
        let text = String::from_utf8(out).expect("it is text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with("  1. Key of epoch 2 at member 0, member 2 and"), "{text}");
        assert_eq!(lines[1], "  2. Refused by member 3: no");
    }
}
