//! A group changes its scheme over real brokers, while all its members talk.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use groupkey::catalogue;
use groupkey_mqtt::GroupForm;
use groupkey_mqtt::driver::Quality;
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::store::MemoryStore;
use tokio::time::{sleep, timeout};

use crate::live::brokers;
use crate::live::{Group, PATIENCE};

const MEMBERS: u32 = 20;

/// What each member says before, during and after each change.
const MESSAGES: u32 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_talks_changes_its_scheme_and_nobody_misses_anything() {
    for broker in brokers::all() {
        let access = broker.access();
        let prefix = access.prefix("t/change");
        let policy = Group::policy("lkh-group", &[], &prefix, MEMBERS as usize);
        let store = Box::new(MemoryStore::default());
        let mut group = Group::new(policy, store, access, Quality::AtLeastOnce);
        let numbers: Vec<_> = (0..MEMBERS).collect();
        numbers.iter().for_each(|&number| group.arrive(number));
        group.agree(&numbers).await;
        let heard = listen(&mut group);
        let mut said = 0;
        for scheme in ["igkmp", "skdc"] {
            let form = GroupForm::of(catalogue::scheme(scheme).unwrap());
            for round in 0..MESSAGES {
                for (_, member) in &group.members {
                    let content = said.to_string().into_bytes();
                    let done = member.handle.call(move |member, now, rng| {
                        member.say(&content, now, rng).map_err(|error| error.to_string())
                    });
                    done.await.unwrap().expect("every member always has a key");
                    said += 1;
                }
                if round == MESSAGES / 4 {
                    let form = form.clone();
                    let begun = group.service.handle.call(move |service, now, rng| {
                        service.change_scheme(form, now, rng).map_err(|error| error.to_string())
                    });
                    begun.await.unwrap().unwrap();
                }
                sleep(Duration::from_millis(120)).await;
            }
            let is_in_force = async {
                let name = |service: &mut groupkey_mqtt::Service, _: u64, _: &mut _| {
                    service.policy().form.configuration.scheme().id
                };
                while group.service.handle.call(name).await != Some(scheme) {
                    sleep(Duration::from_millis(20)).await;
                }
            };
            timeout(PATIENCE, is_in_force).await.expect("the scheme is in force");
            group.agree(&numbers).await;
        }
        let others = said as usize * (MEMBERS as usize - 1);
        let all_heard = async {
            while heard.lock().unwrap().len() < others {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let arrived = timeout(PATIENCE, all_heard).await;
        let mut heard = heard.lock().unwrap().clone();
        assert!(arrived.is_ok(), "{} of {others} messages were heard", heard.len());
        heard.sort();
        heard.dedup();
        assert_eq!(heard.len(), others, "each was heard once");
        // An eviction takes effect in the new scheme, too.
        group.evict(3).await;
        let rest: Vec<_> = numbers.into_iter().filter(|&number| number != 3).collect();
        group.agree(&rest).await;
    }
}

/// What members heard, with their numbers.
type Heard = Arc<Mutex<Vec<(u32, Vec<u8>)>>>;

fn listen(group: &mut Group) -> Heard {
    let heard = Arc::new(Mutex::new(Vec::new()));
    for (number, running) in &mut group.members {
        let (_, closed) = tokio::sync::mpsc::channel(1);
        let mut events = std::mem::replace(&mut running.events, closed);
        let (number, heard) = (*number, Arc::clone(&heard));
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                match event {
                    MemberEvent::Heard(received) => {
                        heard.lock().unwrap().push((number, received.content))
                    }
                    MemberEvent::JoinsAgain => panic!("member {number} was left behind"),
                    _ => {}
                }
            }
        });
    }
    heard
}
