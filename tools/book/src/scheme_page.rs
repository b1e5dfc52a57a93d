//! What a scheme's page has besides its own text: entries of the catalogue, and the file's header.

use std::{fmt, fs};

use groupkey::catalogue::{Adversary, Departures, Law, Parameter, Profile, SCHEMES, Scheme};

/// Returns the entries of the schemes in a file of the repository, and its header.
pub(super) fn part(file: &str) -> String {
    let text = fs::read_to_string(super::root().join(file)).expect("a page links to a file");
    let is_in_it = |scheme: &&Scheme| text.contains(&format!("\"{}\",", scheme.id));
    let schemes: Vec<_> = SCHEMES.iter().filter(is_in_it).collect();
    let entry = if schemes.is_empty() { String::new() } else { entry(&schemes) };
    let header = text.lines().map_while(|line| line.strip_prefix("//!"));
    let header: Vec<_> = header.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    format!("## Costs, messages and deviations\n\n{entry}\n`{file}`:\n\n{}", header.join("\n"))
}

fn entry(schemes: &[&Scheme]) -> String {
    let first = schemes[0];
    let each = |value: &dyn Fn(&Scheme) -> String| {
        let values: Vec<_> = schemes.iter().map(|scheme| value(scheme)).collect();
        if values.iter().all(|value| *value == values[0]) {
            return values[0].clone();
        }
        let named = schemes.iter().zip(values);
        listed("; ", named.map(|(scheme, value)| format!("`{}`: {value}", scheme.id)))
    };
    let mut table = String::from("| | |\n|---|---|\n");
    let mut row = |name: &str, value: String| table += &format!("| {name} | {value} |\n");
    row("id", listed(", ", schemes.iter().map(|scheme| format!("`{}`", scheme.id))));
    row("class", first.class().name().to_owned());
    row("provenance", each(&|scheme| scheme.provenance.name().to_owned()));
    row("source", each(&|scheme| scheme.source.to_owned()));
    row("operations", each(&|scheme| listed(", ", scheme.operations.iter().map(|it| it.name()))));
    row("members", each(&|scheme| format!("{} to {}", scheme.members.0, scheme.members.1)));
    if first.law != Law::OneKey {
        row("law", first.law.meaning().to_owned());
    }
    row("recovery", each(&|scheme| scheme.recovery.meaning().to_owned()));
    if first.departures != Departures::Forgotten {
        row("departures", first.departures.meaning().to_owned());
    }
    row("claims", each(&|scheme| claims(scheme, Profile::Sound)));
    row("claims, `published`", each(&|scheme| claims(scheme, Profile::Published)));
    for Parameter { name, meaning, sound, published, range: (low, high) } in first.parameters {
        let other = if sound == published { "" } else { &format!(", `published` {published}") };
        row(&format!("`{name}`"), format!("{meaning}; {sound}{other}; from {low} to {high}"));
    }
    table
}

fn claims(scheme: &Scheme, profile: Profile) -> String {
    let claims = scheme.claims_against(profile, Adversary::Passive);
    let all = [
        (claims.forward_secrecy, "forward secrecy"),
        (claims.backward_secrecy, "backward secrecy"),
        (claims.collusion_resistance, "collusion resistance"),
        (claims.key_independence, "key independence"),
        (scheme.claims_agreement(profile), "agreement"),
    ];
    let made = listed(", ", all.into_iter().filter(|(made, _)| *made).map(|(_, name)| name));
    if made.is_empty() { "none".to_owned() } else { made }
}

fn listed(between: &str, values: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let values: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(between)
}
