//! Models of how long a change takes, against the simulation.
use groupkey::Operation;
use groupkey::catalogue::scheme;
use groupkey_choose::evidence::Evidence;
use groupkey_sim::group::Rest;

use super::GOING_ON;
use crate::campaign;
use crate::campaign::CampaignOptions;
use crate::choose::message_flow::MessageFlow;
use crate::choose::{FitOptions, fit_completion};
use crate::conditions::Conditions;
use crate::plan::{Plan, PlanStep};

/// A change of a settled group of 12 on slow links that lose packets.
fn change(id: &str, parameters: &[(&str, u32)], operation: Operation, qos: u8) -> Plan {
    let scheme = scheme(id).expect("in the catalogue");
    let mut plan = Plan::new(scheme, 12);
    plan.parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    plan.steps = PlanStep::history(scheme, &[operation]);
    plan.set_conditions(Conditions {
        jitter_ms: 10.0,
        bandwidth_kbit_s: Some(200.0),
        ..Conditions::of(4.0, 30.0)
    });
    plan.rest = Rest::Settled;
    (plan.qos, plan.runs, plan.seed) = (qos, 40, 3);
    plan
}

fn replayed(plan: &Plan) -> Vec<f64> {
    let flows = MessageFlow::record(plan, &mut |_, _| ()).ok().expect("it completes");
    flows[0].replay(plan, 0..plan.runs).ok().expect("as before")
}

fn simulated(plan: &Plan) -> Vec<f64> {
    let options = CampaignOptions { threads: 1, stop: &GOING_ON, on_progress: &|_| () };
    let mut times = Vec::new();
    campaign::run(std::slice::from_ref(plan), &options, &mut |row| {
        times = row.totals_ms();
        Ok(())
    })
    .expect("it completes");
    times
}

/// Who hears one sender takes the same steps in each run.
#[test]
fn a_replayed_flow_of_a_controller_takes_exactly_as_long_as_the_group() {
    for (id, parameters, operation, qos) in [
        ("skdc", &[][..], Operation::Remove, 2),
        ("lkh-user", &[("degree", 4)], Operation::Add, 1),
        ("lkh-group", &[], Operation::Remove, 0),
        ("ofct", &[], Operation::Remove, 1),
        ("sgcsh", &[], Operation::Add, 2),
    ] {
        let plan = change(id, parameters, operation, qos);
        assert_eq!(replayed(&plan), simulated(&plan), "{}", plan.description());
    }
}

/// A large group's late receivers tell as much as all of them, to the nanosecond.
#[test]
fn late_receivers_alone_take_exactly_as_long_as_the_whole_group() {
    let mut told = 0;
    for (id, operation, qos, bandwidth) in [
        ("lkh-group", Operation::Remove, 1, None),
        ("lkh-user", Operation::Remove, 1, Some(2_000.0)),
        ("ofct", Operation::Add, 0, None),
        ("cfkm", Operation::Add, 1, Some(300.0)),
        ("sgcsh", Operation::Remove, 1, None),
        // The broker serves acknowledgements before it passes messages on.
        ("lkh-group", Operation::Remove, 2, None),
        ("iolus", Operation::Remove, 1, None),
    ] {
        let scheme = scheme(id).expect("in the catalogue");
        let mut plan = change(id, &[], operation, qos);
        plan = Plan { members: 260, runs: 25, ..plan };
        plan.steps = PlanStep::history(scheme, &[operation]);
        plan.set_conditions(Conditions {
            jitter_ms: 8.0,
            bandwidth_kbit_s: bandwidth,
            ..Conditions::of(2.0, 40.0)
        });
        let flows = MessageFlow::record(&plan, &mut |_, _| ()).ok().expect("it completes");
        let late = flows[0].replay_late(&plan, 0..plan.runs).ok().expect("as before");
        let whole = simulated(&plan);
        let known = late.iter().flatten().count();
        assert!(known == 0 || (qos < 2 && id != "iolus"), "{id}: {known}");
        for (late, whole) in
            late.iter().zip(&whole).filter_map(|(one, all)| Some((*one)?).zip(Some(*all)))
        {
            assert_eq!(late, whole, "{}", plan.description());
        }
        told += known;
    }
    assert!(told > 60, "{told} of 125 runs need no whole group");
}

#[test]
fn a_replayed_flow_takes_as_long_as_the_group() {
    for (id, parameters, qos) in [
        ("igkmp", &[("subgroups", 4)][..], 0),
        ("tgdh", &[][..], 2),
        ("gdh2", &[][..], 0),
        ("bd", &[][..], 1),
    ] {
        let plan = change(id, parameters, Operation::Remove, qos);
        let [replayed, simulated] = [replayed(&plan), simulated(&plan)].map(|times| {
            let count = times.len() as f64;
            let mean = times.iter().sum::<f64>() / count;
            let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
            (mean, squares / (count - 1.0) / count)
        });
        let apart = (replayed.0 - simulated.0).abs();
        assert!(
            apart < 3.0 * (replayed.1 + simulated.1).sqrt(),
            "{id}: {replayed:?} {simulated:?}"
        );
    }
}

#[test]
#[ignore = "long: half a minute, the same model on any number of threads"]
fn a_model_does_not_depend_on_threads() {
    let options = |threads: usize| FitOptions {
        seed: 3,
        is_quick: true,
        threads,
        stop: &GOING_ON,
        on_progress: &|_, _| (),
    };
    let evidence = Evidence::shipped();
    let fitted = |threads| fit_completion(evidence, &options(threads)).expect("it completes");
    let model = fitted(1).expect("not stopped");
    assert_eq!(Some(&model), fitted(2).as_ref());
    assert!(model.fits.values().all(|fit| fit.mean.iter().all(|weight| *weight >= 0.0)));
}
