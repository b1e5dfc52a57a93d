//! The libraries' own calls: each step decodes what it gets, encodes what it sends, and exports a key.

use std::hint::black_box;

use mls_rs::client_builder::MlsConfig;
use mls_rs::identity::SigningIdentity;
use mls_rs::identity::basic::{BasicCredential, BasicIdentityProvider};
use mls_rs::{CipherSuite, CipherSuiteProvider, Client, CryptoProvider, Group, MlsMessage};
use mls_rs_crypto_rustcrypto::RustCryptoProvider;
use openmls::prelude::*;
use openmls_basic_credential::SignatureKeyPair;
use openmls_rust_crypto::OpenMlsRustCrypto;
use openmls_traits::OpenMlsProvider;

use crate::openmls_form::{SUITE, decoded, encoded, settings};
use crate::processor_time::timed;
use crate::{Least, note};

/// Measures the same steps of the same members as [`measure`](crate::measure).
pub(crate) fn measure(library: &str, members: u32, least: &mut Least) {
    match library {
        "mls-rs" => by(|number| MlsRs { client: client(number) }, members, least),
        _ => by(OpenMls::new, members, least),
    }
}

fn by<L: Library>(new: impl Fn(u32) -> L, members: u32, least: &mut Least) {
    let mut devices: Vec<L> = (0..members).map(&new).collect();
    let packages: Vec<_> = devices[1..].iter_mut().map(L::package).collect();
    let mut first = devices[0].found();
    let ((_, welcome), time) = timed(|| devices[0].commit(&mut first, &packages, None));
    note(least, "create", time);
    let (adds, removes, other) = (2, 3, 5);
    let [mut adding, mut removing, mut watching] =
        [adds, removes, other].map(|number| devices[number].join(&welcome));
    let mut newcomer = new(members);
    let package = newcomer.package();
    let ((commit, welcome), time) = timed(|| devices[adds].commit(&mut adding, &[package], None));
    note(least, "add, sponsor", time);
    let ((), time) = timed(|| devices[other].process(&mut watching, &commit));
    note(least, "add, member", time);
    devices[removes].process(&mut removing, &commit);
    let (_, time) = timed(|| newcomer.join(&welcome));
    note(least, "add, joiner", time);
    let leaver = members / 2;
    let ((commit, _), time) = timed(|| devices[removes].commit(&mut removing, &[], Some(leaver)));
    note(least, "remove, sponsor", time);
    let ((), time) = timed(|| devices[other].process(&mut watching, &commit));
    note(least, "remove, member", time);
}

trait Library {
    type Group;
    fn package(&mut self) -> Vec<u8>;
    fn found(&mut self) -> Self::Group;
    fn join(&mut self, welcome: &[u8]) -> Self::Group;
    fn commit(
        &mut self,
        group: &mut Self::Group,
        packages: &[Vec<u8>],
        removed: Option<u32>,
    ) -> (Vec<u8>, Vec<u8>);
    fn process(&mut self, group: &mut Self::Group, commit: &[u8]);
}

struct MlsRs<C: MlsConfig> {
    client: Client<C>,
}

fn client(number: u32) -> Client<impl MlsConfig> {
    let crypto = RustCryptoProvider::new();
    let suite = crypto.cipher_suite_provider(MLS_RS_SUITE).expect("suite 1 is mandatory");
    let (secret, public) = suite.signature_key_generate().expect("randomness");
    let credential = BasicCredential::new(number.to_be_bytes().to_vec());
    let identity = SigningIdentity::new(credential.into_credential(), public);
    Client::builder()
        .identity_provider(BasicIdentityProvider)
        .crypto_provider(crypto)
        .signing_identity(identity, secret, MLS_RS_SUITE)
        .build()
}

const MLS_RS_SUITE: CipherSuite = CipherSuite::CURVE25519_AES128;

impl<C: MlsConfig> Library for MlsRs<C> {
    type Group = Group<C>;

    fn package(&mut self) -> Vec<u8> {
        let made =
            self.client.generate_key_package_message(Default::default(), Default::default(), None);
        bytes_of(&made.expect("a key package"))
    }

    fn found(&mut self) -> Group<C> {
        let group = self.client.create_group(Default::default(), Default::default(), None);
        group.expect("a group of one")
    }

    fn join(&mut self, welcome: &[u8]) -> Group<C> {
        let welcome = MlsMessage::from_bytes(welcome).expect("it was encoded");
        let group = self.client.join_group(None, &welcome, None).expect("it is for us").0;
        export(&group);
        group
    }

