//! `groupkey net`: rows, products, determinism, scenarios.

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use crate::finished::{Folder, groupkey, groupkey_in};

#[test]
fn a_row_has_every_field_and_adds_up() {
    let rows =
        groupkey("net --scheme skdc --members 5 --loss 5 --delay 10 --runs 4 --json").objects();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    for text in ["profile", "suite", "provenance", "device"] {
        assert!(row[text].is_string(), "{text}");
    }
    let setting = [&row["scheme"], &row["operation"], &row["members"], &row["qos"], &row["runs"]];
    let expected: [Value; 5] = ["skdc".into(), "create".into(), 5.into(), 2.into(), 4.into()];
    assert_eq!(setting.map(Value::clone), expected);
    assert_eq!((number(row, "loss_percent"), number(row, "delay_ms")), (5.0, 10.0));

    for field in ["sd_ms", "ci95_ms", "computation_ms", "retransmissions"] {
        assert!(number(row, field) >= 0.0, "{field}");
    }
    let parts = number(row, "transmission_ms") + number(row, "computation_ms");
    assert!((number(row, "mean_ms") - parts).abs() < 1e-4, "{row}");
    assert!(number(row, "p50_ms") <= number(row, "p90_ms"));
    assert!(number(row, "p90_ms") <= number(row, "p99_ms"));
    assert!(number(row, "messages") >= 1.0);
    assert!(number(row, "payload_bytes") > 0.0);
    assert!(number(row, "wire_bytes") > number(row, "payload_bytes"));
    assert!(row.get("samples").is_none());
}

#[test]
fn whatever_is_asked_for_is_in_the_row() {
    let arguments = "net --scheme iolus --operation add --members 6 --loss 4 --burst 30 \
                     --loss-direction down --delay 10 --jitter 3 --bandwidth 500 --request 40 \
                     --max-in-flight 9 --set subgroups=2 --subgroup-device i5-6500-python \
                     --suite published --runs 1";
    let rows = groupkey(&format!("{arguments} --json")).objects();
    let row = &rows[0];
    for (field, value) in [("burst_ms", 30.0), ("jitter_ms", 3.0), ("bandwidth_kbit_s", 500.0)] {
        assert_eq!(number(row, field), value);
    }
    for (field, value) in [("request_bytes", 40), ("max_in_flight", 9)] {
        assert_eq!(row[field], value);
    }
    assert_eq!(row["rest_ms"], Value::Null, "the group has settled");
    for (field, value) in [
        ("loss_direction", "down"),
        ("parameters", "subgroups=2"),
        ("hand_over", "pubrel"),
        ("controller_device", "host"),
        ("subgroup_device", "i5-6500-python"),
        ("history", "create, add"),
    ] {
        assert_eq!(row[field], value);
    }
    // A single run tells nothing of how far others are.
    assert_eq!((&row["sd_ms"], &row["ci95_ms"]), (&Value::Null, &Value::Null));

    let table = groupkey(arguments).success().replace('\n', " ");
    let told = "All rows: subgroups=2, packets lost only down, lost in bursts of 30 ms, delay ± 3 ms, \
                500 kbit/s, 9 exchanges in flight, controllers of subgroups on i5-6500-python, \
                requests of 40 bytes.";
    assert!(table.contains(told), "{table}");
}

/// A heading that speaks of all rows must not tell what holds for some.
#[test]
fn what_only_some_schemes_have_is_told_of_these() {
    let arguments = "net --scheme skdc,iolus,gdh2 --operation add --members 6 --runs 1 --request 40 \
                     --subgroup-device cortex-m4";
    let rows = groupkey(&format!("{arguments} --json")).objects();
    let requests: Vec<_> = rows.iter().map(|row| row["request_bytes"].as_u64()).collect();
    assert_eq!(requests, [Some(40), Some(40), None]);
    let table = groupkey(arguments).success().replace('\n', " ");
    assert!(!table.contains("All rows"), "{table}");
    for told in
        ["Rows of iolus: controllers of subgroups on", "Rows of skdc, iolus: requests of 40"]
    {
        assert!(table.contains(told), "{told} is not in {table}");
    }

    // Without requests, a row is what it would be alone.
    let alone = "net --scheme gdh2 --operation add --members 6 --runs 1 --json";
    assert_eq!(rows[2]["mean_ms"], groupkey(alone).objects()[0]["mean_ms"]);
}

