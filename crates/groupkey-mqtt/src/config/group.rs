//! The `[group]` part of both files.

use std::collections::BTreeMap;
use std::time::Duration;

use groupkey::catalogue::Profile;
use groupkey::event_order::{Evict, Join, Rules};
use groupkey::protection::Guard;
use groupkey::{GroupId, Operation, Suite};
use serde::Deserialize;

use super::file::{choose, public};
use super::own_schemes;
use crate::group_form::{Allowed, GroupForm, Senders};
use crate::policy::Activation;

#[derive(Clone, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GroupFile {
    pub(super) prefix: String,
    number: u64,
    pub(super) scheme: String,
    profile: String,
    parameters: BTreeMap<String, u32>,
    suite: String,
    protection: String,
    /// Without it, signed where the protection is a signature.
    senders: Option<String>,
    allow_mac: bool,
    allow_published: bool,
    pub(super) founders: usize,
    pub(super) batch_ms: u64,
    pub(super) period_s: Option<u64>,
    pub(super) rekey_expiry_s: u32,
    pub(super) change_s: u64,
    confirm_s: Option<u64>,
    activate: Option<ActivateFile>,
    evict_silent_after_s: Option<u64>,
    /// Of groups without a controller.
    evict: EvictFile,
    join: String,
    operators: Vec<String>,
}

/// Who may evict: `"one"`, `"operators"`, or a number of members.
#[derive(Clone, Deserialize, PartialEq)]
#[serde(untagged)]
enum EvictFile {
    Named(String),
    Members(Quorum),
}

#[derive(Clone, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Quorum {
    of: u32,
}

/// When members send under a new key.
#[derive(Clone, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct ActivateFile {
    after_s: u64,
    when: Option<WhenFile>,
}

/// `"all"`, or a share of the members.
#[derive(Clone, Deserialize, PartialEq)]
#[serde(untagged)]
enum WhenFile {
    Named(String),
    Share(f64),
}

impl Default for GroupFile {
    fn default() -> Self {
        Self {
            prefix: "groupkey/1".to_owned(),
            number: 1,
            scheme: "lkh-group".to_owned(),
            profile: Profile::Sound.name().to_owned(),
            parameters: BTreeMap::new(),
            suite: Suite::Standard.name().to_owned(),
            protection: Guard::Signature.name().to_owned(),
            senders: None,
            allow_mac: false,
            allow_published: false,
            founders: 2,
            batch_ms: 50,
            period_s: None,
            rekey_expiry_s: 60,
            change_s: 60,
            confirm_s: None,
            activate: None,
            evict_silent_after_s: None,
            evict: EvictFile::Named("one".to_owned()),
            join: "listed".to_owned(),
            operators: Vec::new(),
        }
    }
}

impl GroupFile {
    pub(super) fn form(&self) -> Result<GroupForm, String> {
        let scheme = own_schemes::scheme(&self.scheme)
            .ok_or_else(|| format!("no scheme is called {}: see groupkey schemes", self.scheme))?;
        let profile = choose(Profile::ALL, Profile::name, "group.profile", &self.profile)?;
        let mut configuration = scheme.configuration(profile);
        for (name, &value) in &self.parameters {
            configuration
                .set(name, value)
                .map_err(|error| format!("group.parameters.{name}: {error}"))?;
        }
        let form = GroupForm {
            group: GroupId(self.number),
            configuration,
            suite: choose(Suite::ALL, Suite::name, "group.suite", &self.suite)?,
            guard: choose(Guard::ALL, Guard::name, "group.protection", &self.protection)?,
            senders: self.senders()?,
        };
        form.check(self.allowed()).map_err(|error| error.to_string())?;
        Ok(form)
    }

    fn senders(&self) -> Result<Senders, String> {
        let Some(name) = &self.senders else { return Ok(Senders::default()) };
        let senders = choose(Senders::ALL, Senders::name, "group.senders", name)?;
        match senders {
            Senders::Signed if !Guard::named(&self.protection).is_some_and(Guard::signs) => Err(
                "group.senders: only with protection = \"signature\" or \"merkle\" can senders sign"
                    .into(),
            ),
            _ => Ok(senders),
        }
    }

