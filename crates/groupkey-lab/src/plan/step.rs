//! The steps in a group's life, one after the other.

use std::fmt;
use std::str::FromStr;

use groupkey::Operation;
use groupkey::catalogue::Scheme;

/// One step in a group's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// What happens.
    pub action: PlanAction,
    /// Whether the step becomes a row of the results.
    pub reported: bool,
}

/// What can happen to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAction {
    /// A new member joins; it gets the next number.
    Add,
    /// New members join and members in the middle leave, in one change.
    Batch {
        /// How many join.
        joining: u32,
        /// How many leave.
        leaving: u32,
    },
    /// The group is created with members 0, 1, ...
    Create,
    /// A new epoch begins with the same members.
    Rekey,
    /// This member leaves; `None` means a member in the middle.
    Remove(Option<u32>),
    /// A member in the middle begins a message, in schemes that have keys for messages.
    Send,
    /// So many members leave, and each is replaced by another one: a past for the group. Who leaves
    /// is drawn, in the same way each time.
    Turnover(u32),
}

/// How many members join and how many leave in a batch, unless other numbers are given.
pub const BATCH: u32 = 2;

/// The most members that may leave in one turnover. A larger number is treated as a typing error.
pub const MOST_DEPARTURES: u32 = 1_000_000;

impl PlanStep {
    /// Returns the steps that measure these operations: creation, a join, a leave, a rekey, a message
    /// and a batch, in this order and as far as needed. The steps before an operation do not depend on
    /// the operations asked for. A row can therefore be replayed alone.
    pub fn history(scheme: &Scheme, operations: &[Operation]) -> Vec<Self> {
        let steps = [
            (Operation::Create, PlanAction::Create),
            (Operation::Add, PlanAction::Add),
            (Operation::Remove, PlanAction::Remove(None)),
            (Operation::Rekey, PlanAction::Rekey),
            (Operation::Send, PlanAction::Send),
            (Operation::Batch, PlanAction::BATCH),
        ];
        let last = steps.iter().rposition(|(operation, _)| operations.contains(operation));
        steps
            .into_iter()
            .take(last.map_or(0, |last| last + 1))
            .map(|(operation, action)| (operations.contains(&operation), operation, action))
            .filter(|(asked, operation, _)| *asked || scheme.operations.contains(operation))
            .map(|(reported, _, action)| Self { action, reported })
            .collect()
    }
}

impl PlanAction {
    /// The usual batch.
    pub const BATCH: Self = Self::Batch { joining: BATCH, leaving: BATCH };
    /// The most members that join, and the most that leave, in a batch: as many as a service takes
    /// at once.
    pub const MOST_AT_ONCE: u32 = 64;

    /// Returns how many members join a group that is there.
    pub const fn newcomers(self) -> u32 {
        match self {
            Self::Add => 1,
            Self::Batch { joining, .. } => joining,
            Self::Turnover(departures) => departures,
            Self::Create | Self::Rekey | Self::Remove(_) | Self::Send => 0,
        }
    }

    /// Returns the operation of this action.
    pub const fn operation(self) -> Operation {
        match self {
            Self::Add => Operation::Add,
            Self::Batch { .. } => Operation::Batch,
            Self::Create => Operation::Create,
            Self::Rekey => Operation::Rekey,
            Self::Remove(_) | Self::Turnover(_) => Operation::Remove,
            Self::Send => Operation::Send,
        }
    }
}

/// `create`, `add`, `batch`, `batch 5 3`, `rekey`, `send`, `remove`, `remove 3` or `turnover 100`.
impl FromStr for PlanAction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["add"] => Ok(Self::Add),
            ["batch"] => Ok(Self::BATCH),
            ["batch", joining, leaving] => match (joining.parse(), leaving.parse()) {
                (Ok(joining), Ok(leaving)) => Ok(Self::Batch { joining, leaving }),
                _ => Err(format!("{text:?} has no two numbers; write batch 5 3: five join")),
            },
            ["create"] => Ok(Self::Create),
            ["rekey"] => Ok(Self::Rekey),
            ["send"] => Ok(Self::Send),
            ["remove"] => Ok(Self::Remove(None)),
            ["remove", member] => match member.parse() {
                Ok(member) => Ok(Self::Remove(Some(member))),
                Err(_) => Err(format!("{member:?} is not a member's number; write remove 3")),
            },
            ["turnover", departures] => match departures.parse() {
                Ok(departures @ 1..=MOST_DEPARTURES) => Ok(Self::Turnover(departures)),
                _ => Err(format!(
                    "{departures:?} is no number of members that leave; write turnover 100, \
                     {MOST_DEPARTURES} at most"
                )),
            },
            _ => Err(format!(
                "{text:?} is not an operation; write create, add, remove, remove 3, rekey, send, \
                 batch or turnover 100"
            )),
        }
    }
}

impl fmt::Display for PlanAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch { joining, leaving } if *self != Self::BATCH => {
                write!(f, "batch {joining} {leaving}")
            }
            Self::Remove(Some(member)) => write!(f, "remove {member}"),
            Self::Turnover(departures) => write!(f, "turnover {departures}"),
            _ => f.write_str(self.operation().name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

    #[test]
    fn a_history_leads_up_to_what_is_asked_for() {
        let skdc = scheme("skdc").expect("in the catalogue");
        let history = PlanStep::history(skdc, &[Operation::Remove]);
        let told: Vec<_> = history.iter().map(|s| (s.action.to_string(), s.reported)).collect();
        let expected = [("create", false), ("add", false), ("remove", true)];
        assert_eq!(told, expected.map(|(action, reported)| (action.to_owned(), reported)));
        assert_eq!(PlanStep::history(skdc, &[Operation::Create]).len(), 1);
    }

    #[test]
    fn actions_are_read_as_they_are_written() {
        for text in [
            "create",
            "add",
            "batch",
            "batch 5 0",
            "remove",
            "remove 3",
            "rekey",
            "send",
            "turnover 100",
        ] {
            assert_eq!(
                text.parse::<PlanAction>().map(|action| action.to_string()),
                Ok(text.to_owned())
            );
        }
        assert!("turnover 0".parse::<PlanAction>().is_err_and(|told| told.contains("1000000")));
        assert_eq!(
            "batch 2 2".parse::<PlanAction>().map(|batch| batch.to_string()),
            Ok("batch".into())
        );
        assert!(
            "batch 5".parse::<PlanAction>().is_err_and(|told| told.contains("not an operation"))
        );
        assert!("batch 5 x".parse::<PlanAction>().is_err_and(|told| told.contains("batch 5 3")));
        assert!("remove x".parse::<PlanAction>().is_err_and(|told| told.contains("remove 3")));
        assert!("join".parse::<PlanAction>().is_err_and(|told| told.contains("write create")));
    }
}
