//! Models and the questions about them, as their files have them.

use std::fmt::{self, Write as _};

/// The names of the models.
pub const MODELS: [&str; 3] = ["join", "rekey", "messages"];

/// A protocol.
#[derive(Clone, Debug)]
pub struct ProtocolModel {
    /// Its name, one of [`MODELS`].
    pub name: &'static str,
    /// What is asked about it, in the order of its file.
    pub questions: Vec<ModelQuestion>,
    formulas: Vec<Formula>,
}

/// A question about a model or a change of it, with the answer that is recorded in the file.
#[derive(Clone, Debug)]
pub struct ModelQuestion {
    /// The conjecture: what would have to follow.
    pub conjecture: String,
    /// The recorded answer.
    pub answer: ProverAnswer,
    /// The claim, which an attack refutes.
    claim: String,
    /// Where it should hold.
    condition: String,
    /// Axioms that are left out.
    without: Vec<String>,
    /// Hypotheses that are taken in.
    with: Vec<String>,
}

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProverAnswer {
    /// What must not be follows: an adversary can do it.
    Attack,
    /// What must not be does not follow.
    Proven,
    /// What should be possible follows: the model is not empty.
    Reached,
}

#[derive(Clone, Debug)]
struct Formula {
    name: String,
    role: Role,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Axiom,
    Conjecture,
    /// Part of the model only where a question takes it in.
    Hypothesis,
}

/// Reads all models. They are part of this program.
///
/// # Panics
///
/// If a file is malformed.
pub fn models() -> Vec<ProtocolModel> {
    const TEXTS: [&str; 3] = [
        include_str!("../models/join.p"),
        include_str!("../models/rekey.p"),
        include_str!("../models/messages.p"),
    ];
    let read = |(name, text)| {
        ProtocolModel::read(name, text).unwrap_or_else(|why| panic!("{name}: {why}"))
    };
    MODELS.into_iter().zip(TEXTS).map(read).collect()
}

impl ProtocolModel {
    fn read(name: &'static str, text: &str) -> Result<Self, String> {
        let mut formulas = Formula::read_all(include_str!("../models/adversary.p"))?;
        formulas.extend(Formula::read_all(text)?);
        let mut questions = Vec::new();
        let mut claimed = None;
        for line in text.lines().filter_map(|line| line.strip_prefix("%% ")) {
            match (line.trim_start().strip_prefix('|'), claimed) {
                (Some(line), Some(claim)) => questions.push(ModelQuestion::read(claim, line)?),
                _ => {
                    claimed =
                        Some(line.split_once(": ").ok_or_else(|| format!("no claim: {line}"))?)
                }
            }
        }
        let model = Self { name, questions, formulas };
        model.questions.iter().try_for_each(|question| model.require_names_of(question))?;
        Ok(model)
    }

    /// Returns a question as a problem in the TPTP language.
    pub fn problem(&self, question: &ModelQuestion) -> String {
        let takes_part = |formula: &&Formula| match formula.role {
            Role::Axiom => !question.without.contains(&formula.name),
            Role::Conjecture => formula.name == question.conjecture,
            Role::Hypothesis => question.with.contains(&formula.name),
        };
        self.formulas.iter().filter(takes_part).map(|formula| &*formula.text).collect()
    }

    /// Returns questions and answers as a table in Markdown.
    pub fn table(answers: &[(&ModelQuestion, ProverAnswer)]) -> String {
        let mut table = "| claim | where | answer |\n|---|---|---|\n".to_owned();
        let mut last = "";
        for (question, answer) in answers {
            // Each claim is said once.
            let claim = if question.claim == last { "" } else { &*question.claim };
            let _ = writeln!(table, "| {claim} | {} | {answer} |", question.condition);
            last = &question.claim;
        }
        table
    }

    /// A misspelt name would silently ask another question.
    fn require_names_of(&self, question: &ModelQuestion) -> Result<(), String> {
        let named = |role, name: &String| (role, name.clone());
        let mut names = vec![named(Role::Conjecture, &question.conjecture)];
        names.extend(question.without.iter().map(|name| named(Role::Axiom, name)));
        names.extend(question.with.iter().map(|name| named(Role::Hypothesis, name)));
        for (role, name) in names {
            let there = self.formulas.iter().filter(|formula| formula.name == name);
            let there: Vec<_> = there.map(|formula| formula.role).collect();
            if there != [role] {
                return Err(format!("{question}: {name} should be one {role:?}: {there:?}"));
            }
        }
        Ok(())
    }
}

