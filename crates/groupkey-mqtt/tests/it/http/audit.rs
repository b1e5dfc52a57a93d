//! The trail over HTTP, and named tokens with rights.

use groupkey_mqtt::Secret;
use groupkey_mqtt::config::{NamedToken, TokenRights};
use groupkey_mqtt::http::{AuditView, HttpLimits};
use groupkey_mqtt::store::MemoryStore;

use crate::http::client::{Answer, send};
use crate::http::fixture::{HttpFixture, policy};

const AUDIT: &str = "/api/v1/groups/1/audit";

#[tokio::test(flavor = "multi_thread")]
async fn named_tokens_have_rights_are_in_the_trail_and_count_no_longer_when_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("http.tokens");
    let store = Box::new(MemoryStore::default());
    let limits = HttpLimits { wrong_tokens: 100, ..HttpLimits::default() };
    let mut house = HttpFixture::with_tokens(policy(3), store, limits, Some(file.clone())).await;
    (0..3).for_each(|number| house.arrive(number));
    house.wait_for(3).await;

    let alice = NamedToken::add(&file, "alice", TokenRights::Operate).unwrap();
    let reader = NamedToken::add(&file, "reader", TokenRights::Read).unwrap();
    let rekey = "/api/v1/groups/1/rekey";
    assert_eq!(ask(&house, "POST", rekey, &alice).await.status, 200);
    assert_eq!(ask(&house, "GET", AUDIT, &reader).await.status, 200);
    for path in [rekey, "/api/v1/groups/1/members/device-1/evict", "/api/v1/groups/1/scheme"] {
        ask(&house, "POST", path, &reader).await.assert_problem(403);
    }
    assert_eq!(house.post("/api/v1/groups/1/members/device-1/evict", "").await.status, 200);
    house.post("/api/v1/groups/1/members/nobody/evict", "").await.assert_problem(404);

    NamedToken::revoke(&file, "alice").unwrap();
    ask(&house, "POST", rekey, &alice).await.assert_problem(401);
    assert_eq!(ask(&house, "GET", AUDIT, &reader).await.status, 200);
    // A file that cannot be trusted lets nobody in, but for the service's own token.
    std::fs::write(&file, "reader operate").unwrap();
    ask(&house, "GET", AUDIT, &reader).await.assert_problem(401);

    let trail = house.get(AUDIT).await;
    assert!(!trail.body.contains(&**alice.to_hex()), "no token is in the trail");
    let trail: AuditView = serde_json::from_str(&trail.body).unwrap();
    let done: Vec<_> = trail
        .records
        .iter()
        .filter(|record| record.actor.starts_with("token:"))
        .map(|record| {
            let subject = record.subject.as_deref().unwrap_or_default();
            (record.actor.as_str(), record.operation.as_str(), subject, record.refusal.is_some())
        })
        .collect();
    let expected = [
        ("token:alice", "rekey", "", false),
        ("token:operator", "evict", "device-1", false),
        ("token:operator", "evict", "nobody", true),
    ];
    assert_eq!(done, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trail_comes_in_portions_whose_chain_a_client_can_check() {
    let house = HttpFixture::with(3).await;
    for _ in 0..5 {
        assert_eq!(house.post("/api/v1/groups/1/rekey", "").await.status, 200);
    }
    let (mut since, mut records, mut head) = (0, Vec::new(), String::new());
    loop {
        let portion = house.get(&format!("{AUDIT}?since={since}&limit=2")).await;
        let portion: AuditView = serde_json::from_str(&portion.body).unwrap();
        assert!(portion.records.len() <= 2);
        records.extend(portion.records);
        head = if head.is_empty() { portion.head } else { head };
        let Some(next) = portion.next else { break };
        since = next;
    }
    assert!(records.len() >= 6, "{records:?}");
    assert_eq!(records[0].previous, "00".repeat(32));
    for pair in records.windows(2) {
        assert_eq!((pair[0].number + 1, &pair[0].hash), (pair[1].number, &pair[1].previous));
    }
    for record in &records {
        assert_eq!(record.computed_hash().as_ref(), Some(&record.hash));
        let mut changed = record.clone();
        changed.actor = "terminal".to_owned();
        assert_ne!(changed.computed_hash().as_ref(), Some(&record.hash));
    }
    assert_eq!(records.last().unwrap().hash, head);
    for query in ["limit=0", "limit=1001", "since=x", "since=-1", "form=1"] {
        house.get(&format!("{AUDIT}?{query}")).await.assert_problem(400);
    }
}

async fn ask(house: &HttpFixture, method: &str, path: &str, token: &Secret) -> Answer {
    let header = format!("Authorization: Bearer {}", *token.to_hex());
    send(house.address, method, path, &[header], "").await
}
