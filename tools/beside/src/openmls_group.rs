//! A group of openmls, with RustCrypto and its storage in memory.

use openmls::prelude::*;
use openmls_basic_credential::SignatureKeyPair;
use openmls_rust_crypto::OpenMlsRustCrypto;
use openmls_traits::OpenMlsProvider;

use crate::figures::{FigureTable, MeasuredStep, MlsTree};
use crate::openmls_form::{SUITE, decoded, encoded, settings};
use crate::processor_time::timed;

/// Measures groups of this size.
pub(crate) fn measure(members: u32, tree: MlsTree, rows: &mut FigureTable) {
    let who = format!("openmls/rustcrypto/{}", tree.name());
    let first = Device::new(0);
    let others: Vec<_> = (1..members).map(Device::new).collect();
    let mut group = first.group();
    let (mut other, other_device) = match tree {
        MlsTree::Blank => {
            let packages: Vec<_> = others.iter().map(Device::package).collect();
            let ((commit, welcome), time) = timed(|| first.add(&mut group, &packages));
            let bytes = commit.len() + welcome.len();
            rows.note(&who, members, MeasuredStep::CreateMakes, time, bytes);
            let device = &others[others.len() - 1];
            let (other, time) = timed(|| device.join(&welcome));
            rows.note(&who, members, MeasuredStep::CreateReceives, time, bytes);
            (other, device)
        }
        MlsTree::Populated => (populate(&first, &mut group, &others), &others[0]),
    };

    let newcomer = Device::new(members);
    let package = newcomer.package();
    let ((commit, welcome), time) = timed(|| first.add(&mut group, &[package]));
    let bytes = commit.len() + welcome.len();
    rows.note(&who, members, MeasuredStep::AddMakes, time, bytes);
    let ((), time) = timed(|| other_device.process(&mut other, &commit));
    rows.note(&who, members, MeasuredStep::AddReceives, time, bytes);
    let (_, time) = timed(|| newcomer.join(&welcome));
    rows.note(&who, members, MeasuredStep::AddJoins, time, bytes);

    let leaver = LeafNodeIndex::new(members / 2);
    let (commit, time) = timed(|| {
        let removed = group.remove_members(&first.provider, &first.signer, &[leaver]);
        let commit = encoded(&removed.expect("it is a member").0);
        group.merge_pending_commit(&first.provider).expect("our own");
        commit
    });
    rows.note(&who, members, MeasuredStep::RemoveMakes, time, commit.len());
    let ((), time) = timed(|| other_device.process(&mut other, &commit));
    rows.note(&who, members, MeasuredStep::RemoveReceives, time, commit.len());

    for (length, seal, open) in MeasuredStep::MESSAGES {
        let content = vec![7; length];
        let mut sealed = Vec::new();
        let ((), time) = timed(|| {
            for _ in 0..MESSAGES {
                let message = group.create_message(&first.provider, &first.signer, &content);
                sealed.push(encoded(&message.expect("it has a key")));
            }
        });
        rows.note(&who, members, seal, time / MESSAGES as f64, sealed[0].len());
        let ((), time) = timed(|| {
            sealed.iter().for_each(|message| other_device.process(&mut other, message));
        });
        rows.note(&who, members, open, time / MESSAGES as f64, sealed[0].len());
    }
}

/// How many messages one figure is the average of: the library keeps its state in its storage, as
/// JSON, for each.
const MESSAGES: usize = 20;

struct Device {
    provider: OpenMlsRustCrypto,
    signer: SignatureKeyPair,
    credential: CredentialWithKey,
}

impl Device {
    fn new(number: u32) -> Self {
        let signer = SignatureKeyPair::new(SUITE.signature_algorithm()).expect("randomness");
        let name = format!("device {number:08}").into_bytes();
        let credential = CredentialWithKey {
            credential: BasicCredential::new(name).into(),
            signature_key: signer.to_public_vec().into(),
        };
        Self { provider: OpenMlsRustCrypto::default(), signer, credential }
    }

    fn group(&self) -> MlsGroup {
        let (provider, signer) = (&self.provider, &self.signer);
        MlsGroup::new(provider, signer, &settings(), self.credential.clone()).expect("a group")
    }

    fn package(&self) -> Vec<u8> {
        let package = KeyPackage::builder();
        let package = package.build(SUITE, &self.provider, &self.signer, self.credential.clone());
        let package = package.expect("a key package").key_package().clone();
        encoded(&MlsMessageOut::from(package))
    }

    /// Adds members by one commit. Returns the commit and the welcome.
    fn add(&self, group: &mut MlsGroup, packages: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
        let read = |bytes: &Vec<u8>| match decoded(bytes).extract() {
            MlsMessageBodyIn::KeyPackage(package) => {
                package.validate(self.provider.crypto(), ProtocolVersion::Mls10).expect("valid")
            }
            _ => unreachable!("a key package"),
        };
        let packages: Vec<_> = packages.iter().map(read).collect();
        let added = group.add_members_without_update(&self.provider, &self.signer, &packages);
        let (commit, welcome, _) = added.expect("a commit");
        let messages = (encoded(&commit), encoded(&welcome));
        group.merge_pending_commit(&self.provider).expect("our own");
        messages
    }

    fn join(&self, welcome: &[u8]) -> MlsGroup {
        let MlsMessageBodyIn::Welcome(welcome) = decoded(welcome).extract() else {
            unreachable!("a welcome")
        };
        let settings = settings();
        StagedWelcome::new_from_welcome(&self.provider, settings.join_config(), welcome, None)
            .and_then(|staged| staged.into_group(&self.provider))
            .expect("the welcome is for it")
    }

    fn process(&self, group: &mut MlsGroup, message: &[u8]) {
        let message = decoded(message).try_into_protocol_message().expect("a message of the group");
        let processed = group.process_message(&self.provider, message).expect("it is valid");
        if let ProcessedMessageContent::StagedCommitMessage(commit) = processed.into_content() {
            group.merge_staged_commit(&self.provider, *commit).expect("it was checked");
        }
    }

    fn update(&self, group: &mut MlsGroup) -> Vec<u8> {
        let update = group.self_update(&self.provider, &self.signer, LeafNodeParameters::default());
        let commit = encoded(&update.expect("an update").into_commit());
        group.merge_pending_commit(&self.provider).expect("our own");
        commit
    }
}

/// Lets everybody join in turn and commit. Returns the group as the second member sees it.
fn populate(first: &Device, group: &mut MlsGroup, others: &[Device]) -> MlsGroup {
    let mut second: Option<MlsGroup> = None;
    for device in others {
        let (commit, welcome) = first.add(group, &[device.package()]);
        second.iter_mut().for_each(|second| others[0].process(second, &commit));
        let mut joined = device.join(&welcome);
        let update = device.update(&mut joined);
        first.process(group, &update);
        match &mut second {
            Some(second) => others[0].process(second, &update),
            None => second = Some(joined),
        }
    }
    let update = first.update(group);
    let mut second = second.expect("two members");
    others[0].process(&mut second, &update);
    second
}
