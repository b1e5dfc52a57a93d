//! Group messages over every scheme of the catalogue: a party that is in the group reads them, and
//! nobody else; replays, old epochs and foreign signatures are refused.

use groupkey::author::Messages;
use groupkey::catalogue::{Law, Profile, SCHEMES, Scheme, scheme};
use groupkey::error::{Error, Misbehaviour, Misuse, Unsupported};
use groupkey::messages::{MessageSettings, Messenger, Nonces, Received};
use groupkey::{Epoch, Key, MemberId, Operation, Suite};
use groupkey_testkit::rig::{self, Guard, Rig};

const GRACE: u64 = 5_000;

/// A group and a messenger for each of its members, present and past.
struct Talk {
    rig: Rig,
    members: Vec<(MemberId, Messenger)>,
    settings: MessageSettings,
}

impl Talk {
    fn new(scheme: &'static Scheme, guard: Guard, suite: Suite) -> Self {
        let settings = rig::Settings { protection: guard, suite, ..rig::Settings::default() };
        Self::with(scheme, settings)
    }

    fn with(scheme: &'static Scheme, settings: rig::Settings) -> Self {
        let signed = settings.protection == Guard::Signature;
        let mut rig = Rig::new(scheme, settings);
        rig.create(5).unwrap();
        let settings =
            MessageSettings { grace: GRACE, signed: Some(signed), ..MessageSettings::default() };
        let mut talk = Self { rig, members: Vec::new(), settings };
        (0..5).for_each(|id| talk.welcome(id));
        talk.follow();
        talk
    }

    fn welcome(&mut self, id: u32) {
        let id = MemberId(id);
        let settings = self.settings;
        let messenger = self.rig.at(id, |cx, _| Messenger::new(cx, settings).unwrap());
        self.members.push((id, messenger));
    }

    fn sends_with(&mut self, id: u32, nonces: Nonces) {
        self.members.retain(|(member, _)| member.0 != id);
        self.settings.nonces = nonces;
        self.welcome(id);
        self.follow();
    }

    /// Everybody takes its party's key.
    fn follow(&mut self) {
        let present: Vec<_> = self.rig.members().map(MemberId).collect();
        for (id, messenger) in self.members.iter_mut().filter(|(id, _)| present.contains(id)) {
            self.rig.at(*id, |cx, party| messenger.follow(cx, party));
        }
    }

    /// Begins a message, where messages have keys.
    fn begin(&mut self, id: u32) {
        if matches!(self.rig.party(MemberId(id).into()).messages(), Messages::UnderOwnKeys(_)) {
            self.rig.send(id).unwrap();
            self.follow();
        }
    }

    fn messenger(&mut self, id: u32) -> &mut Messenger {
        let found = self.members.iter_mut().find(|(member, _)| member.0 == id);
        &mut found.expect("it was welcomed").1
    }

    fn seal(&mut self, id: u32, content: &[u8]) -> Vec<u8> {
        self.begin(id);
        self.try_to_seal(id, content).unwrap()
    }

    fn try_to_seal(&mut self, id: u32, content: &[u8]) -> Result<Vec<u8>, Error> {
        let Self { rig, members, .. } = self;
        let (id, messenger) = members.iter_mut().find(|(member, _)| member.0 == id).unwrap();
        rig.at(*id, |cx, _| messenger.seal(cx, content))
    }

    fn encrypt(&mut self, id: u32, content: &[u8]) -> Result<Vec<u8>, Error> {
        let Self { rig, members, .. } = self;
        let (id, messenger) = members.iter_mut().find(|(member, _)| member.0 == id).unwrap();
        rig.at(*id, |cx, party| messenger.encrypt(cx, party, content))
    }

    fn decrypt(&mut self, id: u32, bytes: &[u8]) -> Result<Received, Error> {
        let Self { rig, members, .. } = self;
        let (id, messenger) = members.iter_mut().find(|(member, _)| member.0 == id).unwrap();
        rig.at(*id, |cx, party| messenger.decrypt(cx, party, bytes))
    }

    /// Opens a message with what a member or former member has.
    fn open(&mut self, id: u32, bytes: &[u8]) -> Result<Received, Error> {
        let Self { rig, members, .. } = self;
        let (_, messenger) = members.iter_mut().find(|(member, _)| member.0 == id).unwrap();
        let present = MemberId(rig.members().next().unwrap());
        rig.at(present, |cx, _| messenger.open(cx, bytes))
    }
}

