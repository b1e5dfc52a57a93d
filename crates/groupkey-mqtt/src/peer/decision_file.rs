//! A peer's memory in a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use groupkey::{Epoch, MemberId};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

use crate::codec::{decoded, encoded};
use crate::store::{DecisionStore, Decisions, StoreError};
use crate::whole_file;

/// A memory in a file of mode 0600 beside the peer's identity.
#[derive(Clone, Debug)]
pub struct DecisionFile(PathBuf);

/// The file: version, latest epoch, evicted members, operators' words.
#[derive(Encode, Decode)]
#[cbor(array)]
struct WrittenDecisions {
    #[n(0)]
    version: u8,
    #[n(1)]
    latest: u64,
    #[n(2)]
    evicted: Vec<(u32, u64)>,
    #[n(3)]
    words: Vec<ByteVec>,
}

impl DecisionFile {
    /// The memory of the peer whose identity is in this file: the same name, and `.group`.
    pub fn beside(identity: &Path) -> Self {
        let mut path = identity.as_os_str().to_owned();
        path.push(".group");
        Self(path.into())
    }

    fn failed(&self, error: impl std::fmt::Display) -> StoreError {
        StoreError::Failed(format!("{}: {error}", self.0.display()))
    }
}

impl DecisionStore for DecisionFile {
    fn load(&mut self) -> Result<Decisions, StoreError> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Decisions::default());
            }
            Err(error) => return Err(self.failed(error)),
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let metadata = file.metadata().map_err(|error| self.failed(error))?;
            if metadata.permissions().mode() & 0o022 != 0 {
                let advice = format!("others may change it: chmod 600 {}", self.0.display());
                return Err(self.failed(advice));
            }
        }
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| self.failed(error))?;
        let kept =
            (bytes.len() as u64 <= LONGEST).then(|| decoded::<WrittenDecisions>(&bytes)).flatten();
        let kept = kept.filter(|kept| {
            let ids = kept.evicted.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let words =
                kept.words.len() <= EVICTED && kept.words.iter().all(|word| word.len() <= WORD);
            kept.version == VERSION && ids && words && kept.evicted.len() <= EVICTED
        });
        let kept = kept.ok_or_else(|| {
            self.failed(
                "it is damaged, or of another version: without it this peer forgets who was evicted",
            )
        })?;
        let evicted = kept.evicted.into_iter().map(|(id, since)| (MemberId(id), Epoch(since)));
        let words = kept.words.into_iter().map(Vec::from).collect();
        Ok(Decisions { latest: Epoch(kept.latest), evicted: evicted.collect(), words })
    }

    fn keep(&mut self, decisions: &Decisions) -> Result<(), StoreError> {
        let evicted = decisions.evicted.iter().map(|&(member, since)| (member.0, since.0));
        let kept = WrittenDecisions {
            version: VERSION,
            latest: decisions.latest.0,
            evicted: evicted.collect(),
            words: decisions.words.iter().cloned().map(ByteVec::from).collect(),
        };
        whole_file::replace(&self.0, &encoded(&kept)).map_err(|error| self.failed(error))
    }
}

const VERSION: u8 = 2;

/// The most evicted members.
const EVICTED: usize = 4_096;

/// The maximum number of bytes of an operator's word.
const WORD: usize = 128;

/// The maximum number of bytes of the file: 15 for a member, a word for each, and 32.
const LONGEST: u64 = (15 + 2 + WORD as u64) * EVICTED as u64 + 32;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn decisions(count: u32) -> Decisions {
        let evicted = (0..count).map(|id| (MemberId(u32::MAX - count + id), Epoch(u64::MAX)));
        let words = (0..count).map(|_| vec![0xff; WORD]).collect();
        Decisions { latest: Epoch(u64::MAX), evicted: evicted.collect(), words }
    }

    #[test]
    fn what_was_kept_is_loaded_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let identity = folder.path().join("a.key");
        let mut memory = DecisionFile::beside(&identity);
        assert_eq!(memory.load().unwrap(), Decisions::default());
        for count in [0, 1, EVICTED as u32, 3] {
            memory.keep(&decisions(count)).unwrap();
            assert_eq!(DecisionFile::beside(&identity).load().unwrap(), decisions(count));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = folder.path().join("a.key.group");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
            assert!(memory.load().unwrap_err().to_string().contains("chmod 600"));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let identity = folder.path().join("a.key");
        let (path, mut memory) =
            (folder.path().join("a.key.group"), DecisionFile::beside(&identity));
        memory.keep(&decisions(2)).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut damaged: Vec<_> = (0..whole.len()).map(|length| whole[..length].to_vec()).collect();
        damaged.push([&whole[..], &[0]].concat());
        damaged.push(vec![0; LONGEST as usize + 1]);
        let (mut later, mut twice) = (whole.clone(), decisions(2));
        later[1] = VERSION + 1;
        damaged.push(later);
        twice.evicted[1].0 = twice.evicted[0].0;
        memory.keep(&twice).unwrap();
        damaged.push(fs::read(&path).unwrap());
        memory.keep(&decisions(EVICTED as u32 + 1)).unwrap();
        damaged.push(fs::read(&path).unwrap());
        let mut long = decisions(2);
        long.words[1].push(0);
        memory.keep(&long).unwrap();
        damaged.push(fs::read(&path).unwrap());
        for bytes in damaged {
            fs::write(&path, &bytes).unwrap();
            assert!(memory.load().unwrap_err().to_string().contains("a.key.group"), "{bytes:?}");
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }
}
