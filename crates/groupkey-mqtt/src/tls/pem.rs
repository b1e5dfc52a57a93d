//! Reads certificates and keys from PEM, and says what else a file is.

use std::fmt;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why a file has not what it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PemFault {
    Empty,
    /// It is binary.
    Der(Wanted),
    /// The PEM or its base64 cannot be read.
    Damaged,
    /// It has a private key, and no certificate.
    HasKey,
    /// It has a certificate, and no private key.
    HasCertificate,
    HasRequest,
    Encrypted,
    Nothing(Wanted),
}

/// What a file should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Certificate,
    Key,
}

pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemFault> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ if has(pem, "-----BEGIN CERTIFICATE-----") => Err(PemFault::Damaged),
        _ if has(pem, "-----BEGIN CERTIFICATE REQUEST-----") => Err(PemFault::HasRequest),
        _ if has(pem, "PRIVATE KEY-----") => Err(PemFault::HasKey),
        _ => Err(without_pem(pem, Wanted::Certificate)),
    }
}

/// Returns the first private key of a PEM file.
pub(super) fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, PemFault> {
    let is_encrypted = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];
    match PrivateKeyDer::from_pem_slice(pem) {
        Ok(key) => Ok(key),
        Err(_) if is_encrypted.iter().any(|mark| has(pem, mark)) => Err(PemFault::Encrypted),
        Err(_) if has(pem, "PRIVATE KEY-----") => Err(PemFault::Damaged),
        Err(_) if has(pem, "-----BEGIN CERTIFICATE") => Err(PemFault::HasCertificate),
        Err(_) => Err(without_pem(pem, Wanted::Key)),
    }
}

fn without_pem(bytes: &[u8], wanted: Wanted) -> PemFault {
    match bytes.first() {
        None => PemFault::Empty,
        // A SEQUENCE, with which certificates and keys begin.
        Some(0x30) => PemFault::Der(wanted),
        Some(_) => PemFault::Nothing(wanted),
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

impl fmt::Display for PemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty, and a PEM file is needed",
            Self::Der(Wanted::Certificate) => {
                "it is binary (DER), and PEM is needed: openssl x509 -inform der -in FILE -out FILE.pem"
            }
            Self::Der(Wanted::Key) => {
                "it is binary (DER), and PEM is needed: openssl pkey -inform der -in FILE -out FILE.pem"
            }
            Self::Damaged => "its PEM is damaged: copy the whole file once more",
            Self::HasKey => "it has a private key, and no certificate: are two files exchanged?",
            Self::HasCertificate => "it has a certificate, and no private key: are two files exchanged?",
            Self::HasRequest => "it is a request for a certificate: have the authority sign it",
            Self::Encrypted => {
                "the key is encrypted, and nobody is there to type its password: openssl pkey -in FILE \
                 -out FILE.pem, and chmod 600 FILE.pem"
            }
            Self::Nothing(Wanted::Certificate) => {
                "a PEM file is needed, with -----BEGIN CERTIFICATE-----"
            }
            Self::Nothing(Wanted::Key) => "a PEM file is needed, with -----BEGIN PRIVATE KEY-----",
        })
    }
}
