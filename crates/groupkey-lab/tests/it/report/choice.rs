//! The page of a choice.

use std::collections::BTreeMap;

use groupkey_choose::decision::{
    Assessment, Candidate, Decision, ExcludedScheme, Figure, GivenUp, Ground, Quantity, Reason,
    TippingPoint, Variant,
};
use groupkey_choose::requirements::Requirements;
use groupkey_lab::choose::winner_maps::{Map, MapKind, Winner, map};
use groupkey_lab::report::{Choice, render_choice};

use super::{HOSTILE, checked, shown};

#[test]
fn names_are_text_and_the_data_are_the_decision() {
    let data = checked(&page(&decision()));
    assert_eq!(data["decision"]["out"][0]["scheme"], HOSTILE);
    assert_eq!(data["requirements"]["members"]["now"], 300);
}

#[test]
fn every_candidate_of_the_front_has_a_section_and_every_cell_a_winner() {
    let decision = decision();
    let page = page(&decision);
    assert_eq!(
        page.matches("<details class=\"fold\" id=\"candidate-").count(),
        decision.front.len()
    );
    let cells: usize = maps().iter().map(|map| map.winners.len()).sum();
    assert_eq!(page.matches("<g class='mark cell ").count(), cells);
    assert_eq!(page.matches("<rect class='present'").count(), 2);
    assert!(page.contains("nothing meets the requirements"));
    for told in [
        "above 1,400 members take",
        "groupkey bench --scheme skdc --members 300",
        "it needs limits.complete = 430",
        "now = 300",
    ] {
        assert!(page.contains(told), "the page lacks {told}");
    }
}

#[test]
fn a_report_without_a_recommendation_still_renders() {
    let mut none = decision();
    (none.recommended, none.front, none.beaten) = (None, Vec::new(), Vec::new());
    none.turns = Vec::new();
    let page = page(&none);
    checked(&page);
    assert!(page.contains("Nothing meets the requirements"));
    let mut zeros = decision();
    for figure in zeros.front.iter_mut().flat_map(|one| &mut one.figures) {
        (figure.value, figure.interval) = (0.0, (0.0, 0.0));
    }
    checked(&self::page(&zeros));
}

#[test]
fn a_browser_shows_it() {
    shown("choice", &page(&decision()));
}

fn page(decision: &Decision) -> String {
    let requirements = requirements();
    let maps = maps();
    render_choice(&Choice {
        requirements: &requirements,
        decision,
        maps: &maps,
        commit: "0123456789ab",
    })
}

fn requirements() -> Requirements {
    let mut requirements = Requirements::default();
    requirements.members.now = 300;
    requirements.members.most = 500;
    requirements
}

fn maps() -> [Map; 2] {
    MapKind::ALL.map(|kind| map(kind, &requirements(), 2, &winner))
}

fn winner(requirements: &Requirements) -> Option<Winner> {
    let (members, loss) = (requirements.members.now, requirements.network.loss);
    let (scheme, degree) = match members {
        _ if requirements.network.delay > 900.0 || members > 6_000 => return None,
        _ if loss > 5.0 => ("igkmp", None),
        0..30 => ("skdc", None),
        30..200 => ("lkh-group", Some(4)),
        200..900 => ("lkh-group", Some(8)),
        _ => ("ofct", None),
    };
    let cost = f64::from(members) * requirements.members.leaves;
    Some(Winner { candidate: candidate(scheme, degree), cost, is_extrapolated: members > 4_000 })
}

fn decision() -> Decision {
    let assessment = |scheme: &str, degree, cost: f64, time: f64| Assessment {
        candidate: candidate(scheme, degree),
        cost,
        error: 0.04,
        figures: Quantity::ALL
            .into_iter()
            .enumerate()
            .map(|(place, quantity)| {
                let is_time = matches!(quantity, Quantity::Completion | Quantity::CompletionOf99);
                let value = if is_time { time } else { cost * (place + 1) as f64 };
                Figure {
                    quantity,
                    value,
                    interval: if is_time { (value * 0.9, value * 1.15) } else { (value, value) },
                    ground: if is_time { Ground::Fitted } else { Ground::Modelled },
                    is_extrapolated: scheme == "ofct",
                }
            })
            .collect(),
    };
    let front = vec![
        assessment("lkh-group", Some(8), 1.52, 430.0),
        assessment("lkh-group", Some(4), 1.71, 410.0),
        assessment("ofct", None, 2.4, 320.0),
        assessment("skdc", None, 14.0, 190.0),
    ];
    let beaten = (1..40).map(|k| {
        let k = f64::from(k);
        assessment("lkh-user", None, 2.0 + k * 0.7, 450.0 + 3_000.0 / k)
    });
    let reason = |requirement: &str, nearest: Option<&str>| Reason {
        requirement: requirement.into(),
        required: "at most 200 ms".into(),
        has: "430 ms".into(),
        nearest: nearest.map(str::to_owned),
    };
    Decision {
        recommended: Some(front[0].clone()),
        equals: front[..2].iter().map(|one| one.candidate.clone()).collect(),
        given_up: vec![GivenUp::at_least_once()],
        beaten: beaten.collect(),
        out: vec![
            ExcludedScheme {
                candidate: Some(candidate(HOSTILE, None)),
                scheme: HOSTILE.into(),
                reasons: vec![reason("limits.complete", Some("430"))],
            },
            ExcludedScheme {
                candidate: None,
                scheme: "tgdh".into(),
                reasons: vec![reason("limits.complete", Some("430")), reason("x", None)],
            },
        ],
        turns: vec![TippingPoint {
            requirement: "members.now".into(),
            at: 1_400.0,
            is_above: true,
            instead: Some(candidate("ofct", None)),
        }],
        front,
        ..Decision::default()
    }
}

fn candidate(scheme: &str, degree: Option<u32>) -> Candidate {
    let parameters: BTreeMap<String, u32> =
        degree.into_iter().map(|degree| ("degree".to_owned(), degree)).collect();
    let (suite, guard) = ("constrained".to_owned(), "signature".to_owned());
    Candidate { variant: Variant { scheme: scheme.to_owned(), parameters, suite, guard }, qos: 1 }
}
