//! What a message to the group costs on a chip: the table of `docs/messages.md`.

use std::sync::Arc;

use groupkey::Suite;
use groupkey::catalogue::scheme;
use groupkey::messages::Nonces;
use groupkey_lab::bench::{Activity, BenchPlan};
use groupkey_lab::device::DeviceProfile;

use crate::bench::{find, measured, prices};

/// The rows are what `groupkey bench` says, as the page gives the command.
#[test]
fn documented_costs_of_messages_are_right() {
    let page = include_str!("../../../../docs/messages.md");
    let (_, table) = page.split_once("<!-- costs of messages").expect("the page has the table");
    let rows: Vec<_> = table.lines().skip(3).take_while(|line| line.starts_with('|')).collect();
    let right = [13, 100, 1_000].into_iter().flat_map(|bytes| {
        let suites = [Suite::Standard, Suite::Constrained].into_iter();
        suites.flat_map(move |suite| Nonces::ALL.map(|nonces| row(bytes, suite, nonces)))
    });
    let right: Vec<_> = right.collect();
    assert_eq!(rows, right, "write into docs/messages.md:\n{}", right.join("\n"));
}

/// Encrypts and decrypts a message in a group of ten, in µs as modelled.
fn row(bytes: u32, suite: Suite, nonces: Nonces) -> String {
    let mut cells = vec![bytes.to_string(), suite.name().to_owned(), nonces.name().to_owned()];
    for device in ["cortex-m4", "rv32imac"] {
        let plan = BenchPlan {
            suite,
            activities: vec![Activity::Encrypt, Activity::Decrypt],
            message_bytes: bytes,
            nonces,
            repetitions: 1,
            device: DeviceProfile::named(device).map(Arc::new),
            ..BenchPlan::new(scheme("skdc").expect("in the catalogue"), vec![10])
        };
        let rows = measured(&plan, 10, &mut prices()).rows;
        for activity in [Activity::Encrypt, Activity::Decrypt] {
            let time = find(&rows, activity, "member").device_ns.expect("the device has prices");
            cells.push(format!("{:.0}", time / 1e3));
        }
    }
    format!("| {} |", cells.join(" | "))
}
