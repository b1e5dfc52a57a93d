//! A broker in this process, for demonstrations and tests.
//!
//! It speaks MQTT 3.1.1 and MQTT 5 on one port of the loopback interface and keeps every rule that the
//! [probe](crate::probe) checks. Everything is in memory. It asks for no password, forwards no
//! properties but the message expiry, and has no shared subscriptions. A group that matters wants a
//! broker of its own, such as Mosquitto.

mod connection;
mod fault;
mod line;
mod sessions;
mod topics;

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::thread;

use tokio::sync::oneshot;
use tokio::task::LocalSet;

pub(crate) use self::fault::Fault;
use self::sessions::Sessions;

/// Starts a broker that lives as long as the process, on a free port of the loopback interface.
///
/// # Errors
///
/// If the system gives no port or no thread.
pub fn start() -> io::Result<SocketAddr> {
    let mut broker = Broker::start()?;
    let address = broker.address();
    // Without it, nobody can stop the broker any more.
    std::mem::forget(broker.stop.take());
    Ok(address)
}

/// A running broker. It stops when it is dropped.
#[derive(Debug)]
pub struct Broker {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
}

impl Broker {
    /// Starts a broker on a free port of the loopback interface.
    ///
    /// # Errors
    ///
    /// If the system gives no port or no thread.
    pub fn start() -> io::Result<Self> {
        Self::with_fault(None)
    }

    /// The same with one rule broken, to see whether the probe finds it.
    pub(crate) fn with_fault(fault: Option<Fault>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new().name("broker".to_owned()).spawn(move || {
            // The runtime ends with all connections when the broker is dropped.
            LocalSet::new().block_on(&runtime, async {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, fault) => {}
                }
            });
        })?;
        Ok(Self { address, stop: Some(stop) })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Takes connections until the listener fails.
async fn accept(listener: TcpListener, fault: Option<Fault>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let sessions = Rc::new(RefCell::new(Sessions::new(fault)));
    let mut number = 0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                number += 1;
                tokio::task::spawn_local(connection::serve(stream, number, Rc::clone(&sessions)));
            }
            // Too many open files, for example: later there may be fewer.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);
