//! Clients that send invalid requests, or nothing.

use std::time::Duration;

use groupkey_mqtt::http::HttpLimits;
use groupkey_mqtt::store::MemoryStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::client::{raw, send};
use crate::http::fixture::{HttpFixture, OUR_NAME, bearer, policy};

const REKEY: &str = "/api/v1/groups/1/rekey";

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_not_wanted_are_refused() {
    let house = HttpFixture::with(2).await;
    let json = || vec![bearer(), "Content-Type: application/json".to_owned()];
    let long = format!("{{\"epoch\":{}1}}", " ".repeat(5_000));
    let deep = "[".repeat(4_000);
    for body in
        ["{", "[]", "[1]", "7", "null", "{\"epoch\":-1}", "{\"epoch\":1.5}", "{\"who\":1}", &deep]
    {
        send(house.address, "POST", REKEY, &json(), body).await.assert_problem(400);
    }
    send(house.address, "POST", REKEY, &json(), &long).await.assert_problem(413);
    let chunked = format!(
        "POST {REKEY} HTTP/1.1\r\nHost: localhost\r\n{}\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n{}\r\n0\r\n\r\n",
        bearer(),
        "x".repeat(5_000)
    );
    raw(house.address, chunked.as_bytes()).await.unwrap().assert_problem(413);
    let form = vec![bearer(), "Content-Type: application/x-www-form-urlencoded".to_owned()];
    send(house.address, "POST", REKEY, &form, "epoch=1").await.assert_problem(415);
    send(house.address, "POST", REKEY, &[bearer()], "{}").await.assert_problem(415);
    for body in ["{\"epoch\":9}", "{\"epoch\":9.0}"] {
        send(house.address, "POST", REKEY, &json(), body).await.assert_problem(409);
    }
    assert_eq!(house.get("/api/v1/groups/1").await.json()["epoch"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_methods_and_broken_requests_are_refused() {
    let house = HttpFixture::with(2).await;
    for (method, path, allowed) in [
        ("DELETE", "/api/v1/groups/1", "get,head"),
        ("GET", REKEY, "post"),
        ("POST", "/health", "get,head"),
        ("OPTIONS", "/api/v1/groups", "get,head"),
    ] {
        let answer = send(house.address, method, path, &[bearer()], "").await;
        answer.assert_problem(405);
        assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
    }
    for path in ["/api/v1/groups/%ff", "/api/v1/groups/1/members/%ff/evict"] {
        let method = if path.ends_with("evict") { "POST" } else { "GET" };
        send(house.address, method, path, &[bearer()], "").await.assert_problem(400);
    }
    let many = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "a: b\r\n".repeat(100));
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(20_000));
    for (bytes, statuses) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], &[400][..]),
        (b"GET /health HTTP/9\r\n\r\n", &[400, 505]),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", &[400]),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[400, 505]),
        (many.as_bytes(), &[431]),
        (long.as_bytes(), &[414, 431]),
    ] {
        if let Some(answer) = raw(house.address, bytes).await {
            assert!(statuses.contains(&answer.status), "{answer:?}");
        }
    }
    assert_eq!(house.get("/health").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_clients_make_room_and_lose_their_place_soon() {
    let head_time = Duration::from_millis(1_500);
    let limits = HttpLimits { connections_of_peer: 3, head_time, ..HttpLimits::default() };
    let house = HttpFixture::of(policy(2), Box::new(MemoryStore::default()), limits).await;
    let mut silent = Vec::new();
    for beginning in ["", "GET /health HT", "POST /health HTTP/1.1\r\nHost: localhost\r\n"] {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        stream.write_all(beginning.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    // All places of this address are taken.
    let answer = send(house.address, "GET", "/openapi.json", &[], "").await;
    assert_eq!(answer.status, 200);
    for mut stream in silent {
        let mut rest = Vec::new();
        let end = timeout(limits.connection_time, stream.read_to_end(&mut rest)).await;
        assert!(end.is_ok(), "the connection stays open for longer than a head may take");
        assert!(rest.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_that_holds_connections_keeps_nobody_out() {
    let house =
        HttpFixture::of(policy(2), Box::new(MemoryStore::default()), HttpLimits::default()).await;
    let address = house.address;
    let crowd: Vec<_> = (0..100)
        .map(|_| {
            tokio::spawn(async move {
                loop {
                    if let Ok(mut stream) = TcpStream::connect(address).await {
                        let _ = stream.write_all(b"GET /health HT").await;
                        let _ = stream.read_to_end(&mut Vec::new()).await;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    for _ in 0..3 {
        let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let answer = timeout(Duration::from_secs(10), raw(address, request)).await;
        assert!(answer.is_ok_and(|answer| answer.is_some()), "no answer among the crowd");
    }
    crowd.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Who guesses is told to wait, and keeps nobody out who has the token.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_have_a_limit_and_the_right_one_has_none() {
    let house = HttpFixture::with(2).await;
    let wrong = [format!("Authorization: Bearer {}", "00".repeat(32))];
    let mut refused = 0;
    for _ in 0..100 {
        let answer = send(house.address, "GET", "/api/v1/groups", &wrong, "").await;
        if answer.status == 429 {
            answer.assert_problem(429);
            assert_eq!(answer.header("retry-after"), Some("1"));
            refused += 1;
        } else {
            answer.assert_problem(401);
        }
        assert_eq!(house.get("/api/v1/groups").await.status, 200);
    }
    assert!(refused >= 50, "{refused}");
    send(house.address, "GET", "/api/v1/groups", &[], "").await.assert_problem(401);
    let metrics = house.get("/metrics").await.body;
    assert!(metrics.lines().any(|line| line == "groupkey_wrong_tokens_total 100"), "{metrics}");
}

/// A page of another site leads its own name to this machine, and asks in its visitor's browser.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_another_host_is_refused() {
    let house = HttpFixture::with(2).await;
    let ask = async |line: &str, hosts: &str| {
        let request = format!("GET {line}\r\n{hosts}\r\n");
        raw(house.address, request.as_bytes()).await.expect("an answer")
    };
    for path in ["/", "/health", "/openapi.json", "/metrics", "/api/v1/groups", "/none"] {
        let line = format!("{path} HTTP/1.1");
        for host in ["evil.example", "evil.example:8475", "localhost.evil.example"] {
            ask(&line, &format!("Host: {host}\r\n")).await.assert_problem(421);
        }
        for hosts in
            ["", "Host: \r\n", "Host: a b\r\n", "Host: localhost\r\nHost: evil.example\r\n"]
        {
            ask(&line, hosts).await.assert_problem(400);
        }
    }
    let absolute = ask("http://evil.example/health HTTP/1.1", "Host: localhost\r\n").await;
    absolute.assert_problem(421);
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8475", "[::1]:8475", OUR_NAME] {
        let answer = ask("/openapi.json HTTP/1.1", &format!("Host: {host}\r\n")).await;
        assert_eq!(answer.status, 200, "{host}");
    }
    assert_eq!(ask("/openapi.json HTTP/1.0", "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_has_ended_says_so() {
    let mut house = HttpFixture::with(2).await;
    house.service.end.abort();
    let _ = (&mut house.service.end).await;
    house.get("/api/v1/groups").await.assert_problem(503);
    house.post(REKEY, "").await.assert_problem(503);
    let health = house.get("/health").await;
    assert_eq!(health.status, 503);
    assert_eq!(health.json()["store"], "unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_busy_is_not_waited_for() {
    let limits = HttpLimits { answer_time: Duration::from_millis(200), ..HttpLimits::default() };
    let house = HttpFixture::of(policy(2), Box::new(MemoryStore::default()), limits).await;
    let handle = house.service.handle.clone();
    let busy = tokio::spawn(async move {
        handle.call(|_, _, _| std::thread::sleep(Duration::from_secs(2))).await
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    house.get("/api/v1/groups").await.assert_problem(503);
    busy.await.unwrap().unwrap();
    assert_eq!(house.get("/api/v1/groups").await.status, 200);
}
