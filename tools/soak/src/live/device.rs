//! A device: its process, and what is known of its membership.

use std::time::Instant;

use super::Era;
use super::process::Process;

/// A device.
#[derive(Default)]
pub(super) struct LiveDevice {
    pub(super) process: Option<Process>,
    pub(super) lives: u64,
    pub(super) standing: DeviceState,
    /// The founding and epoch of its present process.
    pub(super) epoch: Option<Era>,
    /// The founding of its present process, ms since 1970.
    pub(super) founding: u64,
    /// The last word that its present process heard.
    pub(super) heard: Option<u64>,
    /// When the present process started.
    pub(super) started: Option<Instant>,
    /// When the operator last wanted it to be readmitted.
    pub(super) readmitted: Option<Instant>,
}

/// Whether a device is a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DeviceState {
    /// It has not arrived.
    #[default]
    New,
    In,
    /// The operator wants it out, and the service has not acknowledged that.
    Leaving,
    /// The service acknowledged that it is out, in this epoch.
    Out(Era),
    /// The operator wants it in again, and the service has not acknowledged that.
    Returning,
}

/// What a line of a member says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberLine {
    /// It has the key of this epoch.
    Epoch(u64),
    /// It is in the group that was founded then.
    Founding(u64),
    /// It heard this word of the soak.
    Heard(u64),
    /// It has no key any more.
    JoinsAgain,
    Other,
}

impl LiveDevice {
    /// Whether its process may end because it was evicted. It may have been told late, after it was
    /// readmitted.
    pub(super) fn may_end_as_evicted(&self) -> bool {
        match self.standing {
            DeviceState::New => false,
            DeviceState::Leaving | DeviceState::Out(_) | DeviceState::Returning => true,
            DeviceState::In => self.started < self.readmitted,
        }
    }

    /// Whether the operator or its owner lets it run.
    pub(super) const fn should_run(&self) -> bool {
        matches!(self.standing, DeviceState::In | DeviceState::Leaving)
    }
}

impl MemberLine {
    pub(super) fn read(line: &str) -> Self {
        if let Some(epoch) = line.strip_prefix("epoch ").and_then(|rest| rest.parse().ok()) {
            return Self::Epoch(epoch);
        }
        if let Some(founding) = line.strip_prefix("founding ").and_then(|rest| rest.parse().ok()) {
            return Self::Founding(founding);
        }
        if line.starts_with("the group has gone on without us") {
            return Self::JoinsAgain;
        }
        let said = line.split_once(": ").and_then(|(sender, said)| {
            sender.parse::<u32>().ok().and_then(|_| said.strip_prefix("word "))
        });
        said.and_then(|word| word.parse().ok()).map_or(Self::Other, Self::Heard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_members_are_understood() {
        assert_eq!(MemberLine::read("epoch 7"), MemberLine::Epoch(7));
        assert_eq!(
            MemberLine::read("founding 1700000000000"),
            MemberLine::Founding(1_700_000_000_000)
        );
        assert_eq!(MemberLine::read("3: word 12"), MemberLine::Heard(12));
        assert_eq!(MemberLine::read("not said: word 12"), MemberLine::Other);
        assert_eq!(
            MemberLine::read("the group has gone on without us: joining again"),
            MemberLine::JoinsAgain
        );
        assert_eq!(MemberLine::read("member 4"), MemberLine::Other);
    }
}
