//! The questions that `groupkey choose` asks in a terminal.

use std::io::{self, BufRead, Write};

use groupkey_choose::device::{DevicePrices, RadioPrices};
use groupkey_choose::requirements::{FieldSetting, RequirementsDraft};
use groupkey_lab::choose::LaboratoryFiles;

use crate::failure::Failure;
use crate::paragraph::Paragraph;

/// Asks for the most important fields. An empty answer keeps a field as it is, and so does the end
/// of the input for all that follow.
pub(super) fn ask(
    draft: &mut RequirementsDraft,
    answers: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    say(
        out,
        "Enter takes what is in brackets. Everything else has a default, too: docs/choose.md.\n",
    )?;
    for question in QUESTIONS {
        let mut ended = false;
        while !ended {
            let explanation = question.explanation();
            say(out, &format!("{}\n", Paragraph { indent: 2, text: &explanation }))?;
            say(out, &format!("{} [{}] ", question.text, question.value(draft)))?;
            out.flush().map_err(unasked)?;
            let mut answer = String::new();
            ended = answers.read_line(&mut answer).map_err(unasked)? == 0;
            if ended {
                say(out, "\n")?;
                return Ok(());
            }
            match question.take(answer.trim(), draft) {
                Ok(answered) => {
                    *draft = answered;
                    break;
                }
                Err(problem) => say(out, &format!("  Not understood: {problem}\n"))?,
            }
        }
    }
    say(out, "\n")
}

/// A field, what it is asked by, and what that means.
struct FieldQuestion {
    field: &'static str,
    text: &'static str,
    explanation: &'static str,
}

const QUESTIONS: [FieldQuestion; 15] = [
    FieldQuestion {
        field: "members.now",
        text: "Members now?",
        explanation: "Costs are those of a group of this size.",
    },
    FieldQuestion {
        field: "members.most",
        text: "Members at most?",
        explanation: "Limits hold up to this size; 0 means as many as now.",
    },
    FieldQuestion {
        field: "members.joins",
        text: "Joins an hour?",
        explanation: "Each of them changes the key, in most schemes.",
    },
    FieldQuestion {
        field: "members.leaves",
        text: "Leaves an hour?",
        explanation: "Evictions count, too.",
    },
    FieldQuestion {
        field: "trust.controller",
        text: "Is there a trusted server?",
        explanation: "A server that may draw the keys of all members; without it they must agree on \
                      keys among themselves.",
    },
    FieldQuestion {
        field: "trust.gateways",
        text: "Gateways?",
        explanation: "Each could lead a part of the group; 0 means none.",
    },
    FieldQuestion {
        field: "devices.member",
        text: "Device of a member?",
        explanation: "One of these, or a file:",
    },
    FieldQuestion {
        field: "devices.radio",
        text: "Radio of a member?",
        explanation: "none keeps the device's own. One of these, or a file:",
    },
    FieldQuestion {
        field: "network.loss",
        text: "Loss (%)?",
        explanation: "Packets lost on each member's link, in each direction.",
    },
    FieldQuestion {
        field: "network.delay",
        text: "Delay (ms)?",
        explanation: "One way, from a member to the broker.",
    },
    FieldQuestion {
        field: "presence.sleep",
        text: "Do members sleep?",
        explanation: "What one needs that slept through changes: rejoin (it may leave and rejoin), \
                      catch-up (one request brings the present key), heal (it gets the keys that it \
                      missed, too).",
    },
    FieldQuestion {
        field: "presence.splits",
        text: "Must the group split and merge?",
        explanation: "Parts go on by themselves when they lose sight of each other.",
    },
    FieldQuestion {
        field: "limits.complete",
        text: "Limit: 99 % of changes complete within (ms)?",
        explanation: "Until then an evicted member may still read along.",
    },
    FieldQuestion {
        field: "limits.energy",
        text: "Limit: energy of a member a day (J)?",
        explanation: "For group keys alone. A coin cell CR2032 has about 2,400 J.",
    },
    FieldQuestion {
        field: "limits.received",
        text: "Limit: bytes that a member receives a day?",
        explanation: "For group keys alone, without MQTT's own bytes.",
    },
];

impl FieldQuestion {
    fn explanation(&self) -> String {
        match self.field {
            "devices.member" => listing(
                self.explanation,
                DevicePrices::shipped().iter().map(|device| &*device.name),
            ),
            "devices.radio" => {
                listing(self.explanation, RadioPrices::shipped().iter().map(|radio| &*radio.name))
            }
            _ => self.explanation.to_owned(),
        }
    }

    fn value(&self, draft: &RequirementsDraft) -> String {
        match &*draft.value(self.field) {
            "true" => "yes".to_owned(),
            "false" => "no".to_owned(),
            other => other.to_owned(),
        }
    }

    fn take(&self, answer: &str, draft: &RequirementsDraft) -> Result<RequirementsDraft, String> {
        let mut answered = draft.clone();
        if answer.is_empty() {
            return Ok(answered);
        }
        let is_switch = ["true", "false"].contains(&&*draft.value(self.field));
        let answer = match (is_switch, answer.to_lowercase().as_str()) {
            (true, "yes" | "y") => "true".to_owned(),
            (true, "no" | "n") => "false".to_owned(),
            (true, _) => return Err("yes or no?".to_owned()),
            // As people write thousands, and as TOML does.
            (false, _) => answer.replace(',', ""),
        };
        let setting: FieldSetting = format!("{}={answer}", self.field).parse()?;
        answered.set(setting).map_err(|error| error.to_string())?;
        answered.read_devices(&LaboratoryFiles).map_err(|error| error.to_string())?;
        answered.finish().map_err(|error| error.to_string())?;
        Ok(answered)
    }
}

fn listing<'n>(explanation: &str, names: impl Iterator<Item = &'n str>) -> String {
    format!("{explanation} {}.", names.collect::<Vec<_>>().join(", "))
}

fn say(out: &mut dyn Write, text: &str) -> Result<(), Failure> {
    write!(out, "{text}").map_err(unasked)
}

fn unasked(error: io::Error) -> Failure {
    Failure::running(format!("cannot ask: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_requirements_and_nonsense_is_asked_again() {
        let answers = "\n-5\n1,400\n\n\nmaybe\nno\n\nrv32imac\n";
        let (requirements, asked) = answered(answers);
        assert_eq!((requirements.members.now, requirements.members.most), (100, 1_400));
        assert!(!requirements.trust.controller);
        assert_eq!(requirements.devices.member, "rv32imac");
        assert_eq!(asked.matches("Members at most? [0]").count(), 2, "{asked}");
        assert!(asked.contains("yes or no?") && asked.contains("Members now? [100]"), "{asked}");
        assert!(asked.contains("cortex-m4, "), "{asked}");
    }

    #[test]
    fn the_end_of_the_answers_keeps_the_rest() {
        let (requirements, asked) = answered("");
        assert_eq!(requirements, groupkey_choose::Requirements::default());
        assert_eq!(asked.matches("? [").count(), 1);
        let (requirements, asked) = answered(&"\n".repeat(QUESTIONS.len()));
        assert_eq!(requirements, groupkey_choose::Requirements::default());
        assert_eq!(asked.matches("? [").count(), QUESTIONS.len());
    }

    fn answered(answers: &str) -> (groupkey_choose::Requirements, String) {
        let (mut draft, mut asked) = (RequirementsDraft::default(), Vec::new());
        ask(&mut draft, &mut answers.as_bytes(), &mut asked).expect("a list takes everything");
        let asked = String::from_utf8(asked).expect("questions are text");
        (draft.finish().expect("each answer was checked"), asked)
    }
}
