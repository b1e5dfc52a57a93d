//! Files that appear complete or not at all, even if the power fails. Only their owner may read them.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    draft(path, content)?.persist(path)?;
    sync_folder(path)
}

/// Writes a file that must not exist yet.
pub(crate) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    draft(path, content)?.persist_noclobber(path)?;
    sync_folder(path)
}

fn draft(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut draft = NamedTempFile::new_in(folder(path))?;
    draft.write_all(content)?;
    draft.as_file().sync_all()?;
    Ok(draft)
}

/// Puts the name on the disk, too.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder(path))?.sync_all() } else { Ok(()) }
}

fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}
