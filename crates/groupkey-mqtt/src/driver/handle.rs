//! An application's access to a running runtime.

use std::fmt;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::status::Status;
use crate::Service;
use crate::runtime::{Fatal, Runtime};
use crate::service::OperationError;

/// A handle with which an application calls a running runtime. The runtime ends when all its
/// handles are dropped.
pub struct Handle<R> {
    pub(super) calls: mpsc::Sender<Call<R>>,
    pub(super) status: watch::Receiver<Status>,
}

/// A running runtime.
#[derive(Debug)]
pub struct Running<R: Runtime> {
    /// The handle with which an application calls the runtime.
    pub handle: Handle<R>,
    /// What the runtime reports to the application.
    pub events: mpsc::Receiver<R::Event>,
    /// The result with which the runtime ends.
    pub end: JoinHandle<Result<(), Fatal>>,
}

impl<R> Handle<R> {
    /// Calls the runtime with the time (ns since 1970) and fresh randomness. Returns `None` if the
    /// runtime has ended.
    pub async fn call<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut R, u64, &mut ChaCha20Rng) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, result) = oneshot::channel();
        let call: Call<R> = Box::new(move |runtime, now, rng| {
            let _ = answer.send(act(runtime, now, rng));
        });
        self.calls.send(call).await.ok()?;
        result.await.ok()
    }

    /// Returns a receiver of the connection's status and its changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }
}

impl Handle<Service> {
    /// Carries out an operation. A service that has just begun hears the broker's notice first, so
    /// the operation is tried for up to 2 s. Returns `None` if the service has ended.
    pub async fn operate<T: Send + 'static>(
        &self,
        operation: impl Fn(&mut Service, u64, &mut ChaCha20Rng) -> Result<T, OperationError>
        + Clone
        + Send
        + 'static,
    ) -> Option<Result<T, OperationError>> {
        for _ in 0..TRIALS {
            let done = self.call(operation.clone()).await?;
            if !matches!(done, Err(OperationError::Unconfirmed)) {
                return Some(done);
            }
            sleep(PAUSE).await;
        }
        Some(Err(OperationError::Unconfirmed))
    }
}

/// How often an operation is tried while the service waits for the notice, and the time between.
const TRIALS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// A call that a handle passes to the driver.
pub(super) type Call<R> = Box<dyn FnOnce(&mut R, u64, &mut ChaCha20Rng) + Send>;

impl<R> Clone for Handle<R> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone(), status: self.status.clone() }
    }
}

impl<R> fmt::Debug for Handle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("status", &*self.status.borrow()).finish_non_exhaustive()
    }
}
