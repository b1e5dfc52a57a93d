//! `groupkey report`: a page of results files, and what it refuses.

use std::fs;

use crate::finished::{Folder, groupkey, groupkey_in};

#[test]
fn a_page_holds_what_the_files_hold() {
    let folder = Folder::new();
    let run = |line: &str| groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    run("bench --scheme skdc,tgdh --members 3,4,5,6 --operation add --repetitions 2 --out kept")
        .success();
    let left = fs::read_to_string(folder.path().join("kept/report.html")).expect("a report");
    assert!(left.contains("</html>") && left.contains("<svg class='drawing tree'"));

    let finding = r#"{"scheme":"skdc","profile":"sound","provenance":"specified","claim":"forward-secrecy","adversary":"passive","claimed":true,"found":"holds","method":"closure","reference":null,"history":[],"derivation":[]}"#;
    fs::write(folder.path().join("findings.jsonl"), format!("{finding}\n")).expect("writable");
    let told = run("report kept/results.jsonl findings.jsonl --out all.html");
    told.success();
    let page = fs::read_to_string(folder.path().join("all.html")).expect("a report");
    // It is replaced whole: who holds the old one still has it.
    folder.file("all.html", "old");
    let held = folder.path().join("held.html");
    fs::hard_link(folder.path().join("all.html"), &held).expect("links are there");
    run("report kept/results.jsonl findings.jsonl --out all.html").success();
    assert_eq!(fs::read_to_string(&held).expect("it is there"), "old");
    assert_eq!(fs::read_to_string(folder.path().join("all.html")).expect("a report"), page);
    for word in ["skdc", "tgdh", "forward-secrecy", "Holds", "Published feature tables"] {
        assert!(page.contains(word), "{word} is missing");
    }
    assert!(
        !page.contains(folder.path().to_str().expect("a plain name")),
        "no path of this machine"
    );
}

/// A number that no clock has told must not cost the memory of the machine.
#[test]
fn absurd_times_are_refused_or_drawn() {
    let folder = Folder::new();
    let run = |line: &str| groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    run("bench --scheme skdc --members 3,4,5,6 --operation add --repetitions 2 --out kept")
        .success();
    let whole = fs::read_to_string(folder.path().join("kept/results.jsonl")).expect("results");
    let with = |mean: &str| {
        let (before, rest) = whole.split_once("\"mean_ns\":").expect("a row has a mean");
        let (_, after) = rest.split_once(',').expect("not the last field");
        let changed = format!("{before}\"mean_ns\":{mean},{after}");
        fs::write(folder.path().join("changed.jsonl"), changed).expect("writable");
        run("report changed.jsonl")
    };
    let told = with("1.79e308");
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("changed.jsonl:2: mean_ns is 1.79e308"), "{}", told.stderr);
    with("5e-324").success();
}

/// A run that was killed leaves rows; a party that sees them should know that there are more.
#[test]
fn an_unfinished_file_is_told() {
    let folder = Folder::new();
    let run = |line: &str| groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    run("bench --scheme skdc --members 3,4,5,6 --operation add --repetitions 2 --out kept")
        .success();
    let whole = fs::read_to_string(folder.path().join("kept/results.jsonl")).expect("results");
    let rows = whole.lines().count() - 1;
    let (header, rest) = whole.split_once('\n').expect("a header and rows");
    // In the middle of a row.
    let kept = rows / 2;
    let begun = rest.lines().nth(kept).expect("there are more");
    let before: String = rest.lines().take(kept).map(|row| format!("{row}\n")).collect();
    folder.file("cut.jsonl", &format!("{header}\n{before}{}", &begun[..begun.len() / 2]));
    let told = run("report cut.jsonl");
    let words = format!("cut.jsonl is unfinished: {kept} of {rows} rows");
    assert!(told.stderr.contains(&words), "{}", told.stderr);
    told.success();
    let page = fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert!(page.contains(&format!("is unfinished: {kept} of {rows} rows.</strong>")));

    folder.file("none.jsonl", &format!("{header}\n"));
    let told = run("report none.jsonl --out none.html");
    assert_eq!(told.code, 2, "{}", told.stderr);
    assert!(told.stderr.contains("there is nothing to show"), "{}", told.stderr);
    assert!(!folder.path().join("none.html").exists());
}

/// Runs of all kinds, kept or printed, make one page, and its figures are files.
#[test]
fn runs_of_all_kinds_are_joined() {
    let folder = Folder::new();
    let run = |line: &str| groupkey_in(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    let net = "--operation create --members 5,10 --loss 0,5 --runs 2";
    run(&format!("net --scheme skdc {net} --device cortex-m4 --out net")).success();
    let printed = run(&format!("net --scheme oft {net} --device cortex-m4 --json")).success();
    folder.file("net.jsonl", &printed);
    run("bench --scheme skdc --members 4 --operation add --repetitions 2 --out bench").success();
    run("audit --scheme oft --quick --out audit").success();
    folder.file("day.csv", &run("trace --members 5 --stay 30 --duration 60").success());
    run("trace --replay day.csv --scheme skdc,oft --device cortex-m4 --out trace").success();
    run("choose --set members.now=8 --out choice").success();
    for kind in ["net", "bench", "audit", "trace", "choice"] {
        for file in ["results.jsonl", "summary.csv", "report.html"] {
            assert!(folder.path().join(kind).join(file).is_file(), "{kind}/{file}");
        }
    }

    let told = run("report net net.jsonl bench audit trace choice --figures figures").success();
    let page = fs::read_to_string(folder.path().join("report.html")).expect("a page");
    for table in ["Rows of benchmarks", "Rows of network studies", "Rows of traces", "Candidates"] {
        assert!(page.contains(&format!("aria-label=\"{table}\"")), "{table}");
    }
    let figures = [
        "creation-centralized-total",
        "creation-centralized-message-bytes",
        "creation-centralized-energy",
        "controller-traffic-centralized-128-bit",
        "trace-bytes",
        "trace-time",
        "choice",
    ];
    let bytes = |name: &str| fs::read(folder.path().join("figures").join(name)).expect(name);
    for name in figures {
        assert!(told.contains(&format!("figures/{name}.svg: ")), "{name}: {told}");
        assert!(bytes(&format!("{name}.svg")).starts_with(b"<svg "), "{name}");
    }
    let total = String::from_utf8(bytes("creation-centralized-total.svg")).expect("text");
    assert!(total.contains(">skdc</text>") && total.contains(">oft</text>"), "one chart for both");
    assert_eq!(total.matches("class='chart'").count(), 1);

    let refused = run("report net --figures day.csv");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("choose another folder with --figures"), "{}", refused.stderr);
}

#[test]
fn what_is_no_result_is_refused() {
    let folder = Folder::new();
    fs::write(folder.path().join("other.jsonl"), "{\"format\":\"other\",\"version\":1}\n")
        .expect("writable");
    for arguments in ["report none-such.jsonl", "report other.jsonl"] {
        let told = groupkey_in(folder.path(), &arguments.split_whitespace().collect::<Vec<_>>());
        assert_eq!(told.code, 2, "{arguments}: {}", told.stderr);
        assert!(told.stderr.contains("wrote with --out DIR"), "{}", told.stderr);
        assert!(!folder.path().join("report.html").exists());
    }
    assert_eq!(groupkey("report").code, 2);
}
