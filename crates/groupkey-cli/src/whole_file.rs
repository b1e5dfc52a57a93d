//! Files that appear complete or not at all, even if the power fails. A file is written beside its
//! place, and moved there when it is on the disk.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// Writes a file, and replaces an existing one.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let before = fs::metadata(path).ok();
    // A terminal, a pipe or /dev/null is not replaced.
    if before.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return fs::write(path, content);
    }
    // A link to a file elsewhere stands for that file.
    let path = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
    let draft = draft(&path, content)?;
    if let Some(metadata) = before {
        fs::set_permissions(draft.path(), metadata.permissions())?;
    }
    draft.persist(&path)?;
    sync_folder(&path);
    Ok(())
}

/// Writes a file that must not exist yet.
pub(crate) fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    draft(path, content)?.persist_noclobber(path)?;
    sync_folder(path);
    Ok(())
}

/// Checks that [`write`] could write a file now. Leaves nothing behind.
pub(crate) fn try_write(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => Ok(()),
        _ => draft(path, b"").map(drop),
    }
}

/// Checks that [`write_new`] could write a file now. Leaves nothing behind.
pub(crate) fn try_new(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => draft(path, b"").map(drop),
    }
}

/// Writes a draft into the folder of a file. It is deleted on drop, unless it takes its place.
fn draft(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let mut builder = Builder::new();
    builder.prefix(".groupkey-").suffix(".unfinished");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As far as the user's mask allows it, as with any other file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut draft = builder.tempfile_in(folder(path))?;
    draft.write_all(content)?;
    draft.as_file().sync_all()?;
    Ok(draft)
}

/// Puts the name on the disk too. Not all systems can do this; the file is complete anyway.
fn sync_folder(path: &Path) {
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
}

fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_not_written_into() {
        let folder = tempfile::tempdir().expect("writable");
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&path, b"before").expect("writable");
        fs::hard_link(&path, &link).expect("links are there");
        write(&path, b"after").expect("writable");
        assert_eq!((read(&path), read(&link)), ("after".to_owned(), "before".to_owned()));
        assert_eq!(names(folder.path()), ["file", "link"]);
        assert!(write(&folder.path().join("none/file"), b"x").is_err());
        assert!(write(folder.path(), b"x").is_err());
    }

    #[test]
    fn a_new_file_takes_nobodys_place() {
        let folder = tempfile::tempdir().expect("writable");
        let path = folder.path().join("file");
        try_new(&path).expect("there is none");
        assert_eq!(names(folder.path()), [""; 0]);
        write_new(&path, b"first").expect("there is none");
        for refused in [try_new(&path), write_new(&path, b"second")] {
            assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::AlreadyExists));
        }
        assert_eq!(
            (read(&path), names(folder.path())),
            ("first".to_owned(), vec!["file".to_owned()])
        );
        assert!(try_new(&folder.path().join("none/file")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_permissions_and_devices_stay_what_they_are() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().expect("writable");
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&path, b"before").expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        symlink("file", &link).expect("links are there");
        write(&link, b"after").expect("writable");
        assert!(link.is_symlink());
        assert_eq!(read(&path), "after");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        write(Path::new("/dev/null"), b"x").expect("it takes everything");
        assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("it is there")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("it is there");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("readable").file_name();
        let mut names: Vec<_> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
