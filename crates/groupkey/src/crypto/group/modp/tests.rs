use crypto_bigint::{NonZero, U192, U256, U1024, U2048, U3072, U4096};
use crypto_primes::{Flavor, is_prime};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::parameters::*;
use super::*;

/// Runs a generic function for every group.
macro_rules! for_every_group {
    ($function:ident) => {
        $function::<Field1024, Order160, { U1024::LIMBS }, { U192::LIMBS }>(MODP_1024_160);
        $function::<Field2048, Order256, { U2048::LIMBS }, { U256::LIMBS }>(MODP_2048_256);
        $function::<Modp2048, HalfOf<Modp2048>, { U2048::LIMBS }, { U2048::LIMBS }>(MODP_2048);
        $function::<Modp3072, HalfOf<Modp3072>, { U3072::LIMBS }, { U3072::LIMBS }>(MODP_3072);
        $function::<Ffdhe2048, HalfOf<Ffdhe2048>, { U2048::LIMBS }, { U2048::LIMBS }>(FFDHE_2048);
        $function::<Ffdhe3072, HalfOf<Ffdhe3072>, { U3072::LIMBS }, { U3072::LIMBS }>(FFDHE_3072);
    };
}

#[test]
fn moduli_are_prime_and_the_generator_has_the_order() {
    for_every_group!(check_numbers);
}

fn check_numbers<P, Q, const L: usize, const M: usize>(group: &dyn SubgroupArithmetic)
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
    Uint<L>: crypto_bigint::UnsignedWithMontyForm + crypto_bigint::RandomMod,
    Uint<M>: crypto_bigint::UnsignedWithMontyForm + crypto_bigint::RandomMod,
{
    let (prime, order) = (P::PARAMS.modulus().as_ref(), Q::PARAMS.modulus().as_ref());
    assert!(is_prime(Flavor::Any, prime));
    assert!(is_prime(Flavor::Any, order));
    assert_eq!(group.element_bytes(), prime.bits() as usize / 8);
    assert_eq!(group.exponent_bytes(), order.bits().div_ceil(8) as usize);

    let generator = generator::<P, Q, L, M>(group);
    assert!(generator != ConstMontyForm::ONE);
    assert!(generator.pow(order) == ConstMontyForm::ONE);
}

#[test]
fn bad_elements_are_refused() {
    for_every_group!(refuse_bad_elements);
}

fn refuse_bad_elements<P, Q, const L: usize, const M: usize>(group: &dyn SubgroupArithmetic)
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
{
    let p = *P::PARAMS.modulus().as_ref();
    let generator = generator::<P, Q, L, M>(group).retrieve();
    let bad = [
        ("0", Uint::ZERO),
        ("1", Uint::ONE),
        ("p - 1", p.wrapping_sub(&Uint::ONE)),
        ("p", p),
        ("p + 1", p.wrapping_add(&Uint::ONE)),
        ("the longest number", Uint::MAX),
    ];
    for (what, value) in bad {
        for check in [ElementCheck::Range, ElementCheck::Subgroup] {
            assert!(group.decode(&bytes(&value), check).is_none(), "{what}");
        }
    }
    // The negative of the generator has twice the generator's order, because that order is odd.
    let stranger = bytes(&p.wrapping_sub(&generator));
    assert!(group.decode(&stranger, ElementCheck::Range).is_some());
    assert!(group.decode(&stranger, ElementCheck::Subgroup).is_none());
    assert!(group.decode(&bytes(&generator), ElementCheck::Subgroup).is_some());
}

#[test]
fn both_ways_to_see_a_member_agree() {
    for_every_group!(compare_memberships);
}

/// A member raised to the order is one. The Jacobi symbol is a short cut for this test.
fn compare_memberships<P, Q, const L: usize, const M: usize>(group: &dyn SubgroupArithmetic)
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
{
    for number in 2..8u8 {
        let number = Uint::<L>::from_u8(number);
        let power = ConstMontyForm::<P, L>::new(&number).pow(Q::PARAMS.modulus().as_ref());
        let decoded = group.decode(&bytes(&number), ElementCheck::Subgroup);
        assert_eq!(decoded.is_some(), power == ConstMontyForm::ONE);
    }
}

#[test]
fn random_exponents_are_of_full_length_and_below_the_order() {
    for_every_group!(draw);
}

