//! Conversions between our packets and the packets of `mqtt-proto` for MQTT 3.1.1.

use mqtt_proto::{Error, Pid, TopicFilter, TopicName, v3};

use super::content::{Acknowledgement, Connack, Connect, FOR_EVER, Packet, PublishPacket, Qos};

/// Converts a packet to the codec's type. Fails on packets that cannot be written.
pub(super) fn write(packet: &Packet) -> Result<v3::Packet, Error> {
    Ok(match packet {
        Packet::Acknowledge(kind, id) => {
            let pid = Pid::try_from(*id)?;
            match kind {
                Acknowledgement::Puback => v3::Packet::Puback(pid),
                Acknowledgement::Pubrec => v3::Packet::Pubrec(pid),
                Acknowledgement::Pubrel => v3::Packet::Pubrel(pid),
                Acknowledgement::Pubcomp => v3::Packet::Pubcomp(pid),
            }
        }
        Packet::Connack(Connack { code, session_present }) => {
            let code = v3::ConnectReturnCode::from_u8(*code)?;
            v3::Connack::new(*session_present, code).into()
        }
        Packet::Connect(connect) => {
            let mut written = v3::Connect::new(connect.client.as_str().into(), connect.keep_alive);
            written.clean_session = connect.clean;
            if let Some((topic, message)) = connect.will.clone() {
                let topic = TopicName::try_from(topic.as_str())?;
                written.last_will = Some(v3::LastWill::new(Qos::Level1, topic, message.into()));
            }
            written.into()
        }
        Packet::Disconnect => v3::Packet::Disconnect,
        Packet::Pingreq => v3::Packet::Pingreq,
        Packet::Pingresp => v3::Packet::Pingresp,
        Packet::Publish(publish) => {
            let (qos_pid, topic) = (publish.qos_pid()?, publish.topic_name()?);
            let mut written = v3::Publish::new(qos_pid, topic, publish.payload.clone().into());
            written.dup = publish.dup;
            written.retain = publish.retain;
            written.into()
        }
        Packet::Suback(id, granted) => {
            // mqtt-proto 0.4.0 writes 3 for a refusal. The standard has 0x80 (section 3.9.3).
            let code =
                |granted: &Option<Qos>| granted.ok_or(Error::InvalidQos(0x80)).map(Into::into);
            let codes = granted.iter().map(code).collect::<Result<_, _>>()?;
            v3::Suback::new(Pid::try_from(*id)?, codes).into()
        }
        Packet::Subscribe(id, topics) => {
            let topic = |(filter, qos): &(String, Qos)| {
                TopicFilter::try_from(filter.as_str()).map(|filter| (filter, *qos))
            };
            let topics = topics.iter().map(topic).collect::<Result<_, _>>()?;
            v3::Subscribe::new(Pid::try_from(*id)?, topics).into()
        }
        Packet::Unsuback(id) => v3::Packet::Unsuback(Pid::try_from(*id)?),
        Packet::Unsubscribe(id, filter) => {
            let filter = TopicFilter::try_from(filter.as_str())?;
            v3::Unsubscribe::new(Pid::try_from(*id)?, vec![filter]).into()
        }
    })
}

/// Converts a packet to our type. Fails on an empty list of topics.
pub(super) fn read(packet: v3::Packet) -> Result<Packet, String> {
    Ok(match packet {
        v3::Packet::Connack(v3::Connack { session_present, code }) => {
            Packet::Connack(Connack { code: code as u8, session_present })
        }
        v3::Packet::Connect(connect) => Packet::Connect(Box::new(Connect {
            client: connect.client_id.to_string(),
            clean: connect.clean_session,
            will: connect.last_will.map(|w| (w.topic_name.to_string(), w.message.to_vec())),
            keep_alive: connect.keep_alive,
            session_expiry: if connect.clean_session { 0 } else { FOR_EVER },
            ..Connect::default()
        })),
        v3::Packet::Disconnect => Packet::Disconnect,
        v3::Packet::Pingreq => Packet::Pingreq,
        v3::Packet::Pingresp => Packet::Pingresp,
        v3::Packet::Puback(pid) => Packet::Acknowledge(Acknowledgement::Puback, pid.value()),
        v3::Packet::Pubcomp(pid) => Packet::Acknowledge(Acknowledgement::Pubcomp, pid.value()),
        v3::Packet::Pubrec(pid) => Packet::Acknowledge(Acknowledgement::Pubrec, pid.value()),
        v3::Packet::Pubrel(pid) => Packet::Acknowledge(Acknowledgement::Pubrel, pid.value()),
        v3::Packet::Publish(publish) => Packet::Publish(PublishPacket {
            id: publish.qos_pid.pid().map_or(0, Pid::value),
            qos: publish.qos_pid.qos(),
            dup: publish.dup,
            retain: publish.retain,
            topic: publish.topic_name.to_string(),
            payload: publish.payload.to_vec(),
            expiry: None,
        }),
        v3::Packet::Suback(suback) => {
            let granted = suback.topics.iter().map(|code| match code {
                v3::SubscribeReturnCode::MaxLevel0 => Some(Qos::Level0),
                v3::SubscribeReturnCode::MaxLevel1 => Some(Qos::Level1),
                v3::SubscribeReturnCode::MaxLevel2 => Some(Qos::Level2),
                v3::SubscribeReturnCode::Failure => None,
            });
            Packet::Suback(suback.pid.value(), granted.collect())
        }
        v3::Packet::Subscribe(subscribe) => {
            let topics = subscribe.topics.iter().map(|(filter, qos)| (filter.to_string(), *qos));
            Packet::Subscribe(subscribe.pid.value(), topics.collect())
        }
        v3::Packet::Unsuback(pid) => Packet::Unsuback(pid.value()),
        v3::Packet::Unsubscribe(unsubscribe) => {
            let filter = unsubscribe.topics.first().ok_or("an UNSUBSCRIBE without topics")?;
            Packet::Unsubscribe(unsubscribe.pid.value(), filter.to_string())
        }
    })
}
