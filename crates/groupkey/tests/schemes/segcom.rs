//! SeGCom changes keys at IGKMP's cost, and lets a node in again along the tree, with a nonce.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use groupkey::PartyId::Controller;
use groupkey::author::{Header, Rule};
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::Misbehaviour;
use groupkey::{Command, MemberId, PartyId, Recipient, SubgroupId};
use groupkey_testkit::rig::{Fate, Guard, OperationReport, Rig, SentMessage, Settings};

use crate::schemes::counts::derivations;
use crate::schemes::subgroups::rig;

#[test]
fn changes_cost_what_igkmps_cost() {
    for profile in Profile::ALL {
        for subgroups in [1, 2, 5] {
            for n in [3, 4, 9, 17, 64] {
                let (mut ours, mut igkmp) =
                    (rig("segcom", profile, subgroups), rig("igkmp", profile, subgroups));
                let run = |rig: &mut Rig| {
                    [rig.create(n), rig.add(n), rig.rekey(), rig.remove(1)]
                        .map(|report| costs(&report.unwrap()))
                };
                assert_eq!(run(&mut ours), run(&mut igkmp));
                for party in [Controller, SubgroupId(0).into(), MemberId(0).into()] {
                    assert_eq!(ours.party(party).footprint(), igkmp.party(party).footprint());
                }
            }
        }
    }
}

#[test]
fn a_request_climbs_to_the_controller_and_its_answer_comes_down() {
    for profile in Profile::ALL {
        let keys = if profile == Profile::Sound { 3 } else { 2 };
        let mut rig = rig("segcom", profile, 3);
        rig.create(9).unwrap();
        rig.sleep(4);
        rig.add(9).unwrap();
        rig.remove(1).unwrap();
        rig.rekey().unwrap();
        let report = rig.catch_up(4).unwrap();
        let head = PartyId::from(SubgroupId(1));
        let hops: Vec<_> = report.messages.iter().map(|sent| sent.from).collect();
        assert_eq!(hops, [MemberId(4).into(), head, Controller, head]);
        assert_eq!(report.meter(Controller).tally(Primitive::Wrap).amount, 2);
        assert_eq!(report.meter(head).tally(Primitive::Unwrap).calls, 1);
        assert_eq!(report.meter(head).tally(Primitive::Wrap).amount, keys);
        assert_eq!(report.meter(MemberId(4).into()).tally(Primitive::Unwrap).calls, 1);
        let deriving = [(Controller, 1), (head, 2), (MemberId(4).into(), 1)];
        assert!(deriving.iter().all(|&(party, times)| derivations(&report, party) == times));
        rig.agreed_key().unwrap();
    }
}

#[test]
fn an_answer_to_an_earlier_request_is_refused() {
    // Without protection: the nonce alone must tell.
    let parameters = vec![("subgroups", 2)];
    let settings = Settings { parameters, protection: Guard::None, ..Settings::default() };
    let mut rig = Rig::new(scheme("segcom").unwrap(), settings);
    rig.create(6).unwrap();
    rig.sleep(2);
    // It asks and does not hear the answer, which an adversary keeps.
    rig.command_to(MemberId(2).into(), Command::CatchUp).unwrap();
    let report = rig.rekey().unwrap();
    let to_it = |sent: &&SentMessage| sent.to == Recipient::Member(MemberId(2));
    let kept = report.messages.iter().find(to_it).expect("an answer came").bytes.clone();
    rig.command_to(MemberId(2).into(), Command::CatchUp).unwrap();
    assert_eq!(rig.inject(MemberId(2).into(), &kept), Err(Misbehaviour::StaleAnswer.into()));
    // Where nothing protects the header either, the nonce under the individual key tells.
    let requests = Rc::new(Cell::new(None));
    let seen = requests.clone();
    rig.intercept(move |transit| {
        seen.set(seen.take().or(transit.header.nonce));
        Fate::Lost
    });
    rig.settle().unwrap();
    let mut forger = rig.forger();
    let (header, body) = forger.read(&kept).map(|(header, body)| (header, body.to_vec())).unwrap();
    let asked = Header { nonce: requests.take(), ..header };
    let forged = forger.forge(header.sender, &asked, &body);
    assert_eq!(rig.inject(MemberId(2).into(), &forged), Err(Misbehaviour::WrongKey.into()));
}

#[test]
fn no_key_wraps_two_answers() {
    for profile in Profile::ALL {
        let mut rig = rig("segcom", profile, 2).traced();
        rig.create(6).unwrap();
        [0, 2].into_iter().for_each(|member| rig.sleep(member));
        rig.rekey().unwrap();
        rig.trace().unwrap().set_event(1);
        for member in [0, 2] {
            rig.catch_up(member).unwrap();
        }
        let trace = rig.trace().unwrap();
        let answers = trace.acts().iter().filter(|act| act.event == 1 && act.rule == Rule::Wrap);
        let keys: Vec<_> = answers.map(|act| trace.inputs(act)[0]).collect();
        // From the controller and from the cluster's head, to each of the two.
        assert_eq!(keys.len(), 4);
        assert_eq!(BTreeSet::from_iter(&keys).len(), 4, "{keys:?}");
    }
}

/// Messages, bytes of their bodies, and wrapped keys of all parties.
fn costs(report: &OperationReport) -> (usize, usize, u64) {
    let bodies = report.open_messages().map(|message| message.body_bytes).sum();
    (report.open_messages().count(), bodies, report.total().tally(Primitive::Wrap).amount)
}
