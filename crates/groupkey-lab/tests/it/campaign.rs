//! Campaigns: the same rows whatever the threads, however often interrupted, and alone or together.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use groupkey::Operation;
use groupkey::catalogue::{self, Class};
use groupkey_lab::campaign::{self, CampaignError, CampaignOptions, CampaignOutcome, Progress};
use groupkey_lab::conditions::Conditions;
use groupkey_lab::plan::{Plan, PlanAction, PlanError, PlanStep};
use groupkey_lab::results::{NetworkRow, write_line};
use groupkey_sim::group::Rest;

#[test]
fn results_are_the_same_bytes_with_one_thread_and_with_two() {
    let one = bytes(&finished(&plans(), 1));
    assert_eq!(one, bytes(&finished(&plans(), 2)));
    assert_eq!(one, bytes(&finished(&plans(), 9)));
}

#[test]
fn rows_come_in_the_order_of_plans_and_operations() {
    let order: Vec<_> = finished(&plans(), 2)
        .into_iter()
        .map(|row| (row.setting.scheme, row.setting.operation))
        .collect();
    // LKH also has batches.
    let usual = ["create", "add", "remove", "rekey"];
    let row = |scheme: &&str, operation: &str| (scheme.to_string(), operation.to_owned());
    let mut expected: Vec<_> =
        SCHEMES.iter().flat_map(|scheme| usual.map(|operation| row(scheme, operation))).collect();
    let of_lkh = expected.iter().rposition(|(scheme, _)| scheme == "lkh-group").expect("it is one");
    expected.insert(of_lkh + 1, row(&"lkh-group", "batch"));
    assert_eq!(order, expected);
}

/// Its one run would take an hour. It ends in the middle, and hands nothing over.
#[test]
fn a_long_run_is_stopped_in_its_middle() {
    let mut plan = plans().swap_remove(0);
    plan.runs = 1;
    let pair = PlanStep::history(plan.scheme, &[Operation::Add, Operation::Remove]);
    let pair = pair.iter().copied().filter(|step| step.action != PlanAction::Create);
    plan.steps.extend(pair.cycle().take(10_000_000));
    let stop = AtomicBool::new(false);
    let options = CampaignOptions { threads: 1, stop: &stop, on_progress: &|_| {} };
    let mut rows = 0;
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
        });
        campaign::run(&[plan], &options, &mut |_| {
            rows += 1;
            Ok(())
        })
    });
    let stopped = CampaignOutcome::Interrupted { done: 0, total: 1 };
    assert_eq!((outcome.expect("nothing fails"), rows), (stopped, 0));
}

#[test]
fn a_row_does_not_depend_on_what_else_is_run() {
    let together = finished(&plans(), 2);
    for (index, operation) in Operation::MEASURED.into_iter().enumerate() {
        let mut plan = plans().swap_remove(1);
        plan.steps = PlanStep::history(plan.scheme, &[operation]);
        assert_eq!(finished(&[plan], 1), together[4 + index..5 + index]);
    }
}

/// What leads up to an operation goes without the network, if the group settles before it. Where it
/// is reported it goes over the network.
#[test]
fn an_operation_of_a_settled_group_is_the_same_whichever_way_the_group_came_about() {
    for scheme in catalogue::SCHEMES {
        for members in [5, 40] {
            let is_slow = scheme.class() == Class::Distributed || scheme.computes_pairings();
            if is_slow && members > 30 {
                continue;
            }
            let mut plan = Plan::new(scheme, members);
            plan.rest = Rest::Settled;
            plan.runs = 2;
            plan.request_bytes = plan.heeds_request().then_some(40);
            plan.set_conditions(Conditions {
                jitter_ms: 4.0,
                bandwidth_kbit_s: Some(500.0),
                ..Conditions::of(5.0, 20.0)
            });
            let over_the_network = finished(std::slice::from_ref(&plan), 1);
            for row in over_the_network {
                let is_it = |operation: &&Operation| operation.name() == row.setting.operation;
                let operation = *scheme.operations.iter().find(is_it).expect("it is one of them");
                let mut plan =
                    Plan { steps: PlanStep::history(scheme, &[operation]), ..plan.clone() };
                plan.request_bytes = plan.request_bytes.filter(|_| plan.heeds_request());
                let [alone] = &finished(&[plan], 1)[..] else { panic!("one operation is one row") };
                assert_eq!(alone.samples, row.samples, "{}, {members}, {operation:?}", scheme.id);
            }
        }
    }
}

#[test]
fn more_runs_begin_with_the_same_ones() {
    let few = finished(&plans(), 1);
    let mut plans = plans();
    plans.iter_mut().for_each(|plan| plan.runs += 2);
    for (few, many) in few.iter().zip(finished(&plans, 1)) {
        assert_eq!(few.samples, many.samples[..few.samples.len()]);
    }
}

