//! What happened in a rig, for a reader: commands, messages, what an adversary did with them, and who
//! came to which key.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::{Ref, RefCell};

use groupkey::author::parse_header;
use groupkey::error::Error;
use groupkey::protection::Guard;
use groupkey::{Channel, Command, Epoch, Key, MemberId, PartyId, Recipient, Suite};

use crate::rig::state::Rig;
use crate::rig::transit::{Fate, ScheduledDelivery, read};

/// The entries of a run, in order. A copy is the same journal.
#[derive(Clone, Debug, Default)]
pub struct RigJournal(Rc<RefCell<Vec<JournalEntry>>>);

/// Something that happened. Parties are told in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEntry {
    /// A party was given a command.
    Told {
        /// The party.
        who: String,
        /// The command in words.
        command: String,
    },
    /// A party sent a message.
    Sent {
        /// The sender.
        from: String,
        /// The recipient.
        to: String,
        /// What the message is.
        what: String,
        /// The whole message.
        bytes: Vec<u8>,
    },
    /// The adversary held a message back.
    Withheld {
        /// Whom it was on its way to.
        to: String,
        /// What the message is.
        what: String,
    },
    /// The adversary gave a party a message that nobody sent to it like this.
    Planted {
        /// The party.
        to: String,
        /// What the message is.
        what: String,
        /// The message that it replaces, if it does.
        instead_of: Option<String>,
        /// The whole message.
        bytes: Vec<u8>,
    },
    /// A party refused a command or a message.
    Refused {
        /// The party.
        who: String,
        /// Its error.
        why: String,
    },
    /// A party came to another key.
    Learned {
        /// The party.
        who: String,
        /// The key's epoch. It is 0 where keys are of messages.
        epoch: u64,
        /// The key.
        key: [u8; Key::BYTES],
    },
}

impl RigJournal {
    /// Returns the entries so far.
    pub fn entries(&self) -> Ref<'_, [JournalEntry]> {
        Ref::map(self.0.borrow(), Vec::as_slice)
    }

    /// Adds an entry. A rig does that by itself; this is for drivers that are no rig.
    pub fn note(&self, entry: JournalEntry) {
        self.0.borrow_mut().push(entry);
    }
}

impl JournalEntry {
    /// Returns the entry of a message that a party sends.
    pub fn sent(from: String, to: Recipient, guard: Guard, channel: Channel, bytes: &[u8]) -> Self {
        let secretly = if channel == Channel::Confidential { ", in confidence" } else { "" };
        let to = match (to, to.party()) {
            (_, Some(party)) => party.to_string(),
            (Recipient::Subset(subset), _) => format!("subset {}", subset.0),
            _ => "all members".to_owned(),
        };
        Self::Sent { from, to: to + secretly, what: what(guard, bytes), bytes: bytes.to_vec() }
    }

    /// Returns the entry of a command.
    pub fn told(who: String, command: &Command<'_>) -> Self {
        Self::Told { who, command: in_words(command) }
    }

    /// Returns the entry of a refusal.
    pub fn refused(who: String, error: &Error) -> Self {
        Self::Refused { who, why: error.to_string() }
    }

    /// Returns the entry of a key.
    pub fn learned(who: String, (epoch, key): (Epoch, Key)) -> Self {
        Self::Learned { who, epoch: epoch.0, key: *key.as_bytes() }
    }
}

impl Rig {
    /// Writes a journal from now on.
    pub fn record(&mut self, journal: RigJournal) {
        self.journal = Some(journal);
    }

    /// Returns the name of a party in journals. Evicted members listen on.
    pub(super) fn name_of(&self, id: PartyId) -> String {
        match self.seats.get(id).and_then(|seat| seat.acts_as) {
            Some(member) => format!("evicted {member}"),
            None => id.to_string(),
        }
    }

    /// Returns a copy of the key that a party has.
    pub(super) fn copy_of_key(&self, id: PartyId) -> Option<(Epoch, Key)> {
        let held = self.held_key(self.seats.get(id)?)?;
        Some((held.0, held.1.clone()))
    }

