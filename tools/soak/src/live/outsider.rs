//! A stranger at the broker: it records all traffic of the group, and publishes recordings again.

use std::collections::VecDeque;
use std::time::Duration;

use groupkey_mqtt::driver::{Connection, Running, run};
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{Input, Output, Runtime};
use rand_chacha::ChaCha20Rng;
use tokio::runtime::Runtime as Tokio;
use tokio::time::timeout;

use super::files::PREFIX;
use super::report::LiveError;

/// The stranger, and the runtime on which it runs.
pub(super) struct Outsider {
    tokio: Tokio,
    running: Running<MessageRecorder>,
}

impl Outsider {
    pub(super) fn new(port: u16) -> Result<Self, LiveError> {
        let tokio = Tokio::new()?;
        let _guard = tokio.enter();
        let running = run(MessageRecorder::new(), Connection::new("127.0.0.1", port, "stranger"));
        drop(_guard);
        Ok(Self { tokio, running })
    }

    /// Publishes some recordings again, perhaps for the broker to retain.
    pub(super) fn replay(&self, count: u64, selector: u64, retain: bool) {
        self.call(move |recorder| recorder.replay(count, selector, retain));
    }

    /// Returns how many messages it has recorded.
    pub(super) fn recorded(&self) -> u64 {
        self.call(|recorder| recorder.all).unwrap_or(0)
    }

    fn call<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut MessageRecorder) -> T + Send + 'static,
    ) -> Option<T> {
        let called = self.running.handle.call(|recorder, _, _| act(recorder));
        self.tokio.block_on(async { timeout(PATIENCE, called).await.ok().flatten() })
    }
}

struct MessageRecorder {
    recorded: VecDeque<(String, Vec<u8>)>,
    outputs: VecDeque<Output<()>>,
    next: u64,
    all: u64,
}

impl MessageRecorder {
    fn new() -> Self {
        let outputs = VecDeque::from([Output::Subscribe(format!("{PREFIX}/#"))]);
        Self { recorded: VecDeque::new(), outputs, next: 0, all: 0 }
    }

    fn replay(&mut self, count: u64, selector: u64, retain: bool) {
        // A retained message on another topic than the notices' would only come back to this group.
        let notices = format!("{PREFIX}/epoch");
        let fits = |(topic, _): &&(String, Vec<u8>)| !retain || *topic == notices;
        let fitting: Vec<_> = self.recorded.iter().filter(fits).cloned().collect();
        if fitting.is_empty() {
            return;
        }
        for number in 0..count {
            // A large odd factor spreads the choices.
            let place = selector.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let (topic, payload) = fitting[(place % fitting.len() as u64) as usize].clone();
            let publish = Publish { id: self.next, topic, payload, retain, expiry: None };
            self.next += 1;
            self.outputs.push_back(Output::Publish(publish));
        }
    }
}

impl Runtime for MessageRecorder {
    type Event = ();

    fn handle(&mut self, input: Input<'_>, _: u64, _: &mut ChaCha20Rng) -> Result<(), Fatal> {
        if let Input::Arrived { topic, payload } = input {
            self.all += 1;
            if self.recorded.len() == KEPT {
                // Older ones stay, too: each second one that is thinned out.
                let mut number = 0_usize;
                self.recorded.retain(|_| {
                    number += 1;
                    number.is_multiple_of(2)
                });
            }
            self.recorded.push_back((topic.to_owned(), payload.to_vec()));
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<()>>, Fatal> {
        Ok(self.outputs.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        None
    }
}

/// How many recordings are kept at most.
const KEPT: usize = 8_192;

/// The driver answers at once, even without a broker.
const PATIENCE: Duration = Duration::from_secs(5);
