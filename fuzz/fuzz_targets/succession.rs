//! A group that changes its scheme while messages are lost, late, repeated and forged, members sleep,
//! restart and are evicted, and the service crashes. Nobody panics, no epoch has two keys, no
//! evicted member has the key, and in the end all others are in one group.

#![no_main]

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../../crates/groupkey-mqtt/tests/it/machines/virtual_group.rs"]
mod virtual_group;

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use groupkey::catalogue;
use groupkey_mqtt::GroupForm;
use groupkey_mqtt::service::OperationError;
use groupkey_mqtt::store::Publish;
use libfuzzer_sys::fuzz_target;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use virtual_group::{VirtualGroup, name};

fuzz_target!(|input: Input| {
    let mut group = Group::new(&input);
    for step in input.steps.into_iter().take(24) {
        group.carry_out(step);
    }
    group.settle_and_check();
});

#[derive(Arbitrary, Debug)]
struct Input {
    scheme: u8,
    /// In which order messages of different topics come.
    order: u64,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// The operator changes the scheme.
    Change(u8),
    /// The operator gives the change up.
    Cancel,
    Evict(u8),
    /// A device joins, or restarts without its state.
    Arrive(u8),
    Sleep(u8),
    Wake(u8),
    /// The service crashes some steps later.
    Crash(u8),
    /// Messages of a kind are held back from now on.
    Keep(u8),
    LetGo,
    /// What was held back is lost.
    Lose,
    Settle,
    /// Some seconds go by.
    Wait(u8),
    /// Any bytes, on a topic.
    Bytes(u8, Vec<u8>),
    /// A recorded message again, on a topic, with some bytes replaced.
    Again {
        message: u16,
        topic: u8,
        at: u16,
        with: Vec<u8>,
    },
}

struct Group {
    room: VirtualGroup,
    arrived: BTreeSet<u32>,
    evicted: BTreeSet<u32>,
}

impl Group {
    fn new(input: &Input) -> Self {
        let scheme = SCHEMES[usize::from(input.scheme) % SCHEMES.len()];
        let mut room = VirtualGroup::new(scheme, &[], FOUNDERS as usize);
        (0..FOUNDERS).for_each(|number| room.arrive(number));
        room.settle();
        room.order = Some(ChaCha20Rng::seed_from_u64(input.order));
        room.patience = SHORT;
        Self { room, arrived: (0..FOUNDERS).collect(), evicted: BTreeSet::new() }
    }

    fn carry_out(&mut self, step: Step) {
        let room = &mut self.room;
        match step {
            Step::Change(scheme) => {
                let scheme = SCHEMES[usize::from(scheme) % SCHEMES.len()];
                let form = GroupForm::of(catalogue::scheme(scheme).expect("it is there"));
                let begun = room.service.change_scheme(form, room.now, &mut room.rng);
                self.revive_after(begun);
            }
            Step::Cancel => drop(room.service.cancel_change()),
            Step::Evict(number) => {
                let number = u32::from(number) % DEVICES;
                if room.service.member_count() > 3 && self.arrived.contains(&number) {
                    let evicted = room.service.evict(&name(number), room.now, &mut room.rng);
                    if !matches!(evicted, Err(OperationError::Unknown(_))) {
                        self.evicted.insert(number);
                    }
                    self.revive_after(evicted.map(drop));
                }
            }
            Step::Arrive(number) => {
                let number = u32::from(number) % DEVICES;
                // Stamps of requests are in ms.
                room.now += 1_000_000;
                room.arrive(number);
                self.arrived.insert(number);
            }
            Step::Sleep(number) => {
                if let Some(seat) = room.members.get_mut(&name(u32::from(number) % DEVICES)) {
                    seat.asleep = true;
                }
            }
            Step::Wake(number) => {
                let name = name(u32::from(number) % DEVICES);
                if room.members.contains_key(&name) {
                    room.reconnect(&name);
                }
            }
            Step::Crash(point) => room.service.crash_at(u64::from(point % 32)),
            Step::Keep(kind) => room.keep_back = KEPT[usize::from(kind) % KEPT.len()],
            Step::LetGo => room.let_go(),
            Step::Lose => room.kept_back.clear(),
            Step::Settle => room.settle(),
            Step::Wait(seconds) => room.run_for(u64::from(seconds % 80)),
            Step::Bytes(topic, bytes) => room.publish(topic_of(topic), bytes),
            Step::Again { message, topic, at, with } => {
                let heard = room.heard_by_broker();
                let Some(Publish { payload, topic: own, .. }) =
                    heard.get(usize::from(message) % heard.len().max(1))
                else {
                    return;
                };
                let mut payload = payload.clone();
                let at = usize::from(at) % payload.len().max(1);
                let with = &with[..with.len().min(payload.len().saturating_sub(at))];
                payload[at..at + with.len()].copy_from_slice(with);
                let topic = if topic % 2 == 0 { own.clone() } else { topic_of(topic) };
                room.publish(topic, payload);
            }
        }
    }

