//! `groupkey bench`: rows, tables by class, what does not depend on the machine, files, refusals.

use std::fs;

use serde_json::Value;

use crate::finished::{Folder, groupkey, groupkey_in, interrupted};

#[test]
fn a_row_has_every_field_and_adds_up() {
    let rows = groupkey(
        "bench --scheme lkh-group --members 20 --operation remove --repetitions 5 --device host --json",
    );
    let rows = rows.objects();
    let roles: Vec<_> = rows.iter().map(|row| row["role"].as_str()).collect();
    assert_eq!(roles, [Some("controller"), Some("member")]);
    for row in &rows {
        let texts = [
            ("scheme", "lkh-group"),
            ("profile", "sound"),
            ("suite", "standard"),
            ("class", "centralized"),
            ("protection", "mac"),
            ("workload", "custom"),
            ("operation", "remove"),
            ("phase", "operational"),
            ("provenance", "specified"),
            (
                "clock",
                if cfg!(any(target_os = "linux", target_os = "macos")) {
                    "processor"
                } else {
                    "wall"
                },
            ),
            ("device", "host"),
        ];
        for (field, expected) in texts {
            assert_eq!(row[field], expected, "{row}");
        }
        let whole = [("members", 20), ("subgroups", 0), ("repetitions", 5), ("seed", 1)];
        for (field, expected) in whole {
            assert_eq!(row[field], expected, "{row}");
        }
        assert_eq!(row["security_bits"], 128);
        for field in ["mean_ns", "counted_ns", "measured_over_counted", "device_ns"] {
            assert!(number(row, field) > 0.0, "{field}: {row}");
        }
        assert!(number(row, "p50_ns") <= number(row, "p90_ns"));
        assert!(number(row, "p90_ns") <= number(row, "p99_ns"));
        assert!(row.get("samples_ns").is_none());
    }
    assert_eq!((&rows[0]["messages"], &rows[1]["messages"]), (&1.into(), &0.into()));
    assert_eq!(rows[0]["broadcast"]["wire_bytes"], rows[0]["wire_bytes"]);
}

