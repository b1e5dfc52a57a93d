//! The status of a connection, and how it changes.

use super::connection::Quality;

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
    /// Whether the connection is up and the broker has confirmed all subscriptions.
    pub connected: bool,
    /// How often the driver has connected.
    pub connections: u64,
    /// Why the connection last broke, and what to do about it.
    pub problem: Option<String>,
    /// The last message that the broker finally refused, and the reason. The message is lost. Only
    /// brokers of MQTT 5 report a refusal. Other brokers may acknowledge a message and drop it.
    pub refusal: Option<String>,
    /// The number of notices that were lost because the application did not fetch them in time.
    pub lost_notices: u64,
}

impl Status {
    /// Returns the changes since the status `before`, in words.
    pub fn news(&self, before: &Self) -> Vec<String> {
        let mut news = Vec::new();
        if self.is_lowered && (self.is_lowered, self.qos) != (before.is_lowered, before.qos) {
            news.push(format!(
                "the broker allows QoS {} at most: this is used in place of the file's",
                self.qos.level()
            ));
        }
        if self.refusal != before.refusal {
            news.extend(self.refusal.clone());
        }
        if (self.connected, self.connections) != (before.connected, before.connections)
            || self.problem != before.problem
        {
            match (self.connected, &self.problem) {
                (true, _) => news.push("connected".to_owned()),
                (false, Some(problem)) => {
                    news.push(format!("not connected to {}: {problem}", self.address));
                }
                (false, None) => {}
            }
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_told_once() {
        let status = Status { address: "broker:1883".to_owned(), ..Status::default() };
        assert_eq!(status.news(&status), [""; 0]);
        let up = Status { connected: true, connections: 1, ..status.clone() };
        assert_eq!(up.news(&status), ["connected"]);
        let refused = Status { refusal: Some("no".to_owned()), ..up.clone() };
        assert_eq!(refused.news(&up), ["no"]);
        let qos = Quality::AtMostOnce;
        let lowered = Status { qos, is_lowered: true, ..up.clone() };
        let less = "the broker allows QoS 0 at most: this is used in place of the file's";
        assert_eq!(lowered.news(&up), [less]);
        assert_eq!(lowered.news(&lowered), [""; 0]);
        let down = Status { connected: false, problem: Some("cut".to_owned()), ..refused.clone() };
        assert_eq!(down.news(&refused), ["not connected to broker:1883: cut"]);
        assert_eq!(down.news(&up), ["no", "not connected to broker:1883: cut"]);
        let late = Status { lost_notices: 1, ..down.clone() };
        assert_eq!(late.news(&down), [""; 0]);
    }
}
