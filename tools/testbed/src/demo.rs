//! A demonstration group: a broker, a service and one other member, all in this process.
//!
//! It is for examples and tests. It stores nothing: the group ends with the process. The devices'
//! keys follow from their names, so they are not secret. Use a broker and `groupkey serve` for a
//! group that matters.

use std::error::Error;

use groupkey::catalogue;
use groupkey_mqtt::driver::{Connection, Handle, Running, fresh_rng, now, run};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{GroupForm, Policy, Service};
use groupkey_mqtt::{MembershipSettings, connect};

use crate::broker;

/// A demonstration group that waits for a device.
#[derive(Debug)]
pub struct Demo {
    port: u16,
    service_key: [u8; 32],
    service: Handle<Service>,
}

/// The prefix of the group's topics.
pub const PREFIX: &str = "groupkey/1";

/// Starts a broker, a service, and a member that sends back each message that it receives. Devices
/// with these names may join. The service creates the group when the first of them joins. Needs a
/// tokio runtime.
pub fn start(names: &[&str]) -> Result<Demo, Box<dyn Error>> {
    let port = broker::start()?.port();
    let scheme = catalogue::scheme("lkh-group").ok_or("the catalogue has no lkh-group")?;
    let mut policy = Policy { prefix: PREFIX.to_owned(), ..Policy::of(GroupForm::of(scheme)) };
    for name in names.iter().chain(&[ECHO]) {
        policy.keys.insert((*name).to_owned(), shared_key(name));
    }
    let service =
        Service::open(policy, Box::new(MemoryStore::default()), now(), &mut *fresh_rng()?)?;
    let service_key = service.public();
    let service = run(service, Connection::new("127.0.0.1", port, "demo-service"));
    let demo = Demo { port, service_key, service: service.handle.clone() };
    let echo = demo.device(ECHO)?;
    tokio::spawn(serve(service));
    tokio::spawn(send_back(echo));
    Ok(demo)
}

impl Demo {
    /// Returns the broker's port on 127.0.0.1.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the service's public key.
    pub const fn service_key(&self) -> [u8; 32] {
        self.service_key
    }

    /// Returns the key that the service shares with the device of this name.
    pub fn shared_key(&self, name: &str) -> Secret {
        shared_key(name)
    }

    /// Evicts the member of this name. At least two other members must remain.
    pub async fn evict(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let name = name.to_owned();
        let evicted = self.service.call(move |service, now, rng| service.evict(&name, now, rng));
        evicted.await.ok_or("the service has ended")??;
        Ok(())
    }

    /// Returns a device with this name and a new identity.
    pub fn device(&self, name: &str) -> Result<MembershipSettings, Box<dyn Error>> {
        Ok(MembershipSettings {
            broker: Connection::new("127.0.0.1", self.port, format!("demo-{name}")),
            prefix: PREFIX.to_owned(),
            name: name.to_owned(),
            identity: Secret::random()?,
            shared_key: Some(shared_key(name)),
            service_key: Some(self.service_key),
            membership_file: None,
            freshness: Default::default(),
        })
    }
}

/// Keeps the service running: a runtime ends when its last handle is dropped.
async fn serve(mut service: Running<Service>) {
    while service.events.recv().await.is_some() {}
}

async fn send_back(device: MembershipSettings) {
    let Ok(mut member) = connect(device).await else { return };
    while let Some(message) = member.next().await {
        // If this member has no key, the sender of the message has none either.
        let _ = member.send(&message.content).await;
    }
}

/// Returns a key made of up to 32 bytes of the name. Real keys are random.
fn shared_key(name: &str) -> Secret {
    let mut bytes = [7; 32];
    bytes.iter_mut().zip(name.bytes()).for_each(|(byte, letter)| *byte = letter);
    Secret::from_bytes(bytes)
}

const ECHO: &str = "echo";
