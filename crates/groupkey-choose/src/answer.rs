//! An answer: a decision in words, block by block, as a terminal shows it.

use crate::decision::{Assessment, Decision, ExcludedScheme, Quantity};
use crate::programs::Programs;
use crate::requirements::Requirements;
use crate::{number, registry, words};

/// What an answer consists of, from the recommendation to what is out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer(pub Vec<Block>);

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Sentences.
    Paragraph(String),
    /// Lines below a title.
    Lines {
        /// The title.
        title: String,
        /// The lines.
        lines: Vec<String>,
    },
    /// Rows under the names of columns.
    Table(AnswerTable),
}

/// Rows under the names of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerTable {
    /// What it shows. May be empty.
    pub title: &'static str,
    /// The columns.
    pub columns: Vec<AnswerColumn>,
    /// The rows: one cell for each column.
    pub rows: Vec<Vec<String>>,
    /// What is left out, if anything.
    pub left_out: Option<String>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name.
    pub name: &'static str,
    /// Whether its cells are numbers.
    pub is_number: bool,
    /// If there is no room, columns with the highest rank are dropped first. Columns with 0 stay.
    pub dispensable: u8,
}

/// How much an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerDepth {
    /// One line for each scheme that is out, and not more than [`SHOWN`] candidates.
    Short,
    /// Everything.
    All,
}

/// The most candidates of the front that a [short](AnswerDepth::Short) answer has.
pub const SHOWN: usize = 12;

impl Answer {
    /// Puts a decision into words. `commands` make the figures of the recommended candidate again,
    /// each with what it shows.
    pub fn new(
        decision: &Decision,
        requirements: &Requirements,
        depth: AnswerDepth,
        commands: &[(&str, String)],
    ) -> Self {
        let told = [words::in_short, words::details].map(|words| words(decision, requirements));
        let told = told.into_iter().filter(|sentences| !sentences.is_empty());
        let mut blocks: Vec<Block> =
            told.map(|sentences| Block::Paragraph(sentences.join(" "))).collect();
        if let Some(best) = &decision.recommended {
            blocks.push(figures(best, requirements));
            let lines = commands
                .iter()
                .flat_map(|(what, command)| [format!("{what}:"), format!("  {command}")]);
            blocks.push(lines_below("These make the figures again:", lines));
            blocks.extend(programs(best));
        }
        blocks.extend(front(decision, depth));
        if !decision.turns.is_empty() {
            let title = "Where it turns, if one requirement changes alone:";
            blocks.push(lines_below(title, decision.turns.iter().map(words::turn)));
        }
        if !decision.out.is_empty() {
            let title = format!("Out ({} schemes):", decision.out.len());
            blocks.push(lines_below(&title, out(&decision.out, depth)));
        }
        Self(blocks)
    }
}

/// Where the recommended scheme runs.
fn programs(best: &Assessment) -> Option<Block> {
    let scheme = registry::scheme(&best.candidate.variant.scheme)?;
    let lines = Programs::of(scheme).told(scheme.id);
    Some(lines_below("A member of it runs in:", lines))
}

fn lines_below(title: &str, lines: impl IntoIterator<Item = String>) -> Block {
    Block::Lines { title: title.to_owned(), lines: lines.into_iter().collect() }
}

fn figures(best: &Assessment, requirements: &Requirements) -> Block {
    let rows = best.figures.iter().map(|figure| {
        let (name, unit) = figure.quantity.name_and_unit();
        vec![
            name.to_owned(),
            number::rounded(figure.value),
            unit.to_owned(),
            words::interval(figure, requirements),
            words::ground(figure, requirements),
        ]
    });
    Block::Table(AnswerTable {
        title: "",
        columns: vec![
            AnswerColumn::text("figure"),
            AnswerColumn::number("value"),
            AnswerColumn::text("unit"),
            AnswerColumn::text("95 % interval"),
            AnswerColumn::text("ground"),
        ],
        rows: rows.collect(),
        left_out: None,
    })
}

