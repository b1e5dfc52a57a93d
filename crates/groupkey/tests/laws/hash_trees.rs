//! One signature for all messages of a step: each message is checked alone, and nothing of two
//! messages, or of two steps, makes a third.

use groupkey::author::{Reader, Writer};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::error::Error;
use groupkey::protection::Guard;
use groupkey::{
    Channel, Command, Context, Epoch, Footprint, Input, Key, MemberId, Operation, Outbox, Party,
    Recipient, Suite,
};
use groupkey_testkit::credentials::Credentials;
use proptest::prelude::*;

use crate::laws::steps::{ANN, BOB, act, act_with, heard};

/// Says this to all, and so much in confidence, when it is told anything.
#[derive(Clone, Debug)]
struct Speaker {
    words: Vec<Vec<u8>>,
    secrets: usize,
}

impl Party for Speaker {
    fn step(&mut self, cx: &mut Context<'_>, _: Input<'_>) -> Result<(), Error> {
        let (epoch, everybody) = (Epoch(1), Recipient::Group);
        for word in &self.words {
            cx.draft(everybody, epoch, Operation::Rekey, 0).bytes(word).send();
        }
        for _ in 0..self.secrets {
            let (to, key) = (Recipient::Member(MemberId(1)), cx.random_key());
            cx.confidential_draft(to, epoch, Operation::Enroll, 0).secret(&key).send();
        }
        Ok(())
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        None
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

fn credentials() -> Credentials {
    let mut credentials = Credentials::new(Guard::Merkle, 1);
    [ANN, BOB].into_iter().for_each(|party| credentials.issue(party));
    credentials
}

fn words() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..20)
}

/// What a step says, as content and tag.
fn said(credentials: &Credentials, words: &[Vec<u8>], seed: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut outbox, mut meter) = (Outbox::new(), Meter::new());
    let mut speaker = Speaker { words: words.to_vec(), secrets: 0 };
    act_with(credentials, BOB, seed, &mut outbox, &mut meter, |cx| {
        cx.command(&mut speaker, Command::Rekey).unwrap();
    });
    assert_eq!(meter.tally(Primitive::Sign).calls, 1);
    let messages = outbox.messages();
    messages
        .map(|message| {
            let (content, item) = Guard::Merkle.split_tag(Suite::Standard, message.bytes).unwrap();
            assert_eq!(heard(credentials, Channel::Open, message.bytes), Ok(1));
            (content.to_vec(), Reader::new(item).bytes().unwrap().to_vec())
        })
        .collect()
}

fn with(content: &[u8], tag: &[u8]) -> Vec<u8> {
    let mut message = content.to_vec();
    Writer::new(&mut message).bytes(tag);
    message
}

/// What stands in a tag behind the path: salt, signature, index, number of leaves.
const SALT: usize = 88;
const SIGNATURE: usize = 72;
const INDEX: usize = 8;
const LEAVES: usize = 4;

