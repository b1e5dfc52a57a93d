//! A service that changes its group's scheme when another one would save more than the change costs.

mod kept;

use std::path::Path;
use std::time::{Duration, Instant};

use groupkey_choose::adapt::{Adaptation, Observation, Policy, Proposal};
use groupkey_choose::evidence::Evidence;
use groupkey_choose::requirements::Draft;
use groupkey_choose::{Candidate, Grounds};
use groupkey_lab::choose::LaboratoryFiles;
use groupkey_mqtt::Service;
use groupkey_mqtt::config::AdaptConfig;
use groupkey_mqtt::driver::{Handle, Quality};
use groupkey_mqtt::service::history::{Kind, Recent};
use groupkey_mqtt::service::{OperationError, ServiceEvent};
use serde_json::Value;
use tokio::task::block_in_place;

use self::kept::Kept;
use crate::commands::adaptation::{Told, candidate, change, evidence, wish};
use crate::failure::Failure;

/// The adaptation of one service.
pub(super) struct Adapting {
    adaptation: Adaptation,
    policy: Policy,
    /// What the operator said.
    kept: Kept,
    /// What is known of the schemes to which the group can change.
    evidence: Evidence,
    qos: u8,
    /// What had happened at the last look, and when that was.
    seen: Counts,
    seen_at: Instant,
    /// The service's time then, ns since 1970.
    seen_until: u64,
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
    catch_ups: u64,
}

/// A look at the group.
struct Look {
    counts: Counts,
    members: u32,
    is_changing: bool,
    /// What happened since the last look.
    recent: Recent,
    now: u64,
}

impl Adapting {
    /// Begins with the service's present scheme.
    pub(super) fn new(
        config: &AdaptConfig,
        service: &Service,
        qos: Quality,
        store: &Path,
    ) -> Result<Self, Failure> {
        let kept = Kept::beside(store)?;
        let mut requirements = match &config.requirements {
            Some(path) => {
                let draft =
                    Draft::load(path, &LaboratoryFiles).and_then(|draft| draft.finish_for_policy());
                draft.map_err(|error| Failure::input(error.to_string()).with_help(HELP))?
            }
            None => Default::default(),
        };
        let decided = service.policy();
        let form = &decided.form;
        let qos = qos.level();
        // A change of scheme leaves these as they are.
        requirements.network.qos = Some(qos);
        requirements.security.guard = Some(form.guard.name().to_owned());
        requirements.trust.controller = true;
        requirements.members.rekeys =
            decided.period.map_or(0.0, |period| 3_600.0 / period.as_secs_f64());
        let evidence = evidence(form, decided.allowed);
        let default = Policy::default();
        let policy = Policy {
            floor: config.floor_s.unwrap_or(default.floor),
            horizon: config.horizon_s.unwrap_or(default.horizon),
            margin: config.margin.unwrap_or(default.margin),
            patience: config.patience.unwrap_or(default.patience),
            window: config.window_s.unwrap_or(default.window),
        };
        let mut adaptation = Adaptation::new(policy, requirements, candidate(form, qos));
        // What the operator said last holds, not the file's line from the beginning.
        adaptation.pin(kept.said().pinned.unwrap_or(config.pinned));
        kept.said().vetoed.iter().for_each(|vetoed| adaptation.veto(vetoed.clone()));
        Ok(Self {
            adaptation,
            policy,
            kept,
            evidence,
            qos,
            seen: Counts::default(),
            seen_at: Instant::now(),
            seen_until: 0,
            every: config.observe,
            asked: None,
        })
    }

