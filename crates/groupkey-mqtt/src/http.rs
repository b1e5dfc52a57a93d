//! The service's HTTP interface: its state, metrics, operations, and a page for the browser.
//!
//! A request becomes a call of the [`Service`], like an operator's line on standard input. It waits
//! in the same queue, and the client gets the answer once the effects are durable. The interface
//! has no state of its own.
//!
//! ```text
//!   client -- HTTP/1.1, one request --> connection --> router --> Handle<Service> --> driver
//!             for each connection       Limits         token
//! ```
//!
//! What adapts the scheme of a group is not a part of the service. The interface asks it through
//! [`Adaptation`]. [`ask`] is the other side: it asks a running service.
//!
//! `openapi.json` describes the interface, and is served under that name. [`Limits`] are the limits
//! for clients.

mod adaptation;
mod ask;
mod condition;
mod limits;
mod metrics;
mod page;
mod problem;
mod routes;
mod views;

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

pub use self::adaptation::{Adaptation, Asked};
pub use self::ask::{AskError, Observed, ObservedScheme, ask};
pub use self::limits::Limits;
use crate::Service;
use crate::driver::Handle;
use crate::keyring::Secret;

/// Answers requests until the future is dropped. Without an `adaptation`, the group's scheme does
/// not adapt.
pub async fn serve(
    listener: TcpListener,
    service: Handle<Service>,
    adaptation: Option<Adaptation>,
    token: Secret,
    limits: Limits,
) {
    let router = TowerToHyperService::new(routes::router(service, adaptation, token, limits));
    let places = Arc::new(Semaphore::new(limits.connections));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // The process may have too many open files, for example.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            let _place = place;
            // Each connection carries one request, so that an idle client holds no place.
            let connection = http1::Builder::new()
                .keep_alive(false)
                .max_buf_size(HEAD)
                .max_headers(HEADERS)
                .serve_connection(TokioIo::new(stream), router);
            let _ = timeout(limits.connection_time, connection).await;
        });
    }
}

/// The maximum number of bytes of a request's head, and of header lines.
const HEAD: usize = 16 << 10;
const HEADERS: usize = 64;
