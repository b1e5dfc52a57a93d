//! A store in one file, built on redb. It is transactional, and a change is durable when its commit
//! returns.
//!
//! With a key, each entry and each message is encrypted by itself (XChaCha20-Poly1305, a random
//! nonce of 24 bytes), bound to its table and number. The key belongs on another medium: a copy of
//! the store alone then reveals no group key.
//!
//! A checkpoint is written into a new file, which takes the old one's name. So the file has no
//! remains of earlier entries. The file system may keep the old file's blocks until it needs them.

mod guarded_database;
mod membership_database;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use minicbor::{Decode, Encode};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use self::guarded_database::Guarded;
pub use self::membership_database::{MembershipDatabase, StoredMembership};
use crate::keyring::Secret;
use crate::store::Publish;
use crate::store::{Store, StoreError, StoredLog, Transaction};

/// A store in a file that only its owner may read.
pub struct DiskStore {
    path: PathBuf,
    database: Guarded,
    key: Option<XChaCha20Poly1305>,
    cache_bytes: usize,
}

/// How much of a file is kept in memory by default: far more than a group's log has between two
/// checkpoints. Without a limit, redb keeps a gigabyte.
pub const CACHE_BYTES: usize = 16 << 20;

impl DiskStore {
    /// Opens the file, or creates it with mode 0600. Only one process can have it open. Its content
    /// is not encrypted.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, None, CACHE_BYTES)
    }

    /// Opens or creates a file whose content is encrypted under this key.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if the file was written with another key, or without one.
    pub fn open_sealed(path: &Path, key: &Secret) -> Result<Self, StoreError> {
        Self::open_with(path, Some(key), CACHE_BYTES)
    }

    /// Looks at a file, and changes nothing: it is read into memory, and checked there.
    ///
    /// # Errors
    ///
    /// As [`Self::open`] and [`Self::open_sealed`].
    pub fn look(path: &Path, key: Option<&Secret>) -> Result<(), StoreError> {
        let key = key.map(cipher);
        guarded_database::look(path, digest, |database| check_key(path, key.as_ref(), database))
    }

    /// Does the same, and keeps at most `cache_bytes` of the file in memory.
    ///
    /// # Errors
    ///
    /// As [`Self::open`] and [`Self::open_sealed`].
    pub fn open_with(
        path: &Path,
        key: Option<&Secret>,
        cache_bytes: usize,
    ) -> Result<Self, StoreError> {
        let key = key.map(cipher);
        let database = Guarded::open(path, digest, cache_bytes)?;
        let store = Self { path: path.to_owned(), database, key, cache_bytes };
        store.database.call(|database| {
            store.prepare(database)?;
            check_key(path, store.key.as_ref(), database)
        })?;
        Ok(store)
    }

    /// Creates the tables in a new file, and notes whether its content is encrypted.
    fn prepare(&self, database: &Database) -> Result<(), StoreError> {
        let transaction = database.begin_write().map_err(failed)?;
        {
            let log = transaction.open_table(LOG).map_err(failed)?;
            transaction.open_table(QUEUE).map_err(failed)?;
            transaction.open_table(NEXT).map_err(failed)?;
            let mut seal = transaction.open_table(SEAL).map_err(failed)?;
            let is_new = log.first().map_err(failed)?.is_none();
            if is_new && let Some(sample) = self.sealed(SEAL_NAME, 0, SAMPLE)? {
                seal.insert((), sample.as_slice()).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }

    /// Encrypts a value, if the store has a key. Returns `None` if it has none.
    fn sealed(
        &self,
        table: &str,
        number: u64,
        value: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(key) = &self.key else { return Ok(None) };
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(failed)?;
        let aad = bound_to(table, number);
        let payload = Payload { msg: value, aad: &aad };
        let sealed = key.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| StoreError::Failed("encryption failed".to_owned()))?;
        Ok(Some([&nonce[..], &sealed].concat()))
    }

    fn opened(&self, table: &str, number: u64, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        match &self.key {
            Some(key) => opened(key, table, number, value),
            None => Ok(value.to_vec()),
        }
    }

    /// Reads everything in one transaction.
    fn read(&self, database: &Database) -> Result<StoredLog, StoreError> {
        let transaction = database.begin_read().map_err(failed)?;
        let mut saved = StoredLog::default();
        let log = transaction.open_table(LOG).map_err(failed)?;
        for row in log.iter().map_err(failed)? {
            let (number, entry) = row.map_err(failed)?;
            if saved.entries.is_empty() {
                saved.first = number.value();
            }
            if number.value() != saved.first + saved.entries.len() as u64 {
                return Err(StoreError::Unreadable);
            }
            saved.entries.push(self.opened(LOG_NAME, number.value(), entry.value())?);
        }
        let queue = transaction.open_table(QUEUE).map_err(failed)?;
        for row in queue.iter().map_err(failed)? {
            let (id, queued) = row.map_err(failed)?;
            let id = id.value();
            let queued = self.opened(QUEUE_NAME, id, queued.value())?;
            let Queued { topic, payload, retain, expiry } =
                minicbor::decode(&queued).map_err(|_| StoreError::Unreadable)?;
            saved.queue.insert(id, Publish { id, topic, payload, retain, expiry });
        }
        let next = transaction.open_table(NEXT).map_err(failed)?;
        saved.next = next.get(()).map_err(failed)?.map_or(0, |next| next.value());
        Ok(saved)
    }

    fn write(&self, database: &Database, change: &Transaction) -> Result<(), StoreError> {
        let transaction = database.begin_write().map_err(failed)?;
        {
            let mut log = transaction.open_table(LOG).map_err(failed)?;
            for (number, entry) in (change.first..).zip(&change.entries) {
                match self.sealed(LOG_NAME, number, entry)? {
                    Some(sealed) => log.insert(number, sealed.as_slice()).map_err(failed)?,
                    None => log.insert(number, entry.as_slice()).map_err(failed)?,
                };
            }
            let mut queue = transaction.open_table(QUEUE).map_err(failed)?;
            for publish in &change.queued {
                let Publish { id, topic, payload, retain, expiry } = publish.clone();
                let queued = minicbor::to_vec(Queued { topic, payload, retain, expiry })
                    .map_err(|_| StoreError::Unreadable)?;
                let queued = self.sealed(QUEUE_NAME, id, &queued)?.unwrap_or(queued);
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

    /// Writes a change that replaces the log into a new file, with what is left of the queue, and
    /// gives that file the store's name.
    fn replace(&mut self, change: &Transaction) -> Result<(), StoreError> {
        let StoredLog { mut entries, mut queue, next, .. } = self.load()?;
        entries.iter_mut().for_each(Zeroize::zeroize);
        queue.retain(|id, _| !change.acknowledged.contains(id));
        queue.extend(change.queued.iter().map(|publish| (publish.id, publish.clone())));
        let next = change.queued.last().map_or(next, |last| next.max(last.id + 1));

        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let path = self.path.with_file_name(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
        let database = Guarded::open(&path, digest, self.cache_bytes)?;
        let whole = Transaction {
            first: change.first,
            entries: change.entries.clone(),
            queued: queue.into_values().collect(),
            ..Transaction::default()
        };
        database.call(|database| {
            self.prepare(database)?;
            self.write(database, &whole)?;
            let transaction = database.begin_write().map_err(failed)?;
            transaction.open_table(NEXT).map_err(failed)?.insert((), next).map_err(failed)?;
            transaction.commit().map_err(failed)
        })?;
        fs::rename(&path, &self.path).map_err(failed)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or_else(|| Path::new("."))).map_err(failed)?;
        folder.sync_all().map_err(failed)?;
        self.database = database;
        Ok(())
    }
}

impl Store for DiskStore {
    fn load(&mut self) -> Result<StoredLog, StoreError> {
        self.database.call(|database| self.read(database))
    }

    fn commit(&mut self, change: &Transaction) -> Result<(), StoreError> {
        if change.replaces {
            return self.replace(change);
        }
        self.database.call(|database| self.write(database, change))
    }
}

/// A queued message as it is stored.
#[derive(Encode, Decode)]
struct Queued {
    #[n(0)]
    topic: String,
    #[cbor(n(1), with = "minicbor::bytes")]
    payload: Vec<u8>,
    #[n(2)]
    retain: bool,
    #[n(3)]
    expiry: Option<u32>,
}

impl std::fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskStore").field("path", &self.path).finish_non_exhaustive()
    }
}

fn cipher(key: &Secret) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&Key::from(*key.as_bytes()))
}

