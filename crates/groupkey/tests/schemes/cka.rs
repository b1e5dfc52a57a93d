//! CKA costs what the header of its file says; as published a stranger can take the place of an
//! honest member, and the sound form refuses that and what else a cheat may try.

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::crypto::group::ElementCheck;
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::protection::Protection;
use groupkey::{
    Command, Context, Epoch, GroupId, Key, MemberId, Operation, Outbox, Recipient, Setting, Suite,
};
use groupkey_testkit::rig::{Guard, Rig, Settings};
use groupkey_testkit::sample;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::schemes::distributed::{assert_no_more_than, assert_refused};
use crate::schemes::table::Table;

const SIZES: [u64; 9] = [2, 3, 4, 5, 8, 9, 16, 17, 20];

#[test]
#[ignore = "long: half a minute, a form for reproductions"]
fn creation_costs_what_the_header_says_as_published() {
    creation_costs_what_the_header_says(Profile::Published);
}

#[test]
fn creation_costs_what_the_header_says_in_the_sound_form() {
    creation_costs_what_the_header_says(Profile::Sound);
}

fn creation_costs_what_the_header_says(profile: Profile) {
    let sound = profile == Profile::Sound;
    for suite in Suite::ALL.into_iter().filter(|suite| suite.group().is_some()) {
        for n in sample::one_in(3, SIZES) {
            let mut rig = Rig::new(scheme(), Settings { profile, suite, ..Settings::default() });
            let report = rig.create(n as u32).unwrap();
            rig.agreed_key().unwrap();
            for member in 0..n {
                let meter = report.meter(MemberId(member as u32).into());
                let expected = match (member, sound) {
                    (0, false) => (2 * n - 2, n - 1, n),
                    (0, true) => (2 * n - 2, n - 1, 2 * n + 2),
                    (_, false) => (1, n - 1, 2),
                    (_, true) => (1, n - 1, n + 4),
                };
                assert_eq!(cost(&meter), expected, "member {member} of {n}, {profile:?}");
            }
            let messages = if sound { 2 * n - 1 } else { n };
            assert_eq!(report.messages.len() as u64, messages);
            assert!(report.messages.iter().all(|message| message.to == Recipient::Group));
        }
    }
}

#[test]
fn what_is_held_is_what_the_header_says() {
    for profile in Profile::ALL {
        for (suite, element) in [(Suite::Standard, 32), (Suite::Published, 128)] {
            for n in [2, 3, 6] {
                let mut rig =
                    Rig::new(scheme(), Settings { profile, suite, ..Settings::default() });
                rig.create(n).unwrap();
                let keys = if profile == Profile::Sound { 2 * n + 2 } else { n } as usize;
                for member in 0..n {
                    let footprint = rig.party(MemberId(member).into()).footprint();
                    assert_eq!(footprint.permanent, 16);
                    assert_eq!(footprint.temporary, 16 * keys + 2 * element);
                }
            }
        }
    }
}