    /// A service that crashed is started again. A refusal changes nothing.
    fn revive_after(&mut self, done: Result<(), OperationError>) {
        if let Err(OperationError::Fatal(fatal)) = done {
            self.room.revive(&fatal);
        }
    }

    /// Everything works again, and all that are not out must come back.
    fn settle_and_check(&mut self) {
        let Self { room, arrived, evicted } = self;
        room.let_go();
        room.patience = LONG;
        room.settle();
        for number in arrived.iter().copied() {
            // A crash may have forgotten an eviction whose answer never came.
            if evicted.contains(&number) && !is_barred(room, number) {
                evicted.remove(&number);
            }
            room.reconnect(&name(number));
        }
        let members: Vec<_> = arrived.difference(evicted).copied().collect();
        for _ in 0..12 {
            room.run_for(60);
            if is_whole(room, &members) {
                return room.assert_group(&members);
            }
        }
        room.assert_group(&members);
    }
}

fn is_whole(room: &VirtualGroup, members: &[u32]) -> bool {
    let Some((epoch, key)) = room.service.group_key() else { return false };
    room.service.change_under_way().is_none()
        && room.service.member_count() == members.len()
        && members
            .iter()
            .all(|&number| room.members[&name(number)].member.group_key() == Some((epoch, key)))
}

fn is_barred(room: &VirtualGroup, number: u32) -> bool {
    let mut devices = room.service.devices(groupkey::MemberId(0));
    devices.any(|device| device.name == name(number) && device.is_barred)
}

fn topic_of(choice: u8) -> String {
    let ends = [
        "epoch",
        "state",
        "join",
        "all",
        "talk",
        "requests",
        "welcome/device-0",
        "welcome/device-1",
        "welcome/device-2",
        "to/m000000",
        "to/m000001",
        "to/m000002",
        "to/s000000",
        "set/0000000000",
    ];
    format!("groupkey/1/{}", ends[usize::from(choice / 2) % ends.len()])
}

/// Kinds of messages that the broker may hold back.
const KEPT: [fn(&Publish) -> bool; 6] = [
    |publish| publish.topic.ends_with("/epoch") && !publish.retain,
    |publish| publish.topic.contains("/welcome/"),
    |publish| publish.topic.ends_with("/join"),
    |publish| publish.topic.contains("/all") || publish.topic.contains("/set/"),
    |publish| publish.topic.contains("/to/"),
    |publish| publish.retain,
];

const SCHEMES: [&str; 5] = ["lkh-group", "skdc", "igkmp", "gkmp", "oft"];

const FOUNDERS: u32 = 4;

/// The numbers of devices are less.
const DEVICES: u32 = 6;

/// How long the room must be idle, ns: not as long as a change waits, and long enough for all else.
const SHORT: u64 = 1_500_000_000;
const LONG: u64 = 5_000_000_000;
