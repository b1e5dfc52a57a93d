//! The tables of `docs/device-costs.md`: what was recorded on two emulated processors.

use groupkey_lab::device::Target;
use groupkey_lab::device::member_costs::MemberCost;

pub(super) fn evictions() -> String {
    let head = "| scheme | members | `cortex-m4` | `rv32imac` | stack | heap | kept | received |\n\
                |---|--:|--:|--:|--:|--:|--:|--:|\n";
    let is_meant = |row: &MemberCost| {
        let members = if row.class == "distributed" { 10 } else { 1_000 };
        (row.operation.as_str(), row.role.as_str(), row.suite.as_str(), row.members)
            == ("remove", "member", "standard", members)
    };
    table(head, is_meant, |row, [here, there]| {
        let bytes = [row.stack_bytes, row.heap_peak_bytes, row.heap_kept_bytes, row.received_bytes];
        let [stack, heap, kept, received] = bytes.map(Option::unwrap_or_default);
        let (scheme, members) = (&row.scheme, row.members);
        format!(
            "`{scheme}` | {members} | {here} | {there} | {stack} | {heap} | {kept} | {received}"
        )
    })
}

/// Returns what an eviction from 10,000 costs the neighbour in a key tree.
pub(super) fn large_key_trees() -> String {
    let head = "| scheme | suite | `cortex-m4` | `rv32imac` | received |\n|---|---|--:|--:|--:|\n";
    let is_meant = |row: &MemberCost| {
        matches!(row.scheme.as_str(), "lkh-user" | "lkh-key" | "lkh-group")
            && (row.operation.as_str(), row.members) == ("remove", 10_000)
    };
    table(head, is_meant, |row, [here, there]| {
        let received = row.received_bytes.unwrap_or_default();
        format!("`{}` | `{}` | {here} | {there} | {received}", row.scheme, row.suite)
    })
}

/// Makes a table of rows, each from a record with its thousands of instructions on both processors.
fn table(
    head: &str,
    is_meant: impl Fn(&MemberCost) -> bool,
    cells: impl Fn(&MemberCost, [u64; 2]) -> String,
) -> String {
    let [here, there] = [Target::CortexM4, Target::Rv32imac].map(MemberCost::recorded);
    let both = here.iter().zip(&there).filter(|(row, _)| is_meant(row));
    let rows = both.map(|(row, other)| {
        let thousands =
            [row, other].map(|row| (row.instructions.unwrap_or_default() + 500) / 1_000);
        format!("| {} |\n", cells(row, thousands))
    });
    rows.fold(head.to_owned(), |table, row| table + &row)
}