#[test]
fn messages_may_come_in_any_order_but_their_senders() {
    for seed in 0..40 {
        for profile in Profile::ALL {
            let protection = if seed % 2 == 0 { Guard::Signature } else { Guard::Mac };
            let suite = Suite::ALL[seed as usize % 3];
            let settings =
                Settings { seed, profile, suite, protection, hostile: true, ..Settings::default() };
            let mut rig = Rig::new(scheme(), settings);
            let members = (0..2 + seed as u32 % 7).map(|i| (i * 37 + 5) % 101);
            rig.create_of(&members.collect::<Vec<_>>()).unwrap();
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn there_is_nothing_but_creation() {
    let mut rig = Rig::new(scheme(), Settings::default());
    rig.create(4).unwrap();
    for command in [Command::Add(MemberId(9)), Command::CatchUp, Command::Remove(MemberId(1))] {
        assert_refused(&mut rig, 0, command, Unsupported::Operation);
    }
    assert_no_more_than("cka", 1000);
}

#[test]
fn without_long_term_keys_nothing_begins() {
    let (mut rng, mut outbox, mut probe) = (ChaCha20Rng::from_seed([1; 32]), Outbox::new(), ());
    let mut leader = scheme().configuration(Profile::Published).member(MemberId(0));
    let (setting, none) = (Setting::new(GroupId(0), Suite::Standard), Protection::None);
    let me = MemberId(0).into();
    let mut cx = Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe);
    let create = Command::Create(&[MemberId(0), MemberId(1)]);
    for _ in 0..2 {
        assert_eq!(cx.command(&mut *leader, create), Err(Misuse::NoPeerKeys.into()));
    }
    assert!(outbox.is_empty());
}

/// Ann leads {Ann, Bob, Eve}; Bob and Dan have heard of {Ann, Bob, Dan}. Eve repeats Dan's nonce
/// under her own name. Everything is signed, nobody's key is stolen, and nobody is lied to by a
/// signature.
#[test]
fn a_stranger_takes_a_members_place_as_published() {
    let (mut table, [ann, bob, dan]) = unknown_key_share(Profile::Published);
    let key = ann.expect("Ann believes to share it with Bob and Eve");
    assert_eq!(bob, Some(key.clone()), "Bob believes to share the same key with Ann and Dan");
    assert_eq!(dan, None);
    // And Eve reads what Bob says to Dan.
    assert_eq!(key_that_eve_computes(&mut table), key);

    let (_, keys) = unknown_key_share(Profile::Sound);
    assert_eq!(keys, [None, None, None], "nobody takes a key that is not everybody's");
}

#[test]
fn a_leader_that_says_different_things_is_noticed() {
    // Both runs are of the same group, so the second leader's message is valid but for its
    // contents.
    for (profile, noticed) in [(Profile::Published, false), (Profile::Sound, true)] {
        let everybody = [ANN, BOB, EVE];
        let mut table = sit_down(profile, 1);
        everybody.iter().for_each(|&id| create(&mut table, id, &everybody));
        let nonces: Vec<_> = [BOB, EVE].map(|id| (id, table.sent(id, NONCE))).into();
        let mut twin = sit_down(profile, 2);
        create(&mut twin, ANN, &everybody);
        for (id, nonce) in &nonces {
            for (to, _) in nonces.iter().filter(|(to, _)| to != id) {
                table.deliver(*to, nonce).unwrap();
            }
            table.deliver(ANN, nonce).unwrap();
            twin.deliver(ANN, nonce).unwrap();
        }
        table.deliver(BOB, &table.sent(ANN, SECRET)).unwrap();
        table.deliver(EVE, &twin.sent(ANN, SECRET)).unwrap();
        if noticed {
            let refused = table.deliver(EVE, &table.sent(BOB, CONFIRM));
            assert_eq!(refused, Err(Misbehaviour::Forged.into()));
            let refused = table.deliver(BOB, &table.sent(EVE, CONFIRM));
            assert_eq!(refused, Err(Misbehaviour::Forged.into()));
            assert_eq!([table.key(BOB), table.key(EVE)], [None, None]);
        } else {
            let [bob, eve] = [BOB, EVE].map(|id| table.key(id).expect("a key"));
            assert_ne!(bob, eve);
        }
    }
}

#[test]
fn the_secret_of_another_run_is_refused() {
    let everybody = [ANN, BOB];
    for (profile, refused) in
        [(Profile::Published, Ok(())), (Profile::Sound, Err(Misbehaviour::Replayed.into()))]
    {
        // The group is made anew under its old name: the old signatures hold.
        let mut old = sit_down(profile, 1);
        everybody.iter().for_each(|&id| create(&mut old, id, &everybody));
        old.deliver(ANN, &old.sent(BOB, NONCE)).unwrap();
        let mut table = sit_down(profile, 2);
        everybody.iter().for_each(|&id| create(&mut table, id, &everybody));
        assert_eq!(table.deliver(BOB, &old.sent(ANN, SECRET)), refused);
        assert_eq!(table.key(BOB).is_some(), refused.is_ok());
    }
}

const NONCE: u8 = 0;
const SECRET: u8 = 1;
const CONFIRM: u8 = 2;

const ANN: u32 = 0;
const BOB: u32 = 1;
const EVE: u32 = 2;
const DAN: u32 = 3;
const EPOCH: Epoch = Epoch(1);

/// Plays the attack, and tells which keys Ann, Bob and Dan take.
fn unknown_key_share(profile: Profile) -> (Table, [Option<Key>; 3]) {
    let mut table = sit_down(profile, 3);
    create(&mut table, ANN, &[ANN, BOB, EVE]);
    create(&mut table, BOB, &[ANN, BOB, DAN]);
    create(&mut table, DAN, &[ANN, BOB, DAN]);
    let (bobs, dans) = (table.sent(BOB, NONCE), table.sent(DAN, NONCE));
    let tag = dans.len() - 66;
    let copied = table.step(EVE, |cx, _| {
        let mut draft = cx.draft(Recipient::Group, EPOCH, Operation::Create, NONCE);
        draft.bytes(&dans[tag - Key::BYTES..tag]).send();
        Ok(())
    });
    copied.unwrap();
    let eves = table.sent(EVE, NONCE);
    table.deliver(ANN, &bobs).unwrap();
    table.deliver(ANN, &eves).unwrap();
    table.deliver(BOB, &dans).unwrap();
    table.deliver(DAN, &bobs).unwrap();
    let secret = table.sent(ANN, SECRET);
    let taken = [BOB, DAN].map(|id| table.deliver(id, &secret).is_ok());
    assert_eq!(taken, [profile == Profile::Published, false]);
    let keys = [ANN, BOB, DAN].map(|id| table.key(id));
    (table, keys)
}

/// From what Ann encrypted to her, and the nonces that all could hear; as published.
fn key_that_eve_computes(table: &mut Table) -> Key {
    let nonces = [BOB, EVE].map(|id| {
        let message = table.sent(id, NONCE);
        let tag = message.len() - 66;
        Key::from_bytes(message[tag - Key::BYTES..tag].try_into().unwrap())
    });
    let message = table.sent(ANN, SECRET);
    let mut key = None;
    let computed = table.step(EVE, |cx, _| {
        let tag = message.len() - 66;
        let encrypted = &message[tag - cx.encrypted_length()..tag];
        let secret = cx.decrypt_key(EPOCH, b"", encrypted, ElementCheck::Subgroup)?;
        let hashes = nonces.map(|nonce| *cx.hash(&nonce, "groupkey cka nonce").as_bytes());
        key = Some(cx.derive(&secret, "groupkey cka", hashes.as_flattened()));
        Ok(())
    });
    computed.unwrap();
    key.unwrap()
}

/// Ann, Bob, Eve and Dan, who sign what they send.
fn sit_down(profile: Profile, seed: u64) -> Table {
    Table::new(&scheme().configuration(profile), Guard::Signature, 4, seed)
}

/// Tells one of them to make a group of these.
fn create(table: &mut Table, id: u32, members: &[u32]) {
    let members: Vec<_> = members.iter().copied().map(MemberId).collect();
    table.command(id, Command::Create(&members));
}

fn scheme() -> &'static Scheme {
    catalogue::scheme("cka").unwrap()
}

/// Exponentiations, hashes, derivations.
fn cost(meter: &Meter) -> (u64, u64, u64) {
    let calls = |primitive| meter.tally(primitive).calls;
    (meter.exponentiations(), calls(Primitive::Hash), calls(Primitive::Derive))
}
