//! The file of named tokens for the HTTP interface. It has a line for each: name, rights, and the
//! SHA-256 of the token. Nobody can read a token from it. A token is 32 random bytes, so no one
//! finds it by trying, and no slow hash is needed.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::Path;
use std::str;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::file::{ConfigError, choose, is_open, read_secret, wrong};
use crate::keyring::{Secret, bytes_from_hex, hex};
use crate::topics::is_name;
use crate::whole_file;

/// A token by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedToken {
    /// Its name, as a device's: 1 to 64 letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// What it may do.
    pub rights: TokenRights,
    hash: [u8; 32],
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRights {
    /// Look at the group.
    Read,
    /// Look at the group, and operate it.
    Operate,
}

impl NamedToken {
    /// Reads all tokens of a file; none if it does not exist. Refuses a file that others may read or
    /// write: who can write it can make tokens.
    pub fn read(path: &Path) -> Result<Vec<Self>, ConfigError> {
        match File::open(path).and_then(|file| file.metadata()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(wrong(path, error)),
            Ok(metadata) if is_open(&metadata) => {
                let advice = format!("others may read or write it: chmod 600 {}", path.display());
                return Err(wrong(path, advice));
            }
            Ok(_) => {}
        }
        let bytes = read_secret(path)?;
        let text = str::from_utf8(&bytes).map_err(|error| wrong(path, error))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(at, line)| {
                Self::understand(line)
                    .map_err(|what| wrong(path, format!("line {}: {what}", at + 1)))
            })
            .collect()
    }

    /// Draws a token of this name, and adds it to the file. Nothing else ever has the token itself.
    pub fn add(path: &Path, name: &str, rights: TokenRights) -> Result<Secret, ConfigError> {
        if !is_name(name) || name == OPERATOR {
            let what = format!("{name:?}: a name has 1 to 64 letters, digits, '.', '_' and '-'");
            return Err(wrong(path, what));
        }
        let mut tokens = Self::read(path)?;
        if tokens.iter().any(|token| token.name == name) {
            return Err(wrong(path, format!("there is a token {name}: revoke it first")));
        }
        let secret = Secret::random().map_err(|error| wrong(path, error))?;
        tokens.push(Self { name: name.to_owned(), rights, hash: hash(&secret) });
        Self::write(path, &tokens)?;
        Ok(secret)
    }

    /// Removes the token of this name from the file. It counts no longer from the next request on.
    pub fn revoke(path: &Path, name: &str) -> Result<(), ConfigError> {
        let mut tokens = Self::read(path)?;
        let before = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == before {
            return Err(wrong(path, format!("there is no token {name}")));
        }
        Self::write(path, &tokens)
    }

    /// Returns the token that this is, if it is one of these. The time does not depend on which.
    pub fn find<'a>(tokens: &'a [Self], shown: &Secret) -> Option<&'a Self> {
        let shown = hash(shown);
        let mut found = None;
        for token in tokens {
            if bool::from(token.hash.ct_eq(&shown)) {
                found = Some(token);
            }
        }
        found
    }

    fn understand(line: &str) -> Result<Self, String> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, rights, hash] = words[..] else {
            return Err("a name, rights and a hash are needed".to_owned());
        };
        let rights = choose(TokenRights::ALL, TokenRights::name, "the rights", rights)?;
        let hash = bytes_from_hex(hash).ok_or("64 hexadecimal digits are needed")?;
        match is_name(name) && name != OPERATOR {
            true => Ok(Self { name: name.to_owned(), rights, hash }),
            false => Err(format!("{name:?} is no name")),
        }
    }

    fn write(path: &Path, tokens: &[Self]) -> Result<(), ConfigError> {
        let mut text = String::new();
        for Self { name, rights, hash } in tokens {
            let _ = writeln!(text, "{name} {} {}", rights.name(), hex(hash));
        }
        whole_file::replace(path, text.as_bytes()).map_err(|error| wrong(path, error))
    }
}

impl TokenRights {
    /// All rights.
    pub const ALL: [Self; 2] = [Self::Read, Self::Operate];

    /// Returns `read` or `operate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }
}

/// The name of the token in the service's own file.
pub(crate) const OPERATOR: &str = "operator";

fn hash(secret: &Secret) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tokens_are_added_found_and_revoked_and_the_file_has_none_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        assert_eq!(NamedToken::read(&path), Ok(Vec::new()));
        let alice = NamedToken::add(&path, "alice", TokenRights::Operate).unwrap();
        let page = NamedToken::add(&path, "page", TokenRights::Read).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&**alice.to_hex()) && !text.contains(&**page.to_hex()));
        let tokens = NamedToken::read(&path).unwrap();
        assert_eq!(NamedToken::find(&tokens, &alice).unwrap().name, "alice");
        assert_eq!(NamedToken::find(&tokens, &page).unwrap().rights, TokenRights::Read);
        assert_eq!(NamedToken::find(&tokens, &Secret::from_bytes([1; 32])), None);
        for name in ["alice", "operator", "a b", ""] {
            assert!(NamedToken::add(&path, name, TokenRights::Read).is_err(), "{name}");
        }
        NamedToken::revoke(&path, "alice").unwrap();
        assert!(NamedToken::revoke(&path, "alice").is_err());
        assert_eq!(NamedToken::find(&NamedToken::read(&path).unwrap(), &alice), None);
    }

    #[test]
    fn a_file_that_cannot_be_trusted_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        NamedToken::add(&path, "alice", TokenRights::Read).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        for (text, told) in [
            ("alice", "line 1: a name, rights"),
            (&format!("{good}\nbob root 00"), "line 3: the rights is \"root\""),
            (&format!("{good}bob read 00"), "line 2: 64 hexadecimal"),
            (&good.replace("alice", "operator"), "no name"),
        ] {
            whole_file::replace(&path, text.as_bytes()).unwrap();
            let error = NamedToken::read(&path).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            whole_file::replace(&path, good.as_bytes()).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
            assert!(NamedToken::read(&path).unwrap_err().to_string().contains("chmod 600"));
        }
    }
}
