//! A group of mls-rs, with RustCrypto or AWS-LC.

use mls_rs::client_builder::MlsConfig;
use mls_rs::identity::SigningIdentity;
use mls_rs::identity::basic::{BasicCredential, BasicIdentityProvider};
use mls_rs::{CipherSuite, CipherSuiteProvider, Client, CryptoProvider, Group, MlsMessage};
use mls_rs_crypto_awslc::AwsLcCryptoProvider;
use mls_rs_crypto_rustcrypto::RustCryptoProvider;

use crate::figures::{FigureTable, MeasuredStep, MlsTree};
use crate::processor_time::timed;

/// Measures both providers in groups of this size.
pub(crate) fn measure_all(members: u32, tree: MlsTree, rows: &mut FigureTable) {
    measure("rustcrypto", &RustCryptoProvider::new(), members, tree, rows);
    measure("aws-lc", &AwsLcCryptoProvider::new(), members, tree, rows);
}

fn measure<P: CryptoProvider + Clone>(
    provider: &str,
    crypto: &P,
    members: u32,
    tree: MlsTree,
    rows: &mut FigureTable,
) {
    let who = format!("mls-rs/{provider}/{}", tree.name());
    let first = client(crypto, 0);
    let others: Vec<_> = (1..members).map(|number| client(crypto, number)).collect();
    let (mut group, mut other) = match tree {
        MlsTree::Blank => {
            let packages: Vec<_> = others.iter().map(package).collect();
            let mut group = first.create_group(Default::default(), Default::default(), None);
            let group = group.as_mut().expect("a group of one");
            let ((commit, welcome), time) = timed(|| add(group, &packages));
            let bytes = commit.len() + welcome.len();
            rows.note(&who, members, MeasuredStep::CreateMakes, time, bytes);
            let joins = &others[others.len() - 1];
            let (other, time) = timed(|| join(joins, &welcome));
            rows.note(&who, members, MeasuredStep::CreateReceives, time, bytes);
            (group.clone(), other)
        }
        MlsTree::Populated => populated(&first, &others),
    };

    let newcomer = client(crypto, members);
    let package = package(&newcomer);
    let ((commit, welcome), time) = timed(|| add(&mut group, &[package]));
    let bytes = commit.len() + welcome.len();
    rows.note(&who, members, MeasuredStep::AddMakes, time, bytes);
    let ((), time) = timed(|| process(&mut other, &commit));
    rows.note(&who, members, MeasuredStep::AddReceives, time, bytes);
    let (_, time) = timed(|| join(&newcomer, &welcome));
    rows.note(&who, members, MeasuredStep::AddJoins, time, bytes);

    let leaver = members / 2;
    let (commit, time) = timed(|| {
        let commit = group.commit_builder().remove_member(leaver).expect("it is a member");
        let commit = bytes_of(&commit.build().expect("a commit").commit_message);
        group.apply_pending_commit().expect("our own");
        commit
    });
    rows.note(&who, members, MeasuredStep::RemoveMakes, time, commit.len());
    let ((), time) = timed(|| process(&mut other, &commit));
    rows.note(&who, members, MeasuredStep::RemoveReceives, time, commit.len());

    for (length, seal, open) in MeasuredStep::MESSAGES {
        let content = vec![7; length];
        let (sealed, time) = timed(|| {
            let mut seal = |_| group.encrypt_application_message(&content, Vec::new());
            (0..MESSAGES).map(|index| bytes_of(&seal(index).expect("a key"))).collect::<Vec<_>>()
        });
        rows.note(&who, members, seal, time / MESSAGES as f64, sealed[0].len());
        let ((), time) = timed(|| sealed.iter().for_each(|message| process(&mut other, message)));
        rows.note(&who, members, open, time / MESSAGES as f64, sealed[0].len());
    }
}

/// How many messages one figure is the average of.
const MESSAGES: usize = 50;

const SUITE: CipherSuite = CipherSuite::CURVE25519_AES128;

fn client<P: CryptoProvider + Clone>(crypto: &P, number: u32) -> Client<impl MlsConfig + use<P>> {
    let suite = crypto.cipher_suite_provider(SUITE).expect("suite 1 is mandatory");
    let (secret, public) = suite.signature_key_generate().expect("randomness");
    let credential = BasicCredential::new(format!("device {number:08}").into_bytes());
    let identity = SigningIdentity::new(credential.into_credential(), public);
    Client::builder()
        .identity_provider(BasicIdentityProvider)
        .crypto_provider(crypto.clone())
        .signing_identity(identity, secret, SUITE)
        .build()
}

/// A group in which everybody joined in turn and committed, as its first and its second member see it.
fn populated<C: MlsConfig>(first: &Client<C>, others: &[Client<C>]) -> (Group<C>, Group<C>) {
    let group = first.create_group(Default::default(), Default::default(), None);
    let mut group = group.expect("a group of one");
    let mut second = None;
    for client in others {
        let (commit, welcome) = add(&mut group, &[package(client)]);
        second.iter_mut().for_each(|second| process(second, &commit));
        let mut joined = join(client, &welcome);
        let update = bytes_of(&joined.commit_builder().build().expect("an update").commit_message);
        joined.apply_pending_commit().expect("our own");
        process(&mut group, &update);
        match &mut second {
            Some(second) => process(second, &update),
            None => second = Some(joined),
        }
    }
    let update = bytes_of(&group.commit_builder().build().expect("an update").commit_message);
    group.apply_pending_commit().expect("our own");
    let mut second = second.expect("two members");
    process(&mut second, &update);
    (group, second)
}

/// Adds members by one commit. Returns the commit and the welcome.
fn add<C: MlsConfig>(group: &mut Group<C>, packages: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let mut builder = group.commit_builder();
    for package in packages {
        let package = MlsMessage::from_bytes(package).expect("we made it");
        builder = builder.add_member(package).expect("it is valid");
    }
    let made = builder.build().expect("a commit");
    let messages = (bytes_of(&made.commit_message), bytes_of(&made.welcome_messages[0]));
    group.apply_pending_commit().expect("our own");
    messages
}

fn join<C: MlsConfig>(client: &Client<C>, welcome: &[u8]) -> Group<C> {
    let welcome = MlsMessage::from_bytes(welcome).expect("it was encoded");
    client.join_group(None, &welcome, None).expect("the welcome is for it").0
}

fn process<C: MlsConfig>(group: &mut Group<C>, message: &[u8]) {
    let message = MlsMessage::from_bytes(message).expect("it was encoded");
    group.process_incoming_message(message).expect("it is valid");
}

fn package<C: MlsConfig>(client: &Client<C>) -> Vec<u8> {
    let package = client.generate_key_package_message(Default::default(), Default::default(), None);
    bytes_of(&package.expect("a key package"))
}

fn bytes_of(message: &MlsMessage) -> Vec<u8> {
    message.to_bytes().expect("it can be encoded")
}