fn talk(id: &str) -> Talk {
    Talk::new(scheme(id).unwrap(), Guard::Mac, Suite::Standard)
}

#[test]
fn members_of_every_scheme_read_each_other() {
    for scheme in SCHEMES {
        for (guard, suite) in
            [(Guard::Mac, Suite::Standard), (Guard::Signature, Suite::Constrained)]
        {
            let mut talk = Talk::new(scheme, guard, suite);
            for from in 0..5 {
                let said = [from as u8; 20];
                let bytes = talk.seal(from, &said);
                for to in (0..5).filter(|&to| to != from) {
                    let heard = talk.open(to, &bytes).unwrap_or_else(|error| {
                        panic!("{}: {to} does not read {from}: {error}", scheme.id)
                    });
                    assert_eq!((heard.sender, &heard.content[..]), (MemberId(from), &said[..]));
                }
            }
        }
    }
}

#[test]
fn who_has_left_reads_nothing_more_and_who_comes_nothing_earlier() {
    for scheme in SCHEMES.iter().filter(|scheme| scheme.operations.contains(&Operation::Remove)) {
        // Where nobody has a group key, a change is in one subgroup alone and messages have keys.
        let mut talk = Talk::new(scheme, Guard::Mac, Suite::Standard);
        let before = talk.seal(1, b"before");
        talk.rig.remove(2).unwrap();
        talk.follow();
        let between = talk.seal(1, b"between");
        assert!(talk.open(2, &between).is_err(), "{}: the evicted member reads on", scheme.id);
        talk.rig.add(9).unwrap();
        talk.welcome(9);
        talk.follow();
        for old in [before, between] {
            assert!(talk.open(9, &old).is_err(), "{}: the newcomer reads back", scheme.id);
        }
        let after = talk.seal(9, b"after");
        assert_eq!(talk.open(1, &after).unwrap().content, b"after", "{}", scheme.id);
        assert!(talk.open(2, &after).is_err(), "{}: the evicted member reads on", scheme.id);
    }
}

#[test]
fn every_message_is_taken_once() {
    let mut talk = talk("skdc");
    let bytes = talk.seal(0, b"once");
    talk.open(1, &bytes).unwrap();
    assert_eq!(talk.open(1, &bytes), Err(Misbehaviour::Replayed.into()));
    talk.open(2, &bytes).unwrap();
}

/// It has no memory of what it accepted.
#[test]
fn a_receiver_that_starts_again_takes_a_repetition_once_more() {
    let mut talk = talk("skdc");
    let bytes = talk.seal(0, b"once");
    talk.open(1, &bytes).unwrap();
    talk.members.retain(|(id, _)| id.0 != 1);
    talk.welcome(1);
    talk.follow();
    talk.open(1, &bytes).unwrap();
    assert_eq!(talk.open(1, &bytes), Err(Misbehaviour::Replayed.into()));
}

#[test]
fn what_is_late_under_the_key_before_is_no_replay_under_the_new_one() {
    // Its messages have keys of their own and no epochs: counters begin anew with each key.
    let mut talk = talk("iolus");
    let late = talk.seal(0, b"late");
    let early = talk.seal(0, b"early");
    for (message, content) in [(&early, &b"early"[..]), (&late, b"late")] {
        assert_eq!(talk.open(1, message).unwrap().content, content);
    }
    for message in [early, late] {
        assert_eq!(talk.open(1, &message), Err(Misbehaviour::Replayed.into()));
    }
}

#[test]
fn messages_may_overtake_each_other_within_the_window() {
    let mut talk = talk("skdc");
    let messages: Vec<_> = (0..70u8).map(|number| talk.seal(0, &[number])).collect();
    talk.open(1, &messages[69]).unwrap();
    for number in (6..69).rev() {
        assert_eq!(talk.open(1, &messages[number]).unwrap().content, [number as u8]);
    }
    for message in &messages {
        assert_eq!(talk.open(1, message), Err(Misbehaviour::Replayed.into()));
    }
}

