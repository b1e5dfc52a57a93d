//! `groupkey choose`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use groupkey::catalogue::{Class, SCHEMES};
use groupkey_choose::Decision;
use groupkey_choose::decision::{Ground, Quantity, RaceEnd, Standing};
use groupkey_choose::requirements::{FIELDS, Field, RequirementsDraft};
use groupkey_testkit::sample;

use crate::finished::{Finished, Folder, GROUPKEY, groupkey, groupkey_in, interrupted};

const EXAMPLES: [&str; 5] = ["city", "platoon", "plant", "fleet", "ward"];

#[test]
fn mistakes_in_a_file_are_named_with_line_and_column() {
    for (text, place, told) in [
        ("[members]\nnow = 50\n[network]\nlos = 3\n", "4:1", "but \"loss\""),
        ("[members]\nnow = many\n", "2:7", ""),
        ("[members]\nnow = 50\nmost = 9\n", "3:8", "members.most must be 0, or at least"),
        ("[network]\nloss = 99.0\n", "2:8", "network.loss must be 0 to 50 %"),
        ("[devices]\nmember = \"esp16\"\n", "2:10", "cortex-m4"),
        (
            "[devices]\nmember = \"./none.toml\"\n",
            "2:10",
            "devices.member cannot be used: ./none.toml",
        ),
        ("[limit]\n", "1:2", "but \"limits\""),
    ] {
        let folder = Folder::new();
        let name = folder.file("group.toml", text);
        let finished = groupkey_in(folder.path(), &["choose", "--requirements", name]);
        assert_eq!(finished.code, 2, "{text}: {}", finished.stderr);
        let expected = format!("error: group.toml:{place}: ");
        let stderr = &finished.stderr;
        assert!(stderr.starts_with(&expected) && stderr.contains(told), "{text}: {stderr}");
        assert!(stderr.contains("\nhelp: docs/choose.md"), "{stderr}");
    }
    let told = refusal("choose --requirements missing.toml");
    assert!(told.contains("missing.toml"), "{told}");
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    for (arguments, told) in [
        ("choose --set network.los=3", "but \"network.loss\""),
        ("choose --set network.loss=60", "--set network.loss=60: must be 0 to 50 %"),
        ("choose --set members.now=1", "--set members.now=1: must be 2 to"),
        ("choose --set members.now", "expected field=value"),
        ("choose --set devices.member=esp16", "there is no device with prices \"esp16\""),
        ("choose --print-requirements town", "city"),
        ("choose --ask --requirements a.toml", "cannot be used with"),
    ] {
        let stderr = refusal(arguments);
        assert!(stderr.contains(told), "{arguments}: {stderr}");
    }
}

#[test]
fn a_device_and_a_radio_can_be_files_and_the_printed_commands_take_them() {
    let folder = Folder::new();
    let board = groupkey("device show nrf52840").success();
    folder.file("board.toml", &board.replace("hertz = 64_000_000", "hertz = 32_000_000"));
    folder.file("radio.toml", &groupkey("device show lte-m").success());
    folder.file("group.toml", "[members]\nnow = 9\n[devices]\nmember = \"./board.toml\"\n");
    let choice = ["choose", "--requirements", "group.toml", "--set", "devices.radio=./radio.toml"];
    let told = groupkey_in(folder.path(), &choice).success();
    assert!(told.contains("modelled on ./board.toml with lte-m, assumed"), "{told}");
    assert!(told.contains("--device ./board.toml --radio ./radio.toml"), "{told}");
    let line = told.lines().find_map(|line| line.trim().strip_prefix("groupkey net "));
    let again = with_one_run(line.expect("it is printed"));
    groupkey_in(folder.path(), &[&["net"], &again[..]].concat()).success();

    // A profile of one's own machine has no power, so it cannot be a member's as it is.
    let host = groupkey("device show host").success();
    folder.file("mine.toml", &host.replace("name = \"host\"", "name = \"mine\""));
    let set = |field: &str| {
        let setting = format!("{field}=./mine.toml");
        groupkey_in(folder.path(), &["choose", "--set", "members.now=9", "--set", &setting])
    };
    assert!(set("devices.controller").success().contains("modelled on ./mine.toml"));
    let refused = set("devices.member");
    assert!(refused.code == 2 && refused.stderr.contains("[power.active]"), "{}", refused.stderr);
}

