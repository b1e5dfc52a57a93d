//! `groupkey schemes`.

use groupkey::catalogue::SCHEMES;
use serde_json::Value;

use crate::finished::groupkey;

#[test]
fn json_holds_the_whole_catalogue() {
    let stdout = groupkey("schemes --stand-ins --json").success();
    let listed: Vec<Value> = serde_json::from_str(&stdout).expect("an array of objects");
    let foreign = if cfg!(feature = "mls") { 2 } else { 0 };
    assert_eq!(listed.len(), SCHEMES.len() + foreign);
    for (object, scheme) in listed.iter().zip(SCHEMES) {
        assert_eq!(object["id"], scheme.id);
        assert_eq!(object["name"], scheme.name);
        assert_eq!(object["class"], scheme.class().name());
        assert_eq!(object["provenance"], scheme.provenance.name());
        assert_eq!(object["source"], scheme.source);
        assert_eq!(object["members"]["min"], scheme.members.0);
        assert_eq!(object["members"]["max"], scheme.members.1);
        assert_eq!(object["claims"]["forward_secrecy"], scheme.claims.forward_secrecy);
        let audited = &object["audited"]["sound"];
        assert!(audited["forward_secrecy"].is_string(), "{} was not audited", scheme.id);
        let actively = &object["audited_active"]["sound"];
        assert!(actively["agreement"].is_string(), "{} was not audited", scheme.id);
        assert_eq!(object["active_claims"]["published"]["forward_secrecy"], false);
        let operations = object["operations"].as_array().expect("an array");
        assert_eq!(operations.len(), scheme.operations.len());
        let parameters = object["parameters"].as_array().expect("an array");
        assert_eq!(parameters.len(), scheme.parameters.len());
        for (object, parameter) in parameters.iter().zip(scheme.parameters) {
            assert_eq!(object["name"], parameter.name);
            assert_eq!(object["sound"], parameter.sound);
            assert_eq!(object["published"], parameter.published);
        }
    }
}

#[test]
fn the_table_has_a_line_for_each_scheme() {
    let stdout = groupkey("schemes --stand-ins").success();
    for scheme in SCHEMES {
        let line = stdout.lines().find(|line| line.split_whitespace().next() == Some(scheme.id));
        let line = line.unwrap_or_else(|| panic!("{} is missing", scheme.id));
        assert!(line.contains(scheme.provenance.name()) && line.ends_with(scheme.name), "{line}");
    }
}

#[test]
fn stand_ins_are_listed_if_they_are_asked_for() {
    let stdout = groupkey("schemes").success();
    assert!(!stdout.contains("sbsa-r") && stdout.contains("sgcsh"), "{stdout}");
    assert!(groupkey("schemes sbsa-r").success().contains("stand-in"));
}

#[test]
fn a_class_is_listed_alone() {
    for arguments in ["schemes --class hybrid,distributed", "schemes --class hybrid --requirements"]
    {
        let stdout = groupkey(arguments).success();
        assert!(stdout.contains("\nmarks ") && !stdout.contains("\nskdc "), "{stdout}");
    }
    let stdout = groupkey("schemes --class hybrid --json").success();
    let listed: Vec<Value> = serde_json::from_str(&stdout).expect("an array of objects");
    assert!(!listed.is_empty() && listed.iter().all(|scheme| scheme["class"] == "hybrid"));
}

#[test]
fn a_scheme_is_described_by_its_id() {
    let stdout = groupkey("schemes lkh-group").success();
    for word in [
        "lkh-group: LKH",
        "specified",
        "forward secrecy: sound yes (audited: holds)",
        "forward secrecy, actively attacked: sound yes (audited: holds)",
        "parameter   degree",
    ] {
        assert!(stdout.contains(word), "{word} is not in {stdout}");
    }
    assert!(!stdout.contains("skdc"), "{stdout}");
    let stdout = groupkey("schemes skdc --json").success();
    let listed: Vec<Value> = serde_json::from_str(&stdout).expect("an array of objects");
    assert_eq!(listed.len(), 1);
}
