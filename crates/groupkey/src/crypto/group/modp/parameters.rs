//! The groups by name, with the numbers that their RFCs give.
//!
//! A test proves that every p and q is prime, with a library that is not used otherwise. It also
//! checks the generator's order.

use core::marker::PhantomData;

use crypto_bigint::modular::ConstMontyParams;
use crypto_bigint::{U192, U256, U1024, U2048, U3072, Uint, const_monty_params};

use super::{HalfOf, Modp, SubgroupArithmetic, SubgroupCheck};

/// RFC 5114 section 2.1: p has 1024 bits, the generator's order 160.
pub(crate) static MODP_1024_160: &dyn SubgroupArithmetic =
    &Modp::<Field1024, Order160, { U1024::LIMBS }, { U192::LIMBS }> {
        generator: GENERATOR_1024,
        membership: SubgroupCheck::Order,
        moduli: PhantomData,
    };

/// RFC 5114 section 2.3: p has 2048 bits, the generator's order 256.
pub(crate) static MODP_2048_256: &dyn SubgroupArithmetic =
    &Modp::<Field2048, Order256, { U2048::LIMBS }, { U256::LIMBS }> {
        generator: GENERATOR_2048,
        membership: SubgroupCheck::Order,
        moduli: PhantomData,
    };

/// RFC 3526 section 3, group 14.
pub(crate) static MODP_2048: &dyn SubgroupArithmetic =
    &SafePrime::<Modp2048, { U2048::LIMBS }>::GROUP;

/// RFC 3526 section 4, group 15.
pub(crate) static MODP_3072: &dyn SubgroupArithmetic =
    &SafePrime::<Modp3072, { U3072::LIMBS }>::GROUP;

/// RFC 7919 appendix A.1.
pub(crate) static FFDHE_2048: &dyn SubgroupArithmetic =
    &SafePrime::<Ffdhe2048, { U2048::LIMBS }>::GROUP;

/// RFC 7919 appendix A.2.
pub(crate) static FFDHE_3072: &dyn SubgroupArithmetic =
    &SafePrime::<Ffdhe3072, { U3072::LIMBS }>::GROUP;

/// A group whose prime is p = 2q + 1 with q prime. All these primes are 7 modulo 8, so 2 is a
/// square. It generates all q squares. This is the RFCs' generator and group.
type SafePrime<P, const L: usize> = Modp<P, HalfOf<P>, L, L>;

impl<P: ConstMontyParams<L>, const L: usize> SafePrime<P, L> {
    const GROUP: Self = Self {
        generator: Uint::from_u8(2),
        membership: SubgroupCheck::Squares,
        moduli: PhantomData,
    };
}

const_monty_params!(
    Field1024,
    U1024,
    "b10b8f96a080e01dde92de5eae5d54ec52c99fbcfb06a3c69a6a9dca52d23b61\
     6073e28675a23d189838ef1e2ee652c013ecb4aea906112324975c3cd49b83bf\
     accbdd7d90c4bd7098488e9c219a73724effd6fae5644738faa31a4ff55bccc0\
     a151af5f0dc8b4bd45bf37df365c1a65e68cfda76d4da708df1fb2bc2e4a4371",
    "The prime of RFC 5114 section 2.1."
);

const_monty_params!(
    Order160,
    U192,
    "00000000f518aa8781a8df278aba4e7d64b7cb9d49462353",
    "The order of the generator of RFC 5114 section 2.1."
);

const GENERATOR_1024: U1024 = U1024::from_be_hex(
    "a4d1cbd5c3fd34126765a442efb99905f8104dd258ac507fd6406cff14266d31\
     266fea1e5c41564b777e690f5504f213160217b4b01b886a5e91547f9e2749f4\
     d7fbd7d3b9a92ee1909d0d2263f80a76a6a24c087a091f531dbf0a0169b6a28a\
     d662a4d18e73afa32d779d5918d08bc8858f4dcef97c2a24855e6eeb22b3b2e5",
);

const_monty_params!(
    Field2048,
    U2048,
    "87a8e61db4b6663cffbbd19c651959998ceef608660dd0f25d2ceed4435e3b00\
     e00df8f1d61957d4faf7df4561b2aa3016c3d91134096faa3bf4296d830e9a7c\
     209e0c6497517abd5a8a9d306bcf67ed91f9e6725b4758c022e0b1ef4275bf7b\
     6c5bfc11d45f9088b941f54eb1e59bb8bc39a0bf12307f5c4fdb70c581b23f76\
     b63acae1caa6b7902d52526735488a0ef13c6d9a51bfa4ab3ad8347796524d8e\
     f6a167b5a41825d967e144e5140564251ccacb83e6b486f6b3ca3f7971506026\
     c0b857f689962856ded4010abd0be621c3a3960a54e710c375f26375d7014103\
     a4b54330c198af126116d2276e11715f693877fad7ef09cadb094ae91e1a1597",
    "The prime of RFC 5114 section 2.3."
);

const_monty_params!(
    Order256,
    U256,
    "8cf83642a709a097b447997640129da299b1a47d1eb3750ba308b0fe64f5fbd3",
    "The order of the generator of RFC 5114 section 2.3."
);

