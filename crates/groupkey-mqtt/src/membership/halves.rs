//! The two halves of a membership: one sends, the other hears.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use groupkey::messages::Received;
use groupkey::{Epoch, Key, MemberId};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::{MembershipError, Watched};
use crate::driver::{Handle, Status};
use crate::event::MemberEvent;
use crate::member::{KeyStatus, Member};

/// The half of a membership that sends and exports. Its clones are of the same member. The device stays
/// connected until all of them and the other half are dropped.
#[derive(Clone, Debug)]
pub struct MembershipSender {
    handle: Handle<Watched>,
    keys: watch::Receiver<Option<(Epoch, Key)>>,
}

/// The half of a membership that hears messages and other events.
#[derive(Debug)]
pub struct MembershipReceiver {
    sender: MembershipSender,
    events: mpsc::Receiver<MemberEvent>,
    /// Events that came while the device waited for another one.
    earlier: VecDeque<MemberEvent>,
    is_evicted: bool,
}

impl MembershipSender {
    pub(super) const fn new(
        handle: Handle<Watched>,
        keys: watch::Receiver<Option<(Epoch, Key)>>,
    ) -> Self {
        Self { handle, keys }
    }

    /// Returns a receiver that has the current key and its epoch, and sees each change. It has `None`
    /// before the device has a key, and after an eviction. It needs no call of either half to stay
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
        let call = self.handle.call(move |Watched { member, .. }, _, _| {
            require_key(member)?;
            let mut output = Zeroizing::new(vec![0; length]);
            let epoch = member.export(&label, &context, &mut output);
            epoch.map(|epoch| (epoch, output)).map_err(MembershipError::Refused)
        });
        call.await.ok_or(MembershipError::Ended)?
    }

    /// Encrypts at most 65,355 bytes to the group. The driver publishes the message in the
    /// background, and again after a reconnection, until the broker acknowledges it.
    /// [`Self::acknowledged`] waits for the acknowledgement.
    ///
    /// If the future is dropped before it is ready, the message may or may not be sent.
    pub async fn send(&self, content: &[u8]) -> Result<(), MembershipError> {
        let content = content.to_vec();
        let call = self.handle.call(move |Watched { member, .. }, now, rng| {
            require_key(member)?;
            member.say(&content, now, rng).map_err(MembershipError::Refused)
        });
        call.await.ok_or(MembershipError::Ended)?
    }

    /// Waits until the broker has acknowledged all messages. Without a connection, it waits for a
    /// reconnection: use a timeout.
    pub async fn acknowledged(&self) {
        while let Some(1..) =
            self.handle.call(|Watched { member, .. }, _, _| member.unacknowledged()).await
        {
            sleep(PAUSE).await;
        }
    }

    /// Returns the device's number in the group, or `None` before it is a member.
    pub async fn number(&self) -> Option<MemberId> {
        self.handle.call(|Watched { member, .. }, _, _| member.number()).await?
    }

    /// Returns what the device knows of its key: whether it is behind, and when the key was last proven to
    /// be the latest. Returns `None` if the member has ended.
    pub async fn key_status(&self) -> Option<KeyStatus> {
        self.handle.call(|Watched { member, .. }, now, _| member.key_status(now)).await
    }

    /// Returns the status of the connection to the broker.
    pub fn status(&self) -> Status {
        self.handle.status().borrow().clone()
    }

    /// Returns the key, or `None` if the device has none at present.
    async fn held_key(&self) -> Result<Option<(Epoch, Key)>, MembershipError> {
        let held = self.handle.call(|Watched { member, .. }, _, _| {
            let owned = |(epoch, key): (Epoch, &Key)| (epoch, key.clone());
            (member.is_out(), member.group_key().map(owned))
        });
        match held.await.ok_or(MembershipError::Ended)? {
            (true, _) => Err(MembershipError::Evicted),
            (false, key) => Ok(key),
        }
    }
}

impl MembershipReceiver {
    pub(super) const fn new(sender: MembershipSender, events: mpsc::Receiver<MemberEvent>) -> Self {
        Self { sender, events, earlier: VecDeque::new(), is_evicted: false }
    }

    pub(super) const fn sender(&self) -> &MembershipSender {
        &self.sender
    }

    /// Returns the group key and its epoch. Waits until the device has a key.
    pub async fn key(&mut self) -> Result<(Epoch, Key), MembershipError> {
        loop {
            if let Some(key) = self.sender.held_key().await? {
                return Ok(key);
            }
            match self.events.recv().await {
                Some(MemberEvent::NotIn(hint)) => return Err(MembershipError::NotAdmitted(hint)),
                Some(event) => self.earlier.push_back(event),
                None => return Err(MembershipError::Ended),
            }
        }
    }

    /// Returns the next event: a message, a new key, or a change of the membership. Returns `None`
    /// after [`MemberEvent::Evicted`], and when the member has ended. At most 4,096 events wait to be
    /// fetched. Further events are lost, and [`Status::lost_events`] counts them.
    pub async fn event(&mut self) -> Option<MemberEvent> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Returns the next message of another member, and drops other events that came before it.
    /// Returns `None` once the device is no longer a member: [`Self::key`] says why.
    pub async fn next(&mut self) -> Option<Received> {
        std::future::poll_fn(|cx| self.poll_received(cx)).await
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
        let event = match self.earlier.pop_front() {
            Some(event) => Some(event),
            None => ready!(self.events.poll_recv(cx)),
        };
        self.is_evicted = event == Some(MemberEvent::Evicted);
        Poll::Ready(event)
    }
}

/// Yields the messages that [`MembershipReceiver::next`] returns.
impl Stream for MembershipReceiver {
    type Item = Received;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        self.poll_received(cx)
    }
}

/// Refuses a member that is out, or has no key.
fn require_key(member: &Member) -> Result<(), MembershipError> {
    match (member.is_out(), member.group_key()) {
        (true, _) => Err(MembershipError::Evicted),
        (false, None) => Err(MembershipError::NoKey),
        (false, Some(_)) => Ok(()),
    }
}

/// How long to wait before asking again whether all messages are acknowledged.
const PAUSE: Duration = Duration::from_millis(5);
