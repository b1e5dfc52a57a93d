//! FAME costs what the header of its file says, its messages are as long as it says, and a removed
//! member reads as long as it says: in the published form to the end of the period.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::{Key, MemberId, PartyId, Recipient, Suite};
use groupkey_testkit::rig::fame::{HoardedKey, KeyHoarder};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::permanent;

/// Two either side of the number from which on tables pay.
const SIZES: [u32; 5] = [2, 3, 8, 12, 13];

#[test]
fn every_operation_costs_what_the_formulas_say() {
    for n in SIZES {
        for profile in Profile::ALL {
            let sound = profile == Profile::Sound;
            let mut rig = rig(profile, Suite::Standard);
            let created = rig.create(n).unwrap();
            check(&rig, &created, profile, n, (0..n).collect());
            let added = rig.add(n).unwrap();
            check(&rig, &added, profile, 1, vec![n]);
            let rekeyed = rig.rekey().unwrap();
            let all = |count: u32| if count == 0 { Vec::new() } else { (0..=n).collect() };
            let keys = if sound { 0 } else { n + 1 };
            check(&rig, &rekeyed, profile, keys, all(keys));
            let removed = rig.remove(n / 2).unwrap();
            let keys = if sound { n } else { 0 };
            let stay: Vec<_> = (0..=n).filter(|&member| member != n / 2).collect();
            check(&rig, &removed, profile, keys, if sound { stay } else { Vec::new() });

            rig.sleep(n);
            rig.add(n + 1).unwrap();
            rig.remove(n + 1).unwrap();
            let caught_up = rig.catch_up(n).unwrap();
            assert_eq!(caught_up.open_messages().count(), 2);
            let of = |primitive| calls(&caught_up, Controller, primitive);
            assert_eq!(of(Primitive::CheckG1), 2 * 18);
            assert_eq!(of(Primitive::ExponentiateG1), 27);
            assert_eq!(of(Primitive::ExponentiateG2), 3);
            assert_eq!(of(Primitive::MillerLoop), 0);
            check_member(&caught_up, n, profile, true, 0);
            rig.agreed_key().unwrap();
        }
    }
}

/// As the paper's tables have it: a key for two attributes is 3 elements of the long group and 9 of the
/// short one, a ciphertext with two rows 3 and 6.
#[test]
fn messages_are_as_long_as_told() {
    for (suite, first, second) in [(Suite::Standard, 48, 96), (Suite::Published, 128, 128)] {
        for profile in Profile::ALL {
            let (link, confirmation) = match profile {
                Profile::Published => (0, 0),
                Profile::Sound => (16, 17),
            };
            let key = 3 * second + 9 * first + link;
            // A number of at most 23, byte strings with heads of 1 and 3 bytes.
            let overhead = match suite {
                // One wrap of 40 keys and one of the rest, 8 bytes more each.
                Suite::Standard => 2 * 8,
                // A block before and one after the keys, in each of three calls.
                _ => (key / Key::BYTES).div_ceil(40) * 16,
            };
            let keys = 1 + 17 + 3 + key + overhead;
            let ciphertext = 1 + 3 + 3 * second + 3 + 6 * first + confirmation;
            let mut rig = rig(profile, suite);
            for n in [3, 9] {
                let report = if n == 3 { rig.create(3) } else { rig.add(9) }.unwrap();
                for sent in report.open_messages() {
                    let expected = if sent.to == Recipient::Group { ciphertext } else { keys };
                    assert_eq!(sent.body_bytes, expected, "{suite:?}, {profile:?}");
                }
            }
        }
    }
}

/// What is held, in bytes of the suite `standard`.
#[test]
fn keys_held_are_as_told() {
    for profile in Profile::ALL {
        let link = if profile == Profile::Sound { 16 } else { 0 };
        for n in SIZES {
            let mut rig = rig(profile, Suite::Standard);
            rig.create(n).unwrap();
            let ciphertext = 3 * 96 + 6 * 48;
            assert_eq!(permanent(&rig, Controller), 7 * 32 + 2 * 16 + link + ciphertext);
            assert_eq!(permanent(&rig, MemberId(0)), 3 * (96 + 48) + 2 * 16 + link);
        }
    }
}

