//! The files that requirements can name: scenarios, traces, devices and radios.

use std::path::Path;
use std::sync::Arc;

use groupkey::Suite;
use groupkey_choose::Requirements;
use groupkey_choose::device::{DevicePrices, RadioPrices};
use groupkey_choose::input::InputError;
use groupkey_choose::requirements::{Devices, Members, NamedFiles, NetworkConditions};

use super::devices::{on_air, prices};
use super::variants::SUITES;
use crate::bench::trace::{JoinOrLeave, Trace};
use crate::conditions::{Conditions, LossDirection, Timeline};
use crate::device::{DeviceProfile, Radio};
use crate::plan::{Exception, Plan};
use crate::scenario::Scenario;

/// Reads scenarios, traces, devices and radios for files of requirements.
#[derive(Clone, Copy, Debug)]
pub struct LaboratoryFiles;

impl NamedFiles for LaboratoryFiles {
    fn scenario(&self, path: &Path) -> Result<Requirements, String> {
        let plan = Scenario::load(path).map_err(|error| error.to_string())?.plan;
        match beyond_choice(&plan) {
            Some(problem) => Err(format!("{}: {problem}", path.display())),
            None => Ok(conditions_of(&plan)),
        }
    }

    fn trace(&self, path: &Path) -> Result<Members, String> {
        let trace = Trace::load(path).map_err(|error| error.to_string())?;
        Ok(changes_of(&trace))
    }

    fn device(&self, path: &Path) -> Result<(String, DevicePrices), String> {
        let text = InputError::read(path).map_err(|error| error.to_string())?;
        let device = DeviceProfile::of_file(&text, path).map_err(|error| error.to_string())?;
        let prices = prices(&device).ok_or_else(|| {
            let suites = SUITES.map(Suite::name).join("] and [");
            format!("{}: a choice needs prices of two suites, [{suites}]", path.display())
        })?;
        Ok((text, prices))
    }

    fn radio(&self, path: &Path) -> Result<(String, RadioPrices), String> {
        let text = InputError::read(path).map_err(|error| error.to_string())?;
        let radio = Radio::of_file(&text, path).map_err(|error| error.to_string())?;
        Ok((text, on_air(&radio)))
    }
}

