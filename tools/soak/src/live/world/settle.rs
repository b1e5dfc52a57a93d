//! Everything works again, and all must come back.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rand_core::Rng;

use super::super::BOUND;
use super::super::device::DeviceState;
use super::super::files::name;
use super::super::operator::{OperatorCommand, StoreVersion};
use super::super::report::LiveInvariant;
use super::acts::speaks;
use super::{DelayedAction, LiveWorld, RunStop};

impl LiveWorld<'_> {
    /// Makes everything work again, and waits until all members are back. Returns how long that
    /// took.
    pub(super) fn settle(&mut self) -> Result<Duration, RunStop> {
        self.step += 1;
        "everything works again".clone_into(&mut self.act);
        self.repair()?;
        let begin = Instant::now();
        let mut trial = None;
        loop {
            self.pass(LOOK)?;
            if self.are_back() {
                match trial {
                    // Nobody can read a word of another epoch.
                    Some((word, epoch, _)) if epoch == self.operator.epoch && self.heard(word) => {
                        break;
                    }
                    Some((_, epoch, since))
                        if epoch == self.operator.epoch && since + PATIENCE > Instant::now() => {}
                    _ => {
                        let selector = self.rng.next_u64();
                        if let Some(speaker) = self.select(selector, speaks) {
                            let word = self.say(speaker);
                            self.devices[speaker].heard = Some(word);
                            trial = Some((word, self.operator.epoch, Instant::now()));
                        }
                    }
                }
            }
            if begin.elapsed() > BOUND {
                return Err(RunStop::Broken(LiveInvariant::Stuck, self.who_is_missing()));
            }
        }
        let took = begin.elapsed();
        self.note(&format!("all are back in epoch {} after {took:?}", self.operator.epoch));
        Ok(took)
    }

    /// Ends all faults.
    fn repair(&mut self) -> Result<(), RunStop> {
        while self.operator.store != StoreVersion::Last {
            self.pass(LOOK)?;
        }
        for (_, due) in std::mem::take(&mut self.due) {
            // Nobody tries a store any more.
            if !matches!(due, DelayedAction::EndTrial(_)) {
                self.happen(due)?;
            }
        }
        // Those that have not been seen to end when they should have started.
        self.pass(LOOK)?;
        self.start_broker()?;
        self.start_service()?;
        for device in 0..self.devices.len() {
            if self.devices[device].should_run() {
                self.start_device(device)?;
            }
        }
        Ok(())
    }

    /// Whether all members have the service's epoch, and it lists them and nobody else.
    fn are_back(&mut self) -> bool {
        let epoch = self.operator.epoch;
        let serves = self.operator.process.is_some() && self.operator.is_connected;
        if !serves || !self.operator.is_idle() || epoch.epoch == 0 {
            return false;
        }
        let have_key = self.missing().next().is_none();
        if !have_key {
            return false;
        }
        let members = |world: &Self| -> BTreeSet<usize> {
            let all = 0..world.devices.len();
            all.filter(|&device| world.devices[device].standing == DeviceState::In).collect()
        };
        match &self.operator.members {
            Some((listed_in, listed)) if *listed_in == epoch && *listed == members(self) => true,
            _ => {
                self.operator.want(OperatorCommand::Members);
                false
            }
        }
    }

    /// Returns the members without the service's epoch.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let epoch = Some(self.operator.epoch);
        (0..self.devices.len()).filter(move |&device| {
            let device = &self.devices[device];
            device.standing == DeviceState::In
                && (device.process.is_none() || device.epoch != epoch)
        })
    }

    /// Whether all members have heard a word.
    fn heard(&self, word: u64) -> bool {
        let mut members = self.devices.iter().filter(|device| device.standing == DeviceState::In);
        members.all(|device| device.heard >= Some(word))
    }

    fn who_is_missing(&self) -> String {
        let missing: Vec<_> = self
            .missing()
            .map(|device| match self.devices[device].epoch {
                Some(epoch) => format!("{} in {epoch}", name(device)),
                None => name(device),
            })
            .collect();
        let word = self.words.len().saturating_sub(1) as u64;
        let deaf = self
            .devices
            .iter()
            .filter(|device| device.standing == DeviceState::In && device.heard < Some(word));
        format!(
            "{} s after everything works again: the service is {} in epoch {}, its operator {}; \
             without this epoch are {} members [{}]; {} did not hear the last word",
            BOUND.as_secs(),
            if self.operator.is_connected { "connected" } else { "not connected" },
            self.operator.epoch,
            if self.operator.is_idle() { "has no open command" } else { "waits for an answer" },
            missing.len(),
            missing[..missing.len().min(8)].join(", "),
            deaf.count()
        )
    }
}

/// How often the soak looks.
const LOOK: Duration = Duration::from_millis(50);

/// How long a word may take before another member says one.
const PATIENCE: Duration = Duration::from_secs(10);
