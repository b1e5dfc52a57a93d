//! The findings of an audit in words and tables: a verdict on each scheme, then its rows, then how
//! what is broken was broken.

use std::io::{self, Write};

use groupkey::catalogue::Adversary;
use groupkey_lab::audit::{Audit, Claim, Finding, Found, SearchMethod};

use crate::failure::Failure;
use crate::paragraph::{self, Paragraph};
use crate::table::{Column, Table};

pub(super) fn print(audited: &Audit, out: &mut dyn Write) -> Result<(), Failure> {
    let attacks = audited.findings.iter().filter(|finding| finding.claim_is_attack());
    let (left_out, tried): (Vec<_>, Vec<_>) =
        attacks.partition(|finding| finding.found == Found::LeftOut);
    let mut scripts = format!("Scripted attacks: {}.", tried.len());
    if !left_out.is_empty() {
        scripts += &format!(
            " Left out as slow, and tried without --quick: {} active ones. What they are against is \
             left-out below.",
            left_out.len()
        );
    }
    writeln!(out, "{}\n", Paragraph { indent: 0, text: &scripts })?;
    let subjects: Vec<&[Finding]> = audited
        .findings
        .chunk_by(|a, b| (&a.scheme, &a.profile) == (&b.scheme, &b.profile))
        .collect();
    for findings in &subjects {
        writeln!(out, "{}", Paragraph { indent: 0, text: &verdict(findings) })?;
    }
    for findings in &subjects {
        print_rows(findings, out)?;
    }
    audited
        .findings
        .iter()
        .filter(|finding| is_worth_telling(finding))
        .try_for_each(|f| tell(f, out))?;
    Ok(())
}

/// Says in one sentence what became of a scheme's claims.
fn verdict(findings: &[Finding]) -> String {
    let Some(Finding { scheme, profile, provenance, .. }) = findings.first() else {
        return String::new();
    };
    let claims = || findings.iter().filter(|finding| !finding.claim_is_attack());
    let of = |is_claimed: bool, found: Found| {
        let chosen = claims().filter(|finding| {
            (finding.claimed == Some(true)) == is_claimed && finding.found == found
        });
        let named =
            chosen.map(|finding| format!("{} ({})", finding.claim, finding.adversary.name()));
        named.collect::<Vec<_>>()
    };
    let claimed = claims().filter(|finding| finding.claimed == Some(true)).count();
    let (broken, open) = (of(true, Found::Broken), of(true, Found::LeftOut));
    let hidden = of(true, Found::NotModelled);
    let mut text = format!("{scheme}, {profile} profile ({provenance}): ");
    text += &match (claimed, &broken[..]) {
        (0, _) => "it claims nothing".to_owned(),
        (_, []) if open.is_empty() && hidden.is_empty() => format!("all {claimed} claims hold"),
        (_, []) => format!("{} of {claimed} claims hold", claimed - open.len() - hidden.len()),
        _ => format!("of {claimed} claims, broken: {}", broken.join(", ")),
    };
    for (words, names) in [
        ("not tried", open),
        ("foreign, so not modelled", hidden),
        ("not claimed, and broken", of(false, Found::Broken)),
    ] {
        if !names.is_empty() {
            text += &format!("; {words}: {}", names.join(", "));
        }
    }
    text + "."
}

/// Prints a scheme's rows: what it claims, and what was found, against both adversaries.
fn print_rows(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let Some(Finding { scheme, profile, .. }) = findings.first() else { return Ok(()) };
    let mut table = Table::new([
        Column::text("claim or attack"),
        Column::text("claimed"),
        Column::text("passive"),
        Column::text("claimed"),
        Column::text("active"),
        Column::text("why not").may_go(1),
    ]);
    let mut idle = Vec::new();
    for pair in side_by_side(findings) {
        let Some(finding) = pair[0].or(pair[1]) else { continue };
        if pair.iter().flatten().all(|finding| finding.found == Found::NotApplicable) {
            idle.push(&*finding.claim);
            continue;
        }
        let [[passive, listening], [active, speaking]] = pair.map(cells);
        let why_not = match (finding.condition, &finding.inherent) {
            (Some(condition), _) => condition.name(),
            (None, Some(_)) => "inherent",
            (None, None) => "",
        };
        let claim = finding.claim.clone();
        table.row([claim, passive, listening, active, speaking, why_not.to_owned()]);
    }
    writeln!(out, "\n{scheme}, {profile} profile:")?;
    table.fit(paragraph::width());
    write!(out, "{table}")?;
    if !idle.is_empty() {
        let text = format!("Not applicable: {}.", idle.join(", "));
        writeln!(out, "{}", Paragraph { indent: 0, text: &text })?;
    }
    Ok(())
}

/// Returns whether something is claimed, and what was found.
fn cells(finding: Option<&Finding>) -> [String; 2] {
    let Some(Finding { claimed, found, .. }) = finding else { return ["", ""].map(str::to_owned) };
    let found = match found {
        Found::NotApplicable => "-",
        found => found.name(),
    };
    [claimed.map_or("-", |claimed| if claimed { "yes" } else { "no" }), found].map(str::to_owned)
}

/// Prints how a claim or an attack succeeded.
fn tell(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let Finding { scheme, profile, claim, history, derivation, .. } = finding;
    let whom = match (finding.claim_is_attack(), finding.adversary) {
        (false, Adversary::Active) => " against an active adversary",
        _ => "",
    };
    if finding.method == SearchMethod::Script && !finding.claim_is_attack() {
        let attack = finding.attack.as_deref().unwrap_or_default();
        let text =
            format!("{scheme}, {profile} profile: {claim} is broken{whom} by {attack}, see below");
        return writeln!(out, "\n{}", Paragraph { indent: 0, text: &text });
    }
    writeln!(out, "\n{scheme}, {profile} profile: {claim} is broken")?;
    for event in history {
        writeln!(out, "{}", Paragraph { indent: 2, text: &format!("event {event}") })?;
    }
    derivation.iter().try_for_each(|step| writeln!(out, "{}", Paragraph { indent: 4, text: step }))
}

/// Returns the findings about each claim and each attack side by side: against a passive adversary,
/// and against an active one.
fn side_by_side(findings: &[Finding]) -> Vec<[Option<&Finding>; 2]> {
    let mut rows: Vec<[Option<&Finding>; 2]> = Vec::new();
    for finding in findings {
        let is_same = |other: &&Finding| {
            (&other.scheme, &other.profile, &other.claim)
                == (&finding.scheme, &finding.profile, &finding.claim)
        };
        let place = finding.adversary as usize;
        // Only the rows of the same subject can be the same, and they are the last ones.
        let of_subject = rows.iter_mut().rev().take_while(|row| {
            let other = row.iter().flatten().next();
            other.is_some_and(|o| (&o.scheme, &o.profile) == (&finding.scheme, &finding.profile))
        });
        let row = of_subject.into_iter().find(|row| row.iter().flatten().any(&is_same));
        match row {
            Some(row) => row[place] = Some(finding),
            None => {
                let mut row = [None; 2];
                row[place] = Some(finding);
                rows.push(row);
            }
        }
    }
    rows
}

/// Returns whether a finding is worth printing. A controller knows the key it hands out; that
/// needs no proof.
fn is_worth_telling(finding: &Finding) -> bool {
    let trusted = [Claim::ControllerSecrecy, Claim::SubgroupSecrecy].map(Claim::name);
    finding.found == Found::Broken && !trusted.contains(&&*finding.claim)
}
