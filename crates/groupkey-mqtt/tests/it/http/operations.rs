//! The operator's operations and their effects.

use std::time::Duration;

use groupkey_mqtt::disk::DiskStore;
use groupkey_mqtt::http::HttpLimits;
use groupkey_mqtt::keyring::hex;
use groupkey_mqtt::store::MemoryStore;
use serde_json::Value;

use crate::http::client::send;
use crate::http::fixture::{HttpFixture, bearer, name, policy, token};

#[tokio::test(flavor = "multi_thread")]
async fn without_the_token_nobody_sees_or_does_anything() {
    let limits = HttpLimits { wrong_tokens: 100, ..HttpLimits::default() };
    let house = HttpFixture::with_limits(3, limits).await;
    let none = String::new();
    let wrong = format!("Authorization: Bearer {}", "00".repeat(32));
    let other = format!("Authorization: Basic {}", *token().to_hex());
    let cut = format!("Authorization: Bearer {}", &token().to_hex()[..62]);
    for (method, path) in [
        ("GET", "/metrics"),
        ("GET", "/api/v1/groups"),
        ("GET", "/api/v1/groups/1"),
        ("GET", "/api/v1/groups/1/members"),
        ("GET", "/api/v1/groups/1/operations"),
        ("GET", "/api/v1/groups/1/scheme"),
        ("POST", "/api/v1/groups/1/scheme"),
        ("POST", "/api/v1/groups/1/scheme/cancel"),
        ("POST", "/api/v1/groups/1/rekey"),
        ("POST", "/api/v1/groups/1/evictions"),
        ("POST", "/api/v1/groups/1/members/device-0/evict"),
        ("POST", "/api/v1/groups/1/members/device-0/readmit"),
    ] {
        for header in [&none, &wrong, &other, &cut] {
            let headers = std::slice::from_ref(header);
            let headers = if header.is_empty() { &[] } else { headers };
            let answer = send(house.address, method, path, headers, "").await;
            answer.assert_problem(401);
            assert!(answer.header("www-authenticate").unwrap().starts_with("bearer"));
        }
    }
    let group = house.get("/api/v1/groups/1").await.json();
    assert_eq!((&group["epoch"], &group["members"]), (&1.into(), &3.into()));
    for path in ["/", "/health", "/openapi.json"] {
        let answer = send(house.address, "GET", path, &[], "").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
}

/// Four requests come while the service is busy, and so wait together. One names nobody.
#[tokio::test(flavor = "multi_thread")]
async fn evictions_that_wait_are_one_change_of_the_key() {
    let house = HttpFixture::with(6).await;
    let busy = house.service.handle.clone();
    let work = tokio::spawn(async move {
        busy.call(|_, _, _| std::thread::sleep(Duration::from_millis(500))).await
    });
    let path = |device: &str| format!("/api/v1/groups/1/members/{device}/evict");
    let paths = ["device-1", "device-2", "nobody", "device-4"].map(path);
    let [first, second, nobody, fourth] = tokio::join!(
        house.post(&paths[0], ""),
        house.post(&paths[1], ""),
        house.post(&paths[2], ""),
        house.post(&paths[3], "{}"),
    )
    .into();
    work.await.unwrap().unwrap();
    nobody.assert_problem(404);
    for answer in [first, second, fourth] {
        let outcome = answer.json();
        assert_eq!((&outcome["epoch"], &outcome["members"]), (&2.into(), &3.into()), "{outcome}");
    }
    let conditional = house.post(&path("device-0"), r#"{"epoch":1}"#).await;
    conditional.assert_problem(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_evictions_is_one_change_and_each_name_has_its_answer() {
    const EVICTIONS: &str = "/api/v1/groups/1/evictions";
    let house = HttpFixture::with(6).await;
    let request = r#"{"names": ["device-1", "nobody", "device-3", "device-1"], "epoch": 1}"#;
    let outcome = house.post(EVICTIONS, request).await.json();
    assert_eq!((&outcome["epoch"], &outcome["members"]), (&2.into(), &4.into()), "{outcome}");
    let evictions = outcome["evictions"].as_array().unwrap();
    let of =
        |index: usize| (evictions[index]["name"].as_str().unwrap(), &evictions[index]["refusal"]);
    let refusal = Value::from("no device ever joined as nobody");
    assert_eq!(of(0), ("device-1", &Value::Null));
    assert_eq!(of(1), ("nobody", &refusal));
    assert_eq!([of(2), of(3)], [("device-3", &Value::Null), ("device-1", &Value::Null)]);
    let evicted: Vec<_> = evictions.iter().map(|eviction| &eviction["evicted"]).collect();
    assert_eq!(evicted, [true, false, true, true]);

    house.post(EVICTIONS, request).await.assert_problem(409);
    house.post("/api/v1/groups/2/evictions", r#"{"names": ["a"]}"#).await.assert_problem(404);
    let many =
        |count: usize| serde_json::json!({ "names": vec!["x".repeat(64); count] }).to_string();
    for body in ["", "{}", r#"{"names": []}"#, r#"{"names": ["a/b"]}"#, r#"{"names": "a"}"#] {
        house.post(EVICTIONS, body).await.assert_problem(400);
    }
    assert_eq!(house.post(EVICTIONS, &many(1_000)).await.status, 200);
    house.post(EVICTIONS, &many(1_001)).await.assert_problem(400);
    house.post(EVICTIONS, &many(2_000)).await.assert_problem(413);
}

/// Each of them may have more requests on the way than one address has connections without a token.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_may_ask_many_things_at_once() {
    let house = HttpFixture::with(3).await;
    let busy = house.service.handle.clone();
    let work = tokio::spawn(async move {
        busy.call(|_, _, _| std::thread::sleep(Duration::from_millis(500))).await
    });
    let address = house.address;
    let asks = (0..40).map(|_| {
        tokio::spawn(async move { send(address, "GET", "/api/v1/groups", &[bearer()], "").await })
    });
    for answer in asks.collect::<Vec<_>>() {
        assert_eq!(answer.await.unwrap().status, 200);
    }
    work.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eviction_is_durable_when_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let store = || Box::new(DiskStore::open(&folder.path().join("group.redb")).unwrap());
    let policy = policy(4);
    let mut house = HttpFixture::of(policy.clone(), store(), HttpLimits::default()).await;
    (0..4).for_each(|number| house.arrive(number));
    house.wait_for(4).await;
    let evicted = house.post("/api/v1/groups/1/members/device-1/evict", "").await;
    assert_eq!(evicted.status, 200, "{evicted:?}");
    // It crashes at once, and its members are dropped.
    house.service.end.abort();
    let _ = (&mut house.service.end).await;
    drop(house);

    let house = HttpFixture::of(policy, store(), HttpLimits::default()).await;
    // It acts once it has seen its own notice.
    house.wait_until("/health", |health| health["store"] == "ok").await;
    let outcome = evicted.json();
    let group = house.get("/api/v1/groups/1").await.json();
    assert_eq!((&group["epoch"], &group["members"]), (&outcome["epoch"], &3.into()));
    let members = house.get("/api/v1/groups/1/members").await.json();
    assert!(is_out(&members, true), "{members}");
    // A repetition is neither an error nor an operation.
    let again = house.post("/api/v1/groups/1/members/device-1/evict", "{}").await;
    assert_eq!(again.json(), outcome);
    let readmitted = house.post("/api/v1/groups/1/members/device-1/readmit", "").await;
    assert_eq!(readmitted.status, 200);
    let members = house.get("/api/v1/groups/1/members").await.json();
    assert!(is_out(&members, false), "{members}");
}

/// Asserts that device-1 is not a member, and whether it is barred.
fn is_out(members: &Value, barred: bool) -> bool {
    let members = members["members"].as_array().unwrap();
    let device = members.iter().find(|member| member["name"] == "device-1").unwrap();
    device["current"] == false && device["barred"] == barred
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused_with_a_reason() {
    let house = HttpFixture::with(2).await;
    for (path, status) in [
        ("/api/v1/groups/1/members/stranger/evict", 404),
        ("/api/v1/groups/1/members/stranger/readmit", 404),
        ("/api/v1/groups/2/members/device-0/evict", 404),
        ("/api/v1/groups/01/rekey", 404),
        // A group of two cannot lose a member.
        ("/api/v1/groups/1/members/device-0/evict", 409),
    ] {
        house.post(path, "").await.assert_problem(status);
    }
    let late = house.post("/api/v1/groups/1/members/device-0/evict", r#"{"epoch":7}"#).await;
    late.assert_problem(409);
    assert!(late.json()["detail"].as_str().unwrap().contains("epoch 1"));
    for path in ["/api/v1/groups/2", "/api/v1/groups/x/members", "/api/v2", "/api/v1/groups/1/"] {
        house.get(path).await.assert_problem(404);
    }
    let group = house.get("/api/v1/groups/1").await.json();
    assert_eq!((&group["epoch"], &group["members"]), (&1.into(), &2.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_tell_their_time_and_what_they_sent() {
    let mut house = HttpFixture::with_scheme("gkmp", 4).await;
    house.arrive(4);
    house.wait_for(5).await;
    assert_eq!(house.post("/api/v1/groups/1/members/device-0/evict", "").await.status, 200);
    let rekeyed = house.post("/api/v1/groups/1/rekey", r#"{"epoch":3}"#).await;
    assert_eq!((rekeyed.status, &rekeyed.json()["epoch"]), (200, &4.into()));
    house.post("/api/v1/groups/1/rekey", r#"{"epoch":3}"#).await.assert_problem(409);
    house.post("/api/v1/groups/1/rekey", r#"{"hard":1}"#).await.assert_problem(400);
    let hard = house.post("/api/v1/groups/1/rekey", r#"{"epoch":4,"hard":true}"#).await;
    assert_eq!((hard.status, &hard.json()["epoch"]), (200, &5.into()));
    let all_taken = |answer: &Value| {
        let operations = answer["operations"].as_array().unwrap();
        operations.iter().all(|done| done["acknowledged_after_ms"].is_number())
    };
    let answer = house.wait_until("/api/v1/groups/1/operations", all_taken).await;
    let operations = answer["operations"].as_array().unwrap();
    let names: Vec<_> = operations.iter().map(|done| done["operation"].as_str().unwrap()).collect();
    assert_eq!(names, ["rekey", "rekey", "evict", "join", "create"]);
    for done in operations {
        assert!(done["messages"].as_u64() >= Some(1), "{done}");
        assert!(done["payload_bytes"].as_u64() > done["messages"].as_u64(), "{done}");
        let durable = done["durable_after_ms"].as_f64().unwrap();
        assert!(durable > 0.0 && durable <= done["acknowledged_after_ms"].as_f64().unwrap());
    }
    let comings: Vec<_> = operations
        .iter()
        .map(|done| [&done["epoch"], &done["joined"], &done["left"], &done["members"]])
        .map(|numbers| numbers.map(|number| number.as_u64().unwrap()))
        .collect();
    let expected = [[5, 0, 0, 4], [4, 0, 0, 4], [3, 0, 1, 4], [2, 1, 0, 5], [1, 4, 0, 4]];
    assert_eq!(comings, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scheme_changes_while_the_group_lives() {
    const SCHEME: &str = "/api/v1/groups/1/scheme";
    let mut house = HttpFixture::with_scheme("gkmp", 3).await;
    let present = house.get(SCHEME).await.json();
    assert_eq!((&present["scheme"], &present["change"]), (&"gkmp".into(), &Value::Null));
    for (body, status, reason) in [
        (r#"{"scheme":"gkmp"}"#, 409, "already"),
        (r#"{"scheme":"none"}"#, 409, "no scheme is called none"),
        (r#"{"scheme":"lkh-group","parameters":{"degree":1}}"#, 409, "degree"),
        (r#"{"scheme":"tgdh"}"#, 409, "controller"),
        (r#"{"scheme":"skdc","protection":"none"}"#, 409, "protection"),
        (r#"{"scheme":"skdc","epoch":9}"#, 409, "epoch 1"),
        (r#"{"parameters":{"degree":1.5}}"#, 400, "whole number"),
        (r#"{"schema":"skdc"}"#, 400, "schema"),
        (r#"[]"#, 400, "object"),
    ] {
        let answer = house.post(SCHEME, body).await;
        answer.assert_problem(status);
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(reason), "{body}: {detail}");
    }
    house.post("/api/v1/groups/1/scheme/cancel", "").await.assert_problem(409);
    let wish = r#"{"scheme":"lkh-group","parameters":{"degree":5.0},"epoch":1}"#;
    let begun = house.post(SCHEME, wish).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    let change = &begun.json()["change"];
    assert_eq!(
        (&change["scheme"], &change["parameters"]["degree"]),
        (&"lkh-group".into(), &5.into())
    );
    assert_eq!((&change["asked"], &change["members"]), (&0.into(), &3.into()));
    let changed = |scheme: &Value| scheme["scheme"] == "lkh-group" && scheme["change"].is_null();
    let changed = house.wait_until(SCHEME, changed).await;
    assert_eq!(changed["parameters"]["degree"], 5);
    // The group lives on: another member comes.
    house.arrive(3);
    house.wait_for(4).await;
    let group = house.get("/api/v1/groups/1").await.json();
    assert_eq!((&group["scheme"], &group["epoch"]), (&"lkh-group".into(), &2.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn members_come_in_portions() {
    let house = HttpFixture::with(5).await;
    let (mut from, mut names) = (0, Vec::new());
    loop {
        let path = format!("/api/v1/groups/1/members?from={from}&limit=2");
        let portion = house.get(&path).await.json();
        let members = portion["members"].as_array().unwrap();
        assert!(members.len() <= 2);
        names.extend(members.iter().map(|member| member["name"].as_str().unwrap().to_owned()));
        let Some(next) = portion["next"].as_u64() else { break };
        from = next;
    }
    names.sort();
    assert_eq!(names, (0..5).map(name).collect::<Vec<_>>());
    for query in ["limit=0", "limit=1001", "limit=x", "from=-1", "form=1"] {
        let path = format!("/api/v1/groups/1/members?{query}");
        house.get(&path).await.assert_problem(400);
    }
}

/// What a member exports, and only where the operator allows it.
#[tokio::test(flavor = "multi_thread")]
async fn the_service_exports_what_members_export() {
    let mut house = HttpFixture::with(2).await;
    let path = "/api/v1/groups/1/export";
    let request = r#"{"label": "srtp", "context": "0aFF", "length": 20}"#;
    let answer = house.post(path, request).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let member = house.members.remove(0);
    let exported = member.handle.call(|member, _, _| {
        let mut output = [0; 20];
        let epoch = member.export("srtp", &[0x0a, 0xff], &mut output).unwrap();
        (epoch.0, hex(&output), hex(member.group_key().unwrap().1.as_bytes()))
    });
    let (epoch, key, group_key) = exported.await.unwrap();
    assert_eq!(answer.json(), serde_json::json!({ "epoch": epoch, "key": key }));
    assert!(!key.contains(&group_key));
    for (body, status) in [
        (r#"{"label": "srtp", "length": 20, "epoch": 99}"#, 409),
        (r#"{"label": "", "length": 20}"#, 400),
        (r#"{"label": "srtp", "length": 0}"#, 400),
        (r#"{"label": "srtp", "length": 8161}"#, 400),
        (r#"{"label": "srtp", "length": 1.5}"#, 400),
        (r#"{"label": "srtp", "length": 20, "context": "0"}"#, 400),
        (r#"{"label": "srtp", "length": 20, "context": "+1"}"#, 400),
        ("", 400),
    ] {
        assert_eq!(house.post(path, body).await.status, status, "{body}");
    }
    assert_eq!(house.post("/api/v1/groups/2/export", request).await.status, 404);
    let store = Box::new(MemoryStore::default());
    let silent = HttpFixture::exporting(policy(2), store, HttpLimits::default(), false).await;
    assert_eq!(silent.post(path, request).await.status, 403);
}
