//! The tables of `docs/schemes/sizes.md`: what real runs send. [`pages`](super::pages) says how they
//! are written.
//!
//! A cell is `messages/body bytes/bytes`: the body is the scheme's own; the last number is with
//! header and signature. The group has n members before the operation (a creation makes n). Suite
//! `standard`, profile `sound`. The member that leaves is number n/2, counted from 0; in a batch two
//! join, and numbers n/2 and n/2 + 1 leave. A partition cuts the group in half, the first half the
//! larger, and counts what both send; a merger brings these two together again, as n members.

use groupkey::Operation;
use groupkey::catalogue::{Class, SCHEMES, Scheme};
use groupkey::protection::Guard;
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use super::pages::Page;

/// How much longer a message is with a signature than with a MAC: 66 bytes instead of 17.
const LONGER: usize = 49;
/// Groups of up to so many members run with signatures, too.
const SMALL: u32 = 30;

#[test]
fn pages_of_sizes_are_real() {
    let mut page = Page::read("schemes/sizes.md");
    page.generate("sizes", |who, _| {
        let of_members = who == "members";
        assert!(of_members || who == "controller", "no table is of {who}");
        let is_meant = |scheme: &&Scheme| (scheme.class() == Class::Distributed) == of_members;
        let operations = if of_members { OF_MEMBERS } else { OF_CONTROLLERS };
        let names = operations.map(|operation| format!(" {} |", operation.name())).concat();
        let head = format!(
            "| scheme | n |{names}\n|---|--:|{}\n",
            "--:|".repeat(names.matches('|').count())
        );
        let schemes = SCHEMES.iter().filter(is_meant);
        schemes.flat_map(|scheme| rows(scheme, operations)).fold(head, |table, row| table + &row)
    });
    page.check();
}

const OF_CONTROLLERS: [Operation; 6] = [
    Operation::Create,
    Operation::Add,
    Operation::Remove,
    Operation::Rekey,
    Operation::Batch,
    Operation::Send,
];
const OF_MEMBERS: [Operation; 6] = [
    Operation::Create,
    Operation::Add,
    Operation::Remove,
    Operation::Rekey,
    Operation::Partition,
    Operation::Merge,
];

/// Returns a scheme's rows, one for each size of the group. Pairings take too long for large ones.
fn rows(scheme: &'static Scheme, columns: [Operation; 6]) -> Vec<String> {
    // Of schemes without a controller one alone has batches: they have no column.
    let is_of_members = !scheme.has_controller();
    let has_column = |operation: &Operation| {
        columns.contains(operation) || is_of_members && *operation == Operation::Batch
    };
    assert!(scheme.operations.iter().all(has_column), "{} has more operations", scheme.id);
    let sizes: &[u32] = match scheme.class() {
        Class::Distributed => &[5, 20],
        _ if scheme.computes_pairings() => &[20],
        _ => &[20, 1000],
    };
    let row = |&members: &u32| {
        let cells = columns.map(|operation| {
            let sent = scheme.operations.contains(&operation).then(|| {
                measured(scheme, operation, members).map(|number| number.to_string()).join("/")
            });
            format!(" {} |", sent.unwrap_or_default())
        });
        format!("| `{}` | {members} |{}\n", scheme.id, cells.concat())
    };
    sizes.iter().map(row).collect()
}

/// Returns the number of messages, and their bytes without and with header and signature.
fn measured(scheme: &'static Scheme, operation: Operation, members: u32) -> [usize; 3] {
    let [messages, body, wire] = measured_with(Guard::Mac, scheme, operation, members);
    let signed = [messages, body, wire + messages * LONGER];
    // To check a signature takes long, and in a large group everybody checks each.
    if members <= SMALL {
        let real = measured_with(Guard::Signature, scheme, operation, members);
        assert_eq!(real, signed, "{}, {}", scheme.id, operation.name());
    }
    signed
}

fn measured_with(
    protection: Guard,
    scheme: &'static Scheme,
    operation: Operation,
    members: u32,
) -> [usize; 3] {
    let parameters = match scheme.class() {
        Class::Hybrid if members <= SMALL => vec![("subgroups", 4)],
        _ => Vec::new(),
    };
    let mut rig = Rig::new(scheme, Settings { parameters, protection, ..Settings::default() });
    let created = rig.create(members).expect("a group");
    let (middle, second_half) = (members / 2, Vec::from_iter(members.div_ceil(2)..members));
    let report = match operation {
        Operation::Create => created,
        Operation::Add => rig.add(members).expect("a member joins"),
        Operation::Remove => rig.remove(middle).expect("a member leaves"),
        Operation::Send => rig.send(middle).expect("a member begins a message"),
        Operation::Rekey => rig.rekey().expect("a new period begins"),
        Operation::Batch => rig
            .batch(&[members, members + 1], &[middle, middle + 1])
            .expect("two join and two leave"),
        Operation::Partition => rig.partition(&second_half).expect("the group splits"),
        Operation::Merge => {
            rig.partition(&second_half).expect("the group splits");
            rig.merge().expect("the parts come together")
        }
        other => panic!("{} has no sizes", other.name()),
    };
    sizes(&report)
}

fn sizes(report: &OperationReport) -> [usize; 3] {
    report.open_messages().fold([0; 3], |[messages, body, wire], message| {
        [messages + 1, body + message.body_bytes, wire + message.bytes.len()]
    })
}
