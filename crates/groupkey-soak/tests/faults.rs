//! A short soak of groups with a service. `groupkey soak` runs longer ones.

use std::sync::atomic::AtomicBool;

use groupkey::catalogue::scheme;
use groupkey_soak::{Campaign, Subject, soak};

#[test]
fn a_few_hundred_faults_break_nothing() {
    let subject = |id| {
        let scheme = scheme(id).expect("it is in the catalogue");
        Subject::new(scheme, 5).expect("it runs live")
    };
    let subjects = ["skdc", "lkh-group", "igkmp"].map(subject);
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        subjects: &subjects,
        faults: 300,
        seed: 1,
        threads: 2,
        stop: &stop,
        on_progress: &|_, _| (),
    };
    let report = soak(&campaign).expect("nobody stops it");
    let failures = report.failures.iter();
    let failures: Vec<_> = failures.map(|failure| failure.violation.to_string()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(report.faults >= 300 && report.messages > 0, "{report:?}");
}
