//! Steps, carried out on whom they meet.

use std::fs::{self, OpenOptions};
use std::time::Duration;

use super::super::act::{Act, Memory};
use super::super::device::{Device, Standing};
use super::super::era::Era;
use super::super::operator::{Command, Store};
use super::{Due, Stop, World};
use groupkey::Operation;

impl World<'_> {
    pub(super) fn carry_out(&mut self, act: &Act) -> Result<(), Stop> {
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
    pub(super) fn end_trial(&mut self) -> Result<(), Stop> {
        self.kill_service()?;
        self.put_back()?;
        self.start_service()
    }

    /// Puts the last store back.
    pub(super) fn put_back(&mut self) -> Result<(), Stop> {
        self.operator.store = Store::Last;
        fs::rename(self.folder.path().join(ASIDE), self.folder.store())?;
        Ok(())
    }

    fn operate(&mut self, act: &Act) -> Result<(), Stop> {
        match *act {
            Act::Arrive => {
                let new = self.devices.iter().position(|device| device.standing == Standing::New);
                if let Some(new) = new {
                    self.devices[new].standing = Standing::In;
                    self.start_device(new)?;
                }
            }
            Act::Evict(selector) => drop(self.evict(selector)),
            Act::Readmit(selector) => {
                let is_out = |device: &Device| matches!(device.standing, Standing::Out(_));
                if let Some(device) = self.select(selector, is_out) {
                    self.devices[device].standing = Standing::Returning;
                    self.devices[device].readmitted = Some(std::time::Instant::now());
                    self.operator.want(Command::Readmit(device));
                }
            }
            Act::Change => self.operator.want(Command::Change),
            Act::Rekey if self.settings.scheme.operations.contains(&Operation::Rekey) => {
                self.operator.want(Command::Rekey);
            }
            Act::Say(selector) => {
                if let Some(device) = self.select(selector, speaks) {
                    self.say(device);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Carries out a fault. Returns false if there is nothing that it could break.
    fn is_done(&mut self, act: &Act) -> Result<bool, Stop> {
        let serves = self.operator.store == Store::Last
            && self.operator.process.as_ref().is_some_and(|process| !process.is_paused());
        match *act {
            Act::Broker(memory, away) => {
                if self.broker.process.is_none() {
                    return Ok(false);
                }
                if memory != Memory::All {
                    self.lose_notice()?;
                }
                self.broker.stop(memory, &self.folder);
                self.later(away, Due::StartBroker);
            }
            Act::PauseBroker(time) => {
                let Some(process) = &mut self.broker.process else { return Ok(false) };
                process.pause();
                self.later(time, Due::ResumeBroker);
            }
            Act::DiskFull(time) => {
                let Some(process) = self.operator.process.as_ref().filter(|_| serves) else {
                    return Ok(false);
                };
                if !process.fill_disk(true) {
                    return Ok(false);
                }
                let life = process.life;
                self.operator.is_disk_full = true;
                self.later(time, Due::DiskFree(life));
                // Something to write.
                self.kill_members(1, self.step, Duration::from_millis(100))?;
            }
            Act::EvictedAsks(selector) => {
                let asks = |device: &Device| {
                    matches!(device.standing, Standing::Out(_)) && device.process.is_none()
                };
                let Some(device) = self.select(selector, asks) else { return Ok(false) };
                self.start_device(device)?;
            }
            Act::KillInEviction(selector, after, away) => {
                if !serves || self.evict(selector).is_none() {
                    return Ok(false);
                }
                self.operator.ask();
                std::thread::sleep(after);
                self.kill_service()?;
                self.later(away, Due::StartService);
            }
            Act::KillInChange(after, away) => {
                if !serves {
                    return Ok(false);
                }
                self.operator.want(Command::Change);
                self.later(after, Due::KillInChange(self.operator.lives, away));
            }
            Act::BrokerInChange(after, away) => {
                let Some(broker) = self.broker.process.as_ref().filter(|_| serves) else {
                    return Ok(false);
                };
                let life = broker.life;
                self.operator.want(Command::Change);
                self.later(after, Due::BrokerInChange(life, away));
            }
            Act::KillMembers(count, selector, away) => self.kill_members(count, selector, away)?,
            Act::KillService(away) => {
                if !serves {
                    return Ok(false);
                }
                self.kill_service()?;
                self.copy_store()?;
                self.later(away, Due::StartService);
            }
            Act::PauseMembers(count, selector, time) => {
                let mut is_done = false;
                for device in self.several(count, selector) {
                    if let Some(process) = &mut self.devices[device].process {
                        process.pause();
                        self.later(time, Due::ResumeDevice(device));
                        is_done = true;
                    }
                }
                return Ok(is_done);
            }
            Act::PauseService(time) => {
                let Some(process) = self.operator.process.as_mut().filter(|_| serves) else {
                    return Ok(false);
                };
                process.pause();
                self.later(time, Due::ResumeService);
            }
            Act::Replay(count, selector, retain) => {
                if retain {
                    self.lose_notice()?;
                }
                self.stranger.replay(count, selector, retain);
            }
            Act::OldStore(selector) => {
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
                self.begin_trial(Store::Old)?;
            }
            Act::TornStore(bytes) => {
                if !serves {
                    return Ok(false);
                }
                self.kill_service()?;
                fs::copy(self.folder.store(), self.folder.path().join(ASIDE))?;
                let torn = OpenOptions::new().write(true).open(self.folder.store())?;
                let whole = torn.metadata()?.len();
                torn.set_len(whole - bytes.min(whole / 2))?;
                self.begin_trial(Store::Torn)?;
            }
            Act::Arrive
            | Act::Change
            | Act::Evict(_)
            | Act::Readmit(_)
            | Act::Rekey
            | Act::Say(_) => {}
        }
        Ok(true)
    }

    /// Kills the service if it still runs with its last store.
    pub(super) fn kill_in_change(&mut self, life: u64, away: Duration) -> Result<(), Stop> {
        let process = self.operator.process.as_ref();
        let is_on = process.is_some_and(|process| process.life == life && !process.is_paused());
        if is_on && self.operator.store == Store::Last {
            self.kill_service()?;
            self.later(away, Due::StartService);
        }
        Ok(())
    }

    /// Restarts the broker, with its memory, if it still runs.
    pub(super) fn break_broker_in_change(&mut self, life: u64, away: Duration) -> Result<(), Stop> {
        if self.broker.process.as_ref().is_some_and(|process| process.life == life) {
            self.broker.stop(Memory::All, &self.folder);
            self.later(away, Due::StartBroker);
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
        self.devices[device].standing = Standing::Leaving;
        self.operator.want(Command::Evict(device));
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

    fn kill_members(&mut self, count: u64, selector: u64, away: Duration) -> Result<(), Stop> {
        for device in self.several(count, selector) {
            if let Some(process) = &mut self.devices[device].process {
                process.kill();
                self.later(away, Due::StartDevice(device));
            }
        }
        Ok(())
    }

    /// Kills the service, and waits until all is read that it said.
    fn kill_service(&mut self) -> Result<(), Stop> {
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
    fn copy_store(&mut self) -> Result<(), Stop> {
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

    fn begin_trial(&mut self, store: Store) -> Result<(), Stop> {
        self.operator.store = store;
        self.start_service()?;
        self.later(TRIAL, Due::EndTrial(self.operator.lives));
        Ok(())
    }

    /// The broker may not have the last notice from here on, so it cannot show that a store is old.
    fn lose_notice(&mut self) -> Result<(), Stop> {
        if self.operator.store == Store::Old {
            self.end_trial()?;
        }
        self.is_notice_lost = true;
        Ok(())
    }

    /// Selects one of the devices that fit.
    pub(super) fn select(&self, selector: u64, fits: impl Fn(&Device) -> bool) -> Option<usize> {
        let fitting: Vec<_> =
            (0..self.devices.len()).filter(|&device| fits(&self.devices[device])).collect();
        (!fitting.is_empty()).then(|| fitting[(selector % fitting.len() as u64) as usize])
    }

    /// Selects several devices that run, at most a quarter.
    fn several(&self, count: u64, selector: u64) -> Vec<usize> {
        let count = count.clamp(1, u64::from(self.settings.members / 4));
        let runs = |device: &Device| device.should_run() && device.process.is_some();
        let mut chosen: Vec<_> =
            (0..count).filter_map(|n| self.select(selector.wrapping_add(n * 7), runs)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }
}

/// Whether a device is a member and has a key.
pub(super) fn speaks(device: &Device) -> bool {
    device.standing == Standing::In && device.process.is_some() && device.epoch.is_some()
}

/// Where the last store is while the service has another.
const ASIDE: &str = "aside.redb";

/// How many copies of the store are kept.
const COPIES: usize = 5;

/// How long a service may take to refuse a store. It waits 10 s for the broker's notice.
const TRIAL: Duration = Duration::from_secs(12);
