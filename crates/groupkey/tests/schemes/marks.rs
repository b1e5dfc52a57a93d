//! MARKS costs what the header of its file says, at every period of sessions of several lengths, and
//! keeps the law of planned periods: members promised one hold its key, and nobody else.

use groupkey::PartyId::Controller;
use groupkey::catalogue::{Profile, scheme};
use groupkey::crypto::meter::Primitive;
use groupkey::error::Misuse;
use groupkey::{Command, Epoch, MemberId, SubgroupId};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};

use crate::schemes::counts::{calls, hashes, permanent, unwraps, wraps};
use crate::schemes::subgroups::{members_of, unicasts};

#[test]
fn a_session_costs_what_the_formulas_say() {
    for (depth, subgroups, n) in [(2, 1, 2), (3, 2, 3), (4, 3, 8), (5, 7, 9), (6, 2, 17)] {
        for planned in [0, 1, 2, 3, (1 << depth) - 1, 1 << depth, 16_000] {
            for profile in Profile::ALL {
                play(profile, depth, subgroups, n, planned);
            }
        }
    }
}

/// Creates a group and lets the whole session pass.
fn play(profile: Profile, depth: u32, subgroups: u32, n: u32, planned: u32) {
    let end = (1 << depth) - 1;
    let last = if planned == 0 { end } else { end.min(planned - 1) };
    let active = subgroups.min(n);
    let mut rig = rig(profile, depth, subgroups, planned);
    let created = rig.create(n).unwrap();
    let cover = cover(0, last);
    let seeds = cover.len() as u32;
    assert_eq!(unicasts(&created), active + n);
    assert_eq!(wraps(&created, Controller), (active, active));
    let all_below = |cover: &[(u32, u32)]| -> u32 {
        cover.iter().map(|&(_, height)| 2 * ((1 << height) - 1)).sum()
    };
    let on_entering = |cover: &[(u32, u32)]| match profile {
        Profile::Published => all_below(cover),
        Profile::Sound => cover[0].1,
    };
    let whole = [(0, depth)];
    assert_eq!(hashes(&created, Controller), on_entering(&whole));
    for subgroup in 0..active {
        let id = SubgroupId(subgroup);
        let members = members_of(subgroup, subgroups, n);
        assert_eq!(wraps(&created, id), (members, members * seeds));
        assert_eq!(unwraps(&created, id), (1, 1));
        let revealing = below(&whole, &cover);
        assert_eq!(hashes(&created, id), on_entering(&whole) + revealing);
    }
    for member in 0..n {
        assert_eq!(unwraps(&created, MemberId(member)), (1, seeds));
        assert_eq!(hashes(&created, MemberId(member)), on_entering(&cover));
    }
    check_footprints(&rig, profile, end, last, 0, (active, n, subgroups));

    for t in 1..=end {
        let rekeyed = rig.rekey().unwrap();
        assert_eq!(rekeyed.messages.len(), 0, "time needs no message");
        let tick = |last| match profile {
            Profile::Published => 0,
            Profile::Sound => 2 * height(t - 1, last) + height(t, last),
        };
        assert_eq!(hashes(&rekeyed, Controller), tick(end));
        assert_eq!(hashes(&rekeyed, SubgroupId(0)), tick(end));
        assert_eq!(hashes(&rekeyed, MemberId(0)), tick(last));
        check_footprints(&rig, profile, end, last, t, (active, n, subgroups));
        rig.agreed_key().unwrap();
    }
    assert_eq!(rig.rekey().map(drop), Err(RigError::Command(Misuse::SessionOver.into())));
}

fn check_footprints(
    rig: &Rig,
    profile: Profile,
    end: u32,
    last: u32,
    t: u32,
    (active, n, subgroups): (u32, u32, u32),
) {
    let held = |last: u32| match profile {
        Profile::Published => cover(0, last).len() as u32 + last + 1,
        Profile::Sound => cover(t, last).len() as u32,
    };
    assert_eq!(permanent(rig, Controller), 16 * (active + 1 + held(end)));
    let members = n.div_ceil(subgroups);
    assert_eq!(permanent(rig, SubgroupId(0)), 16 * (members + 2 + held(end)));
    let present = u32::from(t <= last);
    assert_eq!(permanent(rig, MemberId(0)), 16 * (1 + present + held(last)));
}

