//! The prover's answers are the recorded ones, and the page has them. Needs SPASS; without it, the tests
//! say so and pass, unless `GROUPKEY_REQUIRE_ALL` is set.

use std::collections::BTreeSet;
use std::env;

use groupkey_symbolic::{ProtocolModel, ProverAnswer, ask, is_installed, models};

#[test]
fn joining_is_as_recorded() {
    all_answers_are_as_recorded("join");
}

#[test]
fn rekeying_is_as_recorded() {
    all_answers_are_as_recorded("rekey");
}

#[test]
fn messages_are_as_recorded() {
    all_answers_are_as_recorded("messages");
}

/// What is never broken might not be asked at all.
#[test]
fn each_proven_conjecture_has_an_attack_on_a_weaker_form() {
    for model in models() {
        let with = |answer| {
            let questions =
                model.questions.iter().filter(move |question| question.answer == answer);
            questions.map(|question| &question.conjecture).collect::<BTreeSet<_>>()
        };
        assert_eq!(with(ProverAnswer::Proven), with(ProverAnswer::Attack), "{}", model.name);
        assert_eq!(with(ProverAnswer::Reached).len(), 1, "{}", model.name);
    }
}

#[test]
fn the_page_has_all_answers() {
    let page = include_str!("../../../docs/symbolic.md");
    for model in models() {
        let answers: Vec<_> =
            model.questions.iter().map(|question| (question, question.answer)).collect();
        let table = ProtocolModel::table(&answers);
        assert!(page.contains(&table), "{table}");
    }
}

fn all_answers_are_as_recorded(name: &str) {
    if !is_installed() {
        let missing = "SPASS is not installed: apt-get install spass";
        assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
        println!("skipped: {missing}");
        return;
    }
    let models = models();
    let model = models.iter().find(|model| model.name == name).expect("it is there");
    for question in &model.questions {
        let report = ask(model, question).expect("the prover has an answer");
        assert_eq!(report.answer, question.answer, "{question}");
    }
}
