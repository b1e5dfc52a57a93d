//! What happens at a member, in words and as JSON. `groupkey member` and `groupkey device run` report
//! the same events.

use std::io::{self, Write};

use groupkey_mqtt::driver::now;
use groupkey_mqtt::keyring::hex;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::base64::base64;

/// An event that a member reports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EventLine<'a> {
    Connected,
    /// The connection broke, or was not made, for this reason.
    Lost(&'a str),
    Identity(&'a str),
    Joined {
        member: u32,
        founded: u64,
    },
    /// The member started again, with the membership that it had.
    Resumed {
        member: u32,
        founded: u64,
    },
    /// The membership cannot be kept or read, for this reason.
    Unkept(&'a str),
    Changed {
        scheme: &'a str,
        founded: u64,
    },
    /// The group has this later epoch, and the member asks for its key.
    Behind(u64),
    /// For too long nothing has proved that the key is the latest, or something has again.
    Proven(bool),
    Epoch(u64),
    /// The member sends under the key of this epoch, which has waited.
    Active(u64),
    /// A key for another protocol, which follows from the key of this epoch.
    Exported {
        epoch: u64,
        label: &'a str,
        key: Zeroizing<Vec<u8>>,
    },
    Heard {
        member: u32,
        /// The epoch whose key encrypted the message. A device on a board does not tell it.
        epoch: Option<u64>,
        content: Vec<u8>,
    },
    Said(bool),
    /// The member is not in the group yet.
    Outside {
        reason: &'a str,
        /// What can be wrong, and what to do.
        advice: &'a str,
    },
    /// The group has gone on, and the member joins again.
    Again,
    Evicted,
    /// Bytes that a device's program needs: heap and stack at most since its start.
    Memory {
        flash: u64,
        statics: u64,
        heap: u64,
        stack: u64,
    },
    /// Messages that a device has taken, has refused, and had no room for.
    Counters {
        taken: u64,
        refused: u64,
        dropped: u64,
    },
    /// Anything else about the connection.
    Status(&'a str),
    /// Anything else that a device prints, such as the reason of a failure.
    Other(&'a str),
}

impl EventLine<'_> {
    /// Tells the event: as one JSON object on standard output, or in words. Of those, only what the
    /// others said is on standard output.
    pub(crate) fn tell(&self, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
        match as_json {
            true => writeln!(out, "{}", timed(self.object()))?,
            false => self.print(out)?,
        }
        out.flush()
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Heard { member, content, .. } => {
                writeln!(out, "{member}: {}", printable(content))?
            }
            Self::Exported { epoch, label, key } => {
                let key = Zeroizing::new(hex(key));
                writeln!(out, "export {label} {epoch} {}", *key)?;
            }
            Self::Connected => eprintln!("connected"),
            Self::Lost(why) => eprintln!("not connected: {why}"),
            Self::Identity(public) => eprintln!("identity {public}"),
            // Epochs begin anew with each founding.
            Self::Joined { member, founded } => eprintln!("member {member}\nfounding {founded}"),
            Self::Resumed { member, founded } => {
                eprintln!("member {member}, as before\nfounding {founded}");
            }
            Self::Unkept(why) => {
                eprintln!("the membership is not kept, so a restart will change the key: {why}");
            }
            Self::Changed { scheme, founded } => {
                eprintln!("the group's scheme is {scheme} now\nfounding {founded}");
            }
            Self::Behind(epoch) => {
                eprintln!("behind: the group is in epoch {epoch}; asking for its key");
            }
            Self::Proven(false) => eprintln!(
                "nothing sent from now on: the service has not said for max_key_age_s that the key is the latest"
            ),
            Self::Proven(true) => eprintln!("the service has said that the key is the latest"),
            Self::Epoch(epoch) => eprintln!("epoch {epoch}"),
            Self::Active(epoch) => eprintln!("sending under epoch {epoch}"),
            Self::Said(true) | Self::Evicted => {}
            Self::Said(false) => eprintln!("not said: the device has no key at the moment"),
            Self::Outside { advice, .. } => eprintln!("not in the group yet: {advice}"),
            Self::Again => eprintln!("the group has gone on without us: joining again"),
            Self::Memory { flash, statics, heap, stack } => eprintln!(
                "memory: {flash} bytes of flash, {statics} of statics; at most {heap} of heap and \
                 {stack} of stack"
            ),
            Self::Counters { taken, refused, dropped } => {
                eprintln!("messages: {taken} taken, {refused} refused, {dropped} too long to send");
            }
            Self::Status(line) => eprintln!("{line}"),
            Self::Other(line) => eprintln!("device: {line}"),
        }
        Ok(())
    }

    fn object(&self) -> Value {
        match self {
            Self::Connected => json!({ "event": "connected" }),
            Self::Lost(why) => json!({ "event": "lost", "reason": why }),
            Self::Identity(public) => json!({ "event": "identity", "public": public }),
            Self::Joined { member, founded } => {
                json!({ "event": "joined", "member": member, "founded": founded })
            }
            Self::Resumed { member, founded } => {
                json!({ "event": "resumed", "member": member, "founded": founded })
            }
            Self::Unkept(why) => json!({ "event": "unkept", "reason": why }),
            Self::Changed { scheme, founded } => {
                json!({ "event": "changed", "scheme": scheme, "founded": founded })
            }
            Self::Behind(epoch) => json!({ "event": "behind", "epoch": epoch }),
            Self::Proven(proven) => json!({ "event": if *proven { "proven" } else { "unproven" } }),
            Self::Epoch(epoch) => json!({ "event": "epoch", "epoch": epoch }),
            Self::Active(epoch) => json!({ "event": "active", "epoch": epoch }),
            Self::Exported { epoch, label, key } => {
                json!({ "event": "exported", "epoch": epoch, "label": label, "key": hex(key) })
            }
            Self::Heard { member, epoch, content } => json!({
                "event": "heard",
                "member": member,
                "epoch": epoch,
                "base64": base64(content),
                "text": str::from_utf8(content).ok(),
            }),
            Self::Said(said) => json!({ "event": if *said { "said" } else { "not said" } }),
            Self::Outside { reason, .. } => json!({ "event": "outside", "reason": reason }),
            Self::Again => json!({ "event": "joins again" }),
            Self::Evicted => json!({ "event": "evicted" }),
            Self::Memory { flash, statics, heap, stack } => json!({
                "event": "memory",
                "flash_bytes": flash,
                "static_bytes": statics,
                "heap_bytes": heap,
                "stack_bytes": stack,
            }),
            Self::Counters { taken, refused, dropped } => {
                json!({ "event": "counters", "taken": taken, "refused": refused, "dropped": dropped })
            }
            Self::Status(line) => json!({ "event": "status", "line": line }),
            Self::Other(line) => json!({ "event": "other", "line": line }),
        }
    }
}

/// Adds the time at which the event is told, in ms since 1970.
fn timed(mut object: Value) -> Value {
    object["time"] = (now() / MILLISECOND).into();
    object
}

/// A millisecond, in ns.
const MILLISECOND: u64 = 1_000_000;

/// Returns a message as text on one line. Control characters and others that a terminal does not
/// show are escaped. What is no UTF-8 is lost: JSON has all of it.
fn printable(content: &[u8]) -> String {
    let mut shown = String::new();
    for character in String::from_utf8_lossy(content).chars() {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(content: &[u8], as_json: bool) -> String {
        let mut out = Vec::new();
        let heard = EventLine::Heard { member: 3, epoch: Some(7), content: content.to_vec() };
        heard.tell(as_json, &mut out).expect("there is memory");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn a_message_is_told_as_it_was_said() {
        let json = br#"{"t":21.5,"note":"it's \\ here"}"#;
        assert_eq!(told(json, false), format!("3: {}\n", String::from_utf8_lossy(json)));
        assert_eq!(told("Glätte 🧊".as_bytes(), false), "3: Glätte 🧊\n");
        assert_eq!(told(b"\x1b[2J\r\n\x07\0", false), "3: \\u{1b}[2J\\r\\n\\u{7}\\0\n");
        assert_eq!(told("\u{202e}\u{200b}".as_bytes(), false), "3: \\u{202e}\\u{200b}\n");
    }

    #[test]
    fn json_has_every_byte() {
        let object = |content: &[u8]| -> Value {
            serde_json::from_str(&told(content, true)).expect("it is JSON on one line")
        };
        let heard = object(b"it's\n\"here\"");
        assert_eq!((&heard["event"], &heard["member"]), (&json!("heard"), &json!(3)));
        assert_eq!(heard["text"], "it's\n\"here\"");
        let binary = object(b"\x00\x01\xff");
        assert_eq!((&binary["base64"], &binary["text"]), (&json!("AAH/"), &Value::Null));
        assert_eq!(binary["epoch"], 7);
        // It is later than this line was written.
        assert!(binary["time"].as_u64().is_some_and(|time| time > 1_700_000_000_000));
    }
}