/// How long a removal takes to have its effect. As published the removed member opens every broadcast
/// until the period ends, however many members come and go in it; in the sound form none.
#[test]
fn who_is_removed_reads_until_the_period_ends() {
    for profile in Profile::ALL {
        let mut rig = rig(profile, Suite::Standard);
        let hoarder = KeyHoarder::new(rig.setting(), profile == Profile::Sound);
        let created = rig.create(4).unwrap();
        let key = kept(&rig, &hoarder, 2, 1, &created, &created);
        let mut reads = Vec::new();
        for epoch in 2..=6 {
            let report = match epoch {
                2 => rig.remove(2),
                3 => rig.add(7),
                4 => rig.remove(3),
                5 => rig.rekey(),
                _ => rig.add(8),
            };
            let body = broadcast(&rig, &report.unwrap());
            let opened = hoarder.open(&key, epoch, epoch - 1, &body);
            reads.push(opened.as_ref() == rig.agreed_key().ok());
        }
        let expected = match profile {
            Profile::Published => [true, true, true, false, false],
            Profile::Sound => [false; 5],
        };
        assert_eq!(reads, expected, "{profile:?}");
    }
}

/// Who joins opens the broadcasts of its period from before it came, as published. In the sound form
/// its link is of no use for them, and neither is the key of a member that was removed earlier.
#[test]
fn who_joins_reads_back_to_where_the_period_began() {
    for profile in Profile::ALL {
        let mut rig = rig(profile, Suite::Standard);
        let hoarder = KeyHoarder::new(rig.setting(), profile == Profile::Sound);
        let created = rig.create(4).unwrap();
        let key = rig.agreed_key().unwrap().clone();
        let joined = rig.add(4).unwrap();
        let own = kept(&rig, &hoarder, 4, 2, &joined, &joined);
        let opened = hoarder.open(&own, 1, 0, &broadcast(&rig, &created));
        assert_eq!(opened == Some(key), profile == Profile::Published, "{profile:?}");
        let opened = hoarder.open(&own, 2, 0, &broadcast(&rig, &joined));
        assert_eq!(opened.as_ref(), rig.agreed_key().ok());
    }
}

/// A member that has a key for the next period and not its ciphertext stays in its epoch, and catches
/// up.
#[test]
fn a_key_without_its_ciphertext_changes_nothing() {
    use groupkey_testkit::rig::Fate;
    let mut rig = rig(Profile::Sound, Suite::Standard);
    rig.create(4).unwrap();
    let before = rig.key_of(MemberId(0).into()).map(|(epoch, key)| (epoch, key.clone()));
    rig.intercept(|transit| match (transit.to, transit.header.to) {
        (PartyId::Member(MemberId(0)), Recipient::Group) => Fate::Lost,
        _ => Fate::Arrives,
    });
    rig.remove(1).unwrap();
    let after = rig.key_of(MemberId(0).into()).map(|(epoch, key)| (epoch, key.clone()));
    assert_eq!(before, after);
    rig.intercept(|_| Fate::Arrives);
    rig.catch_up(0).unwrap();
    rig.agreed_key().unwrap();
    rig.remove(2).unwrap();
    rig.agreed_key().unwrap();
}

