//! A service that changes its group's scheme when another one would save more than the change costs.

use std::time::{Duration, Instant};

use groupkey::Operation;
use groupkey::catalogue::Profile;
use groupkey_choose::adapt::{Adaptation, Observation, Policy, Proposal};
use groupkey_choose::evidence::Evidence;
use groupkey_choose::{Candidate, Grounds, Variant};
use groupkey_lab::choose::requirements_file::Draft;
use groupkey_mqtt::config::AdaptConfig;
use groupkey_mqtt::driver::{Handle, Quality};
use groupkey_mqtt::form::{Form, Wish};
use groupkey_mqtt::service::history::Kind;
use groupkey_mqtt::service::{Happened, OperationError};
use groupkey_mqtt::{Allowed, Service};
use tokio::task::block_in_place;

use crate::failure::Failure;

/// The adaptation of one service.
pub(super) struct Adapting {
    adaptation: Adaptation,
    /// What is known of the schemes to which the group can change.
    evidence: Evidence,
    qos: u8,
    /// What had happened at the last look, and when that was.
    seen: Counts,
    seen_at: Instant,
    pub(super) every: Duration,
    /// The candidate to which the group changes now, because we asked.
    asked: Option<Candidate>,
}

/// What happened in a group since the process began.
#[derive(Clone, Copy, Default)]
struct Counts {
    joins: u64,
    leaves: u64,
    rekeys: u64,
}

/// A look at the group.
struct Look {
    counts: Counts,
    members: u32,
    is_changing: bool,
}

impl Adapting {
    /// Begins with the service's present scheme.
    pub(super) fn new(
        config: &AdaptConfig,
        service: &Service,
        qos: Quality,
    ) -> Result<Self, Failure> {
        let mut requirements = match &config.requirements {
            Some(path) => {
                let draft = Draft::load(path).and_then(|draft| draft.finish());
                draft.map_err(|error| Failure::input(error.to_string()).with_help(HELP))?
            }
            None => Default::default(),
        };
        let policy = service.policy();
        let form = &policy.form;
        let qos = match qos {
            Quality::AtMostOnce => 0,
            Quality::AtLeastOnce => 1,
            Quality::ExactlyOnce => 2,
        };
        // A change of scheme leaves these as they are.
        requirements.network.qos = Some(qos);
        requirements.security.guard = Some(form.guard.name().to_owned());
        requirements.trust.controller = true;
        requirements.members.rekeys =
            policy.period.map_or(0.0, |period| 3_600.0 / period.as_secs_f64());
        let allowed = policy.allowed;
        let evidence = Evidence::shipped().only(|variant| can_change_to(form, allowed, variant));
        let default = Policy::default();
        let policy = Policy {
            floor: config.floor_s.unwrap_or(default.floor),
            horizon: config.horizon_s.unwrap_or(default.horizon),
            margin: config.margin.unwrap_or(default.margin),
            window: config.window_s.unwrap_or(default.window),
        };
        let mut adaptation = Adaptation::new(policy, requirements, candidate(form, qos));
        adaptation.pin(config.pinned);
        let (seen, seen_at) = (Counts::default(), Instant::now());
        let every = config.observe;
        Ok(Self { adaptation, evidence, qos, seen, seen_at, every, asked: None })
    }

    /// Looks at the group, and begins a change that would pay. Returns what to tell the operator.
    pub(super) async fn observe(&mut self, service: &Handle<Service>) -> Option<String> {
        let look = service.call(|service, _, _| look(service)).await?;
        let (before, seconds) = (self.seen, self.seen_at.elapsed().as_secs_f64());
        (self.seen, self.seen_at) = (look.counts, Instant::now());
        if look.is_changing {
            return None;
        }
        let observation = Observation {
            seconds,
            members: look.members,
            joins: (look.counts.joins - before.joins) as f64,
            leaves: (look.counts.leaves - before.leaves) as f64,
            rekeys: (look.counts.rekeys - before.rekeys) as f64,
        };
        let grounds = Grounds { evidence: &self.evidence, ..Grounds::shipped() };
        let proposal = block_in_place(|| self.adaptation.observe(&observation, &grounds));
        let proposal = match proposal {
            Ok(proposal) => proposal?,
            Err(error) => return Some(format!("adapt: {error}")),
        };
        let told = format!("adapt: {}", telling(&proposal));
        let (to, wish) = (proposal.to.clone(), wish(&proposal.to.variant));
        let begun = service.call(move |service, now, rng| {
            let form = service.policy().form.with(&wish);
            let form = form.map_err(groupkey_mqtt::service::ChangeError::Form)?;
            service.change_scheme(form, now, rng)
        });
        match begun.await? {
            Ok(()) => {
                self.asked = Some(to);
                Some(told)
            }
            Err(OperationError::Unconfirmed) => None,
            Err(error) => {
                self.adaptation.veto(to);
                Some(format!("{told}; not done: {error}"))
            }
        }
    }

