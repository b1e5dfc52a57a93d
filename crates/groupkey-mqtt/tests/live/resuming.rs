//! All members of a street start again at once, over real brokers.

use std::path::Path;
use std::time::{Duration, Instant};

use groupkey_mqtt::driver::{Quality, run};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::{MemberSettings, MembershipFile};
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{Member, Policy};
use tokio::time::sleep;

use crate::brokers::{self, Broker};
use crate::{Group, PATIENCE, name};

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_changes_no_key() {
    for broker in brokers::all() {
        power_cut(&broker, 24).await;
    }
}

/// `cargo test -p groupkey-mqtt --test live four_hundred -- --ignored --nocapture` prints how long it takes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: 400 members start again at once, as the lamps of a street do after a power cut"]
async fn four_hundred_members_start_again_at_once() {
    let broker = brokers::mosquitto().unwrap_or_else(|| brokers::all().remove(0));
    power_cut(&broker, 400).await;
}

async fn power_cut(broker: &Broker, members: u32) {
    let (access, folder) = (broker.access(), tempfile::tempdir().unwrap());
    let prefix = access.prefix("t/power");
    let mut policy = Group::policy("lkh-group", &[], &prefix, members as usize);
    name_all(&mut policy, members);
    let mut group =
        Group::new(policy, Box::new(MemoryStore::default()), access, Quality::AtLeastOnce);
    let numbers: Vec<_> = (0..members).collect();
    numbers.iter().for_each(|&number| begin(&mut group, number, folder.path()));
    let epoch = group.agree(&numbers).await;
    for (_, member) in &mut group.members {
        member.end.abort();
        let _ = (&mut member.end).await;
    }
    group.members.clear();
    let started = Instant::now();
    numbers.iter().for_each(|&number| begin(&mut group, number, folder.path()));
    let mut statuses: Vec<_> =
        group.members.iter().map(|(_, member)| member.handle.status()).collect();
    while !statuses.iter_mut().all(|status| status.borrow_and_update().connected) {
        assert!(started.elapsed() < PATIENCE, "they connect");
        sleep(Duration::from_millis(5)).await;
    }
    let connected = started.elapsed();
    assert_eq!(group.agree(&numbers).await, epoch, "no key was changed");
    println!(
        "{members} members connected after {connected:?}, and had the key after {:?}",
        started.elapsed()
    );
    assert_eq!(group.agree(&numbers).await, epoch);
    group.say(0, b"the light is on").await;
    group.hears(1, b"the light is on").await;
}

fn begin(group: &mut Group, number: u32, folder: &Path) {
    let settings = MemberSettings {
        prefix: group.prefix.clone(),
        name: name(number),
        identity: identity(number),
        shared: None,
        service: Some(group.service_key),
        allowed: Default::default(),
        messages: Default::default(),
        freshness: Default::default(),
    };
    let memory = MembershipFile::at(folder.join(name(number)));
    let member = Member::new(settings).unwrap().remembering(Box::new(memory));
    let connection = group.access.connection(&group.prefix, &name(number), group.qos);
    group.members.push((number, run(member, connection)));
}

/// Lets these devices join by their identities.
fn name_all(policy: &mut Policy, members: u32) {
    policy.keys.clear();
    policy.identities.extend((0..members).map(|number| (name(number), identity(number).public())));
}

fn identity(number: u32) -> Secret {
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Secret::from_bytes(bytes)
}