#[test]
fn the_answer_says_where_the_scheme_runs() {
    let told = groupkey("choose --set members.now=30 --set trust.controller=false").success();
    assert!(told.contains("groupkey device run: no: its firmware runs no group"), "{told}");
    let told = groupkey("choose --set members.now=30").success();
    let with = told.lines().find_map(|line| line.trim().strip_prefix("groupkey device run: yes: "));
    let scheme = with.and_then(|with| with.strip_prefix("--scheme ")).expect("it runs there");
    assert!(told.contains(&format!("GROUPKEY_SCHEME={scheme}")), "{told}");
}

#[test]
fn without_requirements_and_without_a_terminal_it_says_what_to_do() {
    let told = refusal("choose");
    assert!(told.contains("--print-requirements city > group.toml"), "{told}");
    assert!(told.contains("--set members.now=30"), "{told}");
}

#[test]
fn examples_are_printed_and_taken() {
    for name in EXAMPLES {
        let text = groupkey(&format!("choose --print-requirements {name}")).success();
        assert!(text.starts_with("# ") && text.contains("[members]"), "{name}: {text}");
    }
    let help = groupkey("help choose").success();
    assert!(help.contains("Traffic lights of a city") && help.contains("--set network.loss=3"));
}

/// Every scheme meets the requirements or is out, and what is recommended leads the front.
#[test]
fn each_example_has_an_answer() {
    for name in sample::one_in(3, EXAMPLES) {
        let decision = decision(&format!("choose --requirements {name} --fitted --json"));
        let best = decision.recommended.expect("an example has an answer");
        assert_eq!(decision.front.first(), Some(&best), "{name}");
        let all = decision.front.iter().chain(&decision.beaten);
        let mut schemes: BTreeSet<&str> =
            all.map(|one| one.candidate.variant.scheme.as_str()).collect();
        for out in &decision.out {
            assert!(schemes.insert(&out.scheme), "{name}: {} is in and out", out.scheme);
            assert!(!out.reasons.is_empty(), "{name}: {} is out without a reason", out.scheme);
        }
        assert_eq!(schemes.len(), SCHEMES.len(), "{name}");

        let printed = groupkey(&format!("choose --requirements {name} --fitted")).success();
        let scheme = &best.candidate.variant.scheme;
        assert!(printed.starts_with(&format!("Take {scheme} (")), "{name}: {printed}");
        for part in
            ["\nfigure ", "\nThese make ", "\nThe recommended candidate, and those", "\nOut ("]
        {
            assert!(printed.contains(part), "{name} lacks {part}: {printed}");
        }
    }
    let [short, all] = ["", " --all"].map(|more| {
        groupkey(&format!("choose --requirements platoon --fitted{more}")).success().lines().count()
    });
    assert!(all > short);
}

/// S002's city, of 55,000 lights: CFKM costs least, and its page says not to use it where evicted
/// members may collude.
#[test]
fn evicted_members_that_collude_stay_out_unless_the_asker_gives_that_up_by_name() {
    let city =
        "choose --requirements city --fitted --set members.now=55000 --set members.most=55000";
    let decision = decision(&format!("{city} --json"));
    let best = decision.recommended.expect("something fits").candidate.variant.scheme;
    assert!(best != "cfkm" && decision.given_up.is_empty(), "{best}");
    let claims = r#"["forward-secrecy","backward-secrecy","secrecy-from-outsiders"]"#;
    let printed = groupkey(&format!("{city} --set security.passive={claims}")).success();
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = words.split(". ").next().expect("a sentence");
    assert!(first.starts_with("Take ") && first.contains("collusion resistance"), "{first}");
    assert!(first.contains("you gave"), "{first}");
}

