//! Senders that introduce themselves: a receiver knows nobody, and learns each sender's public key
//! from the credential in its messages.

use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::error::{Error, Misbehaviour, Misuse};
use groupkey::messages::{MessageSettings, Messenger, Received};
use groupkey::protection::{Directory, Identity, Protection, PublicIdentity};
use groupkey::{
    Context, Epoch, GroupContext, GroupId, Key, MemberId, Outbox, PartyId, Setting, Suite,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// The receiver's directory: a credential is a number, a public key, and the authority's word.
struct Authority;

/// A member with its messenger.
struct Speaker {
    me: MemberId,
    identity: Identity,
    messenger: Messenger,
    rng: ChaCha20Rng,
    /// Its clock, ns.
    now: u64,
    /// What its last step cost.
    meter: Meter,
}

impl Directory for Authority {
    fn public_identity(&self, _: PartyId) -> Option<PublicIdentity> {
        None
    }

    fn introduced(
        &self,
        group: &GroupContext,
        party: PartyId,
        credential: &[u8],
    ) -> Option<PublicIdentity> {
        let (public, word) = credential.split_first_chunk::<32>()?;
        assert_eq!(*group, GroupContext::default());
        (word == self::word(party)).then(|| PublicIdentity::from_bytes(public))?
    }
}

fn secret(member: u32) -> [u8; 32] {
    core::array::from_fn(|place| member.to_be_bytes()[place % 4] ^ place as u8)
}

fn word(party: PartyId) -> [u8; 64] {
    [party.number() as u8; 64]
}

impl Speaker {
    fn new(member: u32, settings: MessageSettings) -> Self {
        let me = MemberId(member);
        let mut speaker = Self {
            me,
            identity: Identity::from_secret(&secret(member)),
            messenger: messenger(me, settings),
            rng: ChaCha20Rng::seed_from_u64(member.into()),
            now: 0,
            meter: Meter::new(),
        };
        speaker.rekey(1);
        let credential = speaker.credential();
        speaker.messenger.introduce(credential);
        speaker
    }

    fn credential(&self) -> Vec<u8> {
        [self.identity.public().to_bytes().as_ref(), &word(self.me.into())].concat()
    }

    fn rekey(&mut self, epoch: u8) {
        let key = Key::from_bytes([epoch; 16]);
        self.at(|cx, messenger| messenger.rekeyed(cx, Epoch(epoch.into()), &key));
    }

    fn seal(&mut self, content: &[u8]) -> Vec<u8> {
        self.at(|cx, messenger| messenger.seal(cx, content)).unwrap()
    }

    fn open(&mut self, bytes: &[u8]) -> Result<Received, Error> {
        self.at(|cx, messenger| messenger.open(cx, bytes))
    }

    fn verified(&self) -> u64 {
        self.meter.tally(Primitive::Verify).calls
    }

    fn at<R>(&mut self, act: impl FnOnce(&mut Context<'_>, &mut Messenger) -> R) -> R {
        self.meter = Meter::new();
        let Self { me, identity, messenger, rng, now, meter } = self;
        let protection = Protection::Signature { identity, directory: &Authority };
        let setting = Setting::new(GroupId(1), Suite::Standard);
        let mut outbox = Outbox::new();
        let mut cx = Context::new(setting, (*me).into(), protection, rng, *now, &mut outbox, meter);
        act(&mut cx, messenger)
    }
}

fn messenger(me: MemberId, settings: MessageSettings) -> Messenger {
    let (mut rng, mut outbox, mut meter) =
        (ChaCha20Rng::seed_from_u64(0), Outbox::new(), Meter::new());
    let setting = Setting::new(GroupId(1), Suite::Standard);
    let protection = Protection::None;
    let cx = Context::new(setting, me.into(), protection, &mut rng, 0, &mut outbox, &mut meter);
    Messenger::new(&cx, MessageSettings { signed: Some(true), ..settings }).unwrap()
}

fn speakers<const N: usize>(settings: MessageSettings) -> [Speaker; N] {
    core::array::from_fn(|member| Speaker::new(member as u32, settings))
}

const UNKNOWN: Result<Received, Error> = Err(Error::Misbehaved(Misbehaviour::UnknownSender));
const FORGED: Result<Received, Error> = Err(Error::Misbehaved(Misbehaviour::Forged));

#[test]
fn a_sender_is_checked_once_and_then_known() {
    let [mut sender, mut receiver] = speakers(MessageSettings::default());
    let first = sender.seal(b"first");
    assert_eq!(receiver.open(&first).unwrap().sender, MemberId(0));
    assert_eq!(receiver.verified(), 2, "the credential, and the message");
    let second = sender.seal(b"first");
    assert_eq!(first.len() - second.len(), 103);
    receiver.open(&second).unwrap();
    assert_eq!(receiver.verified(), 1);
    // In the next epoch, too, although it introduces itself to others.
    for speaker in [&mut sender, &mut receiver] {
        speaker.rekey(2);
    }
    let third = sender.seal(b"first");
    assert_eq!(third.len(), first.len());
    receiver.open(&third).unwrap();
    assert_eq!(receiver.verified(), 1);
}

#[test]
fn who_missed_the_first_message_hears_the_sixteenth_after_it() {
    let [mut sender, mut receiver] = speakers(MessageSettings::default());
    sender.seal(b"lost");
    for _ in 1..16 {
        let bytes = sender.seal(b"early");
        assert_eq!(receiver.open(&bytes), UNKNOWN);
    }
    let bytes = sender.seal(b"heard");
    assert_eq!(receiver.open(&bytes).unwrap().content, b"heard");
    let bytes = sender.seal(b"and on");
    assert_eq!(receiver.open(&bytes).unwrap().content, b"and on");
}

/// A refused message has changed nothing: the genuine one is taken afterwards.
#[test]
fn no_credential_speaks_for_another() {
    let [mut sender, mut receiver, mut liar] = speakers(MessageSettings::default());
    // It speaks as the sender: with its own credential, with the sender's, and with none.
    let me = core::mem::replace(&mut liar.me, sender.me);
    liar.messenger = messenger(sender.me, MessageSettings::default());
    liar.rekey(1);
    assert_eq!(receiver.open(&liar.seal(b"a lie")), UNKNOWN);
    let others = sender.credential();
    let own = [liar.identity.public().to_bytes().as_ref(), &word(me.into())].concat();
    for credential in [own, others, vec![0; 3]] {
        liar.rekey(1);
        liar.messenger = messenger(sender.me, MessageSettings::default());
        liar.rekey(1);
        liar.messenger.introduce(credential);
        assert_eq!(receiver.open(&liar.seal(b"a lie")), FORGED);
    }
    receiver.open(&sender.seal(b"true")).unwrap();
    assert_eq!(receiver.open(&liar.seal(b"a lie")), FORGED);
}

/// The key that was learned stays, whatever credential comes later.
#[test]
fn nobody_is_introduced_twice() {
    let [mut sender, mut receiver] = speakers(MessageSettings::default());
    receiver.open(&sender.seal(b"first")).unwrap();
    for speaker in [&mut sender, &mut receiver] {
        speaker.rekey(2);
    }
    sender.identity = Identity::from_secret(&[99; 32]);
    let credential = sender.credential();
    sender.messenger.introduce(credential);
    assert_eq!(receiver.open(&sender.seal(b"second")), FORGED);
}

#[test]
fn who_is_silent_makes_room_for_who_speaks() {
    let settings = MessageSettings { sources: 2, ..MessageSettings::default() };
    let [mut a, mut b, mut c, mut receiver] = speakers(settings);
    for speaker in [&mut a, &mut b] {
        receiver.open(&speaker.seal(b"here")).unwrap();
    }
    assert!(receiver.open(&c.seal(b"no room")).is_err());
    for speaker in [&mut a, &mut b, &mut c, &mut receiver] {
        speaker.rekey(2);
    }
    // Both are still remembered from the epoch before, as far as messages of it are taken.
    let bytes = c.seal(b"heard");
    receiver.open(&bytes).unwrap();
    assert_eq!(receiver.verified(), 2);
    for speaker in [&mut b, &mut c, &mut receiver] {
        speaker.rekey(3);
    }
    let bytes = c.seal(b"again");
    receiver.open(&bytes).unwrap();
    let bytes = b.seal(b"after a while");
    receiver.open(&bytes).unwrap();
}

#[test]
fn each_message_leaves_room_for_the_credential() {
    let [mut sender] = speakers(MessageSettings::default());
    let longest = 65_535 - 84 - 96;
    for _ in 0..17 {
        sender.seal(&vec![1; longest]);
        let refused = sender.at(|cx, messenger| messenger.seal(cx, &vec![1; longest + 1]));
        assert_eq!(refused, Err(Misuse::MessageTooLong { limit: longest }.into()));
    }
}

/// The message with the credential is lost. The next one is not understood, unless it comes ten seconds
/// later, the clock was set back, or the sender was told.
#[test]
fn who_speaks_again_after_a_while_is_understood_whatever_was_lost() {
    const WHILE: u64 = 10_000_000_000;
    for (wait, is_told, is_understood) in
        [(WHILE - 1, false, false), (WHILE, false, true), (0, true, true)]
    {
        let [mut sender, mut receiver] = speakers(MessageSettings::default());
        sender.now = WHILE;
        sender.seal(b"lost");
        sender.now += wait;
        if is_told {
            sender.messenger.introduce_again();
        }
        let bytes = sender.seal(b"heard");
        assert_eq!(receiver.open(&bytes).is_ok(), is_understood, "{wait}");
        sender.now = 0;
        let bytes = sender.seal(b"set back");
        receiver.open(&bytes).unwrap();
    }
}

/// What `docs/messages.md` says of a receiver that hears everybody.
#[test]
fn documented_costs_of_senders_are_right() {
    let settings = MessageSettings::default();
    for members in [10_u32, 1_000] {
        let mut receiver = Speaker::new(members, settings);
        let (mut verified, mut lengths) = ([0, 0], [0, 0]);
        for member in 0..members {
            let mut sender = Speaker::new(member, settings);
            for turn in 0..2 {
                let bytes = sender.seal(&[7; 13]);
                assert_eq!(sender.meter.tally(Primitive::Sign).calls, 1);
                receiver.open(&bytes).unwrap();
                verified[turn] += receiver.verified();
                lengths[turn] = bytes.len();
            }
        }
        let of_all = u64::from(members);
        assert_eq!(verified, [2 * of_all, of_all]);
        assert_eq!(lengths[0] - lengths[1], 103);
        assert_eq!(receiver.messenger.memory_of_senders(), 96 * members as usize);
    }
}
