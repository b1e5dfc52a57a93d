//! Secret sharing: the published shares are those of every broadcast, and each broadcast is linear
//! equations between them and the group key.

use crypto_bigint::modular::ConstMontyForm;
use crypto_bigint::{U128, const_monty_params};
use groupkey::Key;
use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::crypto::polynomial;
use groupkey_testkit::rig::{Guard, Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, ScriptEvent, byte_strings};
use crate::audit::claims::Claim;

/// A removed member computes the next key.
pub(super) const EVICTED: Attack = Attack {
    id: "berkovits-evicted",
    name: "Shared points: a removed member",
    reference: OWN_ANALYSIS,
    shows: "a removed member has every other member's share, and takes the next key as they do",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: |target, seed| {
        let [first, second] = [ScriptEvent::Create(4), ScriptEvent::Remove(2)];
        attack(target, seed, [first, second], |[known, other]| with_a_key(known, other))
    },
};

/// A joining member computes the previous key.
pub(super) const NEWCOMER: Attack = Attack {
    id: "berkovits-newcomer",
    name: "Shared points: a newcomer",
    reference: OWN_ANALYSIS,
    shows: "a newcomer has every other member's share, and takes the key before its time with it",
    applies_to,
    breaks: Claim::BackwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: |target, seed| {
        let [first, second] = [ScriptEvent::Create(4), ScriptEvent::Add(4)];
        attack(target, seed, [first, second], |[other, known]| with_a_key(known, other))
    },
};

/// A party that was never a member computes all keys.
pub(super) const OUTSIDER: Attack = Attack {
    id: "berkovits-outsider",
    name: "Shared points: two broadcasts",
    reference: OWN_ANALYSIS,
    shows: "two broadcasts are as many equations as unknowns, so anybody who hears them has the keys",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: |target, seed| {
        let [first, second] = [ScriptEvent::Create(4), ScriptEvent::Remove(2)];
        attack(target, seed, [first, second], |[first, second]| from_two_broadcasts(first, second))
    },
};

const_monty_params!(Prime128, U128, "ffffffffffffffffffffffffffffff61");

type FieldNumber = ConstMontyForm<Prime128, { U128::LIMBS }>;

/// The places of two members that are in both broadcasts.
const PLACES: [u32; 2] = [1, 2];

/// The points of a broadcast, and the group key that they carry.
struct HeardPoints {
    points: Vec<u8>,
    key: Key,
}

/// A share of a member makes the group key by this: `key = of_points + factor share`.
struct ShareEquation {
    of_points: FieldNumber,
    factor: FieldNumber,
}

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    scheme.id == "berkovits"
}

/// Plays two events. The adversary tells the steps if it has the key of the broadcast that it
/// wants.
fn attack(
    target: &AttackTarget<'_>,
    seed: u64,
    events: [ScriptEvent; 2],
    solve: impl Fn([&HeardPoints; 2]) -> Option<[&'static str; 3]>,
) -> Result<AttackOutcome, RigError> {
    let suite = target.suite();
    let mut rig = fixture::rig(target, Guard::Mac, suite, seed);
    let first = hear(&mut rig, events[0])?;
    let second = hear(&mut rig, events[1])?;
    let (Some(first), Some(second)) = (first, second) else { return Ok(AttackOutcome::Holds) };
    let Some(steps) = solve([&first, &second]) else { return Ok(AttackOutcome::Holds) };
    let history = events.map(|event| event.to_string()).into();
    Ok(AttackOutcome::Broken { history, steps: steps.map(str::to_owned).into() })
}

/// From the key of one broadcast to that of another.
fn with_a_key(known: &HeardPoints, other: &HeardPoints) -> Option<[&'static str; 3]> {
    let share = known.equation(PLACES[0]).share(number(&known.key))?;
    let found = other.equation(PLACES[0]).key(share);
    (found == number(&other.key)).then_some([
        "the adversary has the points of one group key K with that key, and hears other points",
        "K and the points are a polynomial; its value at another member's place is that share",
        "the same share with the other points gives their group key",
    ])
}

/// From the points of two broadcasts to both keys.
fn from_two_broadcasts(first: &HeardPoints, second: &HeardPoints) -> Option<[&'static str; 3]> {
    // Both members find the same key K in the first, and K' in the second:
    // p1 + f1 a = p2 + f2 b, and p1' + f1' a = p2' + f2' b.
    let [one, two] = PLACES.map(|place| first.equation(place));
    let [one_later, two_later] = PLACES.map(|place| second.equation(place));
    let determinant = one_later.factor * two.factor - one.factor * two_later.factor;
    let difference = two.of_points - one.of_points;
    let difference_later = two_later.of_points - one_later.of_points;
    let inverse: Option<FieldNumber> = determinant.invert().into();
    let share = (difference_later * two.factor - difference * two_later.factor) * inverse?;
    let found = [one.key(share), one_later.key(share)];
    (found == [&first.key, &second.key].map(number)).then_some([
        "the adversary hears the points of two group keys, K for four members and K' for three",
        "K = p + f y and K' = p' + f' y, for the share y of each of two members that stay",
        "these four equations have four unknowns, K, K' and two shares, and one solution",
    ])
}

impl HeardPoints {
    fn equation(&self, place: u32) -> ShareEquation {
        let with = |share: u8| {
            let mut bytes = [0; 16];
            bytes[15] = share;
            number(&polynomial::value_at_zero(&self.points, place, &Key::from_bytes(bytes)))
        };
        let of_points = with(0);
        ShareEquation { of_points, factor: with(1) - of_points }
    }
}

impl ShareEquation {
    fn key(&self, share: FieldNumber) -> FieldNumber {
        self.of_points + self.factor * share
    }

    fn share(&self, key: FieldNumber) -> Option<FieldNumber> {
        let inverse: Option<FieldNumber> = self.factor.invert().into();
        Some((key - self.of_points) * inverse?)
    }
}

/// Plays an event. Returns its points, with the key that a member got from them.
fn hear(rig: &mut Rig, event: ScriptEvent) -> Result<Option<HeardPoints>, RigError> {
    let report = fixture::play(rig, event)?;
    let forger = rig.forger();
    let points = report.open_messages().find_map(|sent| {
        let (_, body) = forger.read(&sent.bytes)?;
        byte_strings(body).first().map(|points| body[points.clone()].to_vec())
    });
    let key = fixture::held(rig, fixture::party(0)).map(|(_, key)| key);
    Ok(points.zip(key).map(|(points, key)| HeardPoints { points, key }))
}

fn number(key: &Key) -> FieldNumber {
    FieldNumber::new(&U128::from_be_slice(key.as_bytes()))
}