#[test]
fn quality_of_service_0_is_for_those_who_name_it_and_they_are_told_what_it_loses() {
    let asked = "choose --set members.now=8 --set network.qos=0";
    let told = "a QoS 0 message that is lost with a broken connection is never sent again";
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed = words(groupkey(asked).success());
    assert!(printed.contains(told) && printed.contains("until it notices and catches up"));
    assert!(decision(&format!("{asked} --json")).given_up[0].risk.starts_with(told));
    let folder = Folder::new();
    let arguments = format!("{asked} --out report");
    groupkey_in(folder.path(), &arguments.split(' ').collect::<Vec<_>>()).success();
    let page = std::fs::read_to_string(folder.path().join("report/report.html")).expect("a page");
    assert!(words(page).contains(told));
    let unnamed = words(groupkey("choose --set members.now=8").success());
    assert!(!unnamed.contains(told) && !unnamed.contains("QoS 0"), "{unnamed}");
}

#[test]
fn equal_schemes_are_listed_and_the_specified_one_is_taken() {
    let asked = "choose --set members.now=30 --set members.joins=60 --set members.leaves=60 \
                 --set trust.controller=false";
    let printed = groupkey(asked).success();
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.starts_with("Take tgdh ("), "{printed}");
    let told = "These 2 are equal as far as the simulation can tell: tgdh (specified) and dh-lkh \
                (reconstructed).";
    assert!(printed.contains(told), "{printed}");
    let decision = decision(&format!("{asked} --json"));
    let schemes = |scheme: &str| {
        decision.equals.iter().filter(|equal| equal.variant.scheme == scheme).count()
    };
    assert!(schemes("tgdh") > 0 && schemes("dh-lkh") > 0 && schemes("str") == 0);
}

#[test]
fn where_nothing_fits_the_exit_code_is_1_and_the_nearest_miss_is_named() {
    let finished = groupkey("choose --requirements city --fitted --set limits.complete=1");
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stdout.starts_with("No scheme meets all requirements."));
    assert!(finished.stderr.starts_with("error: nothing meets the requirements\nhelp: "));
    assert!(finished.stderr.contains("limits.complete = "), "{}", finished.stderr);
    let finished = groupkey("choose --requirements city --fitted --set limits.complete=1 --json");
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    let decision: Decision = serde_json::from_str(&finished.stdout).expect("a decision");
    assert_eq!(decision.recommended, None);

    // The nearest value lets a scheme in.
    let nearest = finished.stderr.split("limits.complete = ").nth(1).expect("it is named").trim();
    let eased = format!("choose --requirements city --fitted --set limits.complete={nearest}");
    groupkey(&eased).success();
}

#[test]
fn answers_make_a_file_that_leads_to_the_same_decision() {
    let folder = Folder::new();
    let arguments = "choose --ask --save group.toml --json";
    let asked = groupkey_with(folder.path(), arguments, "40\n\n3\n3\nno\n");
    let from_answers: Decision = serde_json::from_str(&asked.stdout).expect("a decision");
    assert!(asked.stderr.contains("Members now? [100]"), "{}", asked.stderr);
    let file = std::fs::read_to_string(folder.path().join("group.toml")).expect("it was saved");
    assert!(file.contains("now = 40") && file.contains("controller = false"), "{file}");
    let again = groupkey_in(folder.path(), &["choose", "--requirements", "group.toml", "--json"]);
    assert_eq!(again.success(), asked.stdout);
    let again = groupkey_with(folder.path(), "choose --requirements - --json", &file);
    assert_eq!(again.success(), asked.stdout);
    let best = from_answers.recommended.expect("something fits").candidate.variant.scheme;
    let class =
        SCHEMES.iter().find(|scheme| scheme.id == best).map(groupkey::catalogue::Scheme::class);
    assert_eq!(class, Some(Class::Distributed), "{best}");
}