/// Checks an operation for which `keys` members got a key: those `with_key`.
fn check(rig: &Rig, report: &OperationReport, profile: Profile, keys: u32, with_key: Vec<u32>) {
    let sound = u64::from(profile == Profile::Sound);
    let key_count = u64::from(keys);
    rig.agreed_key().unwrap();
    let unicasts = report.open_messages().filter(|sent| sent.to != Recipient::Group).count();
    assert_eq!(unicasts as u32, keys);
    assert_eq!(report.open_messages().count() as u32, keys + 1);

    let meter = report.meter(Controller);
    let amount = |primitive| meter.tally(primitive).amount;
    let (powers, by_table, tables) = match keys {
        ..12 => (27 * key_count, 0, 0),
        _ => (0, 27 * key_count, 19),
    };
    // With two to eleven members only the generator has more than a dozen powers.
    let (powers, by_table, tables) = match 9 * keys >= 12 && keys < 12 {
        true => (18 * key_count, 9 * key_count, 1),
        false => (powers, by_table, tables),
    };
    assert_eq!(amount(Primitive::ExponentiateG1), 13 + powers, "{keys} keys");
    assert_eq!(amount(Primitive::ExponentiateG1Fixed), by_table);
    assert_eq!(amount(Primitive::TabulateG1), tables);
    assert_eq!(amount(Primitive::ExponentiateG2), 3 + 3 * key_count);
    assert_eq!(amount(Primitive::MultiplyG1), 24 + 18 * key_count);
    let hashes = if keys == 0 { 24 } else { 24 + 18 };
    assert_eq!(amount(Primitive::CheckG1), 2 * hashes);
    assert_eq!(amount(Primitive::InvertScalar), if keys == 0 { 0 } else { 2 });
    assert_eq!(amount(Primitive::MillerLoop), 1);
    assert_eq!(amount(Primitive::FinalExponentiation), 1);
    assert_eq!(meter.tally(Primitive::Wrap).calls, 2 * key_count);
    // Individual keys are derived, too.
    assert_eq!(meter.tally(Primitive::Derive).calls, 1 + sound + 2 * key_count);
    for member in rig.members() {
        let has_key = with_key.contains(&member);
        check_member(report, member, profile, has_key, u64::from(!has_key));
    }
}

/// Checks what a member does: for a key, for a ciphertext, and to go on with the link that it has.
fn check_member(
    report: &OperationReport,
    member: u32,
    profile: Profile,
    has_key: bool,
    steps: u64,
) {
    let sound = u64::from(profile == Profile::Sound);
    let key = u64::from(has_key);
    let meter = report.meter(MemberId(member).into());
    let amount = |primitive| meter.tally(primitive).amount;
    assert_eq!(amount(Primitive::CheckG1), 6 + 9 * key, "member {member}");
    assert_eq!(amount(Primitive::CheckG2), 3 + 3 * key);
    assert_eq!(amount(Primitive::MultiplyG1), 3 + 6 * key);
    assert_eq!(amount(Primitive::MillerLoop), 6);
    assert_eq!(amount(Primitive::FinalExponentiation), 1);
    assert_eq!(amount(Primitive::ExponentiateG1), 0);
    assert_eq!(meter.tally(Primitive::Unwrap).calls, 2 * key);
    assert_eq!(meter.tally(Primitive::Derive).calls, 1 + sound + key);
    assert_eq!(amount(Primitive::Hash), sound * (1 + steps));
}

/// Returns the key for a period that a member was given in an epoch.
fn kept(
    rig: &Rig,
    hoarder: &KeyHoarder,
    member: u32,
    epoch: u64,
    enrolled: &OperationReport,
    report: &OperationReport,
) -> HoardedKey {
    let forger = rig.forger();
    let to = Recipient::Member(MemberId(member));
    let enrolment = enrolled.deployment.iter().find(|sent| sent.to == to).unwrap();
    let individual = KeyHoarder::individual(forger.read(&enrolment.bytes).unwrap().1).unwrap();
    let sent = report.open_messages().find(|sent| sent.to == to).unwrap();
    hoarder.keep(&individual, epoch, forger.read(&sent.bytes).unwrap().1).unwrap()
}

fn broadcast(rig: &Rig, report: &OperationReport) -> Vec<u8> {
    let sent = report.open_messages().find(|sent| sent.to == Recipient::Group).unwrap();
    rig.forger().read(&sent.bytes).unwrap().1.to_vec()
}

fn calls(report: &OperationReport, party: PartyId, primitive: Primitive) -> u64 {
    report.meter(party).tally(primitive).calls
}

fn rig(profile: Profile, suite: Suite) -> Rig {
    let settings = Settings { profile, suite, ..Settings::default() };
    Rig::new(scheme("fame").unwrap(), settings)
}
