//! An implementation of Group OSCORE that is not ours (aiocoap, from PyPI) runs on the contexts that
//! members export: two members read each other's messages, and a member that left reads none.
//!
//! It needs a Python with aiocoap: `GROUPKEY_PYTHON`, or `python3`. Where there is none, the test says
//! so and passes, unless `GROUPKEY_REQUIRE_ALL` is set.

use groupkey::MemberId;
use groupkey::catalogue::scheme;
use groupkey::exporter::oscore::{credential, sender_id};
use groupkey::protection::Identity;
use groupkey_testkit::rig::{self, Rig};
use serde_json::{Value, json};

use crate::laws::python::{ask, hex, python};

/// A member that leaves, and two that stay.
const MEMBERS: [MemberId; 3] = [MemberId(0), MemberId(3), MemberId(300)];

#[test]
fn two_members_read_each_others_messages_over_coap() {
    let Some(python) = python("aiocoap.oscore") else { return };
    for id in ["lkh-group", "tgdh"] {
        let mut rig = Rig::new(scheme(id).unwrap(), rig::Settings::default());
        rig.create(5).unwrap();
        rig.add(300).unwrap();
        let [left, one, other] = MEMBERS;
        let [left, former_one, former_other] = [left, one, other].map(|id| context(&rig, id));
        rig.remove(0).unwrap();
        let [one, other] = [one, other].map(|id| context(&rig, id));
        let cases = [
            (&left, &former_one, true),
            (&former_one, &former_other, true),
            (&one, &other, true),
            (&other, &one, true),
            // The identifier and the keys are other ones.
            (&one, &former_other, false),
            (&one, &left, false),
        ];
        let input: Vec<_> = cases.iter().map(|(from, to, _)| json!([from, to])).collect();
        let heard = ask(&python, "oscore/two_members.py", &input);
        for ((from, to, readable), heard) in cases.iter().zip(heard) {
            let expected = if *readable { json!("a payload, and its answer") } else { Value::Null };
            assert_eq!(heard, expected, "{id}: {} to {}", from["sender_id"], to["sender_id"]);
        }
    }
}

/// What a member hands to its CoAP library.
fn context(rig: &Rig, member: MemberId) -> Value {
    let setting = rig.setting();
    let party = rig.party(member.into());
    let (epoch, key) = party.group_key().expect("it is in the group");
    let common = setting.oscore_context((epoch, key)).unwrap();
    let credentials = MEMBERS.map(|member| {
        json!([
            hex(&sender_id(member)),
            hex(&credential(&identity(member).public()).expect("it is of Ed25519"))
        ])
    });
    json!({
        "group_identifier": hex(&common.group_identifier),
        "master_secret": hex(common.master_secret.as_bytes()),
        "master_salt": hex(&common.master_salt),
        "sender_id": hex(&sender_id(member)),
        "private_key": hex(&secret(member)),
        "credentials": credentials,
    })
}

fn identity(member: MemberId) -> Identity {
    Identity::from_secret(&secret(member))
}

fn secret(MemberId(member): MemberId) -> [u8; 32] {
    [member as u8 + 1; 32]
}
