//! What a device signs with its identity, beside its own process.

use groupkey::protection::Guard;
use groupkey::{Context, Epoch, Operation, Outbox, PartyId, Recipient, Setting};
use groupkey_mqtt::keyring::{Keyring, Secret};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::history::Speech;
use crate::world::World;

/// Returns messages of an evicted device, which still has its identity, with their topics.
pub(crate) fn speech(
    world: &World,
    device: u32,
    speech: Speech,
    which: u64,
) -> Vec<(String, Vec<u8>)> {
    let mut rng = ChaCha20Rng::seed_from_u64(which);
    let Some(member) = world.member(device) else { return Vec::new() };
    let far = world.latest_epoch() + [1, 2, 16, 1_000_000][rng.next_u64() as usize % 4];
    let all = world.topic("all");
    match speech {
        Speech::FarEpoch => {
            let operations =
                [Operation::Rekey, Operation::Add, Operation::Remove, Operation::CatchUp];
            let operation = operations[rng.next_u64() as usize % operations.len()];
            let kind = rng.next_u64() as u8 % 6;
            let bytes = signed(world, device, member.into(), |cx| {
                cx.draft(Recipient::Group, Epoch(far), operation, kind).send();
            });
            vec![(all, bytes.clone()), (world.topic("requests"), bytes)]
        }
        Speech::Announce => {
            // A creation with the last tickets that others have shown.
            let mut members = vec![u64::from(member.0)];
            let mut tickets = Vec::new();
            for (other, ticket) in world.tickets() {
                if other != member.0 {
                    members.push(other.into());
                    tickets.push(ticket);
                }
            }
            let event = ForgedEvent {
                operation: Operation::Create,
                members,
                tickets,
                ..ForgedEvent::default()
            };
            vec![(all, signed(world, device, member.into(), |cx| event.announce(cx, far)))]
        }
        Speech::Join | Speech::Talk => Vec::new(),
    }
}

/// A membership event, as a peer announces it.
pub(crate) struct ForgedEvent {
    pub(crate) operation: Operation,
    pub(crate) members: Vec<u64>,
    /// Of the last members, which are taken in.
    pub(crate) tickets: Vec<u64>,
    /// The evicted members, with the epochs that tickets for them must name.
    pub(crate) evicted: Vec<(u64, u64)>,
}

impl Default for ForgedEvent {
    fn default() -> Self {
        let (members, tickets, evicted) = Default::default();
        Self { operation: Operation::Create, members, tickets, evicted }
    }
}

impl ForgedEvent {
    pub(crate) fn announce(&self, cx: &mut Context<'_>, epoch: u64) {
        let mut draft = cx.draft(Recipient::Group, Epoch(epoch), Operation::Order, ANNOUNCE);
        draft.number(self.operation as u64).array(self.members.len());
        self.members.iter().for_each(|&member| _ = draft.number(member));
        draft.array(self.tickets.len());
        self.tickets.iter().for_each(|&ticket| _ = draft.number(ticket));
        draft.array(self.evicted.len());
        for &(member, since) in &self.evicted {
            draft.array(2).number(member).number(since);
        }
        draft.send();
    }
}

/// Returns the message that `act` sends under the name of a party, signed by a device in the present
/// founding of the group; nothing if there is none.
pub(crate) fn signed(
    world: &World,
    device: u32,
    name: PartyId,
    act: impl FnOnce(&mut Context<'_>),
) -> Vec<u8> {
    let Some(context) = world.context() else { return Vec::new() };
    let setting = Setting { context, ..world.setting() };
    signed_in(setting, &World::identity(device), name, act)
}

pub(crate) fn signed_in(
    setting: Setting,
    identity: &Secret,
    name: PartyId,
    act: impl FnOnce(&mut Context<'_>),
) -> Vec<u8> {
    let mut keyring = Keyring::default();
    keyring.own(name, identity);
    let (mut outbox, mut probe, mut rng) = (Outbox::new(), (), ChaCha20Rng::seed_from_u64(0));
    let Some(protection) = keyring.protection(Guard::Signature, name) else { return Vec::new() };
    act(&mut Context::new(setting, name, protection, &mut rng, 0, &mut outbox, &mut probe));
    outbox.messages().next().map(|message| message.bytes.to_vec()).unwrap_or_default()
}

/// The kinds of messages about the order of events.
pub(crate) const JOIN: u8 = 0;
pub(crate) const EVICT: u8 = 2;
pub(crate) const ANNOUNCE: u8 = 3;
pub(crate) const HERE: u8 = 4;
