//! Who is ahead, over which sizes, and by how much.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::Serialize;

use super::contender::GroupPast;
use super::network::PeerNetwork;
use super::reading::reason;
use super::row::{PeerEffort, PeerRow};
use crate::registry;

/// A quantity in which schemes are compared; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeerQuantity {
    /// Time until the last member has the new key (ms).
    Completion,
    /// What the party that makes the change computes (ms).
    Sender,
    /// What a member that was there computes (ms).
    Member,
    /// What the member that joins computes (ms).
    Newcomer,
    /// Bytes of all messages.
    Payload,
    /// Bytes of the packets that reach a member.
    Received,
    /// Key material that a member keeps (bytes).
    Keys,
}

/// Who competes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeerField {
    /// All schemes.
    All,
    /// Those without a controller.
    WithoutController,
}

/// Who is ahead in one quantity of one operation, over a stretch of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PeerLead {
    /// `create`, `add` or `remove`.
    pub operation: String,
    /// The quantity.
    pub quantity: PeerQuantity,
    /// The network, where the quantity depends on it.
    pub network: Option<&'static str>,
    /// What the groups have been through.
    pub past: &'static str,
    /// Who competes.
    pub field: PeerField,
    /// The smallest and the largest size at which they are ahead (members).
    pub members: (u32, u32),
    /// The sizes in this stretch.
    pub sizes: usize,
    /// Who is ahead: none of them is more than 5 % behind another at any of these sizes.
    pub ahead: Vec<String>,
    /// The least value at the largest size, in the quantity's unit.
    pub value: f64,
    /// The best of the others at the largest size.
    pub next: Option<PeerRival>,
    /// The last at the largest size.
    pub last: Option<PeerRival>,
    /// Why the last is behind, from the rows of both.
    pub reason: String,
}

/// A scheme that is behind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PeerRival {
    /// The scheme.
    pub scheme: String,
    /// How many times the least value it has; absent if that is zero.
    pub times: Option<f64>,
}

impl PeerQuantity {
    /// All, in the order in which tables show them.
    pub const ALL: [Self; 7] = [
        Self::Completion,
        Self::Sender,
        Self::Member,
        Self::Newcomer,
        Self::Payload,
        Self::Received,
        Self::Keys,
    ];

    /// Returns it in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Completion => "time until all have the key",
            Self::Keys => "keys that a member keeps",
            Self::Member => "computing of a member",
            Self::Newcomer => "computing of the newcomer",
            Self::Payload => "bytes of all messages",
            Self::Received => "bytes that reach a member",
            Self::Sender => "computing of who makes the change",
        }
    }

    /// Whether it depends on the network.
    pub const fn is_of_a_network(self) -> bool {
        matches!(self, Self::Completion)
    }

    /// Whether it is a time (ms); otherwise it is an amount of bytes.
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Completion | Self::Member | Self::Newcomer | Self::Sender)
    }

    /// Returns a row's value, if it has one.
    pub fn of(self, row: &PeerRow) -> Option<f64> {
        match self {
            Self::Completion => Some(row.completion_ms),
            Self::Keys => Some(row.member_keys_bytes as f64),
            Self::Member | Self::Newcomer | Self::Sender => {
                self.effort(row).map(|effort| effort.ms)
            }
            Self::Payload => Some(row.payload_bytes as f64),
            Self::Received => Some(row.received_bytes),
        }
    }

    /// Returns the effort that it measures, if it measures one.
    pub(super) const fn effort(self, row: &PeerRow) -> Option<&PeerEffort> {
        match self {
            Self::Member => row.member.as_ref(),
            Self::Newcomer => row.newcomer.as_ref(),
            Self::Sender => Some(&row.sender),
            Self::Completion | Self::Keys | Self::Payload | Self::Received => None,
        }
    }
}

impl PeerField {
    /// Both.
    pub const ALL: [Self; 2] = [Self::All, Self::WithoutController];

