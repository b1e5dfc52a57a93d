//! A service that changes its group's scheme when another one would save more than the change costs.
//!
//! [`groupkey_choose::adapt`] decides. An [`Adapter`] looks at a running service for it, begins the
//! changes, and keeps what the operator decided. A program that runs a service calls
//! [`Adapter::observe`] from time to time, and [`Adapter::note`] with each of the service's events.

mod decisions;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use groupkey::Operation;
use groupkey::catalogue::Profile;
use groupkey_choose::adapt::{Adaptation, Observation};
pub use groupkey_choose::adapt::{AdaptationPolicy, Outlook, Proposal, Stays};
use groupkey_choose::evidence::Evidence;
use groupkey_choose::{Candidate, ChooseError, Grounds, Requirements, Variant};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;

use self::decisions::AdaptationFile;
pub use self::decisions::DecisionsError;
use crate::Service;
use crate::driver::{Handle, Quality};
use crate::group_form::{Allowed, FormRequest, GroupForm};
use crate::service::history::{OperationKind, Recent};
use crate::service::trail::Actor;
use crate::service::{ChangeError, OperationError, ServiceEvent};

/// How a group adapts its scheme.
#[derive(Clone, Debug, Default)]
pub struct AdaptationSettings {
    /// When a change pays.
    pub policy: AdaptationPolicy,
    /// What does not change: network, devices, limits, security and weights.
    pub requirements: Requirements,
    /// Whether the scheme stays until the operator unpins it. A later decision of the operator holds
    /// instead, also after a restart.
    pub is_pinned: bool,
}

/// The adaptation of one service. Clones are of the same one.
#[derive(Clone, Debug)]
pub struct Adapter(Arc<Mutex<Adapting>>);

/// What a look at the group led to.
#[derive(Debug)]
pub enum Look {
    /// The group begins this change.
    Changes(Proposal),
    /// The change would pay, and the service refuses it. It is not proposed again.
    Refused(Proposal, OperationError),
    /// No scheme can be chosen.
    Undecided(ChooseError),
}

/// The state of an adaptation, and what it would do now. The HTTP interface answers with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdaptationState {
    /// When a change pays.
    pub policy: AdaptationPolicy,
    /// Whether the scheme stays until the operator unpins it.
    pub pinned: bool,
    /// What is never proposed.
    pub vetoed: Vec<Candidate>,
    /// What the policy would do now, and why.
    pub outlook: Outlook,
}

/// A decision of the operator that holds now.
#[derive(Debug)]
pub struct OperatorDecision<T> {
    /// What it is about.
    pub about: T,
    /// Whether it also holds after a restart: if not, its file cannot be written.
    pub kept: io::Result<()>,
}

/// The reason why an adapter cannot tell what it would do.
#[derive(Clone, Debug, PartialEq)]
pub enum AdaptError {
    /// The service has ended.
    Ended,
    /// No scheme can be chosen.
    Undecided(ChooseError),
}

#[derive(Debug)]
struct Adapting {
    adaptation: Adaptation,
    policy: AdaptationPolicy,
    kept: AdaptationFile,
    /// What is known of the schemes to which the group can change.
    evidence: Evidence,
    qos: u8,
    /// What had happened at the last look, and when that was.
    seen: GroupCounts,
    seen_at: Instant,
    /// The service's time then, ns since 1970.
    seen_until: u64,
    /// The candidate to which the group changes now, because we asked.
    asked: Option<Candidate>,
}

/// What happened in a group since the process began.
#[derive(Clone, Copy, Debug, Default)]
struct GroupCounts {
    joins: u64,
    leaves: u64,
    rekeys: u64,
    catch_ups: u64,
}

/// What is seen of a group.
struct Sight {
    counts: GroupCounts,
    members: u32,
    is_changing: bool,
    /// What happened since the last look.
    recent: Recent,
    now: u64,
}

