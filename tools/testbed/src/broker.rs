//! A broker in this process, for demonstrations and tests.
//!
//! It speaks MQTT 3.1.1 and MQTT 5 on one port of the loopback interface. All its state is in memory. It asks for no password, forwards
//! no properties except the message expiry, and has no shared subscriptions. Run a broker such as
//! Mosquitto for a group that matters.

mod connection;
mod sessions;
#[cfg(test)]
mod tests;
mod topics;

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::{io, thread};

use tokio::sync::oneshot;
use tokio::task::LocalSet;

use self::sessions::Sessions;

/// Starts a broker that lives as long as the process, on a free port of the loopback interface.
///
/// # Errors
///
/// Fails if the system gives no port or no thread.
pub fn start() -> io::Result<SocketAddr> {
    let mut broker = Broker::start()?;
    let address = broker.address();
    // Dropping the sender would stop the broker.
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
    /// Fails if the system gives no port or no thread.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new().name("broker".to_owned()).spawn(move || {
            // Dropping the broker ends the runtime and all its connections.
            LocalSet::new().block_on(&runtime, async {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener) => {}
                }
            });
        })?;
        Ok(Self { address, stop: Some(stop) })
    }

    /// Returns the address on which the broker listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Accepts connections until the broker stops. After a failed attempt it waits and tries again.
async fn accept(listener: TcpListener) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let sessions = Rc::new(RefCell::new(Sessions::default()));
    let mut number = 0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                number += 1;
                tokio::task::spawn_local(connection::serve(stream, number, Rc::clone(&sessions)));
            }
            // The process may have too many open files, for example. A later attempt may succeed.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);
