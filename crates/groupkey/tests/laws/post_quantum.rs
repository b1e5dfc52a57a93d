//! Suite `pq`: schemes of symmetric algorithms run in it, with signatures that two algorithms make. What is
//! built on Diffie-Hellman or a pairing is refused before anything is computed.

use groupkey::catalogue::{Assumption, Class, Law, Profile, SCHEMES, Scheme, scheme};
use groupkey::crypto::Signing;
use groupkey::error::{Error, Misbehaviour, Misuse, Unsupported};
use groupkey::protection::{Guard, Identity, PublicIdentity};
use groupkey::{
    Channel, Command, Context, GroupId, Instance, MemberId, Operation, Outbox, PartyId, Suite,
};
use groupkey_testkit::credentials::Credentials;
use groupkey_testkit::rig::{Rig, Settings};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

const ONE: MemberId = MemberId(1);

fn settings(protection: Guard) -> Settings {
    Settings { suite: Suite::Pq, profile: Profile::Sound, protection, ..Settings::default() }
}

/// Returns what becomes of the first step of a party under this scheme.
fn first_step(scheme: &'static Scheme, suite: Suite, identities: Suite) -> Result<(), Error> {
    let configuration = scheme.configuration(Profile::Sound);
    let guard = Guard::Signature;
    let setting = configuration.setting(GroupId(1), suite, guard, "", Instance::default());
    let me = if scheme.has_controller() { PartyId::Controller } else { PartyId::Member(ONE) };
    let mut credentials = Credentials::for_suite(identities, guard, 1);
    credentials.issue(me);
    let keys = credentials.peer_keys(me, suite);
    let (mut rng, mut outbox, mut probe) = (ChaCha20Rng::seed_from_u64(1), Outbox::new(), ());
    let protection = credentials.protection(me);
    let mut cx = Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
    cx = cx.with_peer_keys(&keys);
    let members = [ONE, MemberId(2)];
    let command = match scheme.has_controller() {
        true => Command::Enroll(&members),
        false => Command::Create(&members),
    };
    cx.command(&mut *configuration.party(me), command)
}

#[test]
fn what_has_no_post_quantum_form_is_refused_with_the_reason() {
    for scheme in SCHEMES {
        let reason = scheme.unsuited_to(Suite::Pq).map(|unsuited| unsuited.to_string());
        let built_on = match (scheme.class(), scheme.id) {
            (_, "treekem") => None,
            (Class::Distributed, _) => Some("Diffie-Hellman"),
            (_, "boneh-fat" | "boneh-thin" | "fame" | "nishat") => Some("a pairing"),
            _ => None,
        };
        assert_eq!(reason.is_some(), built_on.is_some(), "{}", scheme.id);
        let told = |reason: &String| reason.contains(&format!("built on {}", built_on.unwrap()));
        assert!(reason.iter().all(told), "{}: {reason:?}", scheme.id);
        let expected = match built_on {
            Some(_) => Err(Unsupported::Suite.into()),
            None => Ok(()),
        };
        assert_eq!(first_step(scheme, Suite::Pq, Suite::Pq), expected, "{}", scheme.id);
        for suite in Suite::ALL.into_iter().filter(|suite| *suite != Suite::Pq) {
            assert_eq!(scheme.unsuited_to(suite), None, "{}, {}", scheme.id, suite.name());
        }
    }
}

#[test]
fn members_of_every_symmetric_scheme_agree() {
    let is_symmetric = |scheme: &&Scheme| scheme.assumption == Assumption::Symmetric;
    let with_one_key = |scheme: &&Scheme| scheme.law == Law::OneKey;
    for scheme in SCHEMES.iter().filter(is_symmetric).filter(with_one_key) {
        let mut rig = Rig::new(scheme, settings(Guard::Mac));
        rig.create(4).unwrap();
        if scheme.operations.contains(&Operation::Add) {
            rig.add(7).unwrap();
        }
        if scheme.operations.contains(&Operation::Remove) {
            rig.remove(1).unwrap();
        }
        rig.agreed_key().unwrap();
        assert!(!rig.outsider_knows_key(), "{}", scheme.id);
    }
}

