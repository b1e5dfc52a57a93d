//! What is measured: the operations of groups, and what members do with the group's key.

use groupkey::Operation;
use groupkey::catalogue::Scheme;

/// An activity of a group or of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Activity {
    /// A group of n members is created.
    Create,
    /// One more member joins.
    Add,
    /// The member in the middle leaves.
    Remove,
    /// Two members join and two in the middle leave, in one change.
    Batch,
    /// A new period begins, with the same members.
    Rekey,
    /// The member in the middle begins a message, if messages have keys and the group has none.
    Send,
    /// The group splits into halves. Each half goes on by itself.
    Partition,
    /// The two halves merge.
    Merge,
    /// A member encrypts a message of B bytes to the group.
    Encrypt,
    /// Another member decrypts it.
    Decrypt,
}

impl Activity {
    /// All activities, in the order in which tables show them.
    pub const ALL: [Self; 10] = [
        Self::Create,
        Self::Add,
        Self::Remove,
        Self::Batch,
        Self::Rekey,
        Self::Send,
        Self::Partition,
        Self::Merge,
        Self::Encrypt,
        Self::Decrypt,
    ];

    /// The activities that S002 measures.
    pub const GROUP: [Self; 3] = [Self::Create, Self::Add, Self::Remove];

    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decrypt => "decrypt",
            Self::Encrypt => "encrypt",
            _ => match self.operation() {
                Some(operation) => operation.name(),
                None => unreachable!(),
            },
        }
    }

    /// Returns the activity in words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Create => "the group is created",
            Self::Add => "a new member joins a running group",
            Self::Remove => "the member in the middle leaves a running group",
            Self::Batch => "two members join and two leave in one change",
            Self::Rekey => "a new period begins with the same members",
            Self::Send => "a member distributes a message's key, in schemes without a group key",
            Self::Partition => "the group splits into two halves",
            Self::Merge => "the two halves merge",
            Self::Encrypt => "a member encrypts a message to the group",
            Self::Decrypt => "another member decrypts it",
        }
    }

    /// Returns the scheme's operation; `None` for encrypting and decrypting.
    pub const fn operation(self) -> Option<Operation> {
        match self {
            Self::Create => Some(Operation::Create),
            Self::Add => Some(Operation::Add),
            Self::Remove => Some(Operation::Remove),
            Self::Batch => Some(Operation::Batch),
            Self::Rekey => Some(Operation::Rekey),
            Self::Send => Some(Operation::Send),
            Self::Partition => Some(Operation::Partition),
            Self::Merge => Some(Operation::Merge),
            Self::Encrypt | Self::Decrypt => None,
        }
    }

    /// Returns the activity of a scheme's operation.
    pub fn of(operation: Operation) -> Option<Self> {
        Self::ALL.into_iter().find(|activity| activity.operation() == Some(operation))
    }

    /// Whether a scheme has the activity.
    pub fn is_of(self, scheme: &Scheme) -> bool {
        self.operation().is_none_or(|operation| scheme.operations.contains(&operation))
    }
}
