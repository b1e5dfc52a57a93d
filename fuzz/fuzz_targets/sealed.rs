//! Random bytes as a group message. The receiver does not panic, accepts only what a member sealed,
//! and does not change when it refuses a message.

#![no_main]

use std::sync::LazyLock;

use groupkey::catalogue::scheme;
use groupkey::messages::{MessageSettings, Messenger};
use groupkey::{MemberId, Suite};
use groupkey_testkit::rig::{Guard, Rig, Settings as RigSettings};
use libfuzzer_sys::fuzz_target;

/// How messages are protected.
const FORMS: [(Guard, Suite); 3] = [
    (Guard::Mac, Suite::Standard),
    (Guard::Signature, Suite::Standard),
    (Guard::Signature, Suite::Pq),
];

/// The message that one member sealed, once in each form.
static SEALED: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    FORMS.map(|(guard, suite)| {
        let mut rig = group(guard, suite);
        let mut sender = messenger(&mut rig, 0, guard);
        rig.at(MemberId(0), |cx, _| sender.seal(cx, b"genuine").expect("it seals"))
    })
});

fuzz_target!(|input: (u8, u16, Vec<u8>)| {
    let (form, at, with) = input;
    let form = usize::from(form) % FORMS.len();
    let ((guard, suite), genuine) = (FORMS[form], &SEALED[form]);
    let mut rig = group(guard, suite);
    let mut receiver = messenger(&mut rig, 1, guard);
    let at = usize::from(at) % (genuine.len() + 1);
    let end = (at + with.len()).min(genuine.len());
    let spliced = [&genuine[..at], &with, &genuine[end..]].concat();
    rig.at(MemberId(1), |cx, _| {
        for bytes in [&with, &spliced] {
            if bytes != genuine {
                assert!(receiver.open(cx, bytes).is_err(), "nobody sealed this");
            }
        }
        assert_eq!(receiver.open(cx, genuine).expect("it is genuine").content, b"genuine");
    });
});

fn group(protection: Guard, suite: Suite) -> Rig {
    let settings = RigSettings { protection, suite, ..RigSettings::default() };
    let mut rig = Rig::new(scheme("skdc").expect("it is in the catalogue"), settings);
    rig.create(2).expect("create");
    rig
}

fn messenger(rig: &mut Rig, member: u32, guard: Guard) -> Messenger {
    let settings =
        MessageSettings { signed: Some(guard == Guard::Signature), ..MessageSettings::default() };
    rig.at(MemberId(member), |cx, party| {
        let mut messenger = Messenger::new(cx, settings).expect("it is a member");
        messenger.follow(cx, party);
        messenger
    })
}
