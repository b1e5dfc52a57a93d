//! The trail in answers. Its records have all that their hashes cover, so a client can check them.

use serde::{Deserialize, Serialize};

use crate::Service;
use crate::keyring::{bytes_from_hex, hex};
use crate::service::trail::{TrailOperation, TrailRecord};

/// A portion of the trail.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditView {
    /// The records, oldest first.
    pub records: Vec<AuditRecordView>,
    /// The number of the next record, if there are more.
    pub next: Option<u64>,
    /// The hash of the last record of all, in hexadecimal.
    pub head: String,
}

/// A record of the trail.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditRecordView {
    /// Its number.
    pub number: u64,
    /// When it was made.
    pub at_unix_ms: u64,
    /// Who caused it: `operator`'s and other tokens by `token:NAME`, `terminal`, `policy:RULE`,
    /// `devices`, `service`, `program`.
    pub actor: String,
    /// What was done.
    pub operation: String,
    /// What it was done to.
    pub subject: Option<String>,
    /// The epoch after it.
    pub epoch: u64,
    /// Why it was not done, or not all of it.
    pub refusal: Option<String>,
    /// The hash of the record before it, in hexadecimal.
    pub previous: String,
    /// Its own hash, in hexadecimal.
    pub hash: String,
}

impl AuditView {
    pub(super) fn of(service: &Service, since: u64, limit: usize) -> Self {
        let trail = service.trail();
        let mut records = trail.since(since);
        let portion = records.by_ref().take(limit).map(AuditRecordView::of).collect();
        let next = records.next().map(|record| record.number);
        Self { records: portion, next, head: hex(&trail.head()) }
    }
}

impl AuditRecordView {
    fn of(record: &TrailRecord) -> Self {
        let TrailRecord { number, at, actor, operation, subject, epoch, refusal, previous } =
            record;
        Self {
            number: *number,
            at_unix_ms: *at,
            actor: actor.to_string(),
            operation: operation.name().to_owned(),
            subject: subject.clone(),
            epoch: *epoch,
            refusal: refusal.clone(),
            previous: hex(previous),
            hash: hex(&record.hash()),
        }
    }

    /// Computes the record's hash anew from what it says. Returns `None` if it says something that no
    /// service writes.
    pub fn computed_hash(&self) -> Option<String> {
        let operation = TrailOperation::ALL.into_iter().find(|it| it.name() == self.operation)?;
        let record = TrailRecord {
            number: self.number,
            at: self.at_unix_ms,
            actor: self.actor.parse().ok()?,
            operation,
            subject: self.subject.clone(),
            epoch: self.epoch,
            refusal: self.refusal.clone(),
            previous: bytes_from_hex(&self.previous)?,
        };
        Some(hex(&record.hash()))
    }
}
