//! The studies of what single parties compute: their plans run, all their findings are decided, and
//! what does not depend on the machine comes out as it should.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use groupkey_lab::bench::{
    self, BenchHeader, BenchOptions, BenchOutcome, BenchPlan, BenchRow, HostPrices,
};
use groupkey_lab::device::measure::Effort;
use groupkey_lab::report::{Overview, overview, render};
use groupkey_lab::verdict::Outcome;
use groupkey_reproduce::expectations::{ClaimEntry, differences, expected};
use groupkey_reproduce::{Study, StudyExtent, StudyResult, network_impact, studies};
use groupkey_testkit::sample;

const HASTE: Effort = Effort { batches: 1, batch: Duration::from_micros(20) };

fn measured(study: &Study, most_members: u32) -> Vec<BenchRow> {
    run(study, &study.plans(StudyExtent::Quick, Some(2), most_members, 1))
}

fn run(study: &Study, plans: &[BenchPlan]) -> Vec<BenchRow> {
    let units = bench::units(plans);
    let mut rows = Vec::new();
    let options = BenchOptions {
        stop: &AtomicBool::new(false),
        on_progress: &|_, _| (),
        on_refusal: &|_, _, _| (),
    };
    let outcome = bench::run(&units, &mut HostPrices::new(HASTE), &options, &mut |new| {
        rows.extend_from_slice(new);
        Ok(())
    });
    assert_eq!(outcome.expect("the plans run"), BenchOutcome::Finished, "{}", study.id);
    rows
}

fn named(id: &str) -> &'static Study {
    Study::named(id).expect("there is such a study")
}

fn outcome(examination: &StudyResult, id: &str) -> Outcome {
    let verdict = examination.verdicts.iter().find(|verdict| verdict.id == id);
    verdict.unwrap_or_else(|| panic!("no {id}")).outcome
}

#[test]
fn every_plan_is_valid_in_both_extents() {
    for study in studies() {
        for extent in [StudyExtent::Full, StudyExtent::Quick] {
            let plans = study.plans(extent, None, u32::MAX, 1);
            assert!(!plans.is_empty());
            for plan in &plans {
                assert_eq!(plan.validate(), Ok(()), "{}, {}", study.id, plan.scheme.id);
                assert_eq!(plan.fitting().count(), plan.members.len(), "{}", plan.scheme.id);
            }
        }
    }
}

#[test]
fn sizes_rankings_and_features_that_no_machine_changes() {
    let tgdh = named("tgdh").examine(&measured(named("tgdh"), 4));
    assert_eq!(outcome(&tgdh, "tree_size"), Outcome::HoldsEverywhere);
    assert_eq!(tgdh.published.len(), 4);
    assert!(tgdh.published.iter().all(|value| value.modelled.is_some_and(f64::is_finite)));

    let nishat = named("nishat").examine(&[]);
    for (id, expected) in [
        ("public_key_pk", Outcome::HoldsEverywhere),
        ("ciphertext", Outcome::HoldsEverywhere),
        // The price of a power was solved from it.
        ("group_update", Outcome::Circular),
        ("updates_a_joule", Outcome::Circular),
        // Another sum, and other algorithms.
        ("decryption_parameters", Outcome::NotComparable),
        ("encryption", Outcome::NotComparable),
        ("decryption_over_encryption", Outcome::NotComparable),
    ] {
        assert_eq!(outcome(&nishat, id), expected, "{id}");
    }
    // Without rows nothing is said of what rows tell.
    for id in ["gamma_for_each_member", "constant_update"] {
        assert_eq!(outcome(&nishat, id), Outcome::NotDecidable, "{id}");
    }

    let centralized = named("centralized").examine(&measured(named("centralized"), 25));
    assert_eq!(outcome(&centralized, "requirements_create_operational"), Outcome::HoldsEverywhere);
    assert_eq!(
        outcome(&centralized, "controller_temporary_storage_grows"),
        Outcome::HoldsEverywhere
    );
    assert_eq!(outcome(&centralized, "features_size"), Outcome::HoldsEverywhere);
    let permanent = outcome(&centralized, "controller_permanent_storage_ascending");
    assert_eq!(permanent, Outcome::NotComparable);
}

#[test]
fn gamma_grows_by_159_bits_a_member() {
    // What the controller broadcasts does not depend on repetitions.
    let study = named("nishat");
    let mut rows = measured(study, 50);
    let mut larger = rows.clone();
    for row in &mut larger {
        row.members = 550;
        row.broadcast.payload_bytes += (500 * 159_u64 - 250) / 8;
    }
    rows.extend(larger);
    assert_eq!(outcome(&study.examine(&rows), "gamma_for_each_member"), Outcome::HoldsEverywhere);
    rows.iter_mut().filter(|row| row.members == 550).for_each(|row| {
        row.broadcast.payload_bytes += 500;
    });
    assert_eq!(outcome(&study.examine(&rows), "gamma_for_each_member"), Outcome::Refuted);
}

