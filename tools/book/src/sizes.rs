//! The tables of `docs/schemes/sizes.md`: what real groups send.

use groupkey::Operation;
use groupkey::catalogue::{Class, SCHEMES, Scheme};
use groupkey_testkit::rig::{Rig, Settings};

/// How much longer a message is with a signature than with a MAC: 66 bytes instead of 17.
const LONGER: usize = 49;

pub(super) fn with_a_controller() -> String {
    use Operation::{Add, Batch, Create, Rekey, Remove, Send};
    table(&[Create, Add, Remove, Rekey, Batch, Send], |scheme| scheme.class() != Class::Distributed)
}

pub(super) fn without_a_controller() -> String {
    use Operation::{Add, Create, Merge, Partition, Rekey, Remove};
    table(&[Create, Add, Remove, Rekey, Partition, Merge], |scheme| {
        scheme.class() == Class::Distributed
    })
}

fn table(operations: &[Operation], is_meant: impl Fn(&Scheme) -> bool) -> String {
    let mut table = "| scheme | n |".to_owned();
    operations.iter().for_each(|operation| table += &format!(" {} |", operation.name()));
    table += &format!("\n|---|--:|{}\n", "--:|".repeat(operations.len()));
    for scheme in SCHEMES.iter().filter(|scheme| is_meant(scheme)) {
        // Pairings take long in a large group.
        let sizes: &[u32] = match scheme.class() {
            Class::Distributed => &[5, 20],
            _ if scheme.computes_pairings() => &[20],
            _ => &[20, 1_000],
        };
        for &members in sizes {
            table += &format!("| `{}` | {members} |", scheme.id);
            for &operation in operations {
                let has_it = scheme.operations.contains(&operation);
                let cell = has_it.then(|| measured(scheme, operation, members));
                table += &format!(" {} |", cell.unwrap_or_default());
            }
            table.push('\n');
        }
    }
    table
}

/// Returns the number of messages, and their bytes without and with header and signature.
fn measured(scheme: &'static Scheme, operation: Operation, members: u32) -> String {
    let in_few = scheme.class() == Class::Hybrid && members <= 20;
    let parameters = if in_few { vec![("subgroups", 4)] } else { Vec::new() };
    let mut rig = Rig::new(scheme, Settings { parameters, ..Settings::default() });
    let created = rig.create(members).expect("a group");
    let (middle, second_half) = (members / 2, Vec::from_iter(members.div_ceil(2)..members));
    let report = match operation {
        Operation::Create => Ok(created),
        Operation::Add => rig.add(members),
        Operation::Remove => rig.remove(middle),
        Operation::Send => rig.send(middle),
        Operation::Rekey => rig.rekey(),
        Operation::Batch => rig.batch(&[members, members + 1], &[middle, middle + 1]),
        Operation::Partition => rig.partition(&second_half),
        Operation::Merge => rig.partition(&second_half).and_then(|_| rig.merge()),
        other => panic!("{} has no sizes", other.name()),
    };
    let (mut messages, mut body, mut wire) = (0, 0, 0);
    for message in report.expect("the group does what its scheme can").open_messages() {
        messages += 1;
        body += message.body_bytes;
        wire += message.bytes.len() + LONGER;
    }
    format!("{messages}/{body}/{wire}")
}
