//! What a dishonest member does.
//!
//! Its process runs honest code, so that it stays a member. Beside it, the member signs with its
//! identity and the keys that members have. While it lies, it answers before its process does.

use std::collections::BTreeSet;
use std::convert::Infallible;

use groupkey::author::{Reader, parse_header};
use groupkey::messages::{MessageSettings, Messenger};
use groupkey::protection::Protection;
use groupkey::{
    Context, Epoch, Key, MemberId, Operation, Outbox, PartyId, Recipient, Setting, SubgroupId,
};
use groupkey_mqtt::store::Publish;
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng, TryCryptoRng, TryRng};

use crate::adversary::{ANNOUNCE, EVICT, ForgedEvent, HERE, JOIN, signed};
use crate::history::{Deceit, below};
use crate::world::World;

/// A message with its topic.
type Intrusion = (String, Vec<u8>);

/// The dishonest member while it lies.
pub(crate) struct Liar {
    pub(crate) device: u32,
    /// Until when it answers falsely, ns.
    until: u64,
    /// Whether its process is not heard meanwhile.
    is_mute: bool,
    left: u32,
    rng: ChaCha20Rng,
}

impl Liar {
    pub(crate) fn new(device: u32) -> Self {
        Self { device, until: 0, is_mute: false, left: 0, rng: ChaCha20Rng::seed_from_u64(0) }
    }

    pub(crate) fn begin(&mut self, until: u64, which: u64) {
        self.rng = ChaCha20Rng::seed_from_u64(which);
        (self.until, self.left) = (until, LIES);
        self.is_mute = below(&mut self.rng, 2) == 0;
    }

    pub(crate) const fn end(&mut self) {
        self.until = 0;
    }

    pub(crate) const fn lies(&self, now: u64) -> bool {
        now < self.until
    }

    pub(crate) const fn is_mute(&self, now: u64) -> bool {
        self.lies(now) && self.is_mute
    }

    pub(crate) fn answer(&mut self, world: &World, payload: &[u8]) -> Vec<Intrusion> {
        if !self.lies(world.network.now) || self.left == 0 {
            return Vec::new();
        }
        let (device, rng) = (self.device, &mut self.rng);
        let answers = match minicbor::decode::<Hello>(payload) {
            Ok((asker, _, nonce, None, ..)) if asker != device + 1 => {
                vec![false_answer(world, device, asker, nonce, rng)]
            }
            Ok(_) => Vec::new(),
            Err(_) => answer_request(world, device, payload, rng),
        };
        self.left = self.left.saturating_sub(answers.len() as u32);
        answers
    }
}

pub(crate) fn deceive(world: &World, device: u32, deceit: Deceit, which: u64) -> Vec<Intrusion> {
    let rng = &mut ChaCha20Rng::seed_from_u64(which);
    let Some(me) = world.member(device) else { return Vec::new() };
    match deceit {
        Deceit::Announce => announcements(world, device, rng),
        Deceit::Evict => {
            let Some(victim) = other_member(world, device, rng) else { return Vec::new() };
            let epoch = Epoch(world.latest_epoch() + below(rng, 3));
            let bytes = signed(world, device, me.into(), |cx| {
                let mut draft = cx.draft(Recipient::Group, epoch, Operation::Order, EVICT);
                draft.number(victim.0.into()).send();
            });
            vec![(world.topic("all"), bytes)]
        }
        Deceit::Forge => (0..1 + below(rng, 40)).map(|_| forgery(world, device, rng)).collect(),
        Deceit::Impersonate => impersonation(world, device, rng),
        Deceit::Lie(_) => Vec::new(),
        Deceit::Tamper => (0..1 + below(rng, 20)).filter_map(|_| tampered(world, rng)).collect(),
    }
}