#[test]
fn the_epoch_before_has_a_time_of_grace() {
    let mut talk = talk("lkh-group");
    let early = talk.seal(0, b"early");
    let (last, late) = (talk.seal(0, b"last"), talk.seal(0, b"late"));
    talk.rig.remove(4).unwrap();
    talk.follow();
    assert_eq!(talk.open(1, &early).unwrap().epoch, Epoch(1));
    talk.rig.wait(GRACE);
    assert_eq!(talk.open(1, &last).unwrap().epoch, Epoch(1));
    talk.rig.wait(1);
    let over = Misbehaviour::StaleEpoch { got: Epoch(1), current: Epoch(2) };
    assert_eq!(talk.open(1, &late), Err(over.into()));
    // Two changes within the time of grace: only the epoch before is left.
    let second = talk.seal(0, b"second");
    for leaver in [3, 2] {
        talk.rig.remove(leaver).unwrap();
        talk.follow();
    }
    let over = Misbehaviour::StaleEpoch { got: Epoch(2), current: Epoch(4) };
    assert_eq!(talk.open(1, &second), Err(over.into()));
}

#[test]
fn a_message_of_a_later_epoch_says_that_something_was_missed() {
    let mut talk = talk("skdc");
    talk.rig.sleep(1);
    talk.rig.remove(4).unwrap();
    talk.follow();
    let bytes = talk.seal(0, b"later");
    let missed = Misbehaviour::SkippedEpoch { got: Epoch(2), current: Epoch(1) };
    assert_eq!(talk.open(1, &bytes), Err(missed.into()));
    talk.rig.catch_up(1).unwrap();
    talk.follow();
    assert_eq!(talk.open(1, &bytes).unwrap().content, b"later");
}

#[test]
fn a_sender_that_starts_again_uses_no_counter_twice() {
    let mut talk = talk("skdc");
    let first = talk.seal(0, b"same content");
    let settings = talk.settings;
    *talk.messenger(0) = talk.rig.at(MemberId(0), |cx, party| {
        let mut messenger = Messenger::new(cx, settings).unwrap();
        messenger.follow(cx, party);
        messenger
    });
    let again = talk.seal(0, b"same content");
    assert_eq!(first.len(), again.len());
    // The text without its tag, which also covers the header.
    let text = |bytes: &[u8]| bytes[bytes.len() - 28..bytes.len() - 16].to_vec();
    assert_ne!(text(&first), text(&again), "another key, another text");
    assert_ne!(text(&talk.seal(1, b"same content")), text(&first), "another sender's key");
    talk.open(1, &first).unwrap();
    talk.open(1, &again).unwrap();
}

#[test]
fn every_changed_bit_is_noticed() {
    let cases = [(Guard::Mac, Suite::Standard), (Guard::Signature, Suite::Constrained)];
    for ((guard, suite), nonces) in
        cases.into_iter().flat_map(|case| Nonces::ALL.map(|nonces| (case, nonces)))
    {
        let mut talk = Talk::new(scheme("skdc").unwrap(), guard, suite);
        talk.sends_with(0, nonces);
        let bytes = talk.seal(0, b"to be changed");
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(talk.open(1, &changed).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(talk.open(1, &bytes[..length]), Err(Misbehaviour::Malformed.into()));
        }
        talk.open(1, &bytes).unwrap();
    }
}

/// With a group key alone, any member can say anything in another's name; not if senders sign.
#[test]
fn signatures_tell_who_spoke() {
    let scheme = scheme("skdc").unwrap();
    let forged = |talk: &mut Talk| {
        // Member 3 seals with a messenger that takes itself for member 0's.
        let settings = talk.settings;
        talk.rig.at(MemberId(0), |cx, _| Messenger::new(cx, settings)).map(|mut messenger| {
            talk.rig.at(MemberId(3), |cx, party| {
                messenger.follow(cx, party);
                messenger.seal(cx, b"in another's name").unwrap()
            })
        })
    };
    let mut unsigned = Talk::new(scheme, Guard::Mac, Suite::Standard);
    let bytes = forged(&mut unsigned).unwrap();
    assert_eq!(unsigned.open(1, &bytes).unwrap().sender, MemberId(0));
    let mut signed = Talk::new(scheme, Guard::Signature, Suite::Standard);
    let bytes = forged(&mut signed).unwrap();
    assert_eq!(signed.open(1, &bytes), Err(Misbehaviour::Forged.into()));
}

