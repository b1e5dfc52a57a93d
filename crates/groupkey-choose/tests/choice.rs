//! Decisions on the evidence that ships.

use groupkey_choose::decision::Quantity;
use groupkey_choose::{Decision, Requirements, choose};

fn decide(change: impl FnOnce(&mut Requirements)) -> Decision {
    let mut requirements = Requirements::default();
    change(&mut requirements);
    choose(&requirements).expect("a group can have these")
}

#[test]
fn what_is_recommended_meets_the_requirements_and_costs_least() {
    let decision = decide(|requirements| {
        requirements.members.now = 400;
        requirements.limits.complete = Some(20_000.0);
        requirements.network.loss = 2.0;
    });
    let best = decision.recommended.as_ref().expect("something meets them");
    let completion = best.figure(Quantity::CompletionOf99).expect("it has one");
    assert!(completion.interval.1 <= 20_000.0, "{completion:?}");
    let others = decision.front.iter().chain(&decision.beaten);
    assert!(others.clone().all(|other| other.cost >= best.cost));
    assert!(others.clone().any(|other| other.candidate.variant.scheme == "lkh-group"));
    assert!(decision.out.iter().all(|out| !out.reasons.is_empty()));
    let is_known = |scheme: &str| {
        decision.out.iter().any(|out| out.scheme == scheme)
            || others.clone().any(|other| other.candidate.variant.scheme == scheme)
    };
    assert!(groupkey::catalogue::SCHEMES.iter().all(|scheme| is_known(scheme.id)));
}

#[test]
fn the_nearest_value_of_a_limit_lets_the_scheme_in() {
    let strict = |requirements: &mut Requirements| {
        requirements.members.now = 200;
        requirements.limits.received = Some(4_000.0);
    };
    let decision = decide(strict);
    let out = decision.out.iter().filter(|out| out.reasons.len() == 1);
    let mut tried = 0;
    for out in out.filter(|out| out.reasons[0].requirement == "limits.received") {
        let nearest = out.reasons[0].nearest.as_ref().expect("there is one");
        let again = decide(|requirements| {
            strict(requirements);
            requirements.limits.received = Some(nearest.parse().expect("a number"));
        });
        assert!(again.out.iter().all(|other| other.scheme != out.scheme), "{}", out.scheme);
        tried += 1;
    }
    assert!(tried > 3, "{tried}");
}

#[test]
fn without_a_controller_only_distributed_schemes_remain() {
    let decision = decide(|requirements| {
        requirements.members.now = 20;
        requirements.trust.controller = false;
    });
    let scheme = |id: &str| groupkey::catalogue::scheme(id).expect("it is in the catalogue");
    let remain = decision.front.iter().chain(&decision.beaten);
    assert!(remain.clone().count() > 0);
    assert!(remain.clone().all(|one| !scheme(&one.candidate.variant.scheme).has_controller()));
}

#[test]
fn where_the_answer_turns_another_one_holds() {
    let decision = decide(|requirements| requirements.members.now = 8);
    let own = &decision.recommended.as_ref().expect("something").candidate.variant.scheme;
    assert!(!decision.turns.is_empty());
    for turn in &decision.turns {
        let there = decide(|requirements| {
            requirements.members.now = 8;
            match turn.requirement.as_str() {
                "members.now" => requirements.members.now = turn.at as u32,
                "members.leaves" => requirements.members.leaves = turn.at,
                "network.loss" => requirements.network.loss = turn.at,
                _ => requirements.network.delay = turn.at,
            }
        });
        let other = there.recommended.map(|best| best.candidate.variant.scheme);
        assert_ne!(other.as_ref(), Some(own), "{turn:?}");
        assert_eq!(other, turn.instead.as_ref().map(|one| one.variant.scheme.clone()), "{turn:?}");
    }
}

#[test]
fn the_same_requirements_have_the_same_answer() {
    let once = decide(|requirements| requirements.members.now = 300);
    assert_eq!(once, decide(|requirements| requirements.members.now = 300));
}

#[test]
fn a_limit_of_flash_rules_out_what_is_larger_and_what_nobody_weighed() {
    let limited = |flash: f64| {
        decide(|requirements| {
            requirements.members.now = 20;
            requirements.limits.flash = Some(flash);
            requirements.security.active.clear();
        })
    };
    let decision = limited(50_000.0);
    let remain: Vec<_> = decision.front.iter().chain(&decision.beaten).collect();
    assert!(!remain.is_empty());
    for one in remain {
        let flash = one.figure(Quantity::Flash).expect("it was weighed");
        assert!(flash.value <= 50_000.0, "{one:?}");
    }
    let out = |decision: &Decision, scheme: &str| {
        decision.out.iter().find(|out| out.scheme == scheme).cloned()
    };
    let tgdh = out(&decision, "tgdh").expect("curves and signatures are larger");
    let reason = tgdh.reasons.iter().find(|reason| reason.requirement == "limits.flash");
    let nearest = reason.and_then(|reason| reason.nearest.clone()).expect("it was weighed");
    let eased = limited(nearest.parse().expect("a number"));
    let still = out(&eased, "tgdh").map(|out| out.reasons).unwrap_or_default();
    assert!(still.iter().all(|reason| reason.requirement != "limits.flash"), "{still:?}");
}

#[test]
fn flash_on_a_host_cannot_be_judged() {
    let mut requirements = Requirements::default();
    requirements.limits.flash = Some(50_000.0);
    requirements.devices.member = "host".to_owned();
    let told = choose(&requirements).expect_err("there is no ground").to_string();
    assert!(told.contains("limits.flash") && told.contains("devices.board"), "{told}");
}

#[test]
fn a_board_brings_the_limits_of_its_memory() {
    let on = |board: &str| {
        decide(|requirements| {
            requirements.members.now = 1_000;
            requirements.devices.board = Some(board.to_owned());
        })
    };
    let small = on("esp8266");
    let str = small.out.iter().find(|out| out.scheme == "str").expect("its tree is too large");
    let reason = str.reasons.iter().find(|reason| reason.requirement == "devices.board");
    let reason = reason.unwrap_or_else(|| panic!("{str:?}"));
    let nearest = reason.nearest.clone().expect("another board has room");
    let there = on(&nearest).out.into_iter().find(|out| out.scheme == "str");
    let reasons = there.map(|out| out.reasons).unwrap_or_default();
    assert!(reasons.iter().all(|reason| reason.requirement != "devices.board"), "{reasons:?}");
    // The board's clock and radio are priced, not the default device's.
    let energy = |decision: &Decision| {
        let best = decision.recommended.as_ref().expect("something fits");
        best.figure(Quantity::Energy).expect("it has one").value
    };
    assert!(energy(&small) != energy(&decide(|requirements| requirements.members.now = 1_000)));
}

#[test]
fn unknown_names_are_refused_with_the_names_that_there_are() {
    let mut requirements = Requirements::default();
    requirements.devices.member = "abacus".to_owned();
    let told = choose(&requirements).expect_err("there is none").to_string();
    assert!(told.contains("abacus") && told.contains("cortex-m4"), "{told}");
    let mut requirements = Requirements::default();
    requirements.devices.board = Some("breadboard".to_owned());
    let told = choose(&requirements).expect_err("there is none").to_string();
    assert!(told.contains("breadboard") && told.contains("esp32-c3"), "{told}");
    let mut requirements = Requirements::default();
    requirements.security.active = vec!["beauty".to_owned()];
    let told = choose(&requirements).expect_err("there is none").to_string();
    assert!(told.contains("beauty") && told.contains("forward-secrecy"), "{told}");
}
