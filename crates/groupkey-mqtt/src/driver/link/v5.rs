//! The client for MQTT 5.
//!
//! It works around three faults of rumqttc 0.25. rumqttc never gives up a connection that takes no
//! bytes. With a Server Keep Alive of 0 it pings without a pause. It never stops counting a publish
//! that PUBREC refuses as in flight (rumqtt issue 1060), so the driver reconnects.

use rumqttc::Outgoing;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{
    ConnAck, ConnectReturnCode, DisconnectReasonCode, Filter, LastWill, Packet, PubAckReason,
    PubRecReason, PublishProperties, SubscribeReasonCode,
};
use rumqttc::v5::{
    AsyncClient, ConnectionError, Event as ClientEvent, EventLoop, MqttOptions, StateError,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::client::{
    BrokerLimits, Client, KEEP_ALIVE, LONGEST_PACKET, LinkEvent, PACKETS, PublishRefusal, QUEUE,
    WINDOW,
};
use super::{address, of_a_connection, reasons, transport};
use crate::driver::connection::{Connection, Quality};
use crate::driver::properties::BrokerProperties;
use crate::store::Publish;

/// Begins to connect. Reports to `events`.
pub(super) fn open(
    connection: &Connection,
    events: mpsc::Sender<Result<LinkEvent, String>>,
) -> (Box<dyn Client>, JoinHandle<()>) {
    let mut options = MqttOptions::new(&connection.client, address(connection), connection.port);
    let qos = connection.qos;
    let persists = connection.persists();
    options
        .set_keep_alive(KEEP_ALIVE)
        .set_clean_start(!persists)
        .set_session_expiry_interval(persists.then_some(SESSION_EXPIRY_S))
        .set_outgoing_inflight_upper_limit(PACKETS)
        .set_max_packet_size(Some(LONGEST_PACKET as u32));
    if let Some((user, password)) = &connection.login {
        options.set_credentials(user, password.as_str());
    }
    if let Some((topic, payload)) = &connection.will {
        let will_qos = qos.min(Quality::AtLeastOnce).into();
        let will = LastWill::new(topic.as_str(), payload.clone(), will_qos, false, None);
        options.set_last_will(will);
    }
    options.set_transport(transport(connection));
    let mut network = options.network_options();
    network.set_tcp_nodelay(true);
    options.set_network_options(network);
    let (client, event_loop) = AsyncClient::new(options, QUEUE);
    let has_tls = connection.tls.is_some();
    (Box::new(client), tokio::spawn(poll(event_loop, qos, has_tls, events)))
}

async fn poll(
    mut event_loop: EventLoop,
    qos: Quality,
    has_tls: bool,
    events: mpsc::Sender<Result<LinkEvent, String>>,
) {
    let mut is_accepted = false;
    loop {
        let event = match timeout(2 * KEEP_ALIVE, event_loop.poll()).await {
            Ok(Ok(ClientEvent::Incoming(Packet::ConnAck(answer)))) => {
                is_accepted = true;
                if !(1..=KEEP_ALIVE.as_secs()).contains(&event_loop.options.keep_alive().as_secs())
                {
                    event_loop.options.set_keep_alive(KEEP_ALIVE);
                }
                Some(accepted(&answer, qos))
            }
            Ok(Ok(event)) => understood(event).map(Ok),
            Ok(Err(error)) => Some(match unsupported(&error, qos) {
                Some(event) => Ok(event),
                None => Err(problem(&error, has_tls, is_accepted)),
            }),
            Err(_) => Some(Err("the broker neither accepts nor sends data any more".to_owned())),
        };
        let ended = matches!(
            event,
            Some(Err(_) | Ok(LinkEvent::LowerQuality(_) | LinkEvent::RetainsNothing))
        );
        if let Some(event) = event
            && (events.send(event).await.is_err() || ended)
        {
            return;
        }
    }
}

impl Client for AsyncClient {
    fn publish(&self, publish: &Publish, qos: Quality) -> bool {
        let Publish { topic, payload, retain, expiry, .. } = publish;
        let properties =
            PublishProperties { message_expiry_interval: *expiry, ..PublishProperties::default() };
        let (qos, payload) = (qos.into(), payload.clone());
        self.try_publish_with_properties(topic, qos, *retain, payload, properties).is_ok()
    }

    fn subscribe(&self, topics: &[String], qos: Quality) -> bool {
        let filters = topics.iter().map(|topic| Filter::new(topic.clone(), qos.into()));
        self.try_subscribe_many(filters).is_ok()
    }

    fn unsubscribe(&self, topic: &str) -> bool {
        self.try_unsubscribe(topic).is_ok()
    }
}

/// Reads what the broker can do, for a connection at this QoS.
fn accepted(answer: &ConnAck, qos: Quality) -> Result<LinkEvent, String> {
    let properties = properties(answer);
    if properties.maximum_qos < qos {
        return Ok(LinkEvent::LowerQuality(properties.maximum_qos));
    }
    let limits = limits(&properties)?;
    Ok(LinkEvent::Accepted(limits, Some(Box::new(properties))))
}

pub(crate) fn properties(answer: &ConnAck) -> BrokerProperties {
    let usual = BrokerProperties::default();
    let Some(sent) = &answer.properties else { return usual };
    let has = |available: Option<u8>| available != Some(0);
    BrokerProperties {
        maximum_qos: sent.max_qos.and_then(Quality::from_level).unwrap_or(usual.maximum_qos),
        retains: has(sent.retain_available),
        wildcards: has(sent.wildcard_subscription_available),
        shared_subscriptions: has(sent.shared_subscription_available),
        receive_maximum: sent.receive_max.unwrap_or(usual.receive_maximum),
        maximum_packet: sent.max_packet_size,
        keep_alive: sent.server_keep_alive,
        session_expiry: sent.session_expiry_interval,
        assigned_client: sent.assigned_client_identifier.clone(),
    }
}

/// Returns what an error says of the broker's abilities. Some brokers do not announce them.
fn unsupported(error: &ConnectionError, qos: Quality) -> Option<LinkEvent> {
    let lower = || Quality::from_level(qos.level().checked_sub(1)?).map(LinkEvent::LowerQuality);
    match error {
        // The broker refuses the last will, whose QoS is 1 at most.
        ConnectionError::ConnectionRefused(ConnectReturnCode::QoSNotSupported) => lower(),
        ConnectionError::MqttState(StateError::ServerDisconnect { reason_code, .. }) => {
            match reason_code {
                DisconnectReasonCode::QoSNotSupported => lower(),
                DisconnectReasonCode::RetainNotSupported => Some(LinkEvent::RetainsNothing),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Reads the broker's limits. At most half of its Receive Maximum may be in flight, because rumqttc
/// reuses packet identifiers after as many publishes as the Receive Maximum.
fn limits(properties: &BrokerProperties) -> Result<BrokerLimits, String> {
    if properties.receive_maximum == 0 {
        return Err("the broker violates MQTT 5: its Receive Maximum is 0".to_owned());
    }
    let publishes = (properties.receive_maximum / 2).clamp(1, WINDOW);
    let packet = properties.maximum_packet.map_or(LONGEST_PACKET, |bytes| bytes as usize);
    let packet = packet.min(LONGEST_PACKET);
    Ok(BrokerLimits { publishes: publishes.into(), packet, retains: properties.retains })
}

fn understood(incoming: ClientEvent) -> Option<LinkEvent> {
    let event = match incoming {
        ClientEvent::Incoming(Packet::SubAck(answer)) => {
            match answer.return_codes.into_iter().find_map(not_subscribed) {
                Some(why) => LinkEvent::NotSubscribed(why),
                None => LinkEvent::Subscribed,
            }
        }
        ClientEvent::Incoming(Packet::Publish(publish)) => LinkEvent::Arrived {
            topic: String::from_utf8_lossy(&publish.topic).into_owned(),
            payload: publish.payload.into(),
        },
        ClientEvent::Incoming(Packet::PubAck(answer)) => match not_taken(answer.reason) {
            Some(refusal) => LinkEvent::Refused(answer.pkid, refusal),
            None => LinkEvent::Acknowledged(answer.pkid),
        },
        ClientEvent::Incoming(Packet::PubRec(answer)) => {
            LinkEvent::Refused(answer.pkid, not_taken(as_puback(answer.reason))?)
        }
        ClientEvent::Incoming(Packet::PubComp(answer)) => LinkEvent::Acknowledged(answer.pkid),
        ClientEvent::Outgoing(Outgoing::Publish(packet)) => LinkEvent::Sent(packet),
        ClientEvent::Incoming(_) | ClientEvent::Outgoing(_) => return None,
    };
    Some(event)
}

pub(crate) fn problem(error: &ConnectionError, has_tls: bool, is_accepted: bool) -> String {
    match error {
        ConnectionError::ConnectionRefused(code) => {
            format!("the broker refused the connection: {}", not_connected(*code))
        }
        ConnectionError::MqttState(StateError::ServerDisconnect { reason_code, .. }) => {
            format!("the broker ended the connection: {}", ended(*reason_code))
        }
        ConnectionError::MqttState(StateError::ConnectionAborted) | ConnectionError::Timeout(_)
            if !is_accepted && !has_tls =>
        {
            "the broker does not answer: it may require TLS, or not support MQTT 5; then set mqtt to 3.1.1"
                .to_owned()
        }
        ConnectionError::MqttState(StateError::ConnectionAborted) => reasons::CUT.to_owned(),
        // It does not name this error as its cause.
        ConnectionError::MqttState(StateError::Deserialization(error)) => {
            of_a_connection(error, has_tls, is_accepted)
        }
        #[cfg(feature = "websocket")]
        ConnectionError::Websocket(cause) => {
            let explained = crate::tls::explained(cause);
            explained.unwrap_or_else(|| format!("{} ({cause})", reasons::NO_WEBSOCKET))
        }
        #[cfg(feature = "websocket")]
        ConnectionError::ResponseValidation(_) => reasons::NO_MQTT.to_owned(),
        error => of_a_connection(error, has_tls, is_accepted),
    }
}

fn not_connected(code: ConnectReturnCode) -> &'static str {
    match code {
        ConnectReturnCode::UnsupportedProtocolVersion
        | ConnectReturnCode::RefusedProtocolVersion => {
            "it does not support MQTT 5: set mqtt to 3.1.1"
        }
        ConnectReturnCode::ClientIdentifierNotValid | ConnectReturnCode::BadClientId => {
            reasons::CLIENT
        }
        ConnectReturnCode::BadUserNamePassword => reasons::LOGIN,
        ConnectReturnCode::NotAuthorized => reasons::STRANGER,
        ConnectReturnCode::ServerUnavailable
        | ConnectReturnCode::ServerBusy
        | ConnectReturnCode::ServiceUnavailable => reasons::BUSY,
        ConnectReturnCode::Banned => "it has banned this client",
        ConnectReturnCode::QuotaExceeded => QUOTA,
        ConnectReturnCode::ConnectionRateExceeded => "too many clients connect at once",
        ConnectReturnCode::UseAnotherServer | ConnectReturnCode::ServerMoved => MOVED,
        _ => reasons::UNSPECIFIED,
    }
}

pub(crate) fn not_subscribed(code: SubscribeReasonCode) -> Option<&'static str> {
    match code {
        SubscribeReasonCode::Success(_) => None,
        SubscribeReasonCode::NotAuthorized => Some(reasons::ACCESS),
        SubscribeReasonCode::TopicFilterInvalid => Some(TOPIC),
        SubscribeReasonCode::QuotaExceeded => Some(QUOTA),
        _ => Some(reasons::UNSPECIFIED),
    }
}

pub(crate) fn not_taken(reason: PubAckReason) -> Option<PublishRefusal> {
    let (why, is_final) = match reason {
        PubAckReason::Success | PubAckReason::NoMatchingSubscribers => return None,
        PubAckReason::NotAuthorized => (reasons::ACCESS, true),
        PubAckReason::TopicNameInvalid => (TOPIC, true),
        PubAckReason::PayloadFormatInvalid => ("it rejects the payload", true),
        // Mosquitto gives this reason for packets that are too long for it.
        PubAckReason::UnspecifiedError | PubAckReason::ImplementationSpecificError => {
            (reasons::UNSPECIFIED, true)
        }
        PubAckReason::QuotaExceeded => (QUOTA, false),
        PubAckReason::PacketIdentifierInUse => ("the packet identifier is in use", false),
    };
    Some(PublishRefusal { why, is_final })
}

/// Converts a reason of PUBREC. PUBREC has the same reasons as PUBACK.
const fn as_puback(reason: PubRecReason) -> PubAckReason {
    match reason {
        PubRecReason::Success => PubAckReason::Success,
        PubRecReason::NoMatchingSubscribers => PubAckReason::NoMatchingSubscribers,
        PubRecReason::UnspecifiedError => PubAckReason::UnspecifiedError,
        PubRecReason::ImplementationSpecificError => PubAckReason::ImplementationSpecificError,
        PubRecReason::NotAuthorized => PubAckReason::NotAuthorized,
        PubRecReason::TopicNameInvalid => PubAckReason::TopicNameInvalid,
        PubRecReason::PacketIdentifierInUse => PubAckReason::PacketIdentifierInUse,
        PubRecReason::QuotaExceeded => PubAckReason::QuotaExceeded,
        PubRecReason::PayloadFormatInvalid => PubAckReason::PayloadFormatInvalid,
    }
}

fn ended(code: DisconnectReasonCode) -> &'static str {
    match code {
        DisconnectReasonCode::NotAuthorized => reasons::ACCESS,
        DisconnectReasonCode::ServerBusy => reasons::BUSY,
        DisconnectReasonCode::ServerShuttingDown => "it shuts down",
        DisconnectReasonCode::KeepAliveTimeout => {
            "it received nothing from this client for too long"
        }
        DisconnectReasonCode::SessionTakenOver => {
            "another client has connected with this client identifier"
        }
        DisconnectReasonCode::TopicFilterInvalid | DisconnectReasonCode::TopicNameInvalid => TOPIC,
        DisconnectReasonCode::PacketTooLarge => "the packet is too long for it",
        DisconnectReasonCode::QuotaExceeded
        | DisconnectReasonCode::MessageRateTooHigh
        | DisconnectReasonCode::ReceiveMaximumExceeded => QUOTA,
        DisconnectReasonCode::AdministrativeAction => "its operator ended it",
        DisconnectReasonCode::QoSNotSupported => "it does not support QoS 0",
        DisconnectReasonCode::UseAnotherServer | DisconnectReasonCode::ServerMoved => MOVED,
        _ => reasons::UNSPECIFIED,
    }
}

const QUOTA: &str = "a limit that it sets is reached";
const TOPIC: &str = "it rejects the topic";
const MOVED: &str = "it refers to another broker";

/// How long a broker keeps the session of a client that is offline, in s: a day. A member that is
/// offline for longer catches up.
pub(crate) const SESSION_EXPIRY_S: u32 = 24 * 60 * 60;

impl From<Quality> for QoS {
    fn from(quality: Quality) -> Self {
        match quality {
            Quality::AtMostOnce => Self::AtMostOnce,
            Quality::AtLeastOnce => Self::AtLeastOnce,
            Quality::ExactlyOnce => Self::ExactlyOnce,
        }
    }
}
