//! Conversions between our packets and the packets of `mqtt-proto` for MQTT 5.

use mqtt_proto::{Error, Pid, TopicFilter, TopicName, v5};

use super::content::{Acknowledgement, Connack, Connect, Packet, PublishPacket, Qos};

/// Converts a packet to the codec's type. Fails on packets that cannot be written.
pub(super) fn write(packet: &Packet) -> Result<v5::Packet, Error> {
    Ok(match packet {
        Packet::Acknowledge(kind, id) => {
            let pid = Pid::try_from(*id)?;
            match kind {
                Acknowledgement::Puback => v5::Packet::Puback(v5::Puback::new_success(pid)),
                Acknowledgement::Pubrec => v5::Packet::Pubrec(v5::Pubrec::new_success(pid)),
                Acknowledgement::Pubrel => v5::Packet::Pubrel(v5::Pubrel::new_success(pid)),
                Acknowledgement::Pubcomp => v5::Packet::Pubcomp(v5::Pubcomp::new_success(pid)),
            }
        }
        Packet::Connack(Connack { code, session_present }) => {
            let code = v5::ConnectReasonCode::from_u8(*code)
                .ok_or(Error::InvalidConnectReturnCode(*code))?;
            v5::Packet::Connack(v5::Connack::new(*session_present, code))
        }
        Packet::Connect(connect) => {
            let mut written = v5::Connect::new(connect.client.as_str().into(), connect.keep_alive);
            written.clean_start = connect.clean;
            written.properties.session_expiry_interval = Some(connect.session_expiry);
            written.properties.receive_max = connect.receive_maximum;
            written.properties.max_packet_size = connect.maximum_packet;
            if let Some((topic, message)) = connect.will.clone() {
                let topic = TopicName::try_from(topic.as_str())?;
                written.last_will = Some(v5::LastWill::new(Qos::Level1, topic, message.into()));
            }
            v5::Packet::Connect(written)
        }
        Packet::Disconnect => v5::Packet::Disconnect(v5::Disconnect::new_normal()),
        Packet::Pingreq => v5::Packet::Pingreq,
        Packet::Pingresp => v5::Packet::Pingresp,
        Packet::Publish(publish) => {
            let (qos_pid, topic) = (publish.qos_pid()?, publish.topic_name()?);
            let mut written = v5::Publish::new(qos_pid, topic, publish.payload.clone().into());
            written.dup = publish.dup;
            written.retain = publish.retain;
            written.properties.message_expiry_interval = publish.expiry;
            v5::Packet::Publish(written)
        }
        Packet::Suback(id, granted) => {
            let code = |granted: &Option<Qos>| match granted {
                Some(Qos::Level0) => v5::SubscribeReasonCode::GrantedQoS0,
                Some(Qos::Level1) => v5::SubscribeReasonCode::GrantedQoS1,
                Some(Qos::Level2) => v5::SubscribeReasonCode::GrantedQoS2,
                None => v5::SubscribeReasonCode::UnspecifiedError,
            };
            let codes = granted.iter().map(code).collect();
            v5::Packet::Suback(v5::Suback::new(Pid::try_from(*id)?, codes))
        }
        Packet::Subscribe(id, topics) => {
            let topic = |(filter, qos): &(String, Qos)| {
                let options = v5::SubscriptionOptions {
                    retain_as_published: false,
                    ..v5::SubscriptionOptions::new(*qos)
                };
                TopicFilter::try_from(filter.as_str()).map(|filter| (filter, options))
            };
            let topics = topics.iter().map(topic).collect::<Result<_, _>>()?;
            v5::Packet::Subscribe(v5::Subscribe::new(Pid::try_from(*id)?, topics))
        }
        Packet::Unsuback(id) => {
            let codes = vec![v5::UnsubscribeReasonCode::Success];
            v5::Packet::Unsuback(v5::Unsuback::new(Pid::try_from(*id)?, codes))
        }
        Packet::Unsubscribe(id, filter) => {
            let filter = TopicFilter::try_from(filter.as_str())?;
            v5::Packet::Unsubscribe(v5::Unsubscribe::new(Pid::try_from(*id)?, vec![filter]))
        }
    })
}

/// Converts a packet to our type. Fails on packets that no client here uses.
pub(super) fn read(packet: v5::Packet) -> Result<Packet, String> {
    Ok(match packet {
        v5::Packet::Connack(connack) => Packet::Connack(Connack {
            code: connack.reason_code as u8,
            session_present: connack.session_present,
        }),
        v5::Packet::Connect(connect) => Packet::Connect(Box::new(Connect {
            client: connect.client_id.to_string(),
            clean: connect.clean_start,
            will: connect.last_will.map(|w| (w.topic_name.to_string(), w.payload.to_vec())),
            keep_alive: connect.keep_alive,
            session_expiry: connect.properties.session_expiry_interval.unwrap_or_default(),
            receive_maximum: connect.properties.receive_max,
            maximum_packet: connect.properties.max_packet_size,
        })),
        v5::Packet::Disconnect(_) => Packet::Disconnect,
        v5::Packet::Pingreq => Packet::Pingreq,
        v5::Packet::Pingresp => Packet::Pingresp,
        v5::Packet::Puback(p) => Packet::Acknowledge(Acknowledgement::Puback, p.pid.value()),
        v5::Packet::Pubcomp(p) => Packet::Acknowledge(Acknowledgement::Pubcomp, p.pid.value()),
        v5::Packet::Pubrec(p) => Packet::Acknowledge(Acknowledgement::Pubrec, p.pid.value()),
        v5::Packet::Pubrel(p) => Packet::Acknowledge(Acknowledgement::Pubrel, p.pid.value()),
        v5::Packet::Publish(publish) => Packet::Publish(PublishPacket {
            id: publish.qos_pid.pid().map_or(0, Pid::value),
            qos: publish.qos_pid.qos(),
            dup: publish.dup,
            retain: publish.retain,
            topic: publish.topic_name.to_string(),
            payload: publish.payload.to_vec(),
            expiry: publish.properties.message_expiry_interval,
        }),
        v5::Packet::Suback(suback) => {
            let granted = suback.topics.iter().map(|code| Qos::from_u8(*code as u8).ok());
            Packet::Suback(suback.pid.value(), granted.collect())
        }
        v5::Packet::Subscribe(subscribe) => {
            let topics = subscribe.topics.iter();
            let topics = topics.map(|(filter, options)| (filter.to_string(), options.max_qos));
            Packet::Subscribe(subscribe.pid.value(), topics.collect())
        }
        v5::Packet::Unsuback(unsuback) => Packet::Unsuback(unsuback.pid.value()),
        v5::Packet::Unsubscribe(unsubscribe) => {
            let filter = unsubscribe.topics.first().ok_or("an UNSUBSCRIBE without topics")?;
            Packet::Unsubscribe(unsubscribe.pid.value(), filter.to_string())
        }
        other => return Err(format!("an unexpected {:?}", other.get_type())),
    })
}