#[expect(clippy::extra_unused_type_parameters, reason = "`for_every_group` names all")]
fn draw<P, Q, const L: usize, const M: usize>(group: &dyn SubgroupArithmetic)
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
{
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let drawn = [(); 32].map(|()| {
        let exponent = group.random_exponent(&mut rng);
        ConstMontyForm::<Q, M>::from_montgomery(uint(&exponent)).retrieve()
    });
    let order = Q::PARAMS.modulus().as_ref();
    assert!(drawn.iter().all(|exponent| exponent < order));
    let longest = drawn.iter().map(Uint::bits).max();
    assert_eq!(longest, Some(order.bits()));
}

/// The order plus one, and the square of that number, are both one as exponents.
#[test]
fn numbers_longer_than_the_order_are_reduced() {
    for_every_group!(reduce);
}

#[expect(clippy::extra_unused_type_parameters, reason = "`for_every_group` names all")]
fn reduce<P, Q, const L: usize, const M: usize>(group: &dyn SubgroupArithmetic)
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
{
    let one = limbs(&ConstMontyForm::<Q, M>::ONE);
    let next = Q::PARAMS.modulus().as_ref().wrapping_add(&Uint::ONE);
    assert_eq!(group.exponent_from(&bytes(&next)).as_ref(), Some(&one));
    let (low, high) = next.widening_mul(&next);
    let square = [bytes(&high), bytes(&low)].concat();
    assert_eq!(group.exponent_from(&square).as_ref(), Some(&one));
    assert_eq!(group.exponent_from(&bytes(Q::PARAMS.modulus().as_ref())), None);
}

/// RFC 3526: 2^b - 2^(b-64) - 1 + 2^64 * ([2^(b-130) pi] + x); RFC 7919: the same with e.
#[test]
fn safe_primes_are_what_their_formulas_say() {
    let check = |bits: u32, number: &U4096, x: u32, prime: U4096| {
        let digits = number.shr_vartime(FRACTION - (bits - 130)).wrapping_add(&U4096::from_u32(x));
        let power = |exponent: u32| U4096::ONE.shl_vartime(exponent);
        let expected = power(bits).wrapping_sub(&power(bits - 64)).wrapping_sub(&U4096::ONE);
        assert_eq!(expected.wrapping_add(&digits.shl_vartime(64)), prime);
    };
    let (pi, e) = (pi(), e());
    check(2048, &pi, 124_476, prime::<Modp2048, _>());
    check(3072, &pi, 1_690_314, prime::<Modp3072, _>());
    check(2048, &e, 560_316, prime::<Ffdhe2048, _>());
    check(3072, &e, 2_625_351, prime::<Ffdhe3072, _>());
}

/// The number of bits after the point in [`pi`] and [`e`].
const FRACTION: u32 = 3072;

/// Computes pi as Machin does: 16 atan(1/5) - 4 atan(1/239).
fn pi() -> U4096 {
    let atan = |divisor: u32| {
        let mut term = divide(&U4096::ONE.shl_vartime(FRACTION), divisor);
        let mut sum = term;
        for odd in (3..).step_by(2) {
            term = divide(&term, divisor * divisor);
            if term == U4096::ZERO {
                break;
            }
            let part = divide(&term, odd);
            sum = if odd % 4 == 3 { sum.wrapping_sub(&part) } else { sum.wrapping_add(&part) };
        }
        sum
    };
    atan(5).shl_vartime(4).wrapping_sub(&atan(239).shl_vartime(2))
}

/// Returns the sum of 1/n!.
fn e() -> U4096 {
    let mut term = U4096::ONE.shl_vartime(FRACTION);
    let mut sum = term;
    for n in 1.. {
        term = divide(&term, n);
        if term == U4096::ZERO {
            break;
        }
        sum = sum.wrapping_add(&term);
    }
    sum
}

fn divide(number: &U4096, divisor: u32) -> U4096 {
    number.div_rem_limb(NonZero::new(Limb::from_u32(divisor)).unwrap()).0
}

fn prime<P: ConstMontyParams<L>, const L: usize>() -> U4096 {
    P::PARAMS.modulus().as_ref().resize()
}

fn generator<P, Q, const L: usize, const M: usize>(
    group: &dyn SubgroupArithmetic,
) -> ConstMontyForm<P, L>
where
    P: ConstMontyParams<L>,
    Q: ConstMontyParams<M>,
{
    let one = limbs(&ConstMontyForm::<Q, M>::ONE);
    ConstMontyForm::from_montgomery(uint(&group.generator_power(&one)))
}

fn bytes<const L: usize>(value: &Uint<L>) -> Vec<u8> {
    let limbs = value.as_limbs().iter().rev();
    limbs.flat_map(|limb| limb.0.to_be_bytes()).collect()
}
