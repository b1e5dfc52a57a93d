//! What members say inside a group, to a bridge. Nobody panics; what is read is written as it was; each
//! message of a stream that goes on is taken once; and only what a listener confirms is acknowledged.

#![no_main]

use std::collections::BTreeSet;

use groupkey_mqtt::bridge::bridge_message::BridgeMessage;
use groupkey_mqtt::bridge::receiving::{PlaceInStream, Receiving};
use groupkey_mqtt::bridge::sending::{Published, Sending};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|said: Vec<(u8, Vec<u8>)>| {
    let mut receiving = Receiving::default();
    let mut sending = Sending::new(&BTreeSet::from([LISTENER]), WINDOW, [0; 8]);
    for receipt in 0..WINDOW as u16 {
        let message = Published { topic: "t".into(), payload: vec![0; 8], qos: 1, retain: false };
        assert!(sending.push(message, Some(receipt)), "there is room");
    }
    let (mut taken, mut acknowledged) = (BTreeSet::new(), 0);
    for (now, (member, bytes)) in (0..).zip(&said) {
        sending.take(1, now);
        let member = u32::from(*member);
        match BridgeMessage::decode(bytes) {
            None | Some(BridgeMessage::Introduced(_)) => {}
            Some(BridgeMessage::Carried(carried)) => {
                let (stream, number) = (*carried.stream, carried.number);
                if receiving.judge(member, &carried, true) == PlaceInStream::Next {
                    // Of streams that ended long ago, nothing is known.
                    taken.retain(|(other, name, _)| *other != member || *name == stream);
                    assert!(taken.insert((member, stream, number)), "it is taken once");
                    receiving.done(member, &stream, number);
                }
                assert_eq!(BridgeMessage::Carried(carried).encode(), *bytes);
            }
            Some(BridgeMessage::Confirmed(confirmation)) => {
                sending.confirmed(&[member as u8; 32], &confirmation, now);
                assert_eq!(BridgeMessage::Confirmed(confirmation).encode(), *bytes);
            }
        }
        acknowledged += sending.released().len() as u64;
        assert!(acknowledged <= now + 1, "more was acknowledged than was sent");
        receiving.confirmations(now, true);
    }
});

/// The bridge that confirms what leaves.
const LISTENER: [u8; 32] = [1; 32];
const WINDOW: usize = 8;
