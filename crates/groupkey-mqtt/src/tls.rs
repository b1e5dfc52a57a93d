//! TLS to the broker: trusted authorities, and the client's certificate.
//!
//! The secrecy of group keys does not depend on TLS: they are encrypted between devices and
//! service. TLS hides topics and names. A broker's access list can use the client's certificate.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// TLS 1.2 or 1.3 with the given authorities. The system's authorities are not trusted.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

/// The reason why certificates or keys cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub enum TlsError {
    /// The authority's file has no certificate.
    NoAuthority,
    /// The client's file has no certificate.
    NoCertificate,
    /// The client's file has no private key.
    NoKey,
    /// Rustls refuses the certificate of an authority.
    AuthorityRefused(rustls::Error),
    /// Rustls refuses the client's certificate or key.
    OwnRefused(rustls::Error),
    /// Rustls refuses the versions of TLS.
    Refused(rustls::Error),
}

impl Tls {
    /// Trusts brokers with a certificate that one of `authorities` signed. `own` is the client's
    /// certificate chain and private key, for brokers that require them. All are PEM.
    pub fn new(authorities: &[u8], own: Option<(&[u8], &[u8])>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authorities).ok_or(TlsError::NoAuthority)? {
            roots.add(certificate).map_err(TlsError::AuthorityRefused)?;
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Refused)?
            .with_root_certificates(roots);
        let configuration = match own {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = certificates(chain).ok_or(TlsError::NoCertificate)?;
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoKey)?;
                builder.with_client_auth_cert(chain, key).map_err(TlsError::OwnRefused)?
            }
        };
        Ok(Self(Arc::new(configuration)))
    }

    /// Returns the configuration for rustls.
    pub fn configuration(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}

/// Returns all certificates of a PEM file, or `None` if there are none or one is broken.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.ok().filter(|certificates| !certificates.is_empty())
}

/// Returns what rustls says of a certificate, with the remedy if its words need one.
pub(crate) fn explained(problem: &str) -> String {
    if problem.contains("UnsupportedCertVersion") {
        return "a certificate is of X.509 version 1, and version 3 is needed: sign it with extensions \
                (openssl x509 -req -extfile FILE; docs/run.md has the lines)"
            .to_owned();
    }
    problem.to_owned()
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(..)")
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAuthority => write!(f, "tls.ca: a PEM file with certificates is needed"),
            Self::NoCertificate => {
                write!(f, "tls.certificate: a PEM file with the client's certificate is needed")
            }
            Self::NoKey => write!(f, "tls.key: a PEM file with a private key is needed"),
            Self::AuthorityRefused(error) => write!(f, "tls.ca: {}", explained(&error.to_string())),
            Self::OwnRefused(error) => {
                write!(f, "tls.certificate, tls.key: {}", explained(&error.to_string()))
            }
            Self::Refused(error) => write!(f, "tls: {error}"),
        }
    }
}

impl std::error::Error for TlsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_certificate_is_explained() {
        let old = "invalid peer certificate: Other(OtherError(UnsupportedCertVersion))";
        assert!(explained(old).contains("X.509 version 1") && explained(old).contains("-extfile"));
        assert_eq!(explained("UnknownIssuer"), "UnknownIssuer");
    }

    #[test]
    fn what_is_no_certificate_is_refused_by_the_name_of_its_option() {
        let authority = rcgen::generate_simple_self_signed(["broker".to_owned()]).unwrap();
        let (good, other) = (authority.cert.pem(), rcgen::KeyPair::generate().unwrap());
        let own_key = authority.signing_key.serialize_pem();
        let tls = |ca: &str, own: Option<(&str, &str)>| {
            Tls::new(ca.as_bytes(), own.map(|(chain, key)| (chain.as_bytes(), key.as_bytes())))
                .map(drop)
        };
        assert_eq!(tls("", None), Err(TlsError::NoAuthority));
        assert_eq!(tls(&good, Some(("", &own_key))), Err(TlsError::NoCertificate));
        assert_eq!(tls(&good, Some((&good, "no key"))), Err(TlsError::NoKey));
        assert!(tls(&good, Some((&good, &own_key))).is_ok());
        let foreign = tls(&good, Some((&good, &other.serialize_pem())));
        assert!(matches!(foreign, Err(TlsError::OwnRefused(_))), "a key of another certificate");
    }
}