/// The candidates that meet the requirements.
fn front(decision: &Decision, depth: AnswerDepth) -> Vec<Block> {
    let Decision { front, beaten, .. } = decision;
    if front.is_empty() {
        return Vec::new();
    }
    let shown = match depth {
        AnswerDepth::Short => front.len().min(SHOWN),
        AnswerDepth::All => front.len(),
    };
    let more = front.len() - shown;
    let mut blocks = vec![candidates(
        "The recommended candidate, and those that no other one beats in every figure:",
        &front[..shown],
        (more > 0).then(|| format!("and {more} more (--all)")),
    )];
    if depth == AnswerDepth::All && !beaten.is_empty() {
        let title = "These meet the requirements, too, but one of the above beats each:";
        blocks.push(candidates(title, beaten, None));
    }
    blocks
}

fn candidates(title: &'static str, assessments: &[Assessment], left_out: Option<String>) -> Block {
    let rows = assessments.iter().map(|assessment| {
        let value = |quantity| assessment.figure(quantity).map(|figure| figure.value);
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number::rounded);
        let traffic = value(Quantity::Sent).zip(value(Quantity::Received));
        vec![
            assessment.candidate.to_string(),
            number::rounded(assessment.cost),
            shown(value(Quantity::CompletionOf99)),
            shown(value(Quantity::Energy)),
            shown(traffic.map(|(sent, received)| sent + received)),
            shown(value(Quantity::Keys)),
            shown(value(Quantity::LargestMessage)),
            words::grounds(assessment),
        ]
    });
    Block::Table(AnswerTable {
        title,
        columns: vec![
            AnswerColumn::text("candidate"),
            AnswerColumn::number("cost"),
            AnswerColumn::number("99 % ms"),
            AnswerColumn::number("J/day"),
            AnswerColumn::number("B/day"),
            AnswerColumn::number("keys B"),
            AnswerColumn { dispensable: 2, ..AnswerColumn::number("largest B") },
            AnswerColumn { dispensable: 1, ..AnswerColumn::text("grounds") },
        ],
        rows: rows.collect(),
        left_out,
    })
}