/// A hello of a peer: member, epoch, nonce, the peer that asked, evicted members, founding, pledge,
/// signature.
type Hello = (
    u32,
    u64,
    ByteArray<16>,
    Option<u32>,
    Vec<(u32, u64)>,
    Option<ByteArray<16>>,
    Option<ByteArray<16>>,
    ByteArray<64>,
);

/// An answer with a made-up epoch, made-up evictions, or a founding that nobody else is in.
fn false_answer(
    world: &World,
    device: u32,
    asker: u32,
    nonce: ByteArray<16>,
    rng: &mut ChaCha20Rng,
) -> Intrusion {
    let latest = world.latest_epoch();
    let epoch = [0, 1, latest, latest + 1, latest + 20, latest + 1_000_000][index(rng, 6)];
    let mut evicted = Vec::new();
    for member in 1..=world.subject.most_devices() {
        if below(rng, 4) == 0 {
            evicted.push((member, latest + below(rng, 20)));
        }
    }
    let mut founding = world.instance().map(ByteArray::from);
    if below(rng, 8) == 0 {
        founding = Some([rng.next_u64() as u8; 16].into());
    }
    let said = (device + 1, epoch, nonce, Some(asker), evicted, founding, None);
    let bytes = minicbor::to_vec(&said).unwrap_or_default();
    let context = world.setting().context;
    let parts: [&[u8]; 2] = [context.as_bytes(), &bytes];
    let signature = World::identity(device).sign("groupkey hello 5", &parts);
    let (me, epoch, nonce, asker_again, evicted, founding, pledge) = said;
    let hello: Hello = (me, epoch, nonce, asker_again, evicted, founding, pledge, signature.into());
    (member_topic(world, MemberId(asker)), minicbor::to_vec(hello).unwrap_or_default())
}

/// Tells who asks to join a false epoch, or announces at once what it likes.
fn answer_request(
    world: &World,
    device: u32,
    payload: &[u8],
    rng: &mut ChaCha20Rng,
) -> Vec<Intrusion> {
    let Ok((header, body)) = parse_header(payload) else { return Vec::new() };
    let PartyId::Member(sender) = header.sender else { return Vec::new() };
    let is_request = (header.operation, header.kind) == (Operation::Order, JOIN);
    if !is_request || sender.0 == device + 1 {
        return Vec::new();
    }
    if below(rng, 3) > 0 {
        return announcements(world, device, rng);
    }
    let Ok(ticket) = Reader::new(body).number() else { return Vec::new() };
    let epoch = near_epoch(world, rng);
    let bytes = signed(world, device, MemberId(device + 1).into(), |cx| {
        let to = Recipient::Member(sender);
        cx.draft(to, Epoch(epoch), Operation::Order, HERE).number(ticket).send();
    });
    vec![(member_topic(world, sender), bytes)]
}