#[test]
fn another_seed_or_network_gives_other_luck() {
    let plan = plans().swap_remove(0);
    let seeds = |plan: &Plan| [plan.run_seed(0), plan.run_seed(1)];
    let mut other = plan.clone();
    other.seed += 1;
    assert_ne!(seeds(&plan), seeds(&other));
    let mut other = plan.clone();
    other.set_conditions(Conditions::of(5.0, 11.0));
    assert_ne!(seeds(&plan), seeds(&other));
    assert_ne!(plan.run_seed(0), plan.run_seed(1));
}

#[test]
fn an_interrupted_campaign_goes_on_where_it_was() {
    let plans = plans();
    let all = finished(&plans, 1);

    let stop = AtomicBool::new(false);
    let stop_after_a_plan = |progress: Progress| {
        stop.fetch_or(progress.plans_done == 1, Ordering::Relaxed);
    };
    let options = CampaignOptions { threads: 1, stop: &stop, on_progress: &stop_after_a_plan };
    let (outcome, mut rows) = gathered(&plans, &options);
    let CampaignOutcome::Interrupted { done, total } = outcome.expect("it runs") else {
        panic!("it was not stopped")
    };
    assert_eq!((done, total, rows.len()), (1, 3, 4));

    // As if it had been killed while it wrote the second plan's rows.
    rows.push(all[4].clone());
    let rest = campaign::remaining(&plans, &rows);
    assert_eq!((rest.complete_rows, rest.plans.len()), (4, 2));
    rows.truncate(rest.complete_rows);
    rows.extend(finished(rest.plans, 2));
    assert_eq!(bytes(&rows), bytes(&all));
    assert!(campaign::remaining(&plans, &rows).plans.is_empty());
}

#[test]
fn rows_of_another_campaign_do_not_count() {
    let rows = finished(&plans(), 1);
    let mut others = plans();
    others[0].seed += 1;
    assert_eq!(campaign::remaining(&others, &rows).complete_rows, 0);
}

#[test]
fn a_sink_that_fails_ends_the_campaign() {
    let stop = AtomicBool::new(false);
    let mut full = |_: &NetworkRow| Err(io::Error::other("no space left"));
    let result = campaign::run(&plans(), &options(&stop, 2), &mut full);
    assert!(matches!(result, Err(CampaignError::Sink(_))), "{result:?}");
}

#[test]
fn a_plan_that_cannot_be_run_is_refused_before_anything_is() {
    let mut plans = plans();
    plans[2].runs = 0;
    let stop = AtomicBool::new(false);
    let (result, rows) = gathered(&plans, &options(&stop, 1));
    assert!(
        matches!(result, Err(CampaignError::Plan { error: PlanError::Runs, .. })),
        "{result:?}"
    );
    assert_eq!(rows, []);
}

#[test]
fn a_link_that_lets_nothing_through_fails_the_run() {
    let mut plan = plans().swap_remove(0);
    plan.set_conditions(Conditions::of(100.0, 1.0));
    let stop = AtomicBool::new(false);
    let (result, _) = gathered(&[plan], &options(&stop, 1));
    let error = result.expect_err("nothing arrives").to_string();
    assert!(error.starts_with("run 0, create: ") && error.contains("loss 100 %"), "{error}");
}

const SCHEMES: [&str; 3] = ["skdc", "lkh-group", "gdh2"];

fn plans() -> Vec<Plan> {
    let plan = |id: &&str| {
        let scheme = catalogue::scheme(id).expect("in the catalogue");
        let mut plan = Plan { runs: 4, seed: 7, ..Plan::new(scheme, 6) };
        plan.set_conditions(Conditions::of(5.0, 10.0));
        plan
    };
    SCHEMES.iter().map(plan).collect()
}

fn options(stop: &AtomicBool, threads: usize) -> CampaignOptions<'_> {
    CampaignOptions { threads, stop, on_progress: &|_| {} }
}

fn gathered(
    plans: &[Plan],
    options: &CampaignOptions<'_>,
) -> (Result<CampaignOutcome, CampaignError>, Vec<NetworkRow>) {
    let mut rows = Vec::new();
    let outcome = campaign::run(plans, options, &mut |row| {
        rows.push(row.clone());
        Ok(())
    });
    (outcome, rows)
}

fn finished(plans: &[Plan], threads: usize) -> Vec<NetworkRow> {
    let stop = AtomicBool::new(false);
    let (outcome, rows) = gathered(plans, &options(&stop, threads));
    assert_eq!(outcome.expect("it runs"), CampaignOutcome::Finished);
    rows
}

fn bytes(rows: &[NetworkRow]) -> Vec<u8> {
    let mut bytes = Vec::new();
    rows.iter().for_each(|row| write_line(&mut bytes, row).expect("memory takes all"));
    bytes
}
