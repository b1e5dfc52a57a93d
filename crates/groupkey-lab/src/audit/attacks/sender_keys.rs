//! Sender keys: who saw the chain keys once follows them where they only move on.

use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::{Context, Epoch, Key, MemberId, Suite};
use groupkey_testkit::rig::RigError;

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, InterceptedMessage, Notebook, ScriptEvent, byte_strings};
use crate::audit::claims::Claim;

/// The chain keys of one epoch give the group key of the next.
pub(super) const LEAK: Attack = Attack {
    id: "sender-keys-leak",
    name: "Chain keys that leaked once",
    reference: "Balbas, Collins and Gajland, ASIACRYPT 2023",
    shows: "who saw a member's chain keys once computes the key of the next period, and all later ones",
    applies_to,
    breaks: Claim::KeyIndependence,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run,
};

/// The member whose chain keys leak. Its long-term key does not.
const VICTIM: u32 = 0;

const MEMBERS: u32 = 4;

/// The kind of a message that carries a chain key.
const CHAIN: u8 = 0;

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    scheme.id == "sender-keys"
}

fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let guard = fixture::guard(configuration);
    let mut rig = fixture::rig(configuration, guard, configuration.suite_or(Suite::Standard), seed);
    let notes = Notebook::default();
    notes.listen(&mut rig);
    let events = [ScriptEvent::Create(MEMBERS), ScriptEvent::Rekey];
    fixture::play(&mut rig, events[0])?;
    let sent = notes.take();
    let leaked: Option<Vec<Key>> = rig.at(MemberId(VICTIM), |cx, _| {
        (0..MEMBERS).map(|member| chain_of(cx, &sent, member)).collect()
    });
    fixture::play(&mut rig, events[1])?;
    let held = fixture::held(&rig, fixture::party(VICTIM));
    let (Some(leaked), Some((epoch, key))) = (leaked, held) else {
        return Ok(AttackOutcome::Holds);
    };
    let forger = rig.forger();
    let found = forger.compute(|cx| {
        let moved: Vec<_> =
            leaked.iter().map(|chain| cx.hash(chain, "groupkey sender-keys next")).collect();
        [&moved, &leaked].map(|chains| group_key(cx, Epoch(epoch), chains))
    });
    if !found.contains(&key) {
        return Ok(AttackOutcome::Holds);
    }
    let steps = vec![
        format!("the adversary reads the {MEMBERS} chain keys that member {VICTIM} holds"),
        "it moves each chain on by one step, and derives the key from them".to_owned(),
        "that is the key of the next period, for which nobody sent anything".to_owned(),
    ];
    Ok(AttackOutcome::Broken { history: events.map(|event| event.to_string()).into(), steps })
}

/// The chain key that a member sent, as the victim has it. Both ends of a pair open what either sent.
fn chain_of(cx: &mut Context<'_>, sent: &[InterceptedMessage], member: u32) -> Option<Key> {
    let sender = fixture::party(member);
    let other = if member == VICTIM { fixture::party(VICTIM + 1) } else { sender };
    let reader = if member == VICTIM { other } else { fixture::party(VICTIM) };
    let message = sent.iter().find(|message| {
        let header = message.header;
        header.kind == CHAIN && header.sender == sender && message.to == reader
    })?;
    let [salt, wrapped] = &byte_strings(&message.body)[..] else { return None };
    let pair = cx.pair_key(other, "groupkey sender-keys pair").ok()?;
    let epoch = message.header.epoch;
    let context =
        [&message.body[salt.clone()], &epoch.0.to_be_bytes()[..], &member.to_be_bytes()].concat();
    let key = cx.derive(&pair, "groupkey pair message", &context);
    // The victim, and the first of the others, come first among those for whom a key is wrapped.
    let first = &message.body[wrapped.clone()][..cx.wrapped_length(1)];
    cx.unwrap_key(&key, epoch, 0, first).ok()
}

/// The group key that follows from chain keys, as the header of the scheme says.
fn group_key(cx: &mut Context<'_>, epoch: Epoch, chains: &[Key]) -> Key {
    let mut sum = Key::from_bytes([0; Key::BYTES]);
    for chain in chains {
        let part = cx.hash_for(epoch, chain, "groupkey sender part");
        sum = cx.xor(&sum, &part);
    }
    let mut context = [cx.group().0.to_be_bytes(), epoch.0.to_be_bytes()].concat();
    context.extend_from_slice(&MEMBERS.to_be_bytes());
    (0..MEMBERS).for_each(|member| context.extend_from_slice(&member.to_be_bytes()));
    cx.derive(&sum, "groupkey sender-keys", &context)
}
