//! What processes say, and what must never be among it.

use super::super::Era;
use super::super::device::{DeviceState, MemberLine as Word};
use super::super::files::name;
use super::super::operator::{OperatorCommand, ServiceLine, StoreVersion};
use super::super::process::{ProcessOutput, ProcessOwner};
use super::super::report::LiveInvariant;
use super::{DelayedAction, LiveWorld, RunStop};
use std::time::Duration;

impl LiveWorld<'_> {
    pub(super) fn hear(&mut self, said: &ProcessOutput) -> Result<(), RunStop> {
        match (said.party, &said.line) {
            (ProcessOwner::Broker, Some(_)) => Ok(()),
            (ProcessOwner::Broker, None) => {
                let mut ended = self.broker.process.take_if(|process| process.life == said.life);
                match ended.as_mut().filter(|process| !process.was_ended) {
                    Some(process) => self.ended("the broker", process.wait()?),
                    None => Ok(()),
                }
            }
            (ProcessOwner::Device(device), Some(line)) => self.member_says(device, said.life, line),
            (ProcessOwner::Device(device), None) => self.member_ended(device, said.life),
            (ProcessOwner::Service, Some(line)) => self.service_says(line),
            (ProcessOwner::Service, None) => self.service_ended(),
        }
    }

    fn member_says(&mut self, number: usize, life: u64, line: &str) -> Result<(), RunStop> {
        let line = Word::read(line);
        let device = &mut self.devices[number];
        let is_present = device.lives == life;
        match line {
            Word::Founding(founding) => device.founding = founding,
            Word::Epoch(epoch) => {
                let epoch = Era { founding: device.founding, epoch };
                if is_present {
                    device.epoch = Some(epoch);
                }
                if let DeviceState::Out(since) = device.standing
                    && epoch >= since
                {
                    let seen = format!("it is out since epoch {since} and has epoch {epoch}");
                    return broken(LiveInvariant::EvictedHasKey, &name(number), &seen);
                }
                self.seen = self.seen.max(epoch);
            }
            Word::JoinsAgain if is_present => device.epoch = None,
            Word::Heard(word) => {
                if is_present {
                    device.heard = device.heard.max(Some(word));
                }
                let sent = self.words.get(word as usize).copied().unwrap_or_default();
                if let DeviceState::Out(since) = device.standing
                    && sent >= since
                {
                    let seen = format!(
                        "it is out since epoch {since} and reads word {word} of epoch {sent}"
                    );
                    return broken(LiveInvariant::EvictedReads, &name(number), &seen);
                }
            }
            Word::JoinsAgain | Word::Other => {}
        }
        Ok(())
    }

    fn member_ended(&mut self, number: usize, life: u64) -> Result<(), RunStop> {
        let device = &mut self.devices[number];
        let Some(mut process) = device.process.take_if(|process| process.life == life) else {
            return Ok(());
        };
        device.epoch = None;
        let status = process.wait()?;
        if process.was_ended {
            return Ok(());
        }
        if status.code() == Some(EVICTED) && device.may_end_as_evicted() {
            if device.standing == DeviceState::In {
                // It was told late. Its owner starts it again.
                self.later(Duration::from_millis(100), DelayedAction::StartDevice(number));
            }
            return Ok(());
        }
        self.ended(&name(number), status)
    }

    fn service_says(&mut self, line: &str) -> Result<(), RunStop> {
        let is_trial = self.operator.store != StoreVersion::Last;
        let understood = self.operator.read(line);
        let acts = matches!(
            understood,
            ServiceLine::Rekeyed(_) | ServiceLine::Admitted(_) | ServiceLine::Changed
        );
        if is_trial && acts {
            if self.operator.store == StoreVersion::Old {
                return broken(LiveInvariant::OldStore, "the service", &format!("says {line:?}"));
            }
            // What is missing of the file was nothing: this is the last store now.
            self.operator.store = StoreVersion::Last;
        }
        match understood {
            ServiceLine::Continues(epoch) => {
                if !is_trial {
                    self.last_epoch(epoch, self.seen, line)?;
                    // A copy that was made while it was away ends there, too.
                    let unknown = |copy: &&mut (Era, _)| copy.0 == Era::NEVER;
                    self.operator.copies.iter_mut().filter(unknown).for_each(|copy| copy.0 = epoch);
                }
            }
            ServiceLine::Rekeyed(epoch) => {
                // Several commands may be answered before the news of the first.
                self.last_epoch(epoch, self.operator.epoch, line)?;
                if self.operator.is_connected {
                    self.is_notice_lost = false;
                }
            }
            ServiceLine::Admitted(number) => {
                let standing = self.devices.get(number).map(|device| device.standing);
                if let Some(DeviceState::Out(since)) = standing {
                    let seen = format!("{line:?}, which is out since epoch {since}");
                    return broken(LiveInvariant::AcknowledgedLost, "the service says", &seen);
                }
            }
            ServiceLine::Unconfirmed if is_trial => self.end_trial()?,
            // A store with which the service began is the last one.
            ServiceLine::Unconfirmed => self.operator.accept(),
            ServiceLine::Acknowledged(command, epoch) => self.acknowledged(command, epoch),
            ServiceLine::Refused(OperatorCommand::Evict(number)) => {
                // It never joined.
                self.devices[number].standing = DeviceState::In;
            }
            ServiceLine::Changed => *self.report.operations.entry("changed").or_default() += 1,
            ServiceLine::Refused(_) | ServiceLine::Other => {}
        }
        Ok(())
    }

    /// Takes down the service's epoch. It cannot be before `least`, which was there already.
    fn last_epoch(&mut self, epoch: Era, least: Era, line: &str) -> Result<(), RunStop> {
        if epoch < least {
            let seen = format!("{line:?}, and epoch {least} was there already");
            return broken(LiveInvariant::AcknowledgedLost, "the service says", &seen);
        }
        self.operator.epoch = epoch;
        Ok(())
    }

    fn acknowledged(&mut self, command: OperatorCommand, epoch: Option<Era>) {
        self.seen = self.seen.max(epoch.unwrap_or_default());
        let name = match command {
            OperatorCommand::Accept => "accept",
            OperatorCommand::Members => return,
            OperatorCommand::Change => "change begun",
            OperatorCommand::Rekey => "rekey",
            OperatorCommand::Evict(number) => {
                self.devices[number].standing = DeviceState::Out(epoch.unwrap_or(Era::NEVER));
                "evict"
            }
            OperatorCommand::Readmit(number) => {
                self.devices[number].standing = DeviceState::In;
                self.later(Duration::ZERO, DelayedAction::StartDevice(number));
                "readmit"
            }
        };
        *self.report.operations.entry(name).or_default() += 1;
    }

    fn service_ended(&mut self) -> Result<(), RunStop> {
        let was_full = self.operator.is_disk_full;
        let Some(mut process) = self.operator.ended() else { return Ok(()) };
        let status = process.wait()?;
        if process.was_ended {
            return Ok(());
        }
        let refuses = matches!(status.code(), Some(1 | 2));
        if refuses && self.operator.store != StoreVersion::Last {
            self.report.refused_stores += 1;
            self.put_back()?;
            return self.start_service();
        }
        if refuses && was_full {
            self.later(Duration::from_millis(300), DelayedAction::StartService);
            return Ok(());
        }
        self.ended("the service", status)
    }

    fn ended(&mut self, who: &str, status: std::process::ExitStatus) -> Result<(), RunStop> {
        broken(LiveInvariant::Ended, who, &format!("ended by itself: {status}"))
    }
}

fn broken(kind: LiveInvariant, who: &str, seen: &str) -> Result<(), RunStop> {
    Err(RunStop::Broken(kind, format!("{who}: {seen}")))
}

/// The exit code of a member that was evicted.
const EVICTED: i32 = 3;
