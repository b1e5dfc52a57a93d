//! Nishat costs what the header of its file says, in groups of many sizes and with holes.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::{MemberId, Recipient, Suite};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

const SIZES: [u32; 7] = [2, 3, 4, 5, 8, 9, 17];

#[test]
fn a_change_costs_one_broadcast_and_one_encryption() {
    for (suite, sizes) in [(Suite::Standard, &SIZES[..]), (Suite::Published, &SIZES[..3])] {
        for &n in sizes {
            for profile in Profile::ALL {
                let settings = Settings { profile, suite, ..Settings::default() };
                let mut rig = Rig::new(scheme("nishat").unwrap(), settings);
                let expected = Expected { profile, suite };
                let report = rig.create(n).unwrap();
                expected.check(&rig, &report, n, [1, 1, 0]);
                let report = rig.add(n).unwrap();
                expected.check(&rig, &report, n + 1, [0, 2, 0]);
                // The leaving member leaves a hole, which the next one fills.
                let report = rig.remove(n / 2).unwrap();
                expected.check(&rig, &report, n, [0, 1, 1]);
                let report = rig.add(n + 1).unwrap();
                expected.check(&rig, &report, n + 1, [0, 2, 0]);

                rig.sleep(0);
                rig.add(n + 2).unwrap();
                rig.remove(n).unwrap();
                let caught_up = rig.catch_up(0).unwrap();
                assert_eq!(caught_up.open_messages().count(), 2);
                expected.check_member(&caught_up.meter(MemberId(0).into()));
                let controller = caught_up.meter(Controller);
                let (derivations, products) = match profile {
                    Profile::Published => (0, 1),
                    Profile::Sound => (2, 0),
                };
                assert_eq!(calls(&controller, Primitive::Derive), derivations);
                assert_eq!(calls(&controller, Primitive::MultiplyInteger), products);
                assert_eq!(calls(&controller, Primitive::ExponentiateG2), 0);
                rig.agreed_key().unwrap();
            }
        }
    }
}

/// Keys held, in bytes of the suite `standard`.
#[test]
fn keys_held_are_as_told() {
    for n in SIZES {
        for profile in Profile::ALL {
            let settings = Settings { profile, ..Settings::default() };
            let mut rig = Rig::new(scheme("nishat").unwrap(), settings);
            rig.create(n).unwrap();
            let controller = rig.party(Controller).footprint();
            let member = rig.party(MemberId(0).into()).footprint();
            // z1, z2, s1 to s6 of 48 bytes; h, PK1, PK2 of 96; two keys.
            let elements = 8 * 48 + 3 * 96 + 2 * 16;
            let n = n as usize;
            match profile {
                Profile::Published => {
                    // Primes of 254 bits: their product is between n times 253 and 254 bits long.
                    let product = (n * 253).div_ceil(8)..=(n * 254).div_ceil(8);
                    assert_eq!(member.permanent, elements + 32);
                    assert!(
                        (product.start() + 30..=product.end() + 32).contains(&member.temporary)
                    );
                    let rest = 3 * 32 + n * 32 + 2 * 16;
                    let (least, most) = (rest + product.start(), rest + product.end() + 64);
                    assert!((least..=most).contains(&controller.permanent));
                }
                Profile::Sound => {
                    assert_eq!(member.permanent, elements);
                    assert_eq!(member.temporary, 16 * n);
                    // alpha, beta, eta; individual keys, group key, seed.
                    assert_eq!(controller.permanent, 3 * 32 + 16 * (n + 2));
                    assert_eq!(controller.temporary, 16 * n);
                }
            }
        }
    }
}

struct Expected {
    profile: Profile,
    suite: Suite,
}

impl Expected {
    /// One broadcast to `members`, who all do the same; `integers` are how many products of
    /// primes, products and divisions of long integers the published form takes.
    fn check(&self, rig: &Rig, report: &OperationReport, members: u32, integers: [u64; 3]) {
        let [message] = &report.open_messages().collect::<Vec<_>>()[..] else {
            panic!("a change takes one message")
        };
        assert_eq!(message.to, Recipient::Group);
        assert_eq!(rig.members().count() as u32, members);
        let controller = report.meter(Controller);
        let integers = match self.profile {
            Profile::Published => integers,
            Profile::Sound => [0; 3],
        };
        let kinds =
            [Primitive::MultiplyPrimes, Primitive::MultiplyInteger, Primitive::DivideInteger];
        assert_eq!(kinds.map(|kind| calls(&controller, kind)), integers);
        let derivations = match self.profile {
            Profile::Published => 1,
            Profile::Sound => 4 + u64::from(members),
        };
        assert_eq!(calls(&controller, Primitive::Derive), derivations);
        assert_eq!(calls(&controller, Primitive::ExponentiateG2), 4);
        assert_eq!(calls(&controller, Primitive::MultiplyG2), 1);
        assert_eq!(calls(&controller, Primitive::MillerLoop), 0);
        let sends_c1 = self.suite == Suite::Published;
        let products = if sends_c1 { 2 * 80 } else { 128 };
        assert_eq!(calls(&controller, Primitive::MultiplyGt), products);
        assert_eq!(calls(&controller, Primitive::ExponentiateGt), 0);
        assert_eq!(calls(&controller, Primitive::ExponentiateG1), 0);
        for member in rig.members() {
            self.check_member(&report.meter(MemberId(member).into()));
        }
        rig.agreed_key().unwrap();
    }

    fn check_member(&self, member: &Meter) {
        let (derivations, divisions) = match self.profile {
            Profile::Published => (1, 1),
            Profile::Sound => (5, 0),
        };
        assert_eq!(calls(member, Primitive::Derive), derivations);
        assert_eq!(calls(member, Primitive::DivideInteger), divisions);
        assert_eq!(calls(member, Primitive::ExponentiateG1), 3);
        assert_eq!(member.tally(Primitive::MultiplyG1).amount, 4);
        assert_eq!(calls(member, Primitive::InvertScalar), 1);
        assert_eq!(member.tally(Primitive::MillerLoop).amount, 2);
        assert_eq!(calls(member, Primitive::FinalExponentiation), 1);
        assert_eq!(calls(member, Primitive::CheckG2), 4);
        let reads_c1 = self.suite == Suite::Published;
        assert_eq!(calls(member, Primitive::CheckGt), u64::from(reads_c1));
        assert_eq!(calls(member, Primitive::MultiplyGt), u64::from(reads_c1));
        assert_eq!(calls(member, Primitive::ExponentiateG2), 0);
    }
}

fn calls(meter: &Meter, primitive: Primitive) -> u64 {
    meter.tally(primitive).calls
}
