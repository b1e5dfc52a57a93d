//! Who is compared, and how large the groups are: by properties of the catalogue's entries, so that a
//! new scheme comes in by itself.

use groupkey::Operation;
use groupkey::catalogue::growth::{Form, Role};
use groupkey::catalogue::{Class, Departures, Law, Profile, Provenance, Scheme};

use crate::registry;

/// Schemes of foreign libraries that a command has if it was built with the feature `mls`.
pub const LIBRARIES: [&str; 2] = ["mls-rs", "openmls"];

/// Returns the schemes that do the same job: members join and leave, all of them have one key, and who
/// has left, or was not there yet, has not, even together. Stand-ins for unknown protocols are left out.
pub fn contenders() -> impl Iterator<Item = &'static Scheme> {
    registry::schemes().filter(|scheme| is_contender(scheme))
}

/// What a group has been through when an operation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupPast {
    /// Nothing but its creation.
    New,
    /// Each member has changed the key once.
    Populated,
    /// As many members have left as it has, each replaced by another one.
    Departed,
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerExtent {
    /// All sizes.
    Full,
    /// Sizes up to 100, and few runs.
    Quick,
}

impl GroupPast {
    /// All, the shortest past first.
    pub const ALL: [Self; 3] = [Self::New, Self::Populated, Self::Departed];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Populated => "populated",
            Self::Departed => "departed",
        }
    }

    /// Returns what it means, in words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::New => {
                "a group that was just created; a tree of MLS is blank then but for its leaves"
            }
            Self::Populated => "each member has changed the key once, so a tree is full of keys",
            Self::Departed => {
                "as many members have left as the group has, each replaced by another one, so a tree \
                 of MLS has blanks and unmerged leaves, and stateless keys have holes"
            }
        }
    }

    /// Whether the costs of a scheme may depend on it.
    ///
    /// Members that change the key in turn leave something behind in a tree that they fill. Departures
    /// count where slots are kept, or where such a tree gets holes.
    pub fn is_felt_by(self, scheme: &Scheme) -> bool {
        let has = |operation| scheme.operations.contains(&operation);
        let takes_turns = scheme.class() == Class::Distributed && has(Operation::Rekey);
        match self {
            Self::New => true,
            Self::Populated => takes_turns,
            Self::Departed => {
                scheme.departures != Departures::Forgotten || (takes_turns && has(Operation::Batch))
            }
        }
    }
}

impl PeerExtent {
    /// Returns the sizes of a scheme's groups (members) with a past, ascending. Larger groups would take
    /// hours: how fast the work of a whole group grows follows from the growth that the scheme states.
    pub fn sizes(self, scheme: &Scheme, past: GroupPast) -> impl Iterator<Item = u32> + use<> {
        let sizes: &[u32] = match self {
            Self::Full => &[2, 10, 100, 1_000, 10_000, 55_000],
            Self::Quick => &[2, 10, 100],
        };
        let most = self.most(power(scheme), past);
        let (least, limit) = scheme.members;
        sizes.iter().copied().filter(move |size| (least..=limit.min(most)).contains(size))
    }

    /// How often each group is run in a network of chance.
    pub(super) const fn runs(self) -> u32 {
        match self {
            Self::Full => 5,
            Self::Quick => 3,
        }
    }

    const fn most(self, power: u32, past: GroupPast) -> u32 {
        // So many changes precede the measured one that the power grows by one.
        let power = match past {
            GroupPast::New => power,
            GroupPast::Departed | GroupPast::Populated => power + 1,
        };
        match (self, power) {
            (Self::Full, ..=1) => 55_000,
            (Self::Full, 2) => 1_000,
            (Self::Full, _) | (Self::Quick, ..=2) => 100,
            (Self::Quick, _) => 10,
        }
    }
}

fn is_contender(scheme: &Scheme) -> bool {
    let claims = scheme.claims;
    claims.forward_secrecy
        && claims.backward_secrecy
        && claims.collusion_resistance
        && scheme.law == Law::OneKey
        && scheme.provenance != Provenance::StandIn
        && Operation::MEASURED.iter().all(|operation| scheme.operations.contains(operation))
}

/// Returns the power of n that bounds the work of all parties together in an operation.
fn power(scheme: &Scheme) -> u32 {
    if scheme.computes_pairings() {
        // Each costs a thousand times as much as what others count.
        return 3;
    }
    let of = |operation, role| {
        let by = scheme.growth_of(Profile::Sound, operation, role)?;
        let power = match by {
            Form::Constant | Form::Logarithmic | Form::LogarithmSquared => 0,
            Form::Linear | Form::Linearithmic => 1,
            Form::Quadratic => 2,
        };
        Some(power + u32::from(role == Role::Member))
    };
    let all = Operation::MEASURED
        .into_iter()
        .flat_map(|operation| Role::ALL.into_iter().filter_map(move |role| of(operation, role)));
    // Who states nothing may let each member look at all others, as distributed schemes do.
    let unknown = if scheme.class() == Class::Distributed { 2 } else { 1 };
    all.max().unwrap_or(unknown).max(unknown)
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::{SCHEMES, scheme};

    use super::*;

    fn named(id: &str) -> &'static Scheme {
        scheme(id).expect("in the catalogue")
    }

    #[test]
    fn who_does_the_same_job_is_compared() {
        let ids: Vec<&str> = contenders().map(|scheme| scheme.id).collect();
        for id in ["skdc", "lkh-group", "oft", "sd", "cs", "tgdh", "str", "treekem"] {
            assert!(ids.contains(&id), "{id} is not in {ids:?}");
        }
        for id in ["sbsa-r", "iolus", "marks", "cka"] {
            assert!(!ids.contains(&id), "{id} is in {ids:?}");
        }
        assert!(ids.len() < SCHEMES.len());
    }

    #[test]
    fn a_past_is_felt_by_trees_of_members_and_by_stateless_keys() {
        let felt = |id| GroupPast::ALL.map(|past| past.is_felt_by(named(id)));
        assert_eq!(felt("treekem"), [true, true, true]);
        assert_eq!(felt("sd"), [true, false, true]);
        assert_eq!(felt("skdc"), [true, false, false]);
    }

    #[test]
    fn groups_end_where_they_would_take_hours_or_the_scheme_does() {
        let sizes =
            |extent: PeerExtent, id, past| extent.sizes(named(id), past).collect::<Vec<_>>();
        let (full, quick) = (PeerExtent::Full, PeerExtent::Quick);
        assert_eq!(sizes(full, "skdc", GroupPast::New).last(), Some(&55_000));
        assert_eq!(sizes(quick, "skdc", GroupPast::New), [2, 10, 100]);
        assert!(sizes(full, "tgdh", GroupPast::New).last() <= Some(&1_000));
        assert_eq!(sizes(quick, "treekem", GroupPast::Populated), [2, 10]);
        for scheme in contenders() {
            let most = full.sizes(scheme, GroupPast::New).last();
            assert!(most.is_some_and(|most| most <= scheme.members.1), "{}", scheme.id);
        }
    }
}
