//! IGKMP costs what the header of its file says, with full and with ragged subgroups.

use aes_kw::KwAes128;
use aes_kw::cipher::KeyInit;
use groupkey::PartyId::Controller;
use groupkey::catalogue::{self, Profile};
use groupkey::crypto::meter::Primitive;
use groupkey::error::Misbehaviour;
use groupkey::{Channel, Epoch, MemberId, Operation, PartyId, SubgroupId};
use groupkey_testkit::rig::{Fate, OperationReport, Rig, Settings};

use crate::schemes::counts::{calls, every_member_unwraps_once, permanent, wraps};
use crate::schemes::subgroups::{assert_one_answer_brings_back, members_of, rig, sent};

#[test]
fn operations_cost_what_the_formulas_say() {
    for subgroups in [1, 2, 3, 7] {
        for n in [2, 3, 4, 8, 9, 17, 64, 65] {
            let active = subgroups.min(n);
            let mut rig = rig("igkmp", Profile::Sound, subgroups);
            let created = rig.create(n).unwrap();
            assert_eq!(sent(&created), (active + n, 0));
            assert_eq!(wraps(&created, Controller), (active, active));
            for subgroup in 0..active {
                let members = members_of(subgroup, subgroups, n);
                let id = SubgroupId(subgroup);
                assert_eq!(wraps(&created, id), (members, 2 * members));
                assert_eq!(calls(&created, id, Primitive::Unwrap), 1);
                assert_eq!(permanent(&rig, id), 16 * (members + 3));
            }
            every_member_unwraps_once(&created, 0..n);
            assert_eq!(permanent(&rig, Controller), 16 * (active + 1));
            assert_eq!(permanent(&rig, MemberId(0)), 48);

            // The joining member goes to the subgroup with the fewest.
            let here = n % subgroups;
            let active = subgroups.min(n + 1);
            let added = rig.add(n).unwrap();
            let first_there = n < subgroups;
            assert_eq!(sent(&added), (active + 1, active - u32::from(first_there)));
            assert_eq!(wraps(&added, Controller), (active, active));
            let wraps_here = if first_there { (1, 2) } else { (2, 4) };
            assert_eq!(wraps(&added, SubgroupId(here)), wraps_here);
            for other in (0..active).filter(|&other| other != here) {
                assert_eq!(wraps(&added, SubgroupId(other)), (1, 1));
            }
            every_member_unwraps_once(&added, 0..=n);

            let rekeyed = rig.rekey().unwrap();
            assert_eq!(sent(&rekeyed), (active, active));
            every_member_unwraps_once(&rekeyed, 0..=n);

            let members = members_of(here, subgroups, n + 1);
            let removed = rig.remove(n).unwrap();
            assert_eq!(sent(&removed), (active + members - 1, active - 1));
            assert_eq!(wraps(&removed, SubgroupId(here)), (members - 1, 2 * (members - 1)));
            every_member_unwraps_once(&removed, 0..n);

            assert_one_answer_brings_back(&mut rig, n + 1, 2);
        }
    }
}

#[test]
fn the_published_form_sends_to_everybody_singly() {
    for subgroups in [1, 2, 3, 7] {
        for n in [3, 4, 8, 9, 17, 64] {
            let mut rig = rig("igkmp", Profile::Published, subgroups);
            let created = rig.create(n).unwrap();
            assert_eq!(sent(&created), (subgroups.min(n) + n, 0));
            assert_eq!(permanent(&rig, MemberId(0)), 32);
            for (report, members) in [(rig.add(n), n + 1), (rig.rekey(), n + 1), (rig.remove(1), n)]
            {
                let report = report.unwrap();
                assert_eq!(sent(&report), (subgroups.min(n + 1) + members, 0));
                every_member_unwraps_once(&report, 0..1);
            }
        }
    }
}

#[test]
fn nothing_is_ever_wrapped_under_no_key() {
    for id in ["igkmp", "segcom", "tkh", "iolus", "dep"] {
        for profile in Profile::ALL {
            let parameters = vec![("subgroups", 5)];
            let settings = Settings { parameters, profile, ..Settings::default() };
            let mut rig = Rig::new(catalogue::scheme(id).unwrap(), settings);
            let reports = [rig.create(3), rig.add(3), rig.add(4), rig.remove(1), rig.add(5)];
            reports.iter().for_each(|report| nothing_opens_under_no_key(report.as_ref().unwrap()));
        }
    }
}

#[test]
fn a_subgroup_that_missed_the_creation_asks_before_it_tells_anything() {
    let schemes = ["igkmp", "segcom", "tkh", "iolus", "dep", "lnt", "riseg"].map(|id| (id, None));
    // With a new master key in every period, and with none.
    let kronos = [("kronos", Some(1)), ("kronos", Some(0))];
    for (id, reseed) in schemes.into_iter().chain(kronos) {
        for profile in Profile::ALL {
            let mut parameters = vec![("subgroups", 2)];
            parameters.extend(reseed.map(|periods| ("reseed", periods)));
            let settings = Settings { parameters, profile, ..Settings::default() };
            let mut rig = Rig::new(catalogue::scheme(id).unwrap(), settings);
            let missed_it = PartyId::from(SubgroupId(1));
            rig.intercept(move |transit| match transit.header.operation {
                Operation::Create if transit.to == missed_it => Fate::Lost,
                _ => Fate::Arrives,
            });
            rig.create(4).unwrap();
            // One more in the other subgroup, of which Iolus does not tell, and one in its own.
            let changes = [rig.add(4).unwrap(), rig.add(5).unwrap()];
            let own_epoch = if id == "iolus" { 1 } else { 2 };
            for (report, epoch) in changes.iter().zip([own_epoch, own_epoch + 1]) {
                nothing_opens_under_no_key(report);
                let (got, current) = (Epoch(epoch), Epoch(0));
                let skipped = Misbehaviour::SkippedEpoch { got, current }.into();
                let is_told = id != "iolus" || epoch == 2;
                let refusals = if is_told { vec![(missed_it, skipped)] } else { Vec::new() };
                assert_eq!(report.refusals, refusals, "{id}, {profile:?}");
                assert!(
                    report.messages.iter().all(|message| message.from != missed_it
                        || message.channel == Channel::Confidential)
                );
            }
            nothing_opens_under_no_key(&rig.wake(missed_it).unwrap());
            for change in [None, Some(6), Some(7)] {
                change.map(|newcomer| rig.add(newcomer).unwrap());
                if id == "iolus" {
                    rig.send(1).unwrap();
                }
                rig.agreed_key().unwrap_or_else(|error| panic!("{id}, {profile:?}: {error}"));
            }
        }
    }
}

#[track_caller]
fn nothing_opens_under_no_key(report: &OperationReport) {
    let none = KwAes128::new(&[0; 16].into());
    for message in &report.messages {
        for keys in 1..=3 {
            for wrapped in message.bytes.windows(16 * keys + 8) {
                let mut opened = vec![0; 16 * keys];
                assert!(none.unwrap_key(wrapped, &mut opened).is_err(), "{message:?}");
            }
        }
    }
}

#[test]
fn a_subgroup_may_become_empty_and_fill_again() {
    let mut rig = rig("igkmp", Profile::Sound, 3);
    rig.create(3).unwrap();
    rig.remove(1).unwrap();
    rig.agreed_key().unwrap();
    rig.rekey().unwrap();
    for newcomer in 10..16 {
        rig.add(newcomer).unwrap();
        rig.agreed_key().unwrap();
    }
    assert!(!rig.outsider_knows_key());
}