#[test]
fn what_makes_the_figures_again_runs() {
    let printed = groupkey("choose --set members.now=6 --set network.loss=1").success();
    let commands: Vec<&str> =
        printed.lines().filter_map(|line| line.strip_prefix("    groupkey ")).collect();
    assert_eq!(commands.len(), 3, "{printed}");
    for command in commands {
        let quick = match command.split_whitespace().next() {
            Some("bench") => format!("{command} --repetitions 1"),
            Some("net") => with_one_run(command).join(" "),
            _ => format!("{command} --quick"),
        };
        groupkey(&quick).success();
    }
}

/// Returns the words of a command with one run in place of as many as it has.
fn with_one_run(command: &str) -> Vec<&str> {
    let mut words: Vec<&str> = command.split_whitespace().collect();
    if let Some(runs) = words.iter().position(|word| *word == "--runs") {
        words.drain(runs..runs + 2);
    }
    words.extend(["--runs", "1"]);
    words
}

#[test]
fn a_report_has_the_decision_and_the_requirements_beside_it() {
    let folder = Folder::new();
    let arguments = ["choose", "--requirements", "ward", "--fitted", "--out", "report", "--json"];
    let finished = groupkey_in(folder.path(), &arguments);
    assert_eq!(finished.stderr, "report:  report/report.html\n");
    let json = finished.success();
    let read =
        |name: &str| std::fs::read_to_string(folder.path().join("report").join(name)).expect(name);
    assert_eq!(read("decision.json"), json);
    let page = read("report.html");
    assert!(page.contains("<h1>Take ") && page.matches("class='mark cell").count() > 150);
    let again = ["choose", "--requirements", "report/requirements.toml", "--fitted", "--json"];
    assert_eq!(groupkey_in(folder.path(), &again).success(), json);
    let file = folder.file("taken", "a file is no folder");
    let finished = groupkey_in(
        folder.path(),
        &["choose", "--requirements", "ward", "--fitted", "--out", file],
    );
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("help: choose another folder with --out"));
}

#[test]
fn finalists_are_simulated_until_it_is_settled_which_cost_least() {
    let asked = "choose --requirements plant";
    let decision = decision(&format!("{asked} --json"));
    let best = decision.recommended.expect("something fits");
    assert!(decision.front.len() > 1 && decision.front[0] == best);
    assert!(decision.front[1..].is_sorted_by(|a, b| a.cost <= b.cost));
    for assessment in &decision.front {
        let time = assessment.figure(Quantity::Completion).expect("it was simulated");
        assert_eq!(time.ground, Ground::Simulated, "{assessment:?}");
        let (low, high) = time.interval;
        assert!(low <= time.value && time.value <= high && low < high, "{time:?}");
    }
    // Of few runs the 99th percentile is not known.
    let slowest = best.figure(Quantity::CompletionOf99).expect("it was simulated");
    assert_eq!(slowest.ground, Ground::Simulated, "{best:?}");
    let race = decision.race.as_ref().expect("there was one");
    assert_eq!((race.end, race.confidence), (RaceEnd::Settled, 0.95));
    assert!(race.procedure.contains("Nelson and Matejcik"), "{}", race.procedure);
    assert!(race.finalists.iter().all(|one| one.standing != Standing::Open), "{race:?}");
    assert_eq!(race.finalists[0].candidate, best.candidate);
    assert_eq!(race.finalists[0].runs, 400);
    // Text, JSON and page say the same in short.
    let printed = groupkey(asked).success();
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let [taken, unknown] = &decision.in_short[..] else { panic!("{:?}", decision.in_short) };
    assert!(printed.starts_with(&format!("{taken} {unknown} Run it with ")), "{printed}");
    assert!(taken.starts_with("Take ") && taken.contains("; next comes "), "{taken}");
    assert!(unknown.starts_with("Not known: "), "{unknown}");
    assert!(printed.contains("is settled with 95 % confidence"), "{printed}");
    assert!(printed.contains("candidates that were simulated"), "{printed}");
    let fitted = self::decision(&format!("{asked} --fitted --json"));
    assert_eq!(fitted.race, None);
    assert!(fitted.in_short[1].contains("model's errors"), "{:?}", fitted.in_short);
}

