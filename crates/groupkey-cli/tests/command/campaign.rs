//! `groupkey campaign`: cells run once, anywhere, and give the same rows.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::finished::{Finished, Folder, GROUPKEY, groupkey_in};

const SPEC: &str = r#"
[[cells]]
command = "net"
scheme = ["skdc", "tgdh"]
members = [3, 4]
loss = [0, 20]
operation = "create,add"
runs = 2
seed = 7

[[cells]]
command = "choose"
requirements = "ward"
fitted = true
"#;

#[test]
fn however_the_cells_are_shared_out_the_rows_are_the_same() {
    let folder = Folder::new();
    folder.file("spec.toml", SPEC);
    let told = campaign(&folder, "run spec.toml --out whole --threads 1").success();
    assert_eq!(told, "9 cells: 9 finished, 0 failed, 0 left\n");
    for shard in ["3/3", "1/3", "2/3"] {
        campaign(&folder, &format!("run spec.toml --out parts --shard {shard}")).success();
    }
    for out in ["whole", "parts"] {
        campaign(&folder, &format!("merge spec.toml --out {out}")).success();
    }
    let path = |out: &str, name: &str| folder.path().join(out).join(name);
    for name in ["net.jsonl", "net.csv", "net.parquet", "choose.jsonl"] {
        let read = |out| fs::read(path(out, name)).expect("merging wrote it");
        assert!(read("whole") == read("parts"), "{name} differs");
    }
    // The rows are those of the command itself.
    let rows = "net --json --scheme skdc,tgdh --members 3,4 --loss 0,20 --operation create,add \
                --runs 2 --seed 7";
    let words: Vec<_> = rows.split_whitespace().collect();
    let rows = groupkey_in(folder.path(), &words).success();
    assert_eq!(fs::read_to_string(path("whole", "net.jsonl")).expect("text"), rows);
    let choice = fs::read_to_string(path("whole", "choose.jsonl")).expect("text");
    assert_eq!(choice.lines().count(), 1);
    let report = ["report", "whole/net.jsonl", "--out", "page.html"];
    groupkey_in(folder.path(), &report).success();
}

#[test]
fn a_finished_cell_does_not_run_again_and_a_changed_one_does() {
    let folder = Folder::new();
    folder.file("spec.toml", SPEC);
    campaign(&folder, "run spec.toml --out cells").success();
    let before = cells(&folder.path().join("cells"));
    assert_eq!(before.len(), 9);
    before.iter().for_each(|cell| fs::write(cell, "{}\n").expect("writable"));
    campaign(&folder, "run spec.toml --out cells").success();
    for cell in &before {
        assert_eq!(fs::read_to_string(cell).expect("text"), "{}\n", "it ran again");
    }
    folder.file("spec.toml", &SPEC.replace("seed = 7", "seed = 8"));
    let status = campaign(&folder, "status spec.toml --out cells").success();
    assert_eq!(status, "9 cells: 1 finished, 0 failed, 8 left\n");
    let refused = campaign(&folder, "merge spec.toml --out cells");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("8 of 9 cells are not finished"), "{}", refused.stderr);
    campaign(&folder, "merge spec.toml --out cells --partial").success();
}

#[test]
fn a_cell_that_fails_keeps_no_other_from_its_end() {
    let folder = Folder::new();
    // SKDC has no batch, and LKH has.
    let spec = "[[cells]]\ncommand = \"net\"\nscheme = [\"skdc\", \"lkh-group\"]\nmembers = 8\n\
                operation = \"batch\"\nruns = 1\n";
    folder.file("spec.toml", spec);
    let run = campaign(&folder, "run spec.toml --out cells");
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout, "2 cells: 1 finished, 1 failed, 0 left\n");
    let status = campaign(&folder, "status spec.toml --out cells").success();
    for text in [&run.stderr, &status] {
        assert!(text.contains("groupkey net --json --scheme=skdc"), "{text}");
    }
    let status = campaign(&folder, "status spec.toml --out cells --json").objects();
    assert_eq!(status[0]["finished"], 1);
    assert!(status[0]["failed"][0]["problem"].as_str().is_some_and(|text| text.contains("batch")));
}

