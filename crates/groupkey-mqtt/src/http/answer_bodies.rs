//! The bodies of answers, as JSON. `openapi.json` describes each.

use std::collections::BTreeMap;

use groupkey::MemberId;
use serde::{Deserialize, Serialize};

use crate::driver::{Quality, Status};
use crate::keyring::hex;
use crate::runtime::{Fatal, SECOND};
use crate::service::DeviceStatus;
use crate::service::history::CompletedOperation;
use crate::store::StoreError;
use crate::{GroupForm, Service};

#[derive(Serialize)]
pub(super) struct Health {
    pub(super) status: &'static str,
    pub(super) store: &'static str,
    pub(super) broker: &'static str,
}

/// The groups of a service: one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupsView {
    /// The groups.
    pub groups: Vec<GroupView>,
}

/// A group as it is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupView {
    /// The group's number in decimal digits, because a number in JSON is exact only up to 2^53.
    pub group: String,
    /// The first levels of its topics.
    pub prefix: String,
    /// What it runs.
    #[serde(flatten)]
    pub form: NamedForm,
    /// The service's public key, in hexadecimal.
    pub service_key: String,
    /// The current epoch; `None` before the group is created.
    pub epoch: Option<u64>,
    /// The epoch under whose key members send; `None` before the group is created.
    pub active_epoch: Option<u64>,
    /// The number of members.
    pub members: usize,
    /// DevicesView that wait to be admitted.
    pub waiting: usize,
    /// Messages that the broker has not acknowledged.
    pub publish_backlog: usize,
    /// Entries of the log since its last checkpoint.
    pub log_entries: u64,
    /// The most entries that the log may have.
    pub log_limit: u64,
}

/// DevicesView that are or were members: one portion of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DevicesView {
    /// The portion.
    pub members: Vec<DeviceView>,
    /// The number of the next member, if there are more.
    pub next: Option<u32>,
}

/// A device that is or was a member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceView {
    /// Its name.
    pub name: String,
    /// Its number in the group.
    pub number: u32,
    /// Whether it is a member now.
    pub current: bool,
    /// Whether it was evicted, and not readmitted since.
    pub barred: bool,
    /// The latest epoch that it said to have since the service began.
    pub epoch: Option<u64>,
    /// When it last asked for anything since the service began, ms since 1970.
    pub seen_unix_ms: Option<u64>,
    /// Whether it said since the last change of the key that it has an earlier one.
    pub behind: bool,
}

#[derive(Serialize)]
pub(super) struct Operations {
    operations: Vec<OperationView>,
}

#[derive(Serialize)]
struct OperationView {
    operation: &'static str,
    epoch: u64,
    began_unix_ms: u64,
    joined: u64,
    left: u64,
    members: usize,
    messages: u64,
    payload_bytes: u64,
    durable_after_ms: Option<f64>,
    acknowledged_after_ms: Option<f64>,
}

/// What a service has seen, for `groupkey choose --live`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservationView {
    /// What it has seen.
    #[serde(flatten)]
    pub seen: HourView,
    /// The scheme in force.
    pub scheme: SchemeView,
    /// Quality of service: 0, 1 or 2.
    pub qos: u8,
}

/// What a service has seen in the last hour, or since it began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HourView {
    /// The service's version of groupkey.
    pub version: String,
    /// Members now.
    pub members: u32,
    /// The time of which the following tells (s).
    pub seconds: f64,
    /// Members that joined.
    pub joins: u64,
    /// Members that left or were evicted.
    pub leaves: u64,
    /// Changes of the key without a join or leave.
    pub rekeys: u64,
    /// All changes of the key.
    pub changes: u64,
    /// Members that had missed a change, and asked for the key.
    pub catch_ups: u64,
    /// Time until the broker had acknowledged the first message of a change (ms), in the median.
    pub round_trip_ms: Option<f64>,
    /// Time until the broker had acknowledged all messages of a change (ms), in the median.
    pub complete_ms: Option<f64>,
    /// The longest of these times (ms).
    pub slowest_ms: Option<f64>,
}

/// A group's form, and the change that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SchemeView {
    /// The form in force.
    #[serde(flatten)]
    pub present: NamedForm,
    /// The change that is under way.
    pub change: Option<SchemeChangeView>,
}

/// A group's form, by the names in the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NamedForm {
    /// The scheme's name in the catalogue.
    pub scheme: String,
    /// The scheme's name for people.
    pub scheme_name: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, u32>,
    /// The profile's name.
    pub profile: String,
    /// The suite's name.
    pub suite: String,
    /// The name of the protection.
    pub protection: String,
    /// The name of what members' messages rest on.
    pub senders: String,
}

/// A change of scheme that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SchemeChangeView {
    /// The form that the group gets.
    #[serde(flatten)]
    pub to: NamedForm,
    /// How many members have asked for their places.
    pub asked: usize,
    /// How many members the group has.
    pub members: usize,
    /// When the service stops waiting for the others, ms since 1970.
    pub until_unix_ms: u64,
}