#[test]
fn settings_that_change_nothing_are_refused() {
    for (arguments, told) in [
        ("--scheme gdh2 --operation add --request 40", "gdh2 has no controller to ask"),
        ("--scheme skdc --request 40", "no member joins or leaves"),
        ("--scheme skdc,gdh2 --subgroup-device host", "takes a scheme with subgroups"),
        ("--scheme skdc --burst 5", "--burst takes a --loss"),
        ("--scheme skdc --loss 0 --loss-direction up", "--loss-direction takes a --loss"),
        ("--scheme skdc --session clean", "--session needs --outages or --restarts"),
        ("--scheme skdc --keep-alive 9", "--keep-alive needs --outages or --restarts"),
        ("--scheme skdc --outages 60 --outage-length 60", "outages that take 100 % of the time"),
        ("--probe --outages 6 --outage-length 60", "cannot be used with"),
    ] {
        let refused = groupkey(&format!("net --members 6 --runs 1 {arguments}"));
        assert_eq!(refused.code, 2, "{arguments}: {}", refused.stderr);
        assert!(refused.stderr.contains(told), "{arguments}: {}", refused.stderr);
    }
}

#[test]
fn outages_are_in_the_rows_and_the_table_says_who_stayed_behind() {
    let arguments = "net --scheme skdc --operation remove --members 12 --runs 20 --qos 0 \
                     --outages 12 --outage-length 60 --restarts 1 --restart-length 5 --keep-alive 15";
    let rows = groupkey(&format!("{arguments} --json")).objects();
    let row = &rows[0];
    for (field, value) in [("outages_per_hour", 12.0), ("outage_s", 60.0), ("restart_s", 5.0)] {
        assert_eq!(number(row, field), value);
    }
    assert_eq!((&row["keep_alive_s"], &row["session"]), (&15.into(), &"kept".into()));
    // A fifth of the links is down at any time; all members miss what the controller's link lost.
    let behind = number(row, "behind");
    assert!((2.0..7.0).contains(&behind), "{row}");
    let table = groupkey(arguments).success();
    assert!(table.contains("behind"), "{table}");
    let told = "outages of each link 12 an hour of 60 s, restarts of the broker 1 an hour of 5 s, \
                sessions kept, keep-alive 15 s";
    assert!(table.replace('\n', " ").contains(told), "{table}");

    // A member that comes back without its session asks.
    let clean = groupkey(&format!("{arguments} --session clean --json")).objects();
    let still_behind = clean[0].get("behind").and_then(Value::as_f64).unwrap_or_default();
    assert!(still_behind < behind, "{}", clean[0]);
    assert!(number(&clean[0], "catch_ups") > 1.0, "{}", clean[0]);
    for field in ["session", "behind", "outage_s"] {
        let whole = groupkey("net --scheme skdc --members 6 --runs 1 --json").objects();
        assert_eq!(whole[0].get(field), None);
    }
}

#[test]
fn no_limit_can_be_asked_for() {
    let rows = |more: &str| groupkey(&format!("net --members 6 --runs 1 --json {more}")).objects();
    assert_eq!(rows("--bandwidth inf"), rows(""));
    let refused = groupkey("net --bandwidth 0.0001");
    assert!(
        refused.stderr.contains("give 0.001 or more, or inf for no limit"),
        "{}",
        refused.stderr
    );
}

