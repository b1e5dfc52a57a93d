//! Histories in which one member is dishonest.

use groupkey::catalogue;
use groupkey_soak::{HistoryAction, LiveScheme, SoakHistory, run};

/// `.ci/defects` plants defects that some of these histories must show.
#[test]
fn a_dishonest_member_breaks_no_invariant() {
    let (mut histories, mut deceits) = (0, 0);
    for scheme in ["lkh-group", "igkmp", "tgdh", "gdh2"] {
        let subject = LiveScheme::new(catalogue::scheme(scheme).unwrap(), 5).unwrap();
        let all = (0..).map(|number| SoakHistory::new(subject.clone(), 1, number));
        for history in all.filter(|history| history.insider.is_some()).take(HISTORIES) {
            let outcome = run(&history);
            assert_eq!(outcome.violation, None, "{scheme} {}", history.number);
            let is_deceit = |act: &HistoryAction| matches!(act, HistoryAction::Deceive(..));
            deceits += history.steps.iter().filter(|step| is_deceit(&step.act)).count();
            histories += 1;
        }
    }
    assert!(histories == 4 * HISTORIES && deceits > 4 * histories, "{deceits}");
}

/// Of each scheme.
const HISTORIES: usize = 12;
