//! The answer in the terminal.

use std::io::{self, Write};

use groupkey_choose::decision::{Assessment, Quantity};
use groupkey_choose::{Decision, Requirements};
use groupkey_lab::choose::telling;
use terminal_size::{Width, terminal_size_of};

use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::table::{Column, Table};

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// One line for each scheme that is out, and not more than [`SHOWN`] of the front.
    Short,
    /// Everything.
    All,
}

/// The most candidates of the front that are shown unless all are asked for.
const SHOWN: usize = 12;

/// Prints the recommendation, its figures, the front, where it turns, and what is out.
pub(super) fn print(
    decision: &Decision,
    requirements: &Requirements,
    depth: Depth,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let told = telling::recommendation(decision, requirements).join(" ");
    writeln!(out, "{}", Paragraph { indent: 0, text: &told })?;
    if let Some(best) = &decision.recommended {
        writeln!(out)?;
        write!(out, "{}", figures(best, requirements))?;
        writeln!(out, "\nThese make the figures again:")?;
        for (what, command) in telling::commands(best, requirements) {
            writeln!(out, "  {what}:\n    {command}")?;
        }
    }
    print_front(decision, depth, out)?;
    if !decision.turns.is_empty() {
        writeln!(out, "\nWhere it turns, if one requirement changes alone:")?;
        for turn in &decision.turns {
            writeln!(out, "  {}", telling::turn(turn))?;
        }
    }
    print_out(decision, depth, out)
}

fn figures(best: &Assessment, requirements: &Requirements) -> Table {
    let mut table = Table::new([
        Column::text("figure"),
        Column::number("value"),
        Column::text("unit"),
        Column::text("95 % interval"),
        Column::text("ground"),
    ]);
    for figure in &best.figures {
        let (name, unit) = figure.quantity.name_and_unit();
        table.row([
            name.to_owned(),
            telling::number(figure.value),
            unit.to_owned(),
            telling::interval(figure),
            telling::ground(figure, requirements),
        ]);
    }
    table
}

fn print_front(decision: &Decision, depth: Depth, out: &mut dyn Write) -> Result<(), Failure> {
    if decision.front.is_empty() {
        return Ok(());
    }
    let shown = match depth {
        Depth::Short => decision.front.len().min(SHOWN),
        Depth::All => decision.front.len(),
    };
    writeln!(
        out,
        "\nThe recommended candidate, and those that no other one beats in every figure:"
    )?;
    write!(out, "{}", candidates(&decision.front[..shown]))?;
    if shown < decision.front.len() {
        writeln!(out, "and {} more (--all)", decision.front.len() - shown)?;
    }
    if depth == Depth::All && !decision.beaten.is_empty() {
        writeln!(out, "\nThese meet the requirements, too, but one of the above beats each:")?;
        write!(out, "{}", candidates(&decision.beaten))?;
    }
    Ok(())
}

fn candidates(assessments: &[Assessment]) -> Table {
    let mut table = Table::new([
        Column::text("candidate"),
        Column::number("cost"),
        Column::number("99 % ms"),
        Column::number("J/day"),
        Column::number("B/day"),
        Column::number("keys B"),
        Column::number("largest B").may_go(2),
        Column::text("grounds").may_go(1),
    ]);
    for assessment in assessments {
        let value = |quantity| assessment.figure(quantity).map(|figure| figure.value);
        let shown = |quantity| value(quantity).map_or_else(|| "-".to_owned(), telling::number);
        let traffic = value(Quantity::Sent).zip(value(Quantity::Received));
        table.row([
            telling::short(&assessment.candidate),
            telling::number(assessment.cost),
            shown(Quantity::CompletionOf99),
            shown(Quantity::Energy),
            traffic.map_or_else(
                || "-".to_owned(),
                |(sent, received)| telling::number(sent + received),
            ),
            shown(Quantity::Keys),
            shown(Quantity::LargestMessage),
            telling::grounds(assessment),
        ]);
    }
    table.fit(terminal_width());
    table
}

