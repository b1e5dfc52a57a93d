//! Boneh+: elements that are published too early, and the parties that can compute with them.
//!
//! As published, the hole in the row of public elements moves up with every joining member. The
//! element at the next hole was public before. The element at the last hole is public afterwards. A
//! thin client needs nothing but its elements to decrypt.

use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::crypto::pairing::{G1, G2};
use groupkey::{Key, Recipient, Suite};
use groupkey_testkit::rig::boneh::Listener;
use groupkey_testkit::rig::{Forger, Guard, OperationReport, Rig, RigError};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, ScriptEvent};
use crate::audit::claims::Claim;

/// A party that only listens, after a join.
pub(super) const OUTSIDER: Attack = Attack {
    id: "boneh-outsider",
    name: "Growing capacity: an outsider computes the next key",
    reference: OWN_ANALYSIS,
    shows: "the element at the next hole was public before, so anybody pairs it with the header",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: listen_to_a_join,
};

/// A joining member that wants the key before its time.
pub(super) const NEWCOMER: Attack = Attack {
    id: "boneh-newcomer",
    name: "Growing capacity: a newcomer computes the last key",
    reference: OWN_ANALYSIS,
    shows: "the element at the last hole is a newcomer's to know, so it opens the last header",
    applies_to,
    breaks: Claim::BackwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: join_and_look_back,
};

/// A party that hears what a thin client is sent.
pub(super) const EAVESDROPPER: Attack = Attack {
    id: "boneh-eavesdropper",
    name: "Growing capacity: an eavesdropper is as good as a thin client",
    reference: OWN_ANALYSIS,
    shows: "all that a thin client decrypts with is sent to it in the open",
    applies_to: |scheme: &Scheme, _: Profile| scheme.id == "boneh-thin",
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: overhear_a_client,
};

/// A group whose messages a listener hears.
struct OverheardValues {
    rig: Rig,
    listener: Listener,
    forger: Forger,
    history: Vec<String>,
}

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    ["boneh-fat", "boneh-thin"].contains(&scheme.id)
}

fn listen_to_a_join(
    configuration: &AttackTarget<'_>,
    seed: u64,
) -> Result<AttackOutcome, RigError> {
    let mut heard = OverheardValues::new(configuration, seed);
    let created = heard.play(ScriptEvent::Create(6))?;
    let mut elements = heard.elements(&created);
    let report = heard.play(ScriptEvent::Remove(2))?;
    elements.extend(heard.elements(&report));
    let report = heard.play(ScriptEvent::Add(6))?;
    Ok(heard.opened(&elements, &report, 3, heard.key(0), |number| {
        vec![
            format!("an outsider heard element {number} of those sent before the join"),
            "it lies at the hole of the new header: its pairing with C_0 is the key".to_owned(),
        ]
    }))
}

fn join_and_look_back(
    configuration: &AttackTarget<'_>,
    seed: u64,
) -> Result<AttackOutcome, RigError> {
    let mut heard = OverheardValues::new(configuration, seed);
    let created = heard.play(ScriptEvent::Create(6))?;
    let before = heard.key(0);
    let joined = heard.play(ScriptEvent::Add(6))?;
    let elements = heard.elements(&joined);
    Ok(heard.opened(&elements, &created, 1, before, |number| {
        vec![
            format!("the newcomer gets element {number} of those sent when it joins"),
            "it lies at the hole of the last header: its pairing with C_0 is that key".to_owned(),
        ]
    }))
}

fn overhear_a_client(
    configuration: &AttackTarget<'_>,
    seed: u64,
) -> Result<AttackOutcome, RigError> {
    let mut heard = OverheardValues::new(configuration, seed);
    let created = heard.play(ScriptEvent::Create(3))?;
    let to_client = Recipient::from(fixture::party(1));
    let sent = created.open_messages().find(|sent| sent.to == to_client);
    let read = sent.and_then(|sent| heard.forger.read(&sent.bytes));
    let Some((elements, header)) = read
        .and_then(|(_, body)| Some((heard.listener.elements(body), heard.listener.header(body)?)))
    else {
        return Ok(AttackOutcome::Holds);
    };
    let (Some(first), Some(last)) = (elements.first(), elements.last()) else {
        return Ok(AttackOutcome::Holds);
    };
    let inverse = heard.listener.inverse(last);
    let found = heard.listener.key(1, &[(first, &header.1), (&inverse, &header.0)]);
    if Some(found) != heard.key(0) {
        return Ok(AttackOutcome::Holds);
    }
    let steps = vec![
        "an eavesdropper hears g_1 and u_(c,1) on their way to member 1".to_owned(),
        "the key is e(g_1, C_1) / e(u_(c,1), C_0), as for member 1".to_owned(),
    ];
    Ok(AttackOutcome::Broken { history: heard.history, steps })
}

impl OverheardValues {
    fn new(configuration: &AttackTarget<'_>, seed: u64) -> Self {
        let suite = configuration.suite_or(Suite::Standard);
        let rig = fixture::rig(configuration, Guard::Mac, suite, seed);
        let listener = Listener::new(rig.setting(), configuration.scheme().id == "boneh-fat");
        Self { forger: rig.forger(), rig, listener, history: Vec::new() }
    }

    fn play(&mut self, event: ScriptEvent) -> Result<OperationReport, RigError> {
        self.history.push(event.to_string());
        fixture::play(&mut self.rig, event)
    }

    fn key(&self, member: u32) -> Option<Key> {
        fixture::held(&self.rig, fixture::party(member)).map(|(_, key)| key)
    }

    fn elements(&self, report: &OperationReport) -> Vec<G1> {
        let read = |bytes| self.forger.read(bytes).map(|(_, body)| self.listener.elements(body));
        report.open_messages().filter_map(|sent| read(&sent.bytes)).flatten().collect()
    }

    fn header(&self, report: &OperationReport) -> Option<(G2, G2)> {
        let sent = report.open_messages().last()?;
        let (_, body) = self.forger.read(&sent.bytes)?;
        self.listener.header(body)
    }

    /// Tries whether one of these elements opens the header that came with an event.
    fn opened(
        &self,
        elements: &[G1],
        report: &OperationReport,
        epoch: u64,
        key: Option<Key>,
        told: impl FnOnce(usize) -> Vec<String>,
    ) -> AttackOutcome {
        let Some((c0, _)) = self.header(report) else { return AttackOutcome::Holds };
        let opens = |element: &G1| Some(self.listener.key(epoch, &[(element, &c0)])) == key;
        match elements.iter().position(opens) {
            Some(number) => {
                AttackOutcome::Broken { history: self.history.clone(), steps: told(number) }
            }
            None => AttackOutcome::Holds,
        }
    }
}
