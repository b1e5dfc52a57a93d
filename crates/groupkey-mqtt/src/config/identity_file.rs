//! The file that keeps an identity, or another secret.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use super::file::{ConfigError, is_open, wrong};
use crate::keyring::Secret;
use crate::whole_file;

/// Reads an identity, or another secret, from its file. If the file is missing, draws a secret and
/// writes it with mode 0600. Refuses a file that other users may read.
pub fn identity(path: &Path) -> Result<Secret, ConfigError> {
    if let Some(secret) = kept(path)? {
        return Ok(secret);
    }
    let secret = Secret::random().map_err(|error| wrong(path, error))?;
    match whole_file::create(path, secret.to_hex().as_bytes()) {
        Ok(()) => Ok(secret),
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            kept(path)?.ok_or_else(|| wrong(path, error))
        }
        Err(error) => Err(wrong(path, error)),
    }
}

/// What a configuration file is read for, and so what becomes of a secret whose file is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To run: the secret is drawn and its file written.
    Run,
    /// To look: nothing is written, and nobody sees the secret that stands for it.
    Look,
}

pub(super) fn identity_for(path: &Path, purpose: Purpose) -> Result<Secret, ConfigError> {
    match purpose {
        Purpose::Run => identity(path),
        Purpose::Look => match kept(path)? {
            Some(secret) => Ok(secret),
            None => Secret::random().map_err(|error| wrong(path, error)),
        },
    }
}

/// Locks an identity until the returned file is dropped, so that only one process uses it. The
/// system releases the lock when the process ends.
pub fn hold(path: &Path) -> Result<File, ConfigError> {
    let file = File::open(path).map_err(|error| wrong(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(wrong(
            path,
            "another groupkey member runs with it: end that one, or give this one a name and an \
             identity of its own",
        )),
        // Not every file system has locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(wrong(path, error)),
    }
}

fn kept(path: &Path) -> Result<Option<Secret>, ConfigError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(path, error)),
    };
    let metadata = file.metadata().map_err(|error| wrong(path, error))?;
    if !metadata.is_file() {
        return Err(wrong(path, "it is no file"));
    }
    if is_open(&metadata) {
        let advice = format!("others may read it: chmod 600 {}", path.display());
        return Err(wrong(path, advice));
    }
    // The capacity suffices, so the text never moves. A move would leave a copy that is not wiped.
    let mut text = Zeroizing::new(String::with_capacity(2 * LONGEST));
    file.take(LONGEST as u64).read_to_string(&mut text).map_err(|error| wrong(path, error))?;
    let secret = Secret::from_hex(&text);
    secret.ok_or_else(|| wrong(path, "64 hexadecimal digits are needed")).map(Some)
}

/// The maximum number of bytes to read from a file.
const LONGEST: usize = 1_024;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn many_who_begin_at_once_have_the_same_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        for _ in 0..20 {
            let start = Barrier::new(8);
            let begin = || {
                start.wait();
                identity(&path).unwrap().public()
            };
            let all = thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            assert!(all.iter().all(|public| *public == all[0]));
            // The identity's file is the only file in the folder.
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            assert_eq!(identity(&path).unwrap().public(), all[0]);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn what_is_no_secret_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        for text in
            ["", "ab", &"a".repeat(65), &format!("{}{}", "ab".repeat(32), "x".repeat(2_000))]
        {
            whole_file::create(&path, Secret::from_bytes([1; 32]).to_hex().as_bytes()).unwrap();
            fs::write(&path, text).unwrap();
            assert!(identity(&path).unwrap_err().to_string().contains("64 hexadecimal digits"));
            assert_eq!(fs::read_to_string(&path).unwrap(), *text);
            fs::remove_file(&path).unwrap();
        }
        let nowhere = folder.path().join("nowhere").join("a.key");
        assert!(identity(&nowhere).unwrap_err().to_string().contains("nowhere"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        let drawn = identity(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for (mode, is_refused) in [(0o644, true), (0o640, true), (0o604, true), (0o400, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match identity(&path) {
                Ok(read) => assert!(!is_refused && read == drawn),
                Err(error) => assert!(is_refused && error.to_string().contains("chmod 600")),
            }
        }
    }

    #[test]
    fn one_process_at_a_time_holds_an_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        identity(&path).unwrap();
        let held = hold(&path).unwrap();
        assert!(hold(&path).unwrap_err().to_string().contains("another groupkey member"));
        drop(held);
        hold(&path).unwrap();
    }
}
