//! Remarks beside the results.

use std::io::{self, Write};

/// Prints a remark on standard error. If standard error is closed, the remark is dropped.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
