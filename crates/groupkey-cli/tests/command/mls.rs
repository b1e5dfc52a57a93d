//! The schemes that foreign libraries compute, on the bench of all others.

use std::fs;

use serde_json::Value;

use crate::finished::{Folder, groupkey, groupkey_in};

const BOTH: [&str; 2] = ["mls-rs", "openmls"];

#[test]
fn mls_stands_in_the_list_as_what_it_is() {
    let schemes: Value = serde_json::from_str(&groupkey("schemes --json").success()).unwrap();
    for id in BOTH {
        let scheme = schemes.as_array().unwrap().iter().find(|scheme| scheme["id"] == id).unwrap();
        assert_eq!(scheme["class"], "distributed");
        assert_eq!(scheme["provenance"], "foreign");
        let told = groupkey(&format!("schemes {id}")).success();
        assert!(told.contains("foreign") && told.contains("RFC 9420"), "{told}");
    }
}

#[test]
fn mls_runs_in_a_network_beside_others_and_its_computation_takes_time() {
    let rows = rows(
        "net --scheme tgdh,mls-rs,openmls --operation create,add,remove --members 10 --runs 2 --json",
    );
    let row = |scheme: &str, operation: &str| {
        rows.iter().find(|row| row["scheme"] == scheme && row["operation"] == operation).unwrap()
    };
    for id in BOTH {
        assert_eq!(row(id, "create")["messages"], 10.0, "{id}");
        assert_eq!(row(id, "add")["messages"], 3.0, "{id}");
        assert_eq!(row(id, "remove")["messages"], 1.0, "{id}");
    }
    for id in BOTH {
        for operation in ["create", "add", "remove"] {
            let computes = row(id, operation)["computation_ms"].as_f64().unwrap();
            assert!(computes > 0.3, "{id}, {operation}: {computes} ms");
        }
    }
}

#[test]
fn mls_is_measured_role_by_role() {
    for id in BOTH {
        let told = format!(
            "bench --scheme {id} --members 10 --operation add,remove --repetitions 3 --json"
        );
        let rows = rows(&told);
        for role in ["sponsor", "member", "new-member"] {
            assert!(rows.iter().any(|row| row["role"] == role), "{id}: {role}");
        }
    }
}

#[test]
fn a_report_draws_the_libraries_beside_a_scheme_of_ours() {
    let folder = Folder::new();
    let run = |line: &str| {
        groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>()).success()
    };
    let of = "--scheme treekem,mls-rs,openmls --members 4 --operation remove";
    run(&format!("net {of} --delay 1 --runs 1 --out simulated"));
    run(&format!("bench {of} --repetitions 2 --out measured"));
    run("report simulated measured");
    let page = fs::read_to_string(folder.path().join("report.html")).expect("a page");
    for words in BOTH.into_iter().chain(["Leave: distributed schemes", "measured rows"]) {
        assert!(page.contains(words), "{words} is not on the page");
    }
}

/// What no derivation sees is not said to hold; what the scripts attack is.
#[test]
fn an_audit_says_what_it_cannot_see() {
    for id in BOTH {
        let findings = rows(&format!("audit --scheme {id} --profile sound --quick --json"));
        let found = |claim: &str, adversary: &str| {
            let is_it = |row: &&Value| row["claim"] == claim && row["adversary"] == adversary;
            findings.iter().find(is_it).unwrap()["found"].clone()
        };
        assert_eq!(found("forward-secrecy", "passive"), "not-modelled", "{id}");
        assert_eq!(found("forward-secrecy", "active"), "holds", "{id}");
        let told = groupkey(&format!("audit --scheme {id} --profile sound --quick")).success();
        assert!(told.contains("foreign, so not modelled"), "{told}");
    }
}

fn rows(arguments: &str) -> Vec<Value> {
    let told = groupkey(arguments).success();
    told.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}