/// One event that nobody decided, or two: who is taken for dead in the first counts as evicted in the
/// second.
fn announcements(world: &World, device: u32, rng: &mut ChaCha20Rng) -> Vec<Intrusion> {
    let me = u64::from(device + 1);
    let present = last_members(world);
    let (before, after): (Vec<_>, Vec<_>) = match present.iter().position(|&member| member == me) {
        Some(place) => (present[..place].to_vec(), present[place + 1..].to_vec()),
        None => (present.clone(), Vec::new()),
    };
    let mut members = vec![me];
    members.extend(after.into_iter().filter(|_| below(rng, 4) > 0));
    // Whoever is before the announcer must begin again, at the end.
    let tickets = world.tickets();
    let out: Vec<_> = world.evicted().map(|device| u64::from(device + 1)).collect();
    let taken_in = before.into_iter().chain(out.clone());
    let taken_in: Vec<_> = taken_in.filter(|_| below(rng, 3) > 0).collect();
    let tickets = taken_in.iter().map(|&member| {
        let known = u32::try_from(member).ok().and_then(|member| tickets.get(&member));
        known.copied().unwrap_or(42)
    });
    let tickets: Vec<_> = tickets.collect();
    members.extend(&taken_in);
    let is_in = |member: &u64| members.contains(member);
    let gone: Vec<_> = present.iter().copied().filter(|member| !is_in(member)).collect();
    let epoch = near_epoch(world, rng);
    let mut evicted = BTreeSet::new();
    evicted.extend(out.into_iter().filter(|member| !is_in(member) && below(rng, 2) == 0));
    let operations =
        [Operation::Create, Operation::Create, Operation::Partition, Operation::Remove];
    let operation = operations[index(rng, operations.len() as u64)];
    let in_two_steps = below(rng, 2) == 0;
    let mut events = Vec::new();
    for step in 0..1 + u64::from(in_two_steps) {
        if step > 0 || !in_two_steps {
            evicted.extend(gone.iter().filter(|_| below(rng, 2) == 0));
        }
        let event = ForgedEvent {
            operation: if step == 0 { operation } else { Operation::Create },
            members: members.clone(),
            tickets: if step == 0 { tickets.clone() } else { Vec::new() },
            evicted: evicted.iter().map(|&member| (member, epoch + step)).collect(),
        };
        let bytes = signed(world, device, MemberId(device + 1).into(), |cx| {
            event.announce(cx, epoch + step);
        });
        events.push((world.topic("all"), bytes));
    }
    events
}

/// The members in the order of the last announcement of the present founding; of a founding without
/// one, all by number.
fn last_members(world: &World) -> Vec<u64> {
    let recorded = world.network.recorded.iter().rev();
    let present = recorded.take_while(|(life, _)| *life == world.network.life);
    let announced = present.filter_map(|(_, Publish { payload, .. })| {
        let (header, body) = parse_header(payload).ok()?;
        if (header.operation, header.kind) != (Operation::Order, ANNOUNCE) {
            return None;
        }
        let mut body = Reader::new(body);
        body.number().ok()?;
        let count = body.array().ok()?;
        (0..count).map(|_| body.number().ok()).collect()
    });
    let all = world.present().map(|device| u64::from(device + 1));
    announced.into_iter().next().unwrap_or_else(|| all.collect())
}

/// A message of the scheme in another party's name, signed by the device that it is not from.
fn forgery(world: &World, device: u32, rng: &mut ChaCha20Rng) -> Intrusion {
    let names = [PartyId::Controller, SubgroupId(below(rng, 2) as u32).into()];
    let other = other_member(world, device, rng).unwrap_or(MemberId(0));
    let name = names.get(index(rng, 3)).copied().unwrap_or_else(|| other.into());
    let operations = [
        Operation::Rekey,
        Operation::Add,
        Operation::Remove,
        Operation::CatchUp,
        Operation::Create,
        Operation::Order,
    ];
    let operation = operations[index(rng, operations.len() as u64)];
    let (epoch, kind) = (Epoch(near_epoch(world, rng)), below(rng, 6) as u8);
    let to = if below(rng, 2) == 0 { Recipient::Group } else { Recipient::Member(other) };
    let bytes = signed(world, device, name, |cx| {
        let mut draft = cx.draft(to, epoch, operation, kind);
        draft.number(below(rng, 4)).number(rng.next_u64()).send();
    });
    let topics = [world.topic("all"), world.topic("requests"), member_topic(world, other)];
    (topics[index(rng, topics.len() as u64)].clone(), bytes)
}

