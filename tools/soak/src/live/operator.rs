//! The operator: gives commands to the service's process until it acknowledges them, and reads what
//! it says.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Era;
use super::files::{name, number};
use super::process::Process;

/// The service's process, and its operator.
pub(super) struct Operator {
    pub(super) process: Option<Process>,
    pub(super) lives: u64,
    pub(super) is_connected: bool,
    pub(super) is_disk_full: bool,
    /// Which store the process has.
    pub(super) store: StoreVersion,
    /// The founding and epoch of which the service last spoke.
    pub(super) epoch: Era,
    /// The founding of which it last spoke, ms since 1970.
    founding: u64,
    /// The scheme of which it last spoke.
    scheme: String,
    /// The members that it listed, and in which epoch.
    pub(super) members: Option<(Era, BTreeSet<usize>)>,
    /// Copies of the store, with the epoch in which each ends.
    pub(super) copies: VecDeque<(Era, PathBuf)>,
    commands: VecDeque<OperatorCommand>,
    asked: Option<OperatorCommand>,
    must_accept: bool,
    not_before: Instant,
}

/// Which store the service runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreVersion {
    /// The last one.
    Last,
    /// A copy from before.
    Old,
    /// The last one, without its last bytes.
    Torn,
}

/// What an operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorCommand {
    Accept,
    /// To the next scheme.
    Change,
    Evict(usize),
    Members,
    Readmit(usize),
    Rekey,
}

/// What a line of the service says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServiceLine {
    /// It answers a command; with an epoch, if the answer has one.
    Acknowledged(OperatorCommand, Option<Era>),
    /// It will never do this.
    Refused(OperatorCommand),
    /// It made the key of this epoch.
    Rekeyed(Era),
    /// It has a store that ends in this epoch.
    Continues(Era),
    /// The group has another scheme.
    Changed,
    /// A device is a member.
    Admitted(usize),
    /// It cannot know whether its store is the last one.
    Unconfirmed,
    Other,
}

impl Operator {
    /// The group begins with this scheme.
    pub(super) fn new(scheme: &str) -> Self {
        Self {
            process: None,
            lives: 0,
            is_connected: false,
            is_disk_full: false,
            store: StoreVersion::Last,
            epoch: Era::default(),
            founding: 0,
            scheme: scheme.to_owned(),
            members: None,
            copies: VecDeque::new(),
            commands: VecDeque::new(),
            asked: None,
            must_accept: false,
            not_before: Instant::now(),
        }
    }

    /// Wants a command to be given, after those before it.
    pub(super) fn want(&mut self, command: OperatorCommand) {
        self.commands.push_back(command);
    }

    /// Returns whether all commands are done.
    pub(super) fn is_idle(&self) -> bool {
        self.commands.is_empty() && self.asked.is_none() && !self.must_accept
    }

    /// Gives the next command, if the service can take it now.
    pub(super) fn ask(&mut self) {
        let other = self.other_scheme();
        let takes = self.is_connected && self.store == StoreVersion::Last && self.asked.is_none();
        let Some(process) = self.process.as_mut().filter(|_| takes) else { return };
        let command = if std::mem::take(&mut self.must_accept) {
            OperatorCommand::Accept
        } else if Instant::now() < self.not_before {
            return;
        } else if let Some(command) = self.commands.pop_front() {
            command
        } else {
            return;
        };
        self.asked = Some(command);
        process.tell(&match command {
            OperatorCommand::Accept => "accept".to_owned(),
            OperatorCommand::Change => format!("change {other}"),
            OperatorCommand::Evict(device) => format!("evict {}", name(device)),
            OperatorCommand::Members => "members".to_owned(),
            OperatorCommand::Readmit(device) => format!("readmit {}", name(device)),
            OperatorCommand::Rekey => "rekey".to_owned(),
        });
    }

