//! What strangers and evicted devices publish, and what they need for it.

use std::collections::{BTreeMap, BTreeSet};

use groupkey::author::{Reader, parse_header};
use groupkey::{GroupContext, Instance, MemberId, Operation, PartyId, Setting};
use groupkey_mqtt::store::Publish;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{Runs, World, processes};
use crate::adversary::{self, JOIN};
use crate::history::{Deceit, Speech, below};
use crate::insider::{self, Liar};
use crate::ledger::Violation;

impl World {
    pub(super) fn replay(&mut self, former: bool, count: u64, which: u64) -> bool {
        let mut rng = ChaCha20Rng::seed_from_u64(which);
        let life = self.network.life;
        let of_life = |(of, _): &&(u32, Publish)| !former || *of < life;
        let recorded: Vec<_> = self.network.recorded.iter().filter(of_life).cloned().collect();
        if recorded.is_empty() {
            return false;
        }
        let topics: BTreeSet<_> = recorded.iter().map(|(_, publish)| &publish.topic).collect();
        for _ in 0..count {
            // Few messages have some topics.
            let topic = topics.iter().nth(below(&mut rng, topics.len() as u64) as usize);
            let on_it = || recorded.iter().filter(|(_, sent)| Some(&sent.topic) == topic.copied());
            let which = below(&mut rng, on_it().count() as u64) as usize;
            let Some((_, publish)) = on_it().nth(which) else { continue };
            self.network.intrude(publish.topic.clone(), publish.payload.clone());
        }
        true
    }

    pub(super) fn speak(&mut self, speech: Speech, which: u64) -> Result<bool, Violation> {
        let adversaries = self.devices.iter().filter(|(_, seat)| seat.is_adversary);
        let adversaries: Vec<_> = adversaries.map(|(&device, _)| device).collect();
        if adversaries.is_empty() {
            return Ok(false);
        }
        let device = adversaries[which as usize % adversaries.len()];
        match speech {
            Speech::Talk => return self.say(device),
            Speech::Join => {
                if let Some(seat) = self.devices.get_mut(&device) {
                    seat.process.stop();
                    // It kept copies of all that it was told to forget.
                    seat.flash.put_back(which as usize / 7 % 5);
                    seat.deaf_until = 0;
                }
                self.network.end(device + 1);
                self.network.start_at(device + 1, self.network.now);
            }
            Speech::FarEpoch | Speech::Announce => {
                let said = adversary::speech(self, device, speech, which);
                self.intrude(said);
            }
        }
        Ok(true)
    }

    pub(super) fn deceive(&mut self, deceit: Deceit, which: u64) -> bool {
        let Some(Liar { device, .. }) = self.liar else { return false };
        if let (Deceit::Lie(time), Some(liar)) = (deceit, &mut self.liar) {
            liar.begin(self.network.now + time, which);
        }
        let said = insider::deceive(self, device, deceit, which);
        for (_, payload) in said.iter().filter(|_| deceit == Deceit::Impersonate) {
            self.expect_to_hear(payload);
        }
        let has_effect = !said.is_empty() || matches!(deceit, Deceit::Lie(_));
        self.intrude(said);
        has_effect
    }

    /// Notes a group message in a device's name, until the device hears it.
    fn expect_to_hear(&mut self, payload: &[u8]) {
        let Some((victim, _)) = insider::source(payload) else { return };
        let device = self.devices.keys().find(|&&device| self.member(device) == Some(victim));
        if let Some(&device) = device
            && let Some((epoch, _)) = self.key(device)
        {
            self.unheard.push((device, epoch, payload.to_vec()));
        }
    }

    pub(super) fn hears(&mut self, device: u32, payload: &[u8]) {
        self.unheard.retain(|(victim, _, forged)| *victim != device || forged != payload);
    }

    /// Returns whether others may refuse what a device says under its key, and it cannot know.
    pub(super) fn is_unaware(&self, device: u32) -> bool {
        let epoch = self.key(device).map(|(epoch, _)| epoch);
        self.unheard.iter().any(|(victim, of, _)| *victim == device && Some(*of) == epoch)
    }

    /// The dishonest member hears what others say, and answers it while it lies.
    pub(super) fn answer_falsely(&mut self, payload: &[u8]) {
        let Some(mut liar) = self.liar.take() else { return };
        let said = liar.answer(self, payload);
        self.liar = Some(liar);
        self.intrude(said);
    }

    fn intrude(&mut self, said: Vec<(String, Vec<u8>)>) {
        for (topic, payload) in said {
            self.network.intrude(topic, payload);
        }
    }

    pub(crate) fn member(&self, device: u32) -> Option<MemberId> {
        if self.subject.has_peers() {
            return Some(MemberId(device + 1));
        }
        let service = self.service.runtime.as_ref()?;
        let known =
            service.devices(MemberId(0)).find(|known| known.name == processes::name(device));
        known.map(|known| known.member)
    }

    pub(crate) fn context(&self) -> Option<GroupContext> {
        if let Some(service) = &self.service.runtime {
            return Some(*service.context());
        }
        self.devices.values().find_map(|seat| match &seat.process.runtime {
            // The others may not know yet which founding there is.
            Some(Runs::Peer(peer)) => peer.group_key().map(|_| *peer.context()),
            _ => None,
        })
    }

    pub(crate) fn identity(device: u32) -> groupkey_mqtt::keyring::Secret {
        processes::identity(device)
    }

    pub(crate) fn topic(&self, place: &str) -> String {
        format!("{}/{place}", self.policy.prefix)
    }

    pub(crate) fn latest_epoch(&self) -> u64 {
        let keys = self.devices.values().filter_map(|seat| seat.process.key.as_ref());
        keys.map(|(epoch, _)| *epoch).max().unwrap_or(0)
    }

    /// Returns the founding that peers are in.
    pub(crate) fn instance(&self) -> Option<[u8; 16]> {
        self.devices.values().find_map(|seat| match &seat.process.runtime {
            Some(Runs::Peer(peer)) => {
                peer.group_key().and_then(|_| peer.instance()).map(|founding| founding.0)
            }
            _ => None,
        })
    }

    /// Returns what the group has in common before any founding.
    pub(crate) fn setting(&self) -> Setting {
        let form = self.subject.form();
        let (group, suite, guard) = (form.group, form.suite, form.guard);
        let prefix = &self.policy.prefix;
        form.configuration.setting(group, suite, guard, prefix, Instance::default())
    }

    pub(crate) fn key(&self, device: u32) -> Option<(u64, [u8; 16])> {
        let (epoch, key) = self.devices.get(&device)?.process.key.as_ref()?;
        Some((*epoch, key.as_slice().try_into().ok()?))
    }

    /// Returns the devices that the operator wants out.
    pub(crate) fn evicted(&self) -> impl Iterator<Item = u32> + '_ {
        let evicted = self.devices.iter().filter(|(_, seat)| seat.is_evicted);
        evicted.map(|(&device, _)| device)
    }

    /// Returns the last ticket that each peer has shown in a request to join.
    pub(crate) fn tickets(&self) -> BTreeMap<u32, u64> {
        let mut tickets = BTreeMap::new();
        for (_, Publish { payload, .. }) in &self.network.recorded {
            if let Ok((header, body)) = parse_header(payload)
                && (header.operation, header.kind) == (Operation::Order, JOIN)
                && let PartyId::Member(MemberId(member)) = header.sender
                && let Ok(ticket) = Reader::new(body).number()
            {
                tickets.insert(member, ticket);
            }
        }
        tickets
    }
}
