//! The file of a workload.

use std::ops::Range;
use std::path::Path;

use groupkey::Operation;
use groupkey::catalogue::Class;
use groupkey::catalogue::growth::Role;
use groupkey_choose::input::{InputError, Mistake};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::{ActorAction, Pattern, Randomness, Sizes, Workload};
use crate::bench::Phase;
use crate::scenario::name::{Name, Named, one_of};

impl Workload {
    /// Returns the built-in workload of this name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        Some(Self::parse(text, Path::new(name)).expect("a test reads every built-in workload"))
    }

    /// Returns the names of the built-in workloads.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Reads a file; errors name it, with line and column.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::parse(&InputError::read(path)?, path)
    }

    /// Reads the text of a file; errors name it by `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, InputError> {
        parse(text).map_err(|mistake| InputError::in_text(path, text, mistake))
    }
}

const BUILT_IN: [(&str, &str); 4] = [
    ("smart-city", include_str!("../workloads/smart-city.toml")),
    ("platoon", include_str!("../workloads/platoon.toml")),
    ("centralized", include_str!("../workloads/centralized.toml")),
    ("nishat", include_str!("../workloads/nishat.toml")),
];

fn parse(text: &str) -> Result<Workload, Mistake> {
    let file: WorkloadFile = toml::from_str(text)?;
    let members = file.members.get_ref();
    let (min, max, step) =
        (*members.min.get_ref(), *members.max.get_ref(), *members.step.get_ref());
    if min < 2 {
        return Err(mistake(members.min.span(), "a group has two members at least"));
    }
    if max < min {
        return Err(mistake(members.max.span(), "max must be at least min"));
    }
    if max > MOST_MEMBERS {
        return Err(mistake(members.max.span(), format!("at most {MOST_MEMBERS} members")));
    }
    if step == 0 {
        return Err(mistake(members.step.span(), "a step must be 1 at least"));
    }
    let repetitions = check_repetitions(&file.repetitions)?;
    let mut patterns = Vec::new();
    for pattern in &file.pattern {
        patterns.extend(expand(pattern, repetitions)?);
    }
    if patterns.is_empty() {
        return Err(Mistake::at(text.len(), "what is done? add a [[pattern]]"));
    }
    Ok(Workload {
        name: file.name,
        description: file.description,
        classes: match file.classes.is_empty() {
            true => vec![Class::Centralized, Class::Hybrid, Class::Distributed],
            false => file.classes.into_iter().map(|named| named.0).collect(),
        },
        members: Sizes { min, max, step },
        subgroups: file.subgroups,
        randomness: file.randomness.map_or(Randomness::Static, |named| named.0),
        patterns,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    name: String,
    description: String,
    #[serde(default)]
    classes: Vec<Named<Class>>,
    repetitions: Spanned<u32>,
    #[serde(default)]
    subgroups: u32,
    randomness: Option<Named<Randomness>>,
    members: Spanned<SizeRange>,
    #[serde(default)]
    pattern: Vec<Spanned<PatternTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SizeRange {
    min: Spanned<u32>,
    max: Spanned<u32>,
    step: Spanned<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternTable {
    #[serde(deserialize_with = "one_or_more")]
    actor: Vec<Named<Role>>,
    phase: Option<Named<Phase>>,
    #[serde(deserialize_with = "one_or_more")]
    operation: Vec<Named<ActorAction>>,
    #[serde(default, deserialize_with = "one_or_more")]
    bytes: Vec<u32>,
    repetitions: Option<Spanned<u32>>,
}

fn expand(table: &Spanned<PatternTable>, repetitions: u32) -> Result<Vec<Pattern>, Mistake> {
    let span = table.span();
    let PatternTable { actor, phase, operation, bytes, repetitions: own } = table.get_ref();
    let repetitions = match own {
        Some(own) => check_repetitions(own)?,
        None => repetitions,
    };
    if let Some(length) = bytes.iter().find(|length| **length > MOST_BYTES) {
        let problem = format!("a message of {length} bytes; {MOST_BYTES} at most");
        return Err(mistake(span, problem));
    }
    let mut patterns = Vec::new();
    for Named(actor) in actor {
        for Named(action) in operation {
            let actions = match (*action, &bytes[..]) {
                (ActorAction::Encrypt(_) | ActorAction::Decrypt(_), []) => {
                    return Err(mistake(span, "a message of how many bytes? add bytes = 50"));
                }
                (ActorAction::Encrypt(_), lengths) => {
                    lengths.iter().map(|b| ActorAction::Encrypt(*b)).collect()
                }
                (ActorAction::Decrypt(_), lengths) => {
                    lengths.iter().map(|b| ActorAction::Decrypt(*b)).collect()
                }
                (action, []) => vec![action],
                (_, _) => {
                    return Err(mistake(span, "bytes are for encrypt and decrypt only"));
                }
            };
            let phase = phase.as_ref().map_or(Phase::Operational, |named| named.0);
            patterns.extend(actions.into_iter().map(|action| Pattern {
                actor: *actor,
                phase,
                action,
                repetitions,
            }));
        }
    }
    Ok(patterns)
}

fn check_repetitions(repetitions: &Spanned<u32>) -> Result<u32, Mistake> {
    match *repetitions.get_ref() {
        1..=MOST_REPETITIONS => Ok(*repetitions.get_ref()),
        _ => Err(mistake(repetitions.span(), format!("repeat 1 to {MOST_REPETITIONS} times"))),
    }
}

/// Reads `"member"`, or `["controller", "member"]`.
fn one_or_more<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct One<T>(T);

    struct Visitor<T>(std::marker::PhantomData<T>);

    impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("one, or a list of some")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(list))
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            One::deserialize(serde::de::value::StrDeserializer::new(text)).map(|One(one)| vec![one])
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Vec<T>, E> {
            One::deserialize(serde::de::value::I64Deserializer::new(number))
                .map(|One(one)| vec![one])
        }
    }

    deserializer.deserialize_any(Visitor(std::marker::PhantomData))
}

impl Name for Class {
    fn from_name(name: &str) -> Result<Self, String> {
        let all = [Self::Centralized, Self::Distributed, Self::Hybrid];
        one_of("class", name, all.map(|class| (class.name(), class)))
    }
}

impl Name for Role {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("role", name, Self::ALL.map(|role| (role.name(), role)))
    }
}

