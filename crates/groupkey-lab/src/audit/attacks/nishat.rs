//! Nishat: the published lock is a product of primes less k. It gives k to a party that knows an
//! old product.
//!
//! The arithmetic is in [`groupkey_testkit::rig::fractions`]. Here it is applied to what goes over the wire
//! and to what one member was enrolled with. The sound form has no primes. Against it, the same is
//! tried with its lock for a number, because there is nothing better to start from.

use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey::crypto::integer::Prime;
use groupkey::crypto::pairing::{ElementCheck, G1};
use groupkey::{Channel, Context, Key, Recipient, Suite};
use groupkey_testkit::rig::{Forger, Guard, OperationReport, Rig, RigError, fractions};

use super::attack::{Attack, AttackOutcome, AttackTarget, OWN_ANALYSIS};
use super::fixture::{self, ScriptEvent, byte_strings};
use crate::audit::claims::Claim;

/// A removed member finds the next key.
pub(super) const EVICTED: Attack = Attack {
    id: "nishat-evicted",
    name: "Continued fractions: a removed member",
    reference: OWN_ANALYSIS,
    shows: "a removed member finds the next k as a convergent, and still decrypts",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: read_on,
};

/// A joining member finds the previous key.
pub(super) const NEWCOMER: Attack = Attack {
    id: "nishat-newcomer",
    name: "Continued fractions: a newcomer",
    reference: OWN_ANALYSIS,
    shows: "a newcomer finds the k before its time as a convergent, and decrypts what it protects",
    applies_to,
    breaks: Claim::BackwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: read_back,
};

/// A member finds another member's prime, and can never be removed.
pub(super) const COMMON_DIVISOR: Attack = Attack {
    id: "nishat-gcd",
    name: "Common divisors: another member's prime",
    reference: OWN_ANALYSIS,
    shows: "a member finds another's prime in three epochs, and has every k as long as that one stays",
    applies_to,
    breaks: Claim::ForwardSecrecy,
    adversary: Adversary::Passive,
    condition: None,
    inherent: None,
    run: take_anothers_prime,
};

const SUITE: Suite = Suite::Standard;

/// With five members left, the adversary has what continued fractions need.
const ENOUGH: u32 = 6;

fn applies_to(scheme: &Scheme, _: Profile) -> bool {
    scheme.id == "nishat"
}

/// The values that a member was enrolled with: s1 to s6, and its prime if there are primes.
struct EnrolledValues {
    elements: Vec<u8>,
    prime: Option<Vec<u8>>,
}

/// A group, the adversary's enrolment and the group's last broadcast.
struct NishatGroup {
    rig: Rig,
    forger: Forger,
    history: Vec<String>,
    adversary: u32,
    enrolment: Option<EnrolledValues>,
    /// The last broadcast: the lock and the ciphertext.
    lock: Vec<u8>,
    ciphertext: Vec<u8>,
}

fn read_on(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let mut stage = NishatGroup::new(configuration, seed, 2)?;
    stage.play(ScriptEvent::Create(ENOUGH))?;
    let known = stage.known_multiple();
    stage.play(ScriptEvent::Remove(2))?;
    let candidates = fractions::lacking_by_fractions(&stage.lock, &known, Prime::bits(SUITE));
    Ok(stage.decide(candidates, 2, stage.group_key(0), || {
        vec![
            "before it is removed, member 2 knows gamma + k = a r_2 P".to_owned(),
            "gamma' over that has a'/(a r_2) for a convergent, so member 2 has P".to_owned(),
            "k' is what gamma' lacks to a multiple of P; with it the old secret key decrypts"
                .to_owned(),
        ]
    }))
}

fn read_back(configuration: &AttackTarget<'_>, seed: u64) -> Result<AttackOutcome, RigError> {
    let mut stage = NishatGroup::new(configuration, seed, ENOUGH)?;
    stage.play(ScriptEvent::Create(ENOUGH))?;
    let (lock, ciphertext, key) =
        (stage.lock.clone(), stage.ciphertext.clone(), stage.group_key(0));
    stage.play(ScriptEvent::Add(ENOUGH))?;
    let prime = stage.enrolment.as_ref().and_then(|enrolment| enrolment.prime.clone());
    let known = match prime {
        Some(prime) => fractions::quotient(&stage.known_multiple(), &prime),
        None => stage.known_multiple(),
    };
    (stage.lock, stage.ciphertext) = (lock, ciphertext);
    let candidates = fractions::lacking_by_fractions(&stage.lock, &known, Prime::bits(SUITE));
    Ok(stage.decide(candidates, 1, key, || {
        vec![
            format!("member {ENOUGH} knows gamma' + k' = a' r P, and divides by its prime r"),
            "gamma over that has a/a' for a convergent, so it has P".to_owned(),
            "k is what gamma lacks to a multiple of P; with it the newcomer decrypts".to_owned(),
        ]
    }))
}

