//! A certificate authority that lives as long as the test.

use std::fs;
use std::path::Path;

use groupkey_mqtt::tls::Tls;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = params("test authority", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// Writes what `docs/mosquitto/mosquitto.conf` names.
    pub(crate) fn equip_broker(&self, folder: &Path) {
        let (certificate, key) = self.issue("broker", &["127.0.0.1"]);
        fs::write(folder.join("ca.pem"), &self.certificate).unwrap();
        fs::write(folder.join("broker.pem"), certificate).unwrap();
        fs::write(folder.join("broker.key"), key).unwrap();
    }

    /// The TLS settings of a client of this name.
    pub(crate) fn client(&self, name: &str) -> Tls {
        let (certificate, key) = self.issue(name, &[]);
        self.tls(Some((&certificate, &key)))
    }

    /// TLS settings that trust this authority, with the client's certificate.
    pub(crate) fn tls(&self, own: Option<(&str, &str)>) -> Tls {
        let own = own.map(|(certificate, key)| (certificate.as_bytes(), key.as_bytes()));
        Tls::new(self.certificate.as_bytes(), own).unwrap()
    }

    /// A certificate and its key.
    pub(crate) fn issue(&self, name: &str, addresses: &[&str]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = params(name, addresses).signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn params(name: &str, addresses: &[&str]) -> CertificateParams {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(addresses).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