#[test]
fn grants_cost_what_the_formulas_say() {
    for profile in Profile::ALL {
        let (depth, end) = (5, 31);
        for t in 0..=end {
            let mut rig = rig(profile, depth, 2, 0);
            rig.create(4).unwrap();
            (0..t).for_each(|_| drop(rig.rekey().unwrap()));
            let held = match profile {
                Profile::Published => cover(0, end),
                Profile::Sound => cover(t, end),
            };
            let spans = (t..=end).flat_map(|first| (first..=end).map(move |last| (first, last)));
            for (member, (first, last)) in (100..).zip(spans.step_by(5)) {
                let granted = grant(&mut rig, member, (first, last));
                assert_eq!(unicasts(&granted), 2);
                assert_eq!(calls(&granted, Controller, Primitive::Wrap), 0);
                assert_eq!(granted.meters.len(), 3, "nobody else takes part");
                let station = granted.messages[1].from;
                let member = MemberId(member);
                let seeds = cover(first, last);
                assert_eq!(wraps(&granted, station), (1, seeds.len() as u32));
                assert_eq!(hashes(&granted, station), below(&held, &seeds));
                assert_eq!(unwraps(&granted, member), (1, seeds.len() as u32));
                let expected = match profile {
                    Profile::Published => {
                        seeds.iter().map(|&(_, height)| 2 * ((1 << height) - 1)).sum()
                    }
                    Profile::Sound if first == t => seeds[0].1,
                    Profile::Sound => 0,
                };
                assert_eq!(hashes(&granted, member), expected);
            }
        }
    }
}

#[test]
fn a_grant_may_bring_a_subgroup_in() {
    for profile in Profile::ALL {
        for t in [0, 1, 5, 8] {
            let mut rig = rig(profile, 4, 3, 0);
            rig.create(2).unwrap();
            (0..t).for_each(|_| drop(rig.rekey().unwrap()));
            let granted = grant(&mut rig, 2, (t, 15));
            assert_eq!(unicasts(&granted), 2);
            let rest = cover(t, 15).len() as u32;
            assert_eq!(wraps(&granted, Controller), (1, rest));
            assert_eq!(unwraps(&granted, SubgroupId(2)), (1, rest));
            rig.agreed_key().unwrap();
            (t..15).for_each(|_| drop(rig.rekey().unwrap()));
            rig.agreed_key().unwrap();
            assert!(rig.key_of(SubgroupId(2).into()).is_some());
        }
    }
}

#[test]
fn who_was_promised_a_period_has_its_key_and_nobody_else() {
    // Overlapping, disjoint, adjoining, nested, equal; first and last; of one period.
    let spans =
        [(0, 15), (2, 7), (5, 11), (8, 8), (9, 12), (9, 12), (13, 15), (15, 15), (1, 1), (3, 14)];
    for profile in Profile::ALL {
        for early in [true, false] {
            let mut rig = rig(profile, 4, 3, 3);
            rig.create(4).unwrap();
            let mut promised: Vec<_> = (0..4).map(|member| (member, (0, 2))).collect();
            for t in 0..16 {
                if t > 0 {
                    rig.rekey().unwrap();
                }
                for (member, span) in (10..).zip(spans) {
                    // All at the beginning, or each when its time has come.
                    if (early && t == 0) || (!early && t == span.0) {
                        let before = rig.key_of(MemberId(0).into()).map(|(_, key)| key.clone());
                        grant(&mut rig, member, span);
                        let after = rig.key_of(MemberId(0).into()).map(|(_, key)| key.clone());
                        assert!(before == after, "it is nobody else's business");
                        promised.push((member, span));
                    }
                }
                let (epoch, key) = rig.key_of(Controller).unwrap();
                assert_eq!(epoch, Epoch(u64::from(t) + 1));
                for &(member, (first, last)) in &promised {
                    let expected = (first..=last).contains(&t).then_some((epoch, key));
                    assert_eq!(rig.key_of(MemberId(member).into()), expected, "{member} in {t}");
                }
                rig.agreed_key().unwrap();
            }
        }
    }
}

