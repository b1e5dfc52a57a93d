//! Invalid elements: the identity, and elements of small order.

use std::cell::Cell;
use std::rc::Rc;

use groupkey::Suite;
use groupkey::catalogue::{Adversary, Profile, Provenance, Scheme};
use groupkey_testkit::rig::{Fate, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, ScriptEvent, byte_strings};
use crate::audit::claims::Claim;

/// The identity: every key that is computed with it is known.
pub(super) const IDENTITY: Attack = Attack {
    id: "identity-element",
    name: "The identity for an element",
    reference: "RFC 7748 section 6.1 (all-zero shared secrets)",
    shows: "a party takes the identity, so that its key does not depend on its secret",
    applies_to,
    breaks: Claim::OutsiderSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: |configuration, seed| feed(configuration, seed, Evil::Identity),
};

/// An element of order 7 or 3. A key that is computed with it is one of as many, or reveals the
/// secret modulo that order.
pub(super) const SMALL_SUBGROUP: Attack = Attack {
    id: "small-subgroup",
    name: "An element of small order",
    reference: "Lim and Lee, CRYPTO 1997; RFC 2785",
    shows: "a party takes an element of order 7 or 3, which confines its key or tells of its secret",
    applies_to,
    breaks: Claim::OutsiderSecrecy,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: |configuration, seed| feed(configuration, seed, Evil::SmallOrder),
};

/// What the adversary sends instead of elements.
#[derive(Clone, Copy)]
enum Evil {
    Identity,
    SmallOrder,
}

/// Both profiles run with the suite `published`, because the attack does not work on groups without
/// elements of small order. All elements of this suite have the same length.
const SUITE: Suite = Suite::Published;
const ELEMENT: usize = 128;

/// Runs with different secrets, to see whether keys depend on them.
const RUNS: u64 = 6;

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    // Members of D-LKH and D-OFT use certified long-term keys, which no message carries. The elements of a
    // foreign library are of its own group.
    let by_exponents = fixture::is_distributed(scheme)
        && scheme.provenance != Provenance::Foreign
        && !["d-lkh", "d-oft"].contains(&scheme.id);
    by_exponents || scheme.computes_pairings()
}

fn feed(
    configuration: &AttackTarget<'_>,
    seed: u64,
    evil: Evil,
) -> Result<AttackOutcome, RigError> {
    // A controller treats all members alike.
    let victims = if configuration.scheme().has_controller() { 1 } else { 4 };
    // First the same element everywhere, then two elements in turn, in case equal ones are refused.
    let diets = (0..victims).flat_map(|victim| [(victim, false), (victim, true)]);
    for (victim, by_turns) in diets {
        let mut keys = Vec::new();
        for run in 0..RUNS {
            let key = key_of_fed(configuration, seed + run, victim, evil, by_turns)?;
            let Some(key) = key else { break };
            keys.push(key);
        }
        if keys.len() < RUNS as usize {
            continue;
        }
        keys.sort_unstable();
        keys.dedup();
        let what = match evil {
            Evil::Identity => "the identity",
            Evil::SmallOrder if configuration.scheme().computes_pairings() => {
                "an element of order 3"
            }
            Evil::SmallOrder => "an element of order 7",
        };
        let consequence = if keys.len() < RUNS as usize {
            format!("in {RUNS} runs with other secrets it comes to {} keys", keys.len())
        } else {
            "it raises it to its secret: what it sends tells the secret modulo that order"
                .to_owned()
        };
        let steps = vec![
            format!("an insider puts {what} for each element on its way to member {victim}"),
            format!("member {victim} takes it, and has a key"),
            consequence,
        ];
        return Ok(AttackOutcome::Broken {
            history: vec![ScriptEvent::Create(4).to_string()],
            steps,
        });
    }
    Ok(AttackOutcome::Holds)
}