/// Other programs run cells with nothing but what is listed.
#[test]
fn a_listed_cell_has_its_address_and_its_files() {
    let folder = Folder::new();
    let spec = "[[cells]]\ncommand = \"net\"\nscenario = \"net.toml\"\nsamples = [false, true]\n\
                runs = 2\n\n[[cells]]\ncommand = \"choose\"\nrequirements = \"ward\"\nfitted = true\n\
                set = [[\"members.now=5\", \"members.most=9\"]]\n";
    folder.file("spec.toml", spec);
    folder.file("net.toml", "description = \"small\"\n[group]\nscheme = \"skdc\"\nmembers = 3\n");
    let listed = campaign(&folder, "cells spec.toml --json").objects();
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[1]["command"], "net");
    assert_eq!(
        listed[1]["options"].to_string(),
        r#"[["scenario",["net.toml"]],["samples",[]],["runs",["2"]]]"#
    );
    assert_eq!(listed[1]["files"].to_string(), r#"["net.toml"]"#);
    assert_eq!(
        listed[2]["options"][2].to_string(),
        r#"["set",["members.now=5","members.most=9"]]"#
    );
    assert_eq!(listed[2]["files"].to_string(), "[]");
    let lines = campaign(&folder, "cells spec.toml").success();
    assert!(lines.lines().eq(listed.iter().map(|cell| cell["line"].as_str().expect("text"))));
    campaign(&folder, "run spec.toml --out out").success();
    for cell in &listed {
        let address = cell["address"].as_str().expect("text");
        let file = format!("cells/{}/{address}.jsonl", &address[..2]);
        assert!(folder.path().join("out").join(&file).is_file(), "{file}");
    }
}

#[test]
fn the_shipped_campaign_has_as_many_cells_as_its_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cells = groupkey_in(&root, &["campaign", "cells", "examples/campaigns/field.toml"]);
    let cells = cells.success();
    let distinct: HashSet<_> = cells.lines().collect();
    assert_eq!((cells.lines().count(), distinct.len()), (100_940, 100_940));
    let page = fs::read_to_string(root.join("docs/campaigns.md")).expect("it is there");
    assert!(page.contains("100,940 cells"));
}

#[test]
fn the_shipped_studies_have_parts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, cells, last) in [
        ("evidence", 45 + 60, "groupkey choose --json --evidence-of=times --part=60/60"),
        ("validate", 50, "groupkey choose --json --validate --part=50/50"),
        ("studies", 30, "groupkey reproduce network-impact --json --part=30/30"),
    ] {
        let spec = format!("examples/campaigns/{name}.toml");
        let listed = groupkey_in(&root, &["campaign", "cells", &spec]).success();
        assert_eq!((listed.lines().count(), listed.lines().last()), (cells, Some(last)), "{name}");
    }
}

