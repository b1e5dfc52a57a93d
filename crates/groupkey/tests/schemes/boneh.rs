//! Boneh+ costs what the header of its file says, and the attacks on the published form succeed there
//! and fail on the sound one.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::crypto::pairing::{G1, G2};
use groupkey::error::Unsupported;
use groupkey::{Key, MemberId, PartyId, Recipient, Suite};
use groupkey_testkit::rig::boneh::Listener;
use groupkey_testkit::rig::{Guard, OperationReport, Rig, RigError, SentMessage, Settings};

use crate::schemes::counts::permanent;

const SIZES: [u32; 8] = [2, 3, 4, 5, 8, 9, 16, 17];
const CAPACITY: u32 = 64;

#[test]
fn fat_clients_cost_what_the_formulas_say() {
    for n in SIZES {
        let mut rig = rig("boneh-fat", Profile::Sound);
        let created = rig.create(n).unwrap();
        assert_eq!(recipients(&created), [Recipient::Group]);
        assert_controller(&created, 2 * CAPACITY - 1);
        for member in 0..n {
            assert_member(&created, member, 2 * CAPACITY - 1, n - 1);
        }
        let keys = 48 * (2 * CAPACITY - 1);
        assert_eq!(permanent(&rig, Controller), 16 + 3 * 32 + 2 * 96 + keys);
        assert_eq!(permanent(&rig, MemberId(0)), 16 + 2 * 48 + 2 * 96 + keys);

        let added = rig.add(n).unwrap();
        assert_eq!(recipients(&added), [Recipient::Member(MemberId(n)), Recipient::Group]);
        assert_controller(&added, 0);
        (0..n).for_each(|member| assert_member(&added, member, 0, 1));
        assert_member(&added, n, 2 * CAPACITY - 1, n);

        let leaver = n / 2;
        let removed = rig.remove(leaver).unwrap();
        assert_eq!(recipients(&removed), [Recipient::Group]);
        assert_controller(&removed, 0);
        for member in (0..=n).filter(|&member| member != leaver) {
            assert_member(&removed, member, 0, 1);
        }

        // Two changes later, or from the start, whichever takes fewer products.
        rig.sleep(0);
        rig.add(n + 1).unwrap();
        rig.remove(n).unwrap();
        let caught_up = rig.catch_up(0).unwrap();
        assert_eq!(caught_up.open_messages().count(), 2);
        assert_eq!(of(&caught_up, Controller, Primitive::MillerLoop), 0);
        assert_member(&caught_up, 0, 0, 2.min(n - 1));
        rig.agreed_key().unwrap();
    }
}

#[test]
fn thin_clients_cost_what_the_formulas_say() {
    for n in SIZES {
        let mut rig = rig("boneh-thin", Profile::Sound);
        let created = rig.create(n).unwrap();
        assert_eq!(created.open_messages().count() as u32, n);
        assert_controller(&created, n);
        (0..n).for_each(|member| assert_member(&created, member, 1, 1));
        assert_eq!(permanent(&rig, Controller), 16 + 3 * 32 + 2 * 96);
        assert_eq!(permanent(&rig, MemberId(0)), 16 + 3 * 48 + 2 * 96);

        let added = rig.add(n).unwrap();
        assert_eq!(added.open_messages().count() as u32, n + 1);
        assert_controller(&added, n + 1);
        (0..=n).for_each(|member| assert_member(&added, member, 1, 1));

        let leaver = n / 2;
        let removed = rig.remove(leaver).unwrap();
        assert_eq!(removed.open_messages().count() as u32, n);
        assert_controller(&removed, n);
        for member in (0..=n).filter(|&member| member != leaver) {
            assert_member(&removed, member, 1, 1);
        }

        rig.sleep(0);
        rig.add(n + 1).unwrap();
        rig.remove(n).unwrap();
        let caught_up = rig.catch_up(0).unwrap();
        assert_eq!(caught_up.open_messages().count(), 2);
        assert_eq!(of(&caught_up, Controller, Primitive::ExponentiateG1), 1);
        assert_member(&caught_up, 0, 1, 1);
        rig.agreed_key().unwrap();
    }
}