/// Group messages in another member's name: as its present session with late counters, and as new
/// ones.
fn impersonation(world: &World, device: u32, rng: &mut ChaCha20Rng) -> Vec<Intrusion> {
    let (Some((epoch, key)), Some(context)) = (world.key(device), world.context()) else {
        return Vec::new();
    };
    let setting = Setting { context, ..world.setting() };
    let key = Key::from_bytes(key);
    let talk = world.topic("talk");
    let spoken = world.network.recorded.iter().rev().filter(|(_, sent)| sent.topic == talk);
    let sources: BTreeSet<_> =
        spoken.take(50).filter_map(|(_, sent)| source(&sent.payload)).collect();
    let forged = |victim: MemberId, rng: &mut dyn CryptoRng, count| {
        (talk.clone(), last_message(setting, victim, (Epoch(epoch), &key), rng, count))
    };
    let mut said: Vec<_> = sources
        .iter()
        .filter(|(member, _)| world.member(device) != Some(*member))
        .map(|&(member, session)| forged(member, &mut DrawnSession(session), 200))
        .collect();
    if let Some(victim) = other_member(world, device, rng) {
        said.extend((0..20).map(|_| forged(victim, rng, 1)));
    }
    said
}

/// The last of so many messages of a member to the group under a key. They are not signed.
pub(crate) fn last_message(
    setting: Setting,
    member: MemberId,
    (epoch, key): (Epoch, &Key),
    mut rng: &mut dyn CryptoRng,
    count: u32,
) -> Vec<u8> {
    let (mut outbox, mut probe, none) = (Outbox::new(), (), Protection::None);
    let mut cx = Context::new(setting, member.into(), none, &mut rng, 0, &mut outbox, &mut probe);
    let settings = MessageSettings { signed: Some(false), ..MessageSettings::default() };
    let Ok(mut messenger) = Messenger::new(&cx, settings) else { return Vec::new() };
    messenger.rekeyed(&mut cx, epoch, key);
    let said = (0..count).filter_map(|_| messenger.seal(&mut cx, &[0; 8]).ok()).last();
    said.unwrap_or_default()
}

/// The sender and session in the header of a group message.
pub(crate) fn source(bytes: &[u8]) -> Option<(MemberId, u64)> {
    let from = bytes.windows(2).position(|pair| pair == [10, 0x4c])? + 2;
    let member = u32::from_be_bytes(bytes.get(from..from + 4)?.try_into().ok()?);
    let session = u64::from_be_bytes(bytes.get(from + 4..from + 12)?.try_into().ok()?);
    Some((MemberId(member), session))
}

pub(crate) struct DrawnSession(pub(crate) u64);

impl TryRng for DrawnSession {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let drawn = self.0.to_be_bytes();
        bytes.iter_mut().zip(drawn.iter().cycle()).for_each(|(byte, drawn)| *byte = *drawn);
        Ok(())
    }
}

impl TryCryptoRng for DrawnSession {}

/// A recorded message with a changed byte, without its end, or with more behind it.
fn tampered(world: &World, rng: &mut ChaCha20Rng) -> Option<Intrusion> {
    let recorded = &world.network.recorded;
    let (_, Publish { topic, payload, .. }) = recorded.get(index(rng, recorded.len() as u64))?;
    let mut payload = payload.clone();
    let place = index(rng, payload.len() as u64);
    match below(rng, 4) {
        0 => payload.truncate(place),
        1 => payload.push(rng.next_u64() as u8),
        _ => *payload.get_mut(place)? ^= 1 << below(rng, 8),
    }
    Some((topic.clone(), payload))
}

fn near_epoch(world: &World, rng: &mut ChaCha20Rng) -> u64 {
    (world.latest_epoch() + [0, 1, 2, 2, 2, 3][index(rng, 6)]).saturating_sub(1)
}

fn other_member(world: &World, device: u32, rng: &mut ChaCha20Rng) -> Option<MemberId> {
    let others: Vec<_> = world.present().filter(|&other| other != device).collect();
    world.member(*others.get(index(rng, others.len() as u64))?)
}

fn member_topic(world: &World, MemberId(member): MemberId) -> String {
    world.topic(&format!("to/m{member:06}"))
}

fn index(rng: &mut ChaCha20Rng, limit: u64) -> usize {
    below(rng, limit) as usize
}

/// The number of false answers in one lie.
const LIES: u32 = 100;
