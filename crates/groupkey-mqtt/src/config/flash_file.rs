//! The file that stands in for a device's flash in an emulator.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::Path;

use super::file::{ConfigError, is_open, wrong};
use super::identity_file::hold;
use crate::device_settings::DeviceSettings;

/// The form of a flash memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashForm {
    /// The number of bytes that are erased at once.
    pub sector: usize,
    /// How many sectors the device uses: one for its settings, and others for its own.
    pub sectors: usize,
    /// The length of the file in bytes. The emulator may ask for more than the device uses.
    pub length: u64,
}

/// Writes settings into the flash in this file, and leaves the rest of the flash as it is: the
/// device keeps its identity. Makes an erased flash, with mode 0600, if the file is missing.
/// Refuses a file that other users may read: it has the device's secrets.
///
/// The returned file is locked until it is dropped, so that only one device uses it.
pub fn write_settings(
    path: &Path,
    form: FlashForm,
    settings: &DeviceSettings,
) -> Result<File, ConfigError> {
    let mut record = settings.record().map_err(|error| ConfigError(error.to_string()))?;
    if !path.exists() {
        erased(path, form).map_err(|error| wrong(path, error))?;
    }
    let held = hold(path)?;
    let mut file =
        OpenOptions::new().read(true).write(true).open(path).map_err(|error| wrong(path, error))?;
    let metadata = file.metadata().map_err(|error| wrong(path, error))?;
    if !metadata.is_file() || metadata.len() != form.length {
        let expected = form.length;
        let problem = format!(
            "it is no flash of this device, which has {expected} bytes: name a file that does not \
             exist yet"
        );
        return Err(wrong(path, problem));
    }
    if is_open(&metadata) {
        return Err(wrong(path, format!("others may read it: chmod 600 {}", path.display())));
    }
    let length = record.len().next_multiple_of(WORD);
    record.resize(length, ERASED);
    file.rewind()
        .and_then(|()| file.write_all(&record))
        .and_then(|()| file.sync_data())
        .map_err(|error| wrong(path, error))?;
    Ok(held)
}

fn erased(path: &Path, form: FlashForm) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let sector = vec![ERASED; form.sector];
    (0..form.sectors).try_for_each(|_| file.write_all(&sector))?;
    // What the device does not use is a hole in the file.
    file.set_len(form.length)?;
    file.sync_all()
}

const ERASED: u8 = 0xFF;
const WORD: usize = 4;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::device_settings::LONGEST_RECORD;
    use crate::keyring::Secret;

    const FORM: FlashForm = FlashForm { sector: 4_096, sectors: 3, length: 16_384 };

    fn settings(name: &str) -> DeviceSettings {
        let place = ("plant/7".to_owned(), name.to_owned());
        let secret = Secret::from_bytes([7; 32]);
        let client = format!("groupkey:device:{name}:plant.7");
        DeviceSettings::new(([10, 0, 2, 2], 1883), client, place, Some(&secret), None)
    }

    #[test]
    fn settings_are_replaced_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truck-1.flash");
        let held = write_settings(&path, FORM, &settings("truck-1")).unwrap();
        let busy = write_settings(&path, FORM, &settings("truck-1")).unwrap_err();
        assert!(busy.to_string().contains("another groupkey"), "{busy}");
        drop(held);
        let mut flash = fs::read(&path).unwrap();
        assert_eq!(flash.len() as u64, FORM.length);
        assert!(flash[LONGEST_RECORD..3 * FORM.sector].iter().all(|&byte| byte == ERASED));
        flash[FORM.sector..FORM.sector + 3].copy_from_slice(b"own");
        fs::write(&path, flash).unwrap();
        write_settings(&path, FORM, &settings("truck-2")).unwrap();
        let flash = fs::read(&path).unwrap();
        let read = DeviceSettings::read(&flash[..LONGEST_RECORD]).unwrap();
        assert_eq!(read.name, "truck-2");
        assert_eq!(&flash[FORM.sector..FORM.sector + 3], b"own");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_flash_is_refused_and_left_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truck-1.flash");
        fs::write(&path, "precious").unwrap();
        let refused = write_settings(&path, FORM, &settings("truck-1")).unwrap_err();
        assert!(refused.to_string().contains("16384 bytes"), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        fs::remove_file(&path).unwrap();
        drop(write_settings(&path, FORM, &settings("truck-1")).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = write_settings(&path, FORM, &settings("truck-1")).unwrap_err();
        assert!(refused.to_string().contains("chmod 600"), "{refused}");
    }
}
