//! What operations cost a member: a part of the recorded rows is counted again in the emulators, and
//! the price model is compared with all of them. Skipped where an emulator or a target is not installed,
//! unless `GROUPKEY_REQUIRE_ALL` is set.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use groupkey::Suite;
use groupkey::catalogue::{SCHEMES, scheme};
use groupkey::protection::Guard;
use groupkey_lab::device::member_costs::{
    MemberCost, MemberCostError, MemberCostPlan, measure, run_again,
};
use groupkey_lab::device::{EmulationError, Target};
use groupkey_testkit::sample;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// As for primitives: another compiler makes other instructions.
const TOLERANCE: f64 = 0.05;

/// The schemes and sizes that are counted again: a centralized one with small and one with large
/// messages, a hybrid and a distributed one.
const AGAIN: [(&str, u32); 4] =
    [("skdc", 10_000), ("lkh-group", 100), ("igkmp", 100), ("tgdh", 10)];

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn a_member_on_a_cortex_m4_costs_what_was_recorded() {
    costs_what_was_recorded(Target::CortexM4);
}

#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn a_member_on_an_rv32imac_costs_what_was_recorded() {
    costs_what_was_recorded(Target::Rv32imac);
}

fn costs_what_was_recorded(target: Target) {
    let recorded = MemberCost::recorded(target);
    let mut differences = Vec::new();
    for (id, members) in AGAIN {
        let settings = [Suite::Standard, Suite::Constrained].map(|suite| (suite, Guard::Mac));
        let Some(now) = count(target, id, members, &settings) else { return };
        let then = recorded.iter().filter(|row| row.scheme == id && row.members == members);
        let then: Vec<&MemberCost> = then.filter(|row| row.protection == "mac").collect();
        assert_eq!(now.len(), then.len(), "{id}: {}", again(target));
        for (now, then) in now.iter().zip(then) {
            if !is_alike(now, then) {
                differences.push(format!("{now:?}\nrecorded: {then:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}\n{}", again(target));
}

/// The image that runs there is the one of the tests above.
#[test]
#[ignore = "long: builds firmware, and needs QEMU and its targets"]
fn a_member_in_suite_pq_checks_a_signature_on_both_processors() {
    for target in Target::ALL {
        // It fails if the member does not get the key that the member here gets.
        let Some(now) = count(target, "lkh-group", 10, &[(Suite::Pq, Guard::Signature)]) else {
            return;
        };
        let of = |operation: &str, role: &str| {
            let is_it = |row: &&MemberCost| (&*row.operation, &*row.role) == (operation, role);
            now.iter().find(is_it).unwrap_or_else(|| panic!("no {operation} of a {role}: {now:?}"))
        };
        let (checked, signed) = (of("remove", "member"), of("catch-up", "member"));
        assert_eq!((checked.received_messages, checked.sent_messages), (Some(1), Some(0)));
        assert!(checked.received_bytes > Some(3_309), "it is signed: {checked:?}");
        assert!(checked.ram_bytes() < Some(160 * 1024), "an nRF52840 holds it: {checked:?}");
        assert_eq!((signed.sent_messages, signed.fits), (Some(1), Some(false)), "{signed:?}");
        let recorded = MemberCost::recorded(target);
        let then = recorded
            .iter()
            .filter(|row| (&*row.scheme, &*row.suite, row.members) == ("lkh-group", "pq", 10));
        let then: Vec<&MemberCost> = then.collect();
        assert_eq!(now.len(), then.len(), "{}", again(target));
        for (now, then) in now.iter().zip(then) {
            assert!(is_alike(now, then), "{now:?}\nrecorded: {then:?}");
        }
    }
}

/// Counts a scheme's members anew, in the order of the records. `None` where the emulator is missing.
fn count(
    target: Target,
    id: &str,
    members: u32,
    settings: &[(Suite, Guard)],
) -> Option<Vec<MemberCost>> {
    let plan = MemberCostPlan {
        target,
        schemes: vec![scheme(id).expect("in the catalogue")],
        members: vec![members],
        settings: settings.to_vec(),
        seed: 1,
    };
    let mut counted = Vec::new();
    let firmware = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    let measured = measure(&plan, &firmware, &mut |rows| {
        counted.extend(rows);
        true
    });
    installed(measured).then_some(counted)
}

/// Whether two rows differ in nothing but what a compiler decides, and in that little.
fn is_alike(now: &MemberCost, then: &MemberCost) -> bool {
    let about = |now: Option<u64>, then: Option<u64>, slack: f64| match (now, then) {
        (Some(now), Some(then)) => now.abs_diff(then) as f64 <= then as f64 * TOLERANCE + slack,
        (now, then) => now == then,
    };
    let compiled = [
        // A Cortex-M4 counts in steps of forty.
        about(now.instructions, then.instructions, 80.0),
        about(now.modelled_instructions, then.modelled_instructions, 1.0),
        about(now.stack_bytes, then.stack_bytes, 512.0),
        about(now.heap_peak_bytes, then.heap_peak_bytes, 64.0),
        about(now.heap_kept_bytes, then.heap_kept_bytes, 64.0),
    ];
    let without = |row: &MemberCost| MemberCost {
        instructions: None,
        modelled_instructions: None,
        stack_bytes: None,
        heap_peak_bytes: None,
        heap_kept_bytes: None,
        ..row.clone()
    };
    compiled.into_iter().all(|alike| alike) && without(now) == without(then)
}

#[test]
fn every_scheme_has_rows_for_every_size_or_a_reason() {
    for target in Target::ALL {
        let rows = MemberCost::recorded(target);
        for scheme in SCHEMES {
            for members in MemberCostPlan::MEMBERS {
                let own = |row: &&MemberCost| row.scheme == scheme.id && row.members == members;
                let own: Vec<_> = rows.iter().filter(own).collect();
                let (target, id) = (target.name(), scheme.id);
                assert!(
                    !own.is_empty(),
                    "{target}: {id} with {members} members: tools/record members"
                );
                for row in own {
                    let told = row.instructions.is_some() || !row.reason.is_empty();
                    assert!(told, "{target}: {row:?}");
                    assert_eq!(row.fits == Some(true), row.reason.is_empty(), "{target}: {row:?}");
                }
            }
        }
    }
}

/// Two columns of one file could be wrong together. So a sample, another one every day, is computed
/// anew: what the member sends, and what the model says of it, as far as the prices of another
/// compiler change it.
#[test]
fn a_drawn_sample_of_what_was_recorded_comes_out_again() {
    let seed = sample::seed();
    for (place, target) in Target::ALL.into_iter().enumerate() {
        let recorded = MemberCost::recorded(target);
        // Pairings take minutes here, and large groups, too.
        let is_quick = |row: &&MemberCost| {
            let scheme = scheme(&row.scheme).expect("in the catalogue");
            row.instructions.is_some() && row.members <= 100 && !scheme.computes_pairings()
        };
        let quick: Vec<&MemberCost> = recorded.iter().filter(is_quick).collect();
        let mut rng = ChaCha20Rng::seed_from_u64(seed.wrapping_add(place as u64));
        for _ in 0..SAMPLES {
            let drawn = quick[(rng.next_u64() % quick.len() as u64) as usize];
            let MemberCost { scheme: id, suite, protection, members, .. } = drawn;
            let plan = MemberCostPlan {
                target,
                schemes: vec![scheme(id).expect("in the catalogue")],
                members: vec![*members],
                settings: vec![(
                    Suite::named(suite).expect("a suite"),
                    Guard::named(protection).expect("a protection"),
                )],
                seed: 1,
            };
            let of_plan = |row: &&MemberCost| {
                (&row.scheme, &row.suite, &row.protection, row.members, row.instructions.is_some())
                    == (id, suite, protection, *members, true)
            };
            let then: Vec<&MemberCost> = recorded.iter().filter(of_plan).collect();
            let now = run_again(&plan, &recorded).expect("the group runs");
            let now: Vec<&MemberCost> = now.iter().filter(of_plan).collect();
            assert_eq!(now.len(), then.len(), "GROUPKEY_SEED={seed}: {}", again(target));
            for (now, then) in now.into_iter().zip(then) {
                assert!(
                    is_alike(now, then),
                    "GROUPKEY_SEED={seed}: {now:?}\nrecorded: {then:?}\n{}",
                    again(target)
                );
            }
        }
    }
}

/// Groups that are run again in a test.
const SAMPLES: usize = 3;

/// A member's messages and keys do not depend on the processor.
#[test]
fn both_processors_send_the_same_bytes() {
    let sent = |target| -> Vec<_> {
        let rows = MemberCost::recorded(target).into_iter();
        rows.map(|row| (row.scheme, row.suite, row.members, row.operation, row.role, row.hash))
            .collect()
    };
    assert_eq!(sent(Target::CortexM4), sent(Target::Rv32imac));
}

/// What is more than [`MODEL_ERROR`] off; docs/device-costs.md says why.
const OFF: &[(&str, &str)] = &[
    ("d-lkh", "add"),
    ("d-lkh", "merge"),
    ("d-lkh", "partition"),
    ("d-lkh", "remove"),
    ("d-oft", "add"),
    ("d-oft", "rekey"),
    ("dh-lkh", "add"),
    ("dh-lkh", "merge"),
    ("elk", "add"),
    ("elk", "rekey"),
    ("elk", "remove"),
    ("iolus", "send"),
    ("marks", "rekey"),
    ("sbsa-r", "add"),
    ("sbsa-r", "catch-up"),
    ("sbsa-r", "create"),
    ("sbsa-r", "rekey"),
    ("sbsa-r", "remove"),
    ("str", "add"),
    ("tgdh", "add"),
    ("tgdh", "merge"),
    ("treekem", "add"),
    ("treekem", "batch"),
    ("treekem", "create"),
    ("treekem", "merge"),
    ("xfks-r", "catch-up"),
];

/// How far the model may be off.
const MODEL_ERROR: f64 = 0.15;

/// How far it may be off where a message to the group is opened. AES works on whole blocks, and its
/// price is by the byte: for a short message it is too high.
const OPENING_ERROR: f64 = 0.18;

#[test]
fn counted_primitives_and_messages_make_up_what_a_member_executes() {
    let listed: BTreeSet<_> = OFF.iter().copied().collect();
    let (mut off, mut unlisted) = (BTreeSet::new(), Vec::new());
    for row in Target::ALL.into_iter().flat_map(MemberCost::recorded) {
        let Some((counted, modelled)) = row.instructions.zip(row.modelled_instructions) else {
            let is_without = row.instructions.is_none() && !row.reason.is_empty();
            assert!(is_without, "a count without a model: {row:?}");
            continue;
        };
        // A signature of suite `pq` takes several trials, and its price is an average.
        if row.suite == Suite::Pq.name() && row.sent_messages != Some(0) {
            continue;
        }
        let error = modelled as f64 / counted as f64 - 1.0;
        let bound = if row.operation == "decrypt" { OPENING_ERROR } else { MODEL_ERROR };
        if error.abs() > bound {
            let MemberCost { target, scheme, suite, members, operation, role, .. } = &row;
            let place = listed.iter().find(|(id, of)| id == scheme && of == operation);
            match place {
                Some(&place) => drop(off.insert(place)),
                None => unlisted.push(format!(
                    "{target} {scheme} {suite} {members} {operation} {role}: {:+.1} %",
                    100.0 * error
                )),
            }
        }
    }
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    assert_eq!(off, listed, "what is not off any more should not be listed");
}

/// An LKH member whose neighbour is evicted from a group of 10,000 has a new key within 200,000
/// instructions, if the suite is `constrained` and it gets only what it needs.
#[test]
fn a_member_of_a_large_key_tree_rekeys_within_200_000_instructions() {
    let mut seen = 0;
    for row in Target::ALL.into_iter().flat_map(MemberCost::recorded) {
        let is_one = matches!(row.scheme.as_str(), "lkh-user" | "lkh-key")
            && row.suite == "constrained"
            && (row.operation.as_str(), row.members) == ("remove", 10_000);
        if is_one {
            assert!(row.instructions.is_some_and(|count| count <= 200_000), "{row:?}");
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}

fn again(target: Target) -> String {
    let name = target.name();
    let file = format!("crates/groupkey-lab/data/{name}.jsonl");
    format!(
        "If the compiler or the library changed, count again: rm {file}; \
         groupkey device measure-schemes --target {name} --out {file}"
    )
}

/// Whether it was measured. It need not be where something is not installed.
fn installed(outcome: Result<(), MemberCostError>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(MemberCostError::Emulation(
            missing @ (EmulationError::NoEmulator(_) | EmulationError::NoCompiler(_)),
        )) => {
            let help = missing.help().expect("it can be installed");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}: {help}");
            eprintln!("SKIPPED: {missing}: {help}; the firmware was not run");
            false
        }
        Err(error) => panic!("{error}"),
    }
}
