//! `groupkey schemes --requirements`: what schemes need of the network, found by running them.

use std::io::Write;

use groupkey::Operation;
use groupkey::catalogue::{Profile, Scheme};
use groupkey_choose::number::figure;
use groupkey_lab::bench::requirements::{
    MEMBERS, RequirementComparison, SchemeRequirements, Use, compare, requirements,
};
use groupkey_lab::bench::{Phase, Reach, Role};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::progress::ProgressBar;
use crate::table::{Column, Table, WIDER, figure_if_any};

/// Runs the schemes and prints what they need: of each in full, or of all in a table.
pub(super) fn run(
    schemes: &[&'static Scheme],
    in_full: bool,
    profile: Profile,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let progress = ProgressBar::counting("schemes");
    let mut found = Vec::new();
    for (done, scheme) in schemes.iter().enumerate() {
        progress.advance(done, schemes.len());
        let told = requirements(scheme, profile);
        found.push(told.map_err(|error| Failure::running(format!("{}: {error}", scheme.id)))?);
    }
    drop(progress);

    if json {
        let objects: Value = found.iter().map(object).collect();
        writeln!(out, "{objects:#}")?;
        return Ok(());
    }
    match in_full {
        true => found.iter().try_for_each(|requirements| describe(requirements, out)),
        false => print_all(&found, out),
    }
}

fn print_all(found: &[SchemeRequirements], out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("enrol"),
        Column::text("create"),
        Column::text("add"),
        Column::text("remove"),
        Column::text("others").may_go(1),
        Column::text("join"),
        Column::text("leave"),
        Column::text("size"),
        Column::number("B/member"),
    ]);
    for requirements in found {
        let reach = |operation, phase| words(&requirements.reaches(operation, phase));
        let others: Vec<String> = requirements
            .operations
            .iter()
            .filter(|operation| !Operation::MEASURED.contains(operation))
            .map(|&other| format!("{} {}", other.name(), reach(other, Phase::Operational)))
            .collect();
        table.row([
            requirements.scheme.to_owned(),
            reach(Operation::Create, Phase::Deployment),
            reach(Operation::Create, Phase::Operational),
            reach(Operation::Add, Phase::Operational),
            reach(Operation::Remove, Phase::Operational),
            if others.is_empty() { "-".to_owned() } else { others.join(", ") },
            changed(requirements.join_changes_key).to_owned(),
            changed(requirements.leave_changes_key).to_owned(),
            limit(requirements).to_owned(),
            figure_if_any(requirements.member_bytes_per_member),
        ]);
    }
    table.print_fitting(WIDER, out)?;
    let text = format!(
        "From a run of every operation in a group of {MEMBERS}: {} profile, {} suite. enrol is over \
         confidential channels, once for each member; all else over open ones. u unicast, m multicast \
         to a subset, b broadcast. join, leave: whether the key changes at once. size: limited if what \
         a member holds grows in proportion to the group, by this many bytes a member. Who sends to \
         whom: groupkey schemes --requirements {}",
        found[0].profile.name(),
        found[0].suite.name(),
        found[0].scheme
    );
    writeln!(out, "\n{}", Paragraph { indent: 0, text: &text })?;
    Ok(())
}

fn describe(requirements: &SchemeRequirements, out: &mut dyn Write) -> Result<(), Failure> {
    let SchemeRequirements {
        scheme, profile, suite, uses, member_bytes_per_member, members, ..
    } = requirements;
    writeln!(out, "{scheme}, {} profile, {} suite", profile.name(), suite.name())?;
    let mut table = Table::new([
        Column::text("operation"),
        Column::text("phase"),
        Column::text("channel").may_go(1),
        Column::text("from"),
        Column::text("to"),
        Column::text("as"),
        Column::number("messages"),
        Column::number("longest body B").may_go(2),
    ]);
    for used in uses {
        let Use { operation, phase, from, to, reach, messages, longest_body_bytes } = used;
        table.row([
            operation.name().to_owned(),
            phase.name().to_owned(),
            channel(*phase).to_owned(),
            from.name().to_owned(),
            to.name().to_owned(),
            reach.name().to_owned(),
            messages.to_string(),
            longest_body_bytes.to_string(),
        ]);
    }
    table.print_fitting(WIDER, out)?;
    writeln!(out, "a join changes the key at once: {}", changed(requirements.join_changes_key))?;
    writeln!(out, "a leave changes the key at once: {}", changed(requirements.leave_changes_key))?;
    match member_bytes_per_member {
        Some(bytes) => writeln!(
            out,
            "group size: limited by members' memory, {} bytes for each member",
            figure(*bytes)
        )?,
        None => writeln!(out, "group size: not limited by members' memory")?,
    }
    writeln!(out, "members that this implementation takes: {} to {}", members.0, members.1)?;
    let compared = compare(requirements);
    if !compared.is_empty() {
        writeln!(out, "beside S003:")?;
    }
    for RequirementComparison { what, published, ours } in &compared {
        let verdict = match published == ours {
            true => "the same".to_owned(),
            false => format!("ours {ours}"),
        };
        writeln!(out, "  {what}: {published}; {verdict}")?;
    }
    writeln!(out)?;
    Ok(())
}

fn object(requirements: &SchemeRequirements) -> Value {
    let SchemeRequirements { scheme, profile, suite, uses, operations, members, .. } = requirements;
    let link = |(from, to): &(_, _)| -> Value { json!({ "from": role(from), "to": role(to) }) };
    json!({
        "scheme": scheme,
        "profile": profile.name(),
        "suite": suite.name(),
        "group_members": MEMBERS,
        "operations": operations.iter().map(|operation| operation.name()).collect::<Vec<_>>(),
        "uses": uses.iter().map(used).collect::<Value>(),
        "links": requirements.links().iter().map(link).collect::<Value>(),
        "join_changes_key": requirements.join_changes_key,
        "leave_changes_key": requirements.leave_changes_key,
        "size_limited": requirements.is_limited(),
        "member_bytes_per_member": requirements.member_bytes_per_member,
        "members": { "min": members.0, "max": members.1 },
        "beside_s003": compare(requirements).iter().map(comparison).collect::<Value>(),
    })
}

fn used(used: &Use) -> Value {
    json!({
        "operation": used.operation.name(),
        "phase": used.phase.name(),
        "channel": channel(used.phase),
        "from": used.from.name(),
        "to": used.to.name(),
        "reach": used.reach.name(),
        "messages": used.messages,
        "longest_body_bytes": used.longest_body_bytes,
    })
}

fn comparison(comparison: &RequirementComparison) -> Value {
    json!({
        "what": comparison.what,
        "published": comparison.published,
        "ours": comparison.ours,
        "agrees": comparison.agrees(),
    })
}

fn role(role: &Role) -> &'static str {
    role.name()
}

/// Returns the first letters.
fn words(reaches: &[Reach]) -> String {
    match reaches {
        [] => "-".to_owned(),
        _ => reaches.iter().map(|reach| &reach.name()[..1]).collect::<Vec<_>>().join("+"),
    }
}

const fn channel(phase: Phase) -> &'static str {
    match phase {
        Phase::Deployment => "confidential",
        Phase::Operational => "public",
    }
}

const fn changed(changes: Option<bool>) -> &'static str {
    match changes {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    }
}

const fn limit(requirements: &SchemeRequirements) -> &'static str {
    if requirements.is_limited() { "limited" } else { "free" }
}
