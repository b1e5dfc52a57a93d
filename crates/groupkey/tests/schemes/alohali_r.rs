//! Alohali-R costs what the header of its file says, and stores no key for each member.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::{Error, Unsupported};
use groupkey::rig::{Report, Rig, RigError, Settings};
use groupkey::{MemberId, PartyId, Recipient, SubgroupId};

#[test]
fn operations_cost_what_the_formulas_say() {
    for profile in Profile::ALL {
        for subgroups in [1, 2, 3, 7] {
            for n in [2, 3, 4, 8, 9, 17, 64, 65] {
                check(profile, subgroups, n);
            }
        }
    }
}

fn check(profile: Profile, subgroups: u32, n: u32) {
    let (active, published) = (subgroups.min(n), profile == Profile::Published);
    let mut rig = rig(profile, subgroups);
    for report in [rig.create(n).unwrap(), rig.rekey().unwrap()] {
        assert_eq!(sent(&report), if published { (active, active) } else { (active + n, 0) });
        assert_eq!(tally(&report, Controller, Primitive::Wrap), active);
        for subgroup in 0..active {
            let members = (n + subgroups - 1 - subgroup) / subgroups;
            let id = SubgroupId(subgroup).into();
            assert_eq!(tally(&report, id, Primitive::Unwrap), 1);
            let (wraps, derivations) = if published { (1, 0) } else { (members, members) };
            assert_eq!(tally(&report, id, Primitive::Wrap), wraps);
            assert_eq!(report.meter(id).tally(Primitive::Derive).calls as u32, derivations);
        }
        for member in 0..n {
            assert_eq!(tally(&report, MemberId(member).into(), Primitive::Unwrap), 1);
        }
    }
    let area_key = u32::from(published);
    assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
    assert_eq!(permanent(&rig, SubgroupId(0).into()), 16 * (3 + area_key), "whatever n is");
    assert_eq!(permanent(&rig, MemberId(0).into()), 16 * (2 + area_key));

    rig.sleep(0);
    rig.rekey().unwrap();
    rig.rekey().unwrap();
    let caught_up = rig.catch_up(0).unwrap();
    assert_eq!(sent(&caught_up), (2, 0));
    assert_eq!(tally(&caught_up, SubgroupId(0).into(), Primitive::Wrap), 1);
    rig.agreed_key().unwrap();
}

#[test]
fn joining_and_leaving_are_not_supported() {
    let mut rig = rig(Profile::Sound, 2);
    rig.create(4).unwrap();
    let unsupported = RigError::Command(Error::Unsupported(Unsupported::Operation));
    assert_eq!(rig.add(4).map(drop), Err(unsupported.clone()));
    assert_eq!(rig.remove(1).map(drop), Err(unsupported));
}

fn rig(profile: Profile, subgroups: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups)];
    Rig::new(scheme("alohali-r").unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// Unicasts, and multicasts.
fn sent(report: &Report) -> (u32, u32) {
    let multicast = |to| matches!(to, Recipient::Subset(_));
    let multicasts = report.open_messages().filter(|message| multicast(message.to)).count() as u32;
    (report.open_messages().count() as u32 - multicasts, multicasts)
}

fn tally(report: &Report, party: PartyId, primitive: Primitive) -> u32 {
    report.meter(party).tally(primitive).amount as u32
}

fn permanent(rig: &Rig, party: PartyId) -> u32 {
    rig.party(party).footprint().permanent as u32
}