#[test]
fn counted_instructions_are_told_from_times() {
    let shown = groupkey(
        "bench --scheme lkh-group --members 5 --operation remove --repetitions 2 --device cortex-m4",
    );
    let shown = shown.success();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "cost on cortex-m4 (instruction counts, as if 1 a cycle at 64 MHz)";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn what_is_counted_is_the_same_in_every_run() {
    let counted = |arguments: &str| {
        let rows = groupkey(&format!("bench {arguments} --repetitions 2 --json")).objects();
        let times = ["mean_ns", "ci95_ns", "sd_ns", "p50_ns", "p90_ns", "p99_ns", "counted_ns"];
        rows.into_iter()
            .map(|mut row| {
                let fields = row.as_object_mut().expect("a row");
                for field in times.into_iter().chain(["measured_over_counted", "warnings"]) {
                    fields.remove(field);
                }
                row
            })
            .collect::<Vec<_>>()
    };
    let arguments = "--scheme oft,riseg,tgdh --members 6";
    assert_eq!(counted(arguments), counted(arguments));
    assert_ne!(counted(arguments), counted(&format!("{arguments} --seed 2")));
}

/// Schemes with and without a controller are for different needs.
#[test]
fn classes_that_are_not_compared_have_tables_of_their_own() {
    let table = groupkey("bench --scheme skdc,gdh2 --members 4 --operation add --repetitions 2");
    let table = table.success();
    let (served, others) = table.split_once("Members among themselves").expect("a second table");
    let (circumstances, served) = served.split_once("With a controller").expect("a first table");
    assert!(circumstances.contains("repetitions: 2, seed: 1; sound profile, standard suite"));
    assert!(circumstances.contains(" time, measured on this machine"), "{circumstances}");
    assert!(served.contains("skdc") && !served.contains("gdh2"), "{table}");
    assert!(others.contains("gdh2") && !others.contains("skdc"), "{table}");
    assert!(served.contains("deployment") && !others.contains("deployment"), "{table}");
    for role in ["sponsor", "member", "new-member"] {
        assert!(others.contains(role), "{role}: {table}");
    }
}

#[test]
fn roles_phases_and_classes_are_chosen() {
    let rows = groupkey(
        "bench --class hybrid --members 5 --operation create --role subgroup-controller --phase \
         deployment --repetitions 1 --json",
    );
    let rows = rows.objects();
    assert!(rows.len() >= 5);
    for row in rows {
        assert_eq!(
            (&row["class"], &row["role"]),
            (&"hybrid".into(), &"subgroup-controller".into())
        );
        assert_eq!((&row["phase"], &row["subgroups"]), (&"deployment".into(), &55.into()));
    }
}

#[test]
fn a_workload_has_its_sizes_and_can_be_narrowed_down() {
    let rows = groupkey(
        "bench --workload platoon --scheme bd --k-max 5 --repetitions 1 --operation create --json",
    );
    let sizes: Vec<_> = rows.objects().iter().map(|row| row["members"].clone()).collect();
    assert_eq!(sizes, [2, 3, 4, 5].map(Value::from));
    let rows = groupkey(
        "bench --workload smart-city --scheme skdc --k-max 202 --repetitions 1 --operation remove \
         --role member --json",
    );
    let sizes: Vec<_> = rows.objects().iter().map(|row| row["members"].clone()).collect();
    // A pair cannot lose anybody.
    assert_eq!(sizes, [102, 202].map(Value::from));
}

/// The file's own roles, phases, lengths and repetitions; mistakes are told with their place.
#[test]
fn a_workload_can_be_a_file() {
    let folder = Folder::new();
    let text = "name = 'yard'\ndescription = 'y'\nrepetitions = 2\nsubgroups = 3\n\
                [members]\nmin = 4\nmax = 6\nstep = 2\n\
                [[pattern]]\nactor = 'controller'\noperation = ['add', 'remove', 'idle']\n\
                [[pattern]]\nactor = 'new-member'\nphase = 'deployment'\noperation = 'add'\n\
                [[pattern]]\nactor = 'member'\noperation = 'encrypt'\nbytes = [1, 9]\nrepetitions = 3\n";
    folder.file("yard.toml", text);
    let run = |more: &str| {
        let line = format!("bench --workload yard.toml --scheme skdc,dep {more}");
        groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>())
    };
    let rows = run("--members 4 --json --out kept").objects();
    let told: Vec<_> = rows
        .iter()
        .filter(|row| row["scheme"] == "skdc")
        .map(|row| {
            assert_eq!(row["workload"], "yard");
            let text = |field: &str| row[field].as_str().expect("a name").to_owned();
            let bytes = row.get("message_bytes").and_then(Value::as_u64);
            let repetitions = row["repetitions"].as_u64();
            (text("operation"), text("role"), text("phase"), bytes, repetitions)
        })
        .collect();
    let row = |operation: &str, role: &str, phase: &str, bytes, repetitions| {
        (operation.to_owned(), role.to_owned(), phase.to_owned(), bytes, Some(repetitions))
    };
    assert_eq!(
        told,
        [
            row("add", "new-member", "deployment", None, 2),
            row("add", "controller", "operational", None, 2),
            row("remove", "controller", "operational", None, 2),
            row("encrypt", "member", "operational", Some(1), 3),
            row("encrypt", "member", "operational", Some(9), 3),
        ]
    );
    assert!(rows.iter().any(|row| row["scheme"] == "dep" && row["subgroups"] == 3));
    // All plans are found again.
    assert_eq!(run("--members 4 --json --out kept --resume").objects().len(), rows.len());

    let rows = run("--operation encrypt --bytes 9 --repetitions 1 --json").objects();
    assert!(rows.iter().all(|row| row["message_bytes"] == 9 && row["repetitions"] == 1));
    assert_eq!(rows.len(), 4, "two schemes of two sizes");
    let table = run("--members 4").success();
    assert!(table.contains("repetitions: 2 or 3") && table.contains("message B"), "{table}");

    for (from, to, expected) in [
        ("'member'", "'membre'", "yard.toml:17:9:"),
        ("max = 6", "max = 6\nmost = 7", "yard.toml:8:1:"),
        ("subgroups", "randomness = 'fresh'\nsubgroups", "static"),
    ] {
        folder.file("yard.toml", &text.replacen(from, to, 1));
        let told = run("");
        assert_eq!(told.code, 2, "{}", told.stderr);
        assert!(told.stderr.contains(expected), "{expected}: {}", told.stderr);
    }
}

#[test]
fn growth_is_told_beside_what_the_catalogue_states() {
    let line = "bench --scheme skdc,lkh-group --growth --operation remove --repetitions 1";
    let lines = groupkey(&format!("{line} --json")).objects();
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line.get("growth").is_some())
        .map(|line| {
            let text = |field: &str| line[field].as_str().expect("a text").to_owned();
            assert_eq!(line["agrees"], true, "{line}");
            let circumstances = ["class", "provenance", "parameters", "protection", "seed"];
            assert!(circumstances.iter().all(|field| line.get(field).is_some()), "{line}");
            [text("scheme"), text("role"), text("growth"), text("stated")].join(" ")
        })
        .collect();
    assert!(told.contains(&"skdc controller linear linear".to_owned()), "{told:?}");
    assert!(told.contains(&"lkh-group controller log n log n".to_owned()), "{told:?}");
    let table = groupkey(line).success();
    assert!(table.contains("protection none") && table.contains("agrees"), "{table}");
    let told = groupkey("bench --growth --members 4,8,16");
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("4 sizes or more"), "{}", told.stderr);
}