#[test]
fn the_growing_design_costs_what_s003_says() {
    for n in SIZES {
        let mut rig = rig("boneh-fat", Profile::Published);
        let created = rig.create(n).unwrap();
        assert_eq!(recipients(&created), [Recipient::Group]);
        assert_controller(&created, 2 * n + 1);
        (0..n).for_each(|member| assert_growing_member(&created, member, 2 * n + 1, n - 1));
        let added = rig.add(n).unwrap();
        assert_eq!(recipients(&added), [Recipient::Group]);
        assert_controller(&added, 2 * n + 3);
        assert_growing_member(&added, n, 2 * n + 3, n);
        // Equation 15: two products and a quotient; the first member's quotient cancels a product.
        assert_growing_member(&added, 0, 2 * n + 3, 1);
        (1..n).for_each(|member| assert_growing_member(&added, member, 2 * n + 3, 3.min(n)));
        let removed = rig.remove(n / 2).unwrap();
        assert_eq!(recipients(&removed), [Recipient::Group]);
        assert_growing_member(&removed, 0, 2 * n + 3, 1);

        let mut rig = self::rig("boneh-thin", Profile::Published);
        let created = rig.create(n).unwrap();
        assert_eq!(created.open_messages().count() as u32, n);
        assert_controller(&created, 2 * n);
        (0..n).for_each(|member| assert_growing_member(&created, member, 2, 0));
        let added = rig.add(n).unwrap();
        assert_eq!(added.open_messages().count() as u32, n + 1);
        (0..n).for_each(|member| assert_growing_member(&added, member, 1, 1));
        assert_growing_member(&added, n, 2, 0);
        let removed = rig.remove(n / 2).unwrap();
        assert_eq!(removed.open_messages().count() as u32, n);
        assert_controller(&removed, n);
        assert_growing_member(&removed, 0, 1, 1);
    }
}

#[test]
fn indices_run_out_and_do_not_come_back() {
    for id in ["boneh-fat", "boneh-thin"] {
        let mut rig = rig(id, Profile::Sound);
        rig.create(3).unwrap();
        for member in 3..CAPACITY {
            rig.add(member).unwrap();
            rig.remove(member - 1).unwrap();
        }
        let everybody = [Controller, MemberId(0).into(), MemberId(CAPACITY - 1).into()];
        let held = |rig: &Rig| everybody.map(|party| rig.key_of(party).unwrap().1.clone());
        let before = held(&rig);
        assert!(before.iter().all(|key| *key == before[0]));
        let used_up = Unsupported::CapacityUsedUp { capacity: CAPACITY };
        assert!(used_up.to_string().contains("group with a larger capacity"));
        assert_eq!(rig.add(1000).map(drop), Err(RigError::Command(used_up.into())));
        assert_eq!(held(&rig), before);
        assert!(!rig.outsider_knows_key());
    }
}

#[test]
fn any_later_message_is_enough() {
    for id in ["boneh-fat", "boneh-thin"] {
        let mut rig = rig(id, Profile::Sound);
        rig.create(6).unwrap();
        rig.sleep(0);
        rig.remove(3).unwrap();
        rig.add(6).unwrap();
        rig.remove(1).unwrap();
        let last = rig.add(7).unwrap();
        let me = MemberId(0).into();
        let for_me = |sent: &&SentMessage| {
            sent.to == Recipient::Group || sent.to == Recipient::Member(MemberId(0))
        };
        let message = last.open_messages().filter(for_me).last().unwrap();
        rig.inject(me, &message.bytes).unwrap();
        let (_, key) = rig.key_of(me).unwrap();
        assert_eq!(key, rig.agreed_key().unwrap());
    }
}