    /// Returns a scheme that the group does not have.
    fn other_scheme(&self) -> &'static str {
        let other = SCHEMES.into_iter().find(|scheme| *scheme != self.scheme);
        other.unwrap_or(SCHEMES[0])
    }

    /// Accepts the state, because the store is the last one.
    pub(super) const fn accept(&mut self) {
        self.must_accept = true;
    }

    /// Gives up a process that has ended. What it did not answer is asked again.
    pub(super) fn ended(&mut self) -> Option<Process> {
        self.is_connected = false;
        self.is_disk_full = false;
        self.must_accept = false;
        if let Some(command) =
            self.asked.take().filter(|command| *command != OperatorCommand::Accept)
        {
            self.commands.push_front(command);
        }
        self.process.take()
    }

    /// Understands a line, and keeps what it says of the service.
    pub(super) fn read(&mut self, line: &str) -> ServiceLine {
        if line == "connected" {
            self.is_connected = true;
        } else if line.starts_with("not connected to ") {
            self.is_connected = false;
        } else if line.starts_with("the broker has no notice") {
            return ServiceLine::Unconfirmed;
        } else if let Some(rest) = line.strip_prefix("continues in epoch ") {
            let epoch = rest.split_once(' ').and_then(|(epoch, _)| epoch.parse().ok());
            return epoch.map_or(ServiceLine::Other, |epoch| {
                ServiceLine::Continues(self.in_founding(epoch))
            });
        } else if let Some(founding) = line.strip_prefix("founding ") {
            self.founding = founding.parse().unwrap_or(self.founding);
        } else if let Some(rest) = line.strip_prefix("the scheme is ") {
            self.scheme = rest.split([' ', ',']).next().unwrap_or_default().to_owned();
            // After a restart, it is only what had been changed before.
            let is_news = rest.contains(" were left behind");
            return if is_news { ServiceLine::Changed } else { ServiceLine::Other };
        } else if line.starts_with("scheme ") {
            return self.answered(None);
        } else if let Some(rest) = line.strip_prefix("epoch ") {
            let told = rest.split_once(": ").and_then(|(epoch, _)| epoch.parse().ok());
            return match (told, rest.parse().ok()) {
                (Some(epoch), _) => ServiceLine::Rekeyed(self.in_founding(epoch)),
                (None, Some(epoch)) => self.answered(Some(self.in_founding(epoch))),
                (None, None) => ServiceLine::Other,
            };
        } else if line == "it may join again" || line == "the state is accepted" {
            return self.answered(None);
        } else if let Some(rest) = line.strip_prefix("members: ") {
            let list = rest.split_once(';').map_or("", |(list, _)| list);
            let members = list.split(", ").filter_map(|entry| number(entry.split(' ').next()?));
            self.members = Some((self.epoch, members.collect()));
            return self.answered(None);
        } else if let Some(why) = line.strip_prefix("not done: ") {
            return self.not_done(why);
        } else if let Some((name, _)) = line.split_once(" is member ") {
            return number(name).map_or(ServiceLine::Other, ServiceLine::Admitted);
        }
        ServiceLine::Other
    }

    const fn in_founding(&self, epoch: u64) -> Era {
        Era { founding: self.founding, epoch }
    }

    fn answered(&mut self, epoch: Option<Era>) -> ServiceLine {
        self.asked
            .take()
            .map_or(ServiceLine::Other, |command| ServiceLine::Acknowledged(command, epoch))
    }

    fn not_done(&mut self, why: &str) -> ServiceLine {
        let Some(command) = self.asked.take() else { return ServiceLine::Other };
        let never = matches!(command, OperatorCommand::Change | OperatorCommand::Rekey)
            || why.starts_with("no device ever joined as");
        if never {
            return ServiceLine::Refused(command);
        }
        // It does not act yet, or its disk is full.
        self.commands.push_front(command);
        self.not_before = Instant::now() + Duration::from_millis(500);
        ServiceLine::Other
    }
}

/// The schemes between which the operator changes, beside the one with which the group begins.
const SCHEMES: [&str; 2] = ["skdc", "lkh-group"];