    fn commit(
        &mut self,
        group: &mut Group<C>,
        packages: &[Vec<u8>],
        removed: Option<u32>,
    ) -> (Vec<u8>, Vec<u8>) {
        let mut builder = group.commit_builder();
        for package in packages {
            let package = MlsMessage::from_bytes(package).expect("we made it");
            builder = builder.add_member(package).expect("it is valid");
        }
        if let Some(leaf) = removed {
            builder = builder.remove_member(leaf).expect("it is there");
        }
        let made = builder.build().expect("a commit");
        let commit = bytes_of(&made.commit_message);
        let welcome = made.welcome_messages.first().map_or_else(Vec::new, bytes_of);
        group.apply_pending_commit().expect("our own");
        export(group);
        (commit, welcome)
    }

    fn process(&mut self, group: &mut Group<C>, commit: &[u8]) {
        let commit = MlsMessage::from_bytes(commit).expect("it was encoded");
        group.process_incoming_message(commit).expect("it is valid");
        export(group);
    }
}

fn export<C: MlsConfig>(group: &Group<C>) {
    black_box(group.export_secret(b"groupkey", &[0; 8], 16).expect("a secret"));
}

fn bytes_of(message: &MlsMessage) -> Vec<u8> {
    message.to_bytes().expect("it can be encoded")
}

struct OpenMls {
    provider: OpenMlsRustCrypto,
    signer: SignatureKeyPair,
    credential: CredentialWithKey,
}

impl OpenMls {
    fn new(number: u32) -> Self {
        let signer = SignatureKeyPair::new(SUITE.signature_algorithm()).expect("randomness");
        let name = number.to_be_bytes().to_vec();
        let credential = CredentialWithKey {
            credential: openmls::prelude::BasicCredential::new(name).into(),
            signature_key: signer.to_public_vec().into(),
        };
        Self { provider: OpenMlsRustCrypto::default(), signer, credential }
    }

    fn export(&self, group: &MlsGroup) {
        let crypto = self.provider.crypto();
        black_box(group.export_secret(crypto, "groupkey", &[0; 8], 16).expect("a secret"));
    }
}

impl Library for OpenMls {
    type Group = MlsGroup;

    fn package(&mut self) -> Vec<u8> {
        let package = KeyPackage::builder();
        let package = package.build(SUITE, &self.provider, &self.signer, self.credential.clone());
        encoded(&MlsMessageOut::from(package.expect("a key package").key_package().clone()))
    }

    fn found(&mut self) -> MlsGroup {
        let (provider, signer) = (&self.provider, &self.signer);
        MlsGroup::new(provider, signer, &settings(), self.credential.clone()).expect("a group")
    }

    fn join(&mut self, welcome: &[u8]) -> MlsGroup {
        let MlsMessageBodyIn::Welcome(welcome) = decoded(welcome).extract() else {
            unreachable!("a welcome")
        };
        let settings = settings();
        let group =
            StagedWelcome::new_from_welcome(&self.provider, settings.join_config(), welcome, None)
                .and_then(|staged| staged.into_group(&self.provider))
                .expect("it is for us");
        self.export(&group);
        group
    }

    fn commit(
        &mut self,
        group: &mut MlsGroup,
        packages: &[Vec<u8>],
        removed: Option<u32>,
    ) -> (Vec<u8>, Vec<u8>) {
        let (provider, signer) = (&self.provider, &self.signer);
        let made = match removed {
            Some(leaf) => {
                let leaf = LeafNodeIndex::new(leaf);
                let (commit, ..) =
                    group.remove_members(provider, signer, &[leaf]).expect("it is there");
                (encoded(&commit), Vec::new())
            }
            None => {
                let read = |bytes: &Vec<u8>| match decoded(bytes).extract() {
                    MlsMessageBodyIn::KeyPackage(package) => {
                        package.validate(provider.crypto(), ProtocolVersion::Mls10).expect("valid")
                    }
                    _ => unreachable!("a key package"),
                };
                let packages: Vec<_> = packages.iter().map(read).collect();
                let (commit, welcome, _) = group
                    .add_members_without_update(provider, signer, &packages)
                    .expect("a commit");
                (encoded(&commit), encoded(&welcome))
            }
        };
        group.merge_pending_commit(provider).expect("our own");
        self.export(group);
        made
    }

    fn process(&mut self, group: &mut MlsGroup, commit: &[u8]) {
        let message = decoded(commit).try_into_protocol_message().expect("of the group");
        let processed = group.process_message(&self.provider, message).expect("it is valid");
        if let ProcessedMessageContent::StagedCommitMessage(commit) = processed.into_content() {
            group.merge_staged_commit(&self.provider, *commit).expect("it was checked");
        }
        self.export(group);
    }
}