/// The array of SLURM and the matrix of CI, as far as a machine without either can tell: each part with
/// what the scheduler would set.
#[cfg(unix)]
#[test]
fn the_examples_for_clusters_run_every_cell() {
    let folder = Folder::new();
    let spec = "[[cells]]\ncommand = \"net\"\nscheme = \"skdc\"\nmembers = 2\nruns = 1\n\
                operation = \"create\"\nseed = [1, 2, 3, 4, 5, 6]\n";
    folder.file("campaign.toml", spec);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/campaigns");
    let whole = "6 cells: 6 finished, 0 failed, 0 left\n";
    let programs = Path::new(GROUPKEY).parent().expect("a folder").display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    for part in ["1", "2"] {
        let ended = Command::new("sh")
            .arg(examples.join("slurm.sh"))
            .args(["campaign.toml", "array"])
            .env("PATH", &path)
            .envs([("SLURM_ARRAY_TASK_ID", part), ("SLURM_ARRAY_TASK_COUNT", "2")])
            .current_dir(folder.path())
            .output()
            .expect("there is a shell");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert_eq!(campaign(&folder, "status campaign.toml --out array").success(), whole);

    let matrix = fs::read_to_string(examples.join("matrix.yml")).expect("it is there");
    let commands = matrix.lines().filter_map(|line| line.trim().strip_prefix("- run: "));
    let commands: Vec<_> = commands
        .map(|line| line.strip_prefix("cargo run --release --locked -- campaign ").expect("ours"))
        .collect();
    let [run, merge] = commands[..] else { panic!("{commands:?}") };
    assert!(matrix.contains("part: [1, 2, 3, 4]\n"), "{matrix}");
    for part in ["1", "2", "3", "4"] {
        campaign(&folder, &run.replace("${{ matrix.part }}", part)).success();
    }
    assert_eq!(campaign(&folder, "status campaign.toml --out part").success(), whole);
    fs::rename(folder.path().join("part"), folder.path().join("whole")).expect("writable");
    campaign(&folder, merge).success();
    assert!(folder.path().join("whole/net.parquet").is_file());
}

#[test]
fn what_is_wrong_with_a_campaign_is_told() {
    let folder = Folder::new();
    folder.file("spec.toml", "[[cells]]\ncommand = \"net\"\nschema = \"skdc\"\n");
    folder.file("good.toml", SPEC);
    for (arguments, words) in [
        ("run spec.toml --out cells", "spec.toml: line 3: net has no option --schema"),
        ("run none.toml --out cells", "none.toml: "),
        ("status good.toml --out nowhere", "there is no folder nowhere"),
        ("run good.toml --out cells --shard 4/3", "I/N with I from 1 to N"),
    ] {
        let refused = campaign(&folder, arguments);
        assert_eq!(refused.code, 2, "{arguments}");
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

/// Ten thousand cells are begun, and killed in their middle: no cell is half there, and what is
/// finished does not run again.
#[cfg(unix)]
#[test]
fn a_campaign_goes_on_after_kill_9() {
    let folder = Folder::new();
    let numbers: Vec<_> = (0..10_000).collect();
    let spec = format!(
        "[[cells]]\ncommand = \"net\"\nscheme = \"skdc\"\nmembers = 2\noperation = \"create\"\n\
         runs = 1\nseed = {numbers:?}\n"
    );
    folder.file("spec.toml", &spec);
    let out = folder.path().join("cells");
    for part in 1..=3 {
        let enough = 20 * part;
        let mut run = Command::new(GROUPKEY)
            .args(["campaign", "run", "spec.toml", "--out", "cells"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let begun = Instant::now();
        while cells(&out).len() < enough {
            assert!(begun.elapsed() < Duration::from_secs(300), "it gets nowhere");
            sleep(Duration::from_millis(5));
        }
        run.kill().expect("it runs");
        run.wait().expect("it has ended");
    }
    let status = campaign(&folder, "status spec.toml --out cells --json").objects();
    let count = |name: &str| status[0][name].as_u64().expect("a number") as usize;
    assert_eq!(count("finished"), cells(&out).len());
    assert_eq!((count("cells"), count("finished") + count("left")), (10_000, 10_000));
    for cell in cells(&out) {
        let row = fs::read_to_string(cell).expect("text");
        assert!(row.starts_with("{\"scheme\":\"skdc\"") && row.ends_with("}\n"), "{row}");
    }
}

fn campaign(folder: &Folder, arguments: &str) -> Finished {
    let words: Vec<_> = std::iter::once("campaign").chain(arguments.split_whitespace()).collect();
    groupkey_in(folder.path(), &words)
}

/// The files of finished cells.
fn cells(out: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.expect("readable").path()).collect::<Vec<_>>()
    };
    let files = below(&out.join("cells")).into_iter().flat_map(|folder| below(&folder));
    files.filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")).collect()
}
