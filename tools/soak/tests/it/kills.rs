//! Histories in which devices die over and over, and go on with what they kept.

use groupkey::catalogue;
use groupkey_soak::{HistoryAction, LiveScheme, SoakHistory, run};

#[test]
fn who_dies_at_any_point_comes_back_and_uses_no_nonce_twice() {
    let (mut kills, mut nonces, mut cuts) = (0, 0, 0);
    for scheme in ["skdc", "lkh-group", "igkmp"] {
        for number in 0..HISTORIES {
            let history = SoakHistory::of_kills(subject(scheme), 1, number);
            let outcome = run(&history);
            assert_eq!(outcome.violation, None, "{scheme} {number}");
            let is_cut = |act: &HistoryAction| matches!(act, HistoryAction::PowerCut(_));
            cuts += history.steps.iter().filter(|step| is_cut(&step.act)).count();
            kills += outcome.kills;
            nonces += outcome.nonces;
        }
    }
    println!("{kills} kills, {nonces} pairs of key and nonce");
    assert!(kills > 40 * 3 * HISTORIES && nonces > kills && cuts > 3, "{kills} {nonces} {cuts}");
}

/// The service writes a readmission and dies before it acknowledges it. The device is in before the operator
/// asks again.
#[test]
fn a_readmission_that_nobody_acknowledged_lets_the_device_in() {
    let history = SoakHistory::of_kills(subject("skdc"), 1, 68);
    let readmits = history.steps.iter().any(|step| step.act == HistoryAction::Readmit);
    assert!(readmits && history.steps.iter().any(|step| step.act == HistoryAction::Torn(true)));
    assert_eq!(run(&history).violation, None);
}

fn subject(scheme: &str) -> LiveScheme {
    LiveScheme::new(catalogue::scheme(scheme).unwrap(), 5).unwrap()
}

/// Of each scheme.
const HISTORIES: u64 = 8;
