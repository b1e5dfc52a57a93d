//! Where prices and parameters come from, and which settings rest on the statement that they test.

use std::sync::LazyLock;

use groupkey_lab::verdict::{Void, VoidKind};
use serde::Deserialize;

use crate::role_rows::scheme_name;

/// Returns why a setting is no evidence for these statements (paths in `published.toml`): a price of
/// these primitives on a device was set by one of them.
pub(crate) fn of_prices<'n>(
    device: &str,
    primitives: impl IntoIterator<Item = &'n str>,
    tested: &[String],
) -> Option<Void> {
    primitives.into_iter().find_map(|primitive| {
        let prices = PROVENANCE.price.iter().filter(|price| price.device == device);
        let mut set = prices.filter(|price| price.of.iter().any(|of| of == primitive));
        let price = set.find(|price| tested.contains(&price.printed))?;
        circular(format!(
            "the price of {primitive} on {device} was set by this statement ({})",
            price.source
        ))
    })
}

/// Returns why a scheme's setting is no evidence for these statements: the scheme was made to their
/// study's profile, or a parameter of it was set by one of them.
pub(crate) fn of_scheme(scheme: &str, tested: &[String]) -> Option<Void> {
    let is_tested_study =
        |study: &str| tested.iter().any(|path| path.split('.').next() == Some(study));
    let mut stand_ins = PROVENANCE.stand_in.iter();
    if stand_ins.any(|it| it.scheme == scheme && is_tested_study(&it.study)) {
        let why =
            format!("{} was made to have the costs that the study reports", scheme_name(scheme));
        return Some(Void { kind: VoidKind::StandIn, why });
    }
    let mut parameters = PROVENANCE.parameter.iter().filter(|it| it.scheme == scheme);
    let found = parameters.find(|it| it.printed.as_ref().is_some_and(|it| tested.contains(it)))?;
    circular(format!(
        "the parameter {} of {} was set by this statement ({})",
        found.name,
        scheme_name(scheme),
        found.source
    ))
}

/// Returns why a comparison of a join or leave with another operation is no evidence for these
/// statements: a setting of the network study was chosen by one of them.
pub(crate) fn of_settings(tested: &[String]) -> Option<Void> {
    let found = PROVENANCE
        .setting
        .iter()
        .find(|setting| setting.printed.iter().any(|path| tested.contains(path)))?;
    circular(format!("{} was chosen by this statement ({})", found.name, found.source))
}

pub(crate) fn sets_a_price(printed: &str) -> bool {
    PROVENANCE.price.iter().any(|price| price.printed == printed)
}

/// Says why something follows from the model, so that it cannot fail.
pub(crate) fn by_construction(why: &str) -> Option<Void> {
    circular(why.to_owned())
}

/// Says why ours cannot be compared.
pub(crate) fn not_comparable(why: impl Into<String>) -> Option<Void> {
    Some(Void { kind: VoidKind::NotComparable, why: why.into() })
}

fn circular(why: String) -> Option<Void> {
    Some(Void { kind: VoidKind::Circular, why })
}

