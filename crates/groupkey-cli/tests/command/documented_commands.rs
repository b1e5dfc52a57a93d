//! The commands in the README and in `docs/` do what the text around them says.
//!
//! Every fenced `console` block is run: lines that begin with `$ ` are commands, what follows is
//! their output. A line `...` in the output stands for any number of lines. A command without
//! output must only succeed.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::finished::{Folder, groupkey_in};

#[test]
#[ignore = "long: two minutes, runs each command of the pages"]
fn documented_commands_do_what_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    pages_below(&root.join("docs"), &mut pages);

    let mut run = 0;
    let mut otherwise = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("pages are readable");
        let folder = Folder::new();
        link_examples(&root, folder.path());
        for example in examples(&text) {
            match example.check(&page, folder.path()) {
                Ok(is_run) => run += usize::from(is_run),
                Err(finding) => otherwise.push(finding),
            }
        }
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n\n"));
    assert!(run >= 5, "only {run} commands are documented");
}

/// A command as documented.
#[derive(Debug, Default, PartialEq)]
struct Example {
    command: String,
    output: Vec<String>,
}

impl Example {
    /// Runs it, unless it is not ours to run. Says what it did that is not documented.
    fn check(&self, page: &Path, folder: &Path) -> Result<bool, String> {
        let Self { command, output } = self;
        let place = format!("{}: $ {command}", page.display());
        let words: Vec<&str> = command.split_whitespace().collect();
        let arguments = match words[..] {
            ["groupkey", ref arguments @ ..] => arguments,
            // With whatever features: the command that is tested has all.
            ["cargo", "run", "--release", ref rest @ ..] => {
                rest.split(|word| *word == "--").next_back().unwrap_or(rest)
            }
            // The tests themselves, and what brings the sources here or installs the command.
            ["cargo", "test" | "install", ..] | ["git" | "cd", ..] => return Ok(false),
            _ => return Err(format!("{place}: no command of ours")),
        };
        let finished = groupkey_in(folder, arguments);
        if finished.code != 0 {
            return Err(format!("{place}\nfails\n{}", finished.stderr));
        }
        let printed: Vec<&str> = finished.stdout.trim_end().lines().collect();
        let expected: Vec<&str> = output.iter().map(String::as_str).collect();
        if !expected.is_empty() && !matches(&expected, &printed) {
            return Err(format!("{place}\nprints\n{}", finished.stdout));
        }
        Ok(true)
    }
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    let mut continues = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
            continue;
        }
        let last = examples.last_mut();
        match (inside, line.strip_prefix("$ "), last) {
            (false, ..) => {}
            (true, Some(command), _) => {
                examples.push(Example { command: command.to_owned(), output: Vec::new() });
            }
            (true, None, Some(example)) if continues => example.command += line,
            (true, None, Some(example)) => example.output.push(line.trim_end().to_owned()),
            (true, None, None) => panic!("output before the first command: {line}"),
        }
        continues = false;
        if let (true, Some(example)) = (inside, examples.last_mut())
            && example.output.is_empty()
            && example.command.ends_with('\\')
        {
            example.command.pop();
            continues = true;
        }
    }
    for example in &mut examples {
        while example.output.last().is_some_and(String::is_empty) {
            example.output.pop();
        }
    }
    examples
}

fn matches(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], []) => true,
        (["...", rest @ ..], _) => (0..=printed.len()).any(|skip| matches(rest, &printed[skip..])),
        ([line, rest @ ..], [first, others @ ..]) => {
            *line == first.trim_end() && matches(rest, others)
        }
        _ => false,
    }
}

fn pages_below(folder: &Path, pages: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("folders are readable").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            pages_below(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

#[cfg(unix)]
fn link_examples(root: &Path, folder: &Path) {
    let examples = root.join("examples").canonicalize().expect("there are examples");
    std::os::unix::fs::symlink(examples, folder.join("examples")).expect("the folder is writable");
}

#[test]
fn blocks_are_read_as_they_look() {
    let page =
        "```console\n$ groupkey net \\\n  --json\n{}\n...\n\n$ groupkey\n```\n```sh\n$ no\n```\n";
    let read = examples(page);
    assert_eq!(read.len(), 2);
    assert_eq!(read[0].command, "groupkey net   --json");
    assert_eq!(read[0].output, ["{}", "..."]);
    assert_eq!(read[1], Example { command: "groupkey".to_owned(), output: Vec::new() });
}

#[test]
fn dots_stand_for_any_lines() {
    assert!(matches(&["a", "...", "z"], &["a", "b", "c", "z"]));
    assert!(matches(&["a", "..."], &["a"]));
    assert!(!matches(&["a", "z"], &["a", "b", "z"]));
}