#[test]
fn samples_come_when_asked_for() {
    let rows = groupkey(
        "bench --scheme skdc --members 3 --operation encrypt,decrypt --bytes 9 --repetitions 4 --json \
         --samples",
    );
    for row in rows.objects() {
        assert_eq!(row["samples_ns"].as_array().map(Vec::len), Some(4));
        assert_eq!(row["message_bytes"], 9);
    }
}

#[test]
fn results_are_kept_and_gone_on_with() {
    let folder = Folder::new();
    let run = |more: &str| {
        let line = format!(
            "bench --scheme skdc,gdh2 --members 3,4,5 --operation create --repetitions 2 --out kept {more}"
        );
        groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>())
    };
    run("").success();
    let results = folder.path().join("kept/results.jsonl");
    let whole = fs::read_to_string(&results).expect("results were written");
    let header: Value =
        serde_json::from_str(whole.lines().next().expect("a header")).expect("JSON");
    assert_eq!(
        (&header["format"], &header["workload"]),
        (&"groupkey-bench".into(), &"custom".into())
    );
    assert!(number(&header["prices"]["standard"]["wrap"], "per_call_ns") >= 0.0);
    let rows = whole.lines().count() - 1;
    let summary = fs::read_to_string(folder.path().join("kept/summary.csv")).expect("a summary");
    assert_eq!(summary.lines().count(), 1 + rows);

    // Nothing is left to measure.
    run("--resume").success();
    assert_eq!(fs::read_to_string(&results).expect("results are there"), whole);

    // As if it had been interrupted in the second scheme.
    let part: Vec<&str> = whole.lines().take(rows - 2).collect();
    fs::write(&results, part.join("\n") + "\n").expect("writable");
    let told = run("");
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("--resume"), "{}", told.stderr);
    run("--resume").success();
    let resumed = fs::read_to_string(&results).expect("results are there");
    assert_eq!(resumed.lines().count() - 1, rows);
    assert_eq!(resumed.lines().nth(1), whole.lines().nth(1), "what was done was kept");

    let told = groupkey_in(
        folder.path(),
        &["bench", "--scheme", "tgdh", "--members", "3", "--out", "kept", "--resume"],
    );
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("other arguments"), "{}", told.stderr);
}

/// Rows do not tell a scheme's parameters, and without rows nothing tells the seed.
#[test]
fn what_was_begun_with_other_arguments_is_not_gone_on_with() {
    let folder = Folder::new();
    let run = |more: &str| {
        let line = format!(
            "bench --scheme lkh-group --members 4,5 --operation remove --repetitions 2 --out kept \
             {more}"
        );
        groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>())
    };
    run("--set degree=4").success();
    let results = folder.path().join("kept/results.jsonl");
    let whole = fs::read_to_string(&results).expect("results were written");
    let header = whole.lines().next().expect("a header");
    let refused = |line: &str, words: &str| {
        let before = fs::read_to_string(&results).expect("results are there");
        let told = run(line);
        assert_eq!(told.code, 2, "{line}: {}", told.stderr);
        assert!(told.stderr.contains(words), "{line}: {}", told.stderr);
        assert_eq!(fs::read_to_string(&results).expect("results are there"), before, "{line}");
    };
    for lines in [1, 2] {
        let part: Vec<&str> = whole.lines().take(lines).collect();
        fs::write(&results, part.join("\n") + "\n").expect("writable");
        for other in [
            "--set degree=2 --resume",
            "--resume",
            "--set degree=2",
            "--set degree=4 --seed 2 --resume",
            "--set degree=4 --device host --resume",
            "--set degree=4 --workload smart-city --resume",
        ] {
            refused(other, "was begun with other arguments");
        }
    }
    run("--set degree=4 --resume").success();

    // A header that does not tell the arguments.
    let plans = header.find("\"plans\"").expect("a field of the header");
    let end = plans + header[plans..].find(',').expect("not the last field") + 1;
    fs::write(&results, [&header[..plans], &header[end..], "\n"].concat()).expect("writable");
    refused("--set degree=4 --resume", "plans");
    run("--set degree=4 --fresh").success();
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    for (arguments, expected) in [
        ("bench --scheme lkh-grup", "'lkh-group'"),
        ("bench --class central", "centralized"),
        ("bench --workload city", "smart-city"),
        ("bench --workload no/such/file", "no/such/file"),
        ("bench --workload platoon --operation rekey", "--operation"),
        ("bench --device nowhere.toml", "docs/devices.md"),
        ("bench --role sender", "sponsor"),
        ("bench --operation join", "create"),
        ("bench --members 1", "2"),
        ("bench --members 3 --k-max 9", "--k-max"),
        ("bench --k-min 9 --k-max 3", "above"),
        ("bench --repetitions 0", "--repetitions"),
        ("bench --bytes 70000", "--bytes"),
        ("bench --scheme cka --operation remove", "groupkey schemes"),
        ("bench --scheme gdh2 --workload smart-city", "platoon"),
        ("bench --scheme gdh2 --members 100000", "any of these sizes"),
        ("bench --scheme skdc --set degree=2", "skdc"),
        ("bench --device esp32-micropython", "published"),
        ("bench --scheme skdc --class hybrid", "--class"),
        ("bench --resume", "--out"),
        ("bench --samples", "--json"),
        ("bench --repetitions 4000000000", "too much for one command"),
    ] {
        let told = groupkey(arguments);
        assert_eq!(told.code, 2, "{arguments}: {}", told.stderr);
        assert!(told.stderr.contains(expected), "{arguments}: {}", told.stderr);
    }
}

