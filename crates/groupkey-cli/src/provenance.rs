//! Where results come from: the commit and the machine. Never a host name, a user or a path.

use std::{fs, thread};

pub(crate) const COMMIT: &str = env!("GROUPKEY_COMMIT");

/// Returns the processor and the number of cores that may be used.
pub(crate) fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // Processors of other families than x86 have no model name there.
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name);
    format!("{model}, {cores} cores")
}
