//! Which question decides first: yes-or-no requirements, by how far they narrow the schemes down.
//!
//! A question has an answer for each scheme: whether some candidate of it meets the requirement, with
//! the members, devices and network of the group. [`order`] takes the requirements that were asked for,
//! each time the one that leaves the fewest schemes. [`first_splits`] is the top of a decision tree over
//! all questions: each node asks what tells most about an unknown scheme, as ID3 does (Quinlan 1986).
//! All schemes are equally likely there, so a question tells most if half of them say yes.

mod asked;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::asked::{open, questions_about};
use crate::assessment::Grounds;
use crate::choice::{ChooseError, contenders_on, decide_on};
use crate::decision::Variant;
use crate::exclusion::by_nature;
use crate::registry;
use crate::requirements::Requirements;

/// A requirement that a scheme meets or does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeQuestion {
    /// The requirement, as it would stand in a file: `trust.controller = false`.
    pub requirement: String,
    /// The schemes of which some candidate meets it.
    pub schemes: BTreeSet<String>,
    /// Whether the requirements of the group have it.
    pub is_asked: bool,
}

/// All questions, and the schemes that meet nothing more than the group's size, churn and devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionList {
    /// The schemes.
    pub schemes: BTreeSet<String>,
    /// The questions.
    pub questions: Vec<SchemeQuestion>,
}

/// A requirement in the order in which requirements narrow the field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NarrowingStep {
    /// The requirement.
    pub requirement: String,
    /// Schemes that meet all before it.
    pub before: usize,
    /// Those of them that meet it, too.
    pub left: usize,
    /// What it tells: the logarithm to base 2 of how many times fewer are left; absent if none is.
    pub bits: Option<f64>,
}

/// A node of a decision tree, and its branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SplitNode {
    /// Schemes that come here.
    pub schemes: Vec<String>,
    /// What is asked here; absent in a leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<Split>>,
}

/// A question of a decision tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Split {
    /// The requirement.
    pub requirement: String,
    /// The information gain (bits): what its answer tells on average about which scheme it is.
    pub gain: f64,
    /// The schemes that meet it.
    pub yes: SplitNode,
    /// The others.
    pub no: SplitNode,
}

