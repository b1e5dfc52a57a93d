//! Long work for Python: on a thread of its own, without the interpreter's lock, with progress and
//! Ctrl-C.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use groupkey_cli::laboratory::{CommandFailure, FailureKind};
use groupkey_cli::{Host, HostNotice};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

/// Does some work while other Python threads run. From the first news on `progress` is called with what
/// is done, what there is in all, and the unit, every [`PAUSE`]. A signal whose handler
/// raises stops the work, and so does a `progress` or a `watch` that raises; what was raised is raised.
///
/// Returns the result and the remarks that were made.
pub(crate) fn apart<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    watch: &dyn Fn() -> PyResult<()>,
    work: impl FnOnce(&Host) -> T + Send,
) -> PyResult<(T, Vec<String>)> {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let ear = Arc::clone(&heard);
    let host = Host::new(move |notice| {
        let mut heard = ear.lock().unwrap_or_else(PoisonError::into_inner);
        match notice {
            HostNotice::Progress { done, total, unit } => {
                heard.progress = Some((done, total, unit.to_owned()));
            }
            HostNotice::Remark(text) => heard.remarks.push(text.to_owned()),
        }
    });
    let tell = || -> PyResult<()> {
        py.check_signals()?;
        watch()?;
        let news = heard.lock().unwrap_or_else(PoisonError::into_inner).progress.clone();
        if let (Some(progress), Some(news)) = (progress, news) {
            progress.call1(news)?;
        }
        Ok(())
    };
    let (finished, result) = mpsc::channel();
    let result = Mutex::new(result);
    let mut raised = None;
    let done = thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK);
        let host = &host;
        let worker = worker.spawn_scoped(scope, move || {
            // Nobody listens any more only if the process ends.
            let _ = finished.send(work(host));
        });
        let worker = worker.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        loop {
            match py.detach(|| {
                result.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PAUSE)
            }) {
                Ok(done) => break Ok(done),
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    raised = tell().err();
                    if raised.is_some() {
                        host.stop();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The panic is told on standard error; it is a fault of groupkey, not of the
                    // caller.
                    let _ = worker.join();
                    break Err(PyRuntimeError::new_err("a fault in groupkey: please report it"));
                }
            }
        }
    });
    let done = done.or_else(|fault| watch().and(Err(fault)))?;
    match raised {
        Some(error) => Err(error),
        None => {
            tell()?;
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            Ok((done, std::mem::take(&mut heard.remarks)))
        }
    }
}

/// Returns the exception for a failure: a class of `groupkey.errors`, with the message and its
/// remedy.
pub(crate) fn raised(py: Python<'_>, failure: CommandFailure) -> PyErr {
    let CommandFailure { kind, message, help } = failure;
    let class = match kind {
        FailureKind::Input => "InputError",
        FailureKind::Running => "RunError",
        FailureKind::Interrupted => return PyKeyboardInterrupt::new_err(message),
    };
    let error = py
        .import("groupkey.errors")
        .and_then(|errors| errors.getattr(class)?.call1((message, help)));
    error.map_or_else(|error| error, PyErr::from_value)
}

/// Returns the exception for wrong arguments or a wrong file.
pub(crate) fn input_error(py: Python<'_>, message: String, help: Option<&str>) -> PyErr {
    let help = help.map(str::to_owned);
    raised(py, CommandFailure { kind: FailureKind::Input, message, help })
}

/// What the work said and Python has not heard.
#[derive(Default)]
struct Heard {
    progress: Option<(usize, usize, String)>,
    remarks: Vec<String>,
}

/// How often signals and progress are looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// What the first thread of a program has by default on Linux, where the command does this work.
const STACK: usize = 8 << 20;
