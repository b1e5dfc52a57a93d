//! Interfaces for monitoring: metrics, health, and the OpenAPI description.

use groupkey_mqtt::driver::{fresh_rng, now};
use groupkey_mqtt::http::HttpLimits;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{Input, Member, Output, Runtime};
use serde_json::Value;

use crate::client::send;
use crate::fixture::{HttpFixture, bearer, policy};

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_is_forged_and_what_is_malformed() {
    let house = HttpFixture::with(3).await;
    let before = metrics(&house).await;
    let zero = |reason: &str| format!("groupkey_messages_refused_total{{reason=\"{reason}\"}} 0");
    assert!(has(&before, &zero("forged")) && has(&before, &zero("malformed")), "{before}");

    // A request to join that was changed after its sender signed it.
    let mut forged = request_to_join(&house);
    *forged.last_mut().unwrap() ^= 1;
    let topic = format!("{}/join", house.policy.prefix);
    let handle = house.service.handle.clone();
    handle
        .call(move |service, now, rng| {
            for payload in [&forged[..], &[0xff; 40]] {
                let topic = &topic;
                service.handle(Input::Arrived { topic, payload }, now, rng).unwrap();
            }
        })
        .await
        .unwrap();
    let after = metrics(&house).await;
    let one = |reason: &str| format!("groupkey_messages_refused_total{{reason=\"{reason}\"}} 1");
    assert!(has(&after, &one("forged")) && has(&after, &one("malformed")), "{after}");
    for line in [
        "groupkey_epoch 1",
        "groupkey_members 3",
        "groupkey_publish_backlog 0",
        "groupkey_broker_connected 1",
        "groupkey_broker_connections_total 1",
        "groupkey_operations_total{operation=\"create\"} 1",
        "groupkey_operation_durable_seconds_count{operation=\"create\"} 1",
        "groupkey_log_limit_entries 1000000",
    ] {
        assert!(has(&after, line), "{line} is not in\n{after}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_tells_of_the_store_and_of_the_broker() {
    let house = HttpFixture::with(2).await;
    let health = house.get("/health").await;
    let well = serde_json::json!({ "status": "ok", "store": "ok", "broker": "connected" });
    assert_eq!((health.status, health.json()), (200, well));
    let mut full = policy(2);
    full.limits.log = 3;
    let house =
        HttpFixture::of(full, Box::new(MemoryStore::default()), HttpLimits::default()).await;
    let health = house.get("/health").await;
    assert_eq!((health.status, &health.json()["store"]), (503, &"full".into()));
    house.post("/api/v1/groups/1/rekey", "").await.assert_problem(503);
}

/// Each described operation exists, requires the token where the description says so, and answers
/// as described. Other methods are refused, and every route is described.
#[tokio::test(flavor = "multi_thread")]
async fn the_description_is_of_what_is_served() {
    let house = HttpFixture::with(3).await;
    let description = house.get("/openapi.json").await.json();
    let paths = description["paths"].as_object().unwrap();
    for (path, item) in paths {
        let place = path.replace("{group}", "1").replace("{name}", "device-0");
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let answer = send(house.address, method, &place, &[bearer()], "").await;
            let Some(operation) = item.get(method.to_lowercase()) else {
                answer.assert_problem(405);
                continue;
            };
            let responses = operation["responses"].as_object().unwrap();
            let described = responses.get(&answer.status.to_string());
            let described = described.unwrap_or_else(|| panic!("{method} {path}: {answer:?}"));
            let described = resolve(&description, described);
            let media = answer.header("content-type").unwrap().split(';').next().unwrap();
            assert!(described["content"].get(media).is_some(), "{method} {path}: {media}");
            let is_open = operation["security"].as_array().is_some_and(Vec::is_empty);
            let without = send(house.address, method, &place, &[], "").await;
            assert_eq!(without.status == 401, !is_open, "{method} {path}: {without:?}");
        }
    }
    let source = include_str!("../../src/http/routes.rs");
    let routes: Vec<_> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".route(\"")?.split('"').next())
        .collect();
    assert_eq!(routes.len(), paths.len());
    assert!(routes.iter().all(|route| paths.contains_key(*route)), "{routes:?}");
}

fn resolve<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => description.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

async fn metrics(house: &HttpFixture) -> String {
    let answer = house.get("/metrics").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

fn has(metrics: &str, line: &str) -> bool {
    metrics.lines().any(|found| found == line)
}

/// The first publish of a device that is not a member.
fn request_to_join(house: &HttpFixture) -> Vec<u8> {
    let mut member = Member::new(house.settings(9)).unwrap();
    member.handle(Input::Connected, now(), &mut fresh_rng().unwrap()).unwrap();
    loop {
        match member.poll().unwrap().expect("a request to join") {
            Output::Publish(publish) => return publish.payload,
            _ => continue,
        }
    }
}
