//! Memberships in one redb file: for a host with many members, as a gateway is for sensors.

use std::path::Path;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use sha2::{Digest, Sha256};

use super::guarded_database::Guarded;
use super::{CACHE_BYTES, existing, failed};
use crate::store::{MembershipStore, StoreError};

/// The memberships of several devices in one file. Each is encrypted under a key of its device's identity.
#[derive(Clone)]
pub struct MembershipDatabase(Arc<Guarded>);

/// The membership of one device in a [`MembershipDatabase`].
#[derive(Clone)]
pub struct StoredMembership {
    database: Arc<Guarded>,
    device: String,
}

impl MembershipDatabase {
    /// Opens the file, or creates it with mode 0600. Only one process can have it open.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self(Arc::new(Guarded::open(path, digest, CACHE_BYTES)?)))
    }

    /// Returns the membership of the device with this name.
    pub fn of(&self, device: &str) -> StoredMembership {
        StoredMembership { database: self.0.clone(), device: device.to_owned() }
    }
}

impl StoredMembership {
    fn write(&self, membership: Option<&[u8]>) -> Result<(), StoreError> {
        self.database.call(|database| {
            let transaction = database.begin_write().map_err(failed)?;
            {
                let mut table = transaction.open_table(MEMBERSHIPS).map_err(failed)?;
                let device = self.device.as_str();
                match membership {
                    Some(membership) => table.insert(device, membership).map(drop),
                    None => table.remove(device).map(drop),
                }
                .map_err(failed)?;
            }
            transaction.commit().map_err(failed)
        })
    }
}

impl MembershipStore for StoredMembership {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        self.database.call(|database| {
            let transaction = database.begin_read().map_err(failed)?;
            let Some(table) = existing(transaction.open_table(MEMBERSHIPS))? else {
                return Ok(None);
            };
            let kept = table.get(self.device.as_str()).map_err(failed)?;
            Ok(kept.map(|kept| kept.value().to_vec()))
        })
    }

    fn keep(&mut self, membership: &[u8]) -> Result<(), StoreError> {
        self.write(Some(membership))
    }

    fn forget(&mut self) -> Result<(), StoreError> {
        self.write(None)
    }
}

/// By the name of the device.
const MEMBERSHIPS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("memberships");

fn digest(database: &Database) -> Result<[u8; 32], StoreError> {
    let transaction = database.begin_read().map_err(failed)?;
    let mut hash = Sha256::new();
    if let Some(table) = existing(transaction.open_table(MEMBERSHIPS))? {
        for row in table.iter().map_err(failed)? {
            let (device, membership) = row.map_err(failed)?;
            for part in [device.value().as_bytes(), membership.value()] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
    }
    Ok(hash.finalize().into())
}

impl std::fmt::Debug for MembershipDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MembershipDatabase").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for StoredMembership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredMembership").field("device", &self.device).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn memberships_of_several_devices_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memberships.redb");
        let database = MembershipDatabase::open(&path).unwrap();
        let [mut first, mut second] = ["pump-1", "pump-2"].map(|device| database.of(device));
        assert_eq!(first.load(), Ok(None));
        first.keep(&[1; 300]).unwrap();
        second.keep(&[2; 300]).unwrap();
        first.keep(&[3; 200]).unwrap();
        let busy = MembershipDatabase::open(&path).unwrap_err().to_string();
        assert!(busy.contains("has it open"), "{busy}");
        drop((first, second, database));
        let database = MembershipDatabase::open(&path).unwrap();
        let [mut first, mut second] = ["pump-1", "pump-2"].map(|device| database.of(device));
        assert_eq!(first.load(), Ok(Some(vec![3; 200])));
        first.forget().unwrap();
        assert_eq!(first.load(), Ok(None));
        assert_eq!(second.load(), Ok(Some(vec![2; 300])));
        drop((first, second, database));
        let mut bytes = fs::read(&path).unwrap();
        bytes[..64].fill(0);
        fs::write(&path, bytes).unwrap();
        assert!(MembershipDatabase::open(&path).is_err(), "it is damaged");
    }
}
