//! A bridge's health and metrics.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tokio::time::timeout;

use super::frame::framed;
use super::metrics::{MEDIA, Text};
use super::token::Token;
use super::{Access, HttpLimits};
use crate::bridge::{BridgeCounters, SideReading, StationProbe, StationReading};

pub(super) fn router(
    stations: Vec<(String, StationProbe)>,
    access: Access,
    limits: HttpLimits,
) -> Router {
    let Access { token, tokens_file, hosts, exports: _ } = access;
    let token = Token::new(token, tokens_file, limits.wrong_tokens);
    let patience = limits.answer_time;
    let state = BridgeState { stations: stations.into(), token: token.clone(), patience };
    let open = Router::new().route("/health", get(health));
    let guarded = Router::new().route("/metrics", get(metrics));
    let paths = "this path does not exist: a bridge has /health and /metrics";
    framed(open, guarded, token, hosts, limits, paths).with_state(state)
}

#[derive(Clone)]
struct BridgeState {
    stations: Arc<[(String, StationProbe)]>,
    token: Token,
    patience: Duration,
}

/// A group's prefix, and its station's reading. `None` if the station has ended or does not answer.
type Group = (String, Option<StationReading>);

impl BridgeState {
    async fn read(&self) -> Vec<Group> {
        let mut readings = Vec::with_capacity(self.stations.len());
        let each = self.patience / u32::try_from(self.stations.len().max(1)).unwrap_or(u32::MAX);
        for (prefix, probe) in self.stations.iter() {
            let reading = timeout(each, probe.read()).await.ok().flatten();
            readings.push((prefix.clone(), reading));
        }
        readings
    }
}

async fn health(State(state): State<BridgeState>) -> Response {
    let health = BridgeHealth::of(&state.read().await);
    let is_well = health.status == "ok";
    let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(health)).into_response()
}

async fn metrics(State(state): State<BridgeState>) -> Response {
    let text = text_of(&state.read().await, state.token.wrong());
    ([(header::CONTENT_TYPE, MEDIA)], text).into_response()
}

/// The worst of all groups.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct BridgeHealth {
    status: &'static str,
    broker: &'static str,
    local: &'static str,
    key: &'static str,
}

impl BridgeHealth {
    fn of(groups: &[Group]) -> Self {
        let readings: Option<Vec<&StationReading>> =
            groups.iter().map(|(_, reading)| reading.as_ref()).collect();
        let Some(readings) = readings else {
            return Self { status: "failing", broker: "unknown", local: "unknown", key: "unknown" };
        };
        let all = |is_well: fn(&StationReading) -> bool, well, ill| {
            if readings.iter().all(|reading| is_well(reading)) { well } else { ill }
        };
        let broker = all(|reading| reading.group.is_connected, "connected", "disconnected");
        let local = all(|reading| reading.local.is_connected, "connected", "disconnected");
        let key = all(|reading| reading.may_speak, "ok", "missing");
        let is_well = (broker, local, key) == ("connected", "connected", "ok");
        Self { status: if is_well { "ok" } else { "failing" }, broker, local, key }
    }
}

fn text_of(groups: &[Group], wrong_tokens: u64) -> String {
    let mut text = Text::default();
    text.family("bridge_running", "gauge", "Whether the bridge serves the group.");
    for (prefix, reading) in groups {
        let group = label(prefix);
        text.sample(&format!("bridge_running{{{group}}}"), u8::from(reading.is_some()));
    }
    let served: Vec<(String, &StationReading)> = groups
        .iter()
        .filter_map(|(prefix, reading)| Some((label(prefix), reading.as_ref()?)))
        .collect();

    let gauges: [(&str, &str, Gauge); 3] = [
        ("bridge_epoch", "The epoch whose key it has; 0 before it has one.", |reading| {
            reading.epoch.unwrap_or(0)
        }),
        ("bridge_may_send", "Whether its key is the latest that it knows of.", |reading| {
            reading.may_speak.into()
        }),
        ("bridge_waiting", "Messages that wait for a confirmation.", |reading| {
            reading.waiting as u64
        }),
    ];
    for (name, help, value) in gauges {
        text.family(name, "gauge", help);
        for (group, reading) in &served {
            text.sample(&format!("{name}{{{group}}}"), value(reading));
        }
    }

    let name = "bridge_connected";
    text.family(name, "gauge", "Whether the broker is connected: the group's or the local one.");
    for (group, side, connection) in sides(&served) {
        let value = u8::from(connection.is_connected);
        text.sample(&format!("{name}{{{group},side=\"{side}\"}}"), value);
    }
    let name = "bridge_connections_total";
    text.family(name, "counter", "Connections that were made; those after the first were lost.");
    for (group, side, connection) in sides(&served) {
        text.sample(&format!("{name}{{{group},side=\"{side}\"}}"), connection.connections);
    }

    for (place, (name, help, _)) in BridgeCounters::default().described().into_iter().enumerate() {
        let name = format!("bridge_{name}_total");
        text.family(&name, "counter", help);
        for (group, reading) in &served {
            let (_, _, count) = reading.counters.described()[place];
            text.sample(&format!("{name}{{{group}}}"), count);
        }
    }

    let name = "messages_taken_total";
    text.family(name, "counter", "Messages of the group that were taken.");
    for (group, reading) in &served {
        text.sample(&format!("{name}{{{group}}}"), reading.messages.taken);
    }
    let name = "messages_refused_total";
    text.family(name, "counter", "Messages of the group that were refused, by reason.");
    for (group, reading) in &served {
        for (reason, count) in reading.messages.by_reason() {
            text.sample(&format!("{name}{{{group},reason=\"{reason}\"}}"), count);
        }
    }
    text.counter("wrong_tokens_total", "HTTP requests with a wrong token.", wrong_tokens);
    text.finish()
}

