//! A membership in a file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::store::{MembershipStore, StoreError};
use crate::whole_file;

/// A membership in a file of mode 0600 beside the member's identity. The file is encrypted under a key
/// of that identity.
#[derive(Clone, Debug)]
pub struct MembershipFile(PathBuf);

impl MembershipFile {
    /// The membership in this file.
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// The membership of the device whose identity is in this file: the same name, and
    /// `.membership`.
    pub fn beside(identity: &Path) -> Self {
        let mut path = identity.as_os_str().to_owned();
        path.push(".membership");
        Self::at(path.into())
    }

    fn failed(&self, error: impl std::fmt::Display) -> StoreError {
        StoreError::Failed(format!("{}: {error}", self.0.display()))
    }
}

impl MembershipStore for MembershipFile {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| self.failed(error))?;
        match bytes.len() as u64 <= LONGEST {
            true => Ok(Some(bytes)),
            false => Err(self.failed("it is too long to be a membership")),
        }
    }

    fn keep(&mut self, membership: &[u8]) -> Result<(), StoreError> {
        whole_file::replace(&self.0, membership).map_err(|error| self.failed(error))
    }

    fn forget(&mut self) -> Result<(), StoreError> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(error)),
            _ => Ok(()),
        }
    }
}

/// The maximum number of bytes of the file. A welcome has the individual keys of one member.
const LONGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_loaded_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = MembershipFile::beside(&folder.path().join("a.key"));
        assert_eq!(memory.load(), Ok(None));
        for kept in [&b"first"[..], b"", &[7; 5_000]] {
            memory.keep(kept).unwrap();
            let mut again = MembershipFile::beside(&folder.path().join("a.key"));
            assert_eq!(again.load().unwrap().as_deref(), Some(kept));
        }
        let path = folder.path().join("a.key.membership");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        memory.forget().unwrap();
        memory.forget().unwrap();
        assert_eq!(memory.load(), Ok(None));
        fs::write(&path, vec![0; LONGEST as usize + 1]).unwrap();
        assert!(memory.load().unwrap_err().to_string().contains("a.key.membership"));
    }
}
