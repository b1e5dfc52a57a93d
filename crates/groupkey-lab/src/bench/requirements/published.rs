//! Compares tables 1 and 2 of S003 with what our runs did.

use groupkey::Operation;

use super::asked::SchemeRequirements;
use crate::bench::{Phase, Reach};

/// One entry of S003's tables beside ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementComparison {
    /// The subject of the entry, and the table.
    pub what: &'static str,
    /// What S003 says.
    pub published: String,
    /// What our run did.
    pub ours: String,
}

impl RequirementComparison {
    /// Whether the two are the same.
    pub fn agrees(&self) -> bool {
        self.published == self.ours
    }
}

/// Returns S003's tables beside a scheme's run; empty if S003 does not have the scheme.
pub fn compare(requirements: &SchemeRequirements) -> Vec<RequirementComparison> {
    let Some(entry) = PUBLISHED.iter().find(|entry| entry.scheme == requirements.scheme) else {
        return Vec::new();
    };
    let ours = |phase| names(&requirements.reaches(Operation::Create, phase));
    let secrecy = |changes: Option<bool>| yes_or_no(changes == Some(true));
    vec![
        RequirementComparison {
            what: "creation, deployment, confidential (table 1)",
            published: names(&[Reach::Unicast]),
            ours: ours(Phase::Deployment),
        },
        RequirementComparison {
            what: "creation, operational, public (table 1)",
            published: names(&[entry.operational]),
            ours: ours(Phase::Operational),
        },
        RequirementComparison {
            what: "group size (table 2)",
            published: limit(entry.is_limited),
            ours: limit(requirements.is_limited()),
        },
        RequirementComparison {
            what: "backward secrecy: a join changes the key at once (table 2)",
            published: yes_or_no(true),
            ours: secrecy(requirements.join_changes_key),
        },
        RequirementComparison {
            what: "forward secrecy: a leave changes the key at once (table 2)",
            published: yes_or_no(true),
            ours: secrecy(requirements.leave_changes_key),
        },
    ]
}

/// A column of S003's tables. All four schemes are unicast and confidential in deployment and
/// public in operation. All have forward and backward secrecy.
struct PublishedColumn {
    scheme: &'static str,
    operational: Reach,
    is_limited: bool,
}

const PUBLISHED: [PublishedColumn; 4] = [
    PublishedColumn { scheme: "skdc", operational: Reach::Unicast, is_limited: false },
    PublishedColumn { scheme: "nishat", operational: Reach::Broadcast, is_limited: true },
    PublishedColumn { scheme: "boneh-fat", operational: Reach::Broadcast, is_limited: true },
    PublishedColumn { scheme: "boneh-thin", operational: Reach::Unicast, is_limited: false },
];

fn names(reaches: &[Reach]) -> String {
    match reaches {
        [] => "none".to_owned(),
        _ => reaches.iter().map(|reach| reach.name()).collect::<Vec<_>>().join(" and "),
    }
}

fn limit(is_limited: bool) -> String {
    if is_limited { "limited" } else { "unlimited" }.to_owned()
}

fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::{Profile, scheme};

    use super::super::requirements;
    use super::*;

    /// The only difference: our fat client of the published profile gets the public key again in
    /// each broadcast and keeps none. Its footprint does not count what it is just taking in.
    #[test]
    fn the_published_tables_come_out() {
        for entry in &PUBLISHED {
            let scheme = scheme(entry.scheme).expect("in the catalogue");
            let found = requirements(scheme, Profile::Published).expect("it runs");
            let differing: Vec<_> =
                compare(&found).into_iter().filter(|comparison| !comparison.agrees()).collect();
            match entry.scheme {
                "boneh-fat" => {
                    assert_eq!(differing.len(), 1, "{differing:?}");
                    assert_eq!(differing[0].what, "group size (table 2)");
                }
                id => assert_eq!(differing, [], "{id}"),
            }
        }
        let tgdh = scheme("tgdh").expect("in the catalogue");
        assert_eq!(compare(&requirements(tgdh, Profile::Sound).expect("it runs")), []);
    }
}