/// Returns the key of a member that gets only such elements, if it takes them.
fn key_of_fed(
    configuration: &AttackTarget<'_>,
    seed: u64,
    victim: u32,
    evil: Evil,
    by_turns: bool,
) -> Result<Option<[u8; 16]>, RigError> {
    let suite = configuration.only_in(SUITE)?;
    let mut rig = fixture::rig(configuration, fixture::guard(configuration), suite, seed);
    let victim = fixture::party(victim);
    let scheme = configuration.scheme();
    let mut forger = rig.forger();
    let places = ElementPlaces {
        paired: scheme.computes_pairings(),
        encrypted: (scheme.id == "cka").then(|| forger.compute(|cx| cx.encrypted_length())),
    };
    let fed = Rc::new(Cell::new(0_usize));
    let feeds = Rc::clone(&fed);
    rig.intercept(move |transit| {
        if transit.to != victim {
            return Fate::Arrives;
        }
        let mut body = transit.body.to_vec();
        for string in byte_strings(transit.body) {
            for place in places.within(string.len()) {
                let start = string.start + place;
                let even = !by_turns || feeds.get().is_multiple_of(2);
                let element = element(evil, places.paired, even);
                body[start..start + ELEMENT].copy_from_slice(&element);
                feeds.set(feeds.get() + 1);
            }
        }
        match body == transit.body {
            true => Fate::Arrives,
            false => Fate::Becomes(forger.forge(transit.header.sender, &transit.header, &body)),
        }
    });
    rig.create(4)?;
    let key = fixture::held(&rig, victim).map(|(_, key)| *key.as_bytes());
    Ok(key.filter(|_| fed.get() > 0))
}

/// The places of elements in byte strings.
struct ElementPlaces {
    paired: bool,
    /// Length of what CKA sends each member: an element and a wrapped key.
    encrypted: Option<usize>,
}

impl ElementPlaces {
    /// Returns the places in a byte string of this length.
    fn within(&self, length: usize) -> Vec<usize> {
        let each = self.encrypted.unwrap_or(ELEMENT);
        if length == 0 || !length.is_multiple_of(each) {
            return Vec::new();
        }
        match (self.paired, length / ELEMENT) {
            // Nishat's ciphertext begins with an element of the target group, which is not a point.
            (true, 3) => vec![ELEMENT, 2 * ELEMENT],
            (true, 1 | 2) | (false, _) => (0..length).step_by(each).collect(),
            // A public key.
            (true, _) => Vec::new(),
        }
    }
}

fn element(evil: Evil, paired: bool, even: bool) -> [u8; ELEMENT] {
    let mut bytes = [0; ELEMENT];
    match (evil, paired) {
        // The curve's identity is not on the plane. Zeros stand for it, and have order 2.
        (Evil::Identity, true) => {}
        (Evil::Identity, false) => bytes[ELEMENT - 1] = 1,
        (Evil::SmallOrder, true) => bytes = ORDER_3,
        (Evil::SmallOrder, false) if even => bytes = ORDER_7,
        (Evil::SmallOrder, false) => bytes = ORDER_7_SQUARED,
    }
    bytes
}

/// 2 to the power (p - 1) / 7 modulo the prime p of RFC 5114 section 2.1. The element p - 1 of
/// order 2 is out of range.
const ORDER_7: [u8; ELEMENT] = from_hex(
    b"24986e0c35fbae0d16a21b2aab7eac0dc32e9ca8c24c1eb9387366ee8a6df2be\
      e49b6f46ea2525d208c1bc3d87e3749586616e0161a305f670830ba1fa9e4c5a\
      1bd5ae9f4dc2032f1fd99bbcf3f4444a09d4da3ccbde680580ee8d78feced92d\
      1efb235fc9f25c8525a4e5a453ccf7375119cee48b05421c093d10c8b6e90ab8",
);

/// The square of the element of order 7, for places where two elements must differ.
const ORDER_7_SQUARED: [u8; ELEMENT] = from_hex(
    b"77594b524e75837d1979c2e52eebffbfa474a09844b8d74849dacde110f46faa\
      9b8d53e3644e4ea4e124c49c63cd237d31f9da84f18054510ca585825715e121\
      59ee9011453bde4c561ae14aff32c9659cb0111279a99c24b1745c5a42d8655a\
      b18a1be9bee216a55515daf7fd371f41a8db3b83f141a9b4a1c52321bf794262",
);

/// A point of order 3 on y^2 = x^3 + x over the field of PBC's a.param: x^2 = 2 / sqrt(3) - 1.
const ORDER_3: [u8; ELEMENT] = from_hex(
    b"0687bcd73de831866e433369501e90cdc5b8ae3e68a98357dcb5b8c2e863ad59\
      9ca7fcdd036446c177a6921bf10460fea89b15f14a599ed30a7d3f7415a94fbe\
      6b5add2e95afc7b51d78337b5d7d3c5008eb4b3045870e9000609f186f606087\
      2a45124149ae3841640ecdfb414a1b4a03f4f6581c091f22ad49611e4b71d4b1",
);

const fn from_hex(hex: &[u8]) -> [u8; ELEMENT] {
    const fn digit(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            _ => digit - b'a' + 10,
        }
    }
    let mut bytes = [0; ELEMENT];
    let mut i = 0;
    while i < ELEMENT {
        bytes[i] = digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]);
        i += 1;
    }
    bytes
}