#[test]
fn a_group_that_signs_takes_no_unsigned_message() {
    let mut talk = Talk::new(scheme("skdc").unwrap(), Guard::Signature, Suite::Standard);
    let settings = MessageSettings { signed: Some(false), ..talk.settings };
    let bytes = talk.rig.at(MemberId(0), |cx, party| {
        let mut messenger = Messenger::new(cx, settings).unwrap();
        messenger.follow(cx, party);
        messenger.seal(cx, b"unsigned").unwrap()
    });
    assert_eq!(talk.open(1, &bytes), Err(Misbehaviour::UnexpectedMessage.into()));
}

#[test]
fn misuse_is_refused_and_costs_nothing() {
    let mut talk = talk("skdc");
    let settings = talk.settings;
    talk.rig.at(MemberId(0), |cx, party| {
        let mut messenger = Messenger::new(cx, settings).unwrap();
        assert_eq!(messenger.seal(cx, b"too early"), Err(Misuse::NotCreated.into()));
        assert_eq!(messenger.open(cx, b"junk"), Err(Misbehaviour::Malformed.into()));
        messenger.follow(cx, party);
        let long = vec![0; 65_536];
        let limit = Misuse::MessageTooLong { limit: 65_535 };
        assert_eq!(messenger.seal(cx, &long), Err(limit.into()));
        messenger.seal(cx, &long[1..]).unwrap();
        let mut signing =
            Messenger::new(cx, MessageSettings { signed: Some(true), ..settings }).unwrap();
        signing.follow(cx, party);
        assert_eq!(signing.seal(cx, b""), Err(Misuse::NoIdentity.into()));
    });
}

#[test]
fn no_more_senders_are_remembered_than_was_said() {
    let mut talk = talk("skdc");
    talk.settings.sources = 2;
    let settings = talk.settings;
    *talk.messenger(1) = talk.rig.at(MemberId(1), |cx, _| Messenger::new(cx, settings).unwrap());
    talk.follow();
    for (from, error) in [(0, None), (2, None), (3, Some(Unsupported::TooManySources { limit: 2 }))]
    {
        let bytes = talk.seal(from, b"hello");
        assert_eq!(talk.open(1, &bytes).map(drop), error.map_or(Ok(()), |error| Err(error.into())));
    }
    // Those that are remembered go on, and so does everybody with the next key.
    let bytes = talk.seal(2, b"again");
    talk.open(1, &bytes).unwrap();
    talk.rig.remove(4).unwrap();
    talk.follow();
    let bytes = talk.seal(3, b"at last");
    talk.open(1, &bytes).unwrap();
}

/// A member that signs can start eight times in an epoch. Without signatures others could do that in its
/// name, and nobody would hear it.
#[test]
fn the_limit_of_starts_is_for_members_that_sign() {
    for (guard, limit) in [(Guard::Mac, usize::MAX), (Guard::Signature, 8)] {
        let mut talk = Talk::new(scheme("skdc").unwrap(), guard, Suite::Standard);
        let settings = talk.settings;
        let mut sent = Vec::new();
        for start in 0..20 {
            let bytes = talk.rig.at(MemberId(0), |cx, party| {
                let mut messenger = Messenger::new(cx, settings).unwrap();
                messenger.follow(cx, party);
                messenger.seal(cx, b"started again").unwrap()
            });
            let opened = talk.open(1, &bytes).map(drop);
            let refused = Unsupported::TooManySources { limit: 8 }.into();
            assert_eq!(opened, if start < limit { Ok(()) } else { Err(refused) }, "{start}");
            sent.push(bytes);
        }
        // It cannot use up the memory for others.
        for member in [2, 3] {
            let bytes = talk.seal(member, b"hello");
            talk.open(1, &bytes).unwrap();
        }
        // No start makes the receiver forget what it heard in another.
        for bytes in sent.iter().take(limit) {
            assert_eq!(talk.open(1, bytes), Err(Misbehaviour::Replayed.into()));
        }
    }
}

/// Schemes with encryption of their own, and how many bytes carry a key in the suites standard and
/// published. S004 tells 3,072 bits of Nishat's.
const OWN_ENCRYPTION: [(&str, usize, usize); 3] =
    [("boneh-fat", 192, 256), ("boneh-thin", 192, 256), ("nishat", 192, 3_072 / 8)];