/// What is expected is declared by the findings themselves.
#[test]
fn the_recorded_claims_are_the_findings_that_are_declared() {
    let recorded = expected();
    for study in ["centralized", "nishat", "tgdh"] {
        let study = named(study);
        let examination = study.examine(&measured(study, u32::MAX));
        let found = ClaimEntry::of_study(study.id, &examination.verdicts, 0.0, "");
        assert_eq!(differences(&found, &recorded), Vec::<String>::new(), "{}", study.id);
    }
    let benchmark = named("benchmark").examine(&[]).verdicts;
    let network = network_impact::verdicts(&[], 30);
    for (study, verdicts) in [("benchmark", benchmark), ("network-impact", network)] {
        let of_study: Vec<_> = recorded.iter().filter(|claim| claim.study == study).collect();
        assert_eq!(of_study.len(), verdicts.len(), "{study}");
        for (claim, verdict) in of_study.into_iter().zip(verdicts) {
            assert_eq!((&claim.finding, &claim.claim), (&verdict.id, &verdict.claim));
            assert_eq!((&claim.ground, &claim.margin), (&verdict.ground.name(), &verdict.margin));
        }
    }
}

/// Which class of the benchmark is computed anew changes every day: all of it takes minutes.
#[test]
fn a_drawn_class_of_the_benchmark_comes_out_as_recorded() {
    let class = sample::one_in(3, ["distributed", "hybrid", "centralized"]).next().expect("one");
    let study = named("benchmark");
    let mut plans = study.plans(StudyExtent::Quick, None, u32::MAX, 1);
    plans.retain(|plan| plan.scheme.class().name() == class);
    let verdicts = study.examine(&run(study, &plans)).verdicts;
    let mut compared = 0;
    for recorded in expected().iter().filter(|claim| claim.study == study.id) {
        // This finding is about two classes.
        let is_of_class = recorded.finding.starts_with(&format!("{class}_"))
            && recorded.finding != "distributed_slower_than_centralized_s";
        let found = ClaimEntry::of_study(study.id, &verdicts, 0.0, "");
        let found = found.into_iter().find(|claim| claim.finding == recorded.finding);
        let found = found.unwrap_or_else(|| panic!("no {}", recorded.finding));
        if is_of_class {
            let outcome = |claim: &ClaimEntry| (claim.expected.clone(), claim.share.clone());
            assert_eq!(outcome(&found), outcome(recorded), "{class}: {}", recorded.finding);
            compared += 1;
        }
    }
    assert!(compared > 4, "{class}: {compared}");
}

/// After a change of findings: `tools/record outcomes`.
#[test]
fn the_documentation_has_the_recorded_outcomes() {
    let docs = |page: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
        fs::read_to_string(path).expect("it is there")
    };
    let recorded = expected();
    let page = docs("reproduction.md");
    let studies = recorded.chunk_by(|a, b| a.study == b.study).map(|of| (of[0].study.as_str(), of));
    for (study, claims) in studies.chain([("all", &recorded[..])]) {
        let count = |outcome: Outcome| {
            claims.iter().filter(|claim| claim.expected == outcome.name()).count().to_string()
        };
        let counts = Outcome::ALL.map(count).join(" | ");
        let line = format!("| {study} | {} | {counts} |", claims.len());
        assert!(page.contains(&line), "docs/reproduction.md lacks {line}");
    }
}

/// So few members decide little; here it is that all schemes run and that the pages show everything.
#[test]
fn the_benchmark_runs_and_its_page_shows_every_finding() {
    let study = named("benchmark");
    let rows = measured(study, 10);
    let examination = study.examine(&rows);
    assert_eq!(examination.verdicts.len(), 30);
    assert_eq!(outcome(&examination, "hybrid_creation_only"), Outcome::HoldsEverywhere);

    let header = BenchHeader::new(1, "c".to_owned(), "m".to_owned(), study.id.to_owned());
    let verdicts = examination.verdicts.clone();
    let command = "groupkey reproduce benchmark".to_owned();
    let page = render(&study.report(&header, &rows, &examination, command));
    let entry = Overview {
        id: study.id.to_owned(),
        title: study.title.to_owned(),
        report: "benchmark/report.html".to_owned(),
        verdicts: verdicts.clone(),
        seconds: 1.0,
    };
    let over = overview(&[entry]);
    assert!(over.contains("href=\"benchmark/report.html\""), "{over}");
    for verdict in verdicts {
        assert!(page.contains(&verdict.id) && over.contains(&verdict.id), "{}", verdict.id);
    }
    assert!(!page.contains("http:") && !page.contains("https:"), "it opens without a network");
    assert!(!over.contains("http:") && !over.contains("https:"), "it opens without a network");
    let card = over.find("id=\"benchmark-hybrid_creation_only\"").expect("the finding's card");
    assert!(over[card..].contains("published creation alone, ours creation alone"));
}
