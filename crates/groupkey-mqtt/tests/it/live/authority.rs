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
        Self::called("test authority")
    }

    pub(crate) fn called(name: &str) -> Self {
        let (params, key) = (authority(name), KeyPair::generate().unwrap());
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn intermediate(&self, name: &str) -> Self {
        let (params, key) = (authority(name), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Writes what `docs/mosquitto/mosquitto.conf` names.
    pub(crate) fn equip_broker(&self, folder: &Path) {
        let (certificate, key) = self.issue("broker", &["127.0.0.1"]);
        fs::write(folder.join("ca.pem"), &self.certificate).unwrap();
        fs::write(folder.join("broker.pem"), certificate).unwrap();
        fs::write(folder.join("broker.key"), key).unwrap();
    }

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
        self.issue_with(name, addresses, |_| {})
    }

    /// The same, with something changed in the certificate.
    pub(crate) fn issue_with(
        &self,
        name: &str,
        addresses: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, String) {
        let (mut params, key) = (params(name, addresses), KeyPair::generate().unwrap());
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params(name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn params(name: &str, addresses: &[&str]) -> CertificateParams {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(addresses).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