#[test]
fn messages_by_the_schemes_own_encryption_are_read_by_members_alone() {
    for (id, standard, published) in OWN_ENCRYPTION {
        for (suite, carried) in [(Suite::Standard, standard), (Suite::Published, published)] {
            for profile in Profile::ALL {
                let settings = rig::Settings { profile, suite, ..rig::Settings::default() };
                let mut talk = Talk::with(scheme(id).unwrap(), settings);
                // Its receivers read both kinds.
                talk.sends_with(1, Nonces::Synthetic);
                talk.sends_with(0, Nonces::Counter);
                let context = format!("{id}, {}, {}", profile.name(), suite.name());
                let [one, other] = [(0, "slippery"), (0, "road")].map(|(from, said)| {
                    let bytes = talk.encrypt(from, said.as_bytes()).unwrap();
                    assert_eq!(talk.decrypt(2, &bytes).unwrap().content, said.as_bytes());
                    let again = talk.decrypt(2, &bytes);
                    assert_eq!(again, Err(Misbehaviour::Replayed.into()), "{context}");
                    bytes
                });
                // Header and content are as long as under the group key, a label and a length more.
                let plain = talk.seal(0, b"slippery").len();
                assert_eq!(one.len(), plain + 5 + 1 + carried_head(carried) + carried, "{context}");
                assert_ne!(one[..80], other[..80], "each message has a key of its own");
                assert_eq!(talk.open(3, &one), Err(Misbehaviour::UnexpectedMessage.into()));

                talk.rig.sleep(2);
                talk.rig.remove(4).unwrap();
                talk.follow();
                let bytes = talk.encrypt(1, b"they have gone").unwrap();
                assert_eq!(talk.decrypt(3, &bytes).unwrap().sender, MemberId(1), "{context}");
                let late = talk.decrypt(2, &bytes);
                assert!(
                    matches!(late, Err(Error::Misbehaved(Misbehaviour::SkippedEpoch { .. }))),
                    "{context}: {late:?}"
                );
                let stale = talk.decrypt(3, &one);
                let is_stale =
                    |error| matches!(error, Error::Misbehaved(Misbehaviour::StaleEpoch { .. }));
                assert!(stale.is_err_and(is_stale), "{context}");
            }
        }
    }
}

/// Bytes of a CBOR length beyond its first byte, and of what the longer header adds to the head
/// around it: 24 to 255 take one byte more, up to 65,535 two.
fn carried_head(carried: usize) -> usize {
    let of = |length: usize| if length > 255 { 2 } else { 1 };
    of(carried) + of(carried + 60) - 1
}

/// Who was evicted gets another key out of what carries one, or none. That this is so whatever it
/// computes is the schemes' own tests' matter.
#[test]
fn who_was_evicted_cannot_decapsulate() {
    for (id, ..) in OWN_ENCRYPTION {
        // Two groups of one seed are one group: in the other one, the evicted member has a seat.
        let [mut rig, mut listening] = [(); 2].map(|()| {
            let mut rig = Rig::new(scheme(id).unwrap(), rig::Settings::default());
            rig.create(4).unwrap();
            rig
        });
        for heard in rig.remove(2).unwrap().open_messages() {
            let _ = listening.inject(MemberId(2).into(), &heard.bytes);
        }
        let (key, ciphertext) = rig
            .at(MemberId(0), |cx, party| party.messages().encryption()?.encapsulate(cx))
            .unwrap();
        let open = |rig: &mut Rig, id| {
            rig.at(id, |cx, party| party.messages().encryption()?.decapsulate(cx, &ciphertext))
        };
        assert_eq!(open(&mut rig, MemberId(3)), Ok(key.clone()), "{id}");
        assert_ne!(open(&mut listening, MemberId(2)), Ok(key), "{id}");
    }
}

#[test]
fn every_changed_byte_of_an_own_encryption_is_noticed() {
    for (id, ..) in OWN_ENCRYPTION {
        let settings = rig::Settings::default();
        let mut talk = Talk::with(scheme(id).unwrap(), settings);
        let bytes = talk.encrypt(0, b"slippery road").unwrap();
        for place in (0..bytes.len()).step_by(3) {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            assert!(talk.decrypt(1, &changed).is_err(), "{id}: byte {place}");
            assert!(talk.decrypt(1, &bytes[..place]).is_err(), "{id}: cut at {place}");
        }
        assert!(talk.decrypt(1, &bytes).is_ok(), "{id}: the refused ones changed nothing");
    }
}