#[test]
fn who_slept_needs_a_clock_or_one_request() {
    for profile in Profile::ALL {
        for slept in 1..15 {
            let mut rig = rig(profile, 4, 1, 10);
            rig.create(3).unwrap();
            grant(&mut rig, 10, (4, 15));
            [0, 1, 10].into_iter().for_each(|member| rig.sleep(member));
            (0..slept).for_each(|_| drop(rig.rekey().unwrap()));

            // One whose clock went on needs no message.
            for _ in 0..slept {
                rig.command_to(MemberId(1).into(), Command::Rekey).unwrap();
            }
            let expected = if slept < 10 { rig.key_of(Controller) } else { None };
            assert_eq!(rig.key_of(MemberId(1).into()), expected);

            // One that has lost count asks.
            for (member, first, last) in [(0, 0, 9), (10, 4, 15)] {
                let caught_up = rig.catch_up(member).unwrap();
                assert_eq!(unicasts(&caught_up), 2);
                let left = if slept <= last { cover(slept.max(first), last) } else { vec![] };
                let (calls, seeds) = (u32::from(slept <= last), left.len() as u32);
                assert_eq!(wraps(&caught_up, SubgroupId(0)), (calls, seeds));
                assert_eq!(unwraps(&caught_up, MemberId(member)), (calls, seeds));
                let held = match profile {
                    Profile::Published => cover(0, 15),
                    Profile::Sound => cover(slept, 15),
                };
                assert_eq!(hashes(&caught_up, SubgroupId(0)), below(&held, &left));
                let present = (first..=last).contains(&slept);
                let expected = if present { rig.key_of(Controller) } else { None };
                assert_eq!(rig.key_of(MemberId(member).into()), expected);
            }
            rig.agreed_key().unwrap();
        }
    }
}

#[test]
fn nobody_joins_or_leaves_before_its_time() {
    let mut rig = rig(Profile::Sound, 4, 2, 0);
    rig.create(4).unwrap();
    let unsupported = RigError::Command(groupkey::error::Unsupported::Operation.into());
    assert_eq!(rig.add(4).map(drop), Err(unsupported.clone()));
    assert_eq!(rig.remove(3).map(drop), Err(unsupported));
    rig.agreed_key().unwrap();
}

fn rig(profile: Profile, depth: u32, subgroups: u32, planned: u32) -> Rig {
    let parameters = vec![("subgroups", subgroups), ("depth", depth), ("planned", planned)];
    Rig::new(scheme("marks").unwrap(), Settings { profile, parameters, ..Settings::default() })
}

/// Promises periods, which count from 0; epochs count from 1.
fn grant(rig: &mut Rig, member: u32, (first, last): (u32, u32)) -> OperationReport {
    rig.grant(member, u64::from(first) + 1, u64::from(last) + 1).unwrap()
}

/// The height of the largest node that begins at a period and does not go beyond `last`.
fn height(t: u32, last: u32) -> u32 {
    let fits = |&height: &u32| t.is_multiple_of(1 << height) && t + (1 << height) - 1 <= last;
    (0..=16).rev().find(fits).unwrap_or(0)
}

/// The first period and the height of each node of the cover.
fn cover(first: u32, last: u32) -> Vec<(u32, u32)> {
    let mut nodes = Vec::new();
    let mut t = first;
    while t <= last {
        nodes.push((t, height(t, last)));
        t += 1 << height(t, last);
    }
    nodes
}

fn below(held: &[(u32, u32)], nodes: &[(u32, u32)]) -> u32 {
    let above = |first| held.iter().rev().find(|&&(start, _)| start <= first).unwrap().1;
    nodes.iter().map(|&(first, height)| above(first) - height).sum()
}