impl Adapter {
    /// Begins with the service's present scheme. The operator's decisions are in a file beside the
    /// service's store, with the suffix `.adapt`.
    pub fn new(
        settings: AdaptationSettings,
        service: &Service,
        qos: Quality,
        store: &Path,
    ) -> Result<Self, DecisionsError> {
        let kept = AdaptationFile::beside(store)?;
        let AdaptationSettings { policy, mut requirements, is_pinned } = settings;
        let decided = service.policy();
        let (form, qos) = (&decided.form, qos.level());
        fix(&mut requirements, form, qos);
        requirements.members.rekeys =
            decided.period.map_or(0.0, |period| 3_600.0 / period.as_secs_f64());
        let evidence = evidence(form, decided.allowed);
        let mut adaptation = Adaptation::new(policy, requirements, candidate(form, qos));
        // What the operator decided last holds, not the settings from the beginning.
        adaptation.pin(kept.decisions().pinned.unwrap_or(is_pinned));
        kept.decisions().vetoed.iter().for_each(|vetoed| adaptation.veto(vetoed.clone()));
        Ok(Self(Arc::new(Mutex::new(Adapting {
            adaptation,
            policy,
            kept,
            evidence,
            qos,
            seen: GroupCounts::default(),
            seen_at: Instant::now(),
            seen_until: 0,
            asked: None,
        }))))
    }

    /// Looks at the group, and begins a change that would pay. Returns `None` if nothing changes.
    pub async fn observe(&self, service: &Handle<Service>) -> Option<Look> {
        let mut adapting = self.lock().await;
        let sight = adapting.look(service).await?;
        let observation = adapting.note_sight(&sight)?;
        let (mut adapting, proposal) = compute(adapting, move |adapting| {
            adapting.adaptation.observe(&observation, &grounds(&adapting.evidence))
        })
        .await?;
        let proposal = match proposal {
            Ok(proposal) => proposal?,
            Err(error) => return Some(Look::Undecided(error)),
        };
        let wish = wish(&proposal.to.variant);
        let begun = service.call(move |service, now, rng| {
            let form = service.policy().form.with(&wish).map_err(ChangeError::Form)?;
            let rule = Actor::Policy("adapt".to_owned());
            service.acting_for(rule).change_scheme(form, now, rng)
        });
        match begun.await? {
            Ok(()) => {
                adapting.asked = Some(proposal.to.clone());
                Some(Look::Changes(proposal))
            }
            Err(OperationError::Unconfirmed) => None,
            Err(error) => {
                adapting.adaptation.veto(proposal.to.clone());
                Some(Look::Refused(proposal, error))
            }
        }
    }

    /// Follows what happens in the group, whoever asked for it.
    pub async fn note(&self, service: &Handle<Service>, event: &ServiceEvent) {
        match event {
            ServiceEvent::Changed { .. } => {
                let mut adapting = self.lock().await;
                adapting.asked = None;
                let form = service.call(|service, _, _| service.policy().form.clone()).await;
                if let Some(form) = form {
                    let qos = adapting.qos;
                    adapting.adaptation.changed(candidate(&form, qos));
                }
            }
            // It cannot be done, so it is not tried again.
            ServiceEvent::ChangeFailed { .. } => {
                let mut adapting = self.lock().await;
                if let Some(to) = adapting.asked.take() {
                    adapting.adaptation.veto(to);
                }
            }
            _ => {}
        }
    }

    /// Keeps the scheme, or no longer. Returns the scheme.
    pub async fn pin(&self, is_pinned: bool) -> OperatorDecision<Candidate> {
        let mut adapting = self.lock().await;
        adapting.adaptation.pin(is_pinned);
        let kept = adapting.kept.keep(|decisions| decisions.pinned = Some(is_pinned));
        OperatorDecision { about: adapting.adaptation.present().clone(), kept }
    }

