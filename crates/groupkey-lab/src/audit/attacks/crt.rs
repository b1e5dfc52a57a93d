//! Chinese remainders: the published lock is each member's key XOR the group key, under a modulus that
//! everybody knows.

use groupkey::Key;
use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::crypto::residues::Modulus;
use groupkey_testkit::rig::{Guard, Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, ScriptEvent, byte_strings};
use crate::audit::claims::Claim;

/// A removed member computes the next key.
pub(super) const EVICTED: Attack = Attack {
    id: "crt-evicted",
    name: "Remainders: a removed member",
    reference: OWN_ANALYSIS,
    shows: "a removed member has every other member's key, and takes the next group key as they do",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: |configuration, seed| {
        let events = [ScriptEvent::Create(4), ScriptEvent::Remove(2)];
        run(configuration, seed, events, Order::Onward)
    },
};

/// A joining member computes the previous key.
pub(super) const NEWCOMER: Attack = Attack {
    id: "crt-newcomer",
    name: "Remainders: a newcomer",
    reference: OWN_ANALYSIS,
    shows: "a newcomer has every other member's key, and takes the group key before its time",
    applies_to,
    breaks: Claim::BackwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: |configuration, seed| {
        let events = [ScriptEvent::Create(4), ScriptEvent::Add(4)];
        run(configuration, seed, events, Order::Back)
    },
};

/// The moduli that are tried: those of more slots than the group has.
const SLOTS: usize = 8;

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    scheme.id == "crt"
}

/// Which of the two keys the adversary knows.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// The first: it was removed after it.
    Onward,
    /// The second: it joined with it.
    Back,
}

/// A lock, and the group key that it carries.
struct Broadcast {
    lock: Vec<u8>,
    key: Key,
}

fn run(
    configuration: &AttackTarget<'_>,
    seed: u64,
    events: [ScriptEvent; 2],
    order: Order,
) -> Result<AttackOutcome, RigError> {
    let suite = configuration.suite();
    let mut rig = fixture::rig(configuration, Guard::Mac, suite, seed);
    let first = broadcast(&mut rig, events[0])?;
    let second = broadcast(&mut rig, events[1])?;
    let (Some(first), Some(second)) = (first, second) else { return Ok(AttackOutcome::Holds) };
    let (known, other) = if order == Order::Onward { (&first, &second) } else { (&second, &first) };
    let found = Modulus::first(SLOTS).into_iter().any(|modulus| {
        let individual = xor(modulus.residue(&known.lock), *known.key.as_bytes());
        xor(modulus.residue(&other.lock), individual) == *other.key.as_bytes()
    });
    if !found {
        return Ok(AttackOutcome::Holds);
    }
    let steps = vec![
        "the adversary has one lock X with its group key K, and hears another, X'".to_owned(),
        "for the modulus m of another member, (X mod m) XOR K is that member's key".to_owned(),
        "(X' mod m) XOR that key is the group key in X'".to_owned(),
    ];
    Ok(AttackOutcome::Broken { history: events.map(|event| event.to_string()).into(), steps })
}

/// Plays an event. Returns its broadcast, with the key that a member got from it.
fn broadcast(rig: &mut Rig, event: ScriptEvent) -> Result<Option<Broadcast>, RigError> {
    let report = fixture::play(rig, event)?;
    let forger = rig.forger();
    let lock = report.open_messages().find_map(|sent| {
        let (_, body) = forger.read(&sent.bytes)?;
        byte_strings(body).first().map(|lock| body[lock.clone()].to_vec())
    });
    let key = fixture::held(rig, fixture::party(0)).map(|(_, key)| key);
    Ok(lock.zip(key).map(|(lock, key)| Broadcast { lock, key }))
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|place| a[place] ^ b[place])
}
