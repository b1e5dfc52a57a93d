//! CRT costs what the header of its file says. Everybody finds everybody's residue; only in the sound
//! form that is of no use.

use groupkey::PartyId::Controller;
use groupkey::author::Reader;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::crypto::residues::Modulus;
use groupkey::error::Unsupported;
use groupkey::{Channel, MemberId, PartyId, Recipient};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};

use crate::distributed::messages;

const SIZES: [u32; 9] = [2, 3, 4, 5, 8, 9, 16, 17, 65];

#[test]
fn every_change_costs_the_square_of_the_members() {
    for n in SIZES {
        for profile in Profile::ALL {
            let mut rig = rig(profile);
            let created = rig.create(n).unwrap();
            check(&rig, &created, n, profile);
            let added = rig.add(n).unwrap();
            check(&rig, &added, n + 1, profile);
            let rekeyed = rig.rekey().unwrap();
            check(&rig, &rekeyed, n + 1, profile);
            // The leaving member leaves a hole, which the next one fills.
            let removed = rig.remove(n / 2).unwrap();
            check(&rig, &removed, n, profile);
            let added = rig.add(n + 1).unwrap();
            check(&rig, &added, n + 1, profile);

            rig.sleep(0);
            rig.add(n + 2).unwrap();
            rig.remove(n).unwrap();
            let caught_up = rig.catch_up(0).unwrap();
            let masks = u64::from(profile == Profile::Sound);
            assert_eq!(messages(&caught_up), (2, 0));
            assert_eq!(costs(&caught_up, Controller), [0, 0, 0, 0, 0, masks, masks]);
            assert_eq!(costs(&caught_up, MemberId(0).into()), [0, 0, 0, 0, 0, masks, masks]);
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn enrolment_takes_two_messages() {
    let mut rig = rig(Profile::Sound);
    let report = rig.create(3).unwrap();
    assert_eq!(report.deployment.len(), 6);
    assert!(report.deployment.iter().all(|sent| sent.channel == Channel::Confidential));
    assert!(report.deployment.iter().all(|sent| sent.to != Recipient::Group));
}

#[test]
fn a_group_has_room_for_4096() {
    let refused = rig(Profile::Sound).create(4097).map(drop);
    let error = Unsupported::TooManyMembers { limit: 4096 };
    assert_eq!(refused, Err(RigError::Command(error.into())));
}

/// With the lock of a key that it knows, anybody has the masks of all members: as published they are
/// the same in the next lock, and in the lock after that.
#[test]
fn as_published_a_residue_and_the_key_give_a_members_key_for_good() {
    for (profile, lasts) in [(Profile::Published, true), (Profile::Sound, false)] {
        let mut rig = rig(profile);
        let mut masks = Vec::new();
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
            let lock = Reader::new(body).bytes().unwrap();
            let residue = Modulus::first(3)[2].residue(lock);
            let key = rig.agreed_key().unwrap().as_bytes();
            masks.push(std::array::from_fn::<_, 16, _>(|place| residue[place] ^ key[place]));
        }
        let is_same = masks.windows(2).all(|pair| pair[0] == pair[1]);
        assert_eq!(is_same, lasts, "{profile:?}");
    }
}

fn check(rig: &Rig, report: &OperationReport, n: u32, profile: Profile) {
    rig.agreed_key().unwrap();
    let (count, masks) = (u64::from(n), u64::from(profile == Profile::Sound));
    // The first residue has nothing before it, and counts as the second does.
    let before = 16 * ((1..count).sum::<u64>() + 1);
    let controller = [count, 2 * count, 2 * before, 2 * count, 2 * before, count * masks, masks];
    assert_eq!(costs(report, Controller), controller, "{n} members, {profile:?}");
    for member in rig.members() {
        let expected = [0, 1, 16 * count, 0, 0, masks, masks];
        assert_eq!(costs(report, MemberId(member).into()), expected, "{n} members, {profile:?}");
        let footprint = rig.party(MemberId(member).into()).footprint();
        assert_eq!((footprint.permanent, footprint.temporary), (32, 16 * n as usize));
    }
    assert_eq!(messages(report), (0, 1));
    let footprint = rig.party(Controller).footprint();
    let keys = (n as usize + 1) * 16;
    assert_eq!((footprint.permanent, footprint.temporary), (keys, 32 * n as usize));
}

/// Inverses, long divisions and their bytes, long products and their bytes, hashes, derivations.
fn costs(report: &OperationReport, party: PartyId) -> [u64; 7] {
    let meter = report.meter(party);
    let [inverses, divisions, products, hashes, derivations] = [
        Primitive::InvertScalar,
        Primitive::DivideInteger,
        Primitive::MultiplyInteger,
        Primitive::Hash,
        Primitive::Derive,
    ]
    .map(|primitive| meter.tally(primitive));
    [
        inverses.calls,
        divisions.calls,
        divisions.amount,
        products.calls,
        products.amount,
        hashes.calls,
        derivations.calls,
    ]
}

fn rig(profile: Profile) -> Rig {
    Rig::new(scheme("crt").unwrap(), Settings { profile, ..Settings::default() })
}
