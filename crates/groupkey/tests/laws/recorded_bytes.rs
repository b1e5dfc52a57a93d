//! What every scheme sends, counts and holds is what `recorded_bytes.txt` says, byte for byte.
//! `GROUPKEY_RECORD=1 cargo test -p groupkey --test it laws::recorded` writes the record anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::{env, fs};

use groupkey::catalogue::{Class, Profile, SCHEMES, Scheme};
use groupkey::{MemberId, SubgroupId};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, RigError, SUITES, Settings};
use groupkey_testkit::sample;
use sha2::{Digest, Sha256};

#[test]
fn every_scheme_sends_what_was_recorded() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/laws/recorded_bytes.txt");
    let records = env::var_os("GROUPKEY_RECORD").is_some();
    let sampled = sample::one_in(if records { 1 } else { 3 }, SCHEMES);
    let now: String = sampled.flat_map(|scheme| Profile::ALL.map(|p| line(scheme, p))).collect();
    if records {
        fs::write(path, &now).expect("the record can be written");
    }
    let recorded = fs::read_to_string(path).expect("the record is beside this test");
    let recorded: BTreeSet<&str> = recorded.lines().collect();
    let others: Vec<&str> = now.lines().filter(|line| !recorded.contains(line)).collect();
    assert!(
        others.is_empty(),
        "new, or other bytes than recorded: tools/record bytes\n{others:#?}"
    );
    let all = SCHEMES.len() * Profile::ALL.len();
    assert_eq!(all, recorded.len(), "schemes that are gone: tools/record bytes");
}

fn line(scheme: &'static Scheme, profile: Profile) -> String {
    let mut hash = Sha256::new();
    let mut messages = 0;
    for suite in SUITES {
        for guard in Guard::ALL {
            let settings =
                Settings { seed: 7, profile, suite, protection: guard, ..Settings::default() };
            messages += life(scheme, settings, &mut hash);
        }
    }
    let mut line = format!("{} {} {messages} ", scheme.id, profile.name());
    for byte in hash.finalize() {
        write!(line, "{byte:02x}").expect("a string takes everything");
    }
    line + "\n"
}

/// A group's life with everything that a scheme may have in it. What it cannot do, it refuses alike.
fn life(scheme: &'static Scheme, settings: Settings, hash: &mut Sha256) -> usize {
    let mut rig = Rig::new(scheme, settings);
    let mut messages = 0;
    let mut note = |report: Result<OperationReport, RigError>| match report {
        Ok(report) => {
            for message in report.deployment.iter().chain(&report.messages) {
                messages += 1;
                hash.update(format!("{:?} {:?}", message.from, message.to));
                hash.update(&message.bytes);
            }
            hash.update(format!("{:?}", report.meters));
        }
        Err(error) => hash.update(format!("{error:?}")),
    };
    note(rig.create(9));
    note(rig.send(0));
    note(rig.add(20));
    note(rig.remove(4));
    rig.sleep(3);
    note(rig.add(21));
    note(rig.catch_up(3));
    note(rig.rekey());
    note(rig.batch(&[30, 31, 32], &[1, 20]));
    let subgroups = scheme.class() == Class::Hybrid;
    if subgroups {
        rig.put_to_sleep(SubgroupId(0).into());
    }
    note(rig.add(33));
    if subgroups {
        note(rig.wake(SubgroupId(0).into()));
    }
    note(rig.partition(&[5, 6, 7]));
    note(rig.add(40));
    note(rig.merge());
    note(rig.remove(8));
    note(rig.send(2));
    for member in [0, 2, 3] {
        let footprint = rig.party(MemberId(member).into()).footprint();
        hash.update(format!("{footprint:?}"));
    }
    messages
}
