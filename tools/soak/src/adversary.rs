//! What an evicted device signs with the identity that it still has.

use groupkey::protection::Guard;
use groupkey::{Context, Epoch, MemberId, Operation, Outbox, PartyId, Recipient, Setting};
use groupkey_mqtt::keyring::Keyring;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::history::Speech;
use crate::world::World;

/// Returns messages of an evicted device, with their topics.
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
            let bytes = signed(world, device, member, far, operation, kind, &[]);
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
            let body = [vec![Operation::Create as u64], members, tickets];
            vec![(all, signed(world, device, member, far, Operation::Order, 3, &body))]
        }
        Speech::Join | Speech::Talk => Vec::new(),
    }
}

/// Signs a message to the group. The first list of the body stands without its length.
fn signed(
    world: &World,
    device: u32,
    member: MemberId,
    epoch: u64,
    operation: Operation,
    kind: u8,
    body: &[Vec<u64>],
) -> Vec<u8> {
    let me: PartyId = member.into();
    let Some(context) = world.context() else { return Vec::new() };
    let form = world.subject.form();
    let mut keyring = Keyring::default();
    keyring.own(me, &World::identity(device));
    let setting = Setting { group: form.group, suite: form.suite, context };
    let (mut outbox, mut probe, mut rng) = (Outbox::new(), (), ChaCha20Rng::seed_from_u64(epoch));
    let Some(protection) = keyring.protection(Guard::Signature, me) else { return Vec::new() };
    let mut cx = Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
    let mut draft = cx.draft(Recipient::Group, Epoch(epoch), operation, kind);
    for (place, numbers) in body.iter().enumerate() {
        if place > 0 {
            draft.array(numbers.len());
        }
        for &number in numbers {
            draft.number(number);
        }
    }
    draft.send();
    outbox.messages().next().map(|message| message.bytes.to_vec()).unwrap_or_default()
}