/// Refuses a database with another key, or whose content is encrypted or not against expectation.
fn check_key(
    path: &Path,
    key: Option<&XChaCha20Poly1305>,
    database: &Database,
) -> Result<(), StoreError> {
    let transaction = database.begin_read().map_err(failed)?;
    // A new file has no tables yet.
    let Some(seal) = existing(transaction.open_table(SEAL))? else { return Ok(()) };
    let sample = seal.get(()).map_err(failed)?;
    let path = path.display();
    let refuse = |what: &str| Err(StoreError::Failed(format!("{path} {what}")));
    match (sample, key) {
        (None, None) => Ok(()),
        (None, Some(_)) => refuse("is not encrypted: open it without a key, or begin a new store"),
        (Some(_), None) => refuse("is encrypted: give its key_file"),
        (Some(sample), Some(key)) => match opened(key, SEAL_NAME, 0, sample.value()) {
            Ok(_) => Ok(()),
            Err(_) => refuse("is encrypted under another key: give its own key_file"),
        },
    }
}

fn opened(
    key: &XChaCha20Poly1305,
    table: &str,
    number: u64,
    value: &[u8],
) -> Result<Vec<u8>, StoreError> {
    let (nonce, sealed) = value.split_first_chunk::<NONCE>().ok_or(StoreError::Unreadable)?;
    let aad = bound_to(table, number);
    let payload = Payload { msg: sealed, aad: &aad };
    key.decrypt(&XNonce::from(*nonce), payload).map_err(|_| StoreError::Unreadable)
}

