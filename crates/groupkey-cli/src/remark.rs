//! What is said beside the results.

use std::io::{self, Write};

/// Says it on standard error. If that is closed, nobody wants to hear it.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