/// Bytes that no scheme made, given to what opens them: no panic, and no key that anybody else has.
#[test]
fn hostile_bytes_carry_no_key() {
    for (id, standard, published) in OWN_ENCRYPTION {
        for (suite, length) in [(Suite::Standard, standard), (Suite::Published, published)] {
            for profile in Profile::ALL {
                let settings = rig::Settings { profile, suite, ..rig::Settings::default() };
                let mut rig = Rig::new(scheme(id).unwrap(), settings);
                rig.create(3).unwrap();
                let one =
                    rig.at(MemberId(0), |cx, party| party.messages().encryption()?.encapsulate(cx));
                let (key, genuine) = one.unwrap();
                let mut offered: Vec<_> = [0, 1, length - 1, length + 1, 2 * length]
                    .iter()
                    .flat_map(|&length| [vec![0; length], vec![0xff; length]])
                    .collect();
                offered.extend([vec![0; length], vec![0xff; length], vec![0x80; length]]);
                for place in (0..length).step_by(length / 8) {
                    let mut changed = genuine.clone();
                    changed[place] ^= 1 << (place % 8);
                    offered.push(changed);
                }
                for bytes in offered {
                    let opened = rig.at(MemberId(1), |cx, party| {
                        party.messages().encryption()?.decapsulate(cx, &bytes)
                    });
                    assert_ne!(opened.ok(), Some(key.clone()), "{id}, {}", suite.name());
                }
            }
        }
    }
}

#[test]
fn own_encryption_is_refused_where_there_is_none() {
    for scheme in SCHEMES {
        let mut rig = Rig::new(scheme, rig::Settings::default());
        rig.create(4).unwrap();
        let made = rig.at(MemberId(0), |cx, party| party.messages().encryption()?.encapsulate(cx));
        let has = OWN_ENCRYPTION.iter().any(|(id, ..)| *id == scheme.id);
        assert_eq!(made.is_ok(), has, "{}", scheme.id);
        if !has {
            assert_eq!(made, Err(Unsupported::Operation.into()), "{}", scheme.id);
        }
    }
}

#[test]
fn a_messenger_shows_no_secret() {
    let mut talk = talk("skdc");
    let key: Key = talk.rig.agreed_key().unwrap().clone();
    let shown = format!("{:?}", talk.messenger(0));
    assert!(shown.starts_with("Messenger"));
    let hex: String = key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!shown.contains(&hex) && !shown.contains(&format!("{:?}", key.as_bytes())));
}

#[test]
fn schemes_without_a_group_key_have_keys_for_messages() {
    let scheme = SCHEMES.iter().find(|scheme| scheme.law == Law::OneMessage).unwrap();
    let mut talk = Talk::new(scheme, Guard::Mac, Suite::Standard);
    let first = talk.seal(0, b"first");
    let second = talk.seal(0, b"second");
    // The second key goes around while the first message is still on its way.
    assert_eq!(talk.open(3, &first).unwrap().content, b"first");
    assert_eq!(talk.open(3, &second).unwrap().content, b"second");
    assert_eq!(talk.open(3, &second), Err(Misbehaviour::Replayed.into()));
}

#[test]
fn a_key_for_a_message_is_good_for_that_message_alone() {
    let settings = rig::Settings { parameters: vec![("subgroups", 2)], ..Default::default() };
    let mut talk = Talk::with(scheme("iolus").unwrap(), settings);
    let nothing = Err(Misuse::NotCreated.into());
    let used_up = Err(Misuse::CountersUsedUp.into());
    // The key of a subgroup is no key of the group.
    assert_eq!(talk.try_to_seal(0, b"too early"), nothing);
    talk.begin(0);
    assert_eq!(talk.try_to_seal(1, b"under another's"), used_up);
    let first = talk.try_to_seal(0, b"first").unwrap();
    assert_eq!(talk.try_to_seal(0, b"second"), used_up);
    // One of its subgroup goes, who has the key of the next message.
    talk.begin(0);
    assert_eq!(talk.open(1, &first).unwrap().content, b"first");
    talk.rig.remove(2).unwrap();
    talk.follow();
    assert_eq!(talk.try_to_seal(0, b"after the eviction"), nothing);
    let next = talk.seal(0, b"next");
    assert_eq!(talk.open(4, &next).unwrap().content, b"next");
    assert!(talk.open(2, &next).is_err());
}

