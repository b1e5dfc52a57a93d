//! What the operator said about the scheme, in a file beside the store: it holds after a restart.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use groupkey_choose::Candidate;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::whole_file;

/// What the operator said, and where it is kept.
pub(super) struct Kept {
    path: PathBuf,
    said: Said,
}

/// What the operator said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    format: u32,
    /// Whether the scheme stays. `None` if the operator has said neither `pin` nor `unpin`.
    pub(super) pinned: Option<bool>,
    /// What is never proposed.
    pub(super) vetoed: Vec<Candidate>,
}

impl Kept {
    /// Opens the file beside a store. Without one, the operator has said nothing yet.
    pub(super) fn beside(store: &Path) -> Result<Self, Failure> {
        let mut name = store.file_name().map_or_else(OsString::new, OsString::from);
        name.push(".adapt");
        let path = store.with_file_name(name);
        let refuse = |problem: &dyn std::fmt::Display| {
            Failure::input(format!("{}: {problem}", path.display())).with_help(
                "it keeps what you pinned and vetoed: put a good copy back, or delete it and say \
                 that again",
            )
        };
        let said = match fs::read(&path) {
            Ok(bytes) => {
                let said: Said = serde_json::from_slice(&bytes)
                    .map_err(|error| refuse(&format!("it is damaged: {error}")))?;
                if said.format != FORMAT {
                    return Err(refuse(&"another version of groupkey wrote it"));
                }
                said
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Said { format: FORMAT, ..Said::default() }
            }
            Err(error) => return Err(refuse(&error)),
        };
        Ok(Self { path, said })
    }

    /// Returns what the operator said.
    pub(super) const fn said(&self) -> &Said {
        &self.said
    }

    /// Keeps something else that the operator said. The file has it in whole or not at all.
    pub(super) fn keep(&mut self, change: impl FnOnce(&mut Said)) -> io::Result<()> {
        change(&mut self.said);
        let text = serde_json::to_string_pretty(&self.said).map_err(io::Error::other)?;
        whole_file::write(&self.path, text.as_bytes())
    }
}

const FORMAT: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_there_again_and_a_torn_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("group.redb");
        let mut kept = Kept::beside(&store).unwrap_or_else(|_| panic!("there is no file yet"));
        assert_eq!((kept.said().pinned, kept.said().vetoed.len()), (None, 0));
        kept.keep(|said| said.pinned = Some(true)).unwrap();
        kept.keep(|said| said.vetoed.push(Candidate::default())).unwrap();
        let again = Kept::beside(&store).unwrap_or_else(|_| panic!("the file is whole"));
        assert_eq!(again.said(), kept.said());
        let file = folder.path().join("group.redb.adapt");
        let whole = fs::read(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            let refused = Kept::beside(&store).err().map(|failure| failure.to_string());
            let refused = refused.unwrap_or_else(|| panic!("{length} bytes are taken"));
            assert!(refused.contains("group.redb.adapt: it is damaged"), "{refused}");
        }
        let other = String::from_utf8(whole).unwrap().replace("\"format\": 1", "\"format\": 2");
        fs::write(&file, other).unwrap();
        let refused = Kept::beside(&store).err().map(|failure| failure.to_string());
        assert!(refused.is_some_and(|refused| refused.contains("another version")));
    }
}
