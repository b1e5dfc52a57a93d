//! The client for MQTT 3.1.1.

use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, Event as ClientEvent, LastWill, MqttOptions,
    Outgoing, Packet, QoS, StateError, SubscribeFilter, SubscribeReasonCode,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::client::{BrokerLimits, Client, KEEP_ALIVE, LONGEST_PACKET, LinkEvent, PACKETS, QUEUE};
use super::{address, of_a_connection, reasons, transport};
use crate::driver::connection::{Connection, Quality};
use crate::store::Publish;

/// Begins to connect. Reports to `events`.
pub(super) fn open(
    connection: &Connection,
    events: mpsc::Sender<Result<LinkEvent, String>>,
) -> (Box<dyn Client>, JoinHandle<()>) {
    let mut options = MqttOptions::new(&connection.client, address(connection), connection.port);
    options
        .set_keep_alive(KEEP_ALIVE)
        .set_clean_session(!connection.persists())
        .set_inflight(PACKETS)
        .set_max_packet_size(LONGEST_PACKET, LONGEST_PACKET);
    if let Some((user, password)) = &connection.login {
        options.set_credentials(user, password.as_str());
    }
    if let Some((topic, payload)) = &connection.will {
        let qos = connection.qos.min(Quality::AtLeastOnce).into();
        options.set_last_will(LastWill::new(topic, payload.clone(), qos, false));
    }
    options.set_transport(transport(connection));
    let (client, mut event_loop) = AsyncClient::new(options, QUEUE);
    let mut network = event_loop.network_options();
    network.set_tcp_nodelay(true);
    event_loop.set_network_options(network);
    let (has_tls, mut is_accepted) = (connection.tls.is_some(), false);
    let poller = tokio::spawn(async move {
        loop {
            let event = match event_loop.poll().await {
                Ok(event) => understood(event).map(Ok),
                Err(error) => Some(Err(problem(&error, has_tls, is_accepted))),
            };
            is_accepted |= matches!(event, Some(Ok(LinkEvent::Accepted(..))));
            let ended = matches!(event, Some(Err(_)));
            if let Some(event) = event
                && (events.send(event).await.is_err() || ended)
            {
                return;
            }
        }
    });
    (Box::new(client), poller)
}

impl Client for AsyncClient {
    fn publish(&self, publish: &Publish, qos: Quality) -> bool {
        let Publish { topic, payload, retain, .. } = publish;
        self.try_publish(topic, qos.into(), *retain, payload.clone()).is_ok()
    }

    fn subscribe(&self, topics: &[String], qos: Quality) -> bool {
        let filters = topics.iter().map(|topic| SubscribeFilter::new(topic.clone(), qos.into()));
        self.try_subscribe_many(filters).is_ok()
    }

    fn unsubscribe(&self, topic: &str) -> bool {
        self.try_unsubscribe(topic).is_ok()
    }
}

fn understood(incoming: ClientEvent) -> Option<LinkEvent> {
    let event = match incoming {
        ClientEvent::Incoming(Packet::ConnAck(_)) => {
            LinkEvent::Accepted(BrokerLimits::default(), None)
        }
        ClientEvent::Incoming(Packet::SubAck(answer)) => {
            match answer.return_codes.contains(&SubscribeReasonCode::Failure) {
                true => LinkEvent::NotSubscribed(reasons::UNSPECIFIED),
                false => LinkEvent::Subscribed,
            }
        }
        ClientEvent::Incoming(Packet::Publish(publish)) => {
            LinkEvent::Arrived { topic: publish.topic, payload: publish.payload.into() }
        }
        ClientEvent::Incoming(Packet::PubAck(answer)) => LinkEvent::Acknowledged(answer.pkid),
        ClientEvent::Incoming(Packet::PubComp(answer)) => LinkEvent::Acknowledged(answer.pkid),
        ClientEvent::Outgoing(Outgoing::Publish(packet)) => LinkEvent::Sent(packet),
        ClientEvent::Incoming(_) | ClientEvent::Outgoing(_) => return None,
    };
    Some(event)
}

fn problem(error: &ConnectionError, has_tls: bool, is_accepted: bool) -> String {
    let code = match error {
        ConnectionError::ConnectionRefused(code) => code,
        ConnectionError::MqttState(StateError::ConnectionAborted) => {
            let is_cut = is_accepted || has_tls;
            return if is_cut { reasons::CUT } else { reasons::NO_ANSWER }.to_owned();
        }
        #[cfg(feature = "websocket")]
        ConnectionError::Websocket(cause) => {
            let explained = crate::tls::explained(cause);
            return explained.unwrap_or_else(|| format!("{} ({cause})", reasons::NO_WEBSOCKET));
        }
        #[cfg(feature = "websocket")]
        ConnectionError::ResponseValidation(_) => return reasons::NO_MQTT.to_owned(),
        error => return of_a_connection(error, has_tls, is_accepted),
    };
    let why = match code {
        ConnectReturnCode::RefusedProtocolVersion => {
            "it does not support MQTT 3.1.1: set mqtt to 5"
        }
        ConnectReturnCode::BadClientId => reasons::CLIENT,
        ConnectReturnCode::ServiceUnavailable => reasons::BUSY,
        ConnectReturnCode::BadUserNamePassword => reasons::LOGIN,
        ConnectReturnCode::NotAuthorized => reasons::STRANGER,
        ConnectReturnCode::Success => reasons::UNSPECIFIED,
    };
    format!("the broker refused the connection: {why}")
}

impl From<Quality> for QoS {
    fn from(quality: Quality) -> Self {
        match quality {
            Quality::AtMostOnce => Self::AtMostOnce,
            Quality::AtLeastOnce => Self::AtLeastOnce,
            Quality::ExactlyOnce => Self::ExactlyOnce,
        }
    }
}