/// Section 14.3 of our notes on S003, for an outsider: it has heard what was broadcast.
#[test]
fn outsiders_have_the_key_after_an_add_in_the_published_form() {
    for suite in Suite::ALL.into_iter().filter(|suite| suite.has_pairing()) {
        let mut listening = Listening::new("boneh-fat", Profile::Published, suite);
        let created = listening.rig.create(6).unwrap();
        let added = listening.rig.add(6).unwrap();
        // g_0 .. g_6, and after the hole g_8: the next hole.
        let element = listening.public_key(&created.messages[0]).swap_remove(7);
        let (c0, _) = listening.header(added.messages.last().unwrap());
        let key = listening.key(2, &[(&element, &c0)]);
        assert_eq!(&key, listening.rig.agreed_key().unwrap());
    }
}

/// The thin clients' outsider hears the next hole when a member goes: it is what the member above
/// divides by.
#[test]
fn outsiders_have_the_key_of_thin_clients_in_the_published_form() {
    let mut listening = Listening::new("boneh-thin", Profile::Published, Suite::Standard);
    listening.rig.create(6).unwrap();
    let removed = listening.rig.remove(2).unwrap();
    let above = Recipient::Member(MemberId(3));
    let message = removed.messages.iter().find(|sent| sent.to == above).unwrap();
    let element = listening.public_key(message).swap_remove(0);
    let added = listening.rig.add(6).unwrap();
    let (c0, _) = listening.header(&added.messages[0]);
    let key = listening.key(3, &[(&element, &c0)]);
    assert_eq!(&key, listening.rig.agreed_key().unwrap());
}

/// A party that hears a thin client's elements can act as that client.
#[test]
fn eavesdroppers_are_as_good_as_thin_clients_in_the_published_form() {
    let mut listening = Listening::new("boneh-thin", Profile::Published, Suite::Standard);
    let created = listening.rig.create(3).unwrap();
    let elements = listening.public_key(&created.messages[1]);
    let (c0, c1) = listening.header(&created.messages[1]);
    let inverse = listening.inverse(&elements[1]);
    let key = listening.key(1, &[(&elements[0], &c1), (&inverse, &c0)]);
    assert_eq!(&key, listening.rig.agreed_key().unwrap());
}

#[test]
fn newcomers_have_the_key_before_theirs_in_the_published_form() {
    let mut listening = Listening::new("boneh-fat", Profile::Published, Suite::Standard);
    let created = listening.rig.create(6).unwrap();
    let before = listening.rig.agreed_key().unwrap().clone();
    let (c0, _) = listening.header(&created.messages[0]);
    let added = listening.rig.add(6).unwrap();
    let element = listening.public_key(&added.messages[0]).swap_remove(7);
    assert_eq!(listening.key(1, &[(&element, &c0)]), before);
}

/// None of these pairings gives a key of the sound form, whichever published element goes into them.
#[test]
fn the_sound_form_withstands() {
    let mut listening = Listening::new("boneh-fat", Profile::Sound, Suite::Standard);
    let created = listening.rig.create(6).unwrap();
    let first_key = listening.rig.agreed_key().unwrap().clone();
    let added = listening.rig.add(6).unwrap();
    let second_key = listening.rig.agreed_key().unwrap().clone();
    let (old, _) = listening.header(&created.messages[0]);
    let (new, _) = listening.header(added.messages.last().unwrap());
    let elements = listening.public_key(&created.messages[0]);
    assert_eq!(elements.len() as u32, 2 * CAPACITY - 1);
    for element in &elements {
        assert_ne!(listening.key(1, &[(element, &old)]), first_key);
        assert_ne!(listening.key(2, &[(element, &new)]), second_key);
    }

    // A thin client's a_i is not u_(c,i), whatever g_i goes with it.
    let mut thin = Listening::new("boneh-thin", Profile::Sound, Suite::Standard);
    let created = thin.rig.create(3).unwrap();
    let share = thin.public_key(&created.messages[1]).swap_remove(0);
    let (c0, c1) = thin.header(&created.messages[1]);
    let inverse = thin.inverse(&share);
    let key = thin.rig.agreed_key().unwrap().clone();
    for pairs in [&[(&share, &c0)][..], &[(&share, &c1), (&inverse, &c0)]] {
        assert_ne!(thin.key(1, pairs), key);
    }
}

