//! An orchestrator that decides which scheme a group of sensors runs: requirements in, a decision
//! out, without I/O.

use groupkey_choose::requirements::Sleep;
use groupkey_choose::{ChooseError, Requirements, choose};

pub(crate) fn main() -> Result<(), ChooseError> {
    let mut requirements = Requirements::default();
    requirements.members.now = 250;
    requirements.members.leaves = 4.0;
    requirements.network.loss = 2.0;
    requirements.limits.complete = Some(5_000.0);
    requirements.presence.sleep = Sleep::CatchUp;

    let decision = choose(&requirements)?;
    match &decision.recommended {
        Some(best) => println!("run {}: it costs {:.2} a day", best.candidate, best.cost),
        None => println!("no scheme meets the requirements"),
    }
    for turn in &decision.turns {
        match &turn.instead {
            Some(other) => println!("from {} = {} on {other}", turn.requirement, turn.at),
            None => println!("from {} = {} on none", turn.requirement, turn.at),
        }
    }
    for out in &decision.out {
        for reason in &out.reasons {
            println!("{} is out: {} {}", out.scheme, reason.requirement, reason.required);
        }
    }
    Ok(())
}