const GENERATOR_2048: U2048 = U2048::from_be_hex(
    "3fb32c9b73134d0b2e77506660edbd484ca7b18f21ef205407f4793a1a0ba125\
     10dbc15077be463fff4fed4aac0bb555be3a6c1b0c6b47b1bc3773bf7e8c6f62\
     901228f8c28cbb18a55ae31341000a650196f931c77a57f2ddf463e5e9ec144b\
     777de62aaab8a8628ac376d282d6ed3864e67982428ebc831d14348f6f2f9193\
     b5045af2767164e1dfc967c1fb3f2e55a4bd1bffe83b9c80d052b985d182ea0a\
     db2a3b7313d3fe14c8484b1e052588b9b7d2bbd2df016199ecd06e1557cd0915\
     b3353bbb64e0ec377fd028370df92b52c7891428cdc67eb6184b523d1db246c3\
     2f63078490f00ef8d647d148d47954515e2327cfef98c582664b4c0f6cc41659",
);

const_monty_params!(
    Modp2048,
    U2048,
    "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74\
     020bbea63b139b22514a08798e3404ddef9519b3cd3a431b302b0a6df25f1437\
     4fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed\
     ee386bfb5a899fa5ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf05\
     98da48361c55d39a69163fa8fd24cf5f83655d23dca3ad961c62f356208552bb\
     9ed529077096966d670c354e4abc9804f1746c08ca18217c32905e462e36ce3b\
     e39e772c180e86039b2783a2ec07a28fb5c55df06f4c52c9de2bcbf695581718\
     3995497cea956ae515d2261898fa051015728e5a8aacaa68ffffffffffffffff",
    "The prime of RFC 3526 section 3."
);

const_monty_params!(
    Modp3072,
    U3072,
    "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74\
     020bbea63b139b22514a08798e3404ddef9519b3cd3a431b302b0a6df25f1437\
     4fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed\
     ee386bfb5a899fa5ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf05\
     98da48361c55d39a69163fa8fd24cf5f83655d23dca3ad961c62f356208552bb\
     9ed529077096966d670c354e4abc9804f1746c08ca18217c32905e462e36ce3b\
     e39e772c180e86039b2783a2ec07a28fb5c55df06f4c52c9de2bcbf695581718\
     3995497cea956ae515d2261898fa051015728e5a8aaac42dad33170d04507a33\
     a85521abdf1cba64ecfb850458dbef0a8aea71575d060c7db3970f85a6e1e4c7\
     abf5ae8cdb0933d71e8c94e04a25619dcee3d2261ad2ee6bf12ffa06d98a0864\
     d87602733ec86a64521f2b18177b200cbbe117577a615d6c770988c0bad946e2\
     08e24fa074e5ab3143db5bfce0fd108e4b82d120a93ad2caffffffffffffffff",
    "The prime of RFC 3526 section 4."
);

const_monty_params!(
    Ffdhe2048,
    U2048,
    "ffffffffffffffffadf85458a2bb4a9aafdc5620273d3cf1d8b9c583ce2d3695\
     a9e13641146433fbcc939dce249b3ef97d2fe363630c75d8f681b202aec4617a\
     d3df1ed5d5fd65612433f51f5f066ed0856365553ded1af3b557135e7f57c935\
     984f0c70e0e68b77e2a689daf3efe8721df158a136ade73530acca4f483a797a\
     bc0ab182b324fb61d108a94bb2c8e3fbb96adab760d7f4681d4f42a3de394df4\
     ae56ede76372bb190b07a7c8ee0a6d709e02fce1cdf7e2ecc03404cd28342f61\
     9172fe9ce98583ff8e4f1232eef28183c3fe3b1b4c6fad733bb5fcbc2ec22005\
     c58ef1837d1683b2c6f34a26c1b2effa886b423861285c97ffffffffffffffff",
    "The prime of RFC 7919 appendix A.1."
);

const_monty_params!(
    Ffdhe3072,
    U3072,
    "ffffffffffffffffadf85458a2bb4a9aafdc5620273d3cf1d8b9c583ce2d3695\
     a9e13641146433fbcc939dce249b3ef97d2fe363630c75d8f681b202aec4617a\
     d3df1ed5d5fd65612433f51f5f066ed0856365553ded1af3b557135e7f57c935\
     984f0c70e0e68b77e2a689daf3efe8721df158a136ade73530acca4f483a797a\
     bc0ab182b324fb61d108a94bb2c8e3fbb96adab760d7f4681d4f42a3de394df4\
     ae56ede76372bb190b07a7c8ee0a6d709e02fce1cdf7e2ecc03404cd28342f61\
     9172fe9ce98583ff8e4f1232eef28183c3fe3b1b4c6fad733bb5fcbc2ec22005\
     c58ef1837d1683b2c6f34a26c1b2effa886b4238611fcfdcde355b3b6519035b\
     bc34f4def99c023861b46fc9d6e6c9077ad91d2691f7f7ee598cb0fac186d91c\
     aefe130985139270b4130c93bc437944f4fd4452e2d74dd364f2e21e71f54bff\
     5cae82ab9c9df69ee86d2bc522363a0dabc521979b0deada1dbf9a42d5c4484e\
     0abcd06bfa53ddef3c1b20ee3fd59d7c25e41d2b66c62e37ffffffffffffffff",
    "The prime of RFC 7919 appendix A.2."
);
