//! Standard output. Its errors name their origin, as those of files do.

use std::io::{self, StdoutLock, Write};

use crate::host::{self, HostNotice};

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

/// Output of a command that may also write files. The files must be complete even if the reader of
/// the output has gone (`| head -1`).
pub(crate) struct BesideFiles<'a> {
    out: &'a mut dyn Write,
    writes_files: bool,
}

impl<'a> BesideFiles<'a> {
    /// Returns the output. If there are no files, a reader that has gone ends the command.
    pub(crate) fn new(out: &'a mut dyn Write, writes_files: bool) -> Self {
        Self { out, writes_files }
    }

    /// Returns what an output without a reader counts for.
    fn unread(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::BrokenPipe if self.writes_files => Ok(()),
            _ => Err(error),
        }
    }
}

impl Write for BesideFiles<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).or_else(|error| self.unread(error).map(|()| bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().or_else(|error| self.unread(error))
    }
}

pub(crate) fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Prints a remark on standard error, or tells it the host. If standard error is closed, the remark is dropped.
pub(crate) fn remark(text: &str) {
    match host::present() {
        Some(host) => host.tell(HostNotice::Remark(text)),
        None => drop(writeln!(io::stderr(), "{text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its reader has gone.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_reader_that_has_gone_ends_only_a_command_without_files() {
        let mut closed = Closed;
        let mut out = BesideFiles::new(&mut closed, true);
        assert!(writeln!(out, "told").and_then(|()| out.flush()).is_ok());
        let mut out = BesideFiles::new(&mut closed, false);
        assert!(writeln!(out, "told").is_err() && out.flush().is_err());
    }
}