/// Asks every question about every scheme, for the group of these requirements.
pub fn ask(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<QuestionList, ChooseError> {
    let open = open(&requirements.as_modelled());
    let counted: BTreeSet<Variant> =
        contenders_on(&open, grounds)?.into_iter().map(|one| one.candidate.variant).collect();
    let meeting_by_nature = |asked: &Requirements| {
        let known = grounds.evidence.known().iter();
        let meets = known.filter(|known| counted.contains(&known.variant)).filter(|known| {
            registry::scheme(&known.variant.scheme)
                .is_some_and(|scheme| by_nature(asked, scheme, known).is_empty())
        });
        meets.map(|known| known.variant.scheme.clone()).collect()
    };
    let mut questions = Vec::new();
    for (requirement, is_asked, asked) in questions_about(requirements, &open, grounds) {
        // Only a limit depends on figures, which take far longer.
        let schemes = match asked.limits == open.limits {
            true => meeting_by_nature(&asked),
            false => meeting(&asked, grounds)?,
        };
        questions.push(SchemeQuestion { requirement, schemes, is_asked });
    }
    Ok(QuestionList { schemes: meeting_by_nature(&open), questions })
}

/// Returns the questions that were asked for, each time the one that leaves the fewest schemes of those
/// that are left. What leaves as many as before comes last, as asked.
pub fn order(list: &QuestionList) -> Vec<NarrowingStep> {
    let mut left = list.schemes.clone();
    let mut questions: Vec<&SchemeQuestion> =
        list.questions.iter().filter(|one| one.is_asked).collect();
    let mut steps = Vec::new();
    while !questions.is_empty() {
        let count = |question: &&SchemeQuestion| left.intersection(&question.schemes).count();
        let (place, _) = questions
            .iter()
            .enumerate()
            .min_by_key(|(_, question)| count(question))
            .expect("there is a question");
        let question = questions.remove(place);
        let before = left.len();
        left = left.intersection(&question.schemes).cloned().collect();
        let share = left.len() as f64 / before.max(1) as f64;
        steps.push(NarrowingStep {
            requirement: question.requirement.clone(),
            before,
            left: left.len(),
            bits: (share > 0.0).then(|| -share.log2() + 0.0),
        });
    }
    steps
}

/// Returns the first questions of a decision tree over all schemes, so many levels deep. A node whose
/// questions tell nothing any more is a leaf.
pub fn first_splits(list: &QuestionList, depth: usize) -> SplitNode {
    split(list.schemes.clone(), &list.questions, depth)
}

fn split(schemes: BTreeSet<String>, questions: &[SchemeQuestion], depth: usize) -> SplitNode {
    let mut best: Option<(f64, &SchemeQuestion)> = None;
    for question in questions {
        let yes = schemes.intersection(&question.schemes).count();
        let gain = gain(yes, schemes.len());
        // The first of several that tell the same is asked.
        if gain > best.map_or(LEAST, |(most, _)| most + LEAST) {
            best = Some((gain, question));
        }
    }
    let question = best.filter(|_| depth > 0).map(|(gain, question)| {
        let (yes, no): (BTreeSet<String>, BTreeSet<String>) =
            schemes.iter().cloned().partition(|scheme| question.schemes.contains(scheme));
        Box::new(Split {
            requirement: question.requirement.clone(),
            gain,
            yes: split(yes, questions, depth - 1),
            no: split(no, questions, depth - 1),
        })
    });
    SplitNode { schemes: schemes.into_iter().collect(), question }
}

/// Returns the information gain of a question to which so many of all answer yes (bits).
fn gain(yes: usize, all: usize) -> f64 {
    let part = |count: usize| match count {
        0 => 0.0,
        count => {
            let share = count as f64 / all as f64;
            -share * share.log2()
        }
    };
    part(yes) + part(all - yes)
}

/// Gains that differ by less are the same.
const LEAST: f64 = 1e-9;

fn meeting(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<BTreeSet<String>, ChooseError> {
    let decision = decide_on(requirements, grounds)?;
    let all = decision.front.into_iter().chain(decision.beaten);
    Ok(all.map(|one| one.candidate.variant.scheme).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::{EXAMPLES, RequirementsDraft};

    fn list(all: &str, questions: &[(&str, &str, bool)]) -> QuestionList {
        let set = |letters: &str| letters.chars().map(String::from).collect::<BTreeSet<_>>();
        let question = |(requirement, schemes, is_asked): &(&str, &str, bool)| SchemeQuestion {
            requirement: (*requirement).to_owned(),
            schemes: set(schemes),
            is_asked: *is_asked,
        };
        QuestionList { schemes: set(all), questions: questions.iter().map(question).collect() }
    }

    #[test]
    fn the_strictest_requirement_comes_first() {
        let list = list(
            "abcdefgh",
            &[
                ("all", "abcdefgh", true),
                ("half", "abcd", true),
                ("unasked", "a", false),
                ("quarter", "ae", true),
            ],
        );
        let told: Vec<_> = order(&list)
            .into_iter()
            .map(|step| (step.requirement, step.before, step.left, step.bits))
            .collect();
        assert_eq!(
            told,
            [
                ("quarter".to_owned(), 8, 2, Some(2.0)),
                ("half".to_owned(), 2, 1, Some(1.0)),
                ("all".to_owned(), 1, 1, Some(0.0)),
            ]
        );
    }

    #[test]
    fn what_nothing_meets_ends_the_narrowing_but_not_the_list() {
        let list = list("ab", &[("none", "", true), ("one", "a", true)]);
        let told: Vec<_> = order(&list).into_iter().map(|step| (step.left, step.bits)).collect();
        assert_eq!(told, [(0, None), (0, None)]);
    }

    #[test]
    fn a_tree_asks_first_what_splits_in_halves() {
        let list = list("abcd", &[("one", "a", false), ("two", "ab", false), ("odd", "ac", false)]);
        let tree = first_splits(&list, 2);
        let first = tree.question.expect("something is asked");
        assert_eq!((&*first.requirement, first.gain), ("two", 1.0));
        let second = first.yes.question.expect("something is asked");
        assert_eq!((&*second.requirement, second.yes.schemes), ("one", vec!["a".to_owned()]));
        assert_eq!(first.no.schemes, ["c", "d"]);
        assert_eq!(first_splits(&list, 0).question, None);
    }

    #[test]
    fn what_tells_nothing_is_not_asked() {
        let tree = first_splits(&list("ab", &[("all", "ab", true), ("none", "", true)]), 3);
        assert_eq!(tree.question, None);
        assert_eq!(first_splits(&list("", &[]), 3).schemes, Vec::<String>::new());
    }

    #[test]
    fn a_gain_is_largest_at_one_half() {
        assert_eq!((gain(0, 8), gain(8, 8), gain(4, 8)), (0.0, 0.0, 1.0));
        assert!((gain(1, 8) - 0.543_564_443_199_596).abs() < 1e-12);
    }

    /// On the evidence that ships: what is asked narrows down to those that are left.
    #[test]
    fn what_meets_all_is_what_the_order_leaves_or_less() {
        let grounds = Grounds::shipped();
        for (name, text) in EXAMPLES {
            let draft = RequirementsDraft::parse(text, name.as_ref(), &());
            let requirements = draft.and_then(|draft| draft.finish()).expect("an example");
            let list = ask(&requirements, &grounds).expect("an example can be asked about");
            let steps = order(&list);
            assert!(list.schemes.len() > 10, "{name}: {}", list.schemes.len());
            assert!(steps.windows(2).all(|pair| pair[0].left == pair[1].before), "{name}");
            // One candidate must meet all, and not one of the scheme's for each requirement.
            let meets = meeting(&requirements.as_modelled(), &grounds).expect("an example");
            let left = steps.last().map_or(0, |step| step.left);
            assert!(meets.len() <= left, "{name}: {} of {left}", meets.len());
            let first = first_splits(&list, 1).question.expect("schemes differ");
            assert!(first.gain > 0.5, "{name}: {first:?}");
        }
    }
}