/// Returns the tag with other bytes so many bytes before its end.
fn changed(tag: &[u8], before_end: usize, bytes: &[u8]) -> Vec<u8> {
    let mut tag = tag.to_vec();
    let at = tag.len() - before_end;
    tag[at..at + bytes.len()].copy_from_slice(bytes);
    tag
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_of_two_messages_makes_a_third(
        (one, other) in (words(), words()),
        (at, beside) in any::<(usize, usize)>(),
    ) {
        let credentials = credentials();
        // The same words in another step, too: contents alone make no tag.
        let (again, other) = (said(&credentials, &one, 3), said(&credentials, &other, 2));
        let said = said(&credentials, &one, 1);
        let count = said.len() as u32;
        let (content, tag) = &said[at % said.len()];
        let foreign = [&again[at % said.len()], &other[beside % other.len()]];
        let path = tag.len() - SALT;
        let mut tags = vec![
            [&tag[..path], &[0; 16], &tag[path..]].concat(),
            [&[0; 16], &tag[..]].concat(),
            tag[1..].to_vec(),
            tag[..tag.len() - 1].to_vec(),
            Vec::new(),
        ];
        if path > 0 {
            tags.push(tag[16..].to_vec());
            tags.push([&tag[..path - 16], &tag[path..]].concat());
        }
        let index = u32::from_be_bytes(*tag[tag.len() - INDEX..].first_chunk().unwrap());
        for other in (0..count + 2).chain([index ^ 1 << 31, u32::MAX]).filter(|&other| other != index) {
            tags.push(changed(tag, INDEX, &other.to_be_bytes()));
        }
        for other in (0..2 * count + 2).chain([u32::MAX]).filter(|&other| other != count) {
            tags.push(changed(tag, LEAVES, &other.to_be_bytes()));
        }
        for (other_content, other) in foreign.into_iter().chain(&said) {
            let end = |before_end| &other[other.len() - before_end..];
            if other_content != content {
                tags.push(other.clone());
            }
            if other.len() == tag.len() && other[..path] != tag[..path] {
                tags.push([&other[..path], &tag[path..]].concat());
            }
            if end(SALT)[..16] != tag[path..][..16] {
                tags.push(changed(tag, SALT, &end(SALT)[..16]));
                tags.push(changed(tag, SIGNATURE, &end(SIGNATURE)[..64]));
                tags.push(changed(tag, SALT, &end(SALT)[..80]));
            }
        }
        // The same word in the same place of another step has a tag of its own, which is genuine.
        let is_genuine = |tag: &Vec<u8>| again.contains(&(content.clone(), tag.clone()));
        tags.retain(|tag| !is_genuine(tag) && !other.contains(&(content.clone(), tag.clone())));
        for tag in &tags {
            let message = with(content, tag);
            let taken = heard(&credentials, Channel::Open, &message);
            prop_assert!(matches!(taken, Err(Error::Misbehaved(_))), "{tag:x?}");
        }
        let message = with(content, tag);
        for byte in 0..message.len() {
            let mut message = message.clone();
            message[byte] ^= 1 << (beside % 8);
            prop_assert!(heard(&credentials, Channel::Open, &message).is_err(), "byte {byte}");
        }
        for length in 0..message.len() {
            prop_assert!(heard(&credentials, Channel::Open, &message[..length]).is_err());
        }
    }
}

/// Nobody who hears the open messages has a hash of a secret, nor learns how many there are.
#[test]
fn each_channel_has_its_own_tree() {
    let (credentials, mut outbox) = (credentials(), Outbox::new());
    let mut speaker = Speaker { words: vec![vec![1; 9], vec![2; 90], vec![3; 900]], secrets: 2 };
    act(&credentials, BOB, &mut outbox, |cx| cx.command(&mut speaker, Command::Rekey).unwrap());
    assert_eq!(outbox.messages().len(), 5);
    for message in outbox.messages() {
        let leaves = if message.channel == Channel::Confidential { 2 } else { 3 };
        assert_eq!(message.bytes.last_chunk(), Some(&u32::to_be_bytes(leaves)));
        assert_eq!(heard(&credentials, message.channel, message.bytes), Ok(1));
    }
}

/// What a party sends costs one signature, and some hashes a message. Who receives one message
/// checks one signature, and hashes once a level.
#[test]
fn what_it_costs() {
    let (credentials, mut outbox) = (credentials(), Outbox::new());
    let (mut sent, mut received) = (Meter::new(), Meter::new());
    let mut speaker = Speaker { words: vec![vec![7; 40]; 1000], secrets: 0 };
    act_with(&credentials, BOB, 1, &mut outbox, &mut sent, |cx| {
        cx.command(&mut speaker, Command::Rekey).unwrap();
    });
    let bytes = outbox.messages().next().unwrap().bytes;
    act_with(&credentials, ANN, 1, &mut Outbox::new(), &mut received, |cx| {
        cx.deliver(&mut Speaker { words: vec![], secrets: 0 }, Channel::Open, bytes).unwrap();
    });
    let calls = |meter: &Meter, primitive| meter.tally(primitive).calls;
    let [sign, verify, hash] = [Primitive::Sign, Primitive::Verify, Primitive::Hash];
    assert_eq!([sign, verify].map(|one| calls(&sent, one)), [1, 0]);
    assert_eq!([sign, verify].map(|one| calls(&received, one)), [0, 1]);
    // A message and what is hashed before it take two blocks, and 1,000 messages take ten levels.
    assert_eq!(calls(&sent, hash), 2 * 1000 + 999);
    assert_eq!(calls(&received, hash), 2 + 10);
    assert_eq!(Guard::Merkle.split_tag(Suite::Standard, bytes).unwrap().1.len(), 2 + 88 + 10 * 16);
}