/// What was known is kept: the answer so far, marked.
#[test]
fn a_race_that_is_interrupted_ends_with_what_is_known() {
    let folder = Folder::new();
    let asked = "choose --set members.now=55000 --set network.loss=1 --set network.qos=2 --json";
    let began = Instant::now();
    let is_under_way = || began.elapsed() > Duration::from_secs(4);
    let arguments: Vec<&str> = asked.split(' ').collect();
    let finished = interrupted(folder.path(), &arguments, is_under_way);
    assert_eq!(finished.code, 130, "{}", finished.stderr);
    assert!(finished.stderr.contains("interrupted: the answer is what was known"), "{finished:?}");
    let decision: Decision = serde_json::from_str(&finished.stdout).expect("a decision");
    assert_eq!(decision.race.map(|race| race.end), Some(RaceEnd::Interrupted));
    assert!(decision.recommended.is_some());
    assert!(decision.in_short.last().is_some_and(|told| told.contains("interrupted")));
}

#[test]
fn what_no_model_knows_is_not_answered_by_the_model() {
    let told =
        refusal("choose --fitted --set network.loss=2 --set network.burst=100 --set members.now=8");
    assert!(told.contains("network.burst is not in the fitted model"), "{told}");
}

/// They were left out in silence: 1.19 s were promised where bursts of 3 s are lost.
#[test]
fn bursts_of_a_scenario_are_simulated_without_being_asked_for() {
    let folder = Folder::new();
    let scenario = "description = 'Meters'\n[group]\nscheme = 'skdc'\nmembers = 12\n\
                    [network]\nloss_percent = 4\nburst_ms = 3000\ndelay_ms = 60\n";
    folder.file("lte.toml", scenario);
    let file = folder.file("group.toml", "[network]\nscenario = \"lte.toml\"\n");
    let asked = ["choose", "--requirements", file, "--json"];
    let finished = groupkey_in(folder.path(), &asked);
    assert!(finished.stderr.contains("network.burst is not in the model"), "{}", finished.stderr);
    let decision: Decision = serde_json::from_str(&finished.success()).expect("a decision");
    let best = decision.recommended.expect("something fits");
    let time = best.figure(Quantity::CompletionOf99).expect("it was simulated");
    assert_eq!(time.ground, Ground::Simulated);
    assert!(time.value > 3_000.0, "{time:?}");
    let printed = groupkey_in(folder.path(), &asked[..3]).success();
    assert!(printed.contains("--loss 4 --burst 3000 --delay 60"), "{printed}");

    let changing = format!("{scenario}[[change]]\nat_ms = 5\nloss_percent = 1\n");
    folder.file("lte.toml", &changing);
    let refused = groupkey_in(folder.path(), &asked);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("cannot heed links that change over time"),
        "{}",
        refused.stderr
    );
}

#[test]
#[ignore = "long: half a minute, simulates what choose models"]
fn answers_are_compared_with_the_best_that_simulations_find() {
    let folder = Folder::new();
    let printed = groupkey_in(folder.path(), &["choose", "--validate", "--quick"]).success();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].contains("median %"), "{printed}");
    let rows = ["even", "even", "typical", "typical"];
    assert!(rows.iter().zip(&lines[1..]).all(|(row, line)| line.starts_with(row)), "{printed}");
    assert!(refusal("choose --quick").contains("--quick needs --evidence or --validate"));
}

