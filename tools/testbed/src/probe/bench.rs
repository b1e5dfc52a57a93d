//! The environment of a check: names that no other client uses, clients, and the clean-up
//! afterwards.

use std::cell::RefCell;
use std::time::Duration;

use groupkey_mqtt::Version;

use super::check::Stop;
use super::client::ProbeClient;
use super::target::ProbeTarget;
use crate::packet::{Abilities, Connack, Connect, FOR_EVER, PublishPacket, Qos};

/// The environment of one check.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) target: &'a ProbeTarget,
    pub(super) version: Version,
    /// What the broker announced in MQTT 5. It cannot do more in MQTT 3.1.1.
    abilities: Abilities,
    /// The beginning of all topics and client identifiers.
    prefix: String,
    sessions: RefCell<Vec<String>>,
    retained: RefCell<Vec<String>>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        target: &'a ProbeTarget,
        version: Version,
        abilities: Abilities,
        prefix: String,
    ) -> Self {
        let (sessions, retained) = Default::default();
        Self { target, version, abilities, prefix, sessions, retained }
    }

    /// Returns the qualities of service that the broker allows.
    pub(super) fn levels(&self) -> &'static [Qos] {
        &LEVELS[..=self.abilities.maximum_qos as usize]
    }

    /// Returns a topic of this check.
    pub(super) fn topic(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// Returns the CONNECT of a client whose session ends with the connection.
    pub(super) fn hello(&self, name: &str) -> Connect {
        let client = format!("{}-{name}", self.prefix.replace('/', "-"));
        let login = self.target.login.clone();
        Connect { client, clean: true, login, ..Connect::default() }
    }

    /// Opens a connection and sends nothing on it.
    pub(super) fn dial(&self) -> Result<ProbeClient, Stop> {
        ProbeClient::dial(self.target, self.version)
            .map(|client| client.with_abilities(self.abilities))
            .map_err(|error| Stop::Broken(format!("the broker takes no connection: {error}")))
    }

    /// Connects with this CONNECT. Returns the client, and whether the broker had a session.
    pub(super) fn open(&self, hello: Connect) -> Result<(ProbeClient, bool), Stop> {
        if !hello.clean {
            self.sessions.borrow_mut().push(hello.client.clone());
        }
        let mut client = self.dial()?;
        match client.connect(hello)? {
            Connack { code: 0, session_present, .. } => Ok((client, session_present)),
            Connack { code, .. } => {
                Err(Stop::Broken(format!("the broker refuses the connection with code {code}")))
            }
        }
    }

    /// Connects a client whose session ends with the connection.
    pub(super) fn client(&self, name: &str) -> Result<ProbeClient, Stop> {
        self.open(self.hello(name)).map(|(client, _)| client)
    }

    /// Returns the CONNECT of a client whose session outlives the connection.
    pub(super) fn lasting_hello(&self, name: &str) -> Connect {
        Connect { clean: false, session_expiry: SESSION_EXPIRY_S, ..self.hello(name) }
    }

    /// Makes the first connection of a client whose session outlives the connection.
    pub(super) fn begin_session(&self, name: &str) -> Result<ProbeClient, Stop> {
        let (client, present) = self.open(self.lasting_hello(name))?;
        crate::probe::check::require(!present, || {
            "the broker claims a session it cannot have".to_owned()
        })?;
        Ok(client)
    }

    /// Connects the same client again. The broker must know its session.
    pub(super) fn resume_session(&self, name: &str) -> Result<ProbeClient, Stop> {
        let (client, present) = self.open(self.lasting_hello(name))?;
        crate::probe::check::require(present, || {
            "the broker has forgotten the session".to_owned()
        })?;
        Ok(client)
    }

    /// Publishes a message that the broker retains until the check is over.
    pub(super) fn retain(
        &self,
        client: &mut ProbeClient,
        topic: &str,
        text: &str,
    ) -> Result<(), Stop> {
        self.retained.borrow_mut().push(topic.to_owned());
        let id = client.next_id();
        let message =
            PublishPacket { retain: true, ..PublishPacket::new(topic, Qos::Level1, id, text) };
        client.publish_whole(&message)
    }

    /// Removes the sessions and retained messages of the check. A broker that fails here has failed
    /// checks before.
    pub(super) fn clean_up(&self) {
        let mut sessions = self.sessions.take();
        sessions.sort();
        sessions.dedup();
        for client in sessions {
            let hello = Connect { client, ..self.hello("") };
            if let Ok((client, _)) = self.open(hello) {
                let _ = client.leave();
            }
        }
        let retained = self.retained.take();
        if retained.is_empty() {
            return;
        }
        if let Ok(mut client) = self.client("broom") {
            for topic in retained {
                let _ = self.retain(&mut client, &topic, "");
            }
            self.retained.take();
            let _ = client.leave();
        }
    }
}

const LEVELS: [Qos; 3] = [Qos::Level0, Qos::Level1, Qos::Level2];

/// How long a session of version 5 outlives its connection if a check is interrupted, in s.
const SESSION_EXPIRY_S: u32 = 600;
const _: () = assert!(SESSION_EXPIRY_S < FOR_EVER);

/// How long a check waits for a message that must not arrive.
pub(super) const QUIET: Duration = Duration::from_millis(150);
