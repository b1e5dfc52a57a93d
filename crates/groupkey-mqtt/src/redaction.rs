//! What holds a secret does not print it.

use core::fmt;

use groupkey::messages::Received;
use groupkey::protection::Guard;
use groupkey::{Channel, Epoch, MemberId, PartyId, Recipient, catalogue};
use rand_core::Rng;
use zeroize::Zeroizing;

use crate::driver::Connection;
use crate::event::MemberEvent;
use crate::join::JoinCredentials;
use crate::keyring::Keyring;
use crate::local_parties::{OutgoingMessage, PartyInput, StepOutput};
use crate::runtime::Output;
use crate::store::Publish;
use crate::store::{MemoryStore, Store, StoredLog, Transaction};
use crate::{Generator, GroupForm, MembershipSettings, Policy, Secret, member, peer};

/// Bytes that nothing else has: as text, they are a word of their own.
const SECRET: [u8; 32] = *b"Schluesselbund-unter-der-Matte-7";

#[test]
fn nothing_prints_the_secrets_that_it_holds() {
    let secret = Secret::from_bytes(SECRET);
    let form = GroupForm::of(catalogue::scheme("lkh-group").unwrap());
    let entries = || vec![SECRET.to_vec()];
    let saved = StoredLog { entries: entries(), ..StoredLog::default() };
    silent("StoredLog", &saved);
    let change = Transaction { entries: entries(), ..Transaction::default() };
    silent("Transaction", &change);
    let mut store = MemoryStore::default();
    store.commit(&change).unwrap();
    silent("MemoryStore", &store);

    let received = Received { epoch: Epoch(1), sender: MemberId(1), content: SECRET.to_vec() };
    silent("Received", &received);
    silent("MemberEvent", &MemberEvent::Heard(received.clone()));
    silent("Output", &Output::Event(MemberEvent::Heard(received)));

    silent("PartyInput", &PartyInput::Message(Channel::Confidential, &SECRET));
    let (to, channel) = (Recipient::Member(MemberId(1)), Channel::Confidential);
    let sent = || vec![OutgoingMessage { to, channel, bytes: Zeroizing::new(SECRET.to_vec()) }];
    silent("StepOutput", &StepOutput { sent: sent(), events: Vec::new() });

    silent("Secret", &secret);
    let mut generator = Generator::from_seed(&SECRET);
    silent("Generator", &generator);
    assert_ne!(generator.next_u64(), 0);
    let mut keyring = Keyring::default();
    keyring.own(PartyId::Controller, &secret);
    keyring.share_mac(&secret);
    silent("Keyring", &keyring);
    silent("Protection", &keyring.protection(Guard::Mac, PartyId::Controller).unwrap());
    silent("Protection", &keyring.protection(Guard::Signature, PartyId::Controller).unwrap());

    let password = Zeroizing::new(String::from_utf8(SECRET.to_vec()).unwrap());
    let mut connection = Connection::new("localhost", 1, "client");
    connection.login = Some(("u".to_owned(), password));
    silent("Connection", &connection);
    let mut policy = Policy::of(form.clone());
    policy.identity = Some(secret.clone());
    policy.tokens.push(secret.clone());
    policy.keys.insert("a".to_owned(), secret.clone());
    silent("Policy", &policy);
    let shared = Some(&secret);
    silent(
        "JoinCredentials",
        &JoinCredentials { prefix: "p", name: "a", identity: &secret, shared },
    );
    silent(
        "MemberSettings",
        &member::MemberSettings {
            prefix: "p".to_owned(),
            name: "a".to_owned(),
            identity: secret.clone(),
            shared: Some(secret.clone()),
            service: None,
            allowed: Default::default(),
            messages: Default::default(),
            freshness: Default::default(),
        },
    );
    silent(
        "PeerSettings",
        &peer::PeerSettings {
            prefix: "p".to_owned(),
            me: MemberId(0),
            identity: secret.clone(),
            form,
            directory: Vec::new(),
            founders: Vec::new(),
            rules: Default::default(),
            operators: Vec::new(),
            words: Vec::new(),
            messages: Default::default(),
            period: None,
        },
    );
    silent(
        "MembershipSettings",
        &MembershipSettings {
            broker: connection,
            prefix: "p".to_owned(),
            name: "a".to_owned(),
            identity: secret.clone(),
            shared_key: Some(secret),
            service_key: None,
            membership_file: None,
            freshness: Default::default(),
        },
    );
}

/// What leaves for the broker is encrypted, and is printed: the search finds what is there.
#[test]
fn the_search_finds_what_is_printed() {
    let publish = Publish {
        id: 0,
        topic: String::new(),
        payload: SECRET.to_vec(),
        retain: false,
        expiry: None,
    };
    assert!(shows(&format!("{publish:?}")) && shows(&format!("{publish:#?}")));
    assert!(shows(core::str::from_utf8(&SECRET).unwrap()));
    assert!(shows(&crate::keyring::hex(&SECRET)) && shows(&format!("{SECRET:02X?}")));
}

fn silent(name: &str, value: &impl fmt::Debug) {
    for text in [format!("{value:?}"), format!("{value:#?}")] {
        assert!(!shows(&text), "{name} prints its secret: {text}");
    }
}

/// Whether a text has eight bytes of the secret in a row, as text or as numbers.
fn shows(text: &str) -> bool {
    let bare = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
    };
    let text = bare(text);
    SECRET.windows(8).any(|part| {
        let decimal: String = part.iter().map(u8::to_string).collect();
        let hexadecimal = crate::keyring::hex(part);
        let word = bare(&String::from_utf8_lossy(part));
        // A part with dashes has fewer letters, which other text could have by chance.
        text.contains(&decimal)
            || text.contains(&hexadecimal)
            || (word.len() == part.len() && text.contains(&word))
    })
}