    /// Gives up the change that this has begun, or else forbids the one that would pay now. Returns
    /// `None` if there is neither.
    pub async fn veto(
        &self,
        service: &Handle<Service>,
    ) -> Result<Option<OperatorDecision<Candidate>>, AdaptError> {
        let asked = self.lock().await.asked.take();
        let (mut adapting, to) = match asked {
            Some(to) => {
                service.call(|service, _, _| service.cancel_change()).await;
                (self.lock().await, to)
            }
            None => match self.proposal(service).await? {
                (adapting, Some(proposal)) => (adapting, proposal.to),
                (_, None) => return Ok(None),
            },
        };
        adapting.adaptation.veto(to.clone());
        let kept = adapting.kept.keep(|decisions| {
            if !decisions.vetoed.contains(&to) {
                decisions.vetoed.push(to.clone());
            }
        });
        Ok(Some(OperatorDecision { about: to, kept }))
    }

    /// Lets everything be proposed again. Returns the number of vetoes that there were.
    pub async fn lift_vetoes(&self) -> OperatorDecision<usize> {
        let mut adapting = self.lock().await;
        let lifted = adapting.adaptation.vetoed().len();
        adapting.adaptation.lift_vetoes();
        OperatorDecision {
            about: lifted,
            kept: adapting.kept.keep(|decisions| decisions.vetoed.clear()),
        }
    }

    /// Returns the adaptation's state and what it would do now.
    pub async fn state(&self, service: &Handle<Service>) -> Result<AdaptationState, AdaptError> {
        let adapting = self.lock().await;
        let members = adapting.look(service).await.ok_or(AdaptError::Ended)?.members;
        let (adapting, outlook) = compute(adapting, move |adapting| {
            adapting.adaptation.outlook(members, &grounds(&adapting.evidence))
        })
        .await
        .ok_or(AdaptError::Ended)?;
        Ok(AdaptationState {
            policy: adapting.policy,
            pinned: adapting.adaptation.is_pinned(),
            vetoed: adapting.adaptation.vetoed().to_vec(),
            outlook: outlook.map_err(AdaptError::Undecided)?,
        })
    }

    async fn proposal(
        &self,
        service: &Handle<Service>,
    ) -> Result<(OwnedMutexGuard<Adapting>, Option<Proposal>), AdaptError> {
        let adapting = self.lock().await;
        let members = adapting.look(service).await.ok_or(AdaptError::Ended)?.members;
        let (adapting, proposal) = compute(adapting, move |adapting| {
            adapting.adaptation.propose(members.max(2), &grounds(&adapting.evidence))
        })
        .await
        .ok_or(AdaptError::Ended)?;
        Ok((adapting, proposal.map_err(AdaptError::Undecided)?))
    }

    async fn lock(&self) -> OwnedMutexGuard<Adapting> {
        Arc::clone(&self.0).lock_owned().await
    }
}

impl Adapting {
    /// Looks at the group. Returns `None` if the service has ended.
    async fn look(&self, service: &Handle<Service>) -> Option<Sight> {
        let since = self.seen_until;
        service.call(move |service, now, _| Sight::of(service, since, now)).await
    }

    /// Takes over what is seen. Returns what happened since the last look, unless a change is under
    /// way.
    fn note_sight(&mut self, sight: &Sight) -> Option<Observation> {
        let (before, seconds) = (self.seen, self.seen_at.elapsed().as_secs_f64());
        (self.seen, self.seen_at, self.seen_until) = (sight.counts, Instant::now(), sight.now);
        let observation = Observation {
            seconds,
            members: sight.members,
            joins: (sight.counts.joins - before.joins) as f64,
            leaves: (sight.counts.leaves - before.leaves) as f64,
            rekeys: (sight.counts.rekeys - before.rekeys) as f64,
            catch_ups: (sight.counts.catch_ups - before.catch_ups) as f64,
            round_trip: sight.recent.round_trip.map(ms),
            complete: sight.recent.complete.map(ms),
        };
        (!sight.is_changing).then_some(observation)
    }
}

impl Sight {
    fn of(service: &Service, since: u64, now: u64) -> Self {
        let history = service.history();
        let mut counts = GroupCounts { catch_ups: history.catch_ups(), ..GroupCounts::default() };
        for (kind, total) in history.totals() {
            match kind {
                // A change of scheme creates a group, too. Nobody joins.
                OperationKind::Create => {}
                OperationKind::Evict | OperationKind::Join => {
                    counts.joins += total.joined;
                    counts.leaves += total.left;
                }
                OperationKind::Rekey => counts.rekeys += total.operations,
            }
        }
        let members = u32::try_from(service.member_count()).unwrap_or(u32::MAX);
        let is_changing = service.change_under_way().is_some();
        Self { counts, members, is_changing, recent: history.since(since, now), now }
    }
}

