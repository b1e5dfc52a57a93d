//! `groupkey choose --live`: what a running service has counted, as fields of requirements.

use std::path::Path;

use groupkey_choose::number::duration;
use groupkey_choose::requirements::FieldSetting;
use groupkey_mqtt::http::{HourView, ObservationView};

use crate::client::ServiceClient;
use crate::commands::ctl;
use crate::failure::Failure;
use crate::output::remark;

/// Asks the service, and tells what it has counted. Returns the fields that follow from it.
pub(super) fn settings(address: &str, token_file: &Path) -> Result<Vec<FieldSetting>, Failure> {
    let client = ServiceClient::new(address, token_file)?;
    let ObservationView { seen, scheme, qos } = client.get("/observation")?;
    let HourView { members, seconds, joins, leaves, rekeys, catch_ups, .. } = seen;
    if members < 2 {
        return Err(Failure::running(format!("{address}: the group has {members} members"))
            .with_help("ask again when it has two or more"));
    }
    remark(&format!(
        "{address}: {}, with {members} members. In {}: {joins} joins, {leaves} leaves, {rekeys} \
         other changes of the key; {catch_ups} members caught up.\n",
        ctl::scheme(&scheme),
        duration(seconds)
    ));
    let hourly = |count: u64| if count == 0 { 0.0 } else { count as f64 * 3_600.0 / seconds };
    let fields = [
        format!("members.now={members}"),
        format!("members.joins={}", hourly(joins)),
        format!("members.leaves={}", hourly(leaves)),
        format!("members.rekeys={}", hourly(rekeys)),
        format!("network.qos={qos}"),
        "trust.controller=true".to_owned(),
    ];
    fields.iter().map(|field| field.parse().map_err(Failure::input)).collect()
}
