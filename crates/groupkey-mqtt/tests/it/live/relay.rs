//! A relay in front of a broker: connections through it can be cut.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Relays as long as it lives.
pub(crate) struct Relay {
    pub(crate) port: u16,
    passable: watch::Sender<bool>,
}

impl Relay {
    pub(crate) async fn before(broker: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (passable, mut changes) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                if !*changes.borrow_and_update() {
                    continue;
                }
                let mut changes = changes.clone();
                tokio::spawn(async move {
                    let mut broker = TcpStream::connect(("127.0.0.1", broker)).await?;
                    tokio::select! {
                        ended = copy_bidirectional(&mut client, &mut broker) => ended.map(drop),
                        _ = changes.wait_for(|passable| !passable) => Ok(()),
                    }
                });
            }
        });
        Self { port, passable }
    }

    /// Cuts all connections, and refuses new ones until it is mended.
    pub(crate) fn cut(&self) {
        self.passable.send_replace(false);
    }

    pub(crate) fn mend(&self) {
        self.passable.send_replace(true);
    }
}
