//! Standard output. Its errors name their origin, as those of files do.

use std::io::{self, StdoutLock, Write};

/// Standard output, for as long as the command runs.
#[derive(Debug)]
pub(crate) struct StandardOutput(StdoutLock<'static>);

impl StandardOutput {
    pub(crate) fn lock() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

/// Returns an error of the same kind that names standard output.
pub(crate) fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}
