//! Rekey messages that arrive changed, or not at all: does the member notice?

use groupkey::PartyId;
use groupkey::catalogue::{Adversary, Law, Profile, Scheme};
use groupkey_testkit::rig::{Fate, Guard, Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, InterceptedMessage, Notebook, ScriptEvent, byte_strings};
use crate::audit::claims::Claim;
use crate::audit::finding::AttackCondition;

/// A message that an insider changes, because the MAC stops all other parties.
pub(super) const TAMPERED: Attack = Attack {
    id: "tampered-rekey",
    name: "A tampered rekey message",
    reference: OWN_ANALYSIS,
    shows: "a member takes a changed message, and a wrong key with it, without noticing",
    applies_to: |scheme, _| scheme.law == Law::OneKey,
    breaks: Claim::Agreement,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: tamper,
};

/// Wrapped keys that are presented at another place. Under a shared MAC any insider can do that.
pub(super) const ELSEWHERE: Attack = Attack {
    id: "wrap-elsewhere",
    name: "A wrapped key at another place",
    shows: "a member takes a wrapped key that was sent for another epoch, or in another place",
    condition: Some(AttackCondition::Mac),
    run: present_elsewhere,
    ..TAMPERED
};

/// A message that the network drops.
pub(super) const DROPPED: Attack = Attack {
    id: "dropped-rekey",
    name: "A dropped rekey message",
    reference: OWN_ANALYSIS,
    shows: "a member that missed a change does not notice at the next one",
    applies_to: |scheme: &Scheme, _: Profile| {
        scheme.law == Law::OneKey && fixture::is_dynamic(scheme)
    },
    breaks: Claim::Agreement,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run: drop_one,
};

/// The member that gets changed messages, or none.
const VICTIM: u32 = 0;

/// How a byte string is changed.
#[derive(Clone, Copy, Debug)]
enum Tampering {
    /// Its first bit is flipped.
    First,
    /// Its last bit is flipped.
    Last,
    /// A bit in each 16 bytes is flipped.
    All,
    /// It is replaced by the byte string at its place in another life of the group.
    Foreign,
}

fn tamper(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let guard = fixture::guard(configuration);
    let events = fixture::history(configuration.scheme());
    // Tries creation, a join and an eviction, as far as the scheme has them. With pairings it tries
    // the creation only: pairings take long. All events are alike if members have no state that
    // ages.
    let paired = configuration.scheme().computes_pairings();
    for count in 1..=events.len().min(if paired { 1 } else { 3 }) {
        let before = &events[..count - 1];
        let event = events[count - 1];
        let genuine = messages_to_victim(configuration, guard, seed, before, event)?;
        let foreign = messages_to_victim(configuration, guard, seed ^ 0xF0E, before, event)?;
        for (number, message) in genuine.iter().enumerate() {
            for (place, string) in byte_strings(&message.body).into_iter().enumerate() {
                for change in
                    [Tampering::First, Tampering::Last, Tampering::All, Tampering::Foreign]
                {
                    let mut body = message.body.clone();
                    let other = foreign.get(number).map(|other| &other.body[..]);
                    if !change.apply(&mut body, string.clone(), other)
                        || !is_deceived(configuration, guard, seed, before, event, number, &body)?
                    {
                        continue;
                    }
                    let history = events[..count].iter().map(ScriptEvent::to_string).collect();
                    let how = match change {
                        Tampering::First => "the first bit is another",
                        Tampering::Last => "the last bit is another",
                        Tampering::All => "a bit in every 16 bytes is another",
                        Tampering::Foreign => "it comes from another group",
                    };
                    let steps = vec![
                        format!(
                            "{}: byte string {place} of the body is changed, {how}",
                            message.what
                        ),
                        format!("member {VICTIM} takes it and is in the new epoch"),
                        "its key is not that of the others, and nothing tells it".to_owned(),
                    ];
                    return Ok(AttackOutcome::Broken { history, steps });
                }
            }
        }
    }
    Ok(AttackOutcome::Holds)
}

/// Replaces each byte string of a message to the victim by others of the same length, from the same
/// message and from earlier ones. A wrap that is bound to its epoch and place opens nowhere else.
fn present_elsewhere(
    configuration: &AttackTarget<'_>,
    seed: u64,
) -> Result<AttackOutcome, RigError> {
    let events = fixture::history(configuration.scheme());
    let mut earlier: Vec<Vec<u8>> = Vec::new();
    for count in 1..=events.len().min(4) {
        let (before, event) = (&events[..count - 1], events[count - 1]);
        let messages = messages_to_victim(configuration, Guard::Mac, seed, before, event)?;
        for (number, message) in messages.iter().enumerate() {
            let strings = byte_strings(&message.body);
            let own: Vec<_> = strings.iter().map(|at| message.body[at.clone()].to_vec()).collect();
            for (place, at) in strings.into_iter().enumerate().filter(|(_, at)| at.len() >= 16) {
                let others = earlier.iter().chain(&own);
                let others = others.filter(|o| o.len() == at.len() && **o != own[place]);
                for other in others.rev().take(MOST_PLACES) {
                    let mut body = message.body.clone();
                    body[at.clone()].copy_from_slice(other);
                    let guard = Guard::Mac;
                    if is_deceived(configuration, guard, seed, before, event, number, &body)? {
                        let history = events[..count].iter().map(ScriptEvent::to_string).collect();
                        let steps = vec![
                            format!("{}: byte string {place} is replaced", message.what),
                            "what stands there now was sent earlier, or at another place"
                                .to_owned(),
                            format!("member {VICTIM} takes it and is in the new epoch"),
                            "its key is not that of the others, and nothing tells it".to_owned(),
                        ];
                        return Ok(AttackOutcome::Broken { history, steps });
                    }
                }
            }
            earlier.extend(own);
        }
    }
    Ok(AttackOutcome::Holds)
}

