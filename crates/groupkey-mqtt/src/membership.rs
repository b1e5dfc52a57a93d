//! A device's membership in a group, for programs on tokio: connect, await the key, send and
//! receive. A program that gives the group key to SRTP, DTLS or a radio follows
//! [`Membership::keys`].
//!
//! Everything here is built on [`Member`] and [`run`](crate::driver::run). Use those directly if
//! your program needs to see every event, or drives several runtimes.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use groupkey::messages::{self, Received};
use groupkey::{Epoch, Error, Key, MemberId};
use rand_chacha::ChaCha20Rng;
use tokio::sync::watch;
use tokio::time::sleep;
use zeroize::Zeroizing;

use crate::driver::{Connection, Running, Status, run};
use crate::event::{Hint, MemberEvent};
use crate::keyring::Secret;
use crate::member::{self, Freshness, Member, MemberSettingsError, MembershipFile};
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
/// describes.
#[derive(Debug)]
pub struct Membership {
    running: Running<Watched>,
    keys: watch::Receiver<Option<(Epoch, Key)>>,
    /// Events that came while the device waited for another one.
    events: VecDeque<MemberEvent>,
    is_evicted: bool,
}

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
    let running = run(Watched { member, keys: keys_out, founded: None }, broker);
    let mut status = running.handle.status();
    let is_known = |status: &Status| status.connected || status.problem.is_some();
    let known = status.wait_for(is_known).await.map(|status| status.clone());
    match known {
        Ok(Status { connected: true, .. }) => {
            Ok(Membership { running, keys, events: VecDeque::new(), is_evicted: false })
        }
        Ok(Status { address, problem, .. }) => {
            let problem = problem.unwrap_or_default();
            Err(ConnectError::Broker(format!("no connection to {address}: {problem}")))
        }
        Err(_) => Err(ConnectError::Broker(MembershipError::Ended.to_string())),
    }
}

impl Membership {
    /// Returns the group key and its epoch. Waits until the device has a key.
    pub async fn key(&mut self) -> Result<(Epoch, Key), MembershipError> {
        loop {
            let held = self.running.handle.call(|Watched { member, .. }, _, _| {
                let owned = |(epoch, key): (Epoch, &Key)| (epoch, key.clone());
                (member.is_out(), member.group_key().map(owned))
            });
            match held.await.ok_or(MembershipError::Ended)? {
                (true, _) => return Err(MembershipError::Evicted),
                (false, Some(key)) => return Ok(key),
                (false, None) => {}
            }
            match self.running.events.recv().await {
                Some(MemberEvent::NotIn(hint)) => return Err(MembershipError::NotAdmitted(hint)),
                Some(event) => self.events.push_back(event),
                None => return Err(MembershipError::Ended),
            }
        }
    }

    /// Returns a receiver that has the current key and its epoch, and sees each change. It has `None`
    /// before the device has a key, and after an eviction. It needs no call of this type to stay
    /// current.
    pub fn keys(&self) -> watch::Receiver<Option<(Epoch, Key)>> {
        self.keys.clone()
    }

    /// Returns bytes that follow from the group key, for another protocol ([`groupkey::exporter`]), and
    /// the epoch. At most 8,160 bytes. Every new key gives others.
    pub async fn export(
        &self,
        label: &str,
        context: &[u8],
        length: usize,
    ) -> Result<(Epoch, Zeroizing<Vec<u8>>), MembershipError> {
        let (label, context) = (label.to_owned(), context.to_vec());
        let call = self.running.handle.call(move |Watched { member, .. }, _, _| {
            if member.is_out() {
                return Err(MembershipError::Evicted);
            }
            if member.group_key().is_none() {
                return Err(MembershipError::NoKey);
            }
            let mut output = Zeroizing::new(vec![0; length]);
            let epoch = member.export(&label, &context, &mut output);
            epoch.map(|epoch| (epoch, output)).map_err(MembershipError::Refused)
        });
        call.await.ok_or(MembershipError::Ended)?
    }

    /// Encrypts at most 65,535 bytes to the group. The driver publishes the message in the
    /// background, and again after a reconnection, until the broker acknowledges it.
    /// [`Self::close`] waits for the acknowledgement.
    ///
    /// If the future is dropped before it is ready, the message may or may not be sent.
    pub async fn send(&self, content: &[u8]) -> Result<(), MembershipError> {
        let content = content.to_vec();
        let call = self.running.handle.call(move |Watched { member, .. }, now, rng| {
            if member.is_out() {
                return Err(MembershipError::Evicted);
            }
            if member.group_key().is_none() {
                return Err(MembershipError::NoKey);
            }
            member.say(&content, now, rng).map_err(MembershipError::Refused)
        });
        call.await.ok_or(MembershipError::Ended)?
    }

    /// Returns the next event: a message, a new key, or a change of the membership. Returns `None`
    /// after [`MemberEvent::Evicted`], and when the member has ended. At most 4,096 events wait to be
    /// fetched. Further events are lost, and [`Status::lost_events`] counts them.
    pub async fn event(&mut self) -> Option<MemberEvent> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Returns the next message of another member, and drops other events that came before it.
    /// Returns `None` once the device is no longer a member: [`Self::key`] says why.
    pub async fn next(&mut self) -> Option<Received> {
        poll_fn(|cx| self.poll_received(cx)).await
    }

    /// Returns the device's number in the group, or `None` before it is a member.
    pub async fn number(&self) -> Option<MemberId> {
        self.running.handle.call(|Watched { member, .. }, _, _| member.number()).await?
    }

    /// Returns the status of the connection to the broker.
    pub fn status(&self) -> Status {
        self.running.handle.status().borrow().clone()
    }

    /// Waits until the broker has acknowledged all messages, and disconnects. Without a connection,
    /// it waits for a reconnection: use a timeout.
    pub async fn close(self) {
        while let Some(1..) =
            self.running.handle.call(|Watched { member, .. }, _, _| member.unacknowledged()).await
        {
            sleep(CLOSING_PAUSE).await;
        }
    }

    fn poll_received(&mut self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        loop {
            match ready!(self.poll_event(cx)) {
                Some(MemberEvent::Heard(received)) => return Poll::Ready(Some(received)),
                Some(_) => {}
                None => return Poll::Ready(None),
            }
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<MemberEvent>> {
        if self.is_evicted {
            return Poll::Ready(None);
        }
        let event = match self.events.pop_front() {
            Some(event) => Some(event),
            None => ready!(self.running.events.poll_recv(cx)),
        };
        self.is_evicted = event == Some(MemberEvent::Evicted);
        Poll::Ready(event)
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
            let has_changed = is_new_group || epoch != key.map(|(epoch, _)| epoch);
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
        self.poll_received(cx)
    }
}

/// How long to wait before asking again whether all messages are acknowledged.
const CLOSING_PAUSE: Duration = Duration::from_millis(5);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broker(problem) => f.write_str(problem),
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