/// Returns what a scenario has that no choice can heed, and what to do about it.
fn beyond_choice(plan: &Plan) -> Option<String> {
    let usual = Plan::new(plan.scheme, plan.members);
    let differs = |exceptions: &[Exception], device: &Arc<DeviceProfile>| {
        exceptions.iter().any(|exception| exception.device.name != device.name)
    };
    let exceptions = plan.exceptions.iter().chain(&plan.subgroup_exceptions);
    let links = || std::iter::once(&plan.link).chain(exceptions.clone().map(|other| &other.link));
    let is_one_way = |link: &Timeline| {
        link.initial.loss_percent > 0.0 && link.initial.loss_direction != LossDirection::Both
    };
    let has = [
        (links().any(|link| !link.changes.is_empty()), "links that change over time, [[change]]"),
        (links().any(is_one_way), "packets lost in one direction alone, loss_direction"),
        (
            differs(&plan.exceptions, &plan.device)
                || differs(&plan.subgroup_exceptions, &plan.subgroup_device),
            "members with another device, device in a [[link]]",
        ),
        (plan.restarts.is_some(), "a broker that restarts, restarts_per_hour"),
        (plan.session != usual.session, "sessions that are not kept, session"),
        (plan.keep_alive_s != usual.keep_alive_s, "another keep-alive, keep_alive_s"),
        (plan.request_bytes.is_some(), "requests of members, request_bytes"),
        (plan.hand_over != usual.hand_over, "another time of delivery, hand_over"),
        (plan.max_in_flight != usual.max_in_flight, "a limit of exchanges, max_in_flight"),
    ];
    let (_, what) = has.into_iter().find(|(has, _)| *has)?;
    Some(format!(
        "a choice cannot heed {what}; take that out, or write the links into [network] here \
         (groupkey net --scenario simulates it for one scheme)"
    ))
}
/// Returns the worst that any link has when a scenario begins, the devices, the quality of service
/// and the members.
fn conditions_of(plan: &Plan) -> Requirements {
    let exceptions = plan.exceptions.iter().chain(&plan.subgroup_exceptions);
    let links = || {
        let links = exceptions.clone().map(|exception| &exception.link);
        std::iter::once(&plan.link).chain(links).map(|link| &link.initial)
    };
    let worst = |value: fn(&Conditions) -> f64| links().map(value).fold(0.0, f64::max);
    let outages = links().filter_map(|link| link.outages);
    let outages = outages.max_by(|one, other| one.share().total_cmp(&other.share()));
    let lossy = links().filter(|link| link.loss_percent > 0.0);
    Requirements {
        members: Members { now: plan.members, ..Members::default() },
        devices: Devices {
            member: plan.device.name.clone(),
            gateway: plan.subgroup_device.name.clone(),
            controller: plan.controller_device.name.clone(),
            ..Devices::default()
        },
        network: NetworkConditions {
            loss: worst(|link| link.loss_percent),
            burst: lossy.filter_map(|link| link.burst_ms).max_by(f64::total_cmp),
            delay: worst(|link| link.delay_ms),
            jitter: worst(|link| link.jitter_ms),
            bandwidth: links().filter_map(|link| link.bandwidth_kbit_s).min_by(f64::total_cmp),
            outages: outages.map(|outages| outages.per_hour),
            outage_length: outages.map(|outages| outages.length_s),
            qos: Some(plan.qos),
            ..NetworkConditions::default()
        },
        ..Requirements::default()
    }
}

fn changes_of(trace: &Trace) -> Members {
    let hours = (trace.duration_ms() as f64 / 3_600_000.0).max(f64::MIN_POSITIVE);
    let rate = |change| trace.count(change) as f64 / hours;
    let size = Members {
        now: trace.initial().len() as u32,
        most: trace.sizes().1 as u32,
        ..Members::default()
    };
    match trace.events().is_empty() {
        true => size,
        false => {
            Members { joins: rate(JoinOrLeave::Join), leaves: rate(JoinOrLeave::Leave), ..size }
        }
    }
}

#[cfg(test)]
mod tests {
    use groupkey_choose::requirements::{RequirementsDraft, RequirementsError};

    use super::*;