/// Replacements that are tried at a place, the latest first.
const MOST_PLACES: usize = 12;

impl Tampering {
    /// Changes a byte string in a body. Returns whether there was something to change.
    fn apply(self, body: &mut [u8], at: std::ops::Range<usize>, other: Option<&[u8]>) -> bool {
        let string = &mut body[at.clone()];
        match (self, string.len()) {
            (_, 0) => return false,
            (Self::First, _) => string[0] ^= 0x80,
            (Self::Last, length) => string[length - 1] ^= 1,
            (Self::All, _) => string.iter_mut().step_by(16).for_each(|byte| *byte ^= 0x10),
            (Self::Foreign, _) => {
                let Some(other) = other.and_then(|other| other.get(at)) else { return false };
                if other == string {
                    return false;
                }
                string.copy_from_slice(other);
            }
        }
        true
    }
}

/// Returns the messages to the victim in an event after others.
fn messages_to_victim(
    configuration: &AttackTarget<'_>,
    guard: Guard,
    seed: u64,
    before: &[ScriptEvent],
    event: ScriptEvent,
) -> Result<Vec<InterceptedMessage>, RigError> {
    let mut rig = group_after(configuration, guard, seed, before)?;
    let notes = Notebook::default();
    notes.listen(&mut rig);
    fixture::play(&mut rig, event)?;
    let mut kept = notes.take();
    kept.retain(|message| message.to == fixture::party(VICTIM));
    Ok(kept)
}

/// Whether the victim has a different key than the others after a message arrives with this body.
fn is_deceived(
    configuration: &AttackTarget<'_>,
    guard: Guard,
    seed: u64,
    before: &[ScriptEvent],
    event: ScriptEvent,
    number: usize,
    body: &[u8],
) -> Result<bool, RigError> {
    let mut rig = group_after(configuration, guard, seed, before)?;
    let victim = fixture::party(VICTIM);
    let (mut seen, mut forger, body) = (0, rig.forger(), body.to_vec());
    rig.intercept(move |transit| {
        if transit.to != victim {
            return Fate::Arrives;
        }
        seen += 1;
        match seen == number + 1 {
            true => Fate::Becomes(forger.forge(transit.header.sender, &transit.header, &body)),
            false => Fate::Arrives,
        }
    });
    let Ok(report) = fixture::play(&mut rig, event) else { return Ok(false) };
    let refused = report.refusals.iter().any(|&(party, _)| party == victim);
    let [own, others] = [victim, fixture::party(3)].map(|party| fixture::held(&rig, party));
    let epoch = |held: &Option<(u64, groupkey::Key)>| held.as_ref().map(|(epoch, _)| *epoch);
    Ok(!refused && own.is_some() && own != others && epoch(&own) == epoch(&others))
}

fn drop_one(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let events = fixture::history(configuration.scheme());
    let (guard, victim) = (fixture::guard(configuration), fixture::party(VICTIM));
    for (dropped, next) in (1..events.len()).zip(2..events.len()) {
        let mut rig = group_after(configuration, guard, seed, &events[..dropped])?;
        fixture::deafen(&mut rig, victim);
        let mut noticed = fixture::play(&mut rig, events[dropped]).is_err();
        rig.intercept(|_| Fate::Arrives);
        noticed |= match fixture::play(&mut rig, events[next]) {
            Ok(report) => report.refusals.iter().any(|&(party, _)| party == victim),
            Err(_) => true,
        };
        let healed = is_with_the_others(&rig, victim);
        if !noticed && !healed {
            let history = events[..=next].iter().map(ScriptEvent::to_string).collect();
            let steps = vec![
                format!("what goes to {victim} in `{}` is lost", events[dropped]),
                format!("{victim} gets what `{}` sends, and refuses none of it", events[next]),
                "it does not have the others' key".to_owned(),
            ];
            return Ok(AttackOutcome::Broken { history, steps });
        }
    }
    Ok(AttackOutcome::Holds)
}

fn is_with_the_others(rig: &Rig, victim: PartyId) -> bool {
    let others = rig.members().filter(|&member| fixture::party(member) != victim);
    let mut held = others.map(|member| fixture::held(rig, fixture::party(member)));
    held.any(|key| key == fixture::held(rig, victim))
}

fn group_after(
    configuration: &AttackTarget<'_>,
    guard: Guard,
    seed: u64,
    before: &[ScriptEvent],
) -> Result<Rig, RigError> {
    let suite = configuration.suite();
    let mut rig = fixture::rig(configuration, guard, suite, seed);
    for &event in before {
        fixture::play(&mut rig, event)?;
    }
    Ok(rig)
}