    /// Returns it in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::All => "all schemes",
            Self::WithoutController => "schemes without a controller",
        }
    }

    fn has(self, row: &PeerRow) -> bool {
        self == Self::All || row.class == "distributed"
    }
}

/// Returns who is ahead: for each quantity, operation, past, network and field one lead for each
/// stretch of sizes. Where a past is of no account to a scheme, its rows of new groups stand for it.
pub fn leads(rows: &[PeerRow]) -> Vec<PeerLead> {
    let mut leads = Vec::new();
    for past in GroupPast::ALL {
        if !rows.iter().any(|row| row.past == past.name()) {
            continue;
        }
        for operation in ["create", "add", "remove"] {
            for quantity in PeerQuantity::ALL {
                let networks = match quantity.is_of_a_network() {
                    true => PeerNetwork::ALL.to_vec(),
                    false => vec![PeerNetwork::Lan],
                };
                for network in networks {
                    for field in PeerField::ALL {
                        let race = Race { operation, quantity, network, past, field };
                        leads.extend(race.leads(rows));
                    }
                }
            }
        }
    }
    leads
}

/// What rows compete in.
struct Race {
    operation: &'static str,
    quantity: PeerQuantity,
    network: PeerNetwork,
    past: GroupPast,
    field: PeerField,
}

/// A value and its row, from the least on.
type Ranking<'r> = Vec<(f64, &'r PeerRow)>;

impl Race {
    fn leads(&self, rows: &[PeerRow]) -> Vec<PeerLead> {
        let sizes: BTreeSet<u32> = rows.iter().map(|row| row.members).collect();
        let rankings = sizes.into_iter().map(|members| (members, self.ranking(rows, members)));
        // One alone is not ahead of anybody.
        let rankings: Vec<_> = rankings.filter(|(_, ranking)| ranking.len() > 1).collect();
        let mut leads: Vec<PeerLead> = Vec::new();
        for (members, ranking) in &rankings {
            let first = first_of(ranking);
            let (from, sizes, ahead) = match leads.last() {
                Some(before) if first.iter().any(|id| before.ahead.contains(id)) => {
                    let both = first.into_iter().filter(|id| before.ahead.contains(id));
                    (before.members.0, before.sizes + 1, both.collect())
                }
                _ => (*members, 1, first),
            };
            if sizes > 1 {
                leads.pop();
            }
            leads.push(self.lead((from, *members), sizes, ahead, ranking));
        }
        leads
    }

    /// Ranks the rows of a size.
    fn ranking<'r>(&self, rows: &'r [PeerRow], members: u32) -> Ranking<'r> {
        let is_in = |row: &&PeerRow| {
            row.operation == self.operation
                && row.members == members
                && row.network == self.network.name()
                && self.field.has(row)
        };
        let of_past = rows.iter().filter(is_in).filter(|row| {
            row.past == self.past.name()
                || (row.past == GroupPast::New.name() && !self.is_felt_by(&row.scheme))
        });
        let mut ranking: Ranking<'r> =
            of_past.filter_map(|row| Some((self.quantity.of(row)?, row))).collect();
        let order = |a: &(f64, &PeerRow), b: &(f64, &PeerRow)| -> Ordering {
            a.0.total_cmp(&b.0).then_with(|| a.1.scheme.cmp(&b.1.scheme))
        };
        ranking.sort_by(order);
        // A past that nobody feels at this size is told by new groups.
        let is_told = self.past == GroupPast::New
            || ranking.iter().any(|(_, row)| row.past == self.past.name());
        if is_told { ranking } else { Ranking::new() }
    }

    fn is_felt_by(&self, scheme: &str) -> bool {
        registry::scheme(scheme).is_none_or(|scheme| self.past.is_felt_by(scheme))
    }

    fn lead(
        &self,
        members: (u32, u32),
        sizes: usize,
        ahead: Vec<String>,
        ranking: &Ranking<'_>,
    ) -> PeerLead {
        let (value, best) = ranking[0];
        let rival = |(of, row): &(f64, &PeerRow)| PeerRival {
            scheme: row.scheme.clone(),
            times: (value > 0.0).then(|| of / value),
        };
        let others = || ranking.iter().filter(|(_, row)| !ahead.contains(&row.scheme));
        let last = others().next_back();
        PeerLead {
            operation: self.operation.to_owned(),
            quantity: self.quantity,
            network: self.quantity.is_of_a_network().then(|| self.network.name()),
            past: self.past.name(),
            field: self.field,
            members,
            sizes,
            value,
            next: others().next().map(rival),
            last: last.map(rival),
            reason: last.map_or_else(String::new, |(_, last)| reason(self.quantity, best, last)),
            ahead,
        }
    }
}