fn out(all: &[ExcludedScheme], depth: AnswerDepth) -> Vec<String> {
    let width = all.iter().map(|one| one.scheme.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for one in all {
        let reasons = words::reasons(one);
        match depth {
            AnswerDepth::Short => {
                let first = reasons.first().map_or("", String::as_str);
                let more = match reasons.len() {
                    0 | 1 => String::new(),
                    all => format!(" (and {} more)", all - 1),
                };
                lines.push(format!("{:<width$}  {first}{more}", one.scheme));
            }
            AnswerDepth::All => {
                let nearest = one.candidate.as_ref().map(ToString::to_string).unwrap_or_default();
                lines.push(format!("{:<width$}  {nearest}", one.scheme));
                lines.extend(reasons.iter().map(|reason| format!("{:<width$}    {reason}", "")));
            }
        }
    }
    lines
}

impl AnswerColumn {
    const fn text(name: &'static str) -> Self {
        Self { name, is_number: false, dispensable: 0 }
    }

    const fn number(name: &'static str) -> Self {
        Self { name, is_number: true, dispensable: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Candidate, Figure, Ground, Reason, TippingPoint, Variant};

    #[test]
    fn the_answer_begins_with_what_to_take_and_ends_with_what_is_out() {
        let text = told(&decision(), AnswerDepth::Short);
        assert!(text.starts_with("Take lkh-group (LKH"), "{text}");
        for told in [
            "specified): it costs least of what meets your requirements, the next scheme 100 % more; \
             next comes skdc (specified), which is first above 1,400 members.",
            "Not known: ",
            "Run it with degree 8, suite standard, a MAC on each message, QoS 1.",
            "Of the 2 candidates that meet all requirements it costs least: 1.5 a day",
            "99 % of changes are complete within 430 ms, a member needs 12 mJ a day.",
            "completion, 99 % 430 ms 380 to 500 fitted, extrapolated",
            "member's energy 0.012 J/day unknown modelled on cortex-m4 with 802.15.4, assumed",
            "again: what is counted: groupkey bench",
            "above 1,400 members take skdc, standard, mac, QoS 1",
            "tgdh limits.complete: at most 200 ms, but 430 ms; it needs limits.complete = 430 (and 1 \
             more)",
        ] {
            assert!(text.contains(told), "{told} is not in\n{text}");
        }
        let order = ["Take ", "figure ", "again:", "no other one beats", "it turns", "Out (1 "];
        let places: Vec<_> = order.map(|words| text.find(words)).to_vec();
        assert!(places.is_sorted() && places[0].is_some(), "{text}");
        let all = told(&decision(), AnswerDepth::All);
        assert!(all.contains("trust.controller: false, but a controller"), "{all}");
        assert!(all.contains("one of the above beats each"), "{all}");
    }

    #[test]
    fn a_short_answer_says_how_much_of_the_front_is_left_out() {
        let mut many = decision();
        many.front = vec![many.front[0].clone(); SHOWN + 3];
        assert!(told(&many, AnswerDepth::Short).contains("and 3 more (--all)"));
        assert!(!told(&many, AnswerDepth::All).contains("--all"));
    }

    #[test]
    fn nothing_is_recommended_if_nothing_fits_but_the_nearest_is_named() {
        let mut none = decision();
        (none.recommended, none.front, none.beaten) = (None, Vec::new(), Vec::new());
        none.turns = Vec::new();
        none.out[0].reasons.pop();
        let text = told(&none, AnswerDepth::Short);
        let expected = "No scheme meets all requirements. tgdh comes nearest: it would do with \
                        limits.complete = 430.";
        assert!(text.starts_with(expected), "{text}");
        assert!(!text.contains("again:"), "{text}");
    }

    fn told(decision: &Decision, depth: AnswerDepth) -> String {
        let commands = [("what is counted", "groupkey bench".to_owned())];
        let Answer(blocks) = Answer::new(decision, &Requirements::default(), depth, &commands);
        let mut words = Vec::new();
        for block in blocks {
            match block {
                Block::Paragraph(text) => words.push(text),
                Block::Lines { title, lines } => words.extend([title].into_iter().chain(lines)),
                Block::Table(AnswerTable { title, columns, rows, left_out }) => {
                    words.push(title.to_owned());
                    words.extend(columns.iter().map(|column| column.name.to_owned()));
                    words.extend(rows.into_iter().flatten().chain(left_out));
                }
            }
        }
        words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn decision() -> Decision {
        let candidate = |scheme: &str, parameters: &[(&str, u32)]| Candidate {
            variant: Variant {
                scheme: scheme.into(),
                parameters: parameters.iter().map(|&(name, value)| (name.into(), value)).collect(),
                suite: "standard".into(),
                guard: "mac".into(),
            },
            qos: 1,
        };
        let figure = |quantity, value, interval, ground, is_extrapolated| Figure {
            quantity,
            value,
            interval,
            ground,
            is_extrapolated,
        };
        let best = Assessment {
            candidate: candidate("lkh-group", &[("degree", 8)]),
            cost: 1.5,
            error: 0.04,
            figures: vec![
                figure(Quantity::CompletionOf99, 430.0, (380.0, 500.0), Ground::Fitted, true),
                figure(Quantity::Energy, 0.012, (0.012, 0.012), Ground::Modelled, false),
            ],
        };
        let other = Assessment { candidate: candidate("skdc", &[]), cost: 3.0, ..best.clone() };
        let reason = |requirement: &str, required: &str, has: &str, nearest: Option<&str>| Reason {
            requirement: requirement.into(),
            required: required.into(),
            has: has.into(),
            nearest: nearest.map(str::to_owned),
        };
        Decision {
            recommended: Some(best.clone()),
            equals: vec![best.candidate.clone()],
            given_up: Vec::new(),
            front: vec![best],
            beaten: vec![other],
            out: vec![ExcludedScheme {
                candidate: Some(candidate("tgdh", &[])),
                scheme: "tgdh".into(),
                reasons: vec![
                    reason("limits.complete", "at most 200 ms", "430 ms", Some("430")),
                    reason("trust.controller", "false", "a controller", None),
                ],
            }],
            turns: vec![TippingPoint {
                requirement: "members.now".into(),
                at: 1_400.0,
                is_above: true,
                instead: Some(candidate("skdc", &[])),
            }],
            ..Decision::default()
        }
    }
}
