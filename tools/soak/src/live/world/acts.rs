//! Steps, carried out on whom they meet.

use std::fs::{self, OpenOptions};
use std::time::Duration;

use super::super::Era;
use super::super::action::{LiveAction, LiveBrokerMemory};
use super::super::device::{DeviceState, LiveDevice};
use super::super::operator::{OperatorCommand, StoreVersion};
use super::{DelayedAction, LiveWorld, RunStop};
use groupkey::Operation;

impl LiveWorld<'_> {
    pub(super) fn carry_out(&mut self, act: &LiveAction) -> Result<(), RunStop> {
        self.step += 1;
        self.act = act.to_string();
        self.note(&act.to_string());
        // A fault that finds nothing to break becomes the simplest one.
        let name = match act.fault() {
            Some(name) if self.is_done(act)? => name,
            Some(_) => {
                self.kill_members(1, self.step, Duration::from_millis(500))?;
                "members killed"
            }
            None => return self.operate(act),
        };
        *self.report.faults.entry(name).or_default() += 1;
        Ok(())
    }

    /// Gives the service its last store back, and starts it with that.
    pub(super) fn end_trial(&mut self) -> Result<(), RunStop> {
        self.kill_service()?;
        self.put_back()?;
        self.start_service()
    }

    /// Puts the last store back.
    pub(super) fn put_back(&mut self) -> Result<(), RunStop> {
        self.operator.store = StoreVersion::Last;
        fs::rename(self.folder.path().join(ASIDE), self.folder.store())?;
        Ok(())
    }

    fn operate(&mut self, act: &LiveAction) -> Result<(), RunStop> {
        match *act {
            LiveAction::Arrive => {
                let new =
                    self.devices.iter().position(|device| device.standing == DeviceState::New);
                if let Some(new) = new {
                    self.devices[new].standing = DeviceState::In;
                    self.start_device(new)?;
                }
            }
            LiveAction::Evict(selector) => drop(self.evict(selector)),
            LiveAction::Readmit(selector) => {
                let is_out = |device: &LiveDevice| matches!(device.standing, DeviceState::Out(_));
                if let Some(device) = self.select(selector, is_out) {
                    self.devices[device].standing = DeviceState::Returning;
                    self.devices[device].readmitted = Some(std::time::Instant::now());
                    self.operator.want(OperatorCommand::Readmit(device));
                }
            }
            LiveAction::Change => self.operator.want(OperatorCommand::Change),
            LiveAction::Rekey if self.settings.scheme.operations.contains(&Operation::Rekey) => {
                self.operator.want(OperatorCommand::Rekey);
            }
            LiveAction::Say(selector) => {
                if let Some(device) = self.select(selector, speaks) {
                    self.say(device);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Carries out a fault. Returns false if there is nothing that it could break.
    fn is_done(&mut self, act: &LiveAction) -> Result<bool, RunStop> {
        let serves = self.operator.store == StoreVersion::Last
            && self.operator.process.as_ref().is_some_and(|process| !process.is_paused());
        match *act {
            LiveAction::Broker(memory, away) => {
                if self.broker.process.is_none() {
                    return Ok(false);
                }
                if memory != LiveBrokerMemory::All {
                    self.lose_notice()?;
                }
                self.broker.stop(memory, &self.folder);
                self.later(away, DelayedAction::StartBroker);
            }
            LiveAction::PauseBroker(time) => {
                let Some(process) = &mut self.broker.process else { return Ok(false) };
                process.pause();
                self.later(time, DelayedAction::ResumeBroker);
            }
            LiveAction::DiskFull(time) => {
                let Some(process) = self.operator.process.as_ref().filter(|_| serves) else {
                    return Ok(false);
                };
                if !process.fill_disk(true) {
                    return Ok(false);
                }
                let life = process.life;
                self.operator.is_disk_full = true;
                self.later(time, DelayedAction::DiskFree(life));
                // Something to write.
                self.kill_members(1, self.step, Duration::from_millis(100))?;
            }
            LiveAction::EvictedAsks(selector) => {
                let asks = |device: &LiveDevice| {
                    matches!(device.standing, DeviceState::Out(_)) && device.process.is_none()
                };
                let Some(device) = self.select(selector, asks) else { return Ok(false) };
                self.start_device(device)?;
            }
            LiveAction::KillInEviction(selector, after, away) => {
                if !serves || self.evict(selector).is_none() {
                    return Ok(false);
                }
                self.operator.ask();
                std::thread::sleep(after);
                self.kill_service()?;
                self.later(away, DelayedAction::StartService);
            }
            LiveAction::KillInChange(after, away) => {
                if !serves {
                    return Ok(false);
                }
                self.operator.want(OperatorCommand::Change);
                self.later(after, DelayedAction::KillInChange(self.operator.lives, away));
            }
            LiveAction::BrokerInChange(after, away) => {
                let Some(broker) = self.broker.process.as_ref().filter(|_| serves) else {
                    return Ok(false);
                };
                let life = broker.life;
                self.operator.want(OperatorCommand::Change);
                self.later(after, DelayedAction::BrokerInChange(life, away));
            }
            LiveAction::KillMembers(count, selector, away) => {
                self.kill_members(count, selector, away)?
            }
            LiveAction::KillService(away) => {
                if !serves {
                    return Ok(false);
                }
                self.kill_service()?;
                self.copy_store()?;
                self.later(away, DelayedAction::StartService);
            }
            LiveAction::PauseMembers(count, selector, time) => {
                let mut is_done = false;
                for device in self.several(count, selector) {
                    if let Some(process) = &mut self.devices[device].process {
                        process.pause();
                        self.later(time, DelayedAction::ResumeDevice(device));
                        is_done = true;
                    }
                }
                return Ok(is_done);
            }
            LiveAction::PauseService(time) => {
                let Some(process) = self.operator.process.as_mut().filter(|_| serves) else {
                    return Ok(false);
                };
                process.pause();
                self.later(time, DelayedAction::ResumeService);
            }
            LiveAction::Replay(count, selector, retain) => {
                if retain {
                    self.lose_notice()?;
                }
                self.stranger.replay(count, selector, retain);
            }
            LiveAction::OldStore(selector) => {
                // The broker's notice shows that it is old.
                let latest = self.operator.epoch;
                let old: Vec<_> = self
                    .operator
                    .copies
                    .iter()
                    .filter(|(epoch, _)| epoch.is_well_before(latest))
                    .collect();
                let shows = self.broker.process.as_ref().is_some_and(|broker| !broker.is_paused())
                    && self.operator.is_connected
                    && !self.is_notice_lost;
                if !serves || !shows || old.is_empty() {
                    return Ok(false);
                }
                let old = old[(selector % old.len() as u64) as usize].1.clone();
                self.kill_service()?;
                fs::rename(self.folder.store(), self.folder.path().join(ASIDE))?;
                fs::copy(old, self.folder.store())?;
                self.begin_trial(StoreVersion::Old)?;
            }
            LiveAction::TornStore(bytes) => {
                if !serves {
                    return Ok(false);
                }
                self.kill_service()?;
                fs::copy(self.folder.store(), self.folder.path().join(ASIDE))?;
                let torn = OpenOptions::new().write(true).open(self.folder.store())?;
                let whole = torn.metadata()?.len();
                torn.set_len(whole - bytes.min(whole / 2))?;
                self.begin_trial(StoreVersion::Torn)?;
            }
            LiveAction::Arrive
            | LiveAction::Change
            | LiveAction::Evict(_)
            | LiveAction::Readmit(_)
            | LiveAction::Rekey
            | LiveAction::Say(_) => {}
        }
        Ok(true)
    }

    /// Kills the service if it still runs with its last store.
    pub(super) fn kill_in_change(&mut self, life: u64, away: Duration) -> Result<(), RunStop> {
        let process = self.operator.process.as_ref();
        let is_on = process.is_some_and(|process| process.life == life && !process.is_paused());
        if is_on && self.operator.store == StoreVersion::Last {
            self.kill_service()?;
            self.later(away, DelayedAction::StartService);
        }
        Ok(())
    }

    /// Restarts the broker, with its memory, if it still runs.
    pub(super) fn break_broker_in_change(
        &mut self,
        life: u64,
        away: Duration,
    ) -> Result<(), RunStop> {
        if self.broker.process.as_ref().is_some_and(|process| process.life == life) {
            self.broker.stop(LiveBrokerMemory::All, &self.folder);
            self.later(away, DelayedAction::StartBroker);
        }
        Ok(())
    }

    /// Wants a member out. Returns whom, if there are enough of them.
    fn evict(&mut self, selector: u64) -> Option<usize> {
        let members = self.devices.iter().filter(|device| device.should_run()).count();
        if members <= (self.settings.members as usize * 3 / 4).max(3) {
            return None;
        }
        let device = self.select(selector, speaks)?;
        self.devices[device].standing = DeviceState::Leaving;
        self.operator.want(OperatorCommand::Evict(device));
        Some(device)
    }

    /// Lets a member say a word of its own.
    pub(super) fn say(&mut self, device: usize) -> u64 {
        let word = self.words.len() as u64;
        let device = &mut self.devices[device];
        self.words.push(device.epoch.unwrap_or_default());
        device.process.iter_mut().for_each(|process| process.tell(&format!("word {word}")));
        word
    }

    fn kill_members(&mut self, count: u64, selector: u64, away: Duration) -> Result<(), RunStop> {
        for device in self.several(count, selector) {
            if let Some(process) = &mut self.devices[device].process {
                process.kill();
                self.later(away, DelayedAction::StartDevice(device));
            }
        }
        Ok(())
    }

    /// Kills the service, and waits until all is read that it said.
    fn kill_service(&mut self) -> Result<(), RunStop> {
        if let Some(process) = &mut self.operator.process {
            process.kill();
        }
        while self.operator.process.is_some() {
            let said = self.said.1.recv().expect("the sender is kept");
            self.hear(&said)?;
        }
        Ok(())
    }

    /// Keeps a copy of the store of a service that does not run. It gets its epoch when the service
    /// says with what it continues.
    fn copy_store(&mut self) -> Result<(), RunStop> {
        let path = self.folder.path().join(format!("copy-{}.redb", self.operator.lives));
        fs::copy(self.folder.store(), &path)?;
        self.operator.copies.push_back((Era::NEVER, path));
        if self.operator.copies.len() > COPIES
            && let Some((_, oldest)) = self.operator.copies.pop_front()
        {
            fs::remove_file(oldest)?;
        }
        Ok(())
    }

    fn begin_trial(&mut self, store: StoreVersion) -> Result<(), RunStop> {
        self.operator.store = store;
        self.start_service()?;
        self.later(TRIAL, DelayedAction::EndTrial(self.operator.lives));
        Ok(())
    }

    /// The broker may not have the last notice from here on, so it cannot show that a store is old.
    fn lose_notice(&mut self) -> Result<(), RunStop> {
        if self.operator.store == StoreVersion::Old {
            self.end_trial()?;
        }
        self.is_notice_lost = true;
        Ok(())
    }

    /// Selects one of the devices that fit.
    pub(super) fn select(
        &self,
        selector: u64,
        fits: impl Fn(&LiveDevice) -> bool,
    ) -> Option<usize> {
        let fitting: Vec<_> =
            (0..self.devices.len()).filter(|&device| fits(&self.devices[device])).collect();
        (!fitting.is_empty()).then(|| fitting[(selector % fitting.len() as u64) as usize])
    }

    /// Selects several devices that run, at most a quarter.
    fn several(&self, count: u64, selector: u64) -> Vec<usize> {
        let count = count.clamp(1, u64::from(self.settings.members / 4));
        let runs = |device: &LiveDevice| device.should_run() && device.process.is_some();
        let mut chosen: Vec<_> =
            (0..count).filter_map(|n| self.select(selector.wrapping_add(n * 7), runs)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }
}

/// Whether a device is a member and has a key.
pub(super) fn speaks(device: &LiveDevice) -> bool {
    device.standing == DeviceState::In && device.process.is_some() && device.epoch.is_some()
}

/// Where the last store is while the service has another.
const ASIDE: &str = "aside.redb";

/// How many copies of the store are kept.
const COPIES: usize = 5;

/// How long a service may take to refuse a store. It waits 10 s for the broker's notice.
const TRIAL: Duration = Duration::from_secs(12);
