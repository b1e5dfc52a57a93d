//! What a check works with: names that nobody else uses, clients, and order afterwards.

use std::cell::RefCell;
use std::time::Duration;

use super::client::Client;
use super::stop::Stop;
use super::target::Target;
use crate::packet::{Connack, Connect, FOR_EVER, Publish, Qos};
use crate::version::Version;

/// The surroundings of one check.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) target: &'a Target,
    pub(super) version: Version,
    /// Beginning of all topics and client identifiers.
    prefix: String,
    sessions: RefCell<Vec<String>>,
    retained: RefCell<Vec<String>>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(target: &'a Target, version: Version, prefix: String) -> Self {
        let (sessions, retained) = Default::default();
        Self { target, version, prefix, sessions, retained }
    }

    /// A topic of this check.
    pub(super) fn topic(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// What such a client says first; its session ends with the connection.
    pub(super) fn hello(&self, name: &str) -> Connect {
        let client = format!("{}-{name}", self.prefix.replace('/', "-"));
        let login = self.target.login.clone();
        Connect { client, clean: true, login, ..Connect::default() }
    }

    /// A connection on which nothing was said yet.
    pub(super) fn dial(&self) -> Result<Client, Stop> {
        Client::dial(self.target, self.version)
            .map_err(|error| Stop::Broken(format!("the broker takes no connection: {error}")))
    }

    /// Connects, with a say in how; tells whether the broker had a session.
    pub(super) fn open(&self, hello: Connect) -> Result<(Client, bool), Stop> {
        if !hello.clean {
            self.sessions.borrow_mut().push(hello.client.clone());
        }
        let mut client = self.dial()?;
        match client.connect(hello)? {
            Connack { code: 0, session_present } => Ok((client, session_present)),
            Connack { code, .. } => {
                Err(Stop::Broken(format!("the broker refuses the connection with code {code}")))
            }
        }
    }

    /// A client whose session ends with the connection.
    pub(super) fn client(&self, name: &str) -> Result<Client, Stop> {
        self.open(self.hello(name)).map(|(client, _)| client)
    }

    /// What a client says first whose session outlives the connection.
    pub(super) fn lasting_hello(&self, name: &str) -> Connect {
        Connect { clean: false, session_expiry: SESSION_EXPIRY_S, ..self.hello(name) }
    }

    /// A client whose session outlives the connection, at its first connection.
    pub(super) fn begin_session(&self, name: &str) -> Result<Client, Stop> {
        let (client, present) = self.open(self.lasting_hello(name))?;
        crate::probe::stop::require(!present, || {
            "the broker claims a session it cannot have".to_owned()
        })?;
        Ok(client)
    }

    /// The same client again; the broker must know it.
    pub(super) fn resume_session(&self, name: &str) -> Result<Client, Stop> {
        let (client, present) = self.open(self.lasting_hello(name))?;
        crate::probe::stop::require(present, || "the broker has forgotten the session".to_owned())?;
        Ok(client)
    }

    /// Publishes a message that the broker retains until the check is over.
    pub(super) fn retain(&self, client: &mut Client, topic: &str, text: &str) -> Result<(), Stop> {
        self.retained.borrow_mut().push(topic.to_owned());
        let id = client.next_id();
        let message = Publish { retain: true, ..Publish::new(topic, Qos::Level1, id, text) };
        client.publish_whole(&message)
    }

    /// Removes what the check left at the broker. A broker that fails here has failed checks
    /// before.
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

/// Seconds that a session of version 5 outlives its connection, should a check be interrupted.
const SESSION_EXPIRY_S: u32 = 600;
const _: () = assert!(SESSION_EXPIRY_S < FOR_EVER);

/// How long a check listens for what must not come.
pub(super) const QUIET: Duration = Duration::from_millis(150);
