//! The service's HTTP interface: its state, metrics, operations, and a page for the browser. A bridge's
//! has its health and metrics alone.
//!
//! A request becomes a call of the [`Service`], which waits in the driver's
//! queue. The client gets the answer once the effects are durable. The interface
//! has no state of its own.
//!
//! ```text
//!   client -- HTTP/1.1, one request --> connection --> router --> Handle<Service> --> driver
//!             for each connection   OpenConnections    host, token
//! ```
//!
//! The bodies of requests and answers are types, for clients to read: `groupkey ctl` is one.
//!
//! `openapi.json` describes the interface, and is served under that name. [`HttpLimits`] are the
//! limits for clients.

mod answer_bodies;
mod audit;
mod bridge;
mod evictions;
mod export;
mod frame;
mod host;
mod metrics;
mod open_connections;
mod page;
mod problem;
mod request_bodies;
mod routes;
mod token;

use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

pub use self::answer_bodies::{
    DeviceView, DevicesView, GroupView, GroupsView, HourView, NamedForm, ObservationView,
    OperationResultView, SchemeChangeView, SchemeView,
};
pub use self::audit::{AuditRecordView, AuditView};
pub use self::evictions::{EvictionView, EvictionsRequest, EvictionsView, MOST_EVICTIONS};
pub use self::export::{ExportRequest, ExportView};
use self::open_connections::OpenConnections;
pub use self::request_bodies::SchemeChangeRequest;
use crate::Service;
use crate::bridge::StationProbe;
use crate::driver::Handle;
use crate::keyring::Secret;

/// Who may ask.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token that clients must send. In the trail, it is the operator's.
    pub token: Secret,
    /// The file of further tokens ([`NamedToken`](crate::config::NamedToken)). It is read at each
    /// request; if it cannot be read, none of them counts.
    pub tokens_file: Option<PathBuf>,
    /// The names under which clients may ask, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Whether they may ask for keys for other protocols.
    pub exports: bool,
}

/// Limits for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// The maximum number of connections at once. A further connection takes the place of the
    /// oldest one that has sent no request. If there is none, it is closed.
    pub connections: usize,
    /// The maximum number of connections of one peer's address. The same holds for them. Those that
    /// have shown a token do not count.
    pub connections_of_peer: usize,
    /// How long a client may take to send the head of its request.
    pub head_time: Duration,
    /// How long a connection may last.
    pub connection_time: Duration,
    /// How long the service may take to answer. After that, the operation may still be carried out.
    pub answer_time: Duration,
    /// The maximum number of bytes of a request's body.
    pub body: usize,
    /// The same for a list of names.
    pub body_of_list: usize,
    /// How many wrong tokens are examined at once. One more is each second. Requests with further
    /// ones are told to wait. The right token is always taken.
    pub wrong_tokens: u32,
}

/// Answers requests until the future is dropped.
pub async fn serve(
    listener: TcpListener,
    service: Handle<Service>,
    access: Access,
    limits: HttpLimits,
) {
    answer(listener, routes::router(service, access, limits), limits).await;
}

/// Answers requests about the health and the metrics of a bridge until the future is dropped. Each
/// station has the prefix of its group. [`Access::exports`] has no meaning here.
pub async fn serve_bridge(
    listener: TcpListener,
    stations: Vec<(String, StationProbe)>,
    access: Access,
    limits: HttpLimits,
) {
    answer(listener, bridge::router(stations, access, limits), limits).await;
}

async fn answer(listener: TcpListener, router: Router, limits: HttpLimits) {
    let router = TowerToHyperService::new(router);
    let places = OpenConnections::new(limits);
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // The process may have too many open files, for example.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let peer = peer.ip().to_canonical();
        if !places.make_room(peer).await {
            continue;
        }
        let (router, progress) = (router.clone(), places.progress());
        let noted = progress.clone();
        let answer = service_fn(move |mut request: Request<Incoming>| {
            noted.asked();
            request.extensions_mut().insert(noted.clone());
            router.call(request)
        });
        let connection = tokio::spawn(async move {
            // Each connection carries one request, so that an idle client holds no place.
            let connection = http1::Builder::new()
                .keep_alive(false)
                .timer(TokioTimer::new())
                .header_read_timeout(limits.head_time)
                .max_buf_size(HEAD)
                .max_headers(HEADERS)
                .serve_connection(TokioIo::new(stream), answer);
            let _ = timeout(limits.connection_time, connection).await;
        });
        places.take(peer, connection.abort_handle(), progress);
    }
}

impl Default for HttpLimits {
    /// Returns the default limits: 64 connections of at most 15 s, 8 of them for each peer without a
    /// token, 3 s for a head, 10 s for the service, bodies of 4 KiB, 80 KiB for a list of names, and
    /// 20 wrong tokens.
    fn default() -> Self {
        Self {
            connections: 64,
            connections_of_peer: 8,
            head_time: Duration::from_secs(3),
            connection_time: Duration::from_secs(15),
            answer_time: Duration::from_secs(10),
            body: 4 << 10,
            body_of_list: 80 << 10,
            wrong_tokens: 20,
        }
    }
}

/// The maximum number of bytes of a request's head, and of header lines.
const HEAD: usize = 16 << 10;
const HEADERS: usize = 64;