/// A class is measured without those of its schemes that cannot run in the suite.
#[test]
fn what_has_no_post_quantum_form_is_left_out_of_a_class() {
    let told = groupkey(
        "bench --class centralized --suite pq --members 3 --operation remove --repetitions 1 --json",
    );
    let noted = told.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "note: left out: boneh-fat, boneh-thin, nishat, fame: no post-quantum form: \
                it is built on a pairing, and suite pq has no pairing";
    assert!(noted.contains(note), "{noted}");
    let rows = told.objects();
    let has = |id: &str| rows.iter().any(|row| row["scheme"] == id && row["suite"] == "pq");
    assert!(has("skdc") && has("elk"), "{rows:?}");
    let refused = groupkey("bench --scheme skdc,fame --suite pq");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("fame: no post-quantum form"), "{}", refused.stderr);
}

/// Nobody should wait for rows that cannot be.
#[test]
fn a_role_that_nobody_plays_is_refused_before_anything_is_measured() {
    let folder = Folder::new();
    for line in [
        "bench --scheme gdh2 --role controller --out kept",
        "bench --scheme skdc --operation remove --phase deployment --out kept",
        "bench --scheme skdc,lkh-group --role subgroup-controller --out kept",
    ] {
        let told = groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(told.code, 2, "{line}: {}", told.stderr);
        assert!(told.stderr.contains("is of this role and phase"), "{line}: {}", told.stderr);
        assert!(!folder.path().join("kept").exists(), "{line}");
    }
}

#[test]
fn sizes_of_which_nothing_can_be_measured_are_a_failure() {
    let line = "bench --scheme boneh-fat --set capacity=64 --members 70 --repetitions 1";
    let told = groupkey(line);
    assert_eq!(told.code, 2, "{}", told.stderr);
    assert!(told.stderr.contains("error: nothing was measured: "), "{}", told.stderr);
    assert!(told.stderr.contains("--set capacity=.."), "{}", told.stderr);
    let notes: Vec<_> = told.stderr.lines().filter(|line| line.starts_with("note:")).collect();
    assert_eq!(notes.len(), 1, "{}", told.stderr);
    assert!(notes[0].contains("no create, add, remove of 70 members"), "{}", notes[0]);
    // What fits is measured.
    let told = groupkey(&line.replace("--members 70", "--members 2,70"));
    assert!(told.stderr.contains("of 70 members"), "{}", told.stderr);
    told.success();
}

/// Ctrl-C keeps what is done.
#[test]
#[ignore = "long: half a minute, Ctrl-C at random moments"]
fn an_interruption_keeps_what_is_done() {
    let folder = Folder::new();
    let results = folder.path().join("kept/results.jsonl");
    let rows = || fs::read_to_string(&results).map_or(0, |text| text.lines().count());
    let command = "bench --scheme skdc --k-min 2 --k-max 12000 --step 20 --repetitions 40 --out kept \
                   --operation create";
    let words: Vec<&str> = command.split_whitespace().collect();
    // Five rounds of some seconds each. Rows are written during the last of them.
    let finished = interrupted(folder.path(), &words, || rows() >= 3);
    assert_eq!(finished.code, 130, "{}", finished.stderr);
    assert!(finished.stderr.contains("--resume"), "{}", finished.stderr);
    assert!(rows() >= 3);
}

fn number(object: &Value, field: &str) -> f64 {
    object[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {object}"))
}
