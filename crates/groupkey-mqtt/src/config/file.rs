//! Reads a configuration file and the files that it names, and reports why one cannot be used.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fmt, str};

use groupkey::protection::PublicIdentity;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::keyring::{Secret, bytes_from_hex, from_hex};

/// The reason why a file cannot be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub(super) String);

/// What a configuration file says about its own secrets.
pub(super) trait Confidential {
    /// Returns the option that holds a secret in this very file, if one does.
    fn secret(&self) -> Option<&'static str>;

    /// Returns whether the operator accepts that others may read files with secrets.
    fn open_files_allowed(&self) -> bool;
}

/// The folder to which the paths in a configuration file are relative.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConfigFolder<'a> {
    pub(super) path: &'a Path,
    /// Whether files with secrets are taken if others may read them.
    pub(super) open_files_allowed: bool,
}

/// Reads a configuration file and makes a configuration of it. `understand` gets the folder to
/// which the paths in the file are relative. Refuses a file that holds a secret and that others may
/// read.
pub(super) fn read_config<F: DeserializeOwned + Confidential, C>(
    path: &Path,
    understand: impl FnOnce(F, &Path) -> Result<C, String>,
) -> Result<C, ConfigError> {
    let Content { bytes, is_open } = Content::read(path)?;
    let text = str::from_utf8(&bytes).map_err(|error| wrong(path, error))?;
    let file: F = toml::from_str(text).map_err(|error| misread(path, text, &error))?;
    if let Some(secret) = file.secret().filter(|_| is_open && !file.open_files_allowed()) {
        return Err(wrong(path, open(path, secret)));
    }
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    understand(file, folder).map_err(|what| wrong(path, what))
}

/// Reads a file that holds no secret.
pub fn read_public(path: &Path) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    Content::read(path).map(|content| content.bytes)
}

/// Reads a file that holds a secret. Refuses a file that other users may read. Pipes and
/// terminals, which a shell may give in a file's place, are read whatever their mode.
pub fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    let Content { bytes, is_open } = Content::read(path)?;
    if is_open {
        let advice = format!("others may read it: chmod 600 {}", path.display());
        return Err(wrong(path, advice));
    }
    Ok(bytes)
}

impl ConfigFolder<'_> {
    pub(super) fn join(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    /// Reads a file that holds no secret.
    pub(super) fn read(&self, path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
        read_public(&self.join(path)).map_err(|error| error.0)
    }

    /// Reads the file of an option, which holds a secret. Refuses a file that others may read.
    pub(super) fn read_secret(
        &self,
        option: &'static str,
        path: &Path,
    ) -> Result<Zeroizing<Vec<u8>>, String> {
        let path = self.join(path);
        let Content { bytes, is_open } = Content::read(&path).map_err(|error| error.0)?;
        if is_open && !self.open_files_allowed {
            return Err(wrong(&path, open(&path, option)).0);
        }
        Ok(bytes)
    }
}

/// A file's bytes, and whether users other than its owner may read or write it.
struct Content {
    bytes: Zeroizing<Vec<u8>>,
    is_open: bool,
}

impl Content {
    fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = File::open(path).map_err(|error| wrong(path, error))?;
        let metadata = file.metadata().map_err(|error| wrong(path, error))?;
        // A vector that grows would leave copies that nobody wipes.
        let length = usize::try_from(metadata.len()).unwrap_or(0).saturating_add(1);
        let mut bytes = Zeroizing::new(Vec::with_capacity(length.min(LONGEST)));
        let read = file.take(LONGEST as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| wrong(path, error))?;
        if bytes.len() > LONGEST {
            return Err(wrong(path, "it is longer than 1 MiB: is it the right file?"));
        }
        Ok(Self { bytes, is_open: is_open(&metadata) })
    }
}

/// The longest file that is read, in bytes. Some have no end, as `/dev/zero`.
const LONGEST: usize = 1 << 20;

#[cfg(unix)]
pub(super) fn is_open(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o077 != 0
}

/// Modes exist on Unix alone.
#[cfg(not(unix))]
pub(super) const fn is_open(_metadata: &std::fs::Metadata) -> bool {
    false
}

/// Returns what is wrong with a file that others may read, and what to do.
fn open(path: &Path, secret: &str) -> String {
    format!(
        "others may read it, and it holds a secret ({secret}): chmod 600 {}, or set \
         allow_open_files = true if something else protects it",
        path.display()
    )
}

/// Returns the place of a mistake in a file, and what it is, on one line.
fn misread(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let offset = error.span().map_or(0, |span| span.start);
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let (line, column) = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
    ConfigError(format!("{}:{line}:{column}: {}", path.display(), error.message()))
}

