//! `groupkey schemes`: the catalogue.

mod audited;
mod requirements;

use std::io::Write;

use clap::Args;
use groupkey::catalogue::{
    Adversary, Claims, Class, Departures, Parameter, Profile, Provenance, SCHEMES, Scheme,
};
use groupkey_choose::programs::Programs;
use groupkey_lab::registry;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::paragraph::{ListLine, Paragraph};
use crate::table::{Column, Table, WIDER};
use crate::value_parsers;

/// Arguments of `groupkey schemes`.
#[derive(Args, Debug)]
#[command(after_help = "\
Provenance says how sure we are that this is the published protocol:
  specified      built from the published protocol
  reconstructed  some details are ours; the scheme's file lists them
  stand-in       the published protocol could not be identified; this one has the same costs
  foreign        a library that others wrote; an audit cannot look inside

Examples:
  groupkey schemes
  groupkey schemes lkh-group
  groupkey schemes --class hybrid --stand-ins
  groupkey schemes --requirements
  groupkey schemes --requirements skdc boneh-thin --profile published
  groupkey schemes --json")]
pub(crate) struct SchemesArguments {
    /// Describe only these schemes, in full.
    #[arg(value_name = "ID", value_parser = value_parsers::scheme())]
    schemes: Vec<&'static Scheme>,

    /// List only the schemes of these classes.
    #[arg(
        long,
        value_name = "CLASS",
        value_delimiter = ',',
        value_parser = value_parsers::class(),
        conflicts_with = "schemes",
    )]
    class: Vec<Class>,

    /// List stand-ins, too. They are there for reproductions of papers: nobody should run them.
    #[arg(long, conflicts_with = "schemes")]
    stand_ins: bool,

    /// Run each scheme in a small group and report what it needs of the network. The report says
    /// how many parties a message goes to, which role sends to which, and whether members' memory
    /// limits the group.
    #[arg(long)]
    requirements: bool,

    /// With --requirements: the form of the schemes.
    #[arg(
        long,
        value_name = "FORM",
        requires = "requirements",
        default_value = "sound",
        value_parser = value_parsers::profile(),
    )]
    profile: Profile,

    /// Print all fields as a JSON array.
    #[arg(long)]
    json: bool,
}

/// Prints the catalogue.
pub(crate) fn run(arguments: &SchemesArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let SchemesArguments { schemes, class, .. } = arguments;
    let named = value_parsers::each_once(schemes);
    let is_listed = |scheme: &&Scheme| {
        (named.is_empty() || named.iter().any(|named| named.id == scheme.id))
            && (class.is_empty() || class.contains(&scheme.class()))
            && (arguments.stand_ins || !named.is_empty() || !is_stand_in(scheme))
    };
    let listed: Vec<_> = registry::schemes().filter(is_listed).collect();
    if arguments.requirements {
        let in_full = !named.is_empty();
        let schemes = if in_full { &named } else { &listed };
        return requirements::run(schemes, in_full, arguments.profile, arguments.json, out);
    }
    if arguments.json {
        let objects: Value = listed.into_iter().map(object).collect();
        writeln!(out, "{objects:#}")?;
        return Ok(());
    }
    if named.is_empty() {
        return print_all(&listed, out);
    }
    named.iter().try_for_each(|scheme| describe(scheme, out))
}

fn is_stand_in(scheme: &Scheme) -> bool {
    scheme.provenance == Provenance::StandIn
}