/// Tampered copies precede every message, and a replay follows it.
#[test]
fn signed_groups_agree_and_refuse_what_is_forged() {
    for (protection, id) in [(Guard::Signature, "skdc"), (Guard::Merkle, "lkh-group")] {
        let hostile = Settings { hostile: true, ..settings(protection) };
        let mut rig = Rig::new(scheme(id).unwrap(), hostile);
        rig.create(3).unwrap();
        rig.add(5).unwrap();
        rig.remove(1).unwrap();
        rig.agreed_key().unwrap();
        assert!(!rig.outsider_knows_key());
    }
}

/// A signature takes 3,309 bytes more than in `standard`, its head one more, and nothing else changes.
#[test]
fn messages_grow_by_the_signature_alone() {
    for (protection, more) in [(Guard::Signature, 3_310), (Guard::Merkle, 3_310), (Guard::Mac, 0)] {
        let sizes = |suite| {
            let settings = Settings { suite, ..settings(protection) };
            let mut rig = Rig::new(scheme("skdc").unwrap(), settings);
            let messages = rig.create(3).unwrap().messages;
            messages.iter().map(|message| message.bytes.len()).collect::<Vec<_>>()
        };
        let grown: Vec<_> = sizes(Suite::Standard).iter().map(|bytes| bytes + more).collect();
        assert_eq!(sizes(Suite::Pq), grown, "{protection:?}");
    }
}

#[test]
fn an_identity_of_another_suite_neither_signs_nor_counts() {
    let skdc = scheme("skdc").unwrap();
    assert_eq!(first_step(skdc, Suite::Pq, Suite::Standard), Err(Misuse::NoIdentity.into()));
    assert_eq!(first_step(skdc, Suite::Standard, Suite::Pq), Err(Misuse::NoIdentity.into()));

    // The receiver's directory has a key of Ed25519 for the sender.
    let configuration = skdc.configuration(Profile::Sound);
    let guard = Guard::Signature;
    let setting = configuration.setting(GroupId(1), Suite::Pq, guard, "", Instance::default());
    let [own, old] = [Suite::Pq, Suite::Standard].map(|suite| {
        let mut credentials = Credentials::for_suite(suite, guard, 1);
        credentials.issue(PartyId::Controller);
        credentials.issue(ONE.into());
        credentials
    });
    let step = |me, protection, act: &mut dyn FnMut(&mut Context<'_>)| {
        let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(1), Outbox::new());
        let mut probe = ();
        act(&mut Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe));
        outbox.messages().map(|message| message.bytes.to_vec()).collect::<Vec<_>>()
    };
    let mut controller = configuration.controller().unwrap();
    let sent = step(PartyId::Controller, own.protection(PartyId::Controller), &mut |cx| {
        cx.command(&mut *controller, Command::Enroll(&[ONE])).unwrap();
    });
    let mut member = configuration.member(ONE);
    let (identity, _) = own.protection(ONE.into()).identities().unwrap();
    for (directory, expected) in [(&old, Err(Misbehaviour::Forged.into())), (&own, Ok(()))] {
        let (_, directory) = directory.protection(ONE.into()).identities().unwrap();
        let protection = groupkey::protection::Protection::Signature { identity, directory };
        step(ONE.into(), protection, &mut |cx| {
            assert_eq!(cx.deliver(&mut *member, Channel::Confidential, &sent[0]), expected);
        });
    }
}

