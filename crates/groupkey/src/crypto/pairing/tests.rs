use crypto_bigint::modular::ConstMontyParams;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sha2::Digest;

use super::*;

const SUITES: [Suite; 2] = [Suite::Standard, Suite::Published];

#[test]
fn pairings_are_bilinear_and_not_degenerate() {
    for suite in SUITES {
        let [a, b] = scalars(suite);
        let (p, q) = (G1::generator(suite), G2::generator(suite));
        let base = pairing(&p, &q);
        assert!(base.times(&base) != base, "not 1");
        assert!(pairing(&p.power(&a), &q.power(&b)) == base.power(&a.times(&b)));
        assert!(pairing(&p.power(&a), &q) == pairing(&p, &q.power(&a)));
        let product = miller_loops(&[(&p.power(&a), &q), (&p, &q.power(&b))]).finish();
        assert!(product == base.power(&a.plus(&b)));
        let quotient = miller_loops(&[(&p.power(&a), &q), (&p.power(&b).inverse(), &q)]).finish();
        assert!(quotient == base.power(&a.minus(&b)));
        assert!(quotient == base.power(&a).times(&base.power(&b).inverse()));
    }
}

#[test]
fn the_order_is_that_of_the_scalars() {
    for suite in SUITES {
        let [a, _] = scalars(suite);
        let minus_one = Scalar::from_number(suite, 0).minus(&Scalar::from_number(suite, 1));
        let (p, q) = (G1::generator(suite), G2::generator(suite));
        assert!(p.power(&minus_one) == p.inverse());
        assert!(q.power(&minus_one) == q.inverse());
        let base = pairing(&p, &q);
        assert!(base.power(&minus_one) == base.inverse());
        // The identity pairs to 1. Multiplying by it changes nothing.
        let (one, one2) = (p.times_all([&p.inverse()]), q.times_all([&q.inverse()]));
        assert!(p.times_all([&one]) == p && one.times_all([&p]) == p);
        let x = p.power(&a);
        assert!(miller_loops(&[(&one, &q), (&x, &q), (&p, &one2)]).finish() == pairing(&x, &q));
        assert!(G1::generator(suite).power(&Scalar::from_number(suite, 0)) == one);
    }
}

#[test]
fn scalars_are_a_field() {
    for suite in SUITES {
        let [a, b] = scalars(suite);
        assert!(a.plus(&b).minus(&b) == a);
        assert!(a.times(&b).times(&b.inverse().unwrap()) == a);
        assert!(a.power(0) == Scalar::from_number(suite, 1) && a.power(1) == a);
        assert!(a.power(3) == a.times(&a).times(&a));
        assert!(Scalar::from_number(suite, 0).inverse().is_none());
        let mut bytes = [0; 11];
        assert!(Scalar::from_bytes(suite, &bytes).is_zero());
        bytes[1] = 1;
        assert!(Scalar::from_bytes(suite, &bytes) == Scalar::from_number(suite, 2).power(72));
    }
}

#[test]
fn tables_of_the_target_group_give_the_same_powers() {
    for suite in SUITES {
        let [a, b] = scalars(suite);
        let number = |number| Scalar::from_number(suite, number);
        let minus_one = number(0).minus(&number(1));
        let base = pairing(&G1::generator(suite), &G2::generator(suite)).power(&b);
        let table = GtTable::new(&base);
        assert!(*table.element() == base);
        for scalar in [number(0), number(1), number(9), number(1 << 40), a, minus_one] {
            assert!(table.power(&scalar) == base.power(&scalar));
        }
    }
}

#[test]
fn tables_give_the_same_powers() {
    for suite in SUITES {
        let [a, b] = scalars(suite);
        let number = |number| Scalar::from_number(suite, number);
        let minus_one = number(0).minus(&number(1));
        let base = G1::generator(suite).power(&b);
        let all = [number(1), number(7), number(8), number(9), number(0x8888), a, minus_one];
        let powers = G1Table::new(&base).powers(&all);
        for (power, scalar) in powers.iter().zip(&all) {
            assert!(*power == base.power(scalar));
        }
        let zero = number(0);
        assert!(G1Table::new(&base).powers([&zero])[0] == base.power(&zero));
    }
}

#[test]
fn products_know_equal_and_opposite_factors() {
    for suite in SUITES {
        let p = G1::generator(suite);
        let power = |number| p.power(&Scalar::from_number(suite, number));
        assert!(p.times_all([&p]) == power(2));
        assert!(p.times_all([&p, &p, &p]) == power(4));
        assert!(p.times_all([&p.inverse(), &p]) == p);
    }
}

