//! SPASS, a prover for first-order logic with equality by saturation (Debian's package `spass`).

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::model::{ModelQuestion, ProtocolModel, ProverAnswer};

/// What the prover says.
#[derive(Clone, Debug)]
pub struct ProverReport {
    /// The answer.
    pub answer: ProverAnswer,
    /// The whole output, with a proof if there is one.
    pub output: String,
}

/// Returns whether the prover starts.
pub fn is_installed() -> bool {
    Command::new(PROVER).stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok()
}

/// Asks a question about a model. Fails if the prover does not start, or stops before it has an answer.
pub fn ask(model: &ProtocolModel, question: &ModelQuestion) -> io::Result<ProverReport> {
    let mut prover = Command::new(PROVER)
        .args(["-TPTP", "-Stdin", "-DocProof", "-PGiven=0", "-PProblem=0"])
        .arg(format!("-TimeLimit={SECONDS}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // It reads all of it before it writes. The pipe is closed at the end of this statement.
    prover
        .stdin
        .take()
        .map_or(Ok(()), |mut input| input.write_all(model.problem(question).as_bytes()))?;
    let output = String::from_utf8_lossy(&prover.wait_with_output()?.stdout).into_owned();
    let follows = if output.contains("SPASS beiseite: Proof found.") {
        true
    } else if output.contains("SPASS beiseite: Completion found.") {
        false
    } else {
        return Err(io::Error::other(format!("no answer after at most {SECONDS} s: {output}")));
    };
    Ok(ProverReport { answer: ProverAnswer::of(follows, question.answer), output })
}

const PROVER: &str = "SPASS";

/// The time for one question. Each takes at most three.
const SECONDS: u32 = 120;
