//! The numbers that the benchmark studies print, for the pages of benchmarks. Most findings of the
//! studies are rankings, which the studies examine.

use groupkey_lab::report::{PrintedQuantity, PrintedValue};

use crate::benchmark::{CENTRALIZED, DISTRIBUTED};
use crate::published::ComputationStudy;

/// Returns all printed values, in the order of the studies.
pub fn printed() -> Vec<PrintedValue> {
    let bench = ComputationStudy::benchmark();
    let tgdh = ComputationStudy::tgdh();
    let nishat = ComputationStudy::nishat();
    // Rows have the size before an operation. `reproduce tgdh` covers the join of the second
    // member, because our implementation has no such operation.
    let joined = |members: u32| {
        PrintedValue {
        schemes: &["tgdh"],
        role: "sponsor",
        operation: Some("add"),
        members: (members - 1, members - 1),
        device: "esp8266",
        value: 1e9 * tgdh.number(&format!("join_total_s.m{members}")),
        note: "on an ESP8266: the sponsor's and the members' time and the broadcast together, more than \
               the sponsor's alone"
            .to_owned(),
        ..of_time("S001", "distributed")
    }
    };
    let below = |class, schemes, members, ns| PrintedValue {
        schemes,
        members,
        device: "esp32-micropython",
        value: ns,
        bound: true,
        note: "all schemes and operations, on an ESP32 with MicroPython".to_owned(),
        ..of_time("S002", class)
    };
    // The study prints these two values in a sentence.
    let stored = |schemes, bytes, note: &str| PrintedValue {
        schemes,
        quantity: PrintedQuantity::PermanentBytes,
        members: (2, 55_000),
        value: bytes,
        note: note.to_owned(),
        ..of_time("S002", "hybrid")
    };
    let updated = |part| nishat.number(&format!("seconds.group_update.{part}"));
    let below_ms = 1e6 * bench.number("findings.centralized_member_time_below_ms");
    let below_s = 1e9 * bench.number("findings.distributed_member_time_below_s");
    vec![
        joined(3),
        joined(4),
        joined(5),
        below("centralized", &CENTRALIZED, (2, 55_000), below_ms),
        below("distributed", &DISTRIBUTED, (2, 30), below_s),
        stored(&["lnt"], 30.0, "printed as 0.03 KB, whatever the group's size"),
        stored(
            &BUT_LNT,
            16.0,
            "about that for all hybrid schemes but LNT, whatever the group's size",
        ),
        PrintedValue {
            schemes: &["nishat"],
            operation: Some("add"),
            members: (50, 550),
            value: 1e9 * updated("mean"),
            device: "esp32-pbc",
            note: format!(
                "an update of the group, ± {} s; on an ESP32 with the PBC library",
                updated("error")
            ),
            ..of_time("S004", "centralized")
        },
    ]
}

/// The hybrid schemes of S002 except LNT. S002 prints one figure for all of them for how much a
/// member keeps.
const BUT_LNT: [&str; 6] = ["alohali-r", "dep", "igkmp", "kronos", "marks", "riseg"];

/// Makes the entry for a member's time in a class of schemes, without a value yet.
fn of_time(source: &'static str, class: &'static str) -> PrintedValue {
    PrintedValue {
        source,
        schemes: &[],
        class,
        role: "member",
        operation: None,
        quantity: PrintedQuantity::TimeNs,
        members: (0, 0),
        value: 0.0,
        bound: false,
        device: "",
        note: String::new(),
    }
}