/// Some of it is in `docs/messages.md`: what stands around a content.
#[test]
fn documented_sizes_are_right() {
    let (counter, synthetic) = (Nonces::Counter, Nonces::Synthetic);
    for (content, suite, guard, nonces, around) in [
        (0, Suite::Standard, Guard::Mac, counter, 61),
        (13, Suite::Standard, Guard::Mac, counter, 62),
        (13, Suite::Standard, Guard::Mac, synthetic, 74),
        (13, Suite::Standard, Guard::Signature, counter, 138),
        (13, Suite::Constrained, Guard::Mac, counter, 65),
        (13, Suite::Constrained, Guard::Mac, synthetic, 80),
        (1_000, Suite::Standard, Guard::Mac, counter, 63),
        (1_000, Suite::Standard, Guard::Mac, synthetic, 75),
    ] {
        let mut talk = Talk::new(scheme("skdc").unwrap(), guard, suite);
        talk.sends_with(0, nonces);
        let length = talk.seal(0, &vec![7; content]).len();
        assert_eq!(length - content, around, "{content} {} {nonces:?}", suite.name());
    }
}

#[test]
fn the_longest_messages_are_as_long_as_documented() {
    for (guard, longest) in [(Guard::Mac, 65_535), (Guard::Signature, 65_459)] {
        let mut talk = Talk::new(scheme("skdc").unwrap(), guard, Suite::Standard);
        let settings = talk.settings;
        let mut messenger = talk.rig.at(MemberId(0), |cx, _| Messenger::new(cx, settings).unwrap());
        talk.rig.at(MemberId(0), |cx, party| {
            messenger.follow(cx, party);
            assert!(messenger.seal(cx, &vec![1; longest]).is_ok());
            assert!(messenger.seal(cx, &vec![1; longest + 1]).is_err());
        });
    }
}

/// A key that comes back, as when past messages are read, has no counter twice.
#[test]
fn a_key_that_comes_back_is_used_anew() {
    let mut rig = Rig::new(scheme("skdc").unwrap(), Default::default());
    rig.create(3).unwrap();
    let key = rig.agreed_key().unwrap().clone();
    rig.remove(2).unwrap();
    let later = rig.agreed_key().unwrap().clone();
    let sealed = rig.at(MemberId(0), |cx, _| {
        let mut messenger = Messenger::new(cx, MessageSettings::default()).unwrap();
        let mut sealed = Vec::new();
        for _ in 0..3 {
            for (epoch, key) in [(Epoch(1), &key), (Epoch(2), &later)] {
                messenger.rekeyed(cx, epoch, key);
                sealed.push(messenger.seal(cx, b"the same").unwrap());
            }
        }
        sealed
    });
    for (place, one) in sealed.iter().enumerate() {
        assert!(sealed[..place].iter().all(|other| other != one), "{place}");
    }
}

#[test]
fn a_member_that_resumed_hears_nothing_twice() {
    let mut talk = talk("lkh-group");
    let before = talk.seal(0, b"before");
    assert!(talk.open(1, &before).is_ok());
    let settings = talk.settings;
    let start_again = |talk: &mut Talk| {
        let fresh = talk.rig.at(MemberId(1), |cx, _| Messenger::new(cx, settings).unwrap());
        *talk.messenger(1) = fresh;
        talk.follow();
    };
    start_again(&mut talk);
    assert!(talk.open(1, &before).is_ok(), "nothing tells it that it has heard this");
    start_again(&mut talk);
    talk.messenger(1).require_resumption(300);
    let ignorant = talk.seal(0, b"member 0 knows of no resumption");
    for bytes in [&before, &ignorant] {
        assert_eq!(talk.open(1, bytes), Err(Misbehaviour::Replayed.into()));
    }
    assert!(talk.open(2, &ignorant).is_ok(), "member 2 was there all along");
    talk.messenger(0).note_resumption(300);
    let after = talk.seal(0, b"after");
    assert_eq!(after.len(), before.len() - 1 + 2, "the count takes two bytes");
    for to in [1, 2] {
        assert!(talk.open(to, &after).is_ok());
        assert_eq!(talk.open(to, &after), Err(Misbehaviour::Replayed.into()));
    }
    // A count that is not news begins no session.
    talk.messenger(0).note_resumption(299);
    let next = talk.seal(0, b"after");
    assert!(talk.open(1, &next).is_ok());
    let own = talk.seal(1, b"from the member that resumed");
    assert!(talk.open(2, &own).is_ok());
    talk.rig.remove(4).unwrap();
    talk.follow();
    *talk.messenger(0) = talk.rig.at(MemberId(0), |cx, _| Messenger::new(cx, settings).unwrap());
    talk.follow();
    let next = talk.seal(0, b"under the next key there is nothing to hear twice");
    assert!(talk.open(1, &next).is_ok());
}

