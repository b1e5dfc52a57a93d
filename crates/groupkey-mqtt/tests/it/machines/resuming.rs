//! Members that start again with the membership that they kept: the key does not change.

use std::sync::{Arc, Mutex, MutexGuard};

use groupkey::{Epoch, Operation};
use groupkey_mqtt::GroupForm;
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::{Member, MemberSettings};
use groupkey_mqtt::service::ServiceEvent;
use groupkey_mqtt::store::{MembershipStore, Publish, StoreError};

use crate::machines::virtual_group::{VirtualGroup, key, name, schemes_of_services};

/// Every scheme of a service. Then the group goes on, with the member that resumed.
#[test]
fn a_member_that_starts_again_costs_no_change_of_the_key() {
    for scheme in schemes_of_services() {
        let (mut room, flash) = group(scheme.id, 5);
        let epoch = room.epoch();
        start_again(&mut room, 1, &flash[1]);
        room.settle();
        assert_eq!(room.epoch(), epoch, "{}", scheme.id);
        room.assert_group(&[0, 1, 2, 3, 4]);
        assert_eq!(events(&room, 1, is_resumed), 1, "{}", scheme.id);
        assert_eq!(events(&room, 1, |event| *event == MemberEvent::JoinsAgain), 0);
        if scheme.operations.contains(&Operation::Remove) {
            room.evict(3);
        } else {
            room.members.get_mut(&name(3)).unwrap().asleep = true;
        }
        room.arrive(7);
        room.settle();
        let key = room.service.group_key();
        for (name, _) in room.service.members() {
            let seat = &room.members[&name];
            assert!(seat.asleep || seat.member.group_key() == key, "{}: {name}", scheme.id);
        }
        assert_eq!(flash[1].writes(), 1, "{}", scheme.id);
        // One scheme takes nobody in later.
        assert!(room.epoch() > epoch || !scheme.operations.contains(&Operation::Add));
    }
}

/// A power cut: all start again within the same second, among them the only two of a group.
#[test]
fn all_members_start_again_at_once() {
    for (scheme, count) in [("lkh-group", 40), ("lkh-group", 2), ("igkmp", 12), ("skdc", 3)] {
        let (mut room, flash) = group(scheme, count);
        let (epoch, before) = (room.epoch(), room.heard_by_broker().len());
        room.now += 1_000_000_000;
        (0..count).for_each(|number| start(&mut room, number, &flash[number as usize]));
        room.settle();
        assert_eq!(room.epoch(), epoch);
        let all: Vec<_> = (0..count).collect();
        room.assert_group(&all);
        let heard = room.heard_by_broker();
        let sent =
            |end: &str| heard[before..].iter().filter(|sent| sent.topic.ends_with(end)).count();
        assert!(sent("/join") <= count as usize, "{} requests", sent("/join"));
        assert!(sent("/epoch") <= 2, "they count as one resumption, or two");
        room.talkers = all.iter().copied().map(name).collect();
        room.arrive(63);
        room.settle();
        room.assert_all_heard(&all);
    }
}

/// The lamps of a street after a power cut. Messages take no time here, so all that passes is what the
/// service and the members wait.
#[test]
fn four_hundred_members_start_again_at_once() {
    const COUNT: u32 = 400;
    let mut policy = VirtualGroup::new("lkh-group", &[], COUNT as usize).policy;
    policy.keys.clear();
    policy.identities.extend((0..COUNT).map(|lamp| (name(lamp), identity(lamp).public())));
    let mut room = VirtualGroup::of(policy);
    let flash: Vec<_> = (0..COUNT).map(|_| Flash::default()).collect();
    let start_all = |room: &mut VirtualGroup| {
        for (lamp, flash) in (0..).zip(&flash) {
            // The numbers of others in the room have one byte.
            let settings =
                MemberSettings { name: name(lamp), identity: identity(lamp), ..room.settings(0) };
            let member = Member::new(settings).unwrap().remembering(Box::new(flash.clone()));
            room.arrive_as(name(lamp), member);
        }
    };
    start_all(&mut room);
    room.settle();
    assert!(flash.iter().all(|flash| flash.writes() == 1));
    let (epoch, before) = (room.epoch(), room.heard_by_broker().len());
    room.now += 10_000_000_000;
    let begin = room.now;
    start_all(&mut room);
    room.patience = 0;
    room.settle();
    let is_back = |room: &VirtualGroup| {
        room.members.values().all(|seat| seat.member.group_key() == room.service.group_key())
    };
    while !is_back(&room) {
        assert!(room.now < begin + 1_000_000_000, "not all are back");
        room.now += 1_000_000;
        room.settle();
    }
    println!("{COUNT} members are back after {} ms", (room.now - begin) / 1_000_000);
    assert!(room.now - begin <= 60_000_000, "they wait for one resumption, or two");
    assert_eq!(room.epoch(), epoch, "no key was changed");
    let heard = room.heard_by_broker();
    let sent = |end: &str| heard[before..].iter().filter(|sent| sent.topic.ends_with(end)).count();
    assert_eq!(sent("/join"), COUNT as usize, "one request each");
    assert!(sent("/epoch") <= 2);
    assert!(flash.iter().all(|flash| flash.writes() == 1));
}