    #[test]
    fn a_scenario_and_a_trace_fill_in_what_the_file_leaves_out() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let text = "[members]\ntrace = \"traces/shift.csv\"\njoins = 7\n\
                    [network]\nscenario = \"scenarios/depots.toml\"\ndelay = 15\n";
        let draft = RequirementsDraft::parse(text, &examples.join("group.toml"), &LaboratoryFiles)
            .expect("both are there");
        let requirements = draft.finish().expect("all of it fits");
        let (members, network) = (requirements.members, requirements.network);
        assert_eq!((members.now, members.joins), (10, 7.0));
        // Six leave within half an hour.
        assert_eq!((members.most, members.leaves), (11, 12.0));
        assert_eq!((network.loss, network.delay, network.qos), (3.0, 15.0, Some(2)));
        assert_eq!(requirements.devices.member, "host");
    }

    const LOSSY: &str = "[network]\nloss_percent = 2\ndelay_ms = 60\n";

    fn with_scenario(group: &str, tables: &str) -> Result<Requirements, RequirementsError> {
        let folder = tempfile::tempdir().expect("there is room");
        let scenario = format!(
            "description = 'x'\n[group]\nscheme = 'lkh-group'\nmembers = 20\n{group}\n{tables}"
        );
        std::fs::write(folder.path().join("lte.toml"), scenario).expect("there is room");
        let text = "[network]\nscenario = \"lte.toml\"\n";
        RequirementsDraft::parse(text, &folder.path().join("group.toml"), &LaboratoryFiles)?
            .finish()
    }

    #[test]
    fn bursts_of_a_scenario_are_taken() {
        let lossless = "[[link]]\nmembers = [0, 3]\nburst_ms = 9000\nloss_percent = 0\n";
        let taken = with_scenario("", &format!("{LOSSY}burst_ms = 3000\n{lossless}"));
        let taken = taken.expect("a choice heeds it").network;
        assert_eq!((taken.loss, taken.burst, taken.delay), (2.0, Some(3_000.0), 60.0));
    }

    const FAILING: &str = "outages_per_hour = 2\noutage_s = 30\n";

    #[test]
    fn outages_of_a_scenario_are_taken() {
        let rarer = "[[link]]\nmembers = [0, 3]\noutages_per_hour = 1\noutage_s = 90\n";
        let taken = with_scenario("", &format!("{LOSSY}{FAILING}{rarer}[mqtt]\nqos = 1\n"));
        let taken = taken.expect("a choice heeds it").network;
        assert_eq!((taken.outages, taken.outage_length), (Some(1.0), Some(90.0)));
        let refused = with_scenario("", &format!("{LOSSY}{FAILING}[mqtt]\nqos = 0\n"));
        assert!(refused.expect_err("never complete").to_string().contains("1 or 2"));
    }

    #[test]
    fn what_a_choice_cannot_heed_in_a_scenario_is_refused_by_name() {
        for (group, tables, told) in [
            ("", "[[change]]\nat_ms = 5\nloss_percent = 1\n", "[[change]]"),
            ("", "[[link]]\nmembers = [0, 3]\ndevice = 'cortex-m4'\n", "device in a [[link]]"),
            ("", "[[link]]\nmembers = [0, 3]\nloss_direction = 'up'\n", "loss_direction"),
            ("", "[mqtt]\nrestarts_per_hour = 2\nrestart_s = 30\n", "restarts_per_hour"),
            ("", &format!("{FAILING}[mqtt]\nsession = 'clean'\n"), "session"),
            ("", &format!("{FAILING}[mqtt]\nkeep_alive_s = 15\n"), "keep_alive_s"),
            ("request_bytes = 40", "", "request_bytes"),
            ("", "[mqtt]\nhand_over = 'publish'\n", "hand_over"),
            ("", "[mqtt]\nmax_in_flight = 20\n", "max_in_flight"),
        ] {
            let refused = with_scenario(group, &format!("{LOSSY}{tables}")).expect_err(told);
            let refused = refused.to_string();
            assert!(
                refused.contains("group.toml:2:12: ") && refused.contains("lte.toml: a choice"),
                "{refused}"
            );
            assert!(refused.contains(told), "{told}: {refused}");
        }
    }

    /// A key of a scenario is taken, or refused, or the page says that it is no requirement.
    #[test]
    fn the_page_says_what_becomes_of_every_key_of_a_scenario() {
        let scenarios = include_str!("../../../../docs/scenarios.md");
        let choose = include_str!("../../../../docs/choose.md");
        let (keys, _) = scenarios.split_once("## Operations").expect("a heading");
        let (_, told) = choose.split_once("- **`network.scenario`**").expect("a point of a list");
        let (told, _) = told.split_once("\n- ").expect("another one");
        let cells = keys.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
        let words =
            cells.flat_map(|(cell, _)| cell.split(", ")).filter(|word| word.starts_with('`'));
        let keys: Vec<&str> = words.filter(|word| !word.contains(['.', '['])).collect();
        assert!(keys.len() > 25, "{keys:?}");
        let untold: Vec<_> = keys.into_iter().filter(|key| !told.contains(key)).collect();
        assert!(untold.is_empty(), "nothing is said of {untold:?}");
    }
}