/// A group without protection, whose bodies are easy to read, and somebody who listens.
struct Listening {
    rig: Rig,
    listener: Listener,
}

impl Listening {
    fn new(id: &str, profile: Profile, suite: Suite) -> Self {
        let parameters = vec![("capacity", CAPACITY)];
        let protection = Guard::None;
        let settings = Settings { profile, parameters, suite, protection, ..Settings::default() };
        let rig = Rig::new(scheme(id).unwrap(), settings);
        let listener = Listener::new(rig.setting(), id == "boneh-fat");
        Self { rig, listener }
    }

    fn public_key(&self, sent: &SentMessage) -> Vec<G1> {
        self.listener.elements(body(sent))
    }

    /// C_0 and C_1, at the end of every message.
    fn header(&self, sent: &SentMessage) -> (G2, G2) {
        self.listener.header(body(sent)).unwrap()
    }

    /// The group key that would follow from the product of these pairings.
    fn key(&self, epoch: u64, pairs: &[(&G1, &G2)]) -> Key {
        self.listener.key(epoch, pairs)
    }

    fn inverse(&self, element: &G1) -> G1 {
        self.listener.inverse(element)
    }
}

fn body(sent: &SentMessage) -> &[u8] {
    &sent.bytes[sent.bytes.len() - sent.body_bytes..]
}

fn rig(id: &str, profile: Profile) -> Rig {
    let parameters = vec![("capacity", CAPACITY)];
    Rig::new(scheme(id).unwrap(), Settings { profile, parameters, ..Settings::default() })
}

fn recipients(report: &OperationReport) -> Vec<Recipient> {
    report.open_messages().map(|message| message.to).collect()
}

/// The controller made a header, and so many powers: from a table if there are many.
fn assert_controller(report: &OperationReport, powers: u32) {
    let one_by_one = if powers < 16 { powers } else { 0 };
    let of = |primitive| of(report, Controller, primitive);
    assert_eq!(of(Primitive::ExponentiateG1), 1 + one_by_one);
    assert_eq!(of(Primitive::ExponentiateG1Fixed), powers - one_by_one);
    assert_eq!(of(Primitive::TabulateG1), u32::from(powers >= 16));
    assert_eq!(of(Primitive::ExponentiateG2), 2);
    assert_eq!(of(Primitive::MillerLoop), 1);
    assert_eq!(of(Primitive::FinalExponentiation), 1);
    assert_eq!(of(Primitive::MultiplyG1), 0);
}

/// The member checked so many elements of G1, multiplied so many, and made the key.
fn assert_member(report: &OperationReport, member: u32, checks: u32, products: u32) {
    assert_costs(report, member, [checks, products, derived() + CONFIRMED]);
}

/// The same in the growing design, which does not confirm the key.
fn assert_growing_member(report: &OperationReport, member: u32, checks: u32, products: u32) {
    assert_costs(report, member, [checks, products, derived()]);
}

fn assert_costs(report: &OperationReport, member: u32, [checks, products, derived]: [u32; 3]) {
    let of = |primitive| of(report, MemberId(member).into(), primitive);
    assert_eq!(of(Primitive::CheckG1), checks);
    assert_eq!(of(Primitive::CheckG2), 2);
    assert_eq!(of(Primitive::MultiplyG1), products);
    assert_eq!(of(Primitive::MillerLoop), 2);
    assert_eq!(of(Primitive::FinalExponentiation), 1);
    assert_eq!(of(Primitive::ExponentiateG1), 0);
    assert_eq!(of(Primitive::Derive), derived);
}

/// Bytes that go into the derivation of the confirmation: a key, its label, group and epoch.
const CONFIRMED: u32 = 16 + "groupkey confirmation".len() as u32 + 16;

/// Bytes that go into the derivation of the group key.
fn derived() -> u32 {
    576 + 24 + 16
}

fn of(report: &OperationReport, party: PartyId, primitive: Primitive) -> u32 {
    report.meter(party).tally(primitive).amount as u32
}