/// Sets in the requirements what a change of scheme leaves as it is.
pub fn fix(requirements: &mut Requirements, form: &GroupForm, qos: u8) {
    requirements.network.qos = Some(qos);
    requirements.security.guard = Some(form.guard.name().to_owned());
    requirements.trust.controller = true;
}

/// Returns what is known of the schemes to which a group of this form can change.
pub fn evidence(form: &GroupForm, allowed: Allowed) -> Evidence {
    Evidence::shipped().only(|variant| can_change_to(form, allowed, variant))
}

/// Returns the candidate that a group of this form has in force.
pub fn candidate(form: &GroupForm, qos: u8) -> Candidate {
    let scheme = form.configuration.scheme();
    let usual = scheme.configuration(Profile::Sound);
    let parameters = form.parameters().filter(|&(name, value)| {
        let parameter = scheme.parameters.iter().find(|parameter| parameter.name == name);
        parameter.is_none_or(|parameter| usual.value(parameter) != value)
    });
    let variant = Variant {
        scheme: scheme.id.to_owned(),
        parameters: parameters.map(|(name, value)| (name.to_owned(), value)).collect(),
        suite: form.suite.name().to_owned(),
        guard: form.guard.name().to_owned(),
    };
    Candidate { variant, qos }
}

fn can_change_to(form: &GroupForm, allowed: Allowed, variant: &Variant) -> bool {
    form.with(&wish(variant)).is_ok_and(|form| {
        let scheme = form.configuration.scheme();
        let has = |operation| scheme.operations.contains(&operation);
        scheme.has_controller()
            && has(Operation::Add)
            && has(Operation::Remove)
            && form.check(allowed).is_ok()
    })
}

/// Returns what an operator would say to get this variant.
fn wish(variant: &Variant) -> FormRequest {
    FormRequest {
        scheme: Some(variant.scheme.clone()),
        parameters: variant.parameters.clone(),
        suite: Some(variant.suite.clone()),
        protection: Some(variant.guard.clone()),
        senders: None,
    }
}

/// Computes beside the tasks of the runtime: a choice takes a while.
async fn compute<T: Send + 'static>(
    mut adapting: OwnedMutexGuard<Adapting>,
    act: impl FnOnce(&mut Adapting) -> T + Send + 'static,
) -> Option<(OwnedMutexGuard<Adapting>, T)> {
    let computed = spawn_blocking(move || {
        let result = act(&mut adapting);
        (adapting, result)
    });
    computed.await.ok()
}

fn grounds(evidence: &Evidence) -> Grounds<'_> {
    Grounds { evidence, ..Grounds::shipped() }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

impl fmt::Display for AdaptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the service has ended"),
            Self::Undecided(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for AdaptError {}

#[cfg(test)]
mod tests {
    use groupkey::catalogue;

    use super::*;

    #[test]
    fn a_form_and_its_candidate_name_each_other() {
        for known in Evidence::shipped().known() {
            let form = GroupForm::of(catalogue::scheme("skdc").unwrap());
            let form = form.with(&wish(&known.variant)).unwrap();
            assert_eq!(candidate(&form, 1).variant, known.variant);
        }
    }

    #[test]
    fn only_what_a_service_can_run_is_proposed() {
        let form = GroupForm::of(catalogue::scheme("lkh-group").unwrap());
        let few = evidence(&form, Allowed::default());
        let all = Evidence::shipped().known();
        assert!(few.known().len() > 10 && few.known().len() < all.len());
        let has = |scheme: &str| few.known().iter().any(|known| known.variant.scheme == scheme);
        assert!(has("lkh-group") && has("skdc") && !has("tgdh") && !has("iolus"));
        assert!(few.known().iter().all(|known| known.variant.guard != "mac"));
    }
}