#[test]
fn runs_and_seed_go_with_a_scenario() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rows = |more: &[&str]| {
        let scenario = ["net", "--scenario", "examples/scenarios/junction.toml", "--json"];
        groupkey_in(&root, &[&scenario, more].concat()).objects()
    };
    let (own, other) = (&rows(&["--runs", "2"])[0], &rows(&["--runs", "2", "--seed", "99"])[0]);
    assert_eq!((&own["runs"], &other["runs"]), (&2.into(), &2.into()));
    assert_eq!(other["seed"], 99);
    assert_ne!(own["mean_ms"], other["mean_ms"]);
    let refused = groupkey_in(
        &root,
        &["net", "--scenario", "examples/scenarios/junction.toml", "--runs", "1000001"],
    );
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn samples_come_when_asked_for() {
    let rows = groupkey("net --scheme skdc --members 5 --runs 4 --json --samples").objects();
    let samples = rows[0]["samples"].as_array().expect("an array");
    assert_eq!(samples.len(), 4);
    let total: f64 = samples.iter().map(|sample| number(sample, "total_ms")).sum();
    assert!((total / 4.0 - number(&rows[0], "mean_ms")).abs() < 1e-4);
}

#[test]
fn lists_give_the_product() {
    let arguments = "net --scheme skdc,lkh-group,gdh2 --operation create,add,remove --members 4,6 \
                     --loss 0,5 --delay 0,20 --qos 1,2 --runs 1";
    let rows = groupkey(&format!("{arguments} --json")).objects();
    assert_eq!(rows.len(), 3 * 3 * 2 * 2 * 2 * 2);
    let mut settings: Vec<String> = rows
        .iter()
        .map(|row| {
            ["scheme", "operation", "members", "loss_percent", "delay_ms", "qos"]
                .map(|field| row[field].to_string())
                .join(" ")
        })
        .collect();
    settings.sort();
    settings.dedup();
    assert_eq!(settings.len(), rows.len(), "no setting comes twice");

    let table = groupkey(arguments).success();
    let (circumstances, table) = table.split_once("\n\n").expect("a blank line between");
    assert!(circumstances.starts_with("Runs per row: 1, seed: 1; sound profile, standard suite"));
    assert_eq!(table.lines().count(), 1 + rows.len(), "{table}");
}

#[test]
fn a_seed_decides_everything_and_threads_nothing() {
    let run = |more: &str| {
        let arguments = "net --scheme lkh-user --members 8,9 --loss 10 --runs 6 --json --samples";
        groupkey(&format!("{arguments} {more}")).success()
    };
    let once = run("--seed 5 --threads 1");
    assert_eq!(once, run("--seed 5 --threads 1"));
    assert_eq!(once, run("--seed 5 --threads 2"));
    assert_ne!(once, run("--seed 6 --threads 2"));
}

/// A row does not depend on what else is asked for.
#[test]
fn any_row_can_be_run_alone() {
    let all =
        groupkey("net --scheme skdc --operation create,add,remove --members 4,5 --runs 2 --json");
    let all = all.objects();
    let one =
        groupkey("net --scheme skdc --operation remove --members 5 --runs 2 --json").objects();
    assert!(all.contains(&one[0]), "{one:?}");
}

#[test]
fn the_network_matters() {
    let mean = |more: &str| {
        let rows = groupkey(&format!("net --scheme skdc --members 5 --runs 20 --json {more}"));
        number(&rows.objects()[0], "mean_ms")
    };
    let good = mean("");
    assert!(mean("--delay 50") > good + 100.0);
    assert!(mean("--loss 10") > good);
    assert!(mean("--loss 10 --burst 30") > good);
    assert!(mean("--loss 10 --loss-direction up") > good);
    assert!(mean("--bandwidth 64") > good);
    assert!(mean("--delay 50 --qos 0") < mean("--delay 50 --qos 2"));
}

