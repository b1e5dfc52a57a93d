//! Asks the prover all questions about the models.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use groupkey_symbolic::{MODELS, ModelQuestion, ProtocolModel, ask, models};

/// Asks the prover SPASS all questions of docs/symbolic.md. Ends with 1 if an answer differs from the
/// recorded one.
#[derive(Debug, Parser)]
#[command(name = "groupkey-symbolic")]
struct Arguments {
    /// Only this model.
    #[arg(value_parser = MODELS)]
    model: Option<String>,
    /// Only questions with this conjecture, each with the prover's output.
    #[arg(requires = "model")]
    conjecture: Option<String>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut differs = false;
    for model in models() {
        if arguments.model.as_ref().is_some_and(|name| name != model.name) {
            continue;
        }
        let wanted = |question: &&ModelQuestion| {
            arguments.conjecture.as_ref().is_none_or(|wanted| *wanted == question.conjecture)
        };
        let mut answers = Vec::new();
        for question in model.questions.iter().filter(wanted) {
            let report = ask(&model, question)?;
            if arguments.conjecture.is_some() {
                println!("{}", report.output);
            }
            if report.answer != question.answer {
                eprintln!("error: {question}: {}, not {}", report.answer, question.answer);
                differs = true;
            }
            answers.push((question, report.answer));
        }
        println!("\n{}:\n\n{}", model.name, ProtocolModel::table(&answers));
    }
    Ok(if differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
