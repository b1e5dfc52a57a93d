//! TLS to the broker: trusted authorities, and the client's certificate.
//!
//! The secrecy of group keys does not depend on TLS: they are encrypted between devices and
//! service. TLS hides topics and names. A broker's access list can use the client's certificate.

mod explanation;
mod pem;
mod validity;

use std::fmt;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, InconsistentKeys, RootCertStore};

pub(crate) use self::explanation::cause;
pub(crate) use self::explanation::explained;
use self::explanation::{Holder, of_a_certificate};
use self::pem::PemFault;
pub use self::validity::{CertificateView, utc};

/// TLS 1.2 or 1.3 with the given authorities. The system's authorities are not trusted.
#[derive(Clone)]
pub struct Tls {
    configuration: Arc<ClientConfig>,
    roots: Arc<RootCertStore>,
    authorities: Vec<CertificateDer<'static>>,
    /// The client's chain; empty if it has none.
    own: Vec<CertificateDer<'static>>,
}

/// The reason why a file cannot be used, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    /// The option that names the file.
    pub option: TlsOption,
    problem: String,
}

/// An option that names a file for TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsOption {
    /// The certificates of the trusted authorities.
    Authority,
    /// The client's certificate, followed by intermediate ones.
    Certificate,
    /// The private key of the client's certificate.
    Key,
}

impl Tls {
    /// Trusts brokers with a certificate that one of `authorities` signed. `own` is the client's
    /// certificate chain and private key, for brokers that require them. All are PEM.
    pub fn new(authorities: &[u8], own: Option<(&[u8], &[u8])>) -> Result<Self, TlsError> {
        let authorities = pem::certificates(authorities).map_err(of(TlsOption::Authority))?;
        let mut roots = RootCertStore::empty();
        for certificate in &authorities {
            let added = roots.add(certificate.clone());
            added.map_err(|error| refused(TlsOption::Authority, &error))?;
        }
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| refused(TlsOption::Authority, &error))?
            .with_root_certificates(roots.clone());
        let (configuration, own) = match own {
            None => (builder.with_no_client_auth(), Vec::new()),
            Some((chain, key)) => {
                let chain = pem::certificates(chain).map_err(of(TlsOption::Certificate))?;
                let key = pem::private_key(key).map_err(of(TlsOption::Key))?;
                let configuration = builder
                    .with_client_auth_cert(chain.clone(), key.clone_key())
                    .map_err(|error| own_refused(&error, &chain, key, &provider))?;
                (configuration, chain)
            }
        };
        let configuration = Arc::new(configuration);
        Ok(Self { configuration, roots: Arc::new(roots), authorities, own })
    }

    /// Returns the configuration for rustls.
    pub fn configuration(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.configuration)
    }
}

/// Says why the client's chain and key do not do.
fn own_refused(
    error: &rustls::Error,
    chain: &[CertificateDer<'static>],
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> TlsError {
    let (option, problem) = match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            let key = provider.key_provider.load_private_key(key);
            let is_of = |certificate: &CertificateDer<'static>| {
                let key = key.as_ref().map(Arc::clone);
                key.is_ok_and(|key| {
                    CertifiedKey::new(vec![certificate.clone()], key).keys_match().is_ok()
                })
            };
            let problem = match chain.iter().any(is_of) {
                true => {
                    "the client's own certificate must be the first in the file, and those of its \
                         authorities follow in order"
                }
                false => {
                    "the key belongs to another certificate: give the key with which this one was \
                          requested"
                }
            };
            (TlsOption::Certificate, problem.to_owned())
        }
        rustls::Error::General(_) => {
            let problem = "TLS cannot use a key of this kind: make one on the curve P-256 or P-384, an \
                           Ed25519 key, or an RSA key of 2048 bits or more";
            (TlsOption::Key, problem.to_owned())
        }
        error => return refused(TlsOption::Certificate, error),
    };
    TlsError { option, problem }
}

fn refused(option: TlsOption, error: &rustls::Error) -> TlsError {
    let problem = match error {
        rustls::Error::InvalidCertificate(error) => of_a_certificate(error, Holder::Client),
        error => error.to_string(),
    };
    TlsError { option, problem }
}

fn of(option: TlsOption) -> impl Fn(PemFault) -> TlsError {
    move |fault| TlsError { option, problem: fault.to_string() }
}

impl TlsOption {
    /// Returns its name below `broker` in a configuration file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authority => "tls.ca",
            Self::Certificate => "tls.certificate",
            Self::Key => "tls.key",
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(..)")
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option.name(), self.problem)
    }
}

impl std::error::Error for TlsError {}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::*;

    #[test]
    fn each_mistake_in_a_file_is_told_with_its_option_and_the_remedy() {
        let authority_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(params, authority_key);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["truck-7".to_owned()]).unwrap();
        let own = params.signed_by(&key, &issuer).unwrap();
        let (ca, own_pem, key_pem) = (authority.pem(), own.pem(), key.serialize_pem());
        let other = KeyPair::generate().unwrap().serialize_pem();
        let tls = |ca: &[u8], own: &[u8], key: &[u8]| Tls::new(ca, Some((own, key))).map(drop);
        assert_eq!(tls(ca.as_bytes(), own_pem.as_bytes(), key_pem.as_bytes()), Ok(()));

        let encrypted = key_pem.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        let old_encrypted = key_pem
            .replace("PRIVATE KEY-----\n", "EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n");
        let request = own_pem.replace("CERTIFICATE", "CERTIFICATE REQUEST");
        let broken = own_pem.replacen("MII", "M!I", 1);
        let reversed = format!("{ca}{own_pem}");
        let der = key.serialize_der();
        let (ca, own_pem, key_pem) = (ca.as_bytes(), own_pem.as_bytes(), key_pem.as_bytes());
        let (certificate, private) = ("tls.certificate: ", "tls.key: ");
        for (files, option, remedy) in [
            ((&b""[..], own_pem, key_pem), "tls.ca: ", "it is empty"),
            ((&b"no PEM"[..], own_pem, key_pem), "tls.ca: ", "-----BEGIN CERTIFICATE-----"),
            ((key_pem, own_pem, key_pem), "tls.ca: ", "it has a private key"),
            ((&**authority.der(), own_pem, key_pem), "tls.ca: ", "x509 -inform der"),
            ((ca, key_pem, key_pem), certificate, "are two files exchanged?"),
            ((ca, request.as_bytes(), key_pem), certificate, "have the authority sign it"),
            ((ca, broken.as_bytes(), key_pem), certificate, "damaged"),
            ((ca, reversed.as_bytes(), key_pem), certificate, "must be the first in the file"),
            ((ca, own_pem, other.as_bytes()), certificate, "belongs to another certificate"),
            ((ca, own_pem, own_pem), private, "are two files exchanged?"),
            ((ca, own_pem, encrypted.as_bytes()), private, "openssl pkey -in FILE -out"),
            ((ca, own_pem, old_encrypted.as_bytes()), private, "openssl pkey -in FILE -out"),
            ((ca, own_pem, &der), private, "pkey -inform der"),
        ] {
            let (ca, own, key) = files;
            let told = tls(ca, own, key).unwrap_err().to_string();
            assert!(told.starts_with(option) && told.contains(remedy), "{remedy}: {told}");
            assert!(!told.contains('\n') && !told.contains("Error"), "{told}");
        }
    }
}
