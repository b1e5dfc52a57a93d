//! Stands in for a broker that is elsewhere: what comes to one address is passed on to another.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// Relays connections, from its start until it is dropped.
///
/// To a client behind the emulator it is the broker: its kernel's TCP is at the other end of the
/// impaired link. The way from here to the broker adds what that way takes.
#[derive(Debug)]
pub struct Relay(Option<Runtime>);

impl Relay {
    /// Takes connections at `address` and makes one to `broker` for each. Fails if the address cannot
    /// be listened on; where the broker cannot be reached the connection is closed.
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
    // Each packet goes on as it came.
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut broker).await.map(drop)
}