/// Flash wears out. A membership is one write, whatever the group says and however often the key changes
/// or the device restarts.
#[test]
fn a_membership_is_written_once_in_thousands_of_messages() {
    let (mut room, flash) = group("lkh-group", 4);
    let epoch = room.epoch();
    for round in 0..20 {
        for message in 0..100u32 {
            say(&mut room, message % 4, &message.to_be_bytes());
        }
        room.settle();
        let now = room.now;
        room.service.rekey(now, &mut room.rng).unwrap();
        room.settle();
        start_again(&mut room, round % 4, &flash[round as usize % 4]);
        room.run_for(60);
        room.assert_group(&[0, 1, 2, 3]);
    }
    assert_eq!(room.epoch().0, epoch.0 + 20, "restarts change no key");
    assert!(flash.iter().all(|flash| flash.writes() == 1));
}

/// A day with a message a minute, and each hour another key and a restart.
#[test]
fn what_a_membership_takes_in_flash() {
    const HEADER: usize = 32;
    const SECTOR: usize = 4_096;
    for (scheme, bytes) in [("lkh-group", 314), ("lkh-key", 312), ("skdc", 307)] {
        let (mut room, flash) = group(scheme, 5);
        let joined = flash[1].writes();
        for _ in 0..24 {
            for minute in 0..60u32 {
                say(&mut room, minute % 5, b"the light is on");
            }
            room.settle();
            let now = room.now;
            room.service.rekey(now, &mut room.rng).unwrap();
            room.settle();
            start_again(&mut room, 1, &flash[1]);
            room.patience = 0;
            room.run_for(3_600);
        }
        room.assert_group(&[0, 1, 2, 3, 4]);
        let kept = flash[1].bytes().unwrap().len();
        let record = HEADER + kept.next_multiple_of(HEADER);
        let (memberships, day) = (SECTOR / record, flash[1].writes() - joined);
        assert_eq!((kept, memberships, joined, day), (bytes, 11, 1, 0), "{scheme}");
    }
}

/// The broker has everything that was ever said.
#[test]
fn who_resumed_hears_no_recording() {
    let (mut room, flash) = group("lkh-group", 3);
    say(&mut room, 0, b"light off");
    room.settle();
    let recorded = last(&room, "/talk");
    start_again(&mut room, 1, &flash[1]);
    room.keep_back = |sent| sent.topic.ends_with("/requests");
    room.publish(recorded.topic.clone(), recorded.payload.clone());
    room.settle();
    room.let_go();
    room.settle();
    room.assert_group(&[0, 1, 2]);
    room.publish(recorded.topic.clone(), recorded.payload.clone());
    room.settle();
    assert_eq!(room.members[&name(1)].heard, Vec::<Vec<u8>>::new());
    say(&mut room, 0, b"light on");
    say(&mut room, 1, b"it is on");
    room.settle();
    assert_eq!(room.members[&name(1)].heard, [b"light on"]);
    assert_eq!(room.members[&name(2)].heard, [&b"light off"[..], b"light on", b"it is on"]);
    // A member that comes now knows the count, too.
    start_again(&mut room, 1, &flash[1]);
    room.arrive(3);
    room.settle();
    for _ in 0..3 {
        let recorded = last(&room, "/talk");
        start_again(&mut room, 2, &flash[2]);
        room.settle();
        room.publish(recorded.topic, recorded.payload);
        say(&mut room, 3, b"new here");
        room.settle();
        assert_eq!(room.members[&name(2)].heard, [b"new here"]);
    }
}

/// With its individual key, the member could read the message that made it a member: an old key.
#[test]
fn who_resumes_takes_no_key_but_the_one_that_it_asked_for() {
    for scheme in ["lkh-group", "skdc", "igkmp", "cfkm"] {
        let (mut room, flash) = group(scheme, 4);
        room.evict(3);
        let recorded = room.heard_by_broker();
        room.keep_back = is_request;
        start_again(&mut room, 1, &flash[1]);
        room.run_for(2);
        for Publish { topic, payload, .. } in recorded.into_iter().filter(|sent| !is_request(sent))
        {
            room.publish(topic, payload);
        }
        room.run_for(2);
        assert_eq!(room.members[&name(1)].member.group_key(), None, "{scheme}");
        room.let_go();
        room.run_for(60);
        room.assert_group(&[0, 1, 2]);
    }
}