    /// Notes what an adversary does with a message, unless it lets the message pass.
    pub(super) fn note_fate(&self, delivery: &ScheduledDelivery, fate: &Fate) {
        let Some(journal) = &self.journal else { return };
        let (to, guard) = (self.name_of(delivery.to), self.settings.protection);
        let sent = || what(guard, &delivery.bytes);
        match fate {
            Fate::Arrives => {}
            Fate::Lost => journal.note(JournalEntry::Withheld { to, what: sent() }),
            Fate::Becomes(bytes) => journal.note(JournalEntry::Planted {
                to,
                what: what(guard, bytes),
                instead_of: Some(sent()),
                bytes: bytes.clone(),
            }),
        }
    }

    /// Notes that an adversary gives a party a message.
    pub(super) fn note_planted(&self, party: PartyId, bytes: &[u8]) {
        let Some(journal) = &self.journal else { return };
        journal.note(JournalEntry::Planted {
            to: self.name_of(party),
            what: what(self.settings.protection, bytes),
            instead_of: None,
            bytes: bytes.to_vec(),
        });
    }
}

/// Returns a message in words: its operation, kind and epoch, and who sent it.
fn what(guard: Guard, bytes: &[u8]) -> String {
    // The header comes first, so it is there even if the tag is another suite's.
    let read = read(Suite::Standard, guard, bytes).or_else(|| parse_header(bytes).ok());
    let Some((header, _)) = read else { return "bytes that are no message".to_owned() };
    let (operation, kind) = (header.operation.name(), header.kind);
    format!("{operation} {kind} of epoch {} from {}", header.epoch, header.sender)
}

fn in_words(command: &Command<'_>) -> String {
    match command {
        Command::Add(member) => format!("add member {member}"),
        Command::Batch { joining, leaving } => {
            format!("add members {}, evict members {}", list(joining), list(leaving))
        }
        Command::CatchUp => "ask for what was missed".to_owned(),
        Command::Create(members) => format!("make a group of members {}", list(members)),
        Command::Enroll(members) => format!("give members {} their own keys", list(members)),
        Command::Grant { member, first, last } => {
            format!("promise member {member} the keys of epochs {first} to {last}")
        }
        Command::Merge { members, .. } => format!("merge with members {}", list(members)),
        Command::Partition(members) => format!("go on without members {}", list(members)),
        Command::Rekey => "begin a new period".to_owned(),
        Command::Remove(member) => format!("evict member {member}"),
        Command::Send => "begin a message".to_owned(),
    }
}

fn list(members: &[MemberId]) -> String {
    members.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;
    use crate::rig::Settings;

    /// Who has the key follows from the journal, and what the adversary did stands in it.
    #[test]
    fn a_journal_has_messages_keys_and_what_the_adversary_did() {
        let journal = RigJournal::default();
        let skdc = scheme("skdc").expect("in the catalogue");
        let mut rig = Rig::new(skdc, Settings { latency: 0, ..Settings::default() });
        rig.record(journal.clone());
        rig.create(3).expect("it is made");
        let deaf = PartyId::Member(MemberId(2));
        rig.intercept(move |transit| match transit.to == deaf {
            true => Fate::Lost,
            false => Fate::Arrives,
        });
        rig.remove(1).expect("it leaves");
        rig.inject(deaf, &[0; 40]).expect_err("it is no message");
        let entries = journal.entries();
        let has = |entry: JournalEntry| entries.contains(&entry);
        let command = "evict member 1".to_owned();
        assert!(has(JournalEntry::Told { who: "controller".to_owned(), command }));
        let of = |party: &str, number| {
            let key = |entry: &JournalEntry| match entry {
                JournalEntry::Learned { who, epoch, key } if who == party && *epoch == number => {
                    Some(*key)
                }
                _ => None,
            };
            entries.iter().find_map(key)
        };
        assert!(of("member 0", 2).is_some());
        assert_eq!(of("member 0", 2), of("controller", 2));
        assert_eq!((of("evicted member 1", 2), of("member 2", 2)), (None, None));
        let is_withheld = |entry: &&JournalEntry| matches!(entry, JournalEntry::Withheld { .. });
        assert!(entries.iter().any(|entry| is_withheld(&entry)));
        assert!(entries.iter().any(|entry| matches!(
            entry,
            JournalEntry::Planted { to, instead_of: None, .. } if to == "member 2"
        )));
        let sent = entries.iter().find_map(|entry| match entry {
            JournalEntry::Sent { from, bytes, .. } if from == "controller" => Some(bytes.len()),
            _ => None,
        });
        assert!(sent.is_some_and(|length| length > 20));
    }
}
