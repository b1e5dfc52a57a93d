//! A trace as a CSV file: `time_ms,event,member`.

use std::fmt;
use std::path::Path;

use groupkey_choose::input::{InputError, Mistake};

use super::events::{JoinOrLeave, Trace, TraceError, TraceEvent};

impl Trace {
    /// Reads a file; errors name it, with line and column.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::parse(&InputError::read_long(path)?, path)
    }

    /// Reads the text of a file; errors name it by `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, InputError> {
        parse(text).map_err(|mistake| InputError::in_text(path, text, mistake))
    }
}

/// Formats the trace as a file, which [`Trace::parse`] reads back.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, f)
    }
}

pub(super) fn parse(text: &str) -> Result<Trace, Mistake> {
    let mut initial = Vec::new();
    let mut events = Vec::new();
    let mut places = Vec::new();
    let mut first_creation = None;
    for (number, (at, line)) in lines(text).enumerate() {
        if number == 0 {
            if line != HEADING {
                return Err(Mistake::at(at, format!("the first line must be {HEADING}")));
            }
            continue;
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [time, event, member] = fields[..] else {
            return Err(Mistake::at(at, "write a time, an event and a member: 2500,join,17"));
        };
        let column = |field: &str| at + (field.as_ptr() as usize - line.as_ptr() as usize);
        let time_ms = time
            .parse()
            .map_err(|_| Mistake::at(column(time), "a time is a whole number of milliseconds"))?;
        let change = match event {
            "create" => {
                if !events.is_empty() || time_ms != 0 {
                    let problem = "the group is created at time 0, before everything else";
                    return Err(Mistake::at(at, problem));
                }
                first_creation.get_or_insert(at);
                let members =
                    range(member).map_err(|problem| Mistake::at(column(member), problem))?;
                if initial.len() as u64 + u64::from(members.1 - members.0) >= MOST_MEMBERS {
                    let problem = format!("a group has at most {MOST_MEMBERS} members");
                    return Err(Mistake::at(column(member), problem));
                }
                initial.extend(members.0..=members.1);
                continue;
            }
            "join" => JoinOrLeave::Join,
            "leave" => JoinOrLeave::Leave,
            _ => {
                let problem = format!("{event:?} is not an event; write create, join or leave");
                return Err(Mistake::at(column(event), problem));
            }
        };
        let member = number_of(member).map_err(|problem| Mistake::at(column(member), problem))?;
        events.push(TraceEvent { time_ms, change, member });
        places.push(at);
    }
    Trace::new(initial, events).map_err(|(place, error)| {
        let of_creation = first_creation.unwrap_or(text.len());
        let at = match error {
            TraceError::TooFew => of_creation,
            // A member is twice in the creation itself.
            TraceError::AlreadyIn(_) if places.is_empty() => of_creation,
            _ => places.get(place).copied().unwrap_or(of_creation),
        };
        Mistake::at(at, error)
    })
}

pub(super) fn write(trace: &Trace, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{HEADING}")?;
    let mut rest = trace.initial();
    while let Some(&first) = rest.first() {
        let run = (first..).zip(rest).take_while(|(expected, got)| expected == *got).count();
        match run {
            1 => writeln!(f, "0,create,{first}")?,
            _ => writeln!(f, "0,create,{first}-{}", rest[run - 1])?,
        }
        rest = &rest[run..];
    }
    for TraceEvent { time_ms, change, member } in trace.events() {
        writeln!(f, "{time_ms},{},{member}", change.name())?;
    }
    Ok(())
}

/// Returns the lines with content, with the byte where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive('\n')
        .map(move |line| {
            let at = offset;
            offset += line.len();
            (at, line.trim_end())
        })
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Reads `7`, or `0-99`.
fn range(text: &str) -> Result<(u32, u32), String> {
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number_of(first)?, number_of(last)?),
        None => (number_of(text)?, number_of(text)?),
    };
    match first <= last {
        true => Ok((first, last)),
        false => Err(format!("{text} is backwards; write the first and the last: 0-99")),
    }
}

