//! FAME by rabe, a library that is not ours, held against the scheme `fame`: the same elements, opened
//! by the same six pairings, for the same attributes.
//!
//! rabe computes on another curve (BN254), hashes and encodes otherwise, so neither reads the other's
//! bytes. What is compared is what the equations of the paper say, with the elements that rabe makes.
//! rabe's hash of an attribute is a power of g whose exponent everybody computes. The equations hold for
//! it; the paper's security does not, which needs elements whose exponents nobody knows.

mod comparison;
mod ours;
mod theirs;

use std::process::ExitCode;

/// A set of attributes: what it is, and its names in rabe. Then the group of a broadcast to members of group
/// 1, and whether it is of their period. A key of `fame` is always for both.
type Attributes = (&'static str, &'static [&'static str], Option<(u64, bool)>);

const ASKED: [Attributes; 6] = [
    ("group, period 7", &["group", "period7"], Some((1, true))),
    ("group, period 6", &["group", "period6"], Some((1, false))),
    ("another group, period 7", &["fleet", "period7"], Some((2, true))),
    ("another group, period 6", &["fleet", "period6"], Some((2, false))),
    ("group", &["group"], None),
    ("period 7", &["period7"], None),
];

fn main() -> ExitCode {
    let theirs = theirs::RabeSample::new();
    let mut checks = vec![
        ("rabe's keys fulfil the equation that ours fulfil", theirs.key_is_of_the_paper()),
        ("parts of two of rabe's keys open nothing", !theirs.parts_of_two_keys_open()),
        ("a key has as many elements", theirs.key() == ours::KEY),
        ("a ciphertext has as many elements", theirs.ciphertext() == ours::CIPHERTEXT),
        ("our messages have these elements and what the header says", ours::are_as_long_as_told()),
    ];
    println!("a key for                opens by rabe  by the six pairings  by fame");
    let mut agree = true;
    for (what, attributes, own) in ASKED {
        let told = theirs.opens(attributes);
        let computed = theirs.pairings_open(attributes);
        let own = own.map(|(group, in_same_period)| ours::opens(group, in_same_period));
        agree &= [Some(computed), own].into_iter().flatten().all(|opens| opens == told);
        let own = own.map_or("no such key", word);
        println!("{what:<23}  {:<13}  {:<19}  {own}", word(told), word(computed));
    }
    checks.push(("rabe, the pairings and fame decide the same", agree));

    println!();
    for (what, holds) in &checks {
        println!("{} {what}", word(*holds));
    }
    let (key, ciphertext) = (ours::KEY, ours::CIPHERTEXT);
    println!(
        "\na key: {} of G1, {} of G2; a ciphertext: {}, {}",
        key.0, key.1, ciphertext.0, ciphertext.1
    );

    println!(
        "\n             rabe: by its source       ms, BN254  fame: counted               ms, BLS12-381  ratio"
    );
    let print = |what: &str, [theirs, ours]: [(String, f64); 2]| {
        let ratio = ours.1 / theirs.1;
        let ((one, one_ms), (other, other_ms)) = (theirs, ours);
        println!(
            "{what:<11}  {one:<24}  {one_ms:>9.2}  {other:<26}  {other_ms:>13.2}  {ratio:>5.2}"
        );
    };
    let [powers, pairings] = [0, 1].map(|place| {
        [theirs.primitives()[place], ours::primitives()[place]].map(|ms| (String::new(), ms))
    });
    print("power in G1", powers);
    print("pairing", pairings);
    let rows = ["key", "ciphertext", "decryption"].into_iter().zip(theirs.costs());
    for ((what, one), other) in rows.zip(ours::costs()) {
        print(what, [one, other].map(|(operations, ms)| (operations.to_string(), ms)));
    }
    println!(
        "H hash to G1, E1 E2 ET powers in G1, G2, GT, P Miller loops, F final exponentiations,\n\
         V checks of received elements"
    );
    if checks.iter().all(|(_, holds)| *holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn word(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}
