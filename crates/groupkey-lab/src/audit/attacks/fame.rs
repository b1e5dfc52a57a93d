//! FAME with periods: keys for attributes that were given out and cannot be taken back before the
//! period ends.

use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::{Key, Recipient, Suite};
use groupkey_testkit::rig::fame::{HoardedKey, KeyHoarder};
use groupkey_testkit::rig::{Forger, Guard, OperationReport, Rig, RigError, SentMessage};

use super::attack::{Attack, AttackOutcome, AttackTarget};
use super::fixture::{self, ScriptEvent};
use crate::audit::claims::Claim;

/// A removed member reads on.
pub(super) const EVICTED: Attack = Attack {
    id: "fame-evicted",
    name: "Attributes that expire: a removed member",
    reference: "Bethencourt, Sahai and Waters, S&P 2007 (expiring attributes); own analysis",
    shows: "a removed member's key is good until the period ends, so it opens all broadcasts till then",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: read_on,
};

/// A joining member reads back.
pub(super) const NEWCOMER: Attack = Attack {
    id: "fame-newcomer",
    name: "Attributes that expire: a newcomer",
    reference: "own analysis",
    shows: "a newcomer's key is for the whole period, so it opens the broadcasts from before it came",
    applies_to,
    breaks: Claim::BackwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: read_back,
};

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    scheme.id == "fame"
}

/// A group, and one of its members that keeps every key that it is given.
struct HoardedGroup {
    rig: Rig,
    hoarder: KeyHoarder,
    forger: Forger,
    history: Vec<String>,
}

fn read_on(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let mut group = HoardedGroup::new(configuration, seed);
    let created = group.play(ScriptEvent::Create(4))?;
    let Some(key) = group.key_of(2, 1, &created, &created) else { return Ok(AttackOutcome::Holds) };
    let mut read = 0;
    for (epoch, event) in [(2, ScriptEvent::Remove(2)), (3, ScriptEvent::Add(4))] {
        let report = group.play(event)?;
        if group.opens(&key, epoch, epoch - 1, &report, group.key()) {
            read += 1;
        }
    }
    if read == 0 {
        return Ok(AttackOutcome::Holds);
    }
    let steps = vec![
        "member 2 keeps its key for \"group\" and the period when it is removed".to_owned(),
        format!("the period goes on: the key opens {read} of the 2 broadcasts that follow"),
        "that ends with the next rekey, whose period needs another key".to_owned(),
    ];
    Ok(AttackOutcome::Broken { history: group.history, steps })
}

fn read_back(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let mut group = HoardedGroup::new(configuration, seed);
    let created = group.play(ScriptEvent::Create(4))?;
    let before = group.key();
    let joined = group.play(ScriptEvent::Add(4))?;
    let Some(key) = group.key_of(4, 2, &joined, &joined) else { return Ok(AttackOutcome::Holds) };
    if !group.opens(&key, 1, 0, &created, before) {
        return Ok(AttackOutcome::Holds);
    }
    let steps = vec![
        "the newcomer gets a key for \"group\" and the present period".to_owned(),
        "it recorded the broadcast with which the period began, and opens it".to_owned(),
    ];
    Ok(AttackOutcome::Broken { history: group.history, steps })
}

impl HoardedGroup {
    fn new(configuration: &AttackTarget<'_>, seed: u64) -> Self {
        let profile = configuration.profile();
        let suite = configuration.suite_or(Suite::Standard);
        let rig = fixture::rig(configuration, Guard::Mac, suite, seed);
        let hoarder = KeyHoarder::new(rig.setting(), !profile.is_published());
        Self { forger: rig.forger(), rig, hoarder, history: Vec::new() }
    }

    fn play(&mut self, event: ScriptEvent) -> Result<OperationReport, RigError> {
        self.history.push(event.to_string());
        fixture::play(&mut self.rig, event)
    }

    /// The group key that the first member has.
    fn key(&self) -> Option<Key> {
        fixture::held(&self.rig, fixture::party(0)).map(|(_, key)| key)
    }

    /// Returns the key for a period that a member was given, with its individual key.
    fn key_of(
        &self,
        member: u32,
        epoch: u64,
        enrolled: &OperationReport,
        report: &OperationReport,
    ) -> Option<HoardedKey> {
        let to = Recipient::from(fixture::party(member));
        let of_member = |sent: &&SentMessage| sent.to == to;
        let enrolment = enrolled.deployment.iter().find(of_member)?;
        let individual = KeyHoarder::individual(self.forger.read(&enrolment.bytes)?.1)?;
        let sent = report.open_messages().find(|sent| sent.to == to)?;
        self.hoarder.keep(&individual, epoch, self.forger.read(&sent.bytes)?.1)
    }

    fn opens(
        &self,
        key: &HoardedKey,
        epoch: u64,
        ahead: u64,
        report: &OperationReport,
        expected: Option<Key>,
    ) -> bool {
        let found = report.open_messages().find(|sent| sent.to == Recipient::Group);
        let body = found.and_then(|sent| Some(self.forger.read(&sent.bytes)?.1));
        let opened = body.and_then(|body| self.hoarder.open(key, epoch, ahead, body));
        opened.is_some() && opened == expected
    }
}