/// RFC 9380, appendix J.9.1: the element is told by its x, in the first byte of which three bits say
/// that it is compressed, not the identity, and which y it has.
#[test]
fn messages_hash_to_the_elements_of_the_rfc() {
    const DOMAIN: &[u8] = b"QUUX-V01-CS02-with-BLS12381G1_XMD:SHA-256_SSWU_RO_";
    let vectors = [
        (
            "",
            "852926add2207b76ca4fa57a8734416c8dc95e24501772c814278700eed6d1e4\
             e8cf62d9c09db0fac349612b759e79a1",
        ),
        (
            "abc",
            "83567bc5ef9c690c2ab2ecdf6a96ef1c139cc0b2f284dca0a9a7943388a49a3a\
             ee664ba5379a7655d3c68900be2f6903",
        ),
        (
            "abcdef0123456789",
            "91e0b079dea29a68f0383ee94fed1b940995272407e3bb916bbf268c263ddd57\
             a6a27200a784cbc248e84f357ce82d98",
        ),
    ];
    for (message, expected) in vectors {
        let mut encoded = Vec::new();
        G1::hashed(Suite::Standard, DOMAIN, message.as_bytes()).encode(&mut encoded);
        assert_eq!(encoded, from_hexadecimal(expected), "{message}");
    }
}

#[test]
fn hashes_are_of_the_group_and_differ() {
    for suite in SUITES {
        let hash = |domain: &str, message: &str| {
            let mut encoded = Vec::new();
            G1::hashed(suite, domain.as_bytes(), message.as_bytes()).encode(&mut encoded);
            assert!(G1::decode(suite, &encoded, ElementCheck::Subgroup).is_some());
            encoded
        };
        let words = ["", "a", "b", "ab"];
        let mut all: Vec<_> = words.iter().flat_map(|d| words.map(|m| hash(d, m))).collect();
        assert_eq!(hash("a", "b"), all[6]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 16);
    }
}

#[test]
fn elements_survive_encoding_and_bad_ones_are_refused() {
    for suite in Suite::ALL.into_iter().filter(|suite| suite.has_pairing()) {
        let [a, _] = scalars(suite);
        let (p, q) = (G1::generator(suite).power(&a), G2::generator(suite).power(&a));
        let (mut one, mut two) = (Vec::new(), Vec::new());
        p.encode(&mut one);
        q.encode(&mut two);
        assert_eq!((one.len(), two.len()), (G1::length(suite), G2::length(suite)));
        assert!(G1::decode(suite, &one, ElementCheck::Subgroup).unwrap() == p);
        assert!(G2::decode(suite, &two, ElementCheck::Subgroup).unwrap() == q);
        let refuses = |bytes: &[u8]| {
            assert!(G1::decode(suite, bytes, ElementCheck::Range).is_none());
            assert!(G2::decode(suite, bytes, ElementCheck::Range).is_none());
        };
        refuses(&[]);
        refuses(&one[1..]);
        refuses(&[0; 48]);
        refuses(&[0; 96]);
        refuses(&[0; 128]);
        refuses(&[0xff; 48]);
        refuses(&[0xff; 96]);
        refuses(&[0xff; 128]);
        // The identity of BLS12-381.
        let mut identity = [0; 96];
        identity[0] = 0xc0;
        refuses(&identity[..48]);
        refuses(&identity);
    }
}

