//! The moments in a group's life that a choice looks at.
//!
//! Messages of some schemes grow with the members that have left ([`Departures::Kept`]). A choice
//! takes the costs of such a scheme in the middle of the group's life, and holds the limits against
//! its end. What grows ever more slowly costs at most as much on average as in the middle.

use groupkey::catalogue::{Departures, Scheme};

use crate::requirements::Members;

/// A moment in a group's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Members.
    pub members: u32,
    /// Members that have left before, as far as the scheme's costs depend on it:
    /// [`Self::MOST_TURNOVERS`] times the members at most.
    pub departed: u32,
}

impl Moment {
    /// Costs do not grow noticeably after so many departures for each member: hardly anybody is
    /// still there who was at first.
    pub const MOST_TURNOVERS: u32 = 4;

    /// A turnover of one: as many members have left as the group has.
    pub(crate) const WHOLE: u32 = 1_000_000;

    /// Returns the moment at which a group of this many members has just been created.
    pub const fn fresh(members: u32) -> Self {
        Self { members, departed: 0 }
    }

    /// Returns a group of this many members after this many departures, as far as they matter.
    pub fn after(scheme: &Scheme, members: u32, departed: f64) -> Self {
        let most = members.saturating_mul(Self::MOST_TURNOVERS);
        match scheme.departures {
            Departures::Forgotten => Self::fresh(members),
            Departures::Kept(_) => Self { members, departed: (departed.round() as u32).min(most) },
        }
    }

    /// Returns the moment whose costs count: the present size, in the middle of the group's life.
    pub fn of_costs(scheme: &Scheme, members: &Members) -> Self {
        Self::after(scheme, members.now, members.departures() / 2.0)
    }

    /// Returns the moment at which limits must hold: the largest size, at the end of its life.
    pub fn of_limits(scheme: &Scheme, members: &Members) -> Self {
        Self::after(scheme, members.at_most(), members.departures())
    }

    /// Returns the turnover: departures for each member, in millionths.
    pub fn turnover(self) -> u32 {
        let share = f64::from(self.departed) / f64::from(self.members.max(1));
        (share * f64::from(Self::WHOLE)).round() as u32
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

    #[test]
    fn departures_matter_to_a_scheme_that_keeps_them_up_to_four_for_each_member() {
        let [sd, lkh] = ["sd", "lkh-group"].map(|id| scheme(id).expect("in the catalogue"));
        let mut members = Members { now: 100, most: 200, leaves: 0.5, ..Members::default() };
        members.lifetime = 20.0;
        assert_eq!(members.departures(), 240.0);
        let moment = |members, departed| Moment { members, departed };
        assert_eq!(Moment::of_costs(sd, &members), moment(100, 120));
        assert_eq!(Moment::of_limits(sd, &members), moment(200, 240));
        assert_eq!(Moment::of_costs(lkh, &members), Moment::fresh(100));
        assert_eq!(Moment::of_limits(lkh, &members), Moment::fresh(200));
        members.lifetime = 365.0;
        assert_eq!(Moment::of_costs(sd, &members), moment(100, 400));
        assert_eq!(moment(100, 25).turnover(), Moment::WHOLE / 4);
    }
}
