//! The folder of a run: keys, configuration files, the store and its copies, and logs.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use groupkey_mqtt::keyring::{Secret, hex};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use super::LiveSettings;
use crate::live_scheme::LiveScheme;

/// The folder of a run. It goes when this value does, unless it is kept.
pub(super) struct RunFolder {
    path: PathBuf,
    is_kept: bool,
}

/// The prefix of the group's topics.
pub(super) const PREFIX: &str = "soak/1";

impl RunFolder {
    pub(super) fn new() -> io::Result<Self> {
        let process = std::process::id();
        for number in 0..100 {
            let path = std::env::temp_dir().join(format!("groupkey-soak-{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made?;
                    fs::create_dir(path.join("logs"))?;
                    fs::create_dir(path.join("broker"))?;
                    return Ok(Self { path, is_kept: false });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn log(&self, of: &str) -> PathBuf {
        self.path.join("logs").join(format!("{of}.log"))
    }

    pub(super) fn store(&self) -> PathBuf {
        self.path.join("group.redb")
    }

    /// Leaves the folder where it is.
    pub(super) fn keep(&mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }

    /// Whether the user that runs this is root, to whom the folder belongs then.
    pub(super) fn is_of_root(&self) -> io::Result<bool> {
        Ok(fs::metadata(&self.path)?.uid() == 0)
    }

    /// Writes the files of the service and of all devices. Every other device joins with a key of
    /// its own, and the others with their identities.
    pub(super) fn configure(
        &self,
        settings: &LiveSettings<'_>,
        (port, devices): (u16, usize),
        rng: &mut ChaCha20Rng,
    ) -> io::Result<()> {
        let service = secret(rng);
        self.write("service.key", &service.to_hex())?;
        let service = hex(&service.public());
        let LiveSettings { scheme, members, .. } = settings;
        let mut serve = format!(
            "store = \"group.redb\"\nidentity = \"service.key\"\n[broker]\nport = {port}\n\
             [group]\nprefix = \"{PREFIX}\"\nscheme = \"{}\"\nfounders = {members}\nchange_s = 10\n",
            scheme.id
        );
        // As in virtual time: two subgroups, where there are any.
        if LiveScheme::new(scheme, 4)
            .is_ok_and(|subject| subject.form().configuration.clone().set("subgroups", 2).is_ok())
        {
            serve += "[group.parameters]\nsubgroups = 2\n";
        }
        for number in 0..devices {
            let (name, identity) = (name(number), secret(rng));
            self.write(&format!("{name}.key"), &identity.to_hex())?;
            let mut own = format!("name = \"{name}\"\nidentity = \"{name}.key\"\n");
            own += &format!("service = \"{service}\"\n");
            serve += &format!("[[device]]\nname = \"{name}\"\n");
            if number % 2 == 0 {
                let shared = secret(rng).to_hex();
                own += &format!("secret = \"{}\"\n", *shared);
                serve += &format!("key = \"{}\"\n", *shared);
            } else {
                serve += &format!("identity = \"{}\"\n", hex(&identity.public()));
            }
            own += &format!("[broker]\nport = {port}\n[group]\nprefix = \"{PREFIX}\"\n");
            self.write(&format!("{name}.toml"), &own)?;
        }
        self.write("serve.toml", &serve)
    }

    /// Writes a file that nobody else may read.
    pub(super) fn write(&self, name: &str, content: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.path.join(name))?;
        file.write_all(content.as_bytes())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Returns a device's name.
pub(super) fn name(number: usize) -> String {
    format!("device-{number}")
}

/// Returns the number of the device of this name.
pub(super) fn number(name: &str) -> Option<usize> {
    name.strip_prefix("device-")?.parse().ok()
}

fn secret(rng: &mut ChaCha20Rng) -> Secret {
    let mut bytes = [0; 32];
    rng.fill_bytes(&mut bytes);
    Secret::from_bytes(bytes)
}
