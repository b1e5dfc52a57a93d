//! Interfaces for monitoring: metrics, health, and the OpenAPI description.

use std::time::Duration;

use groupkey_mqtt::driver::{fresh_rng, now};
use groupkey_mqtt::http::HttpLimits;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{Input, Member, Output, Policy, Runtime};
use serde_json::Value;

use crate::http::client::send;
use crate::http::fixture::{HttpFixture, bearer, policy};

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_is_forged_and_what_is_malformed() {
    let house = HttpFixture::with(3).await;
    let before = metrics(&house).await;
    let zero = |reason: &str| format!("groupkey_messages_refused_total{{reason=\"{reason}\"}} 0");
    assert!(
        has_line(&before, &zero("forged")) && has_line(&before, &zero("malformed")),
        "{before}"
    );

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
    assert!(has_line(&after, &one("forged")) && has_line(&after, &one("malformed")), "{after}");
    for line in [
        "groupkey_epoch 1",
        "groupkey_members 3",
        "groupkey_members_by_epoch{state=\"confirmed\"} 0",
        "groupkey_members_by_epoch{state=\"behind\"} 0",
        "groupkey_members_by_epoch{state=\"unconfirmed\"} 3",
        "groupkey_publish_backlog 0",
        "groupkey_broker_connected 1",
        "groupkey_broker_connections_total 1",
        "groupkey_operations_total{operation=\"create\"} 1",
        "groupkey_operation_durable_seconds_count{operation=\"create\"} 1",
        "groupkey_log_limit_entries 1000000",
    ] {
        assert!(has_line(&after, line), "{line} is not in\n{after}");
    }
}

/// Members confirm each epoch within a second. The description names what the list has.
#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_members_tells_who_has_which_epoch() {
    let wished = Policy { confirm: Some(Duration::from_secs(1)), ..policy(3) };
    let (store, limits) = (Box::new(MemoryStore::default()), HttpLimits::default());
    let mut house = HttpFixture::of(wished, store, limits).await;
    (0..3).for_each(|number| house.arrive(number));
    house.wait_for(3).await;
    let has = |epoch: u64| {
        move |answer: &Value| {
            let members = answer["members"].as_array().unwrap();
            members.iter().all(|member| member["epoch"] == epoch && member["behind"] == false)
        }
    };
    let path = "/api/v1/groups/1/members";
    let first = house.wait_until(path, has(1)).await;
    assert_eq!(house.post("/api/v1/groups/1/rekey", "").await.status, 200);
    let second = house.wait_until(path, has(2)).await;
    let seen = |answer: &Value| answer["members"][0]["seen_unix_ms"].as_u64().unwrap();
    assert!(seen(&first) < seen(&second) && seen(&second) <= now() / 1_000_000);
    assert!(has_line(&metrics(&house).await, "groupkey_members_by_epoch{state=\"confirmed\"} 3"));
    let description = house.get("/openapi.json").await.json();
    let described = &description["components"]["schemas"]["Member"]["properties"];
    for name in second["members"][0].as_object().unwrap().keys() {
        assert!(described.get(name).is_some(), "{name} is not described: {described}");
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
    let source = include_str!("../../../src/http/routes.rs");
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

fn has_line(metrics: &str, line: &str) -> bool {
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
