//! The examples of workloads and traces: each is read, and each trace runs through schemes of all classes.

use std::fs;
use std::path::{Path, PathBuf};

use groupkey::Operation;
use groupkey::catalogue::{SCHEMES, scheme};
use groupkey_lab::bench::trace::{
    ArrivalPattern, JoinOrLeave, ReplayError, Trace, TraceGenerator, replay,
};
use groupkey_lab::bench::workload::Workload;
use groupkey_lab::device::DeviceProfile;
use groupkey_testkit::rig::Settings;

#[test]
fn every_example_of_a_workload_is_read() {
    let examples = examples("workloads");
    assert!(!examples.is_empty());
    for path in examples {
        let workload = Workload::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(workload.members.all().next().is_some());
        let concerned =
            SCHEMES.iter().filter(|scheme| workload.patterns_of(scheme).next().is_some());
        assert!(concerned.count() > 0, "{}", path.display());
    }
}

#[test]
fn every_example_of_a_trace_runs_through_every_class() {
    let examples = examples("traces");
    assert!(!examples.is_empty());
    for path in examples {
        let trace = Trace::load(&path).unwrap_or_else(|error| panic!("{error}"));
        for id in ["skdc", "lkh-group", "igkmp", "tgdh"] {
            let scheme = scheme(id).expect("in the catalogue");
            let replay = replay(scheme, &Settings::default(), &trace, &mut |_| true)
                .unwrap_or_else(|error| panic!("{id}, {}: {error}", path.display()));
            let device = DeviceProfile::named("host").expect("built in");
            for row in replay.rows(Some(&device)) {
                let kinds = [row.unicast, row.multicast, row.broadcast];
                let sum: u64 = kinds.iter().map(|kind| kind.messages).sum();
                assert_eq!(sum, row.messages, "{id}");
                assert!(row.device_seconds.is_some_and(|seconds| seconds > 0.0), "{id}");
            }
        }
    }
}

/// Every scheme of the catalogue replays a generated trace, or says which operation it does not have.
#[test]
fn every_scheme_replays_or_says_why_not() {
    let generator = TraceGenerator {
        kind: ArrivalPattern::Poisson,
        members: 8,
        stay_minutes: 60.0,
        duration_minutes: 60.0,
        seed: 7,
    };
    let trace = generator.trace().expect("a trace");
    assert!(trace.count(JoinOrLeave::Join) > 1 && trace.count(JoinOrLeave::Leave) > 1);
    let settings = Settings { latency: 0, ..Settings::default() };
    for scheme in SCHEMES {
        match replay(scheme, &settings, &trace, &mut |_| true) {
            Ok(replay) => {
                let rows = replay.rows(None);
                assert!(rows.iter().map(|row| row.messages).sum::<u64>() > 0, "{}", scheme.id);
                let again = scheme_again(scheme.id, &settings, &trace);
                assert_eq!(again, serde_json::to_string(&rows).expect("rows"), "{}", scheme.id);
            }
            Err(ReplayError::Unsupported { operation, .. }) => {
                assert!(!scheme.operations.contains(&operation), "{}", scheme.id);
                assert!([Operation::Add, Operation::Remove].contains(&operation));
            }
            Err(error) => panic!("{}: {error}", scheme.id),
        }
    }
}

/// The same seed gives the same figures: as they stand in results.
fn scheme_again(id: &str, settings: &Settings, trace: &Trace) -> String {
    let scheme = scheme(id).expect("in the catalogue");
    let replay = replay(scheme, settings, trace, &mut |_| true).expect("it did before");
    serde_json::to_string(&replay.rows(None)).expect("rows")
}

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let entries = fs::read_dir(folder).expect("the examples are there");
    entries.map(|entry| entry.expect("a file").path()).collect()
}