fn print_all(schemes: &[&'static Scheme], out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("class"),
        Column::text("provenance"),
        Column::text("operations").may_go(4),
        Column::number("members").may_go(3),
        Column::text("passive"),
        Column::text("audited"),
        Column::text("active"),
        Column::text("audited"),
        Column::text("published").may_go(1),
        Column::text("audited").may_go(1),
        Column::text("parameters").may_go(5),
        Column::text("runs").may_go(4),
        Column::text("name").may_go(2),
    ]);
    for scheme in schemes {
        table.row([
            scheme.id.to_owned(),
            scheme.class().name().to_owned(),
            scheme.provenance.name().to_owned(),
            operations(scheme).join(" "),
            format!("{}-{}", scheme.members.0, scheme.members.1),
            audited::claimed(scheme, Profile::Sound, Adversary::Passive),
            audited::found(scheme, Profile::Sound, Adversary::Passive),
            audited::claimed(scheme, Profile::Sound, Adversary::Active),
            audited::found(scheme, Profile::Sound, Adversary::Active),
            audited::claimed(scheme, Profile::Published, Adversary::Passive),
            audited::found(scheme, Profile::Published, Adversary::Passive),
            words(scheme.parameters),
            Programs::of(scheme).names(),
            scheme.name.to_owned(),
        ]);
    }
    table.print_fitting(WIDER, out)?;
    writeln!(out)?;
    for text in [
        "Claims of the sound profile, against a passive and against an active adversary, and of the \
         published one, against a passive adversary only; each beside what the audit found of them.",
        "F forward secrecy, B backward secrecy, C collusion resistance, I independence of keys, O \
         secrecy from outsiders, A agreement; - not claimed, or found to be broken; . could not be \
         tried; ? not audited (groupkey audit).",
        "Runs: live in groupkey serve and member, in the library for C, on a microcontroller in \
         groupkey device run.",
        &format!(
            "What a parameter means: groupkey schemes {}. Try one: groupkey net --scheme {}",
            SCHEMES[2].id, SCHEMES[0].id
        ),
    ] {
        writeln!(out, "{}", Paragraph { indent: 0, text })?;
    }
    Ok(())
}

fn describe(scheme: &Scheme, out: &mut dyn Write) -> Result<(), Failure> {
    let Scheme { id, name, provenance, source, law, recovery, .. } = scheme;
    let Scheme { parameters, members, .. } = scheme;
    let (least, most) = members;
    writeln!(out, "{}", ListLine { indent: 0, text: &format!("{id}: {name}") })?;
    let mut lines = vec![
        format!("class       {}", scheme.class().name()),
        format!("provenance  {}", provenance.name()),
        format!("source      {source}"),
        format!("operations  {}", operations(scheme).join(", ")),
        format!("members     {least} to {most}"),
        format!("law         {}", law.meaning()),
        format!("recovery    {}", recovery.meaning()),
        format!("runs        {}", Programs::of(scheme).names()),
    ];
    if scheme.departures != Departures::Forgotten {
        lines.push(format!("departures  {}", scheme.departures.meaning()));
    }
    lines.extend(audited::lines(scheme));
    for Parameter { name, meaning, sound, published, range: (low, high) } in *parameters {
        let values = format!("{low} to {high}; sound {sound}, published {published}");
        lines.push(format!("parameter   {name} ({values}): {meaning}"));
    }
    lines.iter().try_for_each(|text| writeln!(out, "{}", ListLine { indent: 2, text }))?;
    Ok(())
}

fn object(scheme: &Scheme) -> Value {
    let programs = Programs::of(scheme);
    json!({
        "id": scheme.id,
        "name": scheme.name,
        "class": scheme.class().name(),
        "provenance": scheme.provenance.name(),
        "source": scheme.source,
        "operations": operations(scheme),
        "law": scheme.law.name(),
        "recovery": scheme.recovery.name(),
        "claims": claims(scheme.claims),
        "published_claims": claims(scheme.published_claims),
        "active_claims": audited::active_claims(scheme),
        "audited": audited::object(scheme, Adversary::Passive),
        "audited_active": audited::object(scheme, Adversary::Active),
        "runs": {
            "live": programs.live, "c": programs.c, "device": programs.device,
        },
        "members": { "min": scheme.members.0, "max": scheme.members.1 },
        "parameters": scheme.parameters.iter().map(parameter).collect::<Value>(),
    })
}

fn claims(claims: Claims) -> Value {
    let Claims {
        forward_secrecy, backward_secrecy, collusion_resistance, key_independence, ..
    } = claims;
    json!({
        "forward_secrecy": forward_secrecy,
        "backward_secrecy": backward_secrecy,
        "collusion_resistance": collusion_resistance,
        "key_independence": key_independence,
    })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "meaning": parameter.meaning,
        "sound": parameter.sound,
        "published": parameter.published,
        "min": parameter.range.0,
        "max": parameter.range.1,
    })
}

fn operations(scheme: &Scheme) -> Vec<&'static str> {
    scheme.operations.iter().map(|operation| operation.name()).collect()
}

fn words(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "-".to_owned();
    }
    parameters.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use groupkey_mqtt::group_form::{Allowed, GroupForm};

    use super::*;

    /// What runs live is what a service's file may name.
    #[test]
    fn live_schemes_are_those_that_a_service_takes() {
        for scheme in SCHEMES {
            let is_taken = GroupForm::of(scheme).check(Allowed::default()).is_ok();
            assert_eq!(Programs::of(scheme).live, is_taken, "{}", scheme.id);
        }
    }
}
