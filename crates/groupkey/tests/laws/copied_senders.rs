//! A sender whose process was copied: both copies have the same key, session and counter. What do their
//! messages show to somebody without the key?

use groupkey::catalogue::scheme;
use groupkey::error::Misbehaviour;
use groupkey::messages::{MessageSettings, Messenger, Nonces};
use groupkey::{MemberId, Suite};
use groupkey_testkit::rig::{self, Guard, Rig};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

const SENDER: MemberId = MemberId(0);
const RECEIVER: MemberId = MemberId(1);
const LEAVER: u32 = 3;

/// A group with two copies of one sender, and a receiver.
struct CopiedSender {
    rig: Rig,
    copies: [Messenger; 2],
    receiver: Messenger,
}

impl CopiedSender {
    fn new(suite: Suite, guard: Guard, nonces: Nonces) -> Self {
        let settings = rig::Settings { protection: guard, suite, ..rig::Settings::default() };
        let mut rig = Rig::new(scheme("skdc").unwrap(), settings);
        rig.create(4).unwrap();
        let settings = MessageSettings { nonces, ..MessageSettings::default() };
        // They have drawn the same until they part.
        let copies = [(); 2].map(|()| {
            rig.at_drawing(SENDER, &mut ChaCha20Rng::seed_from_u64(1), |cx, party| {
                let mut messenger = Messenger::new(cx, settings).unwrap();
                messenger.follow(cx, party);
                messenger
            })
        });
        let receiver = rig.at(RECEIVER, |cx, party| {
            let mut messenger = Messenger::new(cx, MessageSettings::default()).unwrap();
            messenger.follow(cx, party);
            messenger
        });
        Self { rig, copies, receiver }
    }

    /// A member leaves, and everybody takes the next key. Each copy asks the operating system for
    /// random bytes of its own.
    fn rekey(&mut self) {
        let Self { rig, copies, receiver } = self;
        rig.remove(LEAVER).unwrap();
        for (copy, seed) in copies.iter_mut().zip(2..) {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            rig.at_drawing(SENDER, &mut rng, |cx, party| copy.follow(cx, party));
        }
        rig.at(RECEIVER, |cx, party| receiver.follow(cx, party));
    }

    fn seal(&mut self, contents: [&[u8]; 2]) -> [Vec<u8>; 2] {
        let Self { rig, copies: [one, other], .. } = self;
        let [content, another] = contents;
        rig.at(SENDER, |cx, _| [one.seal(cx, content).unwrap(), other.seal(cx, another).unwrap()])
    }

    fn open(&mut self, bytes: &[u8]) -> Result<Vec<u8>, groupkey::Error> {
        let Self { rig, receiver, .. } = self;
        rig.at(RECEIVER, |cx, _| receiver.open(cx, bytes)).map(|received| received.content)
    }
}

/// Returns whether the exclusive or of the two messages has that of the contents, or six bytes of it. With Ascon that is
/// of the first block of 16 bytes that differs.
fn show_the_difference(messages: &[Vec<u8>; 2], contents: [&[u8]; 2]) -> bool {
    let difference = |[one, other]: [&[u8]; 2]| {
        one.iter().zip(other).map(|(one, other)| one ^ other).collect::<Vec<u8>>()
    };
    let [one, other] = messages;
    let (of_messages, of_contents) = (difference([one, other]), difference(contents));
    let mut pieces = of_contents.windows(6).filter(|piece| piece.iter().any(|&byte| byte != 0));
    pieces.any(|piece| of_messages.windows(6).any(|found| found == piece))
}

const CONTENTS: [&[u8]; 2] = [b"all doors are to be opened now", b"no door is to be opened at all"];

fn all() -> impl Iterator<Item = (Suite, Guard)> {
    let suites = [Suite::Standard, Suite::Constrained].into_iter();
    suites.flat_map(|suite| [Guard::Mac, Guard::Signature].map(|guard| (suite, guard)))
}

#[test]
fn a_copied_sender_repeats_its_nonces_until_the_next_key() {
    for (suite, guard) in all() {
        let mut copied = CopiedSender::new(suite, guard, Nonces::Counter);
        let messages = copied.seal(CONTENTS);
        assert!(show_the_difference(&messages, CONTENTS), "{}, {guard:?}", suite.name());
        copied.open(&messages[0]).unwrap();
        assert_eq!(copied.open(&messages[1]), Err(Misbehaviour::Replayed.into()));

        copied.rekey();
        let messages = copied.seal(CONTENTS);
        assert!(!show_the_difference(&messages, CONTENTS), "{}, {guard:?}", suite.name());
        for (message, content) in messages.iter().zip(CONTENTS) {
            assert_eq!(copied.open(message).unwrap(), content);
        }
    }
}

#[test]
fn a_copied_sender_with_synthetic_nonces_shows_equality_alone() {
    for (suite, guard) in all() {
        let mut copied = CopiedSender::new(suite, guard, Nonces::Synthetic);
        let messages = copied.seal(CONTENTS);
        assert!(!show_the_difference(&messages, CONTENTS), "{}, {guard:?}", suite.name());
        assert_eq!(copied.open(&messages[0]).unwrap(), CONTENTS[0]);
        assert_eq!(copied.open(&messages[1]), Err(Misbehaviour::Replayed.into()));

        let [one, other] = copied.seal([CONTENTS[0]; 2]);
        assert_eq!(one, other, "equal contents are seen to be equal");
        assert!(!show_the_difference(&[one, messages[0].clone()], [CONTENTS[0]; 2]));
    }
}

/// Equal contents of one sender are not seen to be equal: the hash in the nonce covers the counter.
#[test]
fn a_synthetic_nonce_does_not_show_that_a_content_comes_again() {
    for (suite, guard) in all() {
        let mut copied = CopiedSender::new(suite, guard, Nonces::Synthetic);
        let messages = [(); 2].map(|()| copied.seal([CONTENTS[0]; 2])[0].clone());
        let [first, second] = messages.each_ref().map(|message| nonce(suite, message));
        let (counter, hashes) =
            (first.len() - 5, [first, second].map(|nonce| &nonce[..first.len() - 5]));
        assert_eq!([first[counter..][4], second[counter..][4]], [0, 1], "they count");
        assert!(hashes[0].iter().zip(hashes[1]).filter(|(one, other)| one == other).count() < 4);
    }
}

/// The IV in a message's header: label 5, and a byte string of 13 or 16 bytes.
fn nonce(suite: Suite, message: &[u8]) -> &[u8] {
    let length = if suite == Suite::Constrained { 16 } else { 13 };
    let head = [5, 0x40 + length as u8];
    let place = message.windows(2).position(|pair| pair == head).expect("the header has an IV");
    &message[place + 2..][..length]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn copies_with_synthetic_nonces_show_nothing_of_any_two_contents(
        contents in any::<[Vec<u8>; 2]>(),
        is_constrained in any::<bool>(),
        is_signed in any::<bool>(),
    ) {
        let suite = if is_constrained { Suite::Constrained } else { Suite::Standard };
        let guard = if is_signed { Guard::Signature } else { Guard::Mac };
        let mut copied = CopiedSender::new(suite, guard, Nonces::Synthetic);
        let contents = [&contents[0][..], &contents[1]];
        let messages = copied.seal(contents);
        prop_assert_eq!(messages[0] == messages[1], contents[0] == contents[1]);
        prop_assert!(!show_the_difference(&messages, contents));
        prop_assert_eq!(copied.open(&messages[0]).unwrap(), contents[0]);
        prop_assert_eq!(copied.open(&messages[1]), Err(Misbehaviour::Replayed.into()));
    }
}