impl ModelQuestion {
    /// Reads `answer | -axiom +hypothesis | condition`.
    fn read((conjecture, claim): (&str, &str), line: &str) -> Result<Self, String> {
        let parts: Vec<_> = line.split('|').map(str::trim).collect();
        let [answer, changes, condition] = parts[..] else {
            return Err(format!("three parts are needed: {line}"));
        };
        let answer = ProverAnswer::ALL.into_iter().find(|known| known.to_string() == answer);
        let changed = |sign| {
            let names = changes.split(' ').filter_map(move |change| change.strip_prefix(sign));
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let (without, with) = (changed('-'), changed('+'));
        if without.len() + with.len() != changes.split_whitespace().count() {
            return Err(format!("a change begins with - or +: {line}"));
        }
        Ok(Self {
            conjecture: conjecture.to_owned(),
            answer: answer.ok_or_else(|| format!("an answer is needed: {line}"))?,
            claim: claim.to_owned(),
            condition: condition.to_owned(),
            without,
            with,
        })
    }
}

impl fmt::Display for ModelQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.claim, self.condition)
    }
}

impl ProverAnswer {
    const ALL: [Self; 3] = [Self::Attack, Self::Proven, Self::Reached];

    /// Returns the answer of a proof, or of the end of a search for one.
    pub(crate) fn of(follows: bool, expected: Self) -> Self {
        match (follows, expected) {
            (false, _) => Self::Proven,
            (true, Self::Reached) => Self::Reached,
            (true, _) => Self::Attack,
        }
    }
}

impl fmt::Display for ProverAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attack => "attack",
            Self::Proven => "proven",
            Self::Reached => "reached",
        })
    }
}

impl Formula {
    /// Reads formulas of the form `fof(name, role, ...).`, each of which ends a line.
    fn read_all(text: &str) -> Result<Vec<Self>, String> {
        let lines = text.lines().filter(|line| !line.starts_with('%') && !line.is_empty());
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        text.split_inclusive(").\n").map(Self::read).collect()
    }

    fn read(text: &str) -> Result<Self, String> {
        let parts = || {
            let (name, rest) = text.strip_prefix("fof(")?.split_once(", ")?;
            let role = match rest.split_once(',')?.0 {
                "axiom" => Role::Axiom,
                "conjecture" => Role::Conjecture,
                "hypothesis" => Role::Hypothesis,
                _ => return None,
            };
            Some(Self { name: name.to_owned(), role, text: text.to_owned() })
        };
        parts().ok_or_else(|| format!("not a formula: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "%% goal: words\n%%   | attack | -rule +weaker | where\n\
        fof(rule, axiom, a).\n\nfof(weaker, hypothesis,\n    b).\nfof(goal, conjecture, c).\n";

    #[test]
    fn a_question_changes_the_model_as_it_says() {
        let model = ProtocolModel::read("join", TEXT).unwrap();
        let problem = model.problem(&model.questions[0]);
        assert!(problem.contains("fof(keeps, axiom") && !problem.contains("rule"));
        assert!(problem.ends_with("fof(weaker, hypothesis,\n    b).\nfof(goal, conjecture, c).\n"));
    }

    #[test]
    fn a_misspelt_question_is_refused() {
        assert!(ProtocolModel::read("join", TEXT).is_ok());
        for (right, wrong) in [
            ("-rule", "-rul"),
            ("+weaker", "+rule"),
            ("-rule", "rule"),
            ("goal:", "gaol:"),
            ("%% goal: words\n", ""),
            ("attack", "atack"),
            ("| where", ""),
            ("fof(weaker", "fof(rule"),
            ("hypothesis", "hypothetical"),
        ] {
            assert!(
                ProtocolModel::read("join", &TEXT.replacen(right, wrong, 1)).is_err(),
                "{wrong}"
            );
        }
    }
}
