//! Where cells are kept: a file for each, under its address. Folders of several machines can be
//! copied into one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::cell::CellAddress;
use crate::failure::Failure;
use crate::results_folder::ResultsFolder;
use crate::whole_file;

/// A folder of cells.
#[derive(Debug)]
pub(crate) struct CellFolder {
    path: PathBuf,
}

impl CellFolder {
    /// Makes the folder if there is none, and checks that files can be written into it.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        ResultsFolder::create(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Returns a folder that exists.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        match path.is_dir() {
            true => Ok(Self { path: path.to_owned() }),
            false => Err(Failure::input(format!("there is no folder {}", path.display()))
                .with_help("groupkey campaign run SPEC --out DIR makes it")),
        }
    }

    /// Whether a cell is finished.
    pub(crate) fn has(&self, address: &CellAddress) -> bool {
        self.file(address, FINISHED).is_file()
    }

    /// Keeps what a cell printed. The file appears whole or not at all.
    pub(crate) fn keep(&self, address: &CellAddress, printed: &[u8]) -> Result<(), Failure> {
        self.write(&self.file(address, FINISHED), printed)?;
        match fs::remove_file(self.file(address, FAILED)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Failure::running(format!("cannot delete in {}: {error}", self.path.display())))
            }
            _ => Ok(()),
        }
    }

    /// Keeps why a cell failed.
    pub(crate) fn keep_failure(&self, address: &CellAddress, problem: &str) -> Result<(), Failure> {
        self.write(&self.file(address, FAILED), problem.as_bytes())
    }

    /// Returns what a finished cell printed.
    pub(crate) fn printed(&self, address: &CellAddress) -> Result<Vec<u8>, Failure> {
        let path = self.file(address, FINISHED);
        fs::read(&path)
            .map_err(|error| Failure::running(format!("cannot read {}: {error}", path.display())))
    }

    /// Returns why a cell failed, if it did.
    pub(crate) fn failure(&self, address: &CellAddress) -> Option<String> {
        fs::read_to_string(self.file(address, FAILED)).ok()
    }

    /// Writes a merged file, and returns its path.
    pub(crate) fn write_merged(&self, name: &str, content: &[u8]) -> Result<PathBuf, Failure> {
        let path = self.path.join(name);
        self.write(&path, content)?;
        Ok(path)
    }

    /// The first two digits are a folder of their own, so that none has too many files.
    fn file(&self, address: &CellAddress, extension: &str) -> PathBuf {
        let CellAddress(digits) = address;
        self.path.join("cells").join(&digits[..2]).join(format!("{digits}.{extension}"))
    }

    fn write(&self, path: &Path, content: &[u8]) -> Result<(), Failure> {
        let folder = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder).and_then(|()| whole_file::write(path, content)).map_err(
            |error| {
                Failure::running(format!("cannot write {}: {error}", path.display()))
                    .with_help("what is finished is kept; choose another folder with --out")
            },
        )
    }
}

const FINISHED: &str = "jsonl";
const FAILED: &str = "failed";
