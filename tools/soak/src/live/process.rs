//! A process, and what it prints.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

/// A process of the group. It is killed when this value is dropped.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    /// Which of its party's processes this is, from 1.
    pub(super) life: u64,
    /// Whether the soak ended it.
    pub(super) was_ended: bool,
    is_paused: bool,
}

/// Whose process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessOwner {
    Broker,
    Device(usize),
    Service,
}

/// Something that a process did.
#[derive(Debug)]
pub(super) struct ProcessOutput {
    pub(super) party: ProcessOwner,
    pub(super) life: u64,
    /// `None`: it has ended.
    pub(super) line: Option<String>,
}

/// Kills all processes of the soak when the soak ends, in whatever way: it sees that a pipe closes.
pub(super) struct Guardian(Child);

impl Guardian {
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", "read nothing; kill -KILL 0"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl Process {
    /// Starts a process. Its lines go to `said`, and to the end of a log.
    pub(super) fn start(
        mut command: Command,
        (party, life): (ProcessOwner, u64),
        guardian: &Guardian,
        log: &Path,
        said: Sender<ProcessOutput>,
    ) -> io::Result<Self> {
        let mut log = OpenOptions::new().create(true).append(true).open(log)?;
        // One pipe keeps the order of standard output and standard error.
        let (output, writer) = io::pipe()?;
        // In the guardian's group: Ctrl-C on the terminal does not reach it, the guardian does.
        command.process_group(guardian.0.id() as i32);
        command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // It has the other ends of the pipe.
        drop(command);
        let input = child.stdin.take();
        let reader = thread::Builder::new().stack_size(STACK);
        reader.spawn(move || {
            let _ = writeln!(log, "--- process {life}");
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                let _ = writeln!(log, "{line}");
                if said.send(ProcessOutput { party, life, line: Some(line) }).is_err() {
                    return;
                }
            }
            let _ = said.send(ProcessOutput { party, life, line: None });
        })?;
        Ok(Self { child, input, life, was_ended: false, is_paused: false })
    }

    /// Writes a line to its standard input. One that has just ended does not read it.
    pub(super) fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}");
        }
    }

    /// Kills it as `kill -9` does. That it has ended is told later.
    pub(super) fn kill(&mut self) {
        self.was_ended = true;
        let _ = self.child.kill();
    }

    /// Asks it to end.
    pub(super) fn terminate(&mut self) {
        self.was_ended = true;
        self.resume();
        self.signal("TERM");
    }

    pub(super) fn pause(&mut self) {
        self.is_paused = true;
        self.signal("STOP");
    }

    pub(super) fn resume(&mut self) {
        if self.is_paused {
            self.is_paused = false;
            self.signal("CONT");
        }
    }

    pub(super) const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Makes all its writes to files fail, as on a full disk, or ends that. Returns whether the
    /// system can do so.
    pub(super) fn fill_disk(&self, is_full: bool) -> bool {
        let limit = if is_full { "--fsize=0:" } else { "--fsize=unlimited:" };
        let mut command = Command::new("prlimit");
        command.args(["--pid", &self.child.id().to_string(), limit]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Waits until it has ended.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.input.take());
        self.child.wait()
    }

    /// Sends a signal. The process is our child and not waited for, so its number is still its own.
    fn signal(&self, name: &str) {
        let mut command = Command::new("kill");
        let _ = command.args([&format!("-{name}"), &self.child.id().to_string()]).status();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A reader needs little: there is one for each member.
const STACK: usize = 128 * 1024;
