//! The one door to redb. redb panics on some damaged files, when it opens, reads, writes or closes
//! them. Behind the door a panic is an error, and prints nothing.

mod scratch;

use std::cell::Cell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{Database, DatabaseError};
use zeroize::Zeroizing;

use self::scratch::Scratch;
use super::failed;
use crate::store::StoreError;

/// A database in a file. Every call of redb goes through it.
pub(super) struct Guarded {
    /// Present until it is dropped.
    database: Option<Database>,
    /// Whether a call panicked. redb's state is then unknown, so no later call is made.
    is_broken: AtomicBool,
}

impl Guarded {
    /// Opens the file, or creates it with mode 0600. Before anything is written to it, every
    /// checksum is checked, and that a repair does not change the content, of which `digest`
    /// returns a digest.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if the file is damaged, or if others may read it, [`StoreError::InUse`]
    /// if another process has it open.
    pub(super) fn open(
        path: &Path,
        digest: Digest,
        cache_bytes: usize,
    ) -> Result<Self, StoreError> {
        let mut file = private_file(path)?;
        check(&mut file, digest, |_| Ok(()))?;
        let database = guarded(|| {
            let mut database = Database::builder()
                .set_cache_size(cache_bytes)
                .create_file(file)
                .map_err(not_opened)?;
            // The list of free pages is made anew: redb would otherwise believe a damaged one.
            database.check_integrity().map_err(not_opened)?;
            Ok(database)
        })?;
        Ok(Self { database: Some(database), is_broken: AtomicBool::new(false) })
    }

    /// Calls redb.
    ///
    /// # Errors
    ///
    /// Those of `act`, and [`StoreError::Failed`] if it panicked, now or earlier.
    pub(super) fn call<T>(
        &self,
        act: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.database.as_ref().filter(|_| !self.is_broken.load(Ordering::Relaxed));
        let database = database.ok_or_else(damaged)?;
        // Until the call returns, it may have panicked.
        self.is_broken.store(true, Ordering::Relaxed);
        let answer = catch(|| act(database));
        self.is_broken.store(answer.is_none(), Ordering::Relaxed);
        answer.unwrap_or_else(|| Err(damaged()))
    }
}

/// Returns a digest of a database's content.
pub(super) type Digest = fn(&Database) -> Result<[u8; 32], StoreError>;

/// Closing writes what makes the next opening fast. Everything that was committed is in the file
/// before, so nothing is lost if that fails.
impl Drop for Guarded {
    fn drop(&mut self) {
        let database = self.database.take();
        let _ = catch(|| drop(database));
    }
}

/// Checks a file as [`Guarded::open`] does, and changes nothing. `inspect` looks at a copy.
pub(super) fn look(
    path: &Path,
    digest: Digest,
    inspect: impl FnOnce(&Database) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut file = private(path, File::open(path).map_err(failed)?)?;
    check(&mut file, digest, inspect)
}

/// Opens or creates a file that nobody else may read.
fn private_file(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    private(path, options.open(path).map_err(failed)?)
}

/// Refuses a file that others may read. Modes exist on Unix alone.
#[cfg_attr(not(unix), allow(unused_variables))]
fn private(path: &Path, file: File) -> Result<File, StoreError> {
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
    Ok(file)
}

/// Checks every checksum of the file in a copy in memory. redb itself reads most pages unchecked,
/// and would repair the file in place, perhaps to an earlier state.
fn check(
    file: &mut File,
    digest: Digest,
    inspect: impl FnOnce(&Database) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(StoreError::InUse),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
        Ok(()) => {}
    }
    let length = usize::try_from(file.metadata().map_err(failed)?.len()).map_err(failed)?;
    // A vector that grows would leave copies that nobody wipes.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length.saturating_add(1)));
    let read = file.by_ref().take(length as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    // Such a file has no end, as `/dev/zero`, or another process writes it.
    if read > length {
        return Err(StoreError::Failed(
            "the store is no file, or grows while it is read".to_owned(),
        ));
    }
    if !bytes.is_empty() {
        guarded(|| {
            let copy = Database::builder().create_with_backend(Scratch::new(bytes));
            let mut copy = copy.map_err(of_a_copy)?;
            let before = digest(&copy).map_err(|_| damaged())?;
            copy.check_integrity().map_err(of_a_copy)?;
            let after = digest(&copy).map_err(|_| damaged())?;
            if after == before { inspect(&copy) } else { Err(damaged()) }
        })?;
    }
    file.unlock().map_err(failed)
}

fn guarded<T>(act: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch(act).unwrap_or_else(|| Err(damaged()))
}

/// Calls redb. Returns `None` if it panics.
fn catch<T>(act: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !BEHIND_THE_DOOR.get() {
                before(panic);
            }
        }));
    });
    let outer = BEHIND_THE_DOOR.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(act));
    BEHIND_THE_DOOR.set(outer);
    outcome.ok()
}

thread_local! {
    /// Whether this thread is in redb, so that a panic is not printed.
    static BEHIND_THE_DOOR: Cell<bool> = const { Cell::new(false) };
}

fn not_opened(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse,
        // redb names a page or a magic number, which help nobody.
        DatabaseError::Storage(redb::StorageError::Corrupted(_)) => damaged(),
        error => failed(error),
    }
}

/// Returns what an error of a copy in memory says of the file. No medium can fail there.
fn of_a_copy(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::UpgradeRequired(_) => failed(error),
        _ => damaged(),
    }
}

fn damaged() -> StoreError {
    StoreError::Failed("the file is damaged: put the last copy back".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::CACHE_BYTES;
    use super::*;

    #[test]
    fn after_a_panic_the_database_takes_no_more_calls_and_another_one_may_open_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("group.redb");
        let database = Guarded::open(&path, |_| Ok([0; 32]), CACHE_BYTES).unwrap();
        let is_damage = |outcome: Result<(), StoreError>| {
            outcome.is_err_and(|error| error.to_string().contains("the file is damaged"))
        };
        assert!(database.call(|_| Ok(())).is_ok());
        assert!(is_damage(database.call(|_| panic!("nobody may read this"))));
        assert!(is_damage(database.call(|_| Ok(()))));
        let second = Guarded::open(&path, |_| Ok([0; 32]), CACHE_BYTES).map(drop);
        assert_eq!(second, Err(StoreError::InUse));
        drop(database);
        assert!(
            Guarded::open(&path, |_| Ok([0; 32]), CACHE_BYTES).unwrap().call(|_| Ok(())).is_ok()
        );
    }
}
