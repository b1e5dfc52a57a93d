use super::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Those with a group.
fn suites() -> impl Iterator<Item = Suite> {
    Suite::ALL.into_iter().filter(|suite| suite.group().is_some())
}

fn exponents(suite: Suite) -> [Exponent; 2] {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    core::array::from_fn(|_| Exponent::random(suite, &mut rng))
}

#[test]
fn exponents_commute_multiply_and_invert() {
    for suite in suites() {
        let [a, b] = exponents(suite);
        let ab = Element::generator_power(&a).power(&b);
        assert!(ab == Element::generator_power(&b).power(&a));
        assert!(ab == Element::generator_power(&a.times(&b)));
        assert!(ab.power(&b.inverse()) == Element::generator_power(&a));
    }
}

#[test]
fn elements_multiply_and_divide() {
    for suite in suites() {
        let [a, b] = exponents(suite);
        let [x, y] = [&a, &b].map(Element::generator_power);
        assert!(x != y);
        assert!(x.times(&y) == y.times(&x));
        assert!(x.times(&y).over(&y) == x);
        assert!(x.times(&y).power(&a) == x.power(&a).times(&y.power(&a)));
        assert!(x.times(&x.over(&x)) == x, "a quotient may be the identity");
    }
}

#[test]
fn wide_bytes_are_reduced() {
    for suite in suites() {
        let zeros = alloc::vec![0; suite.prime_group().wide_bytes()];
        assert!(Exponent::from_wide(suite, &zeros).is_none());
        let power = |last| {
            let mut bytes = zeros.clone();
            *bytes.last_mut().unwrap() = last;
            Element::generator_power(&Exponent::from_wide(suite, &bytes).unwrap())
        };
        assert!(power(7) == power(3).times(&power(4)));
    }
}

#[test]
fn lengths_are_those_of_the_table() {
    for suite in suites() {
        let [exponent, _] = exponents(suite);
        let element = Element::generator_power(&exponent);
        assert_eq!(exponent.stored_bytes(), suite.prime_group().exponent_bytes());
        assert_eq!(element.stored_bytes(), Element::length(suite));
        assert!(suite.prime_group().wide_bytes() >= suite.prime_group().exponent_bytes() + 16);
    }
}

/// A party may hold 110,000 ristretto255 elements. They must not take the memory of 3072-bit
/// numbers.
#[test]
fn no_element_takes_more_than_ristretto_needs() {
    let word = size_of::<usize>();
    assert!(size_of::<Element>() <= size_of::<RistrettoPoint>() + word);
    assert_eq!(size_of::<Option<Element>>(), size_of::<Element>());
    assert!(size_of::<Exponent>() <= size_of::<Scalar>() + word);
}

#[test]
fn elements_survive_encoding() {
    for suite in suites() {
        let element = Element::generator_power(&exponents(suite)[0]);
        let mut bytes = Vec::new();
        element.encode(&mut bytes);
        assert_eq!(bytes.len(), Element::length(suite));
        assert!(Element::decode(suite, &bytes, ElementCheck::Subgroup) == Some(element));
    }
}

#[test]
fn elements_of_a_wrong_length_are_refused() {
    for suite in suites() {
        let mut bytes = Vec::new();
        Element::generator_power(&exponents(suite)[0]).encode(&mut bytes);
        let (shorter, mut longer) = (&bytes[1..], bytes.clone());
        longer.insert(0, 0);
        for check in [ElementCheck::Range, ElementCheck::Subgroup] {
            for wrong in [&[][..], &[0], shorter, &longer] {
                assert!(Element::decode(suite, wrong, check).is_none());
            }
        }
    }
}

/// RFC 9496 appendices A.3 and A.1.
#[test]
fn bad_encodings_of_ristretto_are_refused() {
    let byte_by_byte = |first, all, last| {
        let mut bytes = [all; 32];
        (bytes[0], bytes[31]) = (first, last);
        bytes
    };
    let bad = [
        ("the identity", [0; 32]),
        ("p, which is zero", byte_by_byte(0xed, 0xff, 0x7f)),
        ("p + 1, which is one", byte_by_byte(0xee, 0xff, 0x7f)),
        ("2^255 - 1", byte_by_byte(0xff, 0xff, 0x7f)),
        ("2^256 - 1", [0xff; 32]),
        ("one, which is negative", byte_by_byte(1, 0, 0)),
        ("p - 1, of y = 0", byte_by_byte(0xec, 0xff, 0x7f)),
    ];
    for (what, bytes) in bad {
        for check in [ElementCheck::Range, ElementCheck::Subgroup] {
            assert!(Element::decode(Suite::Standard, &bytes, check).is_none(), "{what}");
        }
    }
}

#[test]
fn many_powers_are_encoded_as_each_is() {
    for suite in suites() {
        let exponents = exponents(suite);
        let (mut together, mut apart) = (Vec::new(), Vec::new());
        Element::encode_generator_powers(exponents.iter(), &mut together);
        for exponent in &exponents {
            Element::generator_power(exponent).encode(&mut apart);
        }
        assert_eq!(together, apart);
    }
}
