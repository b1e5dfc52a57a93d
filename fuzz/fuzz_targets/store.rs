//! A store with changed bytes. It opens as it was, or is refused in one line and left as it is. Nobody
//! panics. What a store that opens takes is there when it is opened again.

#![no_main]

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../../crates/groupkey-mqtt/tests/it/machines/virtual_group.rs"]
mod virtual_group;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use groupkey_mqtt::Service;
use groupkey_mqtt::disk::DiskStore;
use groupkey_mqtt::store::{Store, StoredLog, Transaction};
use libfuzzer_sys::fuzz_target;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use virtual_group::VirtualGroup;

/// The store of a small group: the bytes of a process that stopped, of one that was killed, and what
/// is in both.
static WHOLE: LazyLock<([Vec<u8>; 2], StoredLog)> = LazyLock::new(whole);

#[derive(Arbitrary, Debug)]
struct Input {
    is_killed: bool,
    /// Where bytes change, and how.
    changes: Vec<(u32, u8)>,
    /// How much of the file is left.
    length: Option<u32>,
}

fuzz_target!(|input: Input| {
    let (files, saved) = &*WHOLE;
    let mut bytes = files[usize::from(input.is_killed)].clone();
    for (place, change) in input.changes.into_iter().take(64) {
        let place = place as usize % bytes.len();
        bytes[place] ^= change;
    }
    if let Some(length) = input.length {
        bytes.truncate(length as usize % (bytes.len() + 1));
    }
    if bytes.is_empty() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("group.redb");
    write(&path, &bytes);
    match used(&path) {
        Err(error) => {
            assert!(!error.contains('\n'), "{error}");
            assert!(fs::read(&path).expect("it is there") == bytes, "it was changed");
        }
        Ok((found, added)) => {
            // After a kill, redb cannot tell a damaged last commit from an unfinished one.
            let least = saved.entries.len() - usize::from(input.is_killed);
            assert!(found.len() >= least && saved.entries.starts_with(&found));
            let again = DiskStore::open(&path).and_then(|mut store| store.load());
            assert_eq!(again.expect("it took a change").entries.last(), Some(&added));
        }
    }
});

/// Opens a store, reads it, and adds an entry. Returns what was there, and
/// the entry.
fn used(path: &Path) -> Result<(Vec<Vec<u8>>, Vec<u8>), String> {
    let said = |error: groupkey_mqtt::store::StoreError| error.to_string();
    let mut store = DiskStore::open(path).map_err(said)?;
    let saved = store.load().map_err(said)?;
    let first = saved.first + saved.entries.len() as u64;
    let (entries, added) = (saved.entries, b"one more".to_vec());
    let change = Transaction { first, entries: vec![added.clone()], ..Transaction::default() };
    store.commit(&change).map_err(said)?;
    Ok((entries, added))
}

fn whole() -> ([Vec<u8>; 2], StoredLog) {
    let mut group = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| group.arrive(number));
    group.settle();
    group.evict(1);
    let saved = group.store.clone().load().expect("it is in memory");
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("group.redb");
    let mut store = DiskStore::open(&path).expect("it is new");
    for (number, entry) in (saved.first..).zip(&saved.entries) {
        let entries = vec![entry.clone()];
        let change = Transaction { first: number, entries, ..Transaction::default() };
        store.commit(&change).expect("it takes what was stored");
    }
    let killed = fs::read(&path).expect("it is there");
    drop(store);
    let stopped = fs::read(&path).expect("it is there");
    // It is a service's.
    let store = Box::new(DiskStore::open(&path).expect("it is whole"));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    Service::open(group.policy.clone(), store, group.now, &mut rng).expect("it is whole");
    ([stopped, killed], saved)
}

/// Writes a file that nobody else may read, as a store is.
fn write(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).expect("there is room");
}
