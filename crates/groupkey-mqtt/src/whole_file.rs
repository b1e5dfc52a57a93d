//! Files that appear complete or not at all, even if the power fails. Only their owner may read them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::keyring::hex;

/// Writes a file, and replaces an existing one.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    finish(path, content, |draft| fs::rename(draft, path))
}

/// Writes a file that must not exist yet.
pub(crate) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    finish(path, content, |draft| {
        fs::hard_link(draft, path).or_else(|error| match error.kind() {
            ErrorKind::AlreadyExists => Err(error),
            _ if path.exists() => Err(ErrorKind::AlreadyExists.into()),
            // Not every file system has links.
            _ => fs::rename(draft, path),
        })
    })
}

/// Writes a draft beside a file, and lets `take_place` put it there.
fn finish(
    path: &Path,
    content: &[u8],
    take_place: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut tag = [0; 8];
    getrandom::fill(&mut tag).map_err(|error| io::Error::other(error.to_string()))?;
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", hex(&tag)));
    let draft = PathBuf::from(draft);
    let result = write(&draft, content).and_then(|()| take_place(&draft));
    // A draft that was renamed no longer exists.
    let _ = fs::remove_file(&draft);
    result?;
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}