    /// Looks at the group, and begins a change that would pay. Returns what to tell the operator.
    pub(super) async fn observe(&mut self, service: &Handle<Service>) -> Option<String> {
        let look = self.look(service).await?;
        let (before, seconds) = (self.seen, self.seen_at.elapsed().as_secs_f64());
        (self.seen, self.seen_at, self.seen_until) = (look.counts, Instant::now(), look.now);
        if look.is_changing {
            return None;
        }
        let observation = Observation {
            seconds,
            members: look.members,
            joins: (look.counts.joins - before.joins) as f64,
            leaves: (look.counts.leaves - before.leaves) as f64,
            rekeys: (look.counts.rekeys - before.rekeys) as f64,
            catch_ups: (look.counts.catch_ups - before.catch_ups) as f64,
            round_trip: look.recent.round_trip.map(ms),
            complete: look.recent.complete.map(ms),
        };
        let grounds = Grounds { evidence: &self.evidence, ..Grounds::shipped() };
        let proposal = block_in_place(|| self.adaptation.observe(&observation, &grounds));
        let proposal = match proposal {
            Ok(proposal) => proposal?,
            Err(error) => return Some(format!("adapt: {error}")),
        };
        let told = format!("adapt: {}", change(&proposal));
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
    pub(super) async fn note(&mut self, service: &Handle<Service>, event: &ServiceEvent) {
        match event {
            ServiceEvent::Changed { .. } => {
                self.asked = None;
                let form = service.call(|service, _, _| service.policy().form.clone()).await;
                if let Some(form) = form {
                    self.adaptation.changed(candidate(&form, self.qos));
                }
            }
            // It cannot be done, so it is not tried again.
            ServiceEvent::ChangeFailed { .. } => {
                self.asked.take().into_iter().for_each(|to| self.adaptation.veto(to));
            }
            _ => {}
        }
    }

    /// Keeps the scheme, or no longer, also after a restart.
    pub(super) fn pin(&mut self, is_pinned: bool) -> String {
        self.adaptation.pin(is_pinned);
        let present = &self.adaptation.present().variant;
        let told = match is_pinned {
            true => format!("{present} stays until unpin"),
            false => format!("{present} may change"),
        };
        told + &unless_kept(self.kept.keep(|said| said.pinned = Some(is_pinned)))
    }

    /// Returns the change that would pay now, whatever the floor says.
    pub(super) async fn propose(&self, service: &Handle<Service>) -> Result<String, String> {
        Ok(match self.proposal(service).await? {
            Some(proposal) => change(&proposal),
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
        let told = format!("{} is not proposed again until unveto", to.variant);
        self.adaptation.veto(to.clone());
        let kept = self.kept.keep(|said| {
            if !said.vetoed.contains(&to) {
                said.vetoed.push(to);
            }
        });
        Ok(told + &unless_kept(kept))
    }

    /// Lets everything be proposed again.
    pub(super) fn lift_vetoes(&mut self) -> String {
        let lifted = self.adaptation.vetoed().len();
        self.adaptation.lift_vetoes();
        format!("{lifted} vetoes are lifted")
            + &unless_kept(self.kept.keep(|said| said.vetoed.clear()))
    }

    /// Returns the adaptation's state and what it would do now.
    pub(super) async fn told(&self, service: &Handle<Service>) -> Result<Value, String> {
        let look = self.look(service).await.ok_or(ENDED)?;
        let grounds = Grounds { evidence: &self.evidence, ..Grounds::shipped() };
        let outlook = block_in_place(|| self.adaptation.outlook(look.members, &grounds));
        let told = Told {
            policy: self.policy,
            pinned: self.adaptation.is_pinned(),
            vetoed: self.adaptation.vetoed().to_vec(),
            outlook: outlook.map_err(|error| error.to_string())?,
        };
        serde_json::to_value(told).map_err(|error| error.to_string())
    }

    async fn proposal(&self, service: &Handle<Service>) -> Result<Option<Proposal>, String> {
        let look = self.look(service).await.ok_or(ENDED)?;
        let grounds = Grounds { evidence: &self.evidence, ..Grounds::shipped() };
        let proposal = block_in_place(|| self.adaptation.propose(look.members.max(2), &grounds));
        proposal.map_err(|error| error.to_string())
    }

    async fn look(&self, service: &Handle<Service>) -> Option<Look> {
        let since = self.seen_until;
        service.call(move |service, now, _| look(service, since, now)).await
    }
}

fn look(service: &Service, since: u64, now: u64) -> Look {
    let history = service.history();
    let mut counts = Counts { catch_ups: history.catch_ups(), ..Counts::default() };
    for (kind, total) in history.totals() {
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
    let is_changing = service.change_under_way().is_some();
    Look { counts, members, is_changing, recent: history.since(since, now), now }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Returns what to add if something holds only until the service ends.
fn unless_kept(kept: std::io::Result<()>) -> String {
    kept.err().map_or_else(String::new, |error| {
        format!("; but only until the service ends, for its file cannot be written: {error}")
    })
}

const ENDED: &str = "the service has ended";

const HELP: &str = "groupkey choose --print-requirements shows a file";
