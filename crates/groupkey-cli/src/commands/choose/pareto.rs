//! `groupkey choose --pareto`: the front with a tolerance, and which question decides first.

use std::io::Write;

use groupkey_choose::number::{fixed, rounded};
use groupkey_choose::pareto::{OBJECTIVES, ParetoFront, Representative, fronts};
use groupkey_choose::questions::{
    NarrowingStep, QuestionList, Split, SplitNode, ask, first_splits, order,
};
use groupkey_choose::{Decision, Grounds, Requirements, words};
use serde_json::json;

use crate::failure::Failure;
use crate::paragraph::{ListLine, Paragraph};
use crate::table::{Column, Table, terminal_width};

/// Parses the tolerance in per cent.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let percent = text.trim().parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent: f64| percent + 0.0).ok_or_else(|| "expected 0 to 100 per cent".to_owned())
}

pub(super) fn print(
    decision: &Decision,
    requirements: &Requirements,
    percent: f64,
    is_json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let fronts = fronts(decision, percent / 100.0);
    let asked = ask(requirements, &Grounds::shipped());
    let list = asked.map_err(|error| Failure::input(error.to_string()))?;
    let (steps, tree) = (order(&list), first_splits(&list, LEVELS));
    if is_json {
        let object = json!({
            "recommended": decision.recommended,
            "epsilon": percent / 100.0,
            "objectives": OBJECTIVES,
            "fronts": fronts,
            "order": steps,
            "first-splits": tree,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&object).expect("it is a tree"))?;
        return Ok(());
    }
    let text = words::in_short(decision, requirements).join(" ");
    writeln!(out, "{}", Paragraph { indent: 0, text: &text })?;
    for front in &fronts {
        print_front(front, percent, out)?;
    }
    print_order(&list, &steps, out)?;
    writeln!(out, "\nWhat to ask first about any scheme, for a group of this size:")?;
    print_node(&tree, "", out)
}

fn print_front(front: &ParetoFront, percent: f64, out: &mut dyn Write) -> Result<(), Failure> {
    let ParetoFront { with_controller, candidates, exact, kept } = front;
    let kind = if *with_controller { "With a controller" } else { "Without a controller" };
    let text = format!(
        "{kind}: {candidates} candidates meet the requirements. No other one beats {exact} of them in \
         every objective; with a tolerance of {} %, {} are left.",
        rounded(percent),
        kept.len()
    );
    writeln!(out, "\n{}", Paragraph { indent: 0, text: &text })?;
    let objectives = OBJECTIVES.map(|objective| objective.name_and_unit().0);
    let mut table = Table::new(
        [Column::text("candidate"), Column::number("cost")]
            .into_iter()
            .chain(objectives.map(Column::number))
            .chain([Column::number("stands for").may_go(1)]),
    );
    for Representative { assessment, stands_for } in kept {
        let figure = |objective| {
            let figure = assessment.figure(objective);
            figure.map_or_else(|| "-".to_owned(), |figure| rounded(figure.value))
        };
        table.row(
            [assessment.candidate.to_string(), rounded(assessment.cost)]
                .into_iter()
                .chain(OBJECTIVES.map(figure))
                .chain([stands_for.len().to_string()]),
        );
    }
    table.fit(terminal_width());
    Ok(write!(out, "{table}")?)
}

fn print_order(
    list: &QuestionList,
    steps: &[NarrowingStep],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(
        out,
        "\nWhich requirement narrows first, of {} schemes that a group of this size can have:",
        list.schemes.len()
    )?;
    let mut table = Table::new([
        Column::text("requirement"),
        Column::number("before"),
        Column::number("left"),
        Column::number("bits"),
    ]);
    let telling = steps.iter().filter(|step| step.left < step.before);
    for NarrowingStep { requirement, before, left, bits } in telling {
        let bits = bits.map_or_else(|| "all".to_owned(), |bits| fixed(bits, 2));
        table.row([requirement.clone(), before.to_string(), left.to_string(), bits]);
    }
    write!(out, "{table}")?;
    let idle = steps.iter().filter(|step| step.left == step.before);
    let idle: Vec<&str> = idle.map(|step| &*step.requirement).collect();
    if !idle.is_empty() {
        let text = format!("After these, nothing more is ruled out by {}.", idle.join(", "));
        writeln!(out, "{}", Paragraph { indent: 0, text: &text })?;
    }
    Ok(())
}

fn print_node(node: &SplitNode, indent: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(question) = &node.question else {
        let text = match node.schemes.len() {
            0 => "none".to_owned(),
            _ => node.schemes.join(", "),
        };
        writeln!(out, "{}", ListLine { indent: indent.len() + 2, text: &text })?;
        return Ok(());
    };
    let Split { requirement, gain, yes, no } = &**question;
    writeln!(out, "{indent}  {requirement}? ({} bits)", fixed(*gain, 2))?;
    for (answer, branch) in [("yes", yes), ("no", no)] {
        writeln!(out, "{indent}  {answer}: {}", branch.schemes.len())?;
        print_node(branch, &format!("{indent}    "), out)?;
    }
    Ok(())
}

const LEVELS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_share() {
        assert_eq!(tolerance(" 2.5"), Ok(2.5));
        for text in ["-1", "101", "NaN", "5%", ""] {
            assert!(tolerance(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_tree_is_printed_with_what_it_leads_to() {
        let leaf = |schemes: &[&str]| SplitNode {
            schemes: schemes.iter().map(|&id| id.to_owned()).collect(),
            question: None,
        };
        let split = Split {
            requirement: "trust.controller = false".to_owned(),
            gain: 1.0,
            yes: leaf(&["str", "tgdh"]),
            no: leaf(&["oft", "skdc"]),
        };
        let node = SplitNode {
            schemes: ["oft", "skdc", "str", "tgdh"].map(str::to_owned).to_vec(),
            question: Some(Box::new(split)),
        };
        let mut told = Vec::new();
        print_node(&node, "", &mut told).expect("memory takes it");
        let told = String::from_utf8(told).expect("it is text");
        assert_eq!(
            told,
            "  trust.controller = false? (1.00 bits)\n  yes: 2\n      str, tgdh\n  no: 2\n      oft, skdc\n"
        );
    }
}
