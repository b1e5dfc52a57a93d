//! Single values of a configuration: keys in hexadecimal digits, and names from a list.

use groupkey::protection::PublicIdentity;

use crate::keyring::{Secret, bytes_from_hex};

pub(super) fn secret(what: &str, text: &str) -> Result<Secret, String> {
    Secret::from_hex(text).ok_or_else(|| format!("{what}: 64 hexadecimal digits are needed"))
}

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

pub(super) fn bytes(what: &str, text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<_>> = text.trim().chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len() % 2 == 0);
    let digits = digits.ok_or_else(|| format!("{what}: hexadecimal digits are needed"))?;
    Ok(digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

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
