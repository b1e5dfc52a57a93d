//! One connection's client.

use std::time::Duration;

use rumqttc::{AsyncClient, Event, MqttOptions, QoS, SubscribeFilter, TlsConfiguration, Transport};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Connection, Quality};
use crate::join::MAX_PAYLOAD;

/// A client from its connection to the connection's end.
pub(super) struct Link {
    pub(super) client: AsyncClient,
    events: mpsc::Receiver<Result<Event, String>>,
    /// Polls the client: in a task of its own, since a connection attempt must not be cancelled.
    poller: JoinHandle<()>,
    /// Subscriptions that the broker has not confirmed.
    unconfirmed: usize,
    /// Whether it has confirmed all that there were at the beginning.
    pub(super) ready: bool,
}

impl Link {
    /// Begins to connect.
    pub(super) fn open(connection: &Connection) -> Self {
        let mut options = MqttOptions::new(&connection.client, &connection.host, connection.port);
        options
            .set_keep_alive(Duration::from_secs(15))
            .set_clean_session(connection.qos != Quality::AtLeastOnce)
            .set_inflight(PACKETS)
            .set_max_packet_size(LONGEST_PACKET, LONGEST_PACKET);
        if let Some((user, password)) = &connection.login {
            options.set_credentials(user, password.as_str());
        }
        if let Some(tls) = &connection.tls {
            let configuration = TlsConfiguration::Rustls(tls.configuration());
            options.set_transport(Transport::tls_with_config(configuration));
        }
        let (client, mut event_loop) = AsyncClient::new(options, 256);
        let mut network = event_loop.network_options();
        network.set_tcp_nodelay(true);
        event_loop.set_network_options(network);
        let (sender, events) = mpsc::channel(256);
        let poller = tokio::spawn(async move {
            loop {
                let event = event_loop.poll().await.map_err(|error| error.to_string());
                let ended = event.is_err();
                if sender.send(event).await.is_err() || ended {
                    return;
                }
            }
        });
        Self { client, events, poller, unconfirmed: 0, ready: false }
    }

    /// The next event of a link; never, if there is none.
    pub(super) async fn next(link: &mut Option<Self>) -> Result<Event, String> {
        match link {
            Some(link) => {
                link.events.recv().await.unwrap_or_else(|| Err("the client has ended".to_owned()))
            }
            None => std::future::pending().await,
        }
    }

    /// Subscribes to everything at once.
    pub(super) fn subscribe(&mut self, topics: &[String], qos: QoS) {
        for topics in topics.chunks(FILTERS) {
            let filters = topics.iter().map(|topic| SubscribeFilter::new(topic.clone(), qos));
            if self.client.try_subscribe_many(filters).is_ok() {
                self.unconfirmed += 1;
            }
        }
        self.ready = self.unconfirmed == 0;
    }

    /// The broker confirmed a subscription. Whether the link is ready now, and was not before.
    pub(super) fn subscribed(&mut self) -> bool {
        self.unconfirmed = self.unconfirmed.saturating_sub(1);
        !std::mem::replace(&mut self.ready, self.unconfirmed == 0) && self.ready
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.poller.abort();
    }
}

/// Packet ids that rumqttc uses.
const PACKETS: u16 = 128;

/// Filters in one SUBSCRIBE.
const FILTERS: usize = 100;

/// Longer ones end the connection; so does a broker that lets longer ones through. Those between this
/// and what a runtime takes are counted and dropped.
const LONGEST_PACKET: usize = 16 * MAX_PAYLOAD;
