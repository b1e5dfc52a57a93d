//! A group's life as a subscriber of `tracing` sees it: what happened, and no secret.

use groupkey::catalogue;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::MemberSettings;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::{GroupForm, Policy};

use crate::machines::resuming::{Flash, say, start_again};
use crate::machines::virtual_group::{VirtualGroup, key, name};

#[path = "../../../../groupkey/tests/laws/spy.rs"]
mod spy;

use self::spy::Spy;

#[test]
fn a_subscriber_sees_the_life_of_a_group_and_no_secret() {
    for scheme in ["lkh-group", "skdc", "igkmp"] {
        let (spy, secrets) = Spy::on(|| live(scheme));
        let heard = spy.heard();
        for expected in [
            "Joined {",
            "Rekeyed(",
            "Behind(",
            "Resumed",
            "Evicted",
            "Changed {",
            "Admitted {",
            "Left {",
            "Refused {",
            " heard",
            "step party=",
            "step refused",
            "group message taken",
            "refused error=",
        ] {
            assert!(heard.contains(expected), "{scheme}: {expected} is not in\n{heard}");
        }
        assert!(secrets.len() > 20, "{scheme}");
        for (what, secret) in secrets {
            assert_eq!(spy.finds(&secret), [""; 0], "{scheme}: {what}");
        }
    }
}

/// The service's identity, and a token.
const SERVICE: Secret = Secret::from_bytes(*b"the identity of the service: 32.");
const TOKEN: Secret = Secret::from_bytes(*b"a token for one device, 32 bytes");

/// Joins, talk, evictions, changes of key and scheme, restarts and junk. Returns all secrets that there
/// were, with their names.
fn live(scheme: &str) -> Vec<(String, Vec<u8>)> {
    let mut policy = VirtualGroup::new(scheme, &[], 3).policy;
    policy.tokens.push(TOKEN);
    let mut room = VirtualGroup::of(Policy { identity: Some(SERVICE), ..policy });
    let mut secrets = vec![
        ("the service's identity".to_owned(), SERVICE.as_bytes().to_vec()),
        ("a token".to_owned(), TOKEN.as_bytes().to_vec()),
    ];
    for number in 0..6 {
        let identity = room.settings(number).identity;
        secrets.push((format!("identity {number}"), identity.as_bytes().to_vec()));
        secrets.push((format!("shared key {number}"), key(number).as_bytes().to_vec()));
    }
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    note(&room, &mut secrets);
    room.arrive_with(MemberSettings {
        shared: Some(TOKEN),
        name: "with-a-token".to_owned(),
        ..room.settings(5)
    });
    room.settle();
    note(&room, &mut secrets);
    say(&mut room, 0, b"what members alone may read");
    room.settle();
    secrets.push(("content".to_owned(), b"what members alone may read".to_vec()));
    // One misses a change, one starts again, one comes without memory, and one is evicted.
    room.members.get_mut(&name(1)).unwrap().asleep = true;
    room.service.rekey(room.now, &mut room.rng).unwrap();
    room.settle();
    note(&room, &mut secrets);
    room.reconnect(&name(1));
    room.settle();
    let flash = Flash::default();
    start_again(&mut room, 4, &flash);
    room.settle();
    start_again(&mut room, 4, &flash);
    room.settle();
    room.now += 60_000_000_000;
    room.arrive(2);
    room.settle();
    note(&room, &mut secrets);
    room.evict(3);
    note(&room, &mut secrets);
    room.now += 60_000_000_000;
    room.arrive(3);
    room.settle();
    for topic in ["all", "talk", "join", "requests", "epoch"] {
        for (_, secret) in &secrets {
            room.publish(format!("{}/{topic}", room.policy.prefix), secret.clone());
        }
        for sent in room.heard_by_broker().into_iter().rev().take(20) {
            room.publish(format!("{}/{topic}", room.policy.prefix), sent.payload);
        }
    }
    room.settle();
    let form = GroupForm::of(catalogue::scheme("tkh").unwrap());
    room.service.change_scheme(form, room.now, &mut room.rng).unwrap();
    room.settle();
    note(&room, &mut secrets);
    room.revive(&Fatal::Crashed);
    room.service.rekey_hard(room.now, &mut room.rng).unwrap();
    room.settle();
    note(&room, &mut secrets);
    secrets
}

/// Notes the keys of the service and of all members, and what they export.
fn note(room: &VirtualGroup, secrets: &mut Vec<(String, Vec<u8>)>) {
    let members = room.members.values().map(|seat| &seat.member);
    for (epoch, key) in members.clone().filter_map(|member| member.group_key()) {
        secrets.push((format!("a member's key of epoch {epoch}"), key.as_bytes().to_vec()));
    }
    let (epoch, key) = room.service.group_key().unwrap();
    secrets.push((format!("the service's key of epoch {epoch}"), key.as_bytes().to_vec()));
    for member in members {
        let mut exported = vec![0; 16];
        if member.export("srtp", b"", &mut exported).is_ok() {
            secrets.push((format!("an export in epoch {epoch}"), exported));
        }
    }
}
