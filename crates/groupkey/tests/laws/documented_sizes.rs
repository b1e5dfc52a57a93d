//! The sizes that the pages in `docs/schemes/` give are those of real runs.
//!
//! A page has one table of this form, right below the marker; every scheme of the catalogue is in
//! one of them with each of its operations:
//!
//! ```text
//! <!-- sizes -->
//! | scheme | profile | parameters | operation | n | messages | body bytes | wire, MAC | wire, signed |
//! |---|---|---|---|--:|--:|--:|--:|--:|
//! | `lkh-user` | sound | degree 4 | add | 16 | 3 | 100 | 200 | 347 |
//! ```
//!
//! The group has n members before the operation (a creation makes n). A parameter that is not named
//! has its value in the profile; "-" names none. Suite `standard`. The member that
//! leaves is number n/2, counted from 0; in a batch two join, and numbers n/2 and n/2 + 1 leave. A
//! partition cuts the group in half, the first half the larger, and counts what both send; a merger
//! brings these two together again, as n members. Body bytes are the scheme's own; wire bytes are with header
//! and tag or signature; what is below the message (MQTT, TCP) is in neither.
//!
//! With `GROUPKEY_WRITE_SIZES=1`, the test writes the sizes into the pages.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use groupkey::catalogue::{self, Profile, SCHEMES};
use groupkey::protection::Guard;
use groupkey_testkit::rig::{Report, Rig, Settings};

const MARKER: &str = "<!-- sizes -->";
/// How much longer a message is with a signature than with a MAC: 66 bytes instead of 17.
const LONGER: usize = 49;
/// Groups of up to so many members run with signatures, too.
const SMALL: u32 = 30;
const HEAD: [&str; 2] = [
    "| scheme | profile | parameters | operation | n | messages | body bytes | wire, MAC | wire, signed |",
    "|---|---|---|---|--:|--:|--:|--:|--:|",
];

#[test]
fn documented_sizes_are_real() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemes");
    let mut documented = BTreeSet::new();
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).expect("the pages are there") {
        let path = entry.expect("a readable folder").path();
        let page = fs::read_to_string(&path).expect("a page is text");
        let mut real_table = Vec::new();
        for row in rows(&page) {
            let real = Row { sizes: row.measure(), ..row.clone() };
            if real.sizes != row.sizes {
                wrong.push(format!("{}:\n  {}\n  {}", path.display(), row.line(), real.line()));
            }
            real_table.push(real.line());
            documented.insert((row.scheme, row.operation));
        }
        if env::var_os("GROUPKEY_WRITE_SIZES").is_some() && !real_table.is_empty() {
            fs::write(&path, with_table(&page, &real_table)).expect("a writable page");
        }
    }
    assert!(wrong.is_empty(), "as documented, and as it is:\n{}", wrong.join("\n"));
    for scheme in SCHEMES {
        for operation in scheme.operations {
            let pair = (scheme.id.to_owned(), operation.name().to_owned());
            assert!(documented.contains(&pair), "no page gives the sizes of {pair:?}");
        }
    }
}

/// A row of the table.
#[derive(Clone)]
struct Row {
    scheme: String,
    profile: String,
    parameters: String,
    operation: String,
    members: u32,
    sizes: [usize; 4],
}

impl Row {
    fn read(line: &str) -> Self {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [scheme, profile, parameters, operation, members, sizes @ ..] = &cells[..] else {
            panic!("a row has nine cells: {line}");
        };
        let number = |cell: &&str| cell.parse().unwrap_or_else(|_| panic!("a number: {line}"));
        Self {
            scheme: scheme.trim_matches('`').to_owned(),
            profile: (*profile).to_owned(),
            parameters: (*parameters).to_owned(),
            operation: (*operation).to_owned(),
            members: number(members) as u32,
            sizes: <[_; 4]>::try_from(sizes)
                .unwrap_or_else(|_| panic!("a row has nine cells: {line}"))
                .map(|cell| number(&cell)),
        }
    }

    fn line(&self) -> String {
        let Self { scheme, profile, parameters, operation, members, sizes } = self;
        let [messages, body, wire, signed] = sizes;
        format!(
            "| `{scheme}` | {profile} | {parameters} | {operation} | {members} | {messages} | {body} | {wire} | {signed} |"
        )
    }

    fn second_half(&self) -> Vec<u32> {
        (self.members.div_ceil(2)..self.members).collect()
    }

    fn measure(&self) -> [usize; 4] {
        let [messages, body, wire] = self.measure_with(Guard::Mac);
        let signed = wire + messages * LONGER;
        // To check a signature takes long, and in a large group everybody checks each.
        if self.members <= SMALL {
            assert_eq!(
                self.measure_with(Guard::Signature),
                [messages, body, signed],
                "{}",
                self.line()
            );
        }
        [messages, body, wire, signed]
    }

    fn measure_with(&self, protection: Guard) -> [usize; 3] {
        let scheme = catalogue::scheme(&self.scheme).expect("a scheme of the catalogue");
        let profile = Profile::ALL.into_iter().find(|profile| profile.name() == self.profile);
        let parameters = self.parameters.split(", ").filter(|&parameter| parameter != "-");
        let parameters = parameters.map(|parameter| {
            let (name, value) = parameter.split_once(' ').expect("a name and a value");
            let known = scheme.parameters.iter().find(|parameter| parameter.name == name);
            (known.expect("a parameter").name, value.parse().expect("a number"))
        });
        let mut rig = Rig::new(
            scheme,
            Settings {
                profile: profile.expect("a profile"),
                parameters: parameters.collect(),
                protection,
                ..Settings::default()
            },
        );
        let created = rig.create(self.members).expect("a group");
        let report = match &*self.operation {
            "create" => created,
            "add" => rig.add(self.members).expect("a member joins"),
            "remove" => rig.remove(self.members / 2).expect("a member leaves"),
            "send" => rig.send(self.members / 2).expect("a member begins a message"),
            "rekey" => rig.rekey().expect("a new period begins"),
            "batch" => {
                let (n, middle) = (self.members, self.members / 2);
                rig.batch(&[n, n + 1], &[middle, middle + 1]).expect("two join and two leave")
            }
            "partition" => rig.partition(&self.second_half()).expect("the group splits"),
            "merge" => {
                rig.partition(&self.second_half()).expect("the group splits");
                rig.merge().expect("the parts come together")
            }
            other => panic!("{other} is no operation that has sizes"),
        };
        sizes(&report)
    }
}

/// A page with other rows in its table.
fn with_table(page: &str, rows: &[String]) -> String {
    let (before, rest) = page.split_once(MARKER).expect("the page has a table");
    let after: Vec<_> = rest.lines().skip(1).skip_while(|line| line.starts_with('|')).collect();
    let table = HEAD.map(str::to_owned).into_iter().chain(rows.iter().cloned());
    format!("{before}{MARKER}\n{}\n{}\n", table.collect::<Vec<_>>().join("\n"), after.join("\n"))
}

/// The rows of a page's table, without its two lines of head.
fn rows(page: &str) -> impl Iterator<Item = Row> {
    let table = page.lines().skip_while(|line| *line != MARKER).skip(1);
    table.take_while(|line| line.starts_with('|')).skip(2).map(Row::read)
}

fn sizes(report: &Report) -> [usize; 3] {
    report.open_messages().fold([0; 3], |[messages, body, wire], message| {
        [messages + 1, body + message.body_bytes, wire + message.bytes.len()]
    })
}