fn print_out(decision: &Decision, depth: Depth, out: &mut dyn Write) -> Result<(), Failure> {
    if decision.out.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOut ({} schemes):", decision.out.len())?;
    let width = decision.out.iter().map(|one| one.scheme.len()).max().unwrap_or(0);
    for one in &decision.out {
        let reasons = telling::reasons(one);
        match depth {
            Depth::Short => {
                let first = reasons.first().map_or("", String::as_str);
                let more = match reasons.len() {
                    0 | 1 => String::new(),
                    all => format!(" (and {} more)", all - 1),
                };
                writeln!(out, "  {:<width$}  {first}{more}", one.scheme)?;
            }
            Depth::All => {
                let nearest = one.candidate.as_ref().map(telling::short).unwrap_or_default();
                writeln!(out, "  {:<width$}  {nearest}", one.scheme)?;
                for reason in &reasons {
                    writeln!(out, "  {:<width$}    {reason}", "")?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the columns of the terminal on standard output. A file or a pipe takes everything.
fn terminal_width() -> usize {
    terminal_size_of(io::stdout()).map_or(usize::MAX, |(Width(width), _)| width.into())
}

#[cfg(test)]
mod tests {
    use groupkey_choose::candidate::{Candidate, Variant};
    use groupkey_choose::decision::{Figure, Ground, Out, Reason, Turn};

    use super::*;

    #[test]
    fn the_answer_begins_with_what_to_take_and_ends_with_what_is_out() {
        let text = printed(&decision(), Depth::Short);
        let first = text.lines().next().expect("a line");
        assert!(first.starts_with("Take lkh-group (LKH"), "{first}");
        for told in [
            "specified) with degree 8, suite standard, a MAC on each message, QoS 1.",
            "Of the 2 candidates that meet all requirements it costs least: 1.5 a day",
            "99 % of changes are complete within 430 ms, a member needs 12 mJ a day.",
            "completion, 99 %    430  ms     380 to 500     fitted, extrapolated",
            "member's energy   0.012  J/day  exact          modelled on cortex-m4",
            "groupkey bench --scheme lkh-group --members 100 --suite standard --protection mac \
             --set degree=8 --operation add,remove",
            "--loss 0 --delay 20 --jitter 0 --qos 1",
            "above 1,400 members take skdc, standard, mac, QoS 1",
            "  tgdh  limits.complete: at most 200 ms, but 430 ms; it needs limits.complete = 430 (and 1 \
             more)",
        ] {
            assert!(in_one_line(&text).contains(&in_one_line(told)), "{told} is not in\n{text}");
        }
        let order = ["Take ", "figure ", "again:", "no other one beats", "it turns", "Out (1 "];
        let places: Vec<_> = order.map(|words| text.find(words)).to_vec();
        assert!(places.is_sorted() && places[0].is_some(), "{text}");
        let all = printed(&decision(), Depth::All);
        assert!(all.contains("trust.controller: false, but a controller"), "{all}");
        assert!(all.contains("one of the above beats each"), "{all}");
    }

    #[test]
    fn nothing_is_recommended_if_nothing_fits_but_the_nearest_is_named() {
        let mut none = decision();
        (none.recommended, none.front, none.beaten) = (None, Vec::new(), Vec::new());
        none.turns = Vec::new();
        none.out[0].reasons.pop();
        let printed = printed(&none, Depth::Short);
        let told = "No scheme meets all requirements. tgdh comes nearest: it would do with \
                    limits.complete = 430.";
        assert!(in_one_line(&printed).starts_with(told), "{printed}");
        assert!(!printed.contains("again:"), "{printed}");
    }

    fn printed(decision: &Decision, depth: Depth) -> String {
        let mut out = Vec::new();
        print(decision, &Requirements::default(), depth, &mut out)
            .expect("a list takes everything");
        String::from_utf8(out).expect("it is text")
    }

    /// The words, however they were broken into lines.
    fn in_one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
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
            out: vec![Out {
                candidate: Some(candidate("tgdh", &[])),
                scheme: "tgdh".into(),
                reasons: vec![
                    reason("limits.complete", "at most 200 ms", "430 ms", Some("430")),
                    reason("trust.controller", "false", "a controller", None),
                ],
            }],
            turns: vec![Turn {
                requirement: "members.now".into(),
                at: 1_400.0,
                is_above: true,
                instead: Some(candidate("skdc", &[])),
            }],
        }
    }
}
