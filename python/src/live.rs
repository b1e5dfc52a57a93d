//! Live members, peers and services for Python's asyncio. They run on threads of their own; what
//! happens is handed to a Python function, and what a call gives to another one, on these threads.

mod member;
mod service;

use std::sync::{Arc, OnceLock};

use groupkey_mqtt::driver::{Running, Status};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};

pub(crate) use self::member::LiveMember;
pub(crate) use self::service::LiveService;

/// Starts a broker in this process, on 127.0.0.1, that keeps nothing: for trials and tests.
/// Returns its port.
#[pyfunction]
pub(crate) fn broker() -> PyResult<u16> {
    Ok(groupkey_testbed::broker::start()?.port())
}

/// What happened: a word for it, and what it is about.
#[derive(Clone, Debug, Default)]
struct Happening {
    what: &'static str,
    epoch: Option<u64>,
    member: Option<u32>,
    content: Option<Vec<u8>>,
    text: Option<String>,
}

/// A Python function that is called with what happens, and how much of it may wait for the
/// program.
struct Listener {
    hear: Py<PyAny>,
    room: Arc<Semaphore>,
}

impl Listener {
    fn new(hear: Py<PyAny>) -> Self {
        Self { hear, room: Arc::new(Semaphore::new(WAITING)) }
    }

    /// Tells what happens, until the runtime ends. `happening` says what an event is.
    async fn listen<R>(self, running: Running<R>, happening: fn(R::Event) -> Happening)
    where
        R: groupkey_mqtt::Runtime + Send + 'static,
    {
        let Running { handle, mut events, end } = running;
        let mut status = handle.status();
        // The runtime ends when the last handle is dropped: this one must not keep it.
        drop(handle);
        let (mut known, mut connects) = (Status::default(), true);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.tell(happening(event)).await,
                    None => break,
                },
                changed = status.changed(), if connects => match changed {
                    Ok(()) => self.tell_status(&mut status, &mut known).await,
                    Err(_) => connects = false,
                },
            }
        }
        let text = match end.await {
            Ok(Err(fatal)) => Some(fatal.to_string()),
            _ => None,
        };
        self.tell(Happening { what: "ended", text, ..Happening::default() }).await;
    }

    /// Calls the function, once there is room: the program takes what waits at its own speed.
    async fn tell(&self, happening: Happening) {
        if let Ok(permit) = self.room.acquire().await {
            permit.forget();
        }
        let Happening { what, epoch, member, content, text } = happening;
        // An interpreter that ends hears nothing any more.
        Python::try_attach(|py| {
            let content = content.map(|content| PyBytes::new(py, &content));
            // The function puts it into a queue. If it cannot, its loop is closed.
            let _ = self.hear.call1(py, (what, epoch, member, content, text));
        });
    }

    async fn tell_status(&self, status: &mut watch::Receiver<Status>, known: &mut Status) {
        let now = status.borrow_and_update().clone();
        for change in now.changes_since(known) {
            let what = if change == "connected" { "connected" } else { "status" };
            self.tell(Happening { what, text: Some(change), ..Happening::default() }).await;
        }
        *known = now;
    }
}

/// Gives a result to the Python function that waits for it: a value, or the words of a refusal.
fn answer<T>(done: Py<PyAny>, result: Result<T, String>)
where
    T: for<'py> IntoPyObject<'py>,
{
    Python::try_attach(|py| {
        let _ = match result {
            Ok(value) => done.call1(py, (value, None::<String>)),
            Err(problem) => done.call1(py, (None::<u64>, Some(problem))),
        };
    });
}

/// Returns the threads that all members and services share.
fn threads() -> PyResult<&'static Runtime> {
    static THREADS: OnceLock<Runtime> = OnceLock::new();
    if let Some(threads) = THREADS.get() {
        return Ok(threads);
    }
    let threads = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let threads = threads.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(THREADS.get_or_init(|| threads))
}

/// What was said once the runtime has ended.
const ENDED: &str = "it has ended";

/// How much may wait for the program; what comes then waits in the driver, which keeps 4,096
/// events and counts those that it loses.
const WAITING: usize = 1_024;
