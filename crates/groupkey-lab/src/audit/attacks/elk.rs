//! ELK: what an evicted member lacks of the next key is as long as the contributions to it.

use groupkey::author::Reader;
use groupkey::catalogue::{Adversary, Configuration, Profile, Scheme};
use groupkey::{Context, Epoch, Key, Operation};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, RigError, Settings};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, ScriptEvent, byte_strings};
use crate::audit::claims::Claim;

/// A removed member tries all contributions.
pub(super) const EVICTED: Attack = Attack {
    id: "elk-evicted",
    name: "Short contributions: a removed member tries them all",
    reference: OWN_ANALYSIS,
    shows: "a removed member has all of the next root key but two short contributions",
    applies_to: |scheme: &Scheme, _: Profile| scheme.id == "elk",
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run,
};

/// How much shorter contributions are than the profile says, left and right: so what takes 2^16
/// trials here takes 2^52 as published.
const SHORTER: [(&str, u32); 2] = [("left", 8), ("right", 28)];

/// Trials of the adversary: it gives up then.
const TRIALS: u32 = 1 << 16;

/// The member that is removed. It joined before, so that one message had its keys.
const LEAVER: u32 = 3;

fn run(target: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let lengths = SHORTER.map(|(name, less)| (name, length(target, name).saturating_sub(less)));
    let mut rig = group(target, lengths, seed);
    let events =
        [ScriptEvent::Create(LEAVER), ScriptEvent::Add(LEAVER), ScriptEvent::Remove(LEAVER)];
    fixture::play(&mut rig, events[0])?;
    let joined = fixture::play(&mut rig, events[1])?;
    let Some(old) = root_key(&rig, &joined) else { return Ok(AttackOutcome::Holds) };
    fixture::play(&mut rig, events[2])?;
    let Some((epoch, wanted)) = fixture::held(&rig, fixture::party(0)) else {
        return Ok(AttackOutcome::Holds);
    };
    let published = target.profile().is_published();
    let bits = lengths.map(|(_, bits)| bits);
    let tried = rig.forger().compute(|cx| {
        (0..TRIALS).position(|number| {
            let root = next_root(cx, &old, guess(number, bits));
            let key = match published {
                true => root,
                false => cx.derive_for(Epoch(epoch), &root, "groupkey lkh group key"),
            };
            key == wanted
        })
    });
    let Some(tried) = tried else { return Ok(AttackOutcome::Holds) };
    let [left, right] = bits;
    let steps = vec![
        "the removed member has the old root key, and lacks what its halves contribute".to_owned(),
        format!("here these are {left} and {right} bits, 36 less in all than the profile says"),
        format!("it tries them one after the other: trial {} gives the key", tried + 1),
    ];
    Ok(AttackOutcome::Broken { history: events.map(|event| event.to_string()).into(), steps })
}

fn length(configuration: &Configuration, name: &str) -> u32 {
    let mut parameters = configuration.scheme().parameters.iter();
    let parameter = parameters.find(|parameter| parameter.name == name);
    parameter.map_or(0, |parameter| configuration.value(parameter))
}

fn group(target: &AttackTarget<'_>, lengths: [(&'static str, u32); 2], seed: u64) -> Rig {
    let settings = Settings {
        profile: target.profile(),
        parameters: lengths.into(),
        suite: target.suite(),
        protection: target.protection(Guard::Mac),
        seed,
        latency: 0,
        ..Settings::default()
    };
    Rig::new(target.scheme(), settings)
}

/// The root key that the leaver got when it joined: the last key of the message to it.
fn root_key(rig: &Rig, joined: &OperationReport) -> Option<Key> {
    let forger = rig.forger();
    let (slot, individual) = joined.deployment.iter().find_map(|sent| {
        let (header, body) = forger.read(&sent.bytes)?;
        let mut body = Reader::new(body);
        let slot = body.number32().ok()?;
        (header.operation == Operation::Enroll).then_some((slot, body.key().ok()?))
    })?;
    joined.open_messages().find_map(|sent| {
        let (header, body) = forger.read(&sent.bytes)?;
        let [levels, wrapped] = &byte_strings(body)[..] else { return None };
        let mut keys = vec![Key::default(); levels.len()];
        // A leaf's number is its slot, and the label of its whole path has it twice.
        let label = u64::from(slot) << 32 | u64::from(slot);
        let wrapped = &body[wrapped.clone()];
        let opened = forger
            .compute(|cx| cx.unwrap_keys(&individual, header.epoch, label, wrapped, &mut keys));
        opened.ok()?;
        keys.pop()
    })
}

/// The contributions with a number, as keys whose other bits are zero.
fn guess(number: u32, [left, right]: [u32; 2]) -> [u8; 32] {
    let mut shares = [0; 32];
    let low = number & 1_u32.checked_shl(left).map_or(u32::MAX, |above| above - 1);
    let high = number.checked_shr(left).unwrap_or(0);
    for (place, (value, bits)) in [(low, left), (high, right)].into_iter().enumerate() {
        let value = u128::from(value) << (128 - bits);
        shares[16 * place..][..16].copy_from_slice(&value.to_be_bytes());
    }
    shares
}

/// A node's new key, as the header of the scheme says.
fn next_root(cx: &mut Context<'_>, old: &Key, shares: [u8; 32]) -> Key {
    cx.hash_with(old, "elk", &shares)
}