/// Reads a member's number. The rig uses the highest numbers for former members.
fn number_of(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number < HIGHEST_MEMBER);
    number.ok_or_else(|| format!("{text:?} is not a member: write a number below {HIGHEST_MEMBER}"))
}

const HEADING: &str = "time_ms,event,member";

/// Largest number of members that a file's creation may have.
const MOST_MEMBERS: u64 = 1_000_000;

const HIGHEST_MEMBER: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn told(lines: &str) -> String {
        let text = format!("{HEADING}\n{lines}");
        Trace::parse(&text, Path::new("t.csv")).expect_err("a mistake").to_string()
    }

    #[test]
    fn a_file_is_read_and_written_back() {
        let text =
            "time_ms,event,member\n0,create,0-3\n0,create,9\n5,join,4\n5,leave,0\n70,join,0\n";
        let trace = Trace::parse(text, Path::new("t.csv")).expect("a trace");
        assert_eq!(trace.initial(), [0, 1, 2, 3, 9]);
        assert_eq!((trace.count(JoinOrLeave::Join), trace.count(JoinOrLeave::Leave)), (2, 1));
        assert_eq!((trace.sizes(), trace.duration_ms()), ((5, 6), 70));
        assert_eq!(trace.to_string(), text);
        let spaced = text.replace(',', " , ").replace("time_ms , event , member", HEADING);
        assert_eq!(Trace::parse(&format!("# a comment\n\n{spaced}"), Path::new("t")), Ok(trace));
    }

    #[test]
    fn mistakes_are_found_where_they_stand() {
        for (lines, position, expected) in [
            ("", "t.csv:2:1:", "two members at least"),
            ("0,create,0\n", "t.csv:2:1:", "two members at least"),
            ("0,create,0-1\n0,create,1\n", "t.csv:2:1:", "already"),
            ("0,create,5-1\n", "t.csv:2:10:", "backwards"),
            ("0,create,0-4294967295\n", "t.csv:2:10:", "not a member"),
            ("0,create,0-2000000\n", "t.csv:2:10:", "at most"),
            ("1,create,0-5\n", "t.csv:2:1:", "time 0"),
            ("0,create,0-5\n3,join\n", "t.csv:3:1:", "2500,join,17"),
            ("0,create,0-5\n3,join,7,8\n", "t.csv:3:1:", "2500,join,17"),
            ("0,create,0-5\n-3,join,7\n", "t.csv:3:1:", "milliseconds"),
            ("0,create,0-5\n3,jion,7\n", "t.csv:3:3:", "create, join or leave"),
            ("0,create,0-5\n3,join,x\n", "t.csv:3:8:", "not a member"),
            ("0,create,0-5\n3,join,5\n", "t.csv:3:1:", "in the group already"),
            ("0,create,0-5\n3,leave,6\n", "t.csv:3:1:", "not in the group"),
            ("0,create,0-5\n3,join,6\n2,join,7\n", "t.csv:4:1:", "sort by time"),
            ("0,create,0-1\n3,leave,1\n", "t.csv:3:1:", "one member would remain"),
            ("0,create,0-5\n3,join,6\n0,create,7\n", "t.csv:4:1:", "before everything"),
        ] {
            let told = told(lines);
            assert!(told.starts_with(position) && told.contains(expected), "{lines}: {told}");
        }
        let heading = Trace::parse("time,event,member\n", Path::new("t.csv")).expect_err("wrong");
        assert!(heading.to_string().contains(HEADING), "{heading}");
    }

    proptest! {
        /// Any text is read or refused. A trace that was read is written as it was read.
        #[test]
        fn any_text_is_read_or_refused(text in "(time_ms,event,member\n)?([0-9]{1,2},(create|join|leave|x)?,[0-9]{1,2}(-[0-9]{1,3})?\n|.{0,9}\n){0,9}") {
            if let Ok(trace) = Trace::parse(&text, Path::new("t.csv")) {
                prop_assert_eq!(Trace::parse(&trace.to_string(), Path::new("t.csv")), Ok(trace));
            }
        }
    }
}