    /// Returns the rules of a group without a controller, and the public keys of its operators.
    pub(super) fn rules(&self) -> Result<(Rules, Vec<[u8; 32]>), String> {
        let evict = match &self.evict {
            EvictFile::Named(name) if name == "one" => Evict::One,
            EvictFile::Named(name) if name == "operators" => Evict::Operators,
            EvictFile::Members(Quorum { of }) if *of >= 2 => Evict::Members(*of),
            _ => {
                return Err(
                    "group.evict can be \"one\", \"operators\", or { of = 2 } and more".into()
                );
            }
        };
        let join = match self.join.as_str() {
            "listed" => Join::Listed,
            "ticket" => Join::Ticket,
            other => return Err(format!("group.join is {other:?}: it can be listed, ticket")),
        };
        let operators = self.operators.iter().map(|text| public("group.operators", text));
        Ok((Rules { evict, join }, operators.collect::<Result<_, _>>()?))
    }

    /// Refuses settings that have no effect if the group has a service.
    pub(super) fn only_of_a_service(&self) -> Result<(), String> {
        let Self { evict, join, operators, .. } = Self::default();
        if *self == (Self { evict, join, operators, ..self.clone() }) {
            return Ok(());
        }
        Err("[group]: evict, join and operators are for groups without a controller; remove them"
            .into())
    }

    /// Returns which weak forms the operator, or the member, accepts.
    pub(super) const fn allowed(&self) -> Allowed {
        Allowed { mac: self.allow_mac, published: self.allow_published }
    }

    /// Refuses settings that have no effect in a member's file. If the group has a service, it
    /// sends its settings to the members.
    pub(super) fn only_what_counts(&self, has_peers: bool) -> Result<(), String> {
        let default = Self::default();
        let (heeded, advice) = if has_peers {
            let Self { founders, batch_ms, rekey_expiry_s, change_s, senders, .. } = default;
            let heeded = Self {
                founders,
                batch_ms,
                rekey_expiry_s,
                change_s,
                senders,
                confirm_s: None,
                activate: None,
                evict_silent_after_s: None,
                ..self.clone()
            };
            let advice = "founders, batch_ms, rekey_expiry_s, change_s, senders, confirm_s, activate \
                          and evict_silent_after_s are for a service; remove them";
            (heeded, advice)
        } else {
            let Self { prefix, number, allow_mac, allow_published, .. } = self.clone();
            let heeded = Self { prefix, number, allow_mac, allow_published, ..default };
            let advice = "if the group has a service, a member's file has only prefix, number, allow_mac \
                          and allow_published; remove the other lines, which the service sends";
            (heeded, advice)
        };
        if *self == heeded { Ok(()) } else { Err(format!("[group]: {advice}")) }
    }

    /// Returns how long members have to confirm a new epoch, if they have to.
    pub(super) fn confirm(&self) -> Result<Option<Duration>, String> {
        seconds("confirm_s", self.confirm_s, 1, DAY_S)
    }

    /// Returns when members send under a new key, if not at once.
    pub(super) fn activation(&self) -> Result<Option<Activation>, String> {
        let Some(ActivateFile { after_s, when }) = &self.activate else { return Ok(None) };
        let after = seconds("activate.after_s", Some(*after_s), 2, DAY_S)?.unwrap_or_default();
        let when = match when {
            None => None,
            Some(WhenFile::Named(name)) if name == "all" => Some(1.0),
            Some(WhenFile::Share(share)) if *share > 0.0 && *share <= 1.0 => Some(*share),
            Some(_) => {
                return Err("group.activate.when can be \"all\", or a share such as 0.9".into());
            }
        };
        Ok(Some(Activation { after, when }))
    }

    pub(super) fn silence(&self) -> Result<Option<Duration>, String> {
        seconds("evict_silent_after_s", self.evict_silent_after_s, 60, 366 * DAY_S)
    }

    /// Returns the time after which the key changes without a join or leave.
    pub(super) fn period(&self, form: &GroupForm) -> Result<Option<Duration>, String> {
        let scheme = form.configuration.scheme();
        match self.period_s {
            None => Ok(None),
            Some(0) => Err("group.period_s is 0: it must be a second or more".to_owned()),
            // Only agreements of a group once and for all are without.
            Some(_) if !scheme.operations.contains(&Operation::Rekey) => Err(format!(
                "group.period_s: {} cannot change the key of a living group; remove the line",
                scheme.id
            )),
            Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
        }
    }
}

/// Returns a time that a line of the file may have.
fn seconds(
    name: &str,
    given: Option<u64>,
    least: u64,
    most: u64,
) -> Result<Option<Duration>, String> {
    match given {
        Some(seconds) if !(least..=most).contains(&seconds) => {
            Err(format!("group.{name} is {seconds}: it can be {least} to {most}"))
        }
        given => Ok(given.map(Duration::from_secs)),
    }
}

const DAY_S: u64 = 86_400;
