//! The parties that exist. With a controller only the observed parties exist, so that 55,000
//! members are not 55,000 objects. Without a controller all parties exist.

use std::collections::{BTreeSet, HashMap};

use groupkey::catalogue::{Class, Recovery, Scheme};
use groupkey::{MemberId, SubgroupId};

/// The parties of a measured group, by purpose.
#[derive(Clone, Debug, Default)]
pub(crate) struct BenchParties {
    pub(crate) members: Vec<MemberId>,
    pub(crate) present: BTreeSet<MemberId>,
    pub(crate) subgroups: BTreeSet<SubgroupId>,
}

pub(crate) type Division = HashMap<MemberId, SubgroupId>;

/// How many members join or leave in a batch.
pub(crate) const BATCH: u32 = 2;

impl BenchParties {
    /// Returns the parties that are observed in a group of this many members.
    ///
    /// In a centralized scheme these are the first and the last member, the leaving member in the
    /// middle, and its neighbours. In a hybrid scheme, neighbours are members of the subgroups of
    /// the leaving and the joining member. If members hand keys on, all members of these subgroups
    /// are observed.
    pub(crate) fn new(scheme: &Scheme, count: u32, division: &Division) -> Self {
        let members: Vec<_> = (0..count).map(MemberId).collect();
        let (leaver, newcomer) = (leaver(count), newcomer(count));
        let in_place = |offset: u32| (offset < count).then_some(MemberId(offset));
        let present: BTreeSet<MemberId> = match scheme.class() {
            Class::Distributed => members.iter().copied().collect(),
            Class::Centralized => {
                let middle = leaver.0;
                let places =
                    [0, middle.saturating_sub(1), middle, middle + 1, middle + 2, count - 1];
                places.into_iter().filter_map(in_place).collect()
            }
            Class::Hybrid => {
                let concerned = [leaver, newcomer].map(|member| division.get(&member));
                let of = |subgroup: Option<&SubgroupId>| {
                    let inside = |member: &MemberId| division.get(member) == subgroup;
                    members.iter().copied().filter(inside).collect::<Vec<_>>()
                };
                let mut present: BTreeSet<_> = [MemberId(0), leaver].into();
                for neighbours in concerned.map(of) {
                    match (scheme.recovery, &neighbours[..]) {
                        (Recovery::Relay, all) => present.extend(all),
                        (_, [first, .., last]) => {
                            present.extend([*first, neighbours[neighbours.len() / 2], *last]);
                        }
                        (_, few) => present.extend(few),
                    }
                }
                present
            }
        };
        let subgroups = present.iter().chain([&newcomer]);
        let subgroups = subgroups.filter_map(|member| division.get(member)).copied().collect();
        Self { members, present, subgroups }
    }
}

/// Returns the member that leaves a group of this many members: the member in the middle.
pub(crate) const fn leaver(count: u32) -> MemberId {
    MemberId(count / 2)
}

pub(crate) const fn newcomer(count: u32) -> MemberId {
    MemberId(count)
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

    #[test]
    fn a_large_served_group_is_six_objects_and_a_distributed_one_is_whole() {
        let present = |id: &str, count: u32, division: &Division| {
            let scheme = scheme(id).expect("in the catalogue");
            BenchParties::new(scheme, count, division)
        };
        let parties = present("lkh-group", 55_000, &Division::new());
        let ids: Vec<_> = parties.present.iter().map(|member| member.0).collect();
        assert_eq!(ids, [0, 27_499, 27_500, 27_501, 27_502, 54_999]);
        assert_eq!(present("lkh-group", 2, &Division::new()).present.len(), 2);
        assert_eq!(present("tgdh", 30, &Division::new()).present.len(), 30);
    }

    #[test]
    fn of_a_hybrid_group_the_subgroups_are_there_that_change() {
        let division: Division = (0..=100).map(|m| (MemberId(m), SubgroupId(m % 10))).collect();
        let parties =
            |id: &str| BenchParties::new(scheme(id).expect("in the catalogue"), 100, &division);
        let few = parties("igkmp");
        // Member 50, in the middle, is in subgroup 0, like the joining member and the first member.
        assert_eq!(few.subgroups, [SubgroupId(0)].into());
        assert_eq!(few.present, [0, 50, 90].map(MemberId).into());
        let chain = parties("riseg");
        assert_eq!(chain.present, (0..10).map(|m| MemberId(m * 10)).collect());
    }
}
