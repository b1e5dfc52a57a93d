//! A store in one file, built on redb. It is transactional, and a change is durable when its commit
//! returns.

use std::fs::OpenOptions;
use std::path::Path;

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition};

use crate::publish::Publish;
use crate::store::{Change, Queued, Saved, Store, StoreError};

/// A store in a file that only its owner may read.
#[derive(Debug)]
pub struct DiskStore {
    database: Database,
}

impl DiskStore {
    /// Opens the file, or creates it with mode 0600. Only one process can have it open.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(failed)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.metadata().map_err(failed)?.permissions().mode();
            if mode & 0o077 != 0 {
                let path = path.display();
                return Err(StoreError::Failed(format!(
                    "others may read {path}, which holds keys: chmod 600 {path}"
                )));
            }
        }
        let database = Database::builder().create_file(file).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => {
                StoreError::Failed("another groupkey serve has it open".to_owned())
            }
            error => failed(error),
        })?;
        Ok(Self { database })
    }
}

impl Store for DiskStore {
    fn load(&mut self) -> Result<Saved, StoreError> {
        // Creates the tables in a new file.
        let transaction = self.database.begin_write().map_err(failed)?;
        transaction.open_table(LOG).map_err(failed)?;
        transaction.open_table(QUEUE).map_err(failed)?;
        transaction.open_table(NEXT).map_err(failed)?;
        transaction.commit().map_err(failed)?;

        let transaction = self.database.begin_read().map_err(failed)?;
        let mut saved = Saved::default();
        let log = transaction.open_table(LOG).map_err(failed)?;
        for row in log.iter().map_err(failed)? {
            let (number, entry) = row.map_err(failed)?;
            if number.value() != saved.entries.len() as u64 {
                return Err(StoreError::Unreadable);
            }
            saved.entries.push(entry.value().to_vec());
        }
        let queue = transaction.open_table(QUEUE).map_err(failed)?;
        for row in queue.iter().map_err(failed)? {
            let (id, queued) = row.map_err(failed)?;
            let id = id.value();
            let Queued { topic, payload, retain, expiry } =
                minicbor::decode(queued.value()).map_err(|_| StoreError::Unreadable)?;
            saved.queue.insert(id, Publish { id, topic, payload, retain, expiry });
        }
        let next = transaction.open_table(NEXT).map_err(failed)?;
        saved.next = next.get(()).map_err(failed)?.map_or(0, |next| next.value());
        Ok(saved)
    }

    fn commit(&mut self, change: &Change) -> Result<(), StoreError> {
        let transaction = self.database.begin_write().map_err(failed)?;
        {
            let mut log = transaction.open_table(LOG).map_err(failed)?;
            for (number, entry) in (change.first..).zip(&change.entries) {
                log.insert(number, entry.as_slice()).map_err(failed)?;
            }
            let mut queue = transaction.open_table(QUEUE).map_err(failed)?;
            for publish in &change.queued {
                let Publish { id, topic, payload, retain, expiry } = publish.clone();
                let queued = minicbor::to_vec(Queued { topic, payload, retain, expiry })
                    .map_err(|_| StoreError::Unreadable)?;
                queue.insert(id, queued.as_slice()).map_err(failed)?;
            }
            for &id in &change.acknowledged {
                queue.remove(id).map_err(failed)?;
            }
            if let Some(last) = change.queued.last() {
                let mut next = transaction.open_table(NEXT).map_err(failed)?;
                next.insert((), last.id + 1).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }
}

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const QUEUE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("queue");
const NEXT: TableDefinition<'_, (), u64> = TableDefinition::new("next");

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}
