//! A controller and its members for tests of attacks. Only enrolments are delivered, and nothing
//! protects messages, so a test decides which member hears what. An attacking member has the keys
//! that protect a group's messages anyway, unless they are signed.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::{GroupId, MemberId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::party::{Command, Party};
use crate::protection::Protection;
use alloc::vec::Vec;

/// The parties.
pub(crate) struct MaskingFixture<C, M> {
    pub(crate) controller: C,
    pub(crate) members: Vec<M>,
    rng: ChaCha20Rng,
}

impl<C: Party, M: Party> MaskingFixture<C, M> {
    /// A group of the first `founders` members, which have the key. The others join later.
    pub(crate) fn new(controller: C, members: Vec<M>, founders: u32) -> Self {
        let mut stage = Self { controller, members, rng: ChaCha20Rng::seed_from_u64(1) };
        let everybody: Vec<_> = (0..stage.members.len() as u32).map(MemberId).collect();
        stage.command(Command::Enroll(&everybody));
        let created = stage.command(Command::Create(&everybody[..founders as usize]));
        stage.deliver_all(&created);
        stage
    }

    pub(crate) fn command(&mut self, command: Command<'_>) -> Vec<(Recipient, Vec<u8>)> {
        let mut outbox = Outbox::new();
        let Self { controller, rng, .. } = self;
        with_context(PartyId::Controller, rng, &mut outbox, |cx| cx.command(controller, command))
            .unwrap();
        let mut open = Vec::new();
        for message in outbox.messages() {
            match (message.channel, message.to) {
                (Channel::Confidential, Recipient::Member(id)) => {
                    self.deliver_over(message.channel, id.0, message.bytes).unwrap();
                }
                _ => open.push((message.to, message.bytes.to_vec())),
            }
        }
        open
    }

    pub(crate) fn deliver_all(&mut self, messages: &[(Recipient, Vec<u8>)]) {
        for (to, bytes) in messages {
            for id in 0..self.members.len() as u32 {
                if matches!(to, Recipient::Group) || *to == Recipient::Member(MemberId(id)) {
                    // A member that is not in the group refuses.
                    let _ = self.deliver(id, bytes);
                }
            }
        }
    }

    pub(crate) fn deliver(&mut self, id: u32, bytes: &[u8]) -> Result<(), Error> {
        self.deliver_over(Channel::Open, id, bytes)
    }

    pub(crate) fn compute<T>(&mut self, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
        with_context(PartyId::Controller, &mut self.rng, &mut Outbox::new(), act)
    }

    fn deliver_over(&mut self, channel: Channel, id: u32, bytes: &[u8]) -> Result<(), Error> {
        let Self { members, rng, .. } = self;
        with_context(PartyId::Member(MemberId(id)), rng, &mut Outbox::new(), |cx| {
            cx.deliver(&mut members[id as usize], channel, bytes)
        })
    }
}

pub(crate) fn message_to(id: u32, messages: &[(Recipient, Vec<u8>)]) -> Vec<u8> {
    let to = Recipient::Member(MemberId(id));
    let found = messages.iter().find(|message| message.0 == to);
    found.map(|(_, bytes)| bytes.clone()).expect("there is one")
}

/// Gives an entry's receiver another key, with the means of a member that has the sent key and may
/// choose among these confirmations. Returns whether the receiver took the other key.
pub(crate) fn alter<C: Party, M: Party>(
    stage: &mut MaskingFixture<C, M>,
    victim: u32,
    entry: &[u8],
    sent: &Key,
    confirmations: impl FnOnce(&mut Context<'_>, Epoch, &Key) -> Vec<Key>,
) -> bool {
    let wanted = Key::from_bytes([0x42; 16]);
    let (head, body) = entry.split_at(entry.len() - ENTRY_BYTES);
    let mut values = Reader::new(body);
    let masked = values.key().unwrap();
    let genuine = values.key().unwrap();
    let epoch = crate::wire::parse_header(entry).unwrap().0.epoch;
    let candidates = stage.compute(|cx| {
        let mask = cx.xor(&masked, sent);
        let masked = cx.xor(&wanted, &mask);
        let mut candidates = confirmations(cx, epoch, &wanted);
        candidates.extend([genuine, commitment(cx, epoch, &wanted), wanted.clone()]);
        candidates.into_iter().map(move |candidate| (masked.clone(), candidate)).collect::<Vec<_>>()
    });
    for (masked, confirmation) in candidates {
        let mut forged = head.to_vec();
        let mut writer = crate::wire::Writer::new(&mut forged);
        writer.bytes(masked.as_bytes());
        writer.bytes(confirmation.as_bytes());
        let before = stage.members[victim as usize].group_key().map(|(epoch, _)| epoch);
        if stage.deliver(victim, &forged).is_ok() {
            return true;
        }
        let after = stage.members[victim as usize].group_key().map(|(epoch, _)| epoch);
        assert_eq!(before, after, "a refused entry changes nothing");
    }
    false
}

/// Confirmations under the individual keys that a member has.
pub(crate) fn authenticated(
    cx: &mut Context<'_>,
    keys: &[&Key],
    epoch: Epoch,
    wanted: &Key,
) -> Vec<Key> {
    keys.iter().map(|key| authenticator(cx, key, epoch, wanted)).collect()
}

fn with_context<T>(
    me: PartyId,
    rng: &mut ChaCha20Rng,
    outbox: &mut Outbox,
    act: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    let (setting, mut probe) = (Setting::new(GroupId(0), Suite::Standard), ());
    act(&mut Context::new(setting, me, Protection::None, rng, 0, outbox, &mut probe))
}
