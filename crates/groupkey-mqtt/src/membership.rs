//! A device's membership in a group, for programs on tokio: connect, await the key, send and
//! receive. A program that gives a key to SRTP, DTLS or a radio follows [`Membership::keys`]
//! and exports. [`Membership::split`] gives two halves that can be moved apart.
//!
//! Everything here is built on [`Member`] and [`run`](crate::driver::run). Use those directly if
//! your program needs to see every event, or drives several runtimes.

mod halves;

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use groupkey::messages::{self, Received};
use groupkey::{Epoch, Error, Key, MemberId};
use rand_chacha::ChaCha20Rng;
use tokio::sync::watch;
use zeroize::Zeroizing;

pub use self::halves::{MembershipReceiver, MembershipSender};
use crate::driver::{Connection, Running, Status, run};
use crate::event::{Hint, MemberEvent};
use crate::keyring::Secret;
use crate::member::{self, Freshness, KeyStatus, Member, MemberSettingsError, MembershipFile};
use crate::runtime::{Fatal, Input, Output, Runtime};

/// The settings with which a device joins a group.
#[derive(Clone, Debug)]
pub struct MembershipSettings {
    /// The address of the broker, and how to connect to it.
    pub broker: Connection,
    /// The prefix of the group's topics, such as `plant/7`: the service's `group.prefix`.
    pub prefix: String,
    /// The device's name, by which the service knows it: see [`is_name`](crate::topics::is_name).
    pub name: String,
    /// The device's Ed25519 identity. It must outlive a restart:
    /// [`config::identity`](crate::config::identity) reads it from a file, or draws it.
    pub identity: Secret,
    /// A pre-shared key, or an enrolment token for the first join. It can be left out if the
    /// service knows the identity's public key.
    pub shared_key: Option<Secret>,
    /// The service's public key, which `groupkey serve` prints. It can be left out if there is a
    /// shared key.
    pub service_key: Option<[u8; 32]>,
    /// The file in which the device keeps its membership, encrypted under its identity. After a restart
    /// it goes on with it, and the group's key stays. Without a file the device joins again, which
    /// changes the key twice.
    pub membership_file: Option<PathBuf>,
    /// How the device makes sure that its key is the group's latest.
    pub freshness: Freshness,
}

/// A connected device that is a member of the group or asks to join. Dropping it disconnects.
///
/// The device reconnects whenever the connection breaks. A device that missed changes of the key
/// catches up without a call. All methods are cancel-safe, with the exception that [`Self::send`]
/// describes. [`Self::split`] gives two halves, for two tasks.
#[derive(Debug)]
pub struct Membership(MembershipReceiver);

/// A member whose key can be watched.
#[derive(Debug)]
struct Watched {
    member: Member,
    keys: watch::Sender<Option<(Epoch, Key)>>,
    /// The founding of the group of the present key, ms since 1970.
    founded: Option<u64>,
}

/// The reason why a device cannot connect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The broker cannot be reached, or refuses the device: what is wrong, and what to do.
    Broker(String),
    /// The operating system gives no randomness.
    Ended,
    /// No device can join with these settings.
    Settings(MemberSettingsError),
}

/// The reason why a member cannot do what its application asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MembershipError {
    /// The operating system gives no randomness: the member has ended.
    Ended,
    /// The service evicted the device.
    Evicted,
    /// The device has no group key at present.
    NoKey,
    /// The service has not admitted the device for some 14 s. The device keeps asking.
    NotAdmitted(Hint),
    /// The message cannot be encrypted.
    Refused(Error),
}

/// Connects a device to its broker, and asks the service to admit it. Needs a tokio runtime.
///
/// Fails if the first attempt to connect fails. Later attempts are repeated until they succeed.
pub async fn connect(device: MembershipSettings) -> Result<Membership, ConnectError> {
    let MembershipSettings {
        broker,
        prefix,
        name,
        identity,
        shared_key,
        service_key,
        membership_file,
        freshness,
    } = device;
    let messages = messages::MessageSettings::default();
    let settings = member::MemberSettings {
        prefix,
        name,
        identity,
        shared: shared_key,
        service: service_key,
        allowed: Default::default(),
        messages,
        freshness,
    };
    let mut member = Member::new(settings).map_err(ConnectError::Settings)?;
    if let Some(path) = membership_file {
        member = member.remembering(Box::new(MembershipFile::at(path)));
    }
    let (keys_out, keys) = watch::channel(None);
    let Running { handle, events, .. } =
        run(Watched { member, keys: keys_out, founded: None }, broker);
    let mut status = handle.status();
    let is_known = |status: &Status| status.connected || status.problem.is_some();
    let known = status.wait_for(is_known).await.map(|status| status.clone());
    match known {
        Ok(Status { connected: true, .. }) => {
            let sender = MembershipSender::new(handle, keys);
            Ok(Membership(MembershipReceiver::new(sender, events)))
        }
        Ok(Status { address, problem, .. }) => {
            let problem = problem.unwrap_or_default();
            Err(ConnectError::Broker(format!("no connection to {address}: {problem}")))
        }
        Err(_) => Err(ConnectError::Ended),
    }
}

