//! How a connection is, and what is new about it.

/// How the connection is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The broker's host and port.
    pub address: String,
    /// Whether it is up, with all subscriptions made.
    pub connected: bool,
    /// How often it was made.
    pub connections: u64,
    /// What was wrong when it broke last, and what to do about it.
    pub problem: Option<String>,
    /// The last message that the broker refused for good, and why. Nobody gets it. Only brokers of MQTT 5
    /// say so: others may acknowledge a message, and drop it.
    pub refusal: Option<String>,
    /// Notices that the application did not fetch in time, and that are lost.
    pub lost_notices: u64,
}

impl Status {
    /// What is new since the status `before`.
    pub fn news(&self, before: &Self) -> Vec<String> {
        let mut news = Vec::new();
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
        let down = Status { connected: false, problem: Some("cut".to_owned()), ..refused.clone() };
        assert_eq!(down.news(&refused), ["not connected to broker:1883: cut"]);
        assert_eq!(down.news(&up), ["no", "not connected to broker:1883: cut"]);
        let late = Status { lost_notices: 1, ..down.clone() };
        assert_eq!(late.news(&down), [""; 0]);
    }
}