    /// Follows what happens in the group, whoever asked for it.
    pub(super) async fn happened(&mut self, service: &Handle<Service>, happened: &Happened) {
        match happened {
            Happened::Changed { .. } => {
                self.asked = None;
                let form = service.call(|service, _, _| service.policy().form.clone()).await;
                if let Some(form) = form {
                    self.adaptation.changed(candidate(&form, self.qos));
                }
            }
            // It cannot be done, so it is not tried again.
            Happened::ChangeFailed { .. } => {
                self.asked.take().into_iter().for_each(|to| self.adaptation.veto(to));
            }
            _ => {}
        }
    }

    /// Keeps the scheme, or no longer.
    pub(super) fn pin(&mut self, is_pinned: bool) -> String {
        self.adaptation.pin(is_pinned);
        let present = &self.adaptation.present().variant;
        match is_pinned {
            true => format!("{present} stays until unpin"),
            false => format!("{present} may change"),
        }
    }

    /// Returns the change that would pay now, whatever the floor says.
    pub(super) async fn propose(&self, service: &Handle<Service>) -> Result<String, String> {
        Ok(match self.proposal(service).await? {
            Some(proposal) => telling(&proposal),
            None => format!("{} stays", self.adaptation.present().variant),
        })
    }

    /// Gives up the change that this has begun, or else forbids the one that would pay now.
    pub(super) async fn veto(&mut self, service: &Handle<Service>) -> Result<String, String> {
        let to = match self.asked.take() {
            Some(to) => {
                service.call(|service, _, _| service.cancel_change()).await;
                to
            }
            None => match self.proposal(service).await? {
                Some(proposal) => proposal.to,
                None => return Err("there is nothing to veto".to_owned()),
            },
        };
        let told = format!("{} is not proposed again", to.variant);
        self.adaptation.veto(to);
        Ok(told)
    }

    async fn proposal(&self, service: &Handle<Service>) -> Result<Option<Proposal>, String> {
        let look = service.call(|service, _, _| look(service)).await;
        let look = look.ok_or("the service has ended")?;
        let grounds = Grounds { evidence: &self.evidence, ..Grounds::shipped() };
        let proposal = block_in_place(|| self.adaptation.propose(look.members.max(2), &grounds));
        proposal.map_err(|error| error.to_string())
    }
}

fn look(service: &Service) -> Look {
    let mut counts = Counts::default();
    for (kind, total) in service.history().totals() {
        match kind {
            // A change of scheme creates a group, too. Nobody joins.
            Kind::Create => {}
            Kind::Evict | Kind::Join => {
                counts.joins += total.joined;
                counts.leaves += total.left;
            }
            Kind::Rekey => counts.rekeys += total.operations,
        }
    }
    let members = u32::try_from(service.member_count()).unwrap_or(u32::MAX);
    Look { counts, members, is_changing: service.change_under_way().is_some() }
}

/// Returns whether a group of this form can change to a variant.
fn can_change_to(form: &Form, allowed: Allowed, variant: &Variant) -> bool {
    form.with(&wish(variant)).is_ok_and(|form| {
        let scheme = form.configuration.scheme();
        let has = |operation| scheme.operations.contains(&operation);
        scheme.has_controller()
            && has(Operation::Add)
            && has(Operation::Remove)
            && form.check(allowed).is_ok()
    })
}

fn wish(variant: &Variant) -> Wish {
    Wish {
        scheme: Some(variant.scheme.clone()),
        parameters: variant.parameters.clone(),
        suite: Some(variant.suite.clone()),
        protection: Some(variant.guard.clone()),
    }
}

fn candidate(form: &Form, qos: u8) -> Candidate {
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

fn telling(proposal: &Proposal) -> String {
    let Proposal { from, to, saves, costs, is_needed } = proposal;
    let (from, to) = (&from.variant, &to.variant);
    match is_needed {
        true => format!("{to} instead of {from}, which no longer meets the requirements"),
        false => format!(
            "{to} instead of {from}: it saves {saves:.3} a day, and the change costs {costs:.3}"
        ),
    }
}

const HELP: &str = "groupkey choose --print-requirements shows a file";

#[cfg(test)]
mod tests {
    use groupkey::catalogue;
    use groupkey_mqtt::Policy as Decisions;

    use super::*;

    #[test]
    fn a_form_and_its_candidate_name_each_other() {
        for known in Evidence::shipped().known() {
            let form = Form::of(catalogue::scheme("skdc").unwrap());
            let form = form.with(&wish(&known.variant)).unwrap();
            assert_eq!(candidate(&form, 1).variant, known.variant);
        }
    }

    #[test]
    fn only_what_a_service_can_run_is_proposed() {
        let form = Form::of(catalogue::scheme("lkh-group").unwrap());
        let allowed = Decisions::of(form.clone()).allowed;
        let few = Evidence::shipped().only(|variant| can_change_to(&form, allowed, variant));
        let all = Evidence::shipped().known();
        assert!(few.known().len() > 10 && few.known().len() < all.len());
        let has = |scheme: &str| few.known().iter().any(|known| known.variant.scheme == scheme);
        assert!(has("lkh-group") && has("skdc") && !has("tgdh") && !has("iolus"));
        assert!(few.known().iter().all(|known| known.variant.guard == "signature"));
    }
}
