//! Groups that consist of subgroups with a controller each: who is where, and what goes to how many.

use groupkey::catalogue::{Profile, scheme};
use groupkey::{Recipient, SubgroupId};
use groupkey_testkit::rig::{OperationReport, Rig, Settings};

use crate::schemes::counts::{every_member_unwraps_once, wraps};

pub(crate) fn rig(id: &str, profile: Profile, subgroups: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups)];
    Rig::new(scheme(id).unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// How many of n members are in a subgroup, when they went round.
pub(crate) fn members_of(subgroup: u32, subgroups: u32, n: u32) -> u32 {
    (n + subgroups - 1 - subgroup) / subgroups
}

/// Unicasts, and multicasts to subgroups.
#[track_caller]
pub(crate) fn sent(report: &OperationReport) -> (u32, u32) {
    assert!(report.open_messages().all(|message| message.to != Recipient::Group));
    let multicast = |to| matches!(to, Recipient::Subset(_));
    let multicasts = report.open_messages().filter(|message| multicast(message.to)).count();
    ((report.open_messages().count() - multicasts) as u32, multicasts as u32)
}

/// Messages, all of which are to one party.
#[track_caller]
pub(crate) fn unicasts(report: &OperationReport) -> u32 {
    let (unicasts, multicasts) = sent(report);
    assert_eq!(multicasts, 0);
    unicasts
}

/// The first member sleeps while another one joins and the key changes twice more; then its subgroup's
/// controller sends it so many keys.
#[track_caller]
pub(crate) fn assert_one_answer_brings_back(rig: &mut Rig, newcomer: u32, keys: u32) {
    rig.sleep(0);
    rig.add(newcomer).unwrap();
    rig.rekey().unwrap();
    rig.rekey().unwrap();
    let caught_up = rig.catch_up(0).unwrap();
    assert_eq!(sent(&caught_up), (2, 0));
    assert_eq!(wraps(&caught_up, SubgroupId(0)), (1, keys));
    every_member_unwraps_once(&caught_up, 0..1);
    rig.agreed_key().unwrap();
}
