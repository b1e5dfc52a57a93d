//! Tries whether a broker lets a client connect, subscribe and publish where its role needs it.
//!
//! A trial has a connection of its own, over the driver that members have. What it publishes is no
//! message of a group: members and services count it as malformed, and do nothing.

use std::collections::VecDeque;
use std::time::Duration;

use groupkey::{MemberId, Recipient};
use rand_chacha::ChaCha20Rng;
use tokio::time::{Instant, sleep};

use crate::driver::{Connection, Quality, Status, Version, run};
use crate::runtime::{Fatal, Input, Output, Runtime};
use crate::store::Publish;
use crate::topics::Topics;

/// What a role does with a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicUse {
    /// It subscribes.
    Subscribe,
    /// It publishes.
    Publish,
    /// It does both, so that it hears its own message.
    Both,
}

/// What a broker does with one use of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicVerdict {
    /// It allows it.
    Allowed,
    /// It does not, for this reason.
    Refused(String),
    /// It acknowledges it, and would acknowledge what it does not allow, too.
    Untold,
}

/// Returns the topics that a service needs. `device` is the name of one of its devices.
pub fn topics_of_a_service(topics: &Topics, device: &str) -> Vec<(String, TopicUse)> {
    vec![
        (topics.join(), TopicUse::Subscribe),
        (topics.of(Recipient::Controller), TopicUse::Subscribe),
        (topics.of(Recipient::Group), TopicUse::Publish),
        (topics.of(Recipient::Member(MemberId(0))), TopicUse::Publish),
        (topics.welcome(device), TopicUse::Publish),
        (topics.epoch(), TopicUse::Both),
        (topics.state(), TopicUse::Both),
    ]
}

/// Returns the topics that a member of a group with a service needs.
pub fn topics_of_a_member(topics: &Topics, name: &str) -> Vec<(String, TopicUse)> {
    vec![
        (topics.epoch(), TopicUse::Subscribe),
        (topics.of(Recipient::Group), TopicUse::Subscribe),
        (topics.of(Recipient::Member(MemberId(0))), TopicUse::Subscribe),
        (topics.welcome(name), TopicUse::Subscribe),
        (topics.join(), TopicUse::Publish),
        (topics.of(Recipient::Controller), TopicUse::Publish),
        (topics.talk(), TopicUse::Both),
    ]
}

/// Returns the topics that a member of a group without a controller needs.
pub fn topics_of_a_peer(topics: &Topics, me: MemberId) -> Vec<(String, TopicUse)> {
    vec![
        (topics.join(), TopicUse::Both),
        (topics.of(Recipient::Group), TopicUse::Both),
        (topics.of(Recipient::Member(me)), TopicUse::Both),
        (topics.talk(), TopicUse::Both),
    ]
}

/// Connects. Returns the status of the connection, or why there is none within the time.
pub async fn try_connection(connection: &Connection, within: Duration) -> Result<Status, String> {
    let trial = run(Trial::default(), connection.clone());
    let mut status = trial.handle.status();
    let decided = status.wait_for(|status| status.connected || status.problem.is_some());
    match tokio::time::timeout(within, decided).await {
        Ok(Ok(status)) if status.connected => Ok(status.clone()),
        Ok(Ok(status)) => Err(status.problem.clone().unwrap_or_default()),
        Ok(Err(_)) | Err(_) => Err(format!("no answer within {} s", within.as_secs())),
    }
}

/// Uses a topic once.
pub async fn try_topic(
    connection: &Connection,
    topic: &str,
    by: TopicUse,
    within: Duration,
) -> TopicVerdict {
    let trial = run(Trial::new(topic, by), connection.clone());
    let deadline = Instant::now() + within;
    loop {
        let seen = trial.handle.call(|trial, _, _| trial.seen).await.unwrap_or_default();
        let status = trial.handle.status().borrow().clone();
        let refusal = status.refusal.clone();
        if let Some(why) = refusal.or_else(|| status.problem.clone().filter(|_| !status.connected))
        {
            return TopicVerdict::Refused(why);
        }
        let tells = connection.version == Version::V5 && status.qos != Quality::AtMostOnce;
        match by {
            TopicUse::Subscribe if status.connected => return TopicVerdict::Allowed,
            TopicUse::Publish if seen.is_acknowledged && tells => return TopicVerdict::Allowed,
            TopicUse::Publish if seen.is_acknowledged => return TopicVerdict::Untold,
            TopicUse::Both if seen.is_heard => return TopicVerdict::Allowed,
            _ if Instant::now() < deadline => sleep(LOOK_AFTER).await,
            TopicUse::Both if seen.is_acknowledged => {
                let why =
                    "the broker takes the message and does not deliver it; check its access list";
                return TopicVerdict::Refused(why.to_owned());
            }
            _ => return TopicVerdict::Refused(format!("no answer within {} s", within.as_secs())),
        }
    }
}

/// Subscribes to a topic, publishes there, or both.
#[derive(Default)]
struct Trial {
    outputs: VecDeque<Output<()>>,
    seen: Seen,
}

/// What came of it.
#[derive(Clone, Copy, Default)]
struct Seen {
    is_acknowledged: bool,
    is_heard: bool,
}

impl Trial {
    fn new(topic: &str, by: TopicUse) -> Self {
        let mut outputs = VecDeque::new();
        if by != TopicUse::Publish {
            outputs.push_back(Output::Subscribe(topic.to_owned()));
        }
        if by != TopicUse::Subscribe {
            let (topic, payload) = (topic.to_owned(), PAYLOAD.to_vec());
            let expiry = Some(EXPIRY_S);
            outputs.push_back(Output::Publish(Publish {
                id: 0,
                topic,
                payload,
                retain: false,
                expiry,
            }));
        }
        Self { outputs, seen: Seen::default() }
    }
}

impl Runtime for Trial {
    type Event = ();

    fn handle(&mut self, input: Input<'_>, _: u64, _: &mut ChaCha20Rng) -> Result<(), Fatal> {
        match input {
            Input::Acknowledged(_) => self.seen.is_acknowledged = true,
            Input::Arrived { payload, .. } => self.seen.is_heard |= payload == PAYLOAD,
            Input::Connected | Input::Tick => {}
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

/// What a trial publishes.
const PAYLOAD: &[u8] = b"groupkey check";

/// How long the broker keeps it for clients that are away, in s.
const EXPIRY_S: u32 = 1;

/// The time between two looks at a trial.
const LOOK_AFTER: Duration = Duration::from_millis(5);