/// The group after an operation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OperationResultView {
    /// The current epoch; `None` before the group is created.
    pub epoch: Option<u64>,
    /// The number of members.
    pub members: usize,
}

impl Health {
    /// Derives the health from the service's answer `ready`, which is `None` if it does not answer,
    /// and from the broker's status.
    pub(super) fn of(ready: Option<(Result<(), Fatal>, bool)>, broker: &Status) -> Self {
        let store = match ready {
            Some((Ok(()), true)) => "ok",
            Some((Ok(()), false)) => "unconfirmed",
            Some((Err(Fatal::Store(StoreError::Full { .. })), _)) => "full",
            Some((Err(_), _)) => "failed",
            None => "unknown",
        };
        let broker = if broker.connected { "connected" } else { "disconnected" };
        let is_well = store == "ok" && broker == "connected";
        Self { status: if is_well { "ok" } else { "failing" }, store, broker }
    }

    pub(super) fn is_well(&self) -> bool {
        self.status == "ok"
    }
}

impl GroupView {
    pub(super) fn of(service: &Service) -> Self {
        let policy = service.policy();
        let (log_entries, publish_backlog) = service.stored();
        Self {
            group: policy.form.group.0.to_string(),
            prefix: policy.prefix.clone(),
            form: NamedForm::of(&policy.form),
            service_key: hex(&service.public()),
            epoch: epoch(service),
            active_epoch: epoch(service).map(|_| service.active_epoch().0),
            members: service.member_count(),
            waiting: service.waiting(),
            publish_backlog,
            log_entries,
            log_limit: policy.limits.log,
        }
    }
}

impl DevicesView {
    pub(super) fn of(service: &Service, from: u32, limit: usize) -> Self {
        let mut devices = service.devices(MemberId(from));
        let members = devices.by_ref().take(limit).map(DeviceView::of).collect();
        Self { members, next: devices.next().map(|device| device.member.0) }
    }
}

impl DeviceView {
    fn of(device: DeviceStatus<'_>) -> Self {
        Self {
            name: device.name.to_owned(),
            number: device.member.0,
            current: device.is_current,
            barred: device.is_barred,
            epoch: device.confirmed.map(|epoch| epoch.0),
            seen_unix_ms: device.seen.map(|at| at / 1_000_000),
            behind: device.is_behind,
        }
    }
}

impl Operations {
    pub(super) fn of(service: &Service) -> Self {
        Self { operations: service.history().last().map(OperationView::of).collect() }
    }
}

impl OperationView {
    fn of(done: &CompletedOperation) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            operation: done.kind.name(),
            epoch: done.epoch.0,
            began_unix_ms: done.began / 1_000_000,
            joined: done.joined,
            left: done.left,
            members: done.members,
            messages: done.messages,
            payload_bytes: done.payload_bytes,
            durable_after_ms: done.durable_after.map(ms),
            acknowledged_after_ms: done.acknowledged_after.map(ms),
        }
    }
}

impl ObservationView {
    pub(super) fn of(service: &Service, qos: Quality, now: u64) -> Self {
        let recent = service.history().since(now.saturating_sub(HOUR), now);
        let ms = |ns: u64| ns as f64 / 1e6;
        let seen = HourView {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            members: u32::try_from(service.member_count()).unwrap_or(u32::MAX),
            seconds: recent.time as f64 / 1e9,
            joins: recent.joined,
            leaves: recent.left,
            rekeys: recent.rekeys,
            changes: recent.changes,
            catch_ups: recent.catch_ups,
            round_trip_ms: recent.round_trip.map(ms),
            complete_ms: recent.complete.map(ms),
            slowest_ms: recent.slowest.map(ms),
        };
        Self { seen, scheme: SchemeView::of(service), qos: qos.level() }
    }
}

/// An hour, ns.
const HOUR: u64 = 3_600 * SECOND;

impl SchemeView {
    /// Returns the scheme of a service, and the change that is under way.
    pub fn of(service: &Service) -> Self {
        let change = service.change_under_way().map(|change| SchemeChangeView {
            to: NamedForm::of(change.form),
            asked: change.asked,
            members: change.members,
            until_unix_ms: change.until / 1_000_000,
        });
        Self { present: NamedForm::of(&service.policy().form), change }
    }
}

impl NamedForm {
    fn of(form: &GroupForm) -> Self {
        let scheme = form.configuration.scheme();
        Self {
            scheme: scheme.id.to_owned(),
            scheme_name: scheme.name.to_owned(),
            parameters: form.parameters().map(|(name, value)| (name.to_owned(), value)).collect(),
            profile: form.configuration.profile().name().to_owned(),
            suite: form.suite.name().to_owned(),
            protection: form.guard.name().to_owned(),
            senders: form.senders.name().to_owned(),
        }
    }
}

impl OperationResultView {
    pub(super) fn of(service: &Service) -> Self {
        Self { epoch: epoch(service), members: service.member_count() }
    }
}

pub(super) fn epoch(service: &Service) -> Option<u64> {
    service.group_key().map(|(epoch, _)| epoch.0)
}
