//! A relay stands in for a broker on another host: it passes the data of one address on to another.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// A relay that passes connections on until it is dropped.
///
/// For a client behind the emulator, the relay is the broker. The TCP of the relay's kernel is at
/// the other end of the impaired link. The way from the relay to the broker adds its own delay.
#[derive(Debug)]
pub struct Relay(Option<Runtime>);

impl Relay {
    /// Accepts connections at `address`, and makes a connection to `broker` for each. Fails if it
    /// cannot listen on the address. If the broker cannot be reached, the relay closes the
    /// connection.
    pub fn start(address: SocketAddrV4, broker: SocketAddr) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, broker));
            }
        });
        Ok(Self(Some(runtime)))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

async fn pass_on(mut client: TcpStream, broker: SocketAddr) -> io::Result<()> {
    let mut broker = TcpStream::connect(broker).await?;
    // Each packet is passed on at once.
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut broker).await.map(drop)
}
