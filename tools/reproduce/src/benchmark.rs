//! The benchmark of three classes of schemes (Prantl et al. 2024, Discover Data,
//! doi 10.1007/s44248-024-00010-6; S002): a smart city for schemes with a controller, a platoon for
//! schemes without a controller.

mod findings;

use groupkey::Suite;
use groupkey::catalogue::{Class, Profile, Scheme};
use groupkey::protection::Guard;
use groupkey_lab::bench::BenchPlan;
use groupkey_lab::bench::workload::Workload;
use groupkey_lab::registry;

use super::study::{Study, StudyExtent};

pub(super) const STUDY: Study = Study {
    id: "benchmark",
    title: "What 24 schemes of three classes compute and keep, in a smart city and in a platoon",
    source: "T. Prantl et al.: Benchmarking of Secure Group Communication schemes with focus on IoT, \
             Discover Data (2024), doi 10.1007/s44248-024-00010-6",
    assumptions: &[
        "S002 plots its times; it prints rankings, bounds and what grows, and these are what is put to \
         the test.",
        "S002 measured members with MicroPython on an ESP32 and the controller with Python on an \
         i3-5005U. Both are modelled: counted primitives, priced by the device's profile. Times \
         measured here are of compiled code, and kept separate.",
        "The profiles' prices are assumed where S002 prints none, and the ESP32's of an unwrap was \
         assumed because of the bound of 47 ms: that bound is no test of it.",
        "Rankings of times are decided by the model, in the largest group; 10 % apart is a tie. What \
         grows with the group and what stays is decided by the counted primitives. Times measured \
         here stand beside both, and a finding says so if they say something else.",
        "Creation is both phases together, for S002 does not tell them apart. A member that is added \
         is the newcomer.",
        "LKH is the group-oriented one and G-DH is GDH.2; S002 does not say which it took. SBSA, XFKS \
         and Alohali are stand-ins: their published protocols could not be identified.",
        "Messages carry no MAC: S002's functions do not have one.",
    ],
    device: |role| match role {
        "controller" => "i3-5005u-python",
        _ => "esp32-micropython",
    },
    plans,
    examine: findings::examine,
};

/// Sizes of a city in the quick run: two small sizes, and the study's largest.
const QUICK_CITY: [u32; 3] = [2, 1_002, 54_902];

/// Name of the parameter for the number of subgroups of a city.
const SUBGROUPS: &str = "subgroups";

fn plans(extent: StudyExtent) -> Vec<BenchPlan> {
    let named = |name| Workload::named(name).expect("it is built in");
    let (city, platoon) = (named("smart-city"), named("platoon"));
    let ids = CENTRALIZED.into_iter().chain(HYBRID).chain(DISTRIBUTED);
    ids.map(|id| {
        let scheme = registry::schemes().find(|scheme| scheme.id == id);
        let scheme = scheme.expect("the catalogue has the study's schemes");
        let distributed = scheme.class() == Class::Distributed;
        let members = match (distributed, extent) {
            (true, StudyExtent::Full) => platoon.members.all().collect(),
            (true, StudyExtent::Quick) => platoon.members.few(4),
            (false, StudyExtent::Full) => city.members.few(12),
            (false, StudyExtent::Quick) => QUICK_CITY.to_vec(),
        };
        let parameters = match has_subgroups(scheme) {
            true => vec![(SUBGROUPS.to_owned(), city.subgroups)],
            false => Vec::new(),
        };
        BenchPlan {
            profile: Profile::Published,
            suite: Suite::Published,
            protection: Guard::None,
            parameters,
            repetitions: extent.of(100, 3),
            ..BenchPlan::new(scheme, members)
        }
    })
    .collect()
}

fn has_subgroups(scheme: &Scheme) -> bool {
    scheme.parameters.iter().any(|parameter| parameter.name == SUBGROUPS)
}

/// The centralized schemes of S002.
pub(crate) const CENTRALIZED: [&str; 11] = [
    "skdc",
    "gkmp",
    "lkh-group",
    "lkh-plus",
    "oft",
    "ofct",
    "cfkm",
    "s2rp",
    "sbsa-r",
    "sgcsh",
    "xfks-r",
];

/// The hybrid schemes of S002.
pub(super) const HYBRID: [&str; 7] =
    ["alohali-r", "dep", "igkmp", "kronos", "lnt", "marks", "riseg"];

/// The distributed schemes of S002.
pub(crate) const DISTRIBUTED: [&str; 6] = ["bd", "cka", "d-lkh", "d-oft", "dh-lkh", "gdh2"];