#[test]
fn evidence_that_is_interrupted_leaves_no_file() {
    let folder = Folder::new();
    let made = folder.path().join("evidence");
    let arguments = ["choose", "--evidence", "evidence"];
    let finished = interrupted(folder.path(), &arguments, || made.is_dir());
    assert_eq!(finished.code, 130, "{}", finished.stderr);
    assert!(finished.stderr.starts_with("interrupted: "), "{}", finished.stderr);
    assert_eq!(std::fs::read_dir(made).expect("it is there").count(), 0);
}

fn decision(arguments: &str) -> Decision {
    serde_json::from_str(&groupkey(arguments).success()).expect("a decision")
}

fn refusal(arguments: &str) -> String {
    let finished = groupkey_with(Path::new(env!("CARGO_MANIFEST_DIR")), arguments, "");
    assert_eq!(finished.code, 2, "{arguments}: {}{}", finished.stdout, finished.stderr);
    assert!(finished.stderr.starts_with("error: "), "{}", finished.stderr);
    finished.stderr
}

fn groupkey_with(folder: &Path, arguments: &str, input: &str) -> Finished {
    let mut child = Command::new(GROUPKEY)
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A command that refuses its arguments reads nothing.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().map(Finished::from).expect("the command ends")
}

#[test]
fn the_page_lists_every_field_with_its_default() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/choose.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let defaults = RequirementsDraft::default();
    for Field { name, meaning, .. } in FIELDS {
        let row = format!("| `{name}` | {meaning} | {} |", defaults.value(name));
        assert!(page.contains(&row), "the page lacks {row}");
    }
    assert_eq!(page.matches("\n| `").count(), FIELDS.len(), "the page has other fields");
}

/// `| head -1`: the reader of the answer has seen enough.
#[test]
fn a_report_is_written_also_when_nobody_reads_the_answer() {
    let folder = Folder::new();
    let run = |report: &str| {
        let mut child = Command::new(GROUPKEY)
            .args(["choose", "--set", "members.now=20", "--fitted", "--out", report])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        child.wait_with_output().map(Finished::from).expect("it ends")
    };
    let finished = run("report");
    assert_eq!(finished.code, 0, "{finished:?}");
    for name in ["report.html", "results.jsonl", "decision.json", "requirements.toml"] {
        assert!(folder.path().join("report").join(name).is_file(), "{name}");
    }
    // A place that cannot be written to is told before the work.
    let begin = Instant::now();
    let refused = run("/proc/none");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("cannot write into /proc/none"), "{refused:?}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn a_tolerance_leaves_few_and_the_first_question_is_told() {
    let told = groupkey("choose --requirements city --fitted --pareto").success();
    for words in ["With a controller: ", "with a tolerance of 5 %", "narrows first", " bits)"] {
        assert!(told.contains(words), "{words} is not in {told}");
    }
    let found = |percent: &str| -> serde_json::Value {
        let asked = format!("choose --requirements city --fitted --json --pareto {percent}");
        serde_json::from_str(&groupkey(&asked).success()).expect("one object")
    };
    let (exact, merged) = (found("0"), found("10"));
    let kept =
        |object: &serde_json::Value| object["fronts"][0]["kept"].as_array().expect("a list").len();
    assert!(kept(&merged) < kept(&exact), "{} of {}", kept(&merged), kept(&exact));
    assert_eq!(exact["fronts"][0]["exact"], merged["fronts"][0]["exact"]);
    let order = merged["order"].as_array().expect("a list");
    assert!(order.iter().any(|step| step["requirement"] == "limits.complete = 5000"), "{order:?}");
    assert!(merged["first-splits"]["question"]["gain"].as_f64().is_some_and(|gain| gain > 0.5));

    let refused = groupkey("choose --requirements city --fitted --pareto 101");
    assert_eq!(refused.code, 2);
}