/// It was switched off, and did not hear the farewell.
#[test]
fn who_was_evicted_while_it_was_off_stays_out() {
    let (mut room, flash) = group("lkh-group", 4);
    room.members.remove(&name(1));
    room.evict(1);
    let epoch = room.epoch();
    start_again(&mut room, 1, &flash[1]);
    room.run_for(120);
    room.assert_group(&[0, 2, 3]);
    assert_eq!(room.epoch(), epoch);
    // The service tells it so, once, and it has nothing left to resume.
    assert_eq!(events(&room, 1, |event| *event == MemberEvent::Evicted), 1);
    assert!(flash[1].copy().0.lock().unwrap().kept.is_none());
    // It hears the farewell, or not: readmitted, it joins as somebody new.
    room.service.readmit(&name(1), room.now).unwrap();
    start_again(&mut room, 1, &flash[1]);
    room.run_for(60);
    room.assert_group(&[0, 1, 2, 3]);
    assert_eq!(events(&room, 1, is_joined), 1);
}

/// The copy was made before the device joined for the second time.
#[test]
fn an_old_copy_of_a_membership_opens_nothing() {
    let (mut room, flash) = group("lkh-group", 3);
    let copy = flash[1].copy();
    room.arrive(1);
    room.settle();
    let epoch = room.epoch();
    start_again(&mut room, 1, &copy);
    room.run_for(60);
    room.assert_group(&[0, 1, 2]);
    assert_eq!(events(&room, 1, is_joined), 1, "it joined anew");
    assert!(room.epoch() > epoch);
}

/// Two devices cannot take each other's membership, and a damaged one is no obstacle.
#[test]
fn what_cannot_be_read_is_reported_and_the_device_joins() {
    let (mut room, flash) = group("lkh-group", 3);
    let whole = flash[1].bytes().unwrap();
    let mut damaged =
        vec![flash[2].bytes().unwrap(), Vec::new(), whole[..whole.len() - 1].to_vec()];
    damaged.extend([0, 12, whole.len() / 2].map(|place| {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        bytes
    }));
    for bytes in damaged {
        let other = Flash::default();
        other.content().kept = Some(bytes);
        start_again(&mut room, 1, &other);
        room.run_for(90);
        room.assert_group(&[0, 1, 2]);
        let unreadable = MemberEvent::Unkept(StoreError::Unreadable);
        assert_eq!(events(&room, 1, |event| *event == unreadable), 1);
        // What it keeps now is good.
        let epoch = room.epoch();
        start_again(&mut room, 1, &other);
        room.run_for(90);
        room.assert_group(&[0, 1, 2]);
        assert_eq!(room.epoch(), epoch);
    }
}

/// Whoever keeps nothing lives as before, and hears of it.
#[test]
fn a_full_disk_stops_no_member() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    let full = Flash::default();
    full.content().is_full = true;
    start_again(&mut room, 0, &full);
    (1..3).for_each(|number| room.arrive(number));
    room.settle();
    room.assert_group(&[0, 1, 2]);
    assert_eq!(events(&room, 0, |event| matches!(event, MemberEvent::Unkept(_))), 1);
    let epoch = room.epoch();
    start_again(&mut room, 0, &full);
    room.run_for(30);
    room.assert_group(&[0, 1, 2]);
    assert!(room.epoch() > epoch, "it joined again");
}

/// The service dies at every point while members resume, and counts no less afterwards.
#[test]
fn the_count_of_resumptions_outlives_the_service() {
    let mut point = 0;
    loop {
        let (mut room, flash) = group("lkh-group", 3);
        say(&mut room, 0, b"once");
        room.settle();
        let recorded = last(&room, "/talk");
        start_again(&mut room, 1, &flash[1]);
        room.settle();
        room.service.crash_at(point);
        start_again(&mut room, 2, &flash[2]);
        room.run_for(30);
        room.assert_group(&[0, 1, 2]);
        assert_eq!(room.epoch(), Epoch(1));
        room.publish(recorded.topic, recorded.payload);
        say(&mut room, 1, b"from one that resumed before");
        room.settle();
        assert_eq!(room.members[&name(2)].heard, [b"from one that resumed before"]);
        if room.crashes == 0 {
            break;
        }
        point += 1;
    }
    assert!(point > 3, "{point}");
}