pub(super) fn wrong(path: &Path, what: impl fmt::Display) -> ConfigError {
    ConfigError(format!("{}: {what}", path.display()))
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Reads a secret of 64 hexadecimal digits.
pub(super) fn secret(what: &str, text: &str) -> Result<Secret, String> {
    Secret::from_hex(text).ok_or_else(|| format!("{what}: 64 hexadecimal digits are needed"))
}

/// Reads a public key of 64 hexadecimal digits.
pub(super) fn public(what: &str, text: &str) -> Result<[u8; 32], String> {
    let bytes = bytes_from_hex(text);
    let bytes = bytes.ok_or_else(|| format!("{what}: 64 hexadecimal digits are needed"))?;
    match PublicIdentity::from_bytes(&bytes) {
        Some(_) => Ok(bytes),
        None => {
            Err(format!("{what}: {text} is not a public key: groupkey member --public prints one"))
        }
    }
}

/// Reads bytes in hexadecimal digits.
pub(super) fn bytes(what: &str, text: &str) -> Result<Vec<u8>, String> {
    let bytes = from_hex(text.trim()).filter(|bytes| !bytes.is_empty());
    bytes.ok_or_else(|| format!("{what}: hexadecimal digits are needed"))
}

/// Reads one of these names.
pub(super) fn choose<T: Copy, const N: usize>(
    all: [T; N],
    name: impl Fn(T) -> &'static str,
    what: &str,
    wanted: &str,
) -> Result<T, String> {
    all.into_iter().find(|&one| name(one) == wanted).ok_or_else(|| {
        let names = all.map(&name).join(", ");
        format!("{what} is {wanted:?}: it can be {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{MemberConfig, ServeConfig};

    #[test]
    fn a_mistake_is_told_with_its_place_on_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        for (text, told) in [
            ("store = 's'\n[broker]\nprot = 1883\n", ":3:1: unknown field `prot`"),
            ("store = 's'\nfounders = x\n", ":2:12: "),
            ("\u{feff}store = 's'\nfounders = 'ä' x\n", ":2:16: "),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = ServeConfig::read(&path).map(drop).unwrap_err().to_string();
            assert!(error.contains(told) && !error.contains('\n'), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_end_is_refused() {
        let endless = Path::new("/dev/zero");
        let errors = [
            ServeConfig::read(endless).map(drop).unwrap_err(),
            read_secret(endless).map(drop).unwrap_err(),
            read_public(endless).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_a_secret_that_others_may_read_is_refused() {
        use std::fs::{self, Permissions};
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str, mode| {
            fs::write(at(name), text).unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        };
        let authority = rcgen::generate_simple_self_signed(["broker".to_owned()]).unwrap();
        fs::write(at("ca.pem"), authority.cert.pem()).unwrap();
        fs::write(at("own.pem"), authority.cert.pem()).unwrap();
        write("own.key.pem", &authority.signing_key.serialize_pem(), 0o600);
        write("password.txt", "open sesame\n", 0o600);

        let hex = "ab".repeat(32);
        let serve = "store = 's'\n".to_owned();
        let key = format!("{serve}[[device]]\nname = 'a'\nkey = '{hex}'\n");
        let tokens = format!("{serve}tokens = ['{hex}']\n");
        let token = format!("{serve}[http]\nlisten = '127.0.0.1:0'\ntoken = '{hex}'\n");
        let password = format!("{serve}[broker]\nuser = 'u'\npassword = 'p'\n");
        let read_service = |path: &Path| ServeConfig::read(path).map(drop);
        let read_member = |path: &Path| MemberConfig::read(path).map(drop);
        let secret = format!("name = 'a'\nidentity = 'a.key'\nsecret = '{hex}'\n");
        type Read<'a> = &'a dyn Fn(&Path) -> Result<(), ConfigError>;
        let reads: [(&str, Read<'_>, &str); 5] = [
            (&key, &read_service, "device.key"),
            (&tokens, &read_service, "tokens"),
            (&token, &read_service, "http.token"),
            (&password, &read_service, "broker.password"),
            (&secret, &read_member, "secret"),
        ];
        for (text, read, option) in reads {
            for mode in [0o604, 0o640, 0o644, 0o620] {
                write("file.toml", text, mode);
                let error = read(&at("file.toml")).unwrap_err().to_string();
                let advice = format!("chmod 600 {}", at("file.toml").display());
                assert!(error.contains(&advice) && error.contains(option), "{error}");
            }
            write("file.toml", text, 0o600);
            assert_eq!(read(&at("file.toml")), Ok(()), "{option}");
            write("file.toml", &format!("allow_open_files = true\n{text}"), 0o644);
            assert_eq!(read(&at("file.toml")), Ok(()), "{option}");
        }
        write("file.toml", &serve, 0o644);
        assert_eq!(read_service(&at("file.toml")), Ok(()), "it holds no secret");

        let by_file = "[broker]\nuser = 'u'\npassword_file = 'password.txt'\n\
                       tls = { ca = 'ca.pem', certificate = 'own.pem', key = 'own.key.pem' }\n";
        write("file.toml", &(serve.clone() + by_file), 0o644);
        assert_eq!(read_service(&at("file.toml")), Ok(()), "the secrets are in files of their own");
        for (name, option) in
            [("password.txt", "broker.password_file"), ("own.key.pem", "broker.tls.key")]
        {
            fs::set_permissions(at(name), Permissions::from_mode(0o640)).unwrap();
            write("file.toml", &(serve.clone() + by_file), 0o600);
            let error = read_service(&at("file.toml")).unwrap_err().to_string();
            let advice = format!("chmod 600 {}", at(name).display());
            assert!(error.contains(&advice) && error.contains(option), "{error}");
            assert!(read_secret(&at(name)).unwrap_err().to_string().contains("chmod 600"));
            let allowed = format!("allow_open_files = true\n{serve}{by_file}");
            write("file.toml", &allowed, 0o600);
            assert_eq!(read_service(&at("file.toml")), Ok(()), "{name}");
            fs::set_permissions(at(name), Permissions::from_mode(0o600)).unwrap();
            assert!(read_secret(&at(name)).is_ok());
        }
    }
}
