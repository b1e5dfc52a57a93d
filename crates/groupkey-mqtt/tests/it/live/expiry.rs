//! Messages for members that are offline: in MQTT 5 they expire, in 3.1.1 they wait.

use std::time::Duration;

use groupkey_mqtt::counters::Counters;
use groupkey_mqtt::driver::Quality;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{Policy, Version};

use crate::live::relay::Relay;
use crate::live::{Group, brokers};

#[tokio::test(flavor = "multi_thread")]
async fn who_is_away_for_long_gets_nothing_stale_but_one_answer() {
    let Some(broker) = brokers::mosquitto() else { return };
    for version in Version::ALL {
        let access = broker.access().in_version(version);
        let policy = Group::policy("lkh-group", &[], &access.prefix("t/stale"), 4);
        let policy = Policy { rekey_expiry_s: 1, ..policy };
        let store = Box::new(MemoryStore::default());
        let mut group = Group::new(policy, store, access.clone(), Quality::AtLeastOnce);
        let relay = Relay::before(access.port()).await;
        group.arrive_at(0, &access.through(relay.port));
        (1..4).for_each(|number| group.arrive(number));
        let founded = group.agree(&[0, 1, 2, 3]).await;

        relay.cut();
        for number in 4..4 + CHANGES / 2 {
            group.arrive(number);
            group.agree(&[1, 2, 3, number]).await;
            group.evict(number).await;
            group.agree(&[1, 2, 3]).await;
        }
        // Brokers count in whole seconds.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let (member, service) = (group.member_counters().await, group.service_counters().await);
        relay.mend();
        let epoch = group.agree(&[0, 1, 2, 3]).await;
        assert_eq!(epoch.0, founded.0 + u64::from(CHANGES), "{version}");
        // Messages that must not come have the time to come.
        tokio::time::sleep(Duration::from_millis(500)).await;

        let asked = group.service_counters().await.taken - service.taken;
        let now = group.member_counters().await;
        let taken = now.taken - member.taken;
        assert_eq!(now.refusals(), member.refusals(), "{version}: {now:?}");
        match version {
            Version::V5 => assert_eq!((asked, taken), (1, 1), "one request, one answer"),
            Version::V3 => assert_eq!((asked, taken), (0, u64::from(CHANGES)), "every change"),
        }
    }
}

impl Group {
    /// Of the first member.
    async fn member_counters(&self) -> Counters {
        let (_, member) = &self.members[0];
        member.handle.call(|member, _, _| member.counters()).await.unwrap()
    }

    async fn service_counters(&self) -> Counters {
        self.service.handle.call(|service, _, _| service.counters()).await.unwrap()
    }
}

/// That the member misses, an even number.
const CHANGES: u32 = 6;
