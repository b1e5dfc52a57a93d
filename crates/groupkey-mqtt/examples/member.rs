//! A member of a live group in a few lines. Run it where a service runs (`groupkey serve`), or without
//! arguments for a small group of its own.
//!
//! ```sh
//! cargo run -p groupkey-mqtt --example member
//! ```

use groupkey_mqtt::agent::Told;
use groupkey_mqtt::driver::{Connection, fresh_rng, now, run};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{Form, Member, Policy, Service, broker, member};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = broker::start()?.port();
    let service_key = serve(port)?;

    // This is all that a device does.
    let mut members = Vec::new();
    for name in ["anna", "bert"] {
        let member = Member::new(member::Settings {
            prefix: "groupkey/1".to_owned(),
            name: name.to_owned(),
            identity: Secret::random()?,
            shared: Some(pre_shared_key(name)),
            service: Some(service_key),
            messages: Default::default(),
        })?;
        members.push(run(member, connection(name, port)));
    }
    let [mut anna, mut bert] = members.try_into().map_err(|_| "two members")?;

    for member in [&mut anna, &mut bert] {
        while !matches!(member.notices.recv().await, Some(Told::Rekeyed(_))) {}
    }
    anna.handle.call(|member, now, rng| member.say(b"slippery road", now, rng)).await;
    while let Some(told) = bert.notices.recv().await {
        if let Told::Heard(received) = told {
            let said = String::from_utf8_lossy(&received.content);
            println!("member {} says: {said}", received.sender);
            break;
        }
    }
    Ok(())
}

/// The other side, which is a process of its own in a real group.
fn serve(port: u16) -> Result<[u8; 32], Box<dyn std::error::Error>> {
    let scheme = groupkey::catalogue::scheme("lkh-group").ok_or("the scheme exists")?;
    let mut policy = Policy::of(Form::of(scheme));
    for name in ["anna", "bert"] {
        policy.keys.insert(name.to_owned(), pre_shared_key(name));
    }
    let service =
        Service::open(policy, Box::new(MemoryStore::default()), now(), &mut fresh_rng()?)?;
    let key = service.public();
    let running = run(service, connection("service", port));
    tokio::spawn(async move {
        // The whole of it, with the handle: a runtime that nobody can reach any more ends.
        let mut running = running;
        while running.notices.recv().await.is_some() {}
    });
    Ok(key)
}

fn connection(name: &str, port: u16) -> Connection {
    Connection::new("127.0.0.1", port, format!("example-{name}"))
}

/// Stands for a key that was put into the device when it was made.
fn pre_shared_key(name: &str) -> Secret {
    let mut bytes = [7; 32];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Secret::from_bytes(bytes)
}
