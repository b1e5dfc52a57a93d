//! Berkovits costs what the header of its file says. Who has the polynomial has every share; only
//! in the sound form that is of no use.

use crypto_bigint::modular::ConstMontyForm;
use crypto_bigint::{U128, const_monty_params};
use groupkey::PartyId::Controller;
use groupkey::author::Reader;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::crypto::polynomial;
use groupkey::error::Unsupported;
use groupkey::{Key, MemberId, PartyId};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};

use crate::distributed::messages;

const_monty_params!(Prime128, U128, "ffffffffffffffffffffffffffffff61");

type FieldNumber = ConstMontyForm<Prime128, { U128::LIMBS }>;

const SIZES: [u32; 9] = [2, 3, 4, 5, 8, 9, 16, 17, 65];

#[test]
fn every_change_costs_the_square_of_the_members() {
    for n in SIZES {
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            let created = rig.create(n).unwrap();
            check(&rig, &created, n, n, profile);
            let added = rig.add(n).unwrap();
            check(&rig, &added, n + 1, n + 1, profile);
            let rekeyed = rig.rekey().unwrap();
            check(&rig, &rekeyed, n + 1, n + 1, profile);
            // The leaving member leaves a hole, which the next one fills.
            let removed = rig.remove(n / 2).unwrap();
            check(&rig, &removed, n, n + 1, profile);
            let added = rig.add(n + 1).unwrap();
            check(&rig, &added, n + 1, n + 1, profile);

            rig.sleep(0);
            rig.add(n + 2).unwrap();
            rig.remove(n).unwrap();
            let caught_up = rig.catch_up(0).unwrap();
            assert_eq!(messages(&caught_up), (2, 0));
            let meter = |party| caught_up.meter(party);
            assert_eq!(meter(Controller).tally(Primitive::Wrap).calls, 1);
            assert_eq!(meter(MemberId(0).into()).tally(Primitive::Unwrap).calls, 1);
            assert_eq!(costs(&caught_up, Controller), [0; 5]);
            assert_eq!(costs(&caught_up, MemberId(0).into()), [0; 5]);
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn a_group_has_room_for_4096() {
    let refused = rig(Profile::Sound).create(4097).map(drop);
    let error = Unsupported::TooManyMembers { limit: 4096 };
    assert_eq!(refused, Err(RigError::Command(error.into())));
}

/// The group key and the points are a polynomial. Its value at a member's place is the same in
/// every broadcast as published.
#[test]
fn as_published_the_polynomial_gives_a_members_share_for_good() {
    for (profile, lasts) in [(Profile::Published, true), (Profile::Sound, false)] {
        let mut rig = rig(profile);
        let mut shares = Vec::new();
        for change in 0..4 {
            let report = match change {
                0 => rig.create(4),
                1 => rig.rekey(),
                2 => rig.add(9),
                _ => rig.remove(1),
            };
            let sent = report.unwrap();
            let sent = sent.open_messages().next().unwrap();
            let forger = rig.forger();
            let (_, body) = forger.read(&sent.bytes).unwrap();
            let points = Reader::new(body).bytes().unwrap();
            assert_eq!(points.len(), 16 * rig.members().count());
            shares.push(share_of_the_third(points, rig.agreed_key().unwrap()));
        }
        let is_same = shares.windows(2).all(|pair| pair[0] == pair[1]);
        assert_eq!(is_same, lasts, "{profile:?}");
    }
}

/// The value at the place of the third slot, from the value at zero and those at -1, -2 and so on.
fn share_of_the_third(points: &[u8], key: &Key) -> U128 {
    let with = |share: u8| {
        let mut bytes = [0; 16];
        bytes[15] = share;
        number(&polynomial::value_at_zero(points, 3, &Key::from_bytes(bytes)))
    };
    // The key is a sum: what the points make of a share of zero, and the share times a factor.
    let (of_points, with_one) = (with(0), with(1));
    let factor = with_one - of_points;
    ((number(key) - of_points) * factor.invert().unwrap()).retrieve()
}

fn number(key: &Key) -> FieldNumber {
    FieldNumber::new(&U128::from_be_slice(key.as_bytes()))
}

fn check(rig: &Rig, report: &OperationReport, n: u32, slots: u32, profile: Profile) {
    rig.agreed_key().unwrap();
    let (count, sound) = (u64::from(n), u64::from(profile == Profile::Sound));
    let table = 3 * 16 * (count + u64::from(slots));
    let products = 3 * 16 * count * count;
    let controller = [1, 3 * count + 3, products + table, count * sound, sound];
    assert_eq!(costs(report, Controller), controller, "{n} members, {profile:?}");
    for member in rig.members() {
        let expected = [1, 8, 8 * 16 * count, sound, sound];
        assert_eq!(costs(report, MemberId(member).into()), expected, "{n} members, {profile:?}");
        let footprint = rig.party(MemberId(member).into()).footprint();
        assert_eq!((footprint.permanent, footprint.temporary), (32, 16 * n as usize + 16));
    }
    assert_eq!(messages(report), (0, 1));
    let footprint = rig.party(Controller).footprint();
    let keys = (n as usize + 1) * 16;
    assert_eq!((footprint.permanent, footprint.temporary), (keys, keys + 16 * n as usize));
}

/// Inverses, long products and their bytes, hashes, derivations.
fn costs(report: &OperationReport, party: PartyId) -> [u64; 5] {
    let meter = report.meter(party);
    let [inverses, products, hashes, derivations] =
        [Primitive::InvertScalar, Primitive::MultiplyInteger, Primitive::Hash, Primitive::Derive]
            .map(|primitive| meter.tally(primitive));
    [inverses.calls, products.calls, products.amount, hashes.calls, derivations.calls]
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme("berkovits").unwrap(), Settings { profile, ..Settings::default() })
}