#[test]
fn points_outside_the_subgroup_are_refused_where_that_is_checked() {
    // Nearly all points of the curve with a small x are outside the subgroup.
    let mut seen = 0;
    for x in 2..40u8 {
        let mut bytes = [0; 48];
        (bytes[0], bytes[47]) = (0x80, x);
        if G1::decode(Suite::Standard, &bytes, ElementCheck::Range).is_some() {
            seen += 1;
            assert!(G1::decode(Suite::Standard, &bytes, ElementCheck::Subgroup).is_none());
        }
        let mut bytes = [0; 96];
        (bytes[0], bytes[95]) = (0x80, x);
        if G2::decode(Suite::Standard, &bytes, ElementCheck::Range).is_some() {
            seen += 1;
            assert!(G2::decode(Suite::Standard, &bytes, ElementCheck::Subgroup).is_none());
        }
        let square = field::FieldElement::new(&x.into());
        let square = square.square().mul(&square).add(&square);
        // The field's prime is 3 modulo 4.
        let prime = <field::Field512 as ConstMontyParams<{ crypto_bigint::U512::LIMBS }>>::PARAMS
            .modulus()
            .as_ref();
        let y = square.pow(&prime.shr_vartime(2).wrapping_add(&crypto_bigint::U512::ONE));
        if y.square() == square {
            let mut bytes = [0; 64].to_vec();
            bytes[63] = x;
            field::encode_field(&y, &mut bytes);
            seen += 1;
            assert!(G1::decode(Suite::Published, &bytes, ElementCheck::Range).is_some());
            assert!(G1::decode(Suite::Published, &bytes, ElementCheck::Subgroup).is_none());
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn lengths_are_those_of_the_papers() {
    let suite = Suite::Published;
    let mut bytes = Vec::new();
    pairing(&G1::generator(suite), &G2::generator(suite)).encode(&mut bytes);
    assert_eq!(bytes.len(), Gt::length(suite));
    // S004: a public key of two elements has 2,048 bits, a ciphertext 3,072.
    assert_eq!(2 * 8 * G1::length(suite), 2_048);
    assert_eq!(8 * (Gt::length(suite) + 2 * G1::length(suite)), 3_072);
}

#[test]
fn secrets_are_wiped_and_not_shown() {
    for suite in SUITES {
        let [a, _] = scalars(suite);
        let mut element = G1::generator(suite);
        element.zeroize();
        assert!(element == G1::generator(suite).power(&Scalar::from_number(suite, 0)));
        let mut target = pairing(&G1::generator(suite), &G2::generator(suite));
        let shown = alloc::format!("{a:?} {element:?} {target:?}");
        assert_eq!(shown, "Scalar(..) G1(..) Gt(..)");
        let before = target.clone();
        target.zeroize();
        assert!(target != before);
    }
}

fn pairing(p: &G1, q: &G2) -> Gt {
    miller_loops(&[(p, q)]).finish()
}

fn scalars(suite: Suite) -> [Scalar; 2] {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    core::array::from_fn(|_| Scalar::random(suite, &mut rng))
}

/// Both libraries give the same bytes for BLS12-381. The hash stands for the longer bytes and comes
/// from the pure library.
#[test]
fn known_bytes_of_bls12_381() {
    let suite = Suite::Standard;
    let [a, b] = [5, 7].map(|number| Scalar::from_number(suite, number).inverse().unwrap());
    let (p, q) = (G1::generator(suite).power(&a), G2::generator(suite).power(&b));
    let mut bytes = Vec::new();
    p.encode(&mut bytes);
    q.encode(&mut bytes);
    let target = miller_loops(&[(&p, &q), (&p.power(&b), &q.power(&a))]).finish();
    target.encode(&mut bytes);
    target.power(&a).encode(&mut bytes);
    assert_eq!(bytes.len(), 48 + 96 + 2 * 576);
    let digest = sha2::Sha256::digest(&bytes);
    let shown: alloc::string::String =
        digest.iter().map(|byte| alloc::format!("{byte:02x}")).collect();
    assert_eq!(shown, "9aa69d6daedd4e30c0246f6d20faf1e655e7b3988c39385e08b79ecb38e048ca");
}

/// Values of the Type A pairing that PARI computed. `tests/pairing/type_a.gp` printed them.
#[test]
fn type_a_is_what_an_independent_implementation_says() {
    let suite = Suite::Published;
    let mut lines = VECTORS.lines().map(|line| line.split_once(' ').unwrap());
    let mut field = |name| {
        let (found, value) = lines.next()?;
        assert_eq!(found, name);
        Some(value)
    };
    let bytes_of = |element: &G1| {
        let mut bytes = Vec::new();
        element.encode(&mut bytes);
        bytes
    };
    let generator = G1::generator(suite);
    let coordinates = [field("x").unwrap(), field("y").unwrap()].concat();
    assert_eq!(bytes_of(&generator), from_hexadecimal(&coordinates));
    let mut pairs = 0;
    while let Some(a) = field("a") {
        let [a, b] = [a, field("b").unwrap()].map(|decimal| from_decimal(suite, decimal));
        let (p, q) = (generator.power(&a), G2::generator(suite).power(&b));
        let coordinates = ["ax", "ay", "bx", "by"].map(|name| field(name).unwrap()).concat();
        let mut bytes = bytes_of(&p);
        q.encode(&mut bytes);
        assert_eq!(bytes, from_hexadecimal(&coordinates));
        let mut bytes = Vec::new();
        pairing(&p, &q).encode(&mut bytes);
        let coordinates = ["real", "imaginary"].map(|name| field(name).unwrap()).concat();
        assert_eq!(bytes, from_hexadecimal(&coordinates));
        pairs += 1;
    }
    assert_eq!(pairs, 4);
}

/// Runs if PARI is installed.
#[test]
fn the_vectors_of_type_a_come_out_again() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pairing/type_a.gp");
    let mut gp = std::process::Command::new("gp");
    match gp.args(["-q", script]).stdin(std::process::Stdio::null()).output() {
        Ok(output) => assert_eq!(std::str::from_utf8(&output.stdout), Ok(VECTORS)),
        Err(error) => assert_ne!(
            std::env::var("GROUPKEY_REQUIRE_ALL").as_deref(),
            Ok("1"),
            "gp does not start ({error}), and GROUPKEY_REQUIRE_ALL=1 asks for it"
        ),
    }
}

const VECTORS: &str = include_str!("../../../tests/pairing/type_a.txt");

fn from_hexadecimal(digits: &str) -> Vec<u8> {
    let byte = |place| u8::from_str_radix(&digits[place..place + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn from_decimal(suite: Suite, digits: &str) -> Scalar {
    let ten = Scalar::from_number(suite, 10);
    digits.bytes().fold(Scalar::from_number(suite, 0), |value, digit| {
        value.times(&ten).plus(&Scalar::from_number(suite, u64::from(digit - b'0')))
    })
}
