//! How the interface asks what adapts the group's scheme, which is not a part of the service.

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Where the interface asks what adapts the group's scheme.
#[derive(Clone, Debug)]
pub struct Adaptation(mpsc::Sender<Asked>);

/// A question that waits for its answer: the state of the adaptation and what it would do now, or
/// why it cannot tell. `openapi.json` describes the answer.
pub type Asked = oneshot::Sender<Result<Value, String>>;

impl Adaptation {
    /// Returns the side that asks, and the questions for the side that answers.
    pub fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (ask, asked) = mpsc::channel(16);
        (Self(ask), asked)
    }

    /// Returns the answer, or `None` if nobody answers any more.
    pub(super) async fn ask(&self) -> Option<Result<Value, String>> {
        let (answer, answered) = oneshot::channel();
        self.0.send(answer).await.ok()?;
        answered.await.ok()
    }
}
