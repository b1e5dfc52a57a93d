//! The `[group]` part of both files.

use std::collections::BTreeMap;
use std::time::Duration;

use groupkey::catalogue::{self, Profile};
use groupkey::event_order::{Evict, Join, Rules};
use groupkey::protection::Guard;
use groupkey::{GroupId, Operation, Suite};
use serde::Deserialize;

use super::file::{choose, public};
use crate::group_form::{Allowed, GroupForm};

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
    allow_mac: bool,
    allow_published: bool,
    pub(super) founders: usize,
    pub(super) batch_ms: u64,
    pub(super) period_s: Option<u64>,
    pub(super) rekey_expiry_s: u32,
    pub(super) change_s: u64,
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
            allow_mac: false,
            allow_published: false,
            founders: 2,
            batch_ms: 50,
            period_s: None,
            rekey_expiry_s: 60,
            change_s: 60,
            evict: EvictFile::Named("one".to_owned()),
            join: "listed".to_owned(),
            operators: Vec::new(),
        }
    }
}

impl GroupFile {
    pub(super) fn form(&self) -> Result<GroupForm, String> {
        let scheme = catalogue::scheme(&self.scheme)
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
        };
        form.check(self.allowed()).map_err(|error| error.to_string())?;
        Ok(form)
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
            let Self { founders, batch_ms, rekey_expiry_s, change_s, .. } = default;
            let heeded = Self { founders, batch_ms, rekey_expiry_s, change_s, ..self.clone() };
            let advice =
                "founders, batch_ms, rekey_expiry_s and change_s are for a service; remove them";
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
