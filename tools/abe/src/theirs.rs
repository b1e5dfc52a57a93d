//! Keys and ciphertexts that rabe makes for "group and period".

use std::hint::black_box;

use rabe::schemes::ac17::{
    Ac17CpCiphertext, Ac17CpSecretKey, Ac17MasterKey, Ac17PublicKey, cp_decrypt, cp_encrypt,
    cp_keygen, setup,
};
use rabe::utils::aes::decrypt_symmetric;
use rabe::utils::hash::sha3_hash;
use rabe::utils::policy::pest::PolicyLanguage;
use rabe_bn::{G1, Gt, pairing};

use crate::comparison::{FameOperations, mean};

/// What rabe drew, once.
pub struct RabeSample {
    public: Ac17PublicKey,
    master: Ac17MasterKey,
    key: Ac17CpSecretKey,
    sealed: Ac17CpCiphertext,
}

const ATTRIBUTES: [&str; 2] = ["group", "period7"];
const POLICY: &str = r#""group" and "period7""#;
const PLAIN: &[u8] = b"a group key";
const RUNS: u32 = 20;

impl RabeSample {
    pub fn new() -> Self {
        let (public, master) = setup();
        let key = cp_keygen(&master, &ATTRIBUTES).expect("there are attributes");
        let sealed = encrypt(&public);
        Self { public, master, key, sealed }
    }

    /// Elements of G1 and of G2 in a key.
    pub fn key(&self) -> (usize, usize) {
        let key = &self.key.sk;
        (key.k.iter().map(|(_, row)| row.len()).sum::<usize>() + key.k_p.len(), key.k_0.len())
    }

    /// Elements of G1 and of G2 in a ciphertext, without the message's in GT.
    pub fn ciphertext(&self) -> (usize, usize) {
        let sealed = &self.sealed.ct;
        (sealed.c.iter().map(|(_, row)| row.len()).sum(), sealed.c_0.len())
    }

    /// e(sk_(y,t), h^a_t) e(sk_(y,3), h) is the product of e(H(y,l,t), sk_(0,l)), and for sk' that times
    /// T_t: the equation of `keys_are_those_of_the_paper` in `fame/tests.rs`.
    pub fn key_is_of_the_paper(&self) -> bool {
        let key = &self.key.sk;
        let rows = key.k.iter().map(|(name, row)| (name.as_str(), row));
        rows.chain([("01", &key.k_p)]).all(|(name, row)| {
            (0..2).all(|t| {
                let left = pairing(row[t], self.public.h_a[t]) * pairing(row[2], self.master.h);
                let of_l = |l: usize| {
                    let hash = sha3_hash(self.public.g, &format!("{name}{l}{t}"));
                    pairing(hash.expect("every hash is a number"), key.k_0[l])
                };
                let right = of_l(0) * of_l(1) * of_l(2);
                left == if name == "01" { right * self.public.e_gh_ka[t] } else { right }
            })
        })
    }

    /// Whether rabe opens the ciphertext with a key for these attributes.
    pub fn opens(&self, attributes: &[&str]) -> bool {
        let decrypted = cp_decrypt(&self.key_for(attributes), &self.sealed);
        decrypted.ok().as_deref() == Some(PLAIN)
    }

    /// Whether the six pairings of `fame` do, with the rows that the key has, whatever they are for.
    pub fn pairings_open(&self, attributes: &[&str]) -> bool {
        let key = self.key_for(attributes);
        let row = |place: usize| {
            let named = key.sk.k.iter().find(|(name, _)| name == ATTRIBUTES[place]);
            &named.unwrap_or(&key.sk.k[place.min(key.sk.k.len() - 1)]).1
        };
        self.opened_by(&key, [row(0), row(1)])
    }

    /// Whether the row for the period of one key opens it, among the rows of another key.
    pub fn parts_of_two_keys_open(&self) -> bool {
        let [old, other] = [["group", "period6"], ["fleet", "period7"]];
        let (old, other) = (self.key_for(&old), self.key_for(&other));
        self.opened_by(&old, [&old.sk.k[0].1, &other.sk.k[1].1])
    }

    /// K as a member of `fame` computes it, and with it what rabe encrypted.
    fn opened_by(&self, key: &Ac17CpSecretKey, [group, period]: [&Vec<G1>; 2]) -> bool {
        let (key, sealed) = (&key.sk, &self.sealed.ct);
        let product = |t: usize| -> G1 { key.k_p[t] + group[t] + period[t] };
        let quotient = |l: usize| -> G1 { -(sealed.c[0].1[l] + sealed.c[1].1[l]) };
        let shared: Gt = (0..3).fold(Gt::one(), |shared, place| {
            let own = pairing(product(place), sealed.c_0[place]);
            shared * own * pairing(quotient(place), key.k_0[place])
        });
        let message = sealed.c_p * shared.inverse();
        decrypt_symmetric(message, &sealed.ct).ok().as_deref() == Some(PLAIN)
    }

    /// What a key, a ciphertext and its decryption take: operations as its source has them, a hash being
    /// a power of g, and mean milliseconds.
    pub fn costs(&self) -> [(FameOperations, f64); 3] {
        let none = FameOperations::default();
        [
            (
                FameOperations { hashes: 18, first: 27, second: 3, ..none },
                mean(RUNS, || drop(cp_keygen(&self.master, &ATTRIBUTES))),
            ),
            (
                FameOperations { hashes: 24, first: 12, second: 3, target: 2, ..none },
                mean(RUNS, || drop(encrypt(&self.public))),
            ),
            (
                FameOperations { pairings: 6, finals: 6, ..none },
                mean(RUNS, || drop(cp_decrypt(&self.key, &self.sealed))),
            ),
        ]
    }

    /// Mean milliseconds of a power in G1, and of a pairing.
    pub fn primitives(&self) -> [f64; 2] {
        let (first, second, scalar) = (self.public.g, self.master.h, self.master.a[0]);
        [
            mean(RUNS, || _ = black_box(first * scalar)),
            mean(RUNS, || _ = black_box(pairing(first, second))),
        ]
    }

    fn key_for(&self, attributes: &[&str]) -> Ac17CpSecretKey {
        cp_keygen(&self.master, attributes).expect("there are attributes")
    }
}

fn encrypt(public: &Ac17PublicKey) -> Ac17CpCiphertext {
    cp_encrypt(public, POLICY, PLAIN, PolicyLanguage::HumanPolicy).expect("the policy is one")
}