impl Name for Phase {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("phase", name, Self::ALL.map(|phase| (phase.name(), phase)))
    }
}

impl Name for Randomness {
    fn from_name(name: &str) -> Result<Self, String> {
        one_of("randomness", name, [("fresh", Self::Fresh), ("static", Self::Static)])
    }
}

impl Name for ActorAction {
    fn from_name(name: &str) -> Result<Self, String> {
        let manage = |operation: Operation| (operation.name(), Self::Manage(operation));
        one_of(
            "operation",
            name,
            [
                manage(Operation::Create),
                manage(Operation::Add),
                manage(Operation::Remove),
                manage(Operation::Batch),
                manage(Operation::Rekey),
                manage(Operation::Send),
                manage(Operation::Partition),
                manage(Operation::Merge),
                ("encrypt", Self::Encrypt(0)),
                ("decrypt", Self::Decrypt(0)),
                ("idle", Self::Idle),
            ],
        )
    }
}

fn mistake(span: Range<usize>, problem: impl ToString) -> Mistake {
    Mistake::at(span.start, problem)
}

const MOST_MEMBERS: u32 = 1_000_000;
const MOST_REPETITIONS: u32 = 1_000_000;

/// A megabyte: devices do not send longer messages.
const MOST_BYTES: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const HEAD: &str = "name = 'x'\ndescription = 'y'\nrepetitions = 5\n";
    const MEMBERS: &str = "[members]\nmin = 2\nmax = 10\nstep = 4\n";
    const PATTERN: &str = "[[pattern]]\nactor = 'member'\noperation = 'create'\n";

    fn read(text: &str) -> Result<Workload, String> {
        Workload::parse(text, Path::new("w.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_make_a_pattern_for_each_combination() {
        let table = "[[pattern]]\nactor = ['member', 'controller']\noperation = ['encrypt', 'decrypt']\n\
                     bytes = [1, 50]\nrepetitions = 7\n";
        let workload = read(&format!("{HEAD}{MEMBERS}{PATTERN}{table}")).expect("a workload");
        assert_eq!(workload.patterns.len(), 1 + 8);
        assert_eq!(workload.patterns[0].action, ActorAction::Manage(Operation::Create));
        let [.., last] = workload.patterns[..] else { panic!("there are nine") };
        assert_eq!((last.actor, last.action), (Role::Controller, ActorAction::Decrypt(50)));
        assert_eq!((workload.patterns[0].repetitions, last.repetitions), (5, 7));
        assert_eq!((workload.classes.len(), workload.randomness), (3, Randomness::Static));
        assert_eq!(workload.members.all().collect::<Vec<_>>(), [2, 6, 10]);
    }

    #[test]
    fn mistakes_are_found_where_they_stand() {
        let all = format!("{HEAD}{MEMBERS}{PATTERN}");
        assert!(read(&all).is_ok());
        for (from, to, position, told) in [
            ("name = 'x'", "nam = 'x'", "w.toml:1:1:", "nam"),
            ("repetitions = 5", "repetitions = 0", "w.toml:3:15:", "repeat 1 to"),
            ("repetitions = 5", "repetitions = -1", "w.toml:3:15:", "-1"),
            ("min = 2", "min = 1", "w.toml:5:7:", "two members"),
            ("max = 10", "max = 1", "w.toml:6:7:", "at least min"),
            ("max = 10", "max = 4000000000", "w.toml:6:7:", "at most"),
            ("step = 4", "step = 0", "w.toml:7:8:", "1 at least"),
            ("'member'", "'membre'", "w.toml:9:9:", "there are controller"),
            ("'create'", "'creat'", "w.toml:10:13:", "there are create"),
            ("'create'", "'encrypt'", "w.toml:8:1:", "how many bytes"),
            ("'create'", "'create'\nbytes = 5", "w.toml:8:1:", "encrypt and decrypt only"),
            ("'create'", "'encrypt'\nbytes = 4000000000", "w.toml:8:1:", "at most"),
            ("'create'", "'create'\nphase = 'later'", "w.toml:11:9:", "deployment"),
            ("'create'", "'create'\nrepetitions = 0", "w.toml:11:15:", "repeat 1 to"),
            (PATTERN, "", "w.toml:8:1:", "add a [[pattern]]"),
        ] {
            assert!(all.contains(from), "{from}");
            let error = read(&all.replacen(from, to, 1)).expect_err("a mistake");
            assert!(error.starts_with(position) && error.contains(told), "{to}: {error}");
        }
    }
}
