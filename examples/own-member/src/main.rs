//! A device's program: a member of a group over TLS. It sends each line that it reads, until there are no
//! more, and says what the others send. It exports a key for SRTP whenever the group has a new one. It
//! survives restarts.
//!
//! `own-member HOST PORT NAME FOLDER`. The folder has `ca.pem`, which signed the broker's certificate,
//! and `service.pub`, which `groupkey serve` prints. At first it has `token`, too. The program adds the
//! device's identity and its membership.

use std::error::Error;
use std::path::Path;
use std::{env, fs, io};

use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::bytes_from_hex;
use groupkey_mqtt::tls::Tls;
use groupkey_mqtt::{
    Connection, MembershipError, MembershipReceiver, MembershipSender, MembershipSettings, Secret,
    config, connect,
};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The library says what happens. No secret is in it, whatever the level.
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [host, port, name, folder] = &arguments[..] else {
        return Err("own-member HOST PORT NAME FOLDER".into());
    };
    let device = settings(host, port.parse()?, name, folder.as_ref())?;
    let (sender, receiver) = connect(device).await?.split();
    tokio::spawn(export(sender.clone()));
    tokio::select! {
        () = say(sender.clone()) => sender.acknowledged().await,
        () = hear(receiver) => return Err("evicted: its operator can readmit it".into()),
    }
    Ok(())
}

/// What the device needs to join, and to come back after a restart.
fn settings(
    host: &str,
    port: u16,
    name: &str,
    folder: &Path,
) -> Result<MembershipSettings, Box<dyn Error>> {
    let service = fs::read_to_string(folder.join("service.pub"))?;
    let token = fs::read_to_string(folder.join("token")).ok();
    let tls =
        Tls::new(&fs::read(folder.join("ca.pem"))?, None).map_err(|error| error.to_string())?;
    Ok(MembershipSettings {
        broker: Connection { tls: Some(tls), ..Connection::new(host, port, name) },
        prefix: "groupkey/1".to_owned(),
        name: name.to_owned(),
        identity: config::identity(&folder.join("identity.key"))?,
        shared_key: token.and_then(|token| Secret::from_hex(&token)),
        service_key: Some(bytes_from_hex(&service).ok_or("service.pub has 64 digits")?),
        membership_file: Some(folder.join("membership")),
        freshness: Default::default(),
    })
}

/// Exports a key for SRTP whenever the group has a new one.
async fn export(sender: MembershipSender) {
    let mut keys = sender.keys();
    while keys.changed().await.is_ok() {
        let epoch = keys.borrow_and_update().as_ref().map(|(epoch, _)| *epoch);
        match sender.export("srtp", b"", 30).await {
            // Here the program gives the key to SRTP. It is wiped when it is dropped.
            Ok((epoch, _key)) => tracing::info!(%epoch, "a new key for SRTP"),
            Err(MembershipError::Evicted | MembershipError::NoKey) => {
                tracing::warn!(?epoch, "SRTP must stop");
            }
            Err(error) => tracing::error!(%error, "no key for SRTP"),
        }
    }
}

/// Sends what is read, until there is no more.
async fn say(sender: MembershipSender) {
    let (lines, mut read) = mpsc::channel(16);
    std::thread::spawn(move || {
        let lines_of_input = io::stdin().lines().map_while(Result::ok);
        lines_of_input
            .map(|line| lines.blocking_send(line))
            .take_while(Result::is_ok)
            .for_each(drop);
    });
    let mut keys = sender.keys();
    while let Some(line) = read.recv().await {
        // There is none while the device joins.
        let _ = keys.wait_for(Option::is_some).await;
        match sender.send(line.as_bytes()).await {
            Ok(()) => {}
            // It may be behind, or without proof of its key: the library asks the service.
            Err(MembershipError::Refused(error)) => tracing::warn!(%error, "not sent"),
            Err(error) => {
                tracing::error!(%error, "not sent");
                return;
            }
        }
    }
}

/// Says what the others send, until the device is evicted.
async fn hear(mut receiver: MembershipReceiver) {
    while let Some(event) = receiver.event().await {
        match event {
            MemberEvent::Heard(received) => {
                println!("{}: {}", received.sender, String::from_utf8_lossy(&received.content));
            }
            MemberEvent::Evicted => return,
            MemberEvent::Behind(epoch) => tracing::warn!(%epoch, "behind: sending nothing"),
            // Joined, Resumed, Rekeyed, Changed: the library has logged them.
            _ => {}
        }
    }
}