/// Each resumption makes every sender begin a session. A receiver keeps no more of them for that.
#[test]
fn a_session_since_a_resumption_takes_the_place_of_the_one_before() {
    let mut talk = talk("lkh-group");
    let settings = MessageSettings { sources: 2, ..talk.settings };
    *talk.messenger(4) = talk.rig.at(MemberId(4), |cx, _| Messenger::new(cx, settings).unwrap());
    talk.follow();
    let mut earlier = Vec::new();
    for count in 1..100 {
        for from in 0..2 {
            let bytes = talk.seal(from, b"hello");
            assert!(talk.open(4, &bytes).is_ok(), "{count}");
            earlier.push(bytes);
        }
        for id in [0, 1, 4] {
            talk.messenger(id).note_resumption(count);
        }
    }
    let unheard = talk.seal(0, b"a session that is heard late");
    for id in [0, 4] {
        talk.messenger(id).note_resumption(100);
    }
    let last = talk.seal(0, b"hello");
    assert!(talk.open(4, &last).is_ok());
    for bytes in earlier.iter().step_by(2).chain([&last, &unheard]) {
        assert_eq!(talk.open(4, bytes), Err(Misbehaviour::Replayed.into()));
    }
    // A member that names resumptions which nobody counted ends no session of another.
    talk.messenger(0).note_resumption(u32::MAX);
    let (ours, theirs) = (talk.seal(1, b"hello"), talk.seal(0, b"a lie"));
    let full = Err(Unsupported::TooManySources { limit: 2 }.into());
    assert_eq!(talk.open(4, &theirs), full);
    assert!(talk.open(4, &ours).is_ok());
    assert_eq!(talk.open(4, &last), Err(Misbehaviour::Replayed.into()));
}

/// Members hold the key of an epoch, and accept the next one's. Of two that come meanwhile the later one
/// counts. Only the held one has grace.
#[test]
fn a_held_key_is_sent_under_until_it_is_given_up() {
    let mut talk = talk("skdc");
    for id in 0..4 {
        talk.messenger(id).hold();
    }
    let before = talk.seal(0, b"before");
    talk.rig.rekey().unwrap();
    talk.follow();
    let held = talk.seal(0, b"held");
    assert_eq!(talk.open(1, &held).unwrap().epoch, Epoch(1));
    assert_eq!(talk.open(1, &before).unwrap().content, b"before", "the session goes on");
    // Member 4 has changed over.
    let early = talk.seal(4, b"early");
    assert_eq!(talk.open(1, &early).unwrap().epoch, Epoch(2));
    assert_eq!(talk.messenger(1).sending_epoch(), Some(Epoch(1)));
    talk.rig.rekey().unwrap();
    talk.follow();
    assert_eq!(talk.messenger(1).held(), Some(Epoch(1)));
    let lost = Misbehaviour::StaleEpoch { got: Epoch(2), current: Epoch(3) };
    let between = talk.open(1, &early).unwrap_err();
    assert_eq!(between, lost.into(), "of the keys in between the latest stays");
    let still = talk.seal(0, b"still held");
    let now = talk.rig.at(MemberId(0), |cx, _| cx.now());
    for id in 0..4 {
        talk.messenger(id).activate(now);
    }
    assert_eq!(talk.open(1, &still).unwrap().content, b"still held", "in grace");
    let sealed = talk.seal(0, b"given up");
    assert_eq!(talk.open(1, &sealed).unwrap().epoch, Epoch(3));
    let late = talk.seal(1, b"late");
    talk.rig.wait(GRACE + 1);
    assert!(talk.open(2, &still).is_err(), "its grace is over");
    assert_eq!(talk.open(2, &late).unwrap().content, b"late");
}

/// A key that may have leaked is not held.
#[test]
fn a_refused_key_is_held_no_longer() {
    let mut talk = talk("skdc");
    talk.messenger(0).hold();
    talk.rig.rekey().unwrap();
    talk.follow();
    talk.messenger(0).refuse_before(Epoch(2));
    let messenger = talk.messenger(0);
    assert_eq!((messenger.held(), messenger.sending_epoch()), (None, Some(Epoch(2))));
}
