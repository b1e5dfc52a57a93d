//! Devices that die, and what they had encrypted until then.

use groupkey::{Key, MemberId, Setting};
use groupkey_mqtt::Output;
use groupkey_mqtt::store::Publish;

use super::{Runs, World};
use crate::history::DeviceMemory;
use crate::ledger::{Invariant, Violation, violated};

impl World {
    /// A device dies now, and starts again after a time.
    pub(super) fn kill(
        &mut self,
        device: u32,
        time: u64,
        memory: DeviceMemory,
    ) -> Result<bool, Violation> {
        let Some(seat) = self.devices.get_mut(&device).filter(|seat| !seat.is_adversary) else {
            return Ok(false);
        };
        seat.away = time;
        self.die(device)?;
        let Some(seat) = self.devices.get(&device) else { return Ok(false) };
        match memory {
            DeviceMemory::Kept => {}
            DeviceMemory::Old(age) => _ = seat.flash.put_back(age as usize),
            DeviceMemory::Lost => seat.flash.erase(),
        }
        Ok(true)
    }

    pub(super) fn interrupt(&mut self, device: u32, point: u64, time: u64) -> bool {
        let seat = self.devices.get_mut(&device);
        let Some(seat) = seat.filter(|seat| !seat.is_adversary && seat.process.runtime.is_some())
        else {
            return false;
        };
        seat.away = time;
        seat.flash.die_at(point);
        true
    }

    /// All have come to rest. Then all devices die at once, and the key stays.
    pub(super) fn power_cut(&mut self, time: u64) -> Result<bool, Violation> {
        self.settle()?;
        let before = self.group_key();
        let must_stay = self.can_resume();
        for device in self.present().collect::<Vec<_>>() {
            self.kill(device, time, DeviceMemory::Kept)?;
        }
        self.settle()?;
        if must_stay && self.group_key() != before {
            let epochs = [before, self.group_key()].map(|key| key.map(|(epoch, _)| epoch));
            let seen = format!("after a power cut the epoch goes from {epochs:?}");
            return violated(Invariant::Restless, seen);
        }
        Ok(true)
    }

    /// Returns whether all devices have kept their membership, and nothing else changes the key.
    fn can_resume(&self) -> bool {
        let is_kept = |device: u32| self.devices[&device].flash.has_latest();
        self.policy.period.is_none() && self.liar.is_none() && self.present().all(is_kept)
    }

    /// A device is dead. What it had not sent is lost.
    pub(super) fn die(&mut self, device: u32) -> Result<(), Violation> {
        while let Some(output) = self.devices.get_mut(&device).and_then(next_output) {
            if let Output::Publish(publish) = output {
                self.record(device, &publish)?;
            }
        }
        let now = self.network.now;
        let Some(seat) = self.devices.get_mut(&device) else { return Ok(()) };
        self.kills += u64::from(seat.process.runtime.is_some());
        seat.process.stop();
        self.network.end(device + 1);
        self.network.start_at(device + 1, now + seat.away);
        Ok(())
    }

    pub(super) fn record(&mut self, device: u32, publish: &Publish) -> Result<(), Violation> {
        if publish.topic != self.topic("talk") {
            return Ok(());
        }
        let process = &self.devices[&device].process;
        let context = process.runtime.as_ref().and_then(Runs::context);
        let (Some(context), Some((_, key))) = (context, self.key(device)) else {
            let seen = format!("device {device} sends a group message without a key");
            return violated(Invariant::NonceTwice, seen);
        };
        let setting = Setting { context, ..self.setting() };
        let sender = self.member(device).unwrap_or(MemberId(0)).into();
        self.nonces.message(setting, sender, &Key::from_bytes(key), &publish.payload)
    }
}

fn next_output(seat: &mut super::SoakDevice) -> Option<Output<groupkey_mqtt::event::MemberEvent>> {
    seat.process.runtime.as_mut()?.poll()
}

#[cfg(test)]
mod tests {
    use groupkey::Epoch;

    use super::*;
    use crate::insider::{DrawnSession, last_message, source};
    use crate::world::tests::{kind, settled};

    fn last_said(world: &World) -> Publish {
        let talk = world.topic("talk");
        let mut sent = world.network.recorded.iter().rev().map(|(_, publish)| publish);
        sent.find(|publish| publish.topic == talk).unwrap().clone()
    }

    #[test]
    fn a_planted_message_under_a_used_nonce_is_seen() {
        for scheme in ["skdc", "lkh-group", "tgdh"] {
            let mut world = settled(scheme);
            let before = world.nonces.pairs();
            assert!(before > 0);
            let publish = last_said(&world);
            let (member, session) = source(&publish.payload).unwrap();
            let mut devices = world.devices.keys().copied();
            let device = devices.find(|&device| world.member(device) == Some(member)).unwrap();
            assert_eq!(world.record(device, &publish), Ok(()), "it is the same message");
            // The sender's first message in this session had another content.
            let (epoch, key) = world.key(device).unwrap();
            let context = world.devices[&device].process.runtime.as_ref().unwrap().context();
            let setting = Setting { context: context.unwrap(), ..world.setting() };
            let key = (Epoch(epoch), &Key::from_bytes(key));
            let payload = last_message(setting, member, key, &mut DrawnSession(session), 1);
            let planted = Publish { payload, ..publish };
            assert_eq!(kind(world.record(device, &planted)), Some(Invariant::NonceTwice));
            assert_eq!(world.nonces.pairs(), before, "{scheme}");
        }
    }

    #[test]
    fn a_power_cut_that_changes_the_key_is_seen() {
        let mut world = settled("lkh-group");
        assert_eq!(world.power_cut(1), Ok(true));
        assert!(world.can_resume());
        // Without its memory, the device joins anew.
        world.devices[&1].flash.erase();
        assert!(!world.can_resume());
        assert_eq!(world.power_cut(1), Ok(true), "nobody can expect the key to stay");
        world.devices[&1].flash.put_back(1);
        world.devices.get_mut(&1).unwrap().flash_full_until = 1;
        assert!(!world.can_resume(), "an old copy is no membership");
    }
}