/// The group changes its scheme: what is kept is the membership of the successor.
#[test]
fn a_membership_is_kept_anew_when_the_scheme_changes() {
    let (mut room, flash) = group("lkh-group", 4);
    let old = flash[2].copy();
    let form = GroupForm::of(groupkey::catalogue::scheme("skdc").unwrap());
    room.service.change_scheme(form, room.now, &mut room.rng).unwrap();
    room.run_for(120);
    assert_eq!(flash[1].writes(), 2);
    let epoch = room.epoch();
    start_again(&mut room, 1, &flash[1]);
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
    assert_eq!(room.epoch(), epoch);
    // One that slept through the change joins again.
    start_again(&mut room, 2, &old);
    room.run_for(60);
    room.assert_group(&[0, 1, 2, 3]);
    assert!(room.epoch() > epoch);
}

/// A device with a fault, or a dishonest one, starts again every two seconds for two hours.
#[test]
fn who_starts_again_over_and_over_waits() {
    let (mut room, flash) = group("lkh-group", 3);
    let begin = room.events.len();
    for _ in 0..3_600 {
        start_again(&mut room, 1, &flash[1]);
        room.patience = 0;
        room.run_for(1);
    }
    let resumed = |event: &&ServiceEvent| matches!(event, ServiceEvent::Resumed { .. });
    let count = room.events[begin..].iter().filter(resumed).count();
    assert!((10..=130).contains(&count), "{count} in two hours");
    assert_eq!(room.epoch(), Epoch(1));
}

fn identity(lamp: u32) -> Secret {
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&lamp.to_be_bytes());
    Secret::from_bytes(bytes)
}

fn group(scheme: &str, count: u32) -> (VirtualGroup, Vec<Flash>) {
    let mut room = VirtualGroup::new(scheme, &[], count as usize);
    let flash: Vec<_> = (0..count).map(|_| Flash::default()).collect();
    (0..count).for_each(|number| start_again(&mut room, number, &flash[number as usize]));
    room.settle();
    room.assert_group(&(0..count).collect::<Vec<_>>());
    (room, flash)
}

pub(crate) fn start_again(room: &mut VirtualGroup, number: u32, flash: &Flash) {
    room.now += 1_000_000_000;
    start(room, number, flash);
}

fn start(room: &mut VirtualGroup, number: u32, flash: &Flash) {
    let mut settings = room.settings(number);
    settings.shared = Some(key(number));
    let member = Member::new(settings).unwrap().remembering(Box::new(flash.clone()));
    room.arrive_as(name(number), member);
}

pub(crate) fn say(room: &mut VirtualGroup, number: u32, content: &[u8]) {
    let now = room.now;
    let seat = room.members.get_mut(&name(number)).unwrap();
    seat.member.say(content, now, &mut room.rng).unwrap();
}

fn last(room: &VirtualGroup, end: &str) -> Publish {
    let heard = room.heard_by_broker();
    heard.iter().rfind(|sent| sent.topic.ends_with(end)).unwrap().clone()
}

fn events(room: &VirtualGroup, number: u32, of: impl Fn(&MemberEvent) -> bool) -> usize {
    room.members[&name(number)].events.iter().filter(|event| of(event)).count()
}

/// Whether it is to a controller.
fn is_request(sent: &Publish) -> bool {
    sent.topic.contains("/requests") || sent.topic.contains("/to/s")
}

const fn is_resumed(event: &MemberEvent) -> bool {
    matches!(event, MemberEvent::Resumed { .. })
}

const fn is_joined(event: &MemberEvent) -> bool {
    matches!(event, MemberEvent::Joined { .. })
}

/// A memory that outlives its device.
#[derive(Clone, Default)]
pub(crate) struct Flash(Arc<Mutex<FlashContent>>);

#[derive(Clone, Default)]
pub(crate) struct FlashContent {
    kept: Option<Vec<u8>>,
    writes: u32,
    is_full: bool,
}

impl Flash {
    fn content(&self) -> MutexGuard<'_, FlashContent> {
        self.0.lock().unwrap()
    }

    fn writes(&self) -> u32 {
        self.content().writes
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        self.content().kept.clone()
    }

    fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.content().clone())))
    }
}

impl MembershipStore for Flash {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.bytes())
    }

    fn keep(&mut self, membership: &[u8]) -> Result<(), StoreError> {
        let mut content = self.content();
        if content.is_full {
            return Err(StoreError::Failed("no space left".to_owned()));
        }
        content.writes += 1;
        content.kept = Some(membership.to_vec());
        Ok(())
    }

    fn forget(&mut self) -> Result<(), StoreError> {
        self.content().kept = None;
        Ok(())
    }
}