fn take_anothers_prime(
    configuration: &AttackTarget<'_>,
    seed: u64,
) -> Result<AttackOutcome, RigError> {
    let mut stage = NishatGroup::new(configuration, seed, 1)?;
    stage.play(ScriptEvent::Create(2))?;
    let mut known = vec![stage.known_multiple()];
    for newcomer in [2, 3] {
        stage.play(ScriptEvent::Add(newcomer))?;
        known.push(stage.known_multiple());
    }
    let prime = fractions::newcomers_prime([&known[0], &known[1], &known[2]]);
    stage.play(ScriptEvent::Remove(1))?;
    let candidates = match prime.len() == Prime::length(SUITE) {
        true => vec![fractions::lacking(&stage.lock, &prime)],
        false => Vec::new(),
    };
    Ok(stage.decide(candidates, 4, stage.group_key(0), || {
        vec![
            "in three epochs member 1 knows gamma + k, each a multiple of all primes".to_owned(),
            "their common divisors leave the prime of member 2".to_owned(),
            "after its removal it takes k as member 2 does, and decrypts".to_owned(),
        ]
    }))
}

impl NishatGroup {
    fn new(configuration: &AttackTarget<'_>, seed: u64, adversary: u32) -> Result<Self, RigError> {
        let suite = configuration.only_in(SUITE)?;
        let rig = fixture::rig(configuration, Guard::Mac, suite, seed);
        Ok(Self {
            forger: rig.forger(),
            rig,
            history: Vec::new(),
            adversary,
            enrolment: None,
            lock: Vec::new(),
            ciphertext: Vec::new(),
        })
    }

    fn play(&mut self, event: ScriptEvent) -> Result<(), RigError> {
        self.history.push(event.to_string());
        let report = fixture::play(&mut self.rig, event)?;
        self.learn_enrolment(&report);
        for sent in report.open_messages() {
            let Some((_, body)) = self.forger.read(&sent.bytes) else { continue };
            if let [lock, _, ciphertext, ..] = &byte_strings(body)[..] {
                self.lock = body[lock.clone()].to_vec();
                self.ciphertext = body[ciphertext.clone()].to_vec();
            }
        }
        Ok(())
    }

    /// Learns the adversary's secret key, which it is given like every other member.
    fn learn_enrolment(&mut self, report: &OperationReport) {
        let to = Recipient::from(fixture::party(self.adversary));
        let own = |sent: &&groupkey_testkit::rig::SentMessage| {
            sent.to == to && sent.channel == Channel::Confidential
        };
        for sent in report.deployment.iter().filter(own) {
            let Some((_, body)) = self.forger.read(&sent.bytes) else { continue };
            let strings = byte_strings(body);
            let Some(elements) = strings.first() else { continue };
            if elements.len() == 6 * G1::length(SUITE) {
                let elements = body[elements.clone()].to_vec();
                let prime = strings.get(2).map(|prime| body[prime.clone()].to_vec());
                self.enrolment = Some(EnrolledValues { elements, prime });
            }
        }
    }

    /// Returns gamma + k of the present epoch; for the sound form, its lock.
    fn known_multiple(&self) -> Vec<u8> {
        match self.enrolment.as_ref().and_then(|enrolment| enrolment.prime.as_ref()) {
            Some(prime) => fractions::sum(&self.lock, &fractions::lacking(&self.lock, prime)),
            None => self.lock.clone(),
        }
    }

    fn group_key(&self, member: u32) -> Option<Key> {
        fixture::held(&self.rig, fixture::party(member)).map(|(_, key)| key)
    }

    /// Decides whether one of the candidates for k decrypts to the group key.
    fn decide(
        &self,
        candidates: Vec<Vec<u8>>,
        epoch: u64,
        key: Option<Key>,
        steps: impl FnOnce() -> Vec<String>,
    ) -> AttackOutcome {
        let found = |k: &Vec<u8>| self.forger.compute(|cx| self.key_by(cx, k, epoch));
        match candidates.iter().any(|k| key.is_some() && found(k) == key) {
            true => AttackOutcome::Broken { history: self.history.clone(), steps: steps() },
            false => AttackOutcome::Holds,
        }
    }

    /// Computes the group key from the kept ciphertext, by equations 5, 6 and 12 of S004.
    fn key_by(&self, cx: &mut Context<'_>, k: &[u8], epoch: u64) -> Option<Key> {
        let elements = &self.enrolment.as_ref()?.elements;
        let [s1, s2, s3, s4, s5, s6] = &cx.g1s(elements, ElementCheck::Range).ok()?[..] else {
            return None;
        };
        let k = cx.scalar(k);
        let over_k = cx.invert_scalar(&k)?;
        let [s2, s4, s5] = [(s2, &k), (s4, &k), (s5, &over_k)].map(|(s, e)| cx.g1_power(s, e));
        let (divisor, s6) = (cx.g1_inverse(&s5), cx.g1_inverse(s6));
        let left = cx.g1_product(s1, [&s2, &s6]);
        let z2 = cx.g1_product(s3, [&s4, &divisor]);
        let right = cx.g1_inverse(&z2);
        let (c2, c3) = self.ciphertext.split_at(self.ciphertext.len() / 2);
        let [c2, c3] = [cx.g2(c2, ElementCheck::Range).ok()?, cx.g2(c3, ElementCheck::Range).ok()?];
        let element = cx.pairings(&[(&left, &c2), (&right, &c3)]);
        let context = [cx.group().0.to_be_bytes(), epoch.to_be_bytes()].concat();
        Some(cx.derive_from_gt(&element, "groupkey nishat group key", &context))
    }
}
