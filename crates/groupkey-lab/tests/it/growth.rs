//! What each scheme says of the growth of its costs, held against what real runs count.
//!
//! A whole group runs in the rig at several sizes. The counted primitives of each role are priced with
//! the times of the profile `host`; the form of growth that the catalogue states must fit them.

use std::collections::BTreeMap;

use groupkey::catalogue::growth::Role;
use groupkey::catalogue::{Class, Profile, SCHEMES, Scheme};
use groupkey::{MemberId, Operation, Suite};
use groupkey_lab::bench::growth::{CostAtSize, GrowthFit};
use groupkey_lab::device::{Costs, DeviceProfile};
use groupkey_testkit::rig::{Guard, OperationReport, Rig, Settings};
use groupkey_testkit::sample;

#[test]
fn costs_grow_as_the_catalogue_says_in_the_published_form() {
    costs_grow_as_the_catalogue_says(Profile::Published);
}

#[test]
fn costs_grow_as_the_catalogue_says_in_the_sound_form() {
    costs_grow_as_the_catalogue_says(Profile::Sound);
}

fn costs_grow_as_the_catalogue_says(profile: Profile) {
    let host = DeviceProfile::named("host").expect("built in");
    let costs = host.costs(Suite::Standard).expect("of every suite");
    let mut disagreements = Vec::new();
    for scheme in sample::one_in(3, SCHEMES) {
        let curves = curves(scheme, profile, costs);
        for (&(operation, role), points) in &curves {
            let stated = scheme.growth_of(profile, operation, role);
            if stated.is_some_and(|form| GrowthFit::allows(form, points)) {
                continue;
            }
            let found = GrowthFit::of(points).map(|fit| fit.form);
            let (id, operation, role) = (scheme.id, operation.name(), role.name());
            let points = told(points);
            disagreements.push(format!(
                "{id} {operation} {role}: stated {stated:?}, found {found:?} in {points}"
            ));
        }
        for growth in scheme.growth {
            for &operation in growth.operations {
                let ran = curves.contains_key(&(operation, growth.role));
                if growth.concerns(profile, operation, growth.role) && !ran {
                    let (id, operation, role) = (scheme.id, operation.name(), growth.role.name());
                    disagreements
                        .push(format!("{id} {operation} {role}: stated, but no such cost"));
                }
            }
        }
    }
    assert!(disagreements.is_empty(), "{}:\n{}", profile.name(), disagreements.join("\n"));
}

/// Members when an operation begins; what a creation makes. One less than a power of 2, so that a party
/// that joins a key tree comes to its deepest place.
const SERVED: &[u32] = &[3, 7, 15, 31, 63, 127, 191, 255];
/// The same for trees of Diffie-Hellman, where that is so of a full tree.
const PEERS: &[u32] = &[4, 8, 16, 32, 64, 128];
/// Enough for subgroups that are never empty.
const DIVIDED: &[u32] = &[63, 95, 127, 191, 255, 319, 383, 511];
/// Where parties compute pairings; for fewer powers than 16, Boneh+ makes no table.
const PAIRED: &[u32] = &[16, 18, 20, 22, 24, 26, 28, 30];

type Curves = BTreeMap<(Operation, Role), Vec<CostAtSize>>;

fn curves(scheme: &'static Scheme, profile: Profile, costs: &Costs) -> Curves {
    let sizes = match (scheme.class(), scheme.id) {
        (_, "boneh-fat" | "boneh-thin" | "fame" | "nishat") => PAIRED,
        (Class::Centralized, _) => SERVED,
        (Class::Distributed, _) => PEERS,
        (Class::Hybrid, _) => DIVIDED,
    };
    // Without protection, for lengths of messages are not what the tables of costs are about.
    let mut settings = Settings { profile, protection: Guard::None, ..Settings::default() };
    match (scheme.class(), scheme.id) {
        (_, "boneh-fat") => settings.parameters.push(("capacity", 64)),
        // Layers of three levels: with more, few sizes differ.
        (_, "lsd") => settings.parameters.push(("bits", 9)),
        (Class::Hybrid, _) => settings.parameters.push(("subgroups", 4)),
        _ => {}
    }

    let mut curves = Curves::new();
    for &members in sizes {
        let mut note = |operation, report: &OperationReport| {
            for (role, cost) in busiest(scheme, operation, members, report, costs) {
                curves.entry((operation, role)).or_default().push(CostAtSize { members, cost });
            }
        };
        let has = |operation| scheme.operations.contains(&operation);
        let mut rig = Rig::new(scheme, settings.clone());
        note(Operation::Create, &rig.create(members).expect("it creates"));
        if has(Operation::Add) {
            note(Operation::Add, &rig.add(members).expect("it adds"));
        }
        if has(Operation::Remove) {
            let mut rig = Rig::new(scheme, settings.clone());
            rig.create(members).expect("it creates");
            note(Operation::Remove, &rig.remove(members / 2).expect("it removes"));
        }
    }
    curves
}

/// What the party of each role with the most to do computes (ns).
fn busiest(
    scheme: &Scheme,
    operation: Operation,
    members: u32,
    report: &OperationReport,
    costs: &Costs,
) -> Vec<(Role, f64)> {
    let mut by_role: BTreeMap<Role, Vec<u64>> = BTreeMap::new();
    for (&party, meter) in &report.meters {
        let joins = operation == Operation::Add && party == MemberId(members).into();
        let role = if joins { Role::NewMember } else { Role::of_party(party) };
        by_role.entry(role).or_default().push(costs.computation(meter));
    }
    let mut busiest = Vec::new();
    for (role, mut costs) in by_role {
        costs.sort_unstable();
        if (scheme.class(), role) == (Class::Distributed, Role::Member) {
            busiest.extend(costs.pop().map(|cost| (Role::Sponsor, cost as f64)));
        }
        busiest.extend(costs.pop().map(|cost| (role, cost as f64)));
    }
    busiest
}

fn told(points: &[CostAtSize]) -> String {
    let told = points.iter().map(|point| format!("{}: {}", point.members, point.cost));
    told.collect::<Vec<_>>().join(", ")
}
