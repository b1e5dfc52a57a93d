//! Unknown key share: members hold one key, but do not agree on the members that share it.

use std::collections::BTreeSet;

use groupkey::catalogue::Adversary;
use groupkey::{Command, MemberId, PartyId, Recipient, Suite};
use groupkey_testkit::rig::{Fate, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, Notebook};
use crate::audit::claims::Claim;

/// A member speaks to one other member under a name that is not its own.
pub(super) const ATTACK: Attack = Attack {
    id: "unknown-key-share",
    name: "Unknown key share",
    reference: "Blake-Wilson and Menezes, PKC 1999; Choo, Boyd and Hitchcock, ASIACRYPT 2005",
    shows: "a member shares the group's key, and believes in a member that is not there",
    applies_to: |scheme, _| fixture::is_distributed(scheme),
    breaks: Claim::Agreement,
    adversary: Adversary::Active,
    condition: None,
    inherent: None,
    run,
};

/// The adversary, a member: its own name, and the name that it uses towards the victim.
const ADVERSARY: u32 = 3;
const ALIAS: u32 = 9;

/// Rounds of messages that the adversary passes on. The creation of a group of four takes fewer.
const ROUNDS: usize = 32;

fn run(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    for victim in 0..ADVERSARY {
        if shares_unknowingly(configuration, seed, victim)? {
            let history = vec![
                format!("members 0 to {ADVERSARY} make a group"),
                format!("member {victim} is told that it is of members 0 to 2 and {ALIAS}"),
            ];
            let steps = vec![
                format!("member {ADVERSARY} has the MAC key; to member {victim} it is {ALIAS}"),
                format!("it answers what member {victim} sends to {ALIAS}"),
                format!("member {victim} has the key that the others have among themselves"),
            ];
            return Ok(AttackOutcome::Broken { history, steps });
        }
    }
    Ok(AttackOutcome::Holds)
}

fn shares_unknowingly(
    configuration: &AttackTarget<'_>,
    seed: u64,
    victim: u32,
) -> Result<bool, RigError> {
    let mut rig = fixture::rig(
        configuration,
        fixture::guard(configuration),
        configuration.suite_or(Suite::Standard),
        seed,
    );
    let everybody = [0, 1, 2, ADVERSARY];
    rig.bring(&everybody)?;
    // No member has this name: messages to it go to the adversary.
    rig.bring(&[ALIAS])?;
    let [adversary, alias, victim_party] = [ADVERSARY, ALIAS, victim].map(fixture::party);
    let (notes, kept) = (Notebook::default(), Notebook::default());
    let (mut forger, mail) = (rig.forger(), notes.clone());
    let to_alias = kept.clone();
    rig.intercept(move |transit| {
        if transit.to == alias {
            // The adversary already got a broadcast under its own name.
            if transit.header.to == Recipient::from(alias) {
                to_alias.keep(transit);
            }
            return Fate::Lost;
        }
        if transit.header.sender == adversary && transit.to == victim_party {
            let mut header = transit.header;
            header.sender = alias;
            mail.keep(transit);
            return Fate::Becomes(forger.forge(adversary, &header, transit.body));
        }
        Fate::Arrives
    });
    for member in everybody {
        let told = everybody.map(|id| match (member == victim, id) {
            (true, ADVERSARY) => MemberId(ALIAS),
            _ => MemberId(id),
        });
        rig.command_to(fixture::party(member), Command::Create(&told))
            .map_err(RigError::Command)?;
    }
    let mut forger = rig.forger();
    let mut refusals = rig.settle()?.refusals;
    for _ in 0..ROUNDS {
        let waiting = kept.take();
        if waiting.is_empty() {
            break;
        }
        for mut message in waiting {
            message.header.to = Recipient::from(adversary);
            let bytes = message.forged(&mut forger, adversary);
            if let Err(error) = rig.hand(adversary, &bytes) {
                refusals.push((adversary, error));
            }
        }
        refusals.extend(rig.settle()?.refusals);
    }
    let keys: BTreeSet<Option<(u64, [u8; 16])>> = (0..ADVERSARY)
        .map(|member| fixture::held(&rig, fixture::party(member)))
        .map(|held| held.map(|(epoch, key)| (epoch, *key.as_bytes())))
        .collect();
    let refused = refusals.iter().any(|&(party, _): &(PartyId, _)| party == victim_party);
    Ok(keys.len() == 1 && !keys.contains(&None) && !refused)
}
