//! The questions about one group: each is its requirements without any, and one of them added.

use crate::assessment::Grounds;
use crate::requirements::{Limits, Members, Presence, Requirements, Security, Sleep, Trust};

/// Returns the same group without any requirement that a question is about.
pub(super) fn open(requirements: &Requirements) -> Requirements {
    Requirements {
        members: Members { most: 0, rekeys: 0.0, lifetime: 0.01, ..requirements.members },
        trust: Trust { controller: true, gateways: u32::MAX, gateways_know_the_key: true },
        security: Security {
            passive: Vec::new(),
            active: Vec::new(),
            guard: None,
            bits: 0,
            post_quantum: false,
            stand_ins: true,
        },
        limits: Limits::default(),
        presence: Presence::default(),
        ..requirements.clone()
    }
}

/// Returns each question: as it would stand in a file, whether it is asked, and the open requirements
/// with it alone.
pub(super) fn questions_about(
    asked: &Requirements,
    open: &Requirements,
    grounds: &Grounds<'_>,
) -> Vec<(String, bool, Requirements)> {
    let mut questions = Vec::new();
    let mut question = |words: String, is_asked: bool, change: &dyn Fn(&mut Requirements)| {
        let mut one = open.clone();
        change(&mut one);
        questions.push((words, is_asked, one));
    };
    let Requirements { members, trust, security, limits, presence, .. } = asked;
    question("trust.controller = false".to_owned(), !trust.controller, &|one| {
        one.trust.controller = false;
    });
    question(
        format!("trust.gateways = {}", trust.gateways.min(NONE)),
        trust.gateways < NONE,
        &|one| {
            one.trust.gateways = trust.gateways.min(NONE);
        },
    );
    question(
        "trust.gateways-know-the-key = false".to_owned(),
        !trust.gateways_know_the_key,
        &|one| one.trust.gateways_know_the_key = false,
    );
    let mut claims: Vec<&str> =
        grounds.evidence.known().iter().flat_map(|known| &known.confirmed).map(|c| &**c).collect();
    claims.sort_unstable();
    claims.dedup();
    // What is true against who sends, too, is the stricter question.
    for (adversary, required) in [("passive", &security.passive), ("active", &security.active)] {
        let of = claims.iter().filter_map(|claim| claim.split_once('/'));
        for (_, claim) in of.filter(|(name, _)| *name == adversary) {
            let is_asked = required.iter().any(|known| known == claim);
            question(format!("security.{adversary} = [\"{claim}\"]"), is_asked, &|one| {
                let list = match adversary {
                    "passive" => &mut one.security.passive,
                    _ => &mut one.security.active,
                };
                list.push(claim.to_owned());
            });
        }
    }
    question("security.post-quantum = true".to_owned(), security.post_quantum, &|one| {
        one.security.post_quantum = true;
    });
    question("security.stand-ins = false".to_owned(), !security.stand_ins, &|one| {
        one.security.stand_ins = false;
    });
    question(format!("security.bits = {}", security.bits), security.bits > 0, &|one| {
        one.security.bits = security.bits;
    });
    for (name, sleep) in [("catch-up", Sleep::CatchUp), ("heal", Sleep::Heal)] {
        let is_asked = presence.sleep == sleep;
        question(format!("presence.sleep = \"{name}\""), is_asked, &|one| {
            one.presence.sleep = sleep
        });
    }
    question("presence.splits = true".to_owned(), presence.splits, &|one| {
        one.presence.splits = true
    });
    let rekeys = if members.rekeys > 0.0 { members.rekeys } else { 1.0 };
    question(format!("members.rekeys = {rekeys}"), members.rekeys > 0.0, &|one| {
        one.members.rekeys = rekeys;
    });
    if members.most > members.now {
        question(format!("members.most = {}", members.most), true, &|one| {
            one.members.most = members.most;
        });
    }
    question(format!("members.lifetime = {}", members.lifetime), true, &|one| {
        one.members.lifetime = members.lifetime;
    });
    if let Some(guard) = &security.guard {
        question(format!("security.guard = \"{guard}\""), true, &|one| {
            one.security.guard = Some(guard.clone());
        });
    }
    type Limit = fn(&mut Limits) -> &mut Option<f64>;
    let each: [(&str, Option<f64>, Limit); 8] = [
        ("complete", limits.complete, |limits| &mut limits.complete),
        ("sent", limits.sent, |limits| &mut limits.sent),
        ("received", limits.received, |limits| &mut limits.received),
        ("energy", asked.energy_limit(), |limits| &mut limits.energy),
        ("keys", limits.keys, |limits| &mut limits.keys),
        ("flash", limits.flash, |limits| &mut limits.flash),
        ("memory", limits.memory, |limits| &mut limits.memory),
        ("message", limits.message, |limits| &mut limits.message),
    ];
    for (name, limit, of) in each {
        if let Some(limit) = limit {
            question(format!("limits.{name} = {limit}"), true, &|one| {
                *of(&mut one.limits) = Some(limit);
            });
        }
    }
    questions
}

/// So many gateways rule no scheme out.
const NONE: u32 = 1_000_000;
