//! An LKH controller that derives its keys holds as many whatever the size of the tree, sends what
//! one that stores them sends, and derives each key once in a creation and at each use later.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::{derivations, permanent};

const STRATEGIES: [&str; 3] = ["lkh-user", "lkh-key", "lkh-group"];

#[test]
fn derivations_match_their_formulas_in_complete_trees() {
    for (degree, height) in [(2u32, 2), (2, 4), (2, 6), (3, 2), (3, 4), (4, 2), (4, 3)] {
        let n = degree.pow(height);
        let key_nodes = (n - 1) / (degree - 1);
        for profile in Profile::ALL {
            // The root key, to make the group key of it.
            let root = if profile == Profile::Sound { 2 } else { 1 };
            for id in STRATEGIES {
                let mut rig = derived(id, profile, degree);
                let created = rig.create(n).unwrap();
                // Each key once, however often it is used.
                assert_eq!(derivations(&created, Controller), n + key_nodes + root - 1);
                let held = rig.party(Controller).footprint();
                assert_eq!(held.permanent, 16 * 3, "whatever n is");
                assert_eq!(held.temporary as u32, 16 * key_nodes.max(2 * height));
            }
            let mut rig = derived("lkh-group", profile, degree);
            rig.create(n - 1).unwrap();
            let added = rig.add(n - 1).unwrap();
            assert_eq!(derivations(&added, Controller), 1 + 3 * height + root);
            let removed = derivations(&rig.remove(n / 2).unwrap(), Controller);
            let expected = match degree {
                2 => 4 * (height - 1),
                _ => 2 * degree * height - 2,
            };
            assert_eq!(removed, expected + root, "{degree}^{height}");
        }
    }
}

/// A party that catches up is sent its path: one derivation for each key on it, and for its own.
#[test]
fn answers_derive_a_path() {
    for degree in [2, 3, 4, 16] {
        for n in [2, 3, 5, 16, 37] {
            let mut rig = derived("lkh-group", Profile::Sound, degree);
            rig.create(n).unwrap();
            rig.sleep(0);
            rig.add(n).unwrap();
            let answered = rig.catch_up(0).unwrap();
            let held = permanent(&rig, MemberId(0)) / 16;
            assert_eq!(derivations(&answered, Controller), held - 1);
        }
    }
}

#[test]
fn what_is_sent_and_what_members_do_is_the_same() {
    for id in STRATEGIES {
        for profile in Profile::ALL {
            for degree in [2, 3, 4, 16] {
                for n in [2, 3, 5, 8, 16, 17, 37] {
                    let mut pair = [stored(id, profile, degree), derived(id, profile, degree)];
                    compare(&mut pair, n, |rig| rig.create(n).unwrap());
                    let mut slots: Vec<u32> = (0..n).collect();
                    for round in 0..24 {
                        let (newcomer, place) = (n + 2 * round, (round * 7) as usize % slots.len());
                        if round % 3 == 0 || slots.len() < 4 {
                            compare(&mut pair, n, |rig| rig.add(newcomer).unwrap());
                            slots.push(newcomer);
                        } else if round % 3 == 1 {
                            let leaver = slots.remove(place);
                            compare(&mut pair, n, |rig| rig.remove(leaver).unwrap());
                        } else {
                            let leaver = slots.remove(place);
                            let joining = [newcomer, newcomer + 1];
                            compare(&mut pair, n, |rig| rig.batch(&joining, &[leaver]).unwrap());
                            slots.extend(joining);
                        }
                        let held = permanent(&pair[1], Controller);
                        assert_eq!(held, 16 * 3, "two master keys and the group key");
                    }
                    let sleeper = slots[0];
                    pair.iter_mut().for_each(|rig| rig.sleep(sleeper));
                    compare(&mut pair, n, |rig| rig.add(9_000).unwrap());
                    compare(&mut pair, n, |rig| rig.catch_up(sleeper).unwrap());
                }
            }
        }
    }
}

/// Has two rigs do the same, and compares what was sent and what everybody did.
fn compare(pair: &mut [Rig; 2], n: u32, act: impl Fn(&mut Rig) -> OperationReport) {
    let [stored, derived] = pair.each_mut().map(act);
    assert_eq!(messages(&stored), messages(&derived));
    let wraps = |report: &OperationReport| report.meter(Controller).tally(Primitive::Wrap);
    assert_eq!(wraps(&stored), wraps(&derived));
    for party in (0..n).map(|member| MemberId(member).into()) {
        assert_eq!(stored.meter(party), derived.meter(party));
    }
    let drawn = derived.meter(Controller).tally(Primitive::Random).calls;
    let enrolled = derived.messages.iter().filter(|m| matches!(m.to, Recipient::Member(_)));
    assert!(drawn as usize <= 1 + enrolled.count());
    assert!(pair.iter().all(|rig| rig.agreed_key().is_ok()));
}

fn messages(report: &OperationReport) -> Vec<(Recipient, usize)> {
    report.messages.iter().map(|message| (message.to, message.body_bytes)).collect()
}

fn stored(id: &str, profile: Profile, degree: u32) -> Rig {
    rig(id, profile, vec![("degree", degree)])
}

fn derived(id: &str, profile: Profile, degree: u32) -> Rig {
    rig(id, profile, vec![("degree", degree), ("derived", 1)])
}

fn rig(id: &str, profile: Profile, parameters: Vec<(&'static str, u32)>) -> Rig {
    Rig::new(scheme(id).unwrap(), Settings { profile, parameters, ..Settings::default() })
}
