//! What the operator decided about the scheme, in a file beside the store: it holds after a restart.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use groupkey_choose::Candidate;
use serde::{Deserialize, Serialize};

use crate::whole_file;

/// What the operator decided, and where it is kept.
#[derive(Debug)]
pub(super) struct AdaptationFile {
    path: PathBuf,
    decisions: AdaptationDecisions,
}

/// What the operator decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdaptationDecisions {
    format: u32,
    /// Whether the scheme stays. `None` if the operator has neither pinned nor unpinned it.
    pub(super) pinned: Option<bool>,
    /// What is never proposed.
    pub(super) vetoed: Vec<Candidate>,
}

/// The file with the operator's decisions cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionsError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

impl AdaptationFile {
    /// Opens the file beside a store. Without one, the operator has decided nothing yet.
    pub(super) fn beside(store: &Path) -> Result<Self, DecisionsError> {
        let mut name = store.file_name().map_or_else(OsString::new, OsString::from);
        name.push(".adapt");
        let path = store.with_file_name(name);
        let refuse = |problem: String| DecisionsError { path: path.clone(), problem };
        let mut bytes = Vec::new();
        let read =
            File::open(&path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
        let decisions = match read {
            Ok(read) if read as u64 > LONGEST => {
                return Err(refuse("it is longer than 1 MiB: is it the right file?".to_owned()));
            }
            Ok(_) => {
                let decisions: AdaptationDecisions = serde_json::from_slice(&bytes)
                    .map_err(|error| refuse(format!("it is damaged: {error}")))?;
                if decisions.format != FORMAT {
                    return Err(refuse("another version of groupkey wrote it".to_owned()));
                }
                decisions
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                AdaptationDecisions { format: FORMAT, ..AdaptationDecisions::default() }
            }
            Err(error) => return Err(refuse(error.to_string())),
        };
        Ok(Self { path, decisions })
    }

    pub(super) const fn decisions(&self) -> &AdaptationDecisions {
        &self.decisions
    }

    /// Keeps another decision. The file has it in whole or not at all.
    pub(super) fn keep(&mut self, change: impl FnOnce(&mut AdaptationDecisions)) -> io::Result<()> {
        change(&mut self.decisions);
        let text = serde_json::to_string_pretty(&self.decisions).map_err(io::Error::other)?;
        whole_file::replace(&self.path, text.as_bytes())
    }
}

impl fmt::Display for DecisionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for DecisionsError {}

const FORMAT: u32 = 1;

/// The longest file that is read, in bytes: an operator's few decisions are far shorter.
const LONGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_decided_is_there_again_and_a_torn_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("group.redb");
        let mut kept = AdaptationFile::beside(&store).unwrap();
        assert_eq!((kept.decisions().pinned, kept.decisions().vetoed.len()), (None, 0));
        kept.keep(|it| it.pinned = Some(true)).unwrap();
        kept.keep(|it| it.vetoed.push(Candidate::default())).unwrap();
        let again = AdaptationFile::beside(&store).unwrap();
        assert_eq!(again.decisions(), kept.decisions());
        let file = folder.path().join("group.redb.adapt");
        let whole = fs::read(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            let refused = AdaptationFile::beside(&store).err().map(|error| error.to_string());
            let refused = refused.unwrap_or_else(|| panic!("{length} bytes are taken"));
            assert!(refused.contains("group.redb.adapt: it is damaged"), "{refused}");
        }
        let other = String::from_utf8(whole).unwrap().replace("\"format\": 1", "\"format\": 2");
        fs::write(&file, other).unwrap();
        let refused = AdaptationFile::beside(&store).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|refused| refused.contains("another version")));
    }
}