#[test]
fn profile_suite_protection_and_devices_can_be_chosen() {
    let rows = groupkey(
        "net --scheme gdh2 --members 5 --runs 1 --json --profile published --device \
         esp32-micropython --controller-device i5-6500-python --max-in-flight 20",
    );
    let rows = rows.objects();
    assert_eq!(
        (&rows[0]["profile"], &rows[0]["suite"]),
        (&"published".into(), &"published".into())
    );
    assert_eq!(rows[0]["device"], "esp32-micropython");

    let bytes = |protection: &str| {
        let rows = groupkey(&format!(
            "net --scheme skdc --members 5 --runs 1 --json --suite constrained --protection {protection}"
        ));
        number(&rows.objects()[0], "payload_bytes")
    };
    assert!(bytes("none") < bytes("mac"));
    assert!(bytes("mac") < bytes("signature"));
}

/// In their sound form, all schemes sign: whoever was ever a member has the key of the MAC.
#[test]
fn protection_is_what_a_profile_has_unless_it_is_chosen() {
    let protections = |arguments: &str| {
        let rows = groupkey(&format!("net --members 4 --runs 1 --json {arguments}")).objects();
        rows.iter().map(|row| row["protection"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(protections("--scheme skdc,gdh2,bd"), ["signature"; 3]);
    assert_eq!(protections("--scheme skdc,gdh2 --profile published"), ["mac", "mac"]);
    assert_eq!(protections("--scheme skdc,gdh2 --protection none"), ["none", "none"]);
    assert_eq!(protections("--scheme skdc,gdh2 --protection mac"), ["mac", "mac"]);

    let table = |schemes: &str| groupkey(&format!("net --members 4 --runs 1 {schemes}")).stdout;
    assert!(table("--scheme gdh2").contains("protection signature"));
    let both = table("--scheme skdc,gdh2").replace('\n', " ");
    assert!(both.contains("protection signature;"), "{both}");
}

/// A creation over slow links makes TCP's timeouts long, which hours later nobody feels.
#[test]
fn changes_are_those_of_a_group_that_has_settled() {
    let folder = Folder::new();
    let text = "description = 'Slow links'\noperations = ['create', 'add']\nrest_ms = 60000\n\
                runs = 20\n[group]\nscheme = 'lkh-group'\nmembers = 60\n[mqtt]\nqos = 1\n\
                [network]\nloss_percent = 2\ndelay_ms = 60\nbandwidth_kbit_s = 100\n";
    let name = folder.file("slow.toml", text);
    let idle = groupkey_in(folder.path(), &["net", "--scenario", name, "--json"]).objects();
    let settled = groupkey(
        "net --scheme lkh-group --operation create,add --members 60 --loss 2 --delay 60 \
         --bandwidth 100 --qos 1 --runs 20 --json",
    );
    let settled = settled.objects();
    let mean = |rows: &[Value], place: usize| number(&rows[place], "mean_ms");
    assert!(mean(&idle, 1) > 1.3 * mean(&settled, 1), "{idle:?} {settled:?}");
    let created = mean(&idle, 0) / mean(&settled, 0);
    assert!((0.8..1.25).contains(&created), "{created}");
}

#[test]
fn batches_are_measured() {
    let rows = groupkey("net --scheme lkh-group --operation batch --members 8 --runs 2 --json");
    let rows = rows.objects();
    assert_eq!((&rows[0]["operation"], rows.len()), (&"batch".into(), 1));
    let refused = groupkey("net --scheme lkh-group --operation batch --members 4 --runs 2");
    assert!(refused.stderr.contains("a group of more than 4 members"), "{}", refused.stderr);
}

#[test]
fn the_defaults_do_something_sensible() {
    let rows = groupkey("net --json").objects();
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["members"], &rows[0]["runs"]), (&50.into(), &30.into()));
}

#[test]
fn every_scenario_among_the_examples_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("examples/scenarios");
    let mut scenarios = 0;
    for entry in fs::read_dir(&folder).expect("there are examples") {
        let path = entry.expect("readable").path();
        let name = path.to_str().expect("a plain name");
        let rows = groupkey_in(&root, &["net", "--scenario", name, "--json"]).objects();
        assert!(!rows.is_empty(), "{name}");
        scenarios += 1;
    }
    assert!(scenarios > 0);
}