static PROVENANCE: LazyLock<Provenance> =
    LazyLock::new(|| toml::from_str(include_str!("provenance.toml")).expect("a test reads it"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Provenance {
    price: Vec<Price>,
    parameter: Vec<Parameter>,
    setting: Vec<Setting>,
    stand_in: Vec<StandIn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    device: String,
    of: Vec<String>,
    printed: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    scheme: String,
    name: String,
    printed: Option<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    name: String,
    printed: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StandIn {
    scheme: String,
    study: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use groupkey::Suite;
    use groupkey::catalogue::Provenance as SchemeProvenance;
    use groupkey::crypto::meter::Primitive;
    use groupkey_lab::device::DeviceProfile;
    use groupkey_lab::registry;

    use super::*;
    use crate::study::{StudyExtent, studies};

    const DEVICES: [&str; 5] =
        ["esp32-micropython", "esp32-pbc", "esp8266", "i3-5005u-python", "i5-6500-python"];

    /// A price that its device's file says to be solved from a printed value stands here, and its
    /// file names the same place.
    #[test]
    fn every_price_that_was_set_by_a_statement_is_told_here() {
        for name in DEVICES {
            let device = DeviceProfile::named(name).expect("it is built in");
            let sources = sources(&device);
            let told: Vec<&Price> =
                PROVENANCE.price.iter().filter(|price| price.device == name).collect();
            for (price, source) in &sources {
                let is_set =
                    source.starts_with("calibrated") || source.contains(" has a member of");
                let is_told = told.iter().any(|it| it.of.iter().any(|of| of == price));
                assert!(!is_set || is_told, "{name} {price}: {source}");
            }
            for (price, of) in told.iter().flat_map(|it| it.of.iter().map(move |of| (it, of))) {
                let study = price.source.get(..4).expect("a study and a place");
                let mut named = sources.iter().filter(|(name, _)| name == of);
                let is_named = |(_, source): &(&str, String)| {
                    source.contains(study) || source.contains("as unwrap")
                };
                assert!(named.any(is_named), "{name} {of}: {}", price.source);
            }
        }
    }

    #[test]
    fn every_parameter_of_a_studied_scheme_says_where_it_comes_from() {
        let plans = studies().map(|study| (study.plans)(StudyExtent::Quick));
        let network = crate::network_impact::plans(1, 1);
        let schemes = plans.iter().flatten().map(|plan| plan.scheme.id);
        let schemes: BTreeSet<_> = schemes.chain(network.iter().map(|it| it.scheme.id)).collect();
        for scheme in registry::schemes().filter(|scheme| schemes.contains(scheme.id)) {
            for parameter in scheme.parameters {
                let is_told = |it: &&Parameter| {
                    (it.scheme == "*" || it.scheme == scheme.id) && it.name == parameter.name
                };
                let told = PROVENANCE.parameter.iter().find(is_told);
                assert!(told.is_some(), "{} {}", scheme.id, parameter.name);
            }
            let is_stand_in = PROVENANCE.stand_in.iter().any(|it| it.scheme == scheme.id);
            let made = scheme.provenance == SchemeProvenance::StandIn;
            assert_eq!(is_stand_in, made, "{}", scheme.id);
        }
    }

    #[test]
    fn every_statement_that_set_something_is_printed() {
        let published: toml::Table =
            toml::from_str(include_str!("published.toml")).expect("it is TOML");
        let prices = PROVENANCE.price.iter().map(|it| &it.printed);
        let parameters = PROVENANCE.parameter.iter().filter_map(|it| it.printed.as_ref());
        let settings = PROVENANCE.setting.iter().flat_map(|it| &it.printed);
        for path in prices.chain(parameters).chain(settings) {
            let mut names = path.split('.');
            let first = names.next().and_then(|name| published.get(name));
            let found = names.fold(first, |entry, name| entry.and_then(|entry| entry.get(name)));
            assert!(found.is_some(), "published.toml has no {path}");
        }
    }

    #[test]
    fn a_price_is_circular_for_its_own_statement_alone() {
        let tested = |path: &str| [path.to_owned()];
        let hash = |path| of_prices("esp32-micropython", ["hash"], &tested(path));
        let found = hash("bench.findings.hybrid_member_time").expect("it was set by that");
        assert!(found.kind == VoidKind::Circular && found.why.contains("S002"), "{found:?}");
        assert_eq!(hash("bench.findings.hybrid_member_storage"), None);
        assert_eq!(of_prices("host", ["hash"], &tested("bench.findings.hybrid_member_time")), None);
        let of = |scheme, path| of_scheme(scheme, &tested(path)).map(|void| void.kind);
        assert_eq!(of("xfks-r", "bench.findings.anything"), Some(VoidKind::StandIn));
        assert_eq!(of("xfks-r", "central.findings.anything"), None);
        assert_eq!(
            of("marks", "bench.findings.hybrid_subcontroller_storage"),
            Some(VoidKind::Circular)
        );
        assert_eq!(of("marks", "bench.findings.hybrid_member_storage"), None);
    }

    fn sources(device: &DeviceProfile) -> Vec<(&'static str, String)> {
        let processing = &device.processing;
        let mut all = vec![
            ("publish", processing.publish.source.clone()),
            ("acknowledgement", processing.acknowledgement.source.clone()),
            ("payload_handling", processing.payload_handling.source.clone()),
        ];
        if let Some(power) = &device.power {
            all.push(("idle", power.idle.source.clone()));
            all.push(("active", power.active.source.clone()));
        }
        for suite in [Suite::Published, Suite::Published2048] {
            let Some(costs) = device.costs(suite) else { continue };
            let each = Primitive::ALL.iter().map(|&it| (it.name(), costs.of(it).source.clone()));
            all.extend(each);
        }
        all
    }
}