/// Returns the first, and who is hardly behind.
fn first_of(ranking: &Ranking<'_>) -> Vec<String> {
    let least = ranking[0].0;
    let first = ranking.iter().take_while(|(value, _)| *value <= least * (1.0 + TIE));
    first.map(|(_, row)| row.scheme.clone()).collect()
}

/// Nobody chooses a scheme for less than this.
const TIE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn lead_of(rows: &[PeerRow], field: PeerField) -> Vec<PeerLead> {
        let is_it = |lead: &PeerLead| {
            (lead.quantity, lead.network, lead.field)
                == (PeerQuantity::Completion, Some("lan"), field)
        };
        leads(rows).into_iter().filter(is_it).collect()
    }

    #[test]
    fn who_is_ahead_changes_with_the_size() {
        let rows = [
            PeerRow::example("skdc", 2, 1.0),
            PeerRow::example("lkh-group", 2, 1.03),
            PeerRow::example("skdc", 10, 2.0),
            PeerRow::example("lkh-group", 10, 2.2),
            PeerRow::example("skdc", 100, 20.0),
            PeerRow::example("lkh-group", 100, 4.0),
        ];
        let found = lead_of(&rows, PeerField::All);
        let told: Vec<_> =
            found.iter().map(|lead| (lead.members, lead.ahead.join(" "), lead.sizes)).collect();
        assert_eq!(
            told,
            [((2, 10), "skdc".to_owned(), 2), ((100, 100), "lkh-group".to_owned(), 1)]
        );
        let next = found[1].next.as_ref().expect("skdc is behind");
        assert_eq!((&*next.scheme, next.times), ("skdc", Some(5.0)));
        assert_eq!(found[0].last, found[0].next);
        assert_eq!(lead_of(&rows, PeerField::WithoutController), []);
    }

    #[test]
    fn nobody_is_ahead_alone_and_a_tie_has_no_next() {
        let one = [PeerRow::example("skdc", 2, 1.0)];
        assert_eq!(leads(&one), []);
        let two = [PeerRow::example("skdc", 2, 1.0), PeerRow::example("oft", 2, 1.04)];
        let found = lead_of(&two, PeerField::All);
        assert_eq!((found[0].ahead.len(), &found[0].next), (2, &None));
    }

    #[test]
    fn a_past_that_a_scheme_does_not_feel_is_told_by_its_new_group() {
        let past = |row: PeerRow| PeerRow { past: "departed".to_owned(), ..row };
        let rows = [
            PeerRow::example("skdc", 100, 20.0),
            PeerRow::example("sd", 100, 2.0),
            past(PeerRow::example("sd", 100, 30.0)),
        ];
        let found = lead_of(&rows, PeerField::All);
        let told: Vec<_> = found.iter().map(|lead| (lead.past, lead.ahead.join(" "))).collect();
        assert_eq!(told, [("new", "sd".to_owned()), ("departed", "skdc".to_owned())]);
    }

    #[test]
    fn no_value_divides_by_zero() {
        let nothing = PeerRow::example("skdc", 2, 0.0);
        let rows = [nothing, PeerRow::example("oft", 2, 1.0)];
        let found = lead_of(&rows, PeerField::All);
        assert_eq!(found[0].next.as_ref().and_then(|next| next.times), None);
    }
}