fn number(object: &Value, field: &str) -> f64 {
    object[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {object}"))
}

#[test]
fn bandwidths_are_a_list_and_members_have_an_energy() {
    let command = "net --scheme skdc --operation create --members 10 --bandwidth 50,inf --runs 2";
    let of = |more: &str| groupkey(&format!("{command} {more} --json")).objects();
    let rows = of("--device cortex-m4");
    let rates: Vec<_> = rows.iter().map(|row| row["bandwidth_kbit_s"].as_f64()).collect();
    assert_eq!(rates, [Some(50.0), None]);
    assert!(number(&rows[0], "mean_ms") > number(&rows[1], "mean_ms"));
    let energy = |rows: &[Value]| number(&rows[0], "member_joule");
    let usual = energy(&rows);
    assert!((1e-6..1.0).contains(&usual), "{usual} J");
    // What is lost is sent again, at the price of the radio.
    assert!(energy(&of("--device cortex-m4 --loss 20")) > usual);
    assert!(energy(&of("--device cortex-m4 --qos 0")) < usual);
    // A device whose power nobody knows.
    let rows = of("--device esp32-micropython --suite published");
    assert!(rows.iter().all(|row| row.get("member_joule").is_none()), "{rows:?}");

    let table = groupkey(&format!("{command} --device cortex-m4")).success();
    for head in ["kbit/s", "member J"] {
        assert!(table.contains(head), "{table}");
    }
    let table = groupkey("net --scheme skdc --bandwidth 50 --runs 1").success();
    assert!(table.contains("All rows: 50 kbit/s") && !table.contains("member J"), "{table}");
}

/// A row ends in a report: the folder has the rows and a page, and `groupkey report` joins them with
/// those of another command.
#[test]
fn rows_are_kept_with_a_page_of_them() {
    let folder = Folder::new();
    let net =
        ["net", "--scheme", "skdc,lkh-group", "--members", "5", "--loss", "0,5", "--runs", "2"];
    let run = |further: &[&str]| groupkey_in(folder.path(), &[&net[..], further].concat());
    let printed = run(&["--out", "kept"]).success();
    for file in ["report.html", "results.jsonl", "summary.csv"] {
        assert!(
            printed.contains(file) && folder.path().join("kept").join(file).is_file(),
            "{printed}"
        );
    }
    let page = fs::read_to_string(folder.path().join("kept/report.html")).expect("the page");
    assert!(page.contains("LKH") && page.contains("<svg class='chart'"), "the page has charts");
    let rows = run(&["--json", "--samples"]).success();
    let kept = fs::read_to_string(folder.path().join("kept/results.jsonl")).expect("the rows");
    let (_, kept) = kept.split_once('\n').expect("a header");
    assert_eq!(kept, rows, "kept and printed rows are the same");

    let refused = run(&["--out", "kept"]);
    assert!(refused.code == 2 && refused.stderr.contains("--fresh"), "{refused:?}");
    run(&["--out", "kept", "--fresh"]).success();
    let bench = "bench --scheme skdc --members 4 --operation remove --repetitions 2 --out measured";
    groupkey_in(folder.path(), &bench.split(' ').collect::<Vec<_>>()).success();
    groupkey_in(folder.path(), &["report", "kept", "measured", "--out", "both.html"]).success();
    let both = fs::read_to_string(folder.path().join("both.html")).expect("the page");
    assert!(both.contains("network, 4 rows") || both.contains("network: 4 rows"), "both sources");
}
