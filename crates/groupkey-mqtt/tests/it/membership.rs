//! A program's view of a member: connect, key, send, receive, and what fails.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_core::Stream;
use groupkey::{Epoch, Key, MemberId};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::member::MemberSettingsError;
use groupkey_mqtt::{
    ConnectError, Connection, Membership, MembershipError, MembershipReceiver, MembershipSettings,
    Secret, connect,
};
use groupkey_testbed::{broker, demo};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::time::timeout;

fn device(port: u16) -> MembershipSettings {
    MembershipSettings {
        broker: Connection::new("127.0.0.1", port, "truck-7"),
        prefix: "groupkey/1".to_owned(),
        name: "truck-7".to_owned(),
        identity: Secret::from_bytes([1; 32]),
        shared_key: Some(Secret::from_bytes([2; 32])),
        service_key: None,
        membership_file: None,
        freshness: Default::default(),
    }
}

async fn members<const N: usize>(group: &demo::Demo, names: [&str; N]) -> [Membership; N] {
    let mut members = Vec::new();
    for name in names {
        members.push(connect(group.device(name).unwrap()).await.unwrap());
    }
    let mut members = <[_; N]>::try_from(members).unwrap();
    for member in &mut members {
        timeout(PATIENCE, member.key()).await.unwrap().unwrap();
    }
    members
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_not_there_is_an_error_with_its_address() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let error = timeout(PATIENCE, connect(device(port))).await.unwrap().unwrap_err();
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
}

#[tokio::test]
async fn settings_with_which_nobody_can_join_are_refused() {
    let device = MembershipSettings { name: "a b".to_owned(), ..device(1) };
    let refused = ConnectError::Settings(MemberSettingsError::Name);
    assert_eq!(connect(device).await.unwrap_err(), refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_group_key_nothing_is_sent() {
    let port = broker::start().unwrap().port();
    let member = connect(device(port)).await.unwrap();
    assert!(member.status().connected);
    assert_eq!(member.send(b"too early").await, Err(MembershipError::NoKey));
    assert_eq!(member.number().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_when_its_future_is_dropped() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let device = device(listener.local_addr().unwrap().port());
    let connecting = tokio::spawn(connect(device));
    let (mut stream, _) = listener.accept().await.unwrap();
    assert!(stream.read_u8().await.is_ok(), "it sends CONNECT");
    connecting.abort();
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest))
        .await
        .expect("the device disconnects")
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_cancelled_over_and_over_loses_nothing() {
    let group = demo::start(&["anna", "bert"]).unwrap();
    let [anna, mut bert] = members(&group, ["anna", "bert"]).await;
    for number in 0..50_u8 {
        anna.send(&[number]).await.unwrap();
    }
    let sender = anna.number().await;
    anna.close().await;
    let mut received = Vec::new();
    let begin = Instant::now();
    while received.len() < 50 && begin.elapsed() < PATIENCE {
        let next = poll_fn(|cx| Pin::new(&mut bert).poll_next(cx));
        let Ok(message) = timeout(Duration::from_micros(50), next).await else { continue };
        let message = message.unwrap();
        if Some(message.sender) == sender {
            received.extend(message.content);
        }
    }
    assert_eq!(received, (0..50).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_evicted_hears_of_it_in_every_call() {
    let group = demo::start(&["anna", "bert"]).unwrap();
    let [mut anna, mut bert] = members(&group, ["anna", "bert"]).await;
    let (before, key) = bert.key().await.unwrap();
    // Until the third member has joined, the eviction is pending.
    let _ = group.evict("anna").await;
    assert_eq!(timeout(PATIENCE, anna.next()).await.unwrap(), None);
    assert_eq!(anna.key().await.unwrap_err(), MembershipError::Evicted);
    assert_eq!(anna.send(b"still here").await, Err(MembershipError::Evicted));
    let rekeyed = async {
        while bert.key().await.unwrap().1 == key {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, rekeyed).await.unwrap();
    assert!(bert.key().await.unwrap().0 > before);
}

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_watched_and_an_event() {
    let group = demo::start(&["anna", "bert"]).unwrap();
    let [anna, mut bert] = members(&group, ["anna", "bert"]).await;
    let (mut of_anna, mut of_bert) = (anna.keys(), bert.keys());
    let (before, key) = bert.key().await.unwrap();
    assert!(of_bert.borrow().as_ref().is_some_and(|(epoch, _)| *epoch >= before));
    // Until the third member has joined, the eviction is pending.
    let _ = group.evict("anna").await;
    let without_anna = of_anna.wait_for(Option::is_none);
    timeout(PATIENCE, without_anna).await.expect("the evicted member has no key").unwrap();
    let is_later =
        |known: &Option<(Epoch, Key)>| known.as_ref().is_some_and(|(epoch, _)| *epoch > before);
    let later = timeout(PATIENCE, of_bert.wait_for(is_later)).await.unwrap().unwrap().clone();
    let (epoch, other) = later.unwrap();
    assert_ne!(other, key);
    let rekeyed = async {
        while let Some(event) = bert.event().await {
            if event == MemberEvent::Rekeyed(epoch) {
                return;
            }
        }
        panic!("the member has ended");
    };
    timeout(PATIENCE, rekeyed).await.expect("the key is an event");
}

/// One task hears, others send, and each half keeps the device connected by itself.
#[tokio::test(flavor = "multi_thread")]
async fn halves_are_moved_apart() {
    let group = demo::start(&["anna", "bert"]).unwrap();
    let [anna, bert] = members(&group, ["anna", "bert"]).await;
    let (sender, receiver) = anna.split();
    let (by_anna, others) = (sender.number().await, bert.sender());
    let heard = tokio::spawn(hear(bert.split().1, by_anna, 20));
    let senders = [0_u8, 10].map(|first| {
        let sender = sender.clone();
        tokio::spawn(async move {
            for number in first..first + 10 {
                sender.send(&[number]).await.unwrap();
            }
        })
    });
    for task in senders {
        timeout(PATIENCE, task).await.unwrap().unwrap();
    }
    timeout(PATIENCE, sender.acknowledged()).await.unwrap();
    let (mut contents, bert) = timeout(PATIENCE, heard).await.unwrap().unwrap();
    contents.sort();
    assert_eq!(contents, (0..20).map(|number| vec![number]).collect::<Vec<_>>());
    // A receiver alone still hears.
    drop(sender);
    let by_bert = others.number().await;
    others.send(b"to the receiver").await.unwrap();
    let heard = timeout(PATIENCE, hear(receiver, by_bert, 1)).await.unwrap();
    assert_eq!(heard.0, [b"to the receiver"]);
    // A sender alone still sends.
    drop(bert);
    others.send(b"by the sender").await.unwrap();
    let heard = timeout(PATIENCE, hear(heard.1, by_bert, 1)).await.unwrap();
    assert_eq!(heard.0, [b"by the sender"]);
}

async fn hear(
    mut receiver: MembershipReceiver,
    from: Option<MemberId>,
    count: usize,
) -> (Vec<Vec<u8>>, MembershipReceiver) {
    let mut contents = Vec::new();
    while contents.len() < count {
        let received = receiver.next().await.unwrap();
        if Some(received.sender) == from {
            contents.push(received.content);
        }
    }
    (contents, receiver)
}