impl Membership {
    /// Returns the half that sends, which can be cloned, and the half that receives.
    pub fn split(self) -> (MembershipSender, MembershipReceiver) {
        (self.0.sender().clone(), self.0)
    }

    /// Returns another half that sends.
    pub fn sender(&self) -> MembershipSender {
        self.0.sender().clone()
    }

    /// See [`MembershipReceiver::key`].
    pub async fn key(&mut self) -> Result<(Epoch, Key), MembershipError> {
        self.0.key().await
    }

    /// See [`MembershipSender::keys`].
    pub fn keys(&self) -> watch::Receiver<Option<(Epoch, Key)>> {
        self.0.sender().keys()
    }

    /// See [`MembershipSender::export`].
    pub async fn export(
        &self,
        label: &str,
        context: &[u8],
        length: usize,
    ) -> Result<(Epoch, Zeroizing<Vec<u8>>), MembershipError> {
        self.0.sender().export(label, context, length).await
    }

    /// See [`MembershipSender::send`].
    pub async fn send(&self, content: &[u8]) -> Result<(), MembershipError> {
        self.0.sender().send(content).await
    }

    /// See [`MembershipReceiver::event`].
    pub async fn event(&mut self) -> Option<MemberEvent> {
        self.0.event().await
    }

    /// See [`MembershipReceiver::next`].
    pub async fn next(&mut self) -> Option<Received> {
        self.0.next().await
    }

    /// See [`MembershipSender::number`].
    pub async fn number(&self) -> Option<MemberId> {
        self.0.sender().number().await
    }

    /// See [`MembershipSender::key_status`].
    pub async fn key_status(&self) -> Option<KeyStatus> {
        self.0.sender().key_status().await
    }

    /// See [`MembershipSender::status`].
    pub fn status(&self) -> Status {
        self.0.sender().status()
    }

    /// Waits until the broker has acknowledged all messages, and disconnects. Without a connection,
    /// it waits for a reconnection: use a timeout.
    pub async fn close(self) {
        self.0.sender().acknowledged().await;
    }
}

impl Runtime for Watched {
    type Event = MemberEvent;

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.member.handle(input, now, rng)
    }

    fn poll(&mut self) -> Result<Option<Output<MemberEvent>>, Fatal> {
        self.member.poll()
    }

    fn relies_on_retained_messages(&self) -> bool {
        self.member.relies_on_retained_messages()
    }

    fn finished(&mut self, now: u64) {
        self.member.finished(now);
        // Another founding of the group has other keys for the same epochs.
        let founded = self.member.founded();
        let is_new_group = core::mem::replace(&mut self.founded, founded) != founded;
        let (key, keys) = (self.member.group_key(), &self.keys);
        keys.send_if_modified(|known| {
            let epoch = known.as_ref().map(|(epoch, _)| *epoch);
            let is_other_key = is_new_group && known.is_some();
            let has_changed = is_other_key || epoch != key.map(|(epoch, _)| epoch);
            if has_changed {
                *known = key.map(|(epoch, key)| (epoch, key.clone()));
            }
            has_changed
        });
    }

    fn deadline(&self) -> Option<u64> {
        self.member.deadline()
    }
}

/// Yields the messages that [`Membership::next`] returns.
impl Stream for Membership {
    type Item = Received;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broker(problem) => f.write_str(problem),
            Self::Ended => write!(f, "{}", MembershipError::Ended),
            Self::Settings(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for MembershipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => write!(
                f,
                "the member has ended, because the operating system gives no randomness: start it again"
            ),
            Self::Evicted => write!(
                f,
                "the service evicted this device: have its operator readmit it, and connect again"
            ),
            Self::NoKey => write!(f, "the device has no group key yet: await key() before send()"),
            Self::NotAdmitted(Hint::Known) => write!(
                f,
                "the service knows this device and has not admitted it yet: its log says what it waits \
                 for; await key() again"
            ),
            Self::NotAdmitted(Hint::NoAnswer) => write!(
                f,
                "no service answers: check that it runs with this prefix, and knows the device's shared \
                 key or identity; its log names the devices that it refuses"
            ),
            Self::NotAdmitted(Hint::OtherScheme) => write!(
                f,
                "the group has a scheme that this device does not have: build it with the features of \
                 its family"
            ),
            Self::NotAdmitted(Hint::TooWeak(weakness)) => {
                write!(f, "the group is weaker than this device accepts: {weakness}")
            }
            Self::NotAdmitted(Hint::Unopened) => write!(
                f,
                "the answer of the service does not open: check service_key, which groupkey serve \
                 prints, and shared_key"
            ),
            Self::Refused(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ConnectError {}
impl std::error::Error for MembershipError {}
