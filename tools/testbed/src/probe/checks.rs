//! The checks, in the order in which they are reported.

mod connection;
mod delivery;
mod exactly_once;
mod limits;
mod session;

use super::check::ProbeCheck;

/// All checks. A check without clauses of version 3.1.1 tests a rule that only version 5 has.
pub static CHECKS: &[ProbeCheck] = &[
    ProbeCheck {
        name: "first-packet",
        about: "a client whose first packet is no CONNECT is cut off",
        clauses_v3: Some("[MQTT-3.1.0-1], 4.8"),
        clauses_v5: "[MQTT-3.1.0-1] [MQTT-4.13.1-1]",
        run: connection::first_packet,
    },
    ProbeCheck {
        name: "second-connect",
        about: "a second CONNECT on a connection ends it",
        clauses_v3: Some("[MQTT-3.1.0-2]"),
        clauses_v5: "[MQTT-3.1.0-2]",
        run: connection::second_connect,
    },
    ProbeCheck {
        name: "malformed-length",
        about: "a packet whose length takes five bytes ends the connection",
        clauses_v3: Some("2.2.3, 4.8"),
        clauses_v5: "1.5.5, [MQTT-4.13.1-1]",
        run: connection::malformed_length,
    },
    ProbeCheck {
        name: "announced",
        about: "CONNACK has no value that the standard forbids; reports what the broker can do",
        clauses_v3: None,
        clauses_v5: "3.2.2.3.3, 3.2.2.3.6",
        run: connection::announced,
    },
    ProbeCheck {
        name: "takeover",
        about: "a client that connects twice keeps the second connection only",
        clauses_v3: Some("[MQTT-3.1.4-2]"),
        clauses_v5: "[MQTT-3.1.4-3]",
        run: connection::takeover,
    },
    ProbeCheck {
        name: "will",
        about: "the will is published after a cut, and not after DISCONNECT",
        clauses_v3: Some("[MQTT-3.1.2-8] [MQTT-3.1.2-10]"),
        clauses_v5: "[MQTT-3.1.2-8] [MQTT-3.1.2-10]",
        run: connection::will,
    },
    ProbeCheck {
        name: "session-kept",
        about: "a lasting session is there again, with its subscriptions",
        clauses_v3: Some("[MQTT-3.1.2-4] [MQTT-3.2.2-2]"),
        clauses_v5: "[MQTT-3.1.2-5] [MQTT-3.1.2-23]",
        run: session::kept,
    },
    ProbeCheck {
        name: "session-discarded",
        about: "a clean start ends the session that was there, with its subscriptions",
        clauses_v3: Some("[MQTT-3.1.2-6] [MQTT-3.2.2-1]"),
        clauses_v5: "[MQTT-3.1.2-4] [MQTT-3.2.2-2]",
        run: session::discarded,
    },
    ProbeCheck {
        name: "session-expiry",
        about: "a session that may last 1 s is gone after 3 s",
        clauses_v3: None,
        clauses_v5: "[MQTT-4.1.0-2]",
        run: session::expired,
    },
    ProbeCheck {
        name: "queued",
        about: "messages for a client that is away come when it is back: all, once, in order",
        clauses_v3: Some("[MQTT-3.1.2-5]"),
        clauses_v5: "[MQTT-3.1.2-23] [MQTT-4.5.0-1]",
        run: session::queued,
    },
    ProbeCheck {
        name: "message-expiry",
        about: "a message that may wait 1 s is not delivered after 3 s",
        clauses_v3: None,
        clauses_v5: "[MQTT-3.3.2-5]",
        run: session::message_expiry,
    },
    ProbeCheck {
        name: "lower-qos",
        about: "a message comes at the lower of its QoS and the subscription's (all nine)",
        clauses_v3: Some("[MQTT-3.8.4-6]"),
        clauses_v5: "[MQTT-3.8.4-8]",
        run: delivery::lower_qos,
    },
    ProbeCheck {
        name: "order",
        about: "20 messages under way at once come in order, at each QoS",
        clauses_v3: Some("[MQTT-4.6.0-3] [MQTT-4.6.0-6]"),
        clauses_v5: "[MQTT-4.6.0-3] [MQTT-4.6.0-6]",
        run: delivery::order,
    },
    ProbeCheck {
        name: "retained",
        about: "the last retained message waits for newcomers; an empty one removes it",
        clauses_v3: Some("[MQTT-3.3.1-5] [MQTT-3.3.1-6] [MQTT-3.3.1-8] to [MQTT-3.3.1-11]"),
        clauses_v5: "[MQTT-3.3.1-5] to [MQTT-3.3.1-7] [MQTT-3.3.1-9] [MQTT-3.3.1-12]",
        run: delivery::retained,
    },
    ProbeCheck {
        name: "large-message",
        about: "a message of 256 KiB comes whole, or its sender is cut off and nobody else",
        clauses_v3: Some("2.2.3"),
        clauses_v5: "[MQTT-3.2.2-15]",
        run: limits::large_message,
    },
    ProbeCheck {
        name: "receive-maximum",
        about: "no more messages are under way to a client than it allows",
        clauses_v3: None,
        clauses_v5: "[MQTT-3.3.4-9]",
        run: limits::receive_maximum,
    },
    ProbeCheck {
        name: "packet-maximum",
        about: "a client never gets a packet larger than it allows, and gets the next one",
        clauses_v3: None,
        clauses_v5: "[MQTT-3.1.2-24] [MQTT-3.1.2-25]",
        run: limits::packet_maximum,
    },
    ProbeCheck {
        name: "qos1-repeated",
        about: "a QoS 1 message without PUBACK comes again after a cut, marked as repeated",
        clauses_v3: Some("[MQTT-4.4.0-1] [MQTT-3.3.1-1]"),
        clauses_v5: "[MQTT-4.4.0-1] [MQTT-3.3.1-1]",
        run: session::unacknowledged,
    },
    ProbeCheck {
        name: "qos2-forwarded",
        about: "a QoS 2 message is forwarded once; reports if at PUBLISH or PUBREL",
        clauses_v3: Some("4.3.3, [MQTT-4.3.3-2]"),
        clauses_v5: "4.3.3, [MQTT-4.3.3-8] [MQTT-4.3.3-11]",
        run: exactly_once::forwarded,
    },
    ProbeCheck {
        name: "qos2-cut-before-pubrec",
        about: "cut right after PUBLISH, which is sent again: delivered once",
        clauses_v3: Some("[MQTT-4.3.3-2] [MQTT-4.4.0-1]"),
        clauses_v5: "[MQTT-4.3.3-10] [MQTT-4.4.0-1]",
        run: exactly_once::cut_before_pubrec,
    },
    ProbeCheck {
        name: "qos2-publish-repeated",
        about: "cut after PUBREC, which is lost, PUBLISH is sent again: delivered once",
        clauses_v3: Some("[MQTT-4.3.3-2]"),
        clauses_v5: "[MQTT-4.3.3-10]",
        run: exactly_once::publish_repeated,
    },
    ProbeCheck {
        name: "qos2-cut-after-pubrec",
        about: "cut after PUBREC, then PUBREL: answered, and delivered once",
        clauses_v3: Some("[MQTT-4.3.3-2] [MQTT-4.4.0-1]"),
        clauses_v5: "[MQTT-4.3.3-11] [MQTT-4.4.0-1]",
        run: exactly_once::cut_after_pubrec,
    },
    ProbeCheck {
        name: "qos2-cut-before-pubcomp",
        about: "cut right after PUBREL, which is sent again: answered, and delivered once",
        clauses_v3: Some("[MQTT-4.3.3-2] [MQTT-4.4.0-1]"),
        clauses_v5: "[MQTT-4.3.3-11] [MQTT-4.4.0-1]",
        run: exactly_once::cut_before_pubcomp,
    },
    ProbeCheck {
        name: "qos2-pubrel-repeated",
        about: "PUBREL once more after PUBCOMP is answered, and the connection stays",
        clauses_v3: Some("[MQTT-4.3.3-2]"),
        clauses_v5: "[MQTT-4.3.3-11]",
        run: exactly_once::pubrel_repeated,
    },
    ProbeCheck {
        name: "qos2-identifier-reused",
        about: "after PUBCOMP the same identifier is a new message",
        clauses_v3: Some("4.3.3"),
        clauses_v5: "[MQTT-4.3.3-12]",
        run: exactly_once::identifier_reused,
    },
    ProbeCheck {
        name: "qos2-receiver-cut",
        about: "a receiver that is cut gets PUBLISH again before its PUBREC, and PUBREL after it",
        clauses_v3: Some("[MQTT-4.4.0-1] [MQTT-4.3.3-1]"),
        clauses_v5: "[MQTT-4.4.0-1] [MQTT-4.3.3-6]",
        run: exactly_once::receiver_cut,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_texts_short() {
        let names: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CHECKS.len());
        for check in CHECKS {
            assert!(check.about.len() < 90, "{}", check.name);
        }
    }
}