/// Returns a digest of everything in the tables. A table that does not exist yet is empty.
fn digest(database: &Database) -> Result<[u8; 32], StoreError> {
    let transaction = database.begin_read().map_err(failed)?;
    let mut hash = Sha256::new();
    for table in [LOG, QUEUE] {
        let Some(table) = existing(transaction.open_table(table))? else { continue };
        for row in table.iter().map_err(failed)? {
            let (number, value) = row.map_err(failed)?;
            let length = value.value().len() as u64;
            hash.update([number.value().to_be_bytes(), length.to_be_bytes()].concat());
            hash.update(value.value());
        }
        hash.update(u64::MAX.to_be_bytes());
    }
    if let Some(next) = existing(transaction.open_table(NEXT))? {
        hash.update(next.get(()).map_err(failed)?.map_or(0, |next| next.value()).to_be_bytes());
    }
    if let Some(seal) = existing(transaction.open_table(SEAL))? {
        seal.get(()).map_err(failed)?.iter().for_each(|sample| hash.update(sample.value()));
    }
    Ok(hash.finalize().into())
}

fn existing<T>(opened: Result<T, TableError>) -> Result<Option<T>, StoreError> {
    match opened {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn bound_to(table: &str, number: u64) -> Vec<u8> {
    [b"groupkey store 1 ", table.as_bytes(), &number.to_be_bytes()].concat()
}

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new(LOG_NAME);
const QUEUE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new(QUEUE_NAME);
const NEXT: TableDefinition<'_, (), u64> = TableDefinition::new("next");
/// Has an encrypted sample if the content is encrypted.
const SEAL: TableDefinition<'_, (), &[u8]> = TableDefinition::new(SEAL_NAME);
const LOG_NAME: &str = "log";
const QUEUE_NAME: &str = "queue";
const SEAL_NAME: &str = "seal";
const SAMPLE: &[u8] = b"groupkey";

const NONCE: usize = 24;

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    const SEED: &[u8] = b"a seed of which nothing may be left";

    fn change(first: u64, entry: &[u8], replaces: bool) -> Transaction {
        let (topic, payload) = ("all".to_owned(), b"a message".to_vec());
        let publish = Publish { id: first, topic, payload, retain: false, expiry: None };
        let (entries, queued) = (vec![entry.to_vec()], vec![publish]);
        Transaction { first, entries, replaces, queued, ..Transaction::default() }
    }

    fn has(path: &Path, bytes: &[u8]) -> bool {
        fs::read(path).unwrap().windows(bytes.len()).any(|window| window == bytes)
    }

    #[test]
    fn a_checkpoint_leaves_nothing_of_earlier_entries_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("group.redb");
        let mut store = DiskStore::open(&path).unwrap();
        for number in 0..200 {
            store.commit(&change(number, SEED, false)).unwrap();
        }
        assert!(has(&path, SEED));
        let acknowledged = (0..150).collect();
        store.commit(&Transaction { acknowledged, ..change(200, b"the state", true) }).unwrap();
        assert!(!has(&path, SEED) && has(&path, b"the state"));
        store.commit(&change(201, b"the next step", false)).unwrap();
        drop(store);
        let saved = DiskStore::open(&path).unwrap().load().unwrap();
        assert_eq!(saved.entries, [b"the state".to_vec(), b"the next step".to_vec()]);
        assert_eq!((saved.first, saved.next, saved.queue.len()), (200, 202, 52));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_store_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("group.redb");
        drop(DiskStore::open(&path).unwrap());
        for (mode, is_taken) in [(0o640, false), (0o604, false), (0o660, false), (0o600, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let opened = DiskStore::open(&path).map(drop).map_err(|error| error.to_string());
            assert_eq!(opened.is_ok(), is_taken, "{mode:o}: {opened:?}");
        }
    }

    #[test]
    fn a_file_without_its_last_bytes_is_refused_or_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("group.redb");
        let mut store = DiskStore::open(&path).unwrap();
        (0..200).for_each(|number| store.commit(&change(number, SEED, false)).unwrap());
        drop(store);
        let whole = fs::read(&path).unwrap();
        let mut refused = 0;
        for missing in [1, 100, 4_096, 6_835, whole.len() / 4, whole.len() / 2] {
            fs::write(&path, &whole[..whole.len() - missing]).unwrap();
            match DiskStore::open(&path).and_then(|mut store| store.load()) {
                Ok(saved) => assert_eq!(saved.entries.len(), 200, "without {missing} bytes"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0);
        fs::write(&path, &whole).unwrap();
        assert_eq!(DiskStore::open(&path).unwrap().load().unwrap().entries.len(), 200);
    }

    /// Opens the file, and reads and changes it.
    fn used(path: &Path) -> Result<StoredLog, StoreError> {
        let mut store = DiskStore::open(path)?;
        let saved = store.load()?;
        let (first, acknowledged) = (saved.first + saved.entries.len() as u64, vec![saved.first]);
        store.commit(&Transaction { acknowledged, ..change(first, b"the next step", false) })?;
        store.commit(&change(first + 1, b"the state", true))?;
        Ok(saved)
    }

    #[test]
    fn a_flipped_bit_is_found_before_anything_is_written_or_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("group.redb");
        let mut store = DiskStore::open(&path).unwrap();
        (0..60).for_each(|number| store.commit(&change(number, SEED, false)).unwrap());
        // As a process leaves the file that is killed, and as one that stops.
        let killed = fs::read(&path).unwrap();
        drop(store);
        let stopped = fs::read(&path).unwrap();
        let (mut rng, mut refused) = (ChaCha20Rng::seed_from_u64(4), 0);
        // After a kill, redb cannot tell a damaged last commit from an unfinished one. (The service
        // compares its store with its last notice.)
        for (whole, least) in [(&killed, 59), (&stopped, 60)] {
            fs::write(&path, whole).unwrap();
            assert_eq!(used(&path).unwrap().entries.len(), 60);
            let said: Vec<_> = (0..whole.len()).filter(|&place| whole[place] != 0).collect();
            for _ in 0..60 {
                let place = match rng.next_u32() % 4 {
                    0 => rng.next_u32() as usize % whole.len(),
                    _ => said[rng.next_u32() as usize % said.len()],
                };
                let mut flipped = whole.clone();
                flipped[place] ^= 1 << (rng.next_u32() % 8);
                fs::write(&path, &flipped).unwrap();
                match used(&path) {
                    Ok(saved) => {
                        let count = saved.entries.len();
                        assert!((least..=60).contains(&count), "byte {place}: {count} entries");
                        assert!(saved.entries.iter().all(|entry| entry == SEED), "byte {place}");
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(error.to_string().contains("put the last copy back"), "{error}");
                        assert!(fs::read(&path).unwrap() == flipped, "byte {place} was changed");
                    }
                }
            }
        }
        assert!(refused > 2, "{refused}");
    }

    #[test]
    fn a_sealed_store_shows_nothing_and_wants_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("group.redb");
        let (key, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let mut store = DiskStore::open_sealed(&path, &key).unwrap();
        store.commit(&change(0, SEED, false)).unwrap();
        store.commit(&change(1, SEED, true)).unwrap();
        assert!(!has(&path, SEED) && !has(&path, b"a message"));
        drop(store);
        let refused = DiskStore::open(&path).unwrap_err().to_string();
        assert!(refused.contains("key_file"), "{refused}");
        let refused = DiskStore::open_sealed(&path, &other).unwrap_err().to_string();
        assert!(refused.contains("another key"), "{refused}");
        let mut store = DiskStore::open_sealed(&path, &key).unwrap();
        assert_eq!(store.load().unwrap().entries, [SEED.to_vec()]);
        // An entry is bound to its number.
        let sealed = store.sealed(LOG_NAME, 1, SEED).unwrap().unwrap();
        assert!(store.opened(LOG_NAME, 1, &sealed).is_ok());
        assert!(store.opened(LOG_NAME, 2, &sealed).is_err());
        assert!(store.opened(QUEUE_NAME, 1, &sealed).is_err());
        drop(store);
        let plain = folder.path().join("plain.redb");
        DiskStore::open(&plain).unwrap().commit(&change(0, SEED, false)).unwrap();
        let refused = DiskStore::open_sealed(&plain, &key).unwrap_err().to_string();
        assert!(refused.contains("is not encrypted"), "{refused}");
    }
}
