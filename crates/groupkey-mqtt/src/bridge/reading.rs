//! What a station is, and has counted, when somebody asks.

use tokio::sync::{mpsc, oneshot};

use super::counters::BridgeCounters;
use crate::counters::Counters;

/// A station at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationReading {
    /// What the bridge has counted.
    pub counters: BridgeCounters,
    /// How many messages wait for a confirmation.
    pub waiting: usize,
    /// The epoch whose key the member has; `None` before it has one.
    pub epoch: Option<u64>,
    /// Whether the member may say something: it has a key, and knows of no later one.
    pub may_speak: bool,
    /// What the member took and refused of the group's messages.
    pub messages: Counters,
    /// The connection to the group's broker.
    pub group: SideReading,
    /// The connection to the local broker.
    pub local: SideReading,
}

/// A connection of a station at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideReading {
    /// Whether it is made, with all subscriptions.
    pub is_connected: bool,
    /// How often it was made.
    pub connections: u64,
}

/// Asks a station for its reading.
#[derive(Clone, Debug)]
pub struct StationProbe(mpsc::Sender<oneshot::Sender<StationReading>>);

/// Where a station gets these questions.
#[derive(Debug)]
pub struct StationQuestions(mpsc::Receiver<oneshot::Sender<StationReading>>);

impl StationProbe {
    /// Creates a probe, and the other end for the station.
    pub fn new() -> (Self, StationQuestions) {
        let (asks, asked) = mpsc::channel(QUESTIONS);
        (Self(asks), StationQuestions(asked))
    }

    /// Returns the station's reading. Returns `None` if the station has ended.
    pub async fn read(&self) -> Option<StationReading> {
        let (answer, reading) = oneshot::channel();
        self.0.send(answer).await.ok()?;
        reading.await.ok()
    }
}

impl StationQuestions {
    /// Returns the next question. Waits for ever if nobody can ask any more.
    pub(crate) async fn next(&mut self) -> oneshot::Sender<StationReading> {
        match self.0.recv().await {
            Some(question) => question,
            None => std::future::pending().await,
        }
    }
}

/// How many questions wait at once.
const QUESTIONS: usize = 8;