type Gauge = fn(&StationReading) -> u64;

/// Both connections of each group, with the group's label.
fn sides<'a>(
    served: &'a [(String, &StationReading)],
) -> impl Iterator<Item = (&'a str, &'static str, SideReading)> {
    served.iter().flat_map(|(group, reading)| {
        [("group", reading.group), ("local", reading.local)]
            .map(|(side, connection)| (group.as_str(), side, connection))
    })
}

/// Returns the label of a group. A prefix may have characters that the format gives a meaning.
fn label(prefix: &str) -> String {
    let escaped = prefix.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("group=\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::super::serve_bridge;
    use super::*;
    use crate::counters::Counters;
    use crate::keyring::Secret;

    fn well() -> StationReading {
        let side = SideReading { is_connected: true, connections: 2 };
        let counters = BridgeCounters { sent: 7, ..BridgeCounters::default() };
        let messages = Counters { taken: 9, forged: 3, ..Counters::default() };
        let (group, local, epoch) = (side, side, Some(4));
        StationReading { counters, waiting: 5, epoch, may_speak: true, messages, group, local }
    }

    #[test]
    fn a_bridge_is_as_well_as_its_worst_group() {
        let with =
            |reading| BridgeHealth::of(&[("g/1".into(), Some(well())), ("g/2".into(), reading)]);
        assert_eq!(with(Some(well())).status, "ok");
        let cut = StationReading { local: SideReading::default(), ..well() };
        let health = with(Some(cut));
        assert_eq!(
            (health.status, health.broker, health.local),
            ("failing", "connected", "disconnected")
        );
        let silent = StationReading { may_speak: false, ..well() };
        assert_eq!((with(Some(silent)).status, with(Some(silent)).key), ("failing", "missing"));
        assert_eq!((with(None).status, with(None).broker), ("failing", "unknown"));
    }

    #[test]
    fn each_family_stands_once_with_a_sample_for_each_group() {
        let groups =
            [("g/1".into(), Some(well())), ("a\"b".into(), Some(well())), ("g/3".into(), None)];
        let text = text_of(&groups, 1);
        for line in [
            "groupkey_bridge_running{group=\"g/1\"} 1",
            "groupkey_bridge_running{group=\"g/3\"} 0",
            "groupkey_bridge_epoch{group=\"a\\\"b\"} 4",
            "groupkey_bridge_waiting{group=\"g/1\"} 5",
            "groupkey_bridge_connections_total{group=\"g/1\",side=\"local\"} 2",
            "groupkey_bridge_sent_total{group=\"g/1\"} 7",
            "groupkey_messages_refused_total{group=\"g/1\",reason=\"forged\"} 3",
            "groupkey_wrong_tokens_total 1",
        ] {
            assert_eq!(text.lines().filter(|own| *own == line).count(), 1, "{line}\n{text}");
        }
        let mut families: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let count = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), count, "{text}");
    }

    #[tokio::test]
    async fn health_is_for_anybody_and_metrics_for_who_has_the_token() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (probe, mut questions) = StationProbe::new();
        let station = tokio::spawn(async move {
            loop {
                let _ = questions.next().await.send(well());
            }
        });
        let token = Secret::from_bytes([7; 32]);
        let bearer = format!("Authorization: Bearer {}\r\n", *token.to_hex());
        let access = Access { token, tokens_file: None, hosts: Vec::new(), exports: false };
        let stations = vec![("g/1".to_owned(), probe)];
        tokio::spawn(serve_bridge(listener, stations, access, HttpLimits::default()));
        let get = async |path: &str, header: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let health = get("/health", "").await;
        assert!(
            health.starts_with("HTTP/1.1 200") && health.contains("\"status\":\"ok\""),
            "{health}"
        );
        assert!(get("/metrics", "").await.starts_with("HTTP/1.1 401"));
        let metrics = get("/metrics", &bearer).await;
        assert!(metrics.contains("\ngroupkey_bridge_sent_total{group=\"g/1\"} 7\n"), "{metrics}");
        assert!(get("/api/v1/groups", &bearer).await.starts_with("HTTP/1.1 404"));
        station.abort();
        let _ = station.await;
        assert!(get("/health", "").await.starts_with("HTTP/1.1 503"));
    }
}