/// TreeKEM runs over X-Wing. Tampered copies precede every message, and members that slept come back.
#[test]
fn treekem_runs_over_a_hybrid_encapsulation() {
    let treekem = scheme("treekem").unwrap();
    for protection in [Guard::Mac, Guard::Signature] {
        let hostile = Settings { hostile: true, ..settings(protection) };
        let mut rig = Rig::new(treekem, hostile);
        let report = rig.create(if protection == Guard::Mac { 5 } else { 3 }).unwrap();
        // A key package has two public keys.
        let longest = report.messages.iter().map(|message| message.body_bytes).max();
        assert!(longest.unwrap() > 2 * 1_216);
        rig.add(9).unwrap();
        rig.remove(1).unwrap();
        rig.agreed_key().unwrap();
        assert!(!rig.outsider_knows_key());
        if protection == Guard::Mac {
            rig.sleep(2);
            rig.rekey().unwrap();
            rig.catch_up(2).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

/// A commit has a public key for each node of the path, and for each recipient what is encapsulated and a
/// wrapped key.
#[test]
fn a_commit_has_the_lengths_of_the_suite() {
    let commit = |suite| {
        let settings = Settings { suite, ..settings(Guard::None) };
        let mut rig = Rig::new(scheme("treekem").unwrap(), settings);
        rig.create(2).unwrap();
        rig.rekey().unwrap().messages.iter().map(|message| message.body_bytes).max().unwrap()
    };
    // The leaf, the root, and one recipient; then the confirmation. Heads of strings have 2 and 3 bytes.
    let around = 24 + 2 + 32;
    assert_eq!(commit(Suite::Standard), 2 + 2 * 32 + 32 + around);
    assert_eq!(commit(Suite::Pq), 3 + 2 * 1_216 + 1_120 + around);
}

/// Signed messages that were cut, made longer or changed anywhere are refused, and so is one whose two
/// signatures are not both there. The member answers nothing, has what it had, and takes the genuine one.
#[test]
fn hostile_signatures_change_nothing() {
    let configuration = scheme("skdc").unwrap().configuration(Profile::Sound);
    for guard in [Guard::Signature, Guard::Merkle] {
        let setting = configuration.setting(GroupId(1), Suite::Pq, guard, "", Instance::default());
        let mut credentials = Credentials::for_suite(Suite::Pq, guard, 1);
        let others = [MemberId(2), MemberId(3)];
        let members = [ONE, others[0], others[1]];
        credentials.issue(PartyId::Controller);
        members.iter().for_each(|&member| credentials.issue(member.into()));
        let step = |me, act: &mut dyn FnMut(&mut Context<'_>) -> Result<(), Error>| {
            let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(1), Outbox::new());
            let (protection, mut probe) = (credentials.protection(me), ());
            let mut cx =
                Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
            let done = act(&mut cx);
            let sent =
                outbox.messages().filter(|message| message.to.includes(ONE.into(), |_| true));
            done.map(|()| sent.map(|sent| (sent.channel, sent.bytes.to_vec())).collect::<Vec<_>>())
        };
        let mut controller = configuration.controller().unwrap();
        let mut member = configuration.member(ONE);
        for command in [Command::Enroll(&members), Command::Create(&members), Command::Rekey] {
            let sent = step(PartyId::Controller, &mut |cx| cx.command(&mut *controller, command));
            for (channel, genuine) in sent.unwrap() {
                let before = (member.group_key().map(|(epoch, _)| epoch), member.footprint());
                for bytes in hostile_copies(&genuine) {
                    let refused =
                        step(ONE.into(), &mut |cx| cx.deliver(&mut *member, channel, &bytes));
                    assert!(refused.is_err(), "{guard:?}: {} bytes", bytes.len());
                    let after = (member.group_key().map(|(epoch, _)| epoch), member.footprint());
                    assert_eq!(after, before);
                }
                step(ONE.into(), &mut |cx| cx.deliver(&mut *member, channel, &genuine)).unwrap();
            }
        }
        assert!(member.group_key().is_some());
    }
}

/// Copies of a signed message that nobody signed.
fn hostile_copies(genuine: &[u8]) -> Vec<Vec<u8>> {
    let end = genuine.len();
    let signature = end - Signing::Hybrid.signature_bytes();
    let (lattice, curve) = genuine[signature..].split_at(3_309);
    let cuts = (0..end).step_by(401).chain([end - 1, end - 64, signature]);
    let mut copies: Vec<_> = cuts.map(|length| genuine[..length].to_vec()).collect();
    copies.extend([1, 64, 3_373, 1 << 16].map(|more| [genuine, &vec![0; more]].concat()));
    for place in (0..end).step_by(89).chain([end - 64, end - 1]) {
        for change in [1, 0x80] {
            let mut changed = genuine.to_vec();
            changed[place] ^= change;
            copies.push(changed);
        }
    }
    // One half in the place of both, both in the other order, and each in turn of zeros.
    for tag in [
        [curve, lattice].concat(),
        [lattice, &lattice[..64]].concat(),
        [lattice, &[0; 64]].concat(),
        [&[0; 3_309], curve].concat(),
        [&[0xff; 3_309], curve].concat(),
    ] {
        copies.push([&genuine[..signature], &tag].concat());
    }
    let head = &genuine[..signature - 3];
    copies.push([head, &[0x58, 64], curve].concat());
    copies.push([head, &[0x59, 0x0c, 0xed], lattice].concat());
    copies
}

/// What comes as a member's public key is one or is not, whatever its length.
#[test]
fn hostile_public_keys_are_none() {
    let genuine = Identity::for_suite(Suite::Pq, &[3; 32]).public();
    let bytes = genuine.to_bytes();
    let bytes = bytes.as_ref();
    assert_eq!(PublicIdentity::from_bytes(bytes), Some(genuine));
    for length in (0..bytes.len()).filter(|&length| length != 32) {
        assert_eq!(PublicIdentity::from_bytes(&bytes[..length]), None, "{length}");
    }
    for more in [1, 32, 1_952, 1 << 16] {
        assert_eq!(PublicIdentity::from_bytes(&[bytes, &vec![0; more]].concat()), None, "{more}");
    }
    // The point of order 1.
    let weak = [&bytes[..1_952], &[1], &[0; 31]].concat();
    assert_eq!(PublicIdentity::from_bytes(&weak), None);
}

/// Members may sign their messages to the group, too.
#[test]
fn signed_group_messages_are_read() {
    use groupkey::messages::{MessageSettings, Messenger};
    use groupkey::{Epoch, Key, Setting};

    let mut credentials = Credentials::for_suite(Suite::Pq, Guard::Signature, 1);
    let members = [ONE, MemberId(2)];
    members.iter().for_each(|&member| credentials.issue(member.into()));
    let setting = Setting::new(GroupId(1), Suite::Pq);
    let act = |me: MemberId, act: &mut dyn FnMut(&mut Context<'_>)| {
        let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(1), Outbox::new());
        let (protection, mut probe) = (credentials.protection(me.into()), ());
        act(&mut Context::new(
            setting,
            me.into(),
            protection,
            &mut rng,
            0,
            &mut outbox,
            &mut probe,
        ));
    };
    let (mut sealed, mut messengers) = (Vec::new(), Vec::new());
    for member in members {
        act(member, &mut |cx| {
            let mut messenger = Messenger::new(cx, MessageSettings::default()).unwrap();
            messenger.rekeyed(cx, Epoch(1), &Key::from_bytes([5; 16]));
            messengers.push(messenger);
        });
    }
    act(ONE, &mut |cx| sealed = messengers[0].seal(cx, b"ice ahead").unwrap());
    assert!(sealed.len() > Signing::Hybrid.signature_bytes());
    act(members[1], &mut |cx| {
        for place in (0..sealed.len()).step_by(211) {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(messengers[1].open(cx, &changed).is_err(), "{place}");
        }
        assert_eq!(messengers[1].open(cx, &sealed).unwrap().content, b"ice ahead");
    });
}

#[test]
fn the_same_secret_has_another_identity_in_every_kind() {
    let [one, other] = [Suite::Pq, Suite::Standard]
        .map(|suite| Identity::for_suite(suite, &[3; 32]).public().to_bytes());
    assert_eq!((one.as_ref().len(), other.as_ref().len()), (1_984, 32));
    assert_ne!(&one.as_ref()[1_952..], other.as_ref());
}
