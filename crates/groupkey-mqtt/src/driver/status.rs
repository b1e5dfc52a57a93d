//! The status of a connection, and how it changes.

use super::connection::Quality;
use super::properties::BrokerProperties;

/// The status of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The broker's host and port.
    pub address: String,
    /// The quality of service. It may be lower than that of the [`Connection`](super::Connection).
    pub qos: Quality,
    /// Whether the broker allows no higher quality of service than [`qos`](Self::qos), although a
    /// higher one was asked for.
    pub is_lowered: bool,
    /// What the broker announced. `None` in MQTT 3.1.1, and before the first connection.
    pub announced: Option<BrokerProperties>,
    /// Whether the connection is up and the broker has confirmed all subscriptions.
    pub connected: bool,
    /// How often the driver has connected.
    pub connections: u64,
    /// Why the connection last broke, and what to do about it.
    pub problem: Option<String>,
    /// The last message that the broker finally refused, and the reason. The message is lost. Only
    /// brokers of MQTT 5 report a refusal. Other brokers may acknowledge a message and drop it.
    pub refusal: Option<String>,
    /// The number of events that were lost because the application did not fetch them in time.
    pub lost_events: u64,
}

impl Status {
    /// Returns the changes since the status `before`, in words.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if self.is_lowered && (self.is_lowered, self.qos) != (before.is_lowered, before.qos) {
            changes.push(format!(
                "the broker allows QoS {} at most: this is used in place of the file's",
                self.qos.level()
            ));
        }
        if self.refusal != before.refusal {
            changes.extend(self.refusal.clone());
        }
        if (self.connected, self.connections) != (before.connected, before.connections)
            || self.problem != before.problem
        {
            match (self.connected, &self.problem) {
                (true, _) => changes.push("connected".to_owned()),
                (false, Some(problem)) => {
                    changes.push(format!("not connected to {}: {problem}", self.address));
                }
                (false, None) => {}
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_reported_once() {
        let status = Status { address: "broker:1883".to_owned(), ..Status::default() };
        assert_eq!(status.changes_since(&status), [""; 0]);
        let up = Status { connected: true, connections: 1, ..status.clone() };
        assert_eq!(up.changes_since(&status), ["connected"]);
        let refused = Status { refusal: Some("no".to_owned()), ..up.clone() };
        assert_eq!(refused.changes_since(&up), ["no"]);
        let qos = Quality::AtMostOnce;
        let lowered = Status { qos, is_lowered: true, ..up.clone() };
        let less = "the broker allows QoS 0 at most: this is used in place of the file's";
        assert_eq!(lowered.changes_since(&up), [less]);
        assert_eq!(lowered.changes_since(&lowered), [""; 0]);
        let down = Status { connected: false, problem: Some("cut".to_owned()), ..refused.clone() };
        assert_eq!(down.changes_since(&refused), ["not connected to broker:1883: cut"]);
        assert_eq!(down.changes_since(&up), ["no", "not connected to broker:1883: cut"]);
        let late = Status { lost_events: 1, ..down.clone() };
        assert_eq!(late.changes_since(&down), [""; 0]);
    }
}
