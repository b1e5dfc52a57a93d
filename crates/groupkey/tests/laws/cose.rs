//! An implementation of COSE that is not ours (pycose, from PyPI) reads our messages, and we read its.
//!
//! It needs a Python with pycose: `GROUPKEY_PYTHON`, or `python3`. Where there is none, the test says so
//! and passes, unless `GROUPKEY_REQUIRE_ALL` is set.

use groupkey::MemberId;
use groupkey::catalogue::scheme;
use groupkey::messages::{MessageSettings, Messenger, Nonces};
use groupkey_testkit::rig::{self, Guard, Rig};
use serde_json::json;

use crate::laws::python::{ask, hex, python};

#[test]
fn an_independent_implementation_reads_our_messages() {
    let Some(python) = python("pycose") else { return };
    let guards = [Guard::Mac, Guard::Signature].into_iter();
    for (guard, nonces) in guards.flat_map(|guard| Nonces::ALL.map(|nonces| (guard, nonces))) {
        let mut rig = group(guard);
        let signed = Some(guard == Guard::Signature);
        let settings = MessageSettings { signed, nonces, ..MessageSettings::default() };
        let mut messenger = messenger(&mut rig, 2, settings);
        let public =
            rig.public_identity(MemberId(2)).map(|identity| hex(identity.to_bytes().as_ref()));
        let context = hex(rig.setting().context.as_bytes());
        let key = hex(rig.agreed_key().unwrap().as_bytes());
        let cases: Vec<_> = (0..3u8)
            .map(|number| {
                let content = vec![number; usize::from(number) * 300];
                let bytes =
                    rig.at(MemberId(2), |cx, _| messenger.seal(cx, &content)).expect("it seals");
                json!({
                    "do": "read", "message": hex(&bytes), "group_key": key, "group_context": context,
                    "public_identity": public
                })
            })
            .collect();
        for (number, read) in (0..3u8).zip(ask(&python, "cose/independent.py", &cases)) {
            let content = hex(&vec![number; usize::from(number) * 300]);
            let expected = json!({
                "group": 7, "epoch": 2, "sender": 2, "counter": number, "content": content
            });
            assert_eq!(read, expected, "{guard:?}");
        }
    }
}

#[test]
fn we_read_the_messages_of_an_independent_implementation() {
    let Some(python) = python("pycose") else { return };
    let mut rig = group(Guard::Mac);
    let settings = MessageSettings { signed: Some(false), ..MessageSettings::default() };
    let mut messenger = messenger(&mut rig, 1, settings);
    let case = |counter: u64, nonces: Nonces| {
        json!({
            "do": "make", "group": 7, "epoch": 2, "sender": 3, "counter": counter,
            "nonces": nonces.name(), "content": hex(b"made elsewhere"),
            "group_key": hex(rig.agreed_key().unwrap().as_bytes()),
            "group_context": hex(rig.setting().context.as_bytes()),
        })
    };
    let cases = [case(200, Nonces::Counter), case(201, Nonces::Synthetic)];
    for made in ask(&python, "cose/independent.py", &cases) {
        let digits = made["message"].as_str().expect("a message in hexadecimal digits");
        let opened = rig.at(MemberId(1), |cx, _| messenger.open(cx, &unhex(digits)));
        let received = opened.expect("it opens");
        assert_eq!((received.sender, &received.content[..]), (MemberId(3), &b"made elsewhere"[..]));
    }
}

/// A group in its second epoch.
fn group(protection: Guard) -> Rig {
    let settings = rig::Settings { protection, ..rig::Settings::default() };
    let mut rig = Rig::new(scheme("lkh-group").unwrap(), settings);
    rig.create(5).unwrap();
    rig.remove(4).unwrap();
    rig
}

fn messenger(rig: &mut Rig, member: u32, settings: MessageSettings) -> Messenger {
    rig.at(MemberId(member), |cx, party| {
        let mut messenger = Messenger::new(cx, settings).unwrap();
        messenger.follow(cx, party);
        messenger
    })
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).expect("digits are ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("two digits")).collect()
}
