//! A device joins a group over MQTT, sends a message and reads what another member sends back.
use groupkey_mqtt::{Connection, MembershipSettings, Secret, connect};
use groupkey_testbed::demo;

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let group = demo::start(&["truck-7"])?; // Stands for your broker, service and other devices.
    let mut member = connect(MembershipSettings {
        broker: Connection::new("127.0.0.1", group.port(), "truck-7"),
        prefix: demo::PREFIX.to_owned(),
        name: "truck-7".to_owned(),
        identity: Secret::random()?, // A device keeps it: config::identity("truck-7.key")
        shared_key: Some(group.shared_key("truck-7")),
        service_key: Some(group.service_key()),
        membership_file: None, // Some("truck-7.membership".into()): a restart changes no key
        freshness: Default::default(), // asks every hour whether its key is the latest
    })
    .await?;
    let (epoch, _key) = member.key().await?;
    member.send(b"slippery road").await?;
    while let Some(message) = member.next().await {
        println!("epoch {epoch}, member {}: {:?}", message.sender, message.content);
        if message.content == b"slippery road" {
            break;
        }
    }
    Ok(())
}
