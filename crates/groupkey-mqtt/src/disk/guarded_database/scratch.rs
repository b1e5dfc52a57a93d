//! A copy of a file in memory, to which redb may write.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;
use zeroize::Zeroizing;

/// A file's content. It is wiped in the end.
pub(super) struct Scratch {
    bytes: Mutex<Zeroizing<Vec<u8>>>,
    /// The maximum length. A damaged length would otherwise take all memory.
    longest: u64,
}

impl Scratch {
    pub(super) fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        let longest = 2 * bytes.len() as u64 + GROWTH;
        Self { bytes: Mutex::new(bytes), longest }
    }

    fn bytes(&self) -> MutexGuard<'_, Zeroizing<Vec<u8>>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over these bytes, if the copy has them.
    fn at(&self, offset: u64, length: usize, act: impl FnOnce(&mut [u8])) -> Result<()> {
        let start = usize::try_from(offset).map_err(|_| beyond())?;
        let end = start.checked_add(length).ok_or_else(beyond)?;
        act(self.bytes().get_mut(start..end).ok_or_else(beyond)?);
        Ok(())
    }
}

impl StorageBackend for Scratch {
    fn len(&self) -> Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.at(offset, out.len(), |bytes| out.copy_from_slice(bytes))
    }

    fn set_len(&self, length: u64) -> Result<()> {
        let length = Some(length).filter(|length| *length <= self.longest).ok_or_else(beyond)?;
        let mut bytes = self.bytes();
        let mut changed = Zeroizing::new(vec![0; length as usize]);
        let kept = bytes.len().min(changed.len());
        changed[..kept].copy_from_slice(&bytes[..kept]);
        *bytes = changed;
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.at(offset, data.len(), |bytes| bytes.copy_from_slice(data))
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").field("longest", &self.longest).finish_non_exhaustive()
    }
}

fn beyond() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the file ends before")
}

/// How many bytes a small copy may grow by.
const GROWTH: u64 = 16 << 20;
